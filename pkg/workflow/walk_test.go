package workflow_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// TestExamplesWalk takes every event of every reachable state of the workflows in
// testdata/examples (those of the schema reference), with a context that opens
// each guard and with one that opens none: through every branch of a fork, with
// children that succeed and that fail, and from every interrupt back. All must
// lead where it is written to lead. Approvals are advisory, as the reference has them.
func TestExamplesWalk(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/examples/*.json")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			m := machine(t, string(workflow.WhileRunning.Write(src)))
			w := &walker{t: t, m: m, seen: map[string]bool{}}
			run := started(t, m)
			w.visit(run)
			for _, i := range m.Definition().Interrupts {
				out := m.Step(&run, workflow.Divert{Interrupt: i.Name}, noon)
				if out.Run.State != i.Target || out.Run.Interrupt == nil {
					t.Fatalf("interrupt %s leads to %s", i.Name, out.Run.State)
				}
				w.visit(out.Run)
			}
			if w.steps == 0 {
				t.Error("no step was taken")
			}
		})
	}
}

type walker struct {
	t     *testing.T
	m     *workflow.Machine
	seen  map[string]bool
	steps int
}

func (w *walker) visit(run workflow.Run) {
	if w.seen[run.State] {
		return
	}
	w.seen[run.State] = true
	state := w.m.State(run.State)
	if state.Final {
		if !run.Status.Ended() {
			w.t.Errorf("in the final state %s the run is %s", run.State, run.Status)
		}
		return
	}
	for i := range state.On {
		w.try(run, &state.On[i])
	}
	out := w.m.Step(&run, workflow.Fire{Event: "an event that nobody defines"}, noon)
	switch {
	case state.SafeNext == "" && codeOf(&out) != workflow.RejectUnknownEvent:
		w.t.Errorf("%s: an unknown event is answered with %q", run.State, codeOf(&out))
	case state.SafeNext != "" && (out.Run.State != state.SafeNext || !out.Entry.SafeNext):
		w.t.Errorf("%s: safe_next leads to %s", run.State, out.Run.State)
	}
}

// try fires an event once for every branch, with a context that opens just that
// one, and once with a context that opens none.
func (w *walker) try(run workflow.Run, tr *workflow.Transition) {
	switch {
	case tr.Invoke != nil:
		w.invoke(run, tr)
		return
	case tr.Fork != nil:
		w.fork(run, tr)
		return
	}
	closed := run
	closed.Context = document.ObjectValue(nil)
	out := w.m.Step(&closed, workflow.Fire{Event: tr.Event}, noon)
	w.steps++
	switch {
	case tr.Branched && len(tr.Branches[len(tr.Branches)-1].Guards) > 0:
		w.refused(run.State, tr.Event, &out, workflow.RejectNoBranchMatched)
	case !tr.Branched && len(tr.Branches[0].Guards) > 0:
		w.refused(run.State, tr.Event, &out, workflow.RejectGuardFailed)
	}
	for i := range tr.Branches {
		branch := &tr.Branches[i]
		opened := run
		opened.Context = w.opening(branch.Guards)
		out := w.m.Step(&opened, workflow.Fire{Event: tr.Event, Data: document.ObjectValue(nil)}, noon)
		want := branch.Target
		if want == workflow.ReturnTarget {
			want = run.Interrupt.ReturnTo
		}
		switch {
		case out.Rejection != nil:
			w.t.Errorf("%s %s: %s", run.State, tr.Event, out.Rejection.Message)
		case out.Run.State != want:
			w.t.Errorf("%s %s leads to %s, not %s", run.State, tr.Event, out.Run.State, want)
		default:
			w.visit(out.Run)
		}
	}
}

// invoke takes on_complete, on_fail and, with no such workflow, neither.
func (w *walker) invoke(run workflow.Run, tr *workflow.Transition) {
	w.steps++
	out := w.m.Step(&run, workflow.Fire{Event: tr.Event}, noon)
	w.refused(run.State, tr.Event, &out, workflow.RejectUnknownWorkflow)
	child := workflow.Compile(&workflow.Definition{ID: tr.Invoke.Workflow, Initial: "a", States: []workflow.State{{Name: "a"}}}, 1)
	out = w.m.Step(&run, workflow.Fire{Event: tr.Event, Child: child, ChildID: "run_2"}, noon)
	if out.Run.Status != workflow.Waiting || out.Spawned == nil || out.Spawned.Run.Context.String() != tr.Invoke.Input.String() {
		w.t.Fatalf("%s %s: %s, spawned %+v", run.State, tr.Event, out.Run.Status, out.Spawned)
	}
	for status, want := range map[workflow.Status]string{
		workflow.Completed: tr.Invoke.OnComplete, workflow.Failed: tr.Invoke.OnFail,
	} {
		ended := w.m.Step(&out.Run, workflow.ChildEnded{Child: workflow.Run{ID: "run_2", Status: status}}, noon)
		if ended.Run.State != want {
			w.t.Errorf("%s %s: a child that is %s leads to %s, not %s", run.State, tr.Event, status, ended.Run.State, want)
			continue
		}
		w.visit(ended.Run)
	}
}

// fork takes every branch straight to its terminal.
func (w *walker) fork(run workflow.Run, tr *workflow.Transition) {
	out := w.m.Step(&run, workflow.Fire{Event: tr.Event}, noon)
	for _, b := range tr.Fork.Branches {
		if at := out.Run.At(b.Name); at.State != b.Initial || at.Status != workflow.Running {
			w.t.Fatalf("branch %s begins %s in %s", b.Name, at.Status, at.State)
		}
	}
	for _, b := range tr.Fork.Branches {
		for range w.m.Definition().States {
			at := out.Run.At(b.Name)
			if out.Run.Fork == nil || at.Over {
				break
			}
			w.steps++
			out = w.m.Step(&out.Run, workflow.Fire{Event: w.m.LegalEvents(at.State)[0].Event, Branch: b.Name}, noon)
		}
	}
	if out.Run.Fork != nil || out.Run.State != tr.Fork.OnComplete {
		w.t.Fatalf("%s %s leads to %s", run.State, tr.Event, out.Run.State)
	}
	w.visit(out.Run)
}

func (w *walker) refused(state, event string, out *workflow.Result, want workflow.RejectionCode) {
	w.t.Helper()
	if out.Changed || codeOf(out) != want {
		w.t.Errorf("%s %s: changed %t, code %q, want %q", state, event, out.Changed, codeOf(out), want)
	}
}

// opening is a context in which these guards, all of operators with a value to
// copy, pass.
func (w *walker) opening(names []string) document.Value {
	var members []document.Member
	for _, g := range w.m.Definition().Guards {
		for _, name := range names {
			if g.Name != name {
				continue
			}
			if g.Op != "eq" && g.Op != "gte" && g.Op != "lte" {
				w.t.Fatalf("the walk cannot open guard %s with operator %s", g.Name, g.Op)
			}
			members = append(members, document.Member{Name: g.Field, Value: g.Value})
		}
	}
	return document.ObjectValue(members)
}

// TestExamplesAreComplete: the walk means little when a pattern is missing.
func TestExamplesAreComplete(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/examples/*.json")
	if err != nil {
		t.Fatal(err)
	}
	patterns := map[string]bool{}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var raw map[string]json.RawMessage
		if err := json.Unmarshal(src, &raw); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, word := range []string{`"guard"`, `"guards"`, `"invoke"`, `"fork"`, `"$return"`, `"safe_next"`, `"requires_approval"`, `[`} {
			if strings.Contains(string(raw["states"]), word) {
				patterns[word] = true
			}
		}
	}
	if len(patterns) != 8 {
		t.Errorf("the examples have only the patterns %v", patterns)
	}
}
