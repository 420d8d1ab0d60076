package verify_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// monitor watches a real run for one property, in the plainest way.
type monitor struct {
	p        workflow.Property
	met      bool
	violated string
}

// saw is told what a step has announced, and how the run stands then.
func (m *monitor) saw(w *walker, entered []string) {
	events := map[string]bool{}
	approved := false
	for _, ev := range w.runEvents {
		switch ev.Type {
		case workflow.EventTransitioned, workflow.EventForked, workflow.EventInvoked:
			events[ev.Event] = true
			approved = approved || ev.ApprovalID != ""
		}
	}
	if c := m.p.Condition; c != nil {
		m.met = m.met || c.Event != "" && events[c.Event] || c.State != "" && slices.Contains(entered, c.State) || c.Approval != nil && approved
	}
	if m.met || m.violated != "" {
		return
	}
	switch s := m.p.Subject; {
	case s.Event != "" && events[s.Event]:
		m.violated = "event " + s.Event
	case s.State != "" && slices.Contains(entered, s.State):
		m.violated = "state " + s.State
	case s.Calls():
		for _, lane := range w.run.Lanes() {
			input := `{"file_path": "a.txt", "old_string": "a", "new_string": "b"}`
			if s.Command != "" {
				input = fmt.Sprintf(`{"command": %q}`, s.Command)
			}
			if w.run.Status.Ended() {
				continue
			}
			if v := toolcall.Decide(w.m, &lane, toolcall.Call{Tool: s.Tool, Input: []byte(input)}); v.Decision == toolcall.Allow {
				m.violated = fmt.Sprintf("call of %s %s in %s", s.Tool, s.Command, lane.State)
			}
		}
	}
}

// entered are the states that a run has come to by a step, as its lanes and its history
// of events tell.
func entered(before []int64, w *walker) (states []string) {
	for _, lane := range w.run.Lanes() {
		if !slices.Contains(before, lane.Entry) {
			states = append(states, lane.State)
		}
	}
	for _, ev := range w.runEvents {
		if ev.Type == workflow.EventBranchEnded {
			states = append(states, ev.To)
		}
	}
	return states
}

func (d drawer) property(m *workflow.Machine) workflow.Property {
	states := m.Definition().States
	state := func() string { return states[d.IntN(len(states))].Name }
	event := func() string { return d.of("E0", "E1", "FORK", "CALL", "GO") }
	p := workflow.Property{Name: "p", Kind: workflow.Never, Running: true}
	switch d.IntN(5) {
	case 0:
		p.Subject.Event = event()
	case 1, 2:
		p.Subject.State = state()
	default:
		c := someCalls[d.IntN(len(someCalls))]
		p.Subject.Tool, p.Subject.Command = c.tool, c.command
	}
	switch d.IntN(5) {
	case 0:
	case 1:
		p.Condition = &workflow.Condition{Approval: &workflow.ApprovalCondition{}}
	case 2:
		p.Condition = &workflow.Condition{State: state()}
	default:
		p.Condition = &workflow.Condition{Event: event()}
	}
	return p
}

// TestProvedIsTrue: what is proved of a random workflow, no real run breaks; and what is
// refuted comes with a scenario that fails at its end.
func TestProvedIsTrue(t *testing.T) {
	t.Parallel()
	d := drawer{randtest.New(t, 11)}
	verdicts := map[verify.Verdict]int{}
	broken := 0
	for range randtest.Size(40, 2000) {
		src := d.workflow()
		m := model(t, src+"\n---\n"+drawnChild)
		var all []workflow.Property
		for range 6 {
			all = append(all, d.property(m.Main.Machine))
		}
		results := verify.Check(m, all, verify.Options{MaxStates: 200_000}).Results
		for i := range results {
			verdicts[results[i].Verdict]++
			if c := results[i].Counterexample; c != nil && results[i].Verdict == verify.Refuted {
				failsAtTheEnd(t, c)
			}
		}
		for range 6 {
			w := newWalker(d, m)
			monitors := make([]monitor, len(all))
			for i := range all {
				monitors[i].p = all[i]
				monitors[i].saw(w, []string{w.run.State})
			}
			for range 25 {
				var before []int64
				for _, lane := range w.run.Lanes() {
					before = append(before, lane.Entry)
				}
				w.step()
				came := entered(before, w)
				for i := range monitors {
					monitors[i].saw(w, came)
				}
			}
			for i := range monitors {
				if monitors[i].violated == "" {
					continue
				}
				broken++
				if results[i].Verdict == verify.Proved {
					t.Fatalf("%+v (condition %+v) is proved, and a run had %s\n%s", all[i], all[i].Condition, monitors[i].violated, src)
				}
			}
		}
	}
	t.Logf("%v; %d times a run broke one", verdicts, broken)
	if verdicts[verify.Proved] < 50 || verdicts[verify.Refuted] < 20 || broken < 50 {
		t.Errorf("the draws are too tame: %v, %d broken", verdicts, broken)
	}
}
