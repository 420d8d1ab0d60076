package session_test

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/session"
)

func TestDepth(t *testing.T) { // S11.1
	t.Parallel()
	w := newTree(t.Fatalf)
	parent := ""
	for depth := range session.MaxDepth + 1 {
		name := "s" + strings.Repeat("i", depth)
		if err := w.open(session.Spec{Name: name}, parent); err != nil {
			t.Fatalf("depth %d: %v", depth, err)
		}
		if s := w.stored[name]; s.Depth != depth || s.ParentName != parent || s.RootID != "ses_s" || s.RootName != "s" {
			t.Fatalf("depth %d: %+v", depth, s)
		}
		parent = name
	}
	err := w.open(session.Spec{Name: "deeper"}, parent)
	if err == nil || !strings.Contains(err.Error(), "at most 32") || w.stored["deeper"] != nil {
		t.Errorf("depth 33: %v", err)
	}
	if s := w.stored[parent]; s.Depth != 32 || s.OpenChildren != 0 {
		t.Errorf("the deepest: %+v", s)
	}
}

func TestInherits(t *testing.T) { // S11.1 S12.3
	t.Parallel()
	w := newTree(t.Fatalf)
	open := func(parent string, spec session.Spec) *session.Session {
		if err := w.open(spec, parent); err != nil {
			t.Fatal(err)
		}
		return w.stored[spec.Name]
	}
	labels := map[string]string{"gpu": "yes"}
	if s := open("", session.Spec{Name: "root", Labels: labels, Owner: "ann"}); s.Subject != "root" || s.StateID != "" || !s.Root() ||
		s.Labels["gpu"] != "yes" || s.Owner != "ann" || s.MustReport() {
		t.Errorf("root: %+v", s)
	}
	if s := open("root", session.Spec{Name: "early"}); s.StateID != "" || s.MustReport() {
		t.Errorf("made before the state: %+v", s)
	}
	w.create("root")
	if s := w.stored["root"]; s.StateID != "wfstate_1" || s.MustReport() {
		t.Errorf("the root has made the state: %+v", s)
	}
	if s := open("root", session.Spec{Name: "child"}); s.StateID != "wfstate_1" || s.Subject != "root" || s.Root() || !s.MustReport() || s.Labels != nil {
		t.Errorf("child: %+v", s)
	}
	if s := open("child", session.Spec{Name: "other", Subject: "bob"}); s.Subject != "bob" || s.StateID != "wfstate_1" {
		t.Errorf("child of another subject: %+v", s)
	}
	if s := open("other", session.Spec{Name: "grandchild", Skip: true}); s.Subject != "bob" || s.MustReport() || s.Update != session.UpdateSkipped {
		t.Errorf("grandchild: %+v", s)
	}
	out, err := session.Open(session.Spec{ID: "ses_1", Name: "one", Labels: labels}, nil, w.clock())
	if labels["gpu"] = "no"; err != nil || out.Session.Labels["gpu"] != "yes" {
		t.Errorf("the labels are shared: %+v, %v", out.Session, err)
	}
}

func TestGrants(t *testing.T) { // S10.9
	t.Parallel()
	w := newTree(t.Fatalf)
	if err := w.open(session.Spec{Name: "root"}, ""); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		state           string
		revoke, changed bool
		want            []string
	}{
		{"a", false, true, []string{"a"}},
		{"b", false, true, []string{"a", "b"}},
		{"a", false, false, []string{"a", "b"}},
		{"c", true, false, []string{"a", "b"}},
		{"a", true, true, []string{"b"}},
		{"b", true, true, nil},
	}
	for _, test := range tests {
		before := w.stored["root"]
		out := w.do("root", func(s *session.Session, c session.Clock) session.Result { return s.Granted(test.state, test.revoke, c) })
		s := w.stored["root"]
		if out.Changed != test.changed || !reflect.DeepEqual(s.Grants, test.want) || !before.MayRead("ses_root", "anything") {
			t.Errorf("%+v: %+v", test, s)
		}
		for _, state := range []string{"a", "b", "c"} {
			if may := strings.Contains(strings.Join(test.want, " "), state); s.MayRead("ses_elsewhere", state) != may {
				t.Errorf("%+v: may read %s %t", test, state, !may)
			}
		}
	}
}

// TestLateClock: Tick may come late; a due claim must not be used in between.
func TestLateClock(t *testing.T) { // S11.3
	t.Parallel()
	w := newTree(t.Fatalf)
	if err := w.open(session.Spec{Name: "root"}, ""); err != nil {
		t.Fatal(err)
	}
	w.create("root")
	if err := w.open(session.Spec{Name: "child"}, "root"); err != nil {
		t.Fatal(err)
	}
	w.stop("child", session.Stop{})
	w.claim("child", "one")

	w.now = noon.Add(30*time.Second - 1)
	if out := w.stored["child"].Ack(1, nil, w.clock()); !out.Changed {
		t.Error("the claim is not held to its end")
	}
	w.now = noon.Add(30 * time.Second)
	for name, out := range map[string]session.Result{
		"Ack": w.ack("child", 1), "Extend": w.extend("child", 1), "Fail": w.fail("child", 1, "late", true), "Claim": w.claim("child", "two"),
	} {
		if out.Changed {
			t.Errorf("%s with a claim that has lapsed: %+v", name, out.Session)
		}
	}
	w.tick("child")

	w.now = noon.Add(120*time.Second - 1)
	if out := w.stored["child"].Claim("two", w.clock()); !out.Changed || !out.Session.Task.Deadline.Equal(noon.Add(120*time.Second)) {
		t.Error("the attempt is not given until its end")
	}
	w.now = noon.Add(120 * time.Second)
	if out := w.claim("child", "two"); out.Changed {
		t.Errorf("an attempt whose time is up is given: %+v", out.Session.Task)
	}
	w.tick("child")
	if s := w.stored["child"]; s.Attempts != 2 || s.Task.Attempt != 2 {
		t.Errorf("the attempt has not failed: %+v", s)
	}
}

// TestForks: two commands to one session, of which one is stored, do not meet.
func TestForks(t *testing.T) {
	t.Parallel()
	w := newTree(t.Fatalf)
	if err := w.open(session.Spec{Name: "root"}, ""); err != nil {
		t.Fatal(err)
	}
	s := w.stored["root"]
	s.Callbacks = append(make([]session.Callback, 0, 9), session.Callback{ID: "first"})
	s.Grants = append(make([]string, 0, 9), "first")

	a := s.Receive(session.Callback{ID: "a"}, w.clock()).Session
	b := s.Receive(session.Callback{ID: "b"}, w.clock()).Session
	if len(s.Callbacks) != 1 || a.Callbacks[1].ID != "a" || b.Callbacks[1].ID != "b" {
		t.Errorf("callbacks: %v %v %v", s.Callbacks, a.Callbacks, b.Callbacks)
	}
	claimed := a.Claim("runner", w.clock()).Session
	claimed.Task.Callbacks = append(make([]session.Callback, 0, 9), claimed.Task.Callbacks...)
	clock := w.clock()
	clock.Now = claimed.Task.Expires
	with := func(id string) *session.Session {
		return claimed.Receive(session.Callback{ID: id}, clock).Session.Tick(clock).Session
	}
	c, d := with("c"), with("d")
	if c.Callbacks[2].ID != "c" || d.Callbacks[2].ID != "d" || len(claimed.Task.Callbacks) != 2 {
		t.Errorf("callbacks that are given again: %v %v", c.Callbacks, d.Callbacks)
	}
	g, h := s.Granted("g", false, w.clock()).Session, s.Granted("h", false, w.clock()).Session
	if r := s.Granted("first", true, w.clock()).Session; len(r.Grants) != 0 || s.Grants[0] != "first" || g.Grants[1] != "g" || h.Grants[1] != "h" {
		t.Errorf("grants: %v %v %v %v", s.Grants, r.Grants, g.Grants, h.Grants)
	}
}

// TestStored: sessions that were stored by an older version must be read.
func TestStored(t *testing.T) {
	t.Parallel()
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	callback := session.Callback{
		ID: "ses_3.1", SessionID: "ses_3", Name: "three", Update: session.UpdateFailed, StateVersion: 4, Error: "late", At: at(1),
		Result: `{"bugs":1`, Cut: true,
	}
	token := session.Token{
		ID: "stok_1", Name: "amir", Session: "two", Branch: "a", Only: json.RawMessage(`"narrower"`), Human: json.RawMessage(`"bea"`), MintedBy: "olga",
		Via: "stok_0", ViaIssuedAt: at(1), IssuedAt: at(2), Expires: at(9), RevokedAt: at(3), RevokedBy: "ann",
	}
	want := session.Session{
		ID: "ses_2", Name: "two", ParentID: "ses_1", ParentName: "one", RootID: "ses_1", RootName: "one", Depth: 1,
		Status: session.Running, Agent: "support", StateID: "wfstate_1", Update: session.UpdatePending, AcceptEarly: true, UpdatedEarly: true,
		Attempts: 2, InPlace: true, Settled: true, Closing: true, Deadline: at(9), OpenChildren: 3, Callbacks: []session.Callback{callback}, Calls: 1,
		Prompt: "begin", Starting: true, NextPrompt: "more", LastTask: "task_1", ClaimToken: 5,
		Labels: map[string]string{"gpu": "yes"}, LabelsCount: true, StateRef: "memory", Subject: "bob", Grants: []string{"wfstate_2"},
		Error: "it crashed", Owner: "ann", Human: []byte(`"bea"`), Cleanup: true, CreatedAt: at(0), UpdatedAt: at(2), EndedAt: at(3),
		Bounds: session.Bounds{
			Only: json.RawMessage(`"narrowed"`), Revoked: []session.RevokedToken{{ID: "tok_1", By: "olga", Until: at(7)}}, TokensAfter: at(6),
			Tokens: []session.Token{token},
		},
		NoCallback: true, Result: json.RawMessage(`"twelve bugs"`), Given: true, ResultAt: at(4),
		EndedBy: &authority.Author{Role: authority.Operator, Name: "olga", SessionID: "ses_1"}, Dismissed: true,
		Task: &session.Task{
			ID: "task_2", Kind: session.KindCallback, Attempt: 1, Due: at(1), Ready: true, Callbacks: []session.Callback{callback},
			Given: 2, Failures: 1, Runner: "r", Token: 5, Expires: at(31), Deadline: at(121), Stopped: true, OwnResult: true,
			Execution: "exec_1", Error: "it crashed", CreatedAt: at(1),
		},
	}
	for _, v := range []reflect.Value{reflect.ValueOf(want), reflect.ValueOf(*want.Task), reflect.ValueOf(callback), reflect.ValueOf(token), reflect.ValueOf(want.Bounds)} {
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.Tag.Get("json") != "-" && v.Field(i).IsZero() {
				t.Errorf("%s.%s is not tested", v.Type(), field.Name)
			}
		}
	}
	text, err := json.MarshalIndent(want, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	const file = "testdata/stored.json"
	if *update {
		if err := os.WriteFile(file, append(text, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got session.Session
	if err := json.Unmarshal(golden, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v\nwant %+v, %v", got, want, err)
	}
	if string(golden) != string(text)+"\n" {
		t.Errorf("written %s\nwant %s", text, golden)
	}
}
