package workflow_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/workflow"
)

// replayed plays the history of a run again, next to it.
type replayed struct {
	m   *workflow.Machine
	run workflow.Run
	err error
}

// newReplay begins with a start: its other facts about the run are those that no history
// has.
func newReplay(m *workflow.Machine, start *workflow.Result) *replayed {
	origin := workflow.Run{ID: start.Run.ID, Workspace: start.Run.Workspace, Owner: start.Run.Owner, Parent: start.Run.Parent}
	p := &replayed{m: m}
	p.run, p.err = m.Replay(&origin, &start.Entry)
	if p.err == nil && !reflect.DeepEqual(p.run, start.Run) {
		p.err = fmt.Errorf("the start is played as %+v, and was %+v", p.run, start.Run)
	}
	return p
}

// add plays one more entry, and describes differences from the run.
func (p *replayed) add(out *workflow.Result) error {
	if p.err != nil {
		return p.err
	}
	next, err := p.m.Replay(&p.run, &out.Entry)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(next, out.Run) {
		return fmt.Errorf("played again it is\n%s, not\n%s", fingerprint(next), fingerprint(out.Run))
	}
	p.run = next
	return nil
}

// TestReplayOfAnotherSession: a run that another session resumes is that one's from then on.
func TestReplayOfAnotherSession(t *testing.T) {
	t.Parallel()
	m := machine(t, varied)
	start := m.Start(workflow.StartParams{ID: "run_1", SessionID: "ses_1"}, "ann", noon)
	paused := m.Step(&start.Run, workflow.Pause{Hold: workflow.HoldOperator, Actor: "olga"}, noon)
	resumed := m.Step(&paused.Run, workflow.Resume{Lifts: causes, Actor: "olga"}, noon.Add(time.Second))
	resumed.Run.SessionID, resumed.Entry.SessionID = "ses_2", "ses_2"
	p := newReplay(m, &start)
	for _, out := range []workflow.Result{paused, resumed} {
		if err := p.add(&out); err != nil {
			t.Fatal(err)
		}
	}
	if p.run.SessionID != "ses_2" {
		t.Errorf("session %q", p.run.SessionID)
	}
}

// TestReplayOfSomethingElse: a history of another machine, or one that was changed, is no
// history of this run.
func TestReplayOfSomethingElse(t *testing.T) {
	t.Parallel()
	m := machine(t, varied)
	start := m.Start(workflow.StartParams{ID: "run_1"}, "ann", noon)
	moved := m.Step(&start.Run, workflow.Fire{Event: "GO", Actor: "ann"}, noon)
	for name, tc := range map[string]struct {
		change func(e *workflow.HistoryEntry)
		want   string
	}{
		"an event that there is not": {func(e *workflow.HistoryEntry) { e.Event = "OUT"; e.SafeNext = false; e.To = "a" }, "leads to b"},
		"another target":             {func(e *workflow.HistoryEntry) { e.To = "z" }, "leads to b"},
		"another version":            {func(e *workflow.HistoryEntry) { e.RunVersion = 7 }, "version 7"},
		"another status":             {func(e *workflow.HistoryEntry) { e.Status = workflow.Paused }, "not to b, PAUSED"},
		"refused":                    {func(e *workflow.HistoryEntry) { e.Event = "GUARDED" }, "is refused"},
		"without an effect":          {func(e *workflow.HistoryEntry) { e.Type, e.Interrupt = workflow.EventInterrupted, "nope" }, "has no effect"},
		"an unknown type":            {func(e *workflow.HistoryEntry) { e.Type = "tool_result" }, "no change of type"},
		"an unknown branch":          {func(e *workflow.HistoryEntry) { e.Type, e.Branch = workflow.EventForced, "x" }, `no branch "x"`},
	} {
		e := moved.Entry
		tc.change(&e)
		if _, err := m.Replay(&start.Run, &e); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
