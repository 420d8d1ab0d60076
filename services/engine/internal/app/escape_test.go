package app

import (
	"context"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/internal/idempotency"
)

func mustStart(t *testing.T, a *App, caller ports.Caller, req Start) *workflow.Run {
	t.Helper()
	view, _, err := a.Starts.Start(t.Context(), caller, req)
	if err != nil {
		t.Fatal(err)
	}
	return view.Run
}

// driven is the run that a session drives.
func driven(t *testing.T, a *App, session string) *workflow.Run {
	t.Helper()
	view, err := a.Reads.Get(t.Context(), operator, ports.Target{SessionID: session}, false)
	if err != nil {
		t.Fatal(err)
	}
	return view.Run
}

// S6.6: a key that was used before does not make leaving a repeat.
func TestUsedKeyIsNoWayOut(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	newRun(t, a, agent, Start{Workflow: "review", SessionID: "s", IdempotencyKey: "k"})
	held := mustStart(t, a, agent, Start{Workflow: "locked", SessionID: "s"})
	for _, req := range []Start{
		{Workflow: "review", SessionID: "s", IdempotencyKey: "k", Resume: true},
		{Workflow: "review", SessionID: "s", IdempotencyKey: "k", Workspace: "/elsewhere"},
	} {
		if _, _, err := a.Starts.Start(t.Context(), agent, req); fault.ReasonOf(err) != fault.IdempotencyMismatch {
			t.Errorf("%+v: %v", req, err)
		}
	}
	if now := driven(t, a, "s"); now.ID != held.ID || now.Status != workflow.Running {
		t.Errorf("the session drives %+v", now)
	}
}

// S6.5: a repeat gets the first answer also where it could not start anything.
func TestRepeatedStartOfWhatCanNotBeLeft(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	first := newRun(t, a, agent, Start{Workflow: "locked", SessionID: "s", IdempotencyKey: "k"})
	if _, err := a.Moves.Pause(t.Context(), operator, first.ID, "", ""); err != nil {
		t.Fatal(err)
	}
	again := mustStart(t, a, agent, Start{Workflow: "locked", SessionID: "s", IdempotencyKey: "k"})
	if again.ID != first.ID || again.Version != first.Version {
		t.Errorf("the repeat answers %+v, not %+v", again, first)
	}
}

// S6.5: a new version of the workflow does not make a repeat another request.
func TestRepeatedStartAfterANewVersion(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	first := newRun(t, a, agent, Start{Workflow: "review", IdempotencyKey: "k"})
	newer := strings.Replace(review, `"n": 0`, `"n": 7`, 1)
	if _, _, _, err := a.Registry.Register(t.Context(), operator, []byte(newer), ""); err != nil {
		t.Fatal(err)
	}
	if again := mustStart(t, a, agent, Start{Workflow: "review", IdempotencyKey: "k"}); again.ID != first.ID {
		t.Errorf("the repeat started %s, not %s", again.ID, first.ID)
	}
}

// S6.5: the same key and content from another principal is another request: what an operator has
// started is not given to an agent. The key of the agent's own request finds the agent's own run.
func TestKeysArePerPrincipal(t *testing.T) {
	t.Parallel()
	bound := ports.Caller{Namespace: agent.Namespace, Principal: auth.Principal{
		Name: agent.Principal.Name, Role: auth.Agent, Session: "own", Namespace: agent.Namespace,
	}}
	namesake := ports.Caller{Namespace: agent.Namespace, Principal: auth.Principal{Name: operator.Principal.Name, Role: auth.Agent}}
	a := newApp(newStore(t))
	newRun(t, a, operator, Start{Workflow: "review"})
	of := map[string]string{}
	for range 2 {
		for who, caller := range map[string]ports.Caller{"operator": operator, "agent": agent, "bound": bound, "namesake": namesake} {
			id := mustStart(t, a, caller, Start{Workflow: "review", IdempotencyKey: "k"}).ID
			if before, again := of[who]; again && before != id {
				t.Errorf("the repeat of the %s started %s after %s", who, id, before)
			}
			of[who] = id
		}
	}
	seen := map[string]string{}
	for who, id := range of {
		if other, twice := seen[id]; twice {
			t.Errorf("the %s and the %s have the same run", who, other)
		}
		seen[id] = who
	}
}

// S6.5: nor is an operator's change of a run the answer to an agent's.
func TestKeysOfChangesArePerPrincipal(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	run := newRun(t, a, agent, Start{Workflow: "review", SessionID: "s"})
	if _, err := a.Moves.Pause(t.Context(), operator, run.ID, "", "k"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Moves.Resume(t.Context(), operator, run.ID, "r"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Moves.Pause(t.Context(), agent, run.ID, "", "k"); err != nil {
		t.Fatal(err)
	}
	now, err := a.Reads.Get(t.Context(), agent, ports.Target{RunID: run.ID}, false)
	if err != nil || now.Run.Status != workflow.Paused {
		t.Errorf("after the agent's pause the run is %+v, %v", now, err)
	}
}

// S6.5: a repeat of a resuming request changes nothing, whatever has happened to
// runs since.
func TestRepeatedResumeChangesNothing(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	run := newRun(t, a, agent, Start{Workflow: "review", SessionID: "s", IdempotencyKey: "fresh", Resume: true})
	pause := func() {
		t.Helper()
		if _, err := a.Moves.Pause(t.Context(), agent, run.ID, "", ""); err != nil {
			t.Fatal(err)
		}
	}
	repeat := func(key string) {
		t.Helper()
		if again := mustStart(t, a, agent, Start{Workflow: "review", SessionID: "s", IdempotencyKey: key, Resume: true}); again.ID != run.ID {
			t.Errorf("%s answers %s, not %s", key, again.ID, run.ID)
		}
		if now := driven(t, a, "s"); now.Status != workflow.Paused {
			t.Errorf("after a repeat of %s the run is %s", key, now.Status)
		}
	}
	pause()
	repeat("fresh")
	mustStart(t, a, agent, Start{Workflow: "review", SessionID: "s", IdempotencyKey: "again", Resume: true})
	pause()
	repeat("again")
	_, _, err := a.Starts.Start(t.Context(), agent, Start{Workflow: "locked", SessionID: "s", IdempotencyKey: "again", Resume: true})
	if fault.ReasonOf(err) != fault.IdempotencyMismatch {
		t.Errorf("another request with the key: %v", err)
	}
}

// S6.6: a run that was resumed in another session is not the first one's to pause.
func TestSessionPausesOnlyItsOwnRun(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	run := newRun(t, a, agent, Start{Workflow: "review", SessionID: "s0"})
	for before, session := range []string{"s1", "s2", "s3", "s4"} { // whose bindings are in several shards
		if _, err := a.Moves.Pause(t.Context(), agent, run.ID, "", ""); err != nil {
			t.Fatal(err)
		}
		mustStart(t, a, agent, Start{Workflow: "review", SessionID: session, Resume: true})
		mustStart(t, a, agent, Start{Workflow: "locked", SessionID: "s" + string(rune('0'+before))})
		if now := driven(t, a, session); now.ID != run.ID || now.Status != workflow.Running {
			t.Fatalf("session %s drives %+v", session, now)
		}
	}
}

// S6.2: what an operator takes hold of while its agent is about to leave is held.
func TestHoldTakenWhileLeaving(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	a, b := newApp(st), newApp(st.Store)
	run := newRun(t, a, agent, Start{Workflow: "review", SessionID: "s"})
	if _, err := a.Moves.Pause(t.Context(), agent, run.ID, "", ""); err != nil {
		t.Fatal(err)
	}
	once := true
	st.Decide = hookOnce(&once, func() {
		if _, err := b.Moves.Pause(context.Background(), operator, run.ID, "", ""); err != nil {
			t.Error(err)
		}
	})
	if _, _, err := a.Starts.Start(t.Context(), agent, Start{Workflow: "review", SessionID: "s"}); fault.ReasonOf(err) != fault.RunHeld {
		t.Errorf("leaving: %v", err)
	}
}

// A session that loads another run while it is asked for is never shown the
// paused one, in which all tools are open.
func TestSessionIsReadAtOneMoment(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	a, b := newApp(st.Store), newApp(st.Store)
	newRun(t, b, agent, Start{Workflow: "review", SessionID: "s"})
	loaded := false
	a.Store = &reading{Store: st.Store, before: func(key store.Key) {
		if key.Kind == ports.KindRun && !loaded {
			loaded = true
			mustStart(t, b, agent, Start{Workflow: "locked", SessionID: "s"})
		}
	}}
	if run := driven(t, a, "s"); run.Workflow != "locked" || run.Status != workflow.Running {
		t.Errorf("the session drives %s, %s", run.Workflow, run.Status)
	}
}

// reading does something before a record is read.
type reading struct {
	store.Store
	before func(store.Key)
}

func (r *reading) Get(ctx context.Context, key store.Key) (store.Record, error) {
	r.before(key)
	return r.Store.Get(ctx, key)
}

// S6.7: what an operator has registered too is no longer its agent's to change.
func TestOperatorClaimsAWorkflow(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	a, b := newApp(st), newApp(st.Store)
	register := func(a *App, by ports.Caller, n string) error {
		_, _, _, err := a.Registry.Register(context.Background(), by, []byte(strings.Replace(review, `"n": 0`, `"n": `+n, 1)), "")
		return err
	}
	if err := register(a, agent, "1"); err != nil {
		t.Fatal(err)
	}
	once := true
	st.Decide = hookOnce(&once, func() {
		if err := register(b, operator, "1"); err != nil {
			t.Error(err)
		}
	})
	for range 2 { // claimed while the first is under way
		if err := register(a, agent, "2"); fault.ReasonOf(err) != fault.NameTaken {
			t.Errorf("a new version by an agent: %v", err)
		}
	}
	if err := register(a, agent, "1"); err != nil {
		t.Errorf("the same again by an agent: %v", err)
	}
	if err := register(a, operator, "3"); err != nil {
		t.Errorf("a new version by an operator: %v", err)
	}
}

// A context of the size that is accepted can be read back, whatever is in it.
func TestLargeContextsAreReadBack(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	a := newApp(st)
	run := newRun(t, a, agent, Start{Workflow: "review"})
	for _, text := range []string{"<", "&", "\u2028", `\"`, `\u0001`} {
		size := len(text)
		if text == `\u0001` {
			size = 1 // of the value, which its JSON is not smaller than
		}
		data := `{"big":"` + strings.Repeat(text, (workflow.MaxContextBytes-64)/max(size, len(text))) + `"}`
		outcome, err := fire(a, agent, run.ID, "COUNT", data, "")
		if err != nil || outcome.Rejection != nil {
			t.Fatalf("%q: %+v, %v", text, outcome, err)
		}
		if view, err := newApp(st).Reads.Get(t.Context(), operator, ports.Target{RunID: run.ID}, false); err != nil || view.Run.Version != outcome.View.Run.Version {
			t.Errorf("%q cannot be read back: %v", text, err)
		}
	}
}

// S6.5: a key answers only the request that it was used for first, also where
// that would be refused.
func TestUsedKeyOfAnotherRequest(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	run := newRun(t, a, agent, Start{Workflow: "locked"})
	if _, err := fire(a, agent, run.ID, "NOPE", "", "k"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Moves.Cancel(t.Context(), agent, run.ID, "", "k"); fault.ReasonOf(err) != fault.IdempotencyMismatch {
		t.Errorf("cancelling with the key of a transition: %v", err)
	}
	// The decision on a tool call is kept next to the answers, in another form.
	owner := runKey("default", run.ID)
	_, err := a.Store.Commit(t.Context(), store.Batch{Idempotency: &store.Idempotency{
		Owner: owner, Name: "call/1", Digest: "x", Answer: []byte(`{"verdict":{}}`), TTL: idempotency.TTL,
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Moves.Cancel(t.Context(), agent, run.ID, "", "call/1"); fault.ReasonOf(err) != fault.EnforcementKept {
		t.Errorf("cancelling with a key like a call's: %v", err)
	}
}

// hookOnce is a Decide that does something before one commit, when once is set.
func hookOnce(once *bool, do func()) func(int, *store.Batch) storetest.Fault {
	return func(int, *store.Batch) storetest.Fault {
		if *once {
			*once = false
			do()
		}
		return storetest.Healthy
	}
}
