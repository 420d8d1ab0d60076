package app

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

const (
	release = `{
		"id": "release", "initial": "building", "context": {"by": "us"},
		"states": {
			"building": {"on": {
				"TEST": {"invoke": "suite", "on_complete": "shipping", "on_fail": "fixing", "input": {"kind": "all"}},
				"STRICT": {"invoke": "suite", "on_complete": "shipping"},
				"LOST": {"invoke": "nowhere", "on_complete": "shipping"}}},
			"fixing": {"on": {"AGAIN": "building"}},
			"shipping": {"on": {"DONE": "done"}},
			"done": {"type": "final"}
		}
	}`
	suite = `{
		"id": "suite", "initial": "unit", "context": {"kind": "unit"},
		"states": {
			"unit": {"max_iterations": 5, "on": {"PASS": "green", "FAIL": "failed", "DEEPER": {"invoke": "deep", "on_complete": "green", "on_fail": "failed"}}},
			"green": {"type": "final"}, "failed": {"type": "final"}
		}
	}`
	deep = `{
		"id": "deep", "initial": "unit",
		"states": {
			"unit": {"on": {"PASS": "green", "DEEPER": {"invoke": "suite", "on_complete": "green"}}},
			"green": {"type": "final"}
		}
	}`
	checks = `{
		"id": "checks", "initial": "start", "context": {"n": 0},
		"states": {
			"start": {"on": {"CHECK": {"fork": {"branches": {
				"lint": {"initial": "lint_run", "terminal": "lint_done"},
				"types": {"initial": "types_run", "terminal": "types_done"},
				"tests": {"initial": "tests_run", "terminal": "tests_done"}},
				"on_complete": "ready", "on_fail": "broken"}}}},
			"lint_run": {"on": {"OK": "lint_done", "SELF": "lint_run", "BAD": "broken"}}, "lint_done": {"type": "final"},
			"types_run": {"on": {"OK": "types_done", "SELF": "types_run", "BAD": "broken"}}, "types_done": {"type": "final"},
			"tests_run": {"on": {"OK": "tests_done", "SELF": "tests_run", "BAD": "broken",
				"RUN": {"invoke": "suite", "on_complete": "tests_done", "on_fail": "broken"}}}, "tests_done": {"type": "final"},
			"ready": {"on": {"END": "done"}},
			"done": {"type": "final"}, "broken": {"type": "final", "outcome": "failure"}
		}
	}`
)

func registerAll(t *testing.T, a *App) {
	t.Helper()
	for _, definition := range []string{release, suite, deep, checks} {
		if _, _, _, err := a.Register(t.Context(), operator, []byte(definition), ""); err != nil {
			t.Fatal(err)
		}
	}
}

// accepted fires an event that must be accepted, and answers the run in force.
func accepted(t *testing.T, a *App, target Target, event, data, key string) *View {
	t.Helper()
	outcome, err := a.Transition(t.Context(), agent, Transition{Target: target, Event: event, Data: []byte(data), IdempotencyKey: key})
	if err != nil {
		t.Fatalf("%s: %v", event, err)
	}
	if outcome.Rejection != nil {
		t.Fatalf("%s: %s", event, outcome.Rejection.Message)
	}
	return outcome.View
}

func load(t *testing.T, a *App, id string) *workflow.Run {
	t.Helper()
	view, err := a.Get(t.Context(), "default", Target{RunID: id}, false)
	if err != nil {
		t.Fatal(err)
	}
	return view.Run
}

// S5.5: the child has the parent's session, what is asked of the parent is judged
// in the child, and its end moves the parent on with its results.
func TestInvoke(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	registerAll(t, a)
	parent := mustStart(t, a, agent, Start{Workflow: "release", SessionID: "s", Workspace: "/w"})
	bySession := Target{SessionID: "s"}
	child := accepted(t, a, bySession, "TEST", `{"asked": true}`, "").Run
	if child.Workflow != "suite" || child.SessionID != "s" || child.Workspace != "/w" || child.Parent.RunID != parent.ID ||
		child.Context.String() != `{"kind":"all"}` {
		t.Errorf("child %+v", child)
	}
	if p := load(t, a, parent.ID); p.Status != workflow.Waiting || p.State != "building" || p.Context.String() != `{"by":"us","asked":true}` {
		t.Errorf("parent %+v", p)
	}
	for _, target := range []Target{bySession, {RunID: parent.ID}, {RunID: child.ID}} {
		view, err := a.Get(t.Context(), "default", target, true)
		if err != nil || view.Run.ID != child.ID {
			t.Errorf("%+v is run %s, %v", target, view.Run.ID, err)
		}
		if want := max(target.RunID, map[bool]string{true: parent.ID}[target.SessionID != ""]); view.AskedID != want {
			t.Errorf("%+v was asked as %s, want %s", target, view.AskedID, want)
		}
	}
	after := accepted(t, a, Target{RunID: parent.ID}, "PASS", `{"passed": 7}`, "").Run
	if after.ID != parent.ID || after.State != "shipping" || after.Status != workflow.Running ||
		after.Context.String() != `{"by":"us","asked":true,"results":{"TEST":{"kind":"all","passed":7}}}` {
		t.Errorf("afterwards %+v, context %s", after, after.Context)
	}
	if c := load(t, a, child.ID); c.Status != workflow.Completed {
		t.Errorf("child %+v", c)
	}
}

// S5.5, S5.6: failure, what is not registered, depth, cancelling on both sides.
func TestInvokeThatFails(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	registerAll(t, a)
	begin := func(event string) (parent string, child string) {
		run := mustStart(t, a, agent, Start{Workflow: "release"})
		return run.ID, accepted(t, a, Target{RunID: run.ID}, event, "", "").Run.ID
	}
	parent, _ := begin("TEST")
	if after := accepted(t, a, Target{RunID: parent}, "FAIL", "", "").Run; after.State != "fixing" {
		t.Errorf("after a failed child: %+v", after)
	}
	parent, child := begin("STRICT")
	if after := accepted(t, a, Target{RunID: child}, "FAIL", "", "").Run; after.ID != parent || after.Status != workflow.Failed {
		t.Errorf("without on_fail: %+v", after)
	}
	parent, child = begin("TEST")
	if _, err := a.Cancel(t.Context(), operator, child, "enough", ""); err != nil {
		t.Fatal(err)
	}
	if p := load(t, a, parent); p.State != "fixing" || p.Status != workflow.Running {
		t.Errorf("after a cancelled child: %+v", p)
	}
	parent, child = begin("TEST")
	grandchild := accepted(t, a, Target{RunID: parent}, "DEEPER", "", "").Run.ID
	if _, err := a.Cancel(t.Context(), operator, parent, "enough", ""); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{parent, child, grandchild} {
		if r := load(t, a, id); r.Status != workflow.Cancelled {
			t.Errorf("run %s is %s after its parent was cancelled", r.Workflow, r.Status)
		}
	}
	run := mustStart(t, a, agent, Start{Workflow: "release"})
	outcome, err := fire(a, agent, run.ID, "LOST", "", "")
	if err != nil || outcome.Rejection == nil || outcome.Rejection.Code != workflow.RejectUnknownWorkflow {
		t.Errorf("an unknown workflow: %+v, %v", outcome, err)
	}
	accepted(t, a, Target{RunID: run.ID}, "TEST", "", "")
	for depth := 1; depth < workflow.MaxInvokeDepth; depth++ {
		accepted(t, a, Target{RunID: run.ID}, "DEEPER", "", "")
	}
	outcome, err = fire(a, agent, run.ID, "DEEPER", "", "")
	if err != nil || outcome.Rejection == nil || outcome.Rejection.Code != workflow.RejectInvokeTooDeep {
		t.Errorf("at the limit: %+v, %v", outcome, err)
	}
	// All of them end together: each is the success of the one above.
	if after := accepted(t, a, Target{RunID: run.ID}, "PASS", "", "").Run; after.ID != run.ID || after.State != "shipping" {
		t.Errorf("after %d children: %+v", workflow.MaxInvokeDepth, after)
	}
}

// A pause stops the whole family and a resume continues it (S6.2); an agent may
// not leave a child that enforces always (S6.6).
func TestFamilyPausesTogether(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	registerAll(t, a)
	parent := mustStart(t, a, agent, Start{Workflow: "release", SessionID: "s"})
	child := accepted(t, a, Target{SessionID: "s"}, "TEST", "", "").Run
	if _, err := a.Pause(t.Context(), operator, child.ID, "look", ""); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{parent.ID, child.ID} {
		if r := load(t, a, id); r.Status != workflow.Paused || !r.Held {
			t.Errorf("%s is %s, held %t", r.Workflow, r.Status, r.Held)
		}
	}
	outcome, err := fire(a, agent, parent.ID, "PASS", "", "")
	if err != nil || outcome.Rejection == nil || outcome.Rejection.Code != workflow.RejectRunNotRunning {
		t.Errorf("an event while held: %+v, %v", outcome, err)
	}
	if _, err := a.Resume(t.Context(), agent, parent.ID, ""); fault.ReasonOf(err) != fault.RunHeld {
		t.Errorf("an agent lifts a hold: %v", err)
	}
	if _, err := a.Resume(t.Context(), operator, parent.ID, ""); err != nil {
		t.Fatal(err)
	}
	if p, c := load(t, a, parent.ID), load(t, a, child.ID); p.Status != workflow.Waiting || c.Status != workflow.Running {
		t.Errorf("resumed: parent %s, child %s", p.Status, c.Status)
	}
	// Loading another workflow pauses both, and resume brings both back.
	mustStart(t, a, agent, Start{Workflow: "suite", SessionID: "s"})
	if p, c := load(t, a, parent.ID), load(t, a, child.ID); p.Status != workflow.Paused || c.Status != workflow.Paused {
		t.Errorf("left: parent %s, child %s", p.Status, c.Status)
	}
	view, resumed, err := a.Start(t.Context(), agent, Start{Workflow: "release", SessionID: "s2", Resume: true})
	if err != nil || !resumed || view.Run.ID != child.ID || view.Run.SessionID != "s2" {
		t.Errorf("resumed %t as %+v, %v", resumed, view.Run, err)
	}
	if after := accepted(t, a, Target{SessionID: "s2"}, "PASS", "", "").Run; after.ID != parent.ID || after.State != "shipping" {
		t.Errorf("afterwards %+v", after)
	}
}

// The parent resumes whatever befalls the store between any two steps, and each
// event counts once: commits fail, or are applied and seem to fail, and the
// request is repeated with its key, here or on another replica.
func TestInvokeSurvivesFaults(t *testing.T) {
	t.Parallel()
	for _, kind := range []storetest.Fault{storetest.Failed, storetest.FailedButApplied, storetest.Uncertain} {
		for n := 1; n <= 4; n++ {
			st := newStore(t)
			a := newApp(st)
			registerAll(t, a)
			run := mustStart(t, a, agent, Start{Workflow: "release", SessionID: "s"})
			st.Decide = storetest.Nth(st.Commits()+n, kind)
			for i, event := range []string{"TEST", "DEEPER", "PASS", "DONE"} {
				request := Transition{Target: Target{RunID: run.ID}, Event: event, IdempotencyKey: fmt.Sprint("k", i)}
				outcome, err := a.Transition(t.Context(), agent, request)
				for try := 0; err != nil && try < 3; try++ {
					a = newApp(st) // another replica, or this one after a restart
					outcome, err = a.Transition(t.Context(), agent, request)
				}
				if err != nil || outcome.Rejection != nil {
					t.Fatalf("fault %d at commit %d: %s: %+v, %v", kind, n, event, outcome, err)
				}
			}
			if p := load(t, a, run.ID); p.State != "done" || p.TransitionCount != 3 {
				t.Errorf("fault %d at commit %d: %+v", kind, n, p)
			}
			views, _, err := a.List(t.Context(), "default", ListQuery{Limit: 100})
			if err != nil || len(views) != 3 {
				t.Errorf("fault %d at commit %d: %d runs were started, %v", kind, n, len(views), err)
			}
		}
	}
}

// S5.4: however the branches' sessions race, on several replicas, there is one
// join, and the contexts are merged.
func TestBranchesRaceToOneJoin(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	apps := []*App{newApp(st), newApp(st), newApp(st)}
	registerAll(t, apps[0])
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		run := mustStart(t, apps[0], agent, Start{Workflow: "checks", SessionID: fmt.Sprint("main", seed)})
		accepted(t, apps[0], Target{RunID: run.ID}, "CHECK", "", "")
		fails := random.IntN(3) == 0
		var group sync.WaitGroup
		for i, branch := range []string{"lint", "types", "tests"} {
			steps := 1 + random.IntN(4)
			group.Go(func() {
				session := fmt.Sprint(branch, seed)
				a := apps[i]
				if _, err := a.Bind(context.Background(), agent, Bind{RunID: run.ID, Branch: branch, SessionID: session}); err != nil {
					if !fails { // another branch's failure may have joined already
						t.Errorf("bind %s: %v", branch, err)
					}
					return
				}
				target := Target{SessionID: session}
				send := func(event, data string) {
					outcome, err := a.Transition(context.Background(), agent, Transition{Target: target, Event: event, Data: []byte(data)})
					if err != nil || outcome.Rejection != nil && !fails {
						t.Errorf("%s in %s: %+v, %v", event, branch, outcome, err)
					}
				}
				for n := range steps {
					send("SELF", fmt.Sprintf(`{"%s": %d}`, branch, n))
				}
				if fails && branch == "types" {
					send("BAD", "")
					return
				}
				send("OK", `{"last": "`+branch+`"}`)
				send("BRANCH_DONE:"+branch, "")
			})
		}
		group.Wait()
		checkJoined(t, apps[0], run.ID, fails)
	}
}

func checkJoined(t *testing.T, a *App, runID string, fails bool) {
	t.Helper()
	run := load(t, a, runID)
	state := "ready"
	if fails {
		state = "broken"
	}
	if run.State != state || run.Fork != nil {
		t.Errorf("the run is in %s, fork %+v", run.State, run.Fork)
	}
	if last, _ := run.Context.Get("last"); !fails && last.Str() != "tests" {
		t.Errorf("context %s: the last branch in definition order wins", run.Context)
	}
	entries, _, err := a.History(t.Context(), "default", runID, Position{}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	joins := 0
	for i, e := range entries {
		joins += len(e.Joins)
		if e.RunVersion != int64(i+1) {
			t.Errorf("entry %d has version %d", i, e.RunVersion)
		}
	}
	if joins != 1 {
		t.Errorf("there were %d joins", joins)
	}
}

// S5.3: a bound session sees its branch, the others' work goes on in the rest.
func TestBindBranch(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	registerAll(t, a)
	run := mustStart(t, a, agent, Start{Workflow: "checks", SessionID: "main"})
	if _, err := a.Bind(t.Context(), agent, Bind{Workflow: "checks", Branch: "types", SessionID: "sub"}); fault.ReasonOf(err) != fault.NotFound {
		t.Errorf("before the fork: %v", err)
	}
	accepted(t, a, Target{SessionID: "main"}, "CHECK", "", "")
	view, err := a.Bind(t.Context(), agent, Bind{Workflow: "checks", Branch: "types", SessionID: "sub"})
	if err != nil || view.At.Branch != "types" || view.At.State != "types_run" {
		t.Fatalf("bound to %+v, %v", view, err)
	}
	if view := accepted(t, a, Target{SessionID: "main"}, "OK", "", ""); view.At.Branch != "tests" {
		t.Errorf("after lint the main session works in %s", view.At.Branch)
	}
	if view := accepted(t, a, Target{SessionID: "main"}, "OK", "", ""); view.At.Status != workflow.Waiting || view.Run.Status != workflow.Waiting {
		t.Errorf("with all other branches done the main session is %s", view.At.Status)
	}
	if view := accepted(t, a, Target{SessionID: "sub"}, "OK", "", ""); view.Run.State != "ready" {
		t.Errorf("joined in %s", view.Run.State)
	}
	if view := accepted(t, a, Target{SessionID: "sub"}, "BRANCH_DONE:types", "", ""); !view.At.Over {
		t.Errorf("the branch's session goes on in %+v", view.At)
	}
	outcome, err := a.Transition(t.Context(), agent, Transition{Target: Target{SessionID: "sub"}, Event: "END"})
	if err != nil || outcome.Rejection == nil {
		t.Errorf("the branch's session moves the run: %+v, %v", outcome, err)
	}
	if view := accepted(t, a, Target{SessionID: "main"}, "END", "", ""); view.Run.Status != workflow.Completed {
		t.Errorf("ended %s", view.Run.Status)
	}
	_ = run
}

// A child that was invoked in a branch is cancelled when the fork joins without
// it.
func TestJoinCancelsChildren(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	registerAll(t, a)
	run := mustStart(t, a, agent, Start{Workflow: "checks"})
	accepted(t, a, Target{RunID: run.ID}, "CHECK", "", "")
	child := accepted(t, a, Target{RunID: run.ID, Branch: "tests"}, "RUN", "", "").Run
	if child.Workflow != "suite" {
		t.Fatalf("invoked %+v", child)
	}
	accepted(t, a, Target{RunID: run.ID, Branch: "lint"}, "BAD", "", "")
	if r, c := load(t, a, run.ID), load(t, a, child.ID); r.State != "broken" || c.Status != workflow.Cancelled {
		t.Errorf("run in %s, child %s", r.State, c.Status)
	}
	outcome, err := fire(a, agent, child.ID, "PASS", "", "")
	if err != nil || outcome.Rejection == nil {
		t.Errorf("a cancelled child goes on: %+v, %v", outcome, err)
	}
}

// S4.1: only a call that was allowed fires an interrupt, once; and the counters of
// the state that it leaves are over.
func TestInterruptNeedsAnAllowedCall(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	a := newApp(st)
	const watched = `{
		"id": "watched", "initial": "work",
		"interrupts": {"sql": {"trigger": {"file_pattern": "**/*.sql"}, "target": "check"}},
		"states": {"work": {"on": {"END": "done"}}, "check": {"on": {"OK": "$return"}}, "done": {"type": "final"}}
	}`
	if _, _, _, err := a.Register(t.Context(), operator, []byte(watched), ""); err != nil {
		t.Fatal(err)
	}
	run := mustStart(t, a, agent, Start{Workflow: "watched", Workspace: "/w"})
	key := runKey("default", run.ID)
	decided := func(id string, v toolcall.Verdict) {
		call := ledger.Call{Verdict: v, RunID: run.ID, Entry: 1, RunVersion: 1}
		_, err := st.Commit(t.Context(), store.Batch{
			Idempotency: &store.Idempotency{Owner: key, Name: ledger.CallName(id), Answer: call.Encode(), TTL: ledger.Kept},
			Counters:    []store.Counter{{Owner: ledger.Entry(key, 1), Name: ledger.Iterations, Delta: 1, Limit: store.NoLimit}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	decided("denied", toolcall.Verdict{Decision: toolcall.Deny, Tool: "Edit"})
	decided("shell", toolcall.Verdict{Decision: toolcall.Allow, Tool: "Bash"})
	decided("other", toolcall.Verdict{Decision: toolcall.Allow, Tool: "Edit", Paths: []string{"a.go"}})
	decided("edit", toolcall.Verdict{Decision: toolcall.Allow, Tool: "Edit", Paths: []string{"db/1.sql"}})
	for _, id := range []string{"none", "denied", "shell"} {
		if _, err := a.Interrupt(t.Context(), agent, run.ID, id, []string{"db/1.sql"}); fault.ReasonOf(err) != fault.FailedPrecondition {
			t.Errorf("call %s: %v", id, err)
		}
	}
	if in, err := a.Interrupt(t.Context(), agent, run.ID, "other", []string{"b.go"}); err != nil || in.Fired {
		t.Errorf("no match: %+v, %v", in, err)
	}
	for range 2 {
		in, err := a.Interrupt(t.Context(), agent, run.ID, "edit", nil)
		if err != nil || !in.Fired || in.Interrupt != "sql" || in.From != "work" || in.View.At.State != "check" {
			t.Fatalf("%+v, %v", in, err)
		}
	}
	if counters, err := st.Counters(t.Context(), ledger.Entry(key, 1)); err != nil || len(counters) != 0 {
		t.Errorf("the entry that was left still counts %v, %v", counters, err)
	}
	if view := accepted(t, a, Target{RunID: run.ID}, "OK", "", ""); view.At.State != "work" || view.At.Entry != 3 {
		t.Errorf("returned to %+v", view.At)
	}
	// The same call does not fire again.
	if in, err := a.Interrupt(t.Context(), agent, run.ID, "edit", nil); err != nil || load(t, a, run.ID).State != "work" {
		t.Errorf("%+v, %v", in, err)
	}
}

// S6.4: tool results stand in the history where they came, whatever the page size.
func TestHistoryWithResults(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	a := newApp(st)
	run := newRun(t, a, agent, Start{Workflow: "review"})
	key := ledger.ResultsOf(runKey("default", run.ID))
	var want []string
	want = append(want, "started 1")
	for version := int64(1); version <= 3; version++ {
		for n := range version {
			result := ledger.Result{RunVersion: version, CallID: fmt.Sprint(version, n), Tool: "Read", Output: []byte("x")}
			data, err := result.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := st.Commit(t.Context(), store.Batch{Puts: []store.Put{{Key: key, Expect: store.AnyVersion, History: data}}}); err != nil {
				t.Fatal(err)
			}
			want = append(want, fmt.Sprint("tool_result ", version))
		}
		accepted(t, a, Target{RunID: run.ID}, "COUNT", "", "")
		want = append(want, fmt.Sprint("transitioned ", version+1))
	}
	for limit := 1; limit <= len(want)+1; limit++ {
		var got []string
		for after, pages := (Position{}), 0; pages == 0 || after != (Position{}); pages++ {
			entries, next, err := a.History(t.Context(), "default", run.ID, after, limit)
			if err != nil || len(entries) > limit {
				t.Fatalf("%d entries, %v", len(entries), err)
			}
			for _, e := range entries {
				got = append(got, fmt.Sprint(e.Type, " ", e.RunVersion))
			}
			after = next
		}
		if !slices.Equal(got, want) {
			t.Errorf("in pages of %d: %v, want %v", limit, got, want)
		}
	}
	if _, _, err := a.History(t.Context(), "default", "run_none", Position{}, 10); fault.ReasonOf(err) != fault.NotFound {
		t.Errorf("no run: %v", err)
	}
}

// A binding is to this branch of this fork: when another session has taken it
// over, or a later fork has a branch of the same name, nothing is allowed by it.
func TestStaleBindingsAllowNothing(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	registerAll(t, a)
	const again = `{
		"id": "again", "initial": "start",
		"states": {
			"start": {"on": {"CHECK": {"fork": {"branches": {"lint": {"initial": "lint_run", "terminal": "lint_done"}},
				"on_complete": "start"}}, "END": "done"}},
			"lint_run": {"on": {"OK": "lint_done", "SELF": "lint_run"}}, "lint_done": {"type": "final"}, "done": {"type": "final"}
		}
	}`
	if _, _, _, err := a.Register(t.Context(), operator, []byte(again), ""); err != nil {
		t.Fatal(err)
	}
	run := mustStart(t, a, agent, Start{Workflow: "again", SessionID: "main"})
	bind := func(session string) {
		t.Helper()
		if _, err := a.Bind(t.Context(), agent, Bind{RunID: run.ID, Branch: "lint", SessionID: session}); err != nil {
			t.Fatal(err)
		}
	}
	closed := func(session string) {
		t.Helper()
		view, err := a.Get(t.Context(), "default", Target{SessionID: session}, true)
		if err != nil || !view.At.Over {
			t.Errorf("session %s is in %+v, %v", session, view.At, err)
		}
		outcome, err := a.Transition(t.Context(), agent, Transition{Target: Target{SessionID: session}, Event: "SELF"})
		if err != nil || outcome.Rejection == nil {
			t.Errorf("session %s moves on: %+v, %v", session, outcome, err)
		}
	}
	accepted(t, a, Target{SessionID: "main"}, "CHECK", "", "")
	bind("first")
	bind("second")
	closed("first")
	accepted(t, a, Target{SessionID: "second"}, "OK", "", "")
	closed("second")
	accepted(t, a, Target{SessionID: "main"}, "CHECK", "", "")
	closed("first")
	closed("second")
	bind("first")
	accepted(t, a, Target{SessionID: "first"}, "SELF", "", "")
	// And who has lost a branch may go elsewhere.
	mustStart(t, a, agent, Start{Workflow: "release", SessionID: "second"})
}
