package session_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/session"
)

// TestResults: S15.3. A result that a session gives itself counts more than the final
// message of its agent; a report leaves the message of the work; new work drops the result
// of before.
func TestResults(t *testing.T) {
	t.Parallel()
	w := newTree(t.Fatalf)
	open := func(spec session.Spec, parent string) {
		if err := w.open(spec, parent); err != nil {
			t.Fatal(err)
		}
	}
	store := func(r session.Result) *session.Session {
		s := r.Session
		w.stored[s.Name] = s
		return s
	}
	open(session.Spec{Name: "root"}, "")
	open(session.Spec{Name: "child", Prompt: "work", Skip: true}, "root")
	w.claim("child", "one")
	w.stored["child"] = store(w.stored["child"].Stop(session.Stop{Result: json.RawMessage(`{"bugs":3}`)}, w.clock()))
	after := w.stored["child"].Ack(w.stored["child"].Task.Token, json.RawMessage(`"all good"`), w.clock())
	if s := store(after); string(s.Result) != `{"bugs":3}` || !s.Given {
		t.Errorf("the result that it gave became %s, given %v", s.Result, s.Given)
	}

	open(session.Spec{Name: "talker", Prompt: "work", Skip: true}, "root")
	w.claim("talker", "one")
	long := json.RawMessage(`"` + strings.Repeat("ä", 1000) + `"`)
	done := w.stored["talker"].Ack(w.stored["talker"].Task.Token, long, w.clock())
	if s := store(done); string(s.Result) != string(long) || s.Given {
		t.Errorf("the final message became %.40s, given %v", s.Result, s.Given)
	}
	if len(done.Calls) != 1 || !done.Calls[0].Cut || len(done.Calls[0].Result) > 1024 || !strings.HasPrefix(string(long), done.Calls[0].Result) {
		t.Errorf("callbacks %+v", done.Calls)
	}
	prompt := session.CallbackPrompt(done.Calls, "wf_")
	for _, part := range []string{"**Result (its beginning; `wf_session_result` with", "\"ää"} {
		if !strings.Contains(prompt, part) {
			t.Errorf("the callback lacks %q: %s", part, prompt)
		}
	}
	if s := w.stored["talker"].Resume("", w.clock()).Session; s.Result != nil {
		t.Errorf("new work begins with the result %s", s.Result)
	}

	// S15.4: whose parent is not called back, ends without a callback.
	open(session.Spec{Name: "silent", Skip: true, NoCallback: true}, "root")
	if end := w.stored["silent"].Stop(session.Stop{}, w.clock()); len(end.Calls) != 0 || !end.Ended {
		t.Errorf("it calls back: %+v, ended %v", end.Calls, end.Ended)
	}
}
