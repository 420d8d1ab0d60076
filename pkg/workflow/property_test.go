package workflow_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// varied has every pattern that a machine can meet.
const varied = `{"id": "varied", "initial": "a", "context": {"n": 0, "tag": null},
 "states": {
  "a": {"safe_next": "b", "on": {
    "GO": "b", "SELF": "a",
    "GUARDED": {"target": "b", "guards": ["positive", "tagged"]},
    "PICK": [{"target": "a", "guard": "positive"}, {"target": "b", "guard": "tagged"}]}},
  "b": {"on": {
    "BACK": "a", "END": "z", "FAIL": "failed",
    "ADVISED": {"target": "a", "requires_approval": true},
    "PICK": [{"target": "a", "guards": ["tagged", "positive"]}, {"target": "b"}],
    "FORK": {"fork": {"branches": {"x": {"initial": "xi", "terminal": "xt"}, "y": {"initial": "yi", "terminal": "yt"}},
      "on_complete": "z", "on_fail": "failed"}},
    "CHILD": {"invoke": "child", "on_complete": "z", "on_fail": "failed"}}},
  "xi": {"on": {"OK": "xt"}}, "xt": {"type": "final"}, "yi": {"on": {"OK": "yt"}}, "yt": {"type": "final"},
  "z": {"type": "final"}, "failed": {"type": "final"}},
 "guards": {
  "positive": {"field": "n", "op": "gt", "value": 0},
  "tagged": {"field": "tag", "op": "exists"}}}`

func anyCommand(t *rapid.T) workflow.Command {
	actor := rapid.SampledFrom([]string{"ann", "bob", ""}).Draw(t, "actor")
	switch rapid.IntRange(0, 9).Draw(t, "command") {
	case 0:
		return workflow.Pause{Reason: "r", Operator: rapid.Bool().Draw(t, "operator"), Actor: actor}
	case 1, 2:
		return workflow.Resume{Actor: actor}
	case 3:
		if rapid.IntRange(0, 4).Draw(t, "really") > 0 {
			return workflow.Resume{Actor: actor}
		}
		return workflow.Cancel{Reason: "r", Actor: actor}
	default:
		return workflow.Fire{
			Event: rapid.SampledFrom([]string{
				"GO", "SELF", "GUARDED", "PICK", "BACK", "END", "FAIL", "ADVISED", "FORK", "CHILD", "go", "", "BRANCH_DONE:x", "?",
			}).Draw(t, "event"),
			Data: rapid.Custom(anyData).Draw(t, "data"), Actor: actor,
		}
	}
}

func anyData(t *rapid.T) document.Value {
	text := rapid.SampledFrom([]string{
		"", "{}", `{"n": 1}`, `{"n": 0}`, `{"n": -1.5, "tag": "x"}`, `{"tag": null}`, `{"tag": ""}`,
		`{"rationale": "because", "more": {"deep": [1, 2]}}`, `{"_n": 1}`, `{"n": 1, "$x": 2}`, `[]`, `null`,
	}).Draw(t, "json")
	if text == "" {
		return document.Value{}
	}
	v, problem := document.Parse([]byte(text), document.Limits{})
	if problem != nil {
		t.Fatal(problem)
	}
	return v
}

// fingerprint is all of a value, as text.
func fingerprint(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// TestStepProperties: whatever is asked of a run, in whatever order.
func TestStepProperties(t *testing.T) {
	t.Parallel()
	m := machine(t, varied)
	compiled := fmt.Sprintf("%+v", m.Definition())
	rapid.Check(t, func(t *rapid.T) {
		now := noon
		start := m.Start(workflow.StartParams{ID: "run_1", Owner: "ann"}, "ann", now)
		run, last := start.Run, start.Entry
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			now = now.Add(time.Second)
			cmd := anyCommand(t)
			before, asked := fingerprint(run), fingerprint(cmd)
			out := m.Step(run, cmd, now)
			if fingerprint(run) != before || fingerprint(cmd) != asked {
				t.Fatalf("Step has changed its arguments: %s", before)
			}
			if again := m.Step(run, cmd, now); !reflect.DeepEqual(again, out) {
				t.Fatalf("Step is not deterministic: %+v, then %+v", out, again)
			}
			if out.Changed == (out.Rejection != nil) {
				t.Fatalf("changed %t with rejection %v", out.Changed, out.Rejection)
			}
			if out.Rejection != nil {
				checkRejected(t, before, cmd, &out)
				continue
			}
			checkAccepted(t, &run, cmd, &out, last)
			run, last = out.Run, out.Entry
		}
	})
	if after := fmt.Sprintf("%+v", m.Definition()); after != compiled {
		t.Error("stepping has changed the definition")
	}
}

// checkRejected: nothing changes, and the refusal says what is legal (S2.3, S2.7).
func checkRejected(t *rapid.T, before string, cmd workflow.Command, out *workflow.Result) {
	if after := fingerprint(out.Run); after != before {
		t.Fatalf("a refused %+v has changed %s to %s", cmd, before, after)
	}
	r := out.Rejection
	if r.Code == "" || r.Message == "" || r.State != out.Run.State || r.Status != out.Run.Status {
		t.Fatalf("rejection %+v", r)
	}
	for _, g := range r.Guards {
		if g.Passed {
			t.Fatalf("a guard that passed is named as failing: %s", g)
		}
	}
	_, fired := cmd.(workflow.Fire)
	if announced := len(out.Events) == 1 && out.Events[0].Type == workflow.EventRejected; announced != fired {
		t.Fatalf("events of a refused %T: %+v", cmd, out.Events)
	}
}

// checkAccepted: the version grows by one, and history has no gap (S6.4).
func checkAccepted(t *rapid.T, run *workflow.Run, cmd workflow.Command, out *workflow.Result, last workflow.HistoryEntry) {
	next, e := &out.Run, &out.Entry
	if next.Version != run.Version+1 || e.RunVersion != next.Version {
		t.Fatalf("version %d, then %d (entry %d)", run.Version, next.Version, e.RunVersion)
	}
	if e.From != last.To || e.From != run.State || e.To != next.State || e.Status != next.Status {
		t.Fatalf("history goes %s -> %s, then %s -> %s; the run is in %s", last.From, last.To, e.From, e.To, next.State)
	}
	if next.ID != run.ID || next.Workflow != run.Workflow || next.WorkflowVersion != run.WorkflowVersion ||
		next.Owner != run.Owner || !next.CreatedAt.Equal(run.CreatedAt) || next.UpdatedAt.Equal(run.UpdatedAt) {
		t.Fatalf("run %+v became %+v", run, next)
	}
	if next.Held && next.Status != workflow.Paused {
		t.Fatalf("held while %s", next.Status)
	}
	_, fired := cmd.(workflow.Fire)
	_, resumed := cmd.(workflow.Resume)
	if entered := next.Entry == run.Entry+1; entered != (fired || resumed) || !entered && next.Entry != run.Entry {
		t.Fatalf("entry %d, then %d by %T", run.Entry, next.Entry, cmd)
	}
	if moved := next.TransitionCount == run.TransitionCount+1; moved != fired || !moved && next.TransitionCount != run.TransitionCount {
		t.Fatalf("transitions %d, then %d by %T", run.TransitionCount, next.TransitionCount, cmd)
	}
	if !fired && !document.Equal(next.Context, run.Context) {
		t.Fatalf("%T has changed the context", cmd)
	}
	if fire, ok := cmd.(workflow.Fire); ok {
		if !document.Equal(next.Context, document.MergeTop(run.Context, fire.Data)) {
			t.Fatalf("context %s and data %s became %s", run.Context, fire.Data, next.Context)
		}
	}
	if len(out.Events) == 0 || out.Events[0].Type != e.Type {
		t.Fatalf("events %+v of entry %s", out.Events, e.Type)
	}
}
