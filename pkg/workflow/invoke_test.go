package workflow_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

const calling = `{"id": "calling", "initial": "a",
 "states": {
  "a": {"on": {
    "CALL": {"invoke": "child", "on_complete": "z", "on_fail": "failed", "input": {"n": 1}},
    "FORK": {"fork": {"branches": {
        "p": {"initial": "p0", "terminal": "pz"}, "q": {"initial": "q0", "terminal": "qz"}},
      "on_complete": "z", "on_fail": "failed"}}}},
  "p0": {"on": {"CALL": {"invoke": "child", "on_complete": "pz"}, "OK": "pz", "SPLIT": {"fork": {"branches": {
      "x": {"initial": "x0", "terminal": "xz"}, "y": {"initial": "y0", "terminal": "yz"}},
    "on_complete": "pz"}}}}, "pz": {"type": "final"},
  "q0": {"on": {"OK": "qz"}}, "qz": {"type": "final"},
  "x0": {"on": {"CALL": {"invoke": "child", "on_complete": "xz"}}}, "xz": {"type": "final"},
  "y0": {"on": {"OK": "yz"}}, "yz": {"type": "final"},
  "z": {"type": "final"}, "failed": {"type": "final"}}}`

// steps takes one command after another, none of which is refused.
func steps(t testing.TB, m *workflow.Machine, run workflow.Run, cmds ...workflow.Command) workflow.Result {
	t.Helper()
	var out workflow.Result
	for _, cmd := range cmds {
		if out = m.Step(&run, cmd, noon); out.Rejection != nil {
			t.Fatalf("%s: %s", fingerprint(cmd), out.Rejection.Message)
		}
		run = out.Run
	}
	return out
}

// TestInvokeDepth: S5.5, runs nest to depth 16 and no deeper.
func TestInvokeDepth(t *testing.T) {
	t.Parallel()
	m := machine(t, calling)
	next := machine(t, strings.NewReplacer(`"calling"`, `"child"`, `"child"`, `"calling"`).Replace(calling)) // they invoke each other
	run := started(t, m)
	for depth := 1; depth <= workflow.MaxInvokeDepth; depth++ {
		out := steps(t, m, run, workflow.Fire{Event: "CALL", Child: next, ChildID: fmt.Sprintf("run_%d", depth)})
		spawned := out.Spawned.Run
		if spawned.Depth() != depth || spawned.Parent.RunID != run.ID || out.Run.Child.RunID != spawned.ID {
			t.Fatalf("at depth %d: %+v of %s", depth, spawned.Parent, run.ID)
		}
		run, m, next = spawned, next, m
	}
	out := m.Step(&run, workflow.Fire{Event: "CALL", Child: next, ChildID: "run_17"}, noon)
	if out.Changed || codeOf(&out) != workflow.RejectInvokeTooDeep || out.Spawned != nil {
		t.Errorf("at depth %d: changed %t, %q", run.Depth(), out.Changed, codeOf(&out))
	}
}

// TestSpawned: a child begins as its workflow says, with the input over its
// context, for the session that works in the lane (S5.5).
func TestSpawned(t *testing.T) {
	t.Parallel()
	m, sub := machine(t, calling), machine(t, strings.Replace(child, `"states"`, `"context": {"n": 0, "m": 2}, "states"`, 1))
	call := workflow.Fire{Event: "CALL", Child: sub, ChildID: "run_2", Actor: "ann"}
	out := steps(t, m, started(t, m), call)
	got := out.Spawned.Run
	if got.ID != "run_2" || got.SessionID != "ses_1" || got.Owner != "ann" || got.Workspace != "/repo" || got.Status != workflow.Running ||
		got.Context.String() != `{"n":1,"m":2}` || out.Spawned.Entry.Type != workflow.EventStarted || got.Version != 1 {
		t.Errorf("spawned %+v", out.Spawned)
	}
	in := func(branch string, fire workflow.Fire) workflow.Fire {
		fire.Branch = branch
		return fire
	}
	fork, split := workflow.Fire{Event: "FORK"}, workflow.Fire{Event: "SPLIT", Branch: "p"}
	for name, c := range map[string]struct {
		cmds []workflow.Command
		want string
	}{
		"unbound":            {[]workflow.Command{fork, in("p", call)}, "ses_1"},
		"bound":              {[]workflow.Command{fork, workflow.Bind{Branch: "p", SessionID: "ses_2"}, in("p", call)}, "ses_2"},
		"bound further out":  {[]workflow.Command{fork, workflow.Bind{Branch: "p", SessionID: "ses_2"}, split, in("x", call)}, "ses_2"},
		"bound further in":   {[]workflow.Command{fork, workflow.Bind{Branch: "p", SessionID: "ses_2"}, split, workflow.Bind{Branch: "x", SessionID: "ses_3"}, in("x", call)}, "ses_3"},
		"another one's":      {[]workflow.Command{fork, workflow.Bind{Branch: "q", SessionID: "ses_2"}, in("p", call)}, "ses_1"},
		"taken back by own":  {[]workflow.Command{fork, workflow.Bind{Branch: "p", SessionID: "ses_2"}, workflow.Bind{Branch: "p", SessionID: "ses_1"}, in("p", call)}, "ses_1"},
		"left for the other": {[]workflow.Command{fork, workflow.Bind{Branch: "p", SessionID: "ses_2"}, workflow.Bind{Branch: "q", SessionID: "ses_2"}, in("p", call)}, "ses_1"},
	} {
		if got := steps(t, m, started(t, m), c.cmds...).Spawned.Run.SessionID; got != c.want {
			t.Errorf("%s: the child is for %s, want %s", name, got, c.want)
		}
	}
}

// TestUninvokable: no run is started or awaited, when the child cannot be the one that
// the event names.
func TestUninvokable(t *testing.T) {
	t.Parallel()
	m := machine(t, calling)
	large := strings.Repeat("x", workflow.MaxContextBytes-len(`{"k":""}`))
	for name, c := range map[string]struct {
		child *workflow.Machine
		code  workflow.RejectionCode
	}{
		"none":              {nil, workflow.RejectUnknownWorkflow},
		"another workflow":  {machine(t, loop), workflow.RejectUnknownWorkflow},
		"no room for input": {workflow.Compile(&workflow.Definition{ID: "child", Initial: "w", Context: oneKey("k", large), States: []workflow.State{{Name: "w"}}}, 1), workflow.RejectInvalidData},
		"no initial state":  {workflow.Compile(&workflow.Definition{ID: "child", Initial: "w"}, 1), workflow.RejectUnsupported},
	} {
		run := started(t, m)
		out := m.Step(&run, workflow.Fire{Event: "CALL", Child: c.child, ChildID: "run_2", Actor: "ann"}, noon)
		if out.Changed || codeOf(&out) != c.code || out.Spawned != nil || out.Entry.Actor != "ann" || len(out.Events) != 1 {
			t.Errorf("%s: changed %t, %q, %+v", name, out.Changed, codeOf(&out), out.Entry)
		}
		if fingerprint(out.Run) != fingerprint(run) {
			t.Errorf("%s: the run is %+v", name, out.Run)
		}
	}
}

func oneKey(name, text string) document.Value {
	return document.ObjectValue([]document.Member{{Name: name, Value: document.StringValue(text)}})
}

// TestLargeResults: a past result cannot be refused. A child whose context does not fit
// ends all the same, and so does the fork that it decides.
func TestLargeResults(t *testing.T) {
	t.Parallel()
	m, sub := machine(t, calling), machine(t, child)
	half, whole := strings.Repeat("x", workflow.MaxContextBytes/2), strings.Repeat("y", workflow.MaxContextBytes-20)
	call := workflow.Fire{Event: "CALL", Child: sub, ChildID: "run_2"}
	ended := workflow.ChildEnded{Child: workflow.Run{ID: "run_2", Workflow: "child", Status: workflow.Completed, Lane: workflow.Lane{Context: oneKey("k", whole)}}}
	out := steps(t, m, started(t, m), call, ended)
	if out.Run.State != "z" || out.Run.Context.String() != "{}" || !strings.Contains(out.Entry.Reason, `its end leaves out "results.CALL"`) {
		t.Errorf("in %s: %s", out.Run.State, out.Entry.Reason)
	}

	in := call
	in.Branch = "p"
	ended.Child.Context = oneKey("k", half)
	out = steps(t, m, started(t, m), workflow.Fire{Event: "FORK"}, workflow.Fire{Event: "OK", Branch: "q", Data: oneKey("q", half)}, in, ended)
	if out.Run.Status != workflow.Completed || len(out.Entry.Joins) != 1 || out.Run.Context.String() != oneKey("q", half).String() ||
		!strings.Contains(out.Entry.Reason, `the join of event "FORK" leaves out "results.CALL"`) {
		t.Errorf("%s in %s: %s", out.Run.Status, out.Run.State, out.Entry.Reason)
	}
}

// TestStaleResults: S5.5. When a child's context does not fit, that of the child
// before it goes too: no guard may take an earlier success for this one.
func TestStaleResults(t *testing.T) {
	t.Parallel()
	m, sub := machine(t, `{"id": "stale", "initial": "s", "context": {"results": {"PLAN": 1}},
	 "states": {
	  "s": {"on": {"T": {"invoke": "child", "on_complete": "g", "on_fail": "g"}}},
	  "g": {"on": {"AGAIN": "s", "SHIP": {"target": "z", "guard": "ok"}}}, "z": {"type": "final"}},
	 "guards": {"ok": {"field": "results.T.passed", "op": "eq", "value": true}}}`), machine(t, child)
	test := func(run workflow.Run, id, result string) workflow.Result {
		return steps(t, m, run, workflow.Fire{Event: "T", Child: sub, ChildID: id}, workflow.ChildEnded{Child: workflow.Run{
			ID: id, Workflow: "child", Status: workflow.Completed, Lane: workflow.Lane{Context: value(t, result)},
		}})
	}
	passed := test(started(t, m), "run_2", `{"passed": true}`).Run
	if out := m.Step(&passed, workflow.Fire{Event: "SHIP"}, noon); out.Run.State != "z" {
		t.Fatalf("after a success: %+v", out.Rejection)
	}
	again := steps(t, m, passed, workflow.Fire{Event: "AGAIN"}).Run
	failed := test(again, "run_3", `{"passed": false, "log": "`+strings.Repeat("x", workflow.MaxContextBytes-30)+`"}`)
	if failed.Run.Context.String() != `{"results":{"PLAN":1}}` ||
		!strings.Contains(failed.Entry.Reason, `leaves out "results.T", and the previous contents`) ||
		failed.Events[0].Reason != failed.Entry.Reason {
		t.Errorf("context %s, for %s", failed.Run.Context, failed.Entry.Reason)
	}
	if out := m.Step(&failed.Run, workflow.Fire{Event: "SHIP"}, noon); codeOf(&out) != workflow.RejectGuardFailed {
		t.Errorf("shipped by the result of an earlier child: in %s, %q", out.Run.State, codeOf(&out))
	}
}
