package evidence_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/randtest"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func seen(minute int, edits, entry int64) evidence.Sighting {
	return evidence.Sighting{At: noon.Add(time.Duration(minute) * time.Minute), CallID: fmt.Sprint("c", minute), Edits: edits, Entry: entry}
}

// S14.1, S14.2: held evidence, and the texts of refusals.
func TestJudge(t *testing.T) {
	t.Parallel()
	tests := evidence.Spec{Name: "tests", Tool: "Bash", Command: "go test ./...", Outcome: evidence.OK, Count: 1, AfterEdit: true}
	plain, entry, fresh, twice := tests, tests, tests, tests
	plain.AfterEdit = false
	entry.WithinEntry, fresh.MaxAge, twice.Count = true, 30*time.Minute, 2
	edit := func(r evidence.Record, minute int, what string) evidence.Record {
		return r.Edited(evidence.Edit{At: noon.Add(time.Duration(minute) * time.Minute), CallID: "e", What: what})
	}
	var none evidence.Record
	for name, c := range map[string]struct {
		spec    evidence.Spec
		record  evidence.Record
		minutes int
		held    bool
		missing string
	}{
		"nothing was observed":         {tests, none, 0, false, "needs a successful `go test ./...` after any edit"},
		"observed":                     {tests, none.Seen("run", &tests, seen(1, 0, 1), true), 2, true, ""},
		"of another run":               {tests, none.Seen("other", &tests, seen(1, 0, 1), true), 2, false, "needs"},
		"before the edit":              {tests, edit(none.Seen("run", &tests, seen(1, 0, 1), true), 3, "main.go"), 4, false, "after the last edit (12:03:00, main.go); the last one was voided by the edit at 12:03:00, main.go"},
		"after the edit":               {tests, edit(none, 3, "main.go").Seen("run", &tests, seen(4, 1, 1), true), 5, true, ""},
		"allowed before the edit":      {tests, edit(none, 3, "main.go").Seen("run", &tests, seen(4, 0, 1), true), 5, false, "main.go"},
		"edits do not matter":          {plain, edit(none.Seen("run", &plain, seen(1, 0, 1), true), 3, "main.go"), 4, true, ""},
		"the last one failed":          {tests, none.Seen("run", &tests, seen(1, 0, 1), true).Seen("run", &tests, seen(2, 0, 1), false), 3, false, "ended otherwise"},
		"failed, then not":             {tests, none.Seen("run", &tests, seen(1, 0, 1), false).Seen("run", &tests, seen(2, 0, 1), true), 3, true, ""},
		"claimed":                      {tests, none.Claims("run", &tests, seen(1, 0, 1)), 2, false, "came from the agent itself"},
		"a claim takes nothing away":   {tests, none.Seen("run", &tests, seen(1, 0, 1), true).Claims("run", &tests, seen(2, 0, 1)), 3, true, ""},
		"in another entry":             {entry, none.Seen("run", &entry, seen(1, 0, 2), true), 2, false, "since the run entered the state"},
		"in this entry":                {entry, none.Seen("run", &entry, seen(1, 0, 1), true), 2, true, ""},
		"young enough":                 {fresh, none.Seen("run", &fresh, seen(1, 0, 1), true), 31, true, ""},
		"too old":                      {fresh, none.Seen("run", &fresh, seen(1, 0, 1), true), 32, false, "not older than 30m"},
		"once of twice":                {twice, none.Seen("run", &twice, seen(1, 0, 1), true), 2, false, "2 times in a row a successful"},
		"twice":                        {twice, none.Seen("run", &twice, seen(1, 0, 1), true).Seen("run", &twice, seen(2, 0, 1), true), 3, true, ""},
		"twice with an edit between":   {twice, edit(none.Seen("run", &twice, seen(1, 0, 1), true), 2, "x").Seen("run", &twice, seen(3, 1, 1), true), 4, false, "there are 1"},
		"twice with a failure between": {twice, none.Seen("run", &twice, seen(1, 0, 1), true).Seen("run", &twice, seen(2, 0, 1), false).Seen("run", &twice, seen(3, 0, 1), true), 4, false, "there are 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := evidence.Basis{Record: c.record, RunID: "run", Entry: 1, Now: noon.Add(time.Duration(c.minutes) * time.Minute)}
			s := b.Judge([]evidence.Spec{c.spec})["tests"]
			if s.Held != c.held || s.Held == (s.Missing != "") || !strings.Contains(s.Missing, strings.TrimPrefix(c.missing, "there are 1")) || s.Held == s.Since.IsZero() {
				t.Errorf("got %+v", s)
			}
		})
	}
}

// S14.2: the refusal says where a command in a folder cannot be evidence.
func TestJudgeWithoutWorkspace(t *testing.T) {
	t.Parallel()
	command, tool := evidence.Spec{Name: "e", Tool: "Bash", Command: "make", Outcome: evidence.OK, Count: 1}, evidence.Spec{Name: "e", Tool: "Read", Outcome: evidence.OK, Count: 1}
	for want, spec := range map[bool]evidence.Spec{true: command, false: tool} {
		b := evidence.Basis{RunID: "run", Now: noon, Homeless: true}
		if got := b.Judge([]evidence.Spec{spec})["e"].Missing; strings.Contains(got, "this run has no workspace") != want {
			t.Errorf("%s: %q", spec.Tool, got)
		}
	}
}

// S14.1: approvals and the shared state.
func TestJudgeOthers(t *testing.T) {
	t.Parallel()
	approval := evidence.Spec{Name: "e", Approval: "deploy", MaxAge: time.Hour}
	ok := document.StringValue("ok")
	state := evidence.Spec{Name: "e", State: &evidence.Test{Pointer: "/verdict", OpName: "eq", Op: condition.Eq, Value: ok}, Writer: "reviewer"}
	approved := func(minutes int) []evidence.Approved {
		return []evidence.Approved{{State: "deploy", Event: "GO", At: noon.Add(-time.Duration(minutes) * time.Minute), By: "alice"}}
	}
	written := func(v document.Value, by string) map[string]evidence.Written {
		return map[string]evidence.Written{"e": {Value: v, Writers: []string{"agent", by, "sess_1"}, At: noon}}
	}
	for name, c := range map[string]struct {
		spec  evidence.Spec
		basis evidence.Basis
		held  bool
	}{
		"nobody has agreed":  {approval, evidence.Basis{}, false},
		"a human has agreed": {approval, evidence.Basis{Approved: approved(59)}, true},
		"too long ago":       {approval, evidence.Basis{Approved: approved(61)}, false},
		"not read":           {state, evidence.Basis{}, false},
		"written":            {state, evidence.Basis{Written: written(ok, "reviewer")}, true},
		"by another":         {state, evidence.Basis{Written: written(ok, "coder")}, false},
		"another value":      {state, evidence.Basis{Written: written(document.StringValue("no"), "reviewer")}, false},
		"nothing there":      {state, evidence.Basis{Written: written(document.Value{}, "reviewer")}, false},
		"it cannot be told":  {state, evidence.Basis{Written: map[string]evidence.Written{"e": {Unknown: "no state"}}}, false},
	} {
		c.basis.Now = noon
		if s := c.basis.Judge([]evidence.Spec{c.spec})["e"]; s.Held != c.held || s.Held == (s.Missing != "") {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// S14.1: results, in the forms that clients have.
func TestOutput(t *testing.T) {
	t.Parallel()
	spec := evidence.Spec{Tool: "mcp__ci__status", Outcome: evidence.OK, Output: &evidence.Test{Pointer: "/conclusion", Op: condition.Eq, Value: document.StringValue("success")}}
	for output, want := range map[string]bool{
		`{"conclusion":"success"}`:                                                            true,
		`{"conclusion":"failure"}`:                                                            false,
		`{"structuredContent":{"conclusion":"success"},"content":[]}`:                         true,
		`{"structuredContent":{"conclusion":"failure"},"conclusion":"success"}`:               false,
		`[{"type":"text","text":"{\"conclusion\":\"success\"}"}]`:                             true,
		`{"content":[{"type":"text","text":"{\"conclusion\":\"success\"}"}]}`:                 true,
		`{"content":[{"type":"text","text":"success"}]}`:                                      false,
		`[{"type":"text","text":"{}"},{"type":"text","text":"{\"conclusion\":\"success\"}"}]`: false,
		`conclusion: success`:                                                                 false, ``: false, `{"conclusion":"success"`: false,
		`{"conclusion":"success","log":"` + strings.Repeat("x", evidence.MostOutput) + `"}`: false,
	} {
		if got := spec.As(true, []byte(output)); got != want {
			t.Errorf("%.80s: %v", output, got)
		}
		if spec.As(false, []byte(output)) {
			t.Errorf("%.80s of a failed call counts", output)
		}
	}
}

// S14.1, for any acts in any order: an evidence after an edit is held only if a call was allowed after
// the last edit that was allowed, ended as asked, and no later report says otherwise.
func TestNoStaleEvidence(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		spec := evidence.Spec{Name: "e", Tool: "Bash", Outcome: evidence.OK, Count: 1, AfterEdit: true}
		var r evidence.Record
		type call struct{ allowed, edits int }
		var open []call
		clock, lastEdit, held := 0, 0, 0 // held is when the call that gives it was allowed; 0 for none
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			clock++
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				r = r.Edited(evidence.Edit{At: noon, CallID: "e"})
				lastEdit = clock
			case 1:
				open = append(open, call{clock, int(r.Edits)})
			default:
				if len(open) == 0 {
					continue
				}
				i := rapid.IntRange(0, len(open)-1).Draw(t, "which")
				as := rapid.Bool().Draw(t, "as")
				r = r.Seen("run", &spec, seen(clock, int64(open[i].edits), 1), as)
				if held = 0; as {
					held = open[i].allowed
				}
				open = append(open[:i], open[i+1:]...)
			}
			b := evidence.Basis{Record: r, RunID: "run", Entry: 1, Now: noon}
			if got := b.Judge([]evidence.Spec{spec})["e"].Held; got != (held > lastEdit) {
				t.Fatalf("held %v, the call was allowed at %d and the last edit at %d", got, held, lastEdit)
			}
		}
		text, err := json.Marshal(r)
		var again evidence.Record
		if err == nil {
			err = json.Unmarshal(text, &again)
		}
		if err != nil || !reflect.DeepEqual(again.Runs, r.Runs) || again.Edits != r.Edits {
			t.Fatalf("%s: %v", text, err)
		}
	})
}

// A record does not grow with the runs that a run invokes, and never drops the one that it notes.
func TestRecordIsBounded(t *testing.T) {
	t.Parallel()
	spec := evidence.Spec{Name: "e", Tool: "Bash", Count: 3}
	var r evidence.Record
	for i := range 1000 {
		for range 5 {
			r = r.Seen(fmt.Sprint("run", i), &spec, seen(i, 0, 1), true)
		}
		if f := r.Fact(fmt.Sprint("run", i), "e"); len(f.Seen) != 3 {
			t.Fatalf("run %d has %+v", i, f)
		}
	}
	if len(r.Runs) > 256 {
		t.Errorf("%d runs", len(r.Runs))
	}
}

// S14.3: the order of sources.
func TestSources(t *testing.T) {
	t.Parallel()
	all := evidence.Sources()
	for i, a := range all {
		for j, b := range all {
			if got := evidence.Source(a).Meets(evidence.Source(b)); got != (i >= j) {
				t.Errorf("%s meets %s: %v", a, b, got)
			}
		}
	}
	if evidence.Source("").Meets(evidence.Observed) {
		t.Error("nobody knows where it comes from, and it counts")
	}
}
