package workflow_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/workflow"
)

// TestRegions: a state belongs to a branch, or to a handler, by any way that leads there:
// an event, safe_next, and both ends of invokes and forks (S4.1, S5.1).
func TestRegions(t *testing.T) {
	t.Parallel()
	m := machine(t, `{"id": "r", "initial": "m",
	 "interrupts": {"i": {"trigger": {"file_pattern": "*.js"}, "target": "h"}},
	 "states": {
	  "m": {"on": {"FORK": {"fork": {"branches": {"p": {"initial": "p0", "terminal": "pz"}}, "on_complete": "n"}}}},
	  "n": {"on": {"END": "z"}},
	  "p0": {"safe_next": "p1", "on": {"OK": "pz"}},
	  "p1": {"on": {"CALL": {"invoke": "child", "on_complete": "pz", "on_fail": "p2"}}},
	  "p2": {"on": {"SPLIT": {"fork": {"branches": {"x": {"initial": "x0", "terminal": "xz"}}, "on_complete": "pz", "on_fail": "p3"}}}},
	  "p3": {"on": {"OK": "pz"}}, "pz": {"type": "final"},
	  "x0": {"on": {"OK": "xz", "FAIL": "failed"}}, "xz": {"type": "final"},
	  "h": {"safe_next": "h1", "on": {"BACK": "$return"}},
	  "h1": {"on": {"BACK": "$return", "CALL": {"invoke": "child", "on_complete": "h", "on_fail": "h2"}}},
	  "h2": {"on": {"BACK": "$return", "SPLIT": {"fork": {"branches": {"y": {"initial": "y0", "terminal": "yz"}}, "on_complete": "h", "on_fail": "h3"}}}},
	  "h3": {"on": {"BACK": "$return", "OUT": "n"}},
	  "y0": {"on": {"OK": "yz", "FAIL": "failed"}}, "yz": {"type": "final"},
	  "z": {"type": "final"}, "failed": {"type": "final"}}}`)
	sub := machine(t, child)
	failed := workflow.ChildEnded{Child: workflow.Run{ID: "run_2", Status: workflow.Failed}}
	call := workflow.Fire{Event: "CALL", Child: sub, ChildID: "run_2"}
	branch := []workflow.Command{
		workflow.Fire{Event: "?"}, call, failed, workflow.Fire{Event: "SPLIT"}, workflow.Fire{Event: "FAIL"},
	}
	handler := append([]workflow.Command{workflow.Divert{Interrupt: "i"}}, branch...)

	at := func(out workflow.Result) workflow.View { return out.Run.At("") }
	run := steps(t, m, started(t, m), workflow.Fire{Event: "FORK"}).Run
	if got := at(steps(t, m, run, branch...)); got.State != "p3" || got.Branch != "p" {
		t.Errorf("in %s of branch %q", got.State, got.Branch)
	}
	for name, from := range map[string]workflow.Run{"run": started(t, m), "branch": run} {
		in := at(steps(t, m, from, handler...))
		if in.State != "h3" || in.Interrupt == nil || in.Interrupt.ReturnTo != from.At("").State {
			t.Errorf("%s: in %s, interrupt %+v", name, in.State, in.Interrupt)
		}
		back := at(steps(t, m, from, append(handler, workflow.Fire{Event: "BACK"})...))
		if back.State != from.At("").State || back.Interrupt != nil {
			t.Errorf("%s: back in %s, interrupt %+v", name, back.State, back.Interrupt)
		}
	}
	out := m.Step(new(steps(t, m, run, handler...).Run), workflow.Fire{Event: "OUT"}, noon)
	if out.Changed || codeOf(&out) != workflow.RejectUnsupported {
		t.Errorf("out of the branch by its handler: %t, %q", out.Changed, codeOf(&out))
	}
	if out = steps(t, m, started(t, m), append(handler, workflow.Fire{Event: "OUT"})...); out.Run.State != "n" || out.Run.Interrupt != nil {
		t.Errorf("out of the handler: in %s, interrupt %+v", out.Run.State, out.Run.Interrupt)
	}
}

// TestDivertIntoBranch: S4, S5.1. Validation refuses an interrupt that leads into
// a branch, and a machine that is made of one all the same does not fire it: from
// elsewhere the branch's terminal would end the run, past the join.
func TestDivertIntoBranch(t *testing.T) {
	t.Parallel()
	src := `{"id": "i", "initial": "s",
	 "interrupts": {"i": {"trigger": {"file_pattern": "*.js"}, "target": "h"}},
	 "states": {
	  "s": {"on": {"GO": {"fork": {"branches": {"a": {"initial": "a1", "terminal": "a2"}, "b": {"initial": "b1", "terminal": "b2"}}, "on_complete": "e"}}}},
	  "a1": {"on": {"OK": "a2"}}, "a2": {"type": "final"},
	  "b1": {"on": {"NEXT": "b3", "STUCK": "b4"}}, "b3": {"on": {"OK": "b2"}}, "b4": {"safe_next": "b4"}, "b2": {"type": "final"},
	  "h": {"on": {"BACK": "$return", "SPLIT": {"fork": {"branches": {"x": {"initial": "x1", "terminal": "x2"}}, "on_complete": "h2"}}}},
	  "h2": {"on": {"BACK": "$return"}}, "x1": {"on": {"OK": "x2"}}, "x2": {"type": "final"},
	  "e": {"on": {"END": "z"}}, "z": {"type": "final"}}}`
	for target, fires := range map[string]bool{"h": true, "h2": true, "e": true, "a1": false, "b1": false, "b3": false, "b4": false, "x1": false} {
		def, problems := workflow.Parse([]byte(src))
		if problems.HasErrors() {
			t.Fatal(problems)
		}
		def.Interrupts[0].Target = target
		m := workflow.Compile(def, 1)
		run := started(t, m)
		forked := steps(t, m, run, workflow.Fire{Event: "GO"}).Run
		for _, c := range []struct {
			from   workflow.Run
			branch string
		}{{run, ""}, {forked, ""}, {forked, "a"}, {forked, "b"}} {
			out := m.Step(&c.from, workflow.Divert{Interrupt: "i", Branch: c.branch}, noon)
			if out.Changed != fires || out.Rejection != nil || (out.Note == "") != fires || !fires && fingerprint(out.Run) != fingerprint(c.from) {
				t.Errorf("to %s from branch %q: changed %t, %q", target, c.branch, out.Changed, out.Note)
			}
		}
	}
}
