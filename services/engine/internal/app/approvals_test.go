package app

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// S9.1: a parked transition fires once humans have agreed, and what they are asked is
// exactly that.
func TestParkedTransitionFires(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	run := g.start("shipping", "s")
	id := g.park(run, "SHIP", `{"n": 7}`)
	parked := g.is(run, workflow.AwaitingApproval, "ready")
	asked := g.humans.asked["default/"+id]
	at, _ := parked.Asking(id)
	if asked == nil || asked.RunID != run || asked.Digest != at.Asked(consent.Transition).Digest() || !asked.Editable || asked.Message != "Ship it?" ||
		asked.Asker != (consent.Asker{Principal: "amir", SessionID: "s", RootSession: "s"}) {
		t.Fatalf("asked for %+v", asked)
	}
	if outcome, err := fire(g.App, agent, run, "LOOK", "", ""); err != nil || outcome.Rejection == nil || outcome.Rejection.Code != workflow.RejectApprovalPending {
		t.Errorf("another event: %+v, %v", outcome, err)
	}
	g.settle(run, id, false) // not decided
	g.humans.decide(t, id, true, "fine", "")
	view := g.settle(run, id, true)
	if view.Run.State != "shipped" || view.Run.Context.String() != `{"n":7}` {
		t.Errorf("the run is in %s with %s", view.Run.State, view.Run.Context)
	}
	g.stands(id, "USED by "+run+"@3")
	for range 2 { // decisions are told at least once
		g.settle(run, id, false)
	}
	g.is(run, workflow.Running, "shipped")
	if got := g.types(run); got != "started -ready; approval.parked ready-ready; transitioned ready-shipped; " {
		t.Error(got)
	}
	entries, _, _ := g.Reads.History(t.Context(), operator, run, Position{Version: 2}, 1)
	if entries[0].Actor != "alice" || entries[0].ApprovalID != id || !strings.Contains(entries[0].Reason, `granted by "alice" ("fine")`) {
		t.Errorf("history keeps %+v", entries[0])
	}
	if n := g.timers(); n != 0 {
		t.Errorf("%d timers are left", n)
	}
}

// S9.1, S9.3, S9.4: what becomes of a parked transition by what humans say.
func TestDecisions(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		decide   func(g *gated, id string)
		state    string
		status   workflow.Status
		outcome  workflow.ApprovalOutcome
		note     string
		standing string
		context  string
	}{
		"approved, edited": {
			func(g *gated, id string) { g.humans.decide(g.T, id, true, "", `{"n": 8}`) },
			"shipped", workflow.Running, "", "", "USED", `{"n":8}`,
		},
		"approved, edited to what cannot be merged": {
			func(g *gated, id string) { g.humans.decide(g.T, id, true, "", `{"_n": 8}`) },
			"ready", workflow.Running, workflow.ApprovalStale, `"_n"`, "STALE", `{"n":0}`,
		},
		"rejected": {
			func(g *gated, id string) { g.humans.decide(g.T, id, false, "not <today>", "") },
			"ready", workflow.Running, workflow.ApprovalRejected, "not <today>", "REJECTED", `{"n":0}`,
		},
		"expired": {
			func(g *gated, _ string) { g.clock.Advance(25 * time.Hour) },
			"ready", workflow.Running, workflow.ApprovalExpired, "", "EXPIRED", `{"n":0}`,
		},
		"withdrawn": {
			func(g *gated, id string) { _ = g.humans.Cancel(g.Context(), "default", id, "a mistake") },
			"ready", workflow.Running, workflow.ApprovalCancelled, "a mistake", "CANCELLED", `{"n":0}`,
		},
		"approved for another action": {
			func(g *gated, id string) {
				g.humans.decide(g.T, id, true, "", "")
				g.humans.asked["default/"+id].Digest = strings.Repeat("0", 64)
			},
			"ready", workflow.Running, workflow.ApprovalStale, "is not the one that waits", "STALE", `{"n":0}`,
		},
		"approved, and used elsewhere": {
			func(g *gated, id string) {
				g.humans.decide(g.T, id, true, "", "")
				_ = g.humans.Consume(g.Context(), "default", id, g.humans.asked["default/"+id].Digest, "somebody")
			},
			"ready", workflow.Running, workflow.ApprovalStale, "used for something else", "USED by somebody", `{"n":0}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGated(t)
			run := g.start("shipping", "")
			id := g.park(run, "SHIP", `{"n": 7}`)
			tt.decide(g, id)
			g.pass(firstLook)
			now := g.is(run, tt.status, tt.state)
			switch a := now.Approval; {
			case (a == nil) != (tt.outcome == ""):
				t.Errorf("the run remembers %+v", a)
			case a != nil && (a.Outcome != tt.outcome || !strings.Contains(a.Note, tt.note)):
				t.Errorf("it was %s: %q, want %s: %q", a.Outcome, a.Note, tt.outcome, tt.note)
			}
			if now.Context.String() != tt.context {
				t.Errorf("context %s, want %s", now.Context, tt.context)
			}
			if got := g.humans.standing(id); !strings.HasPrefix(got, tt.standing) {
				t.Errorf("the approval is %s, want %s", got, tt.standing)
			}
			if n := g.timers(); n != 0 {
				t.Errorf("%d timers are left", n)
			}
		})
	}
}

// S9.3: terms that nobody but the asker could meet are refused, rather than waited for.
func TestWhoCanNotBeAsked(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	run := g.start("alone", "")
	rejected := func(a *App, caller ports.Caller, code workflow.RejectionCode, words string) {
		t.Helper()
		outcome, err := fire(a, caller, run, "GO", "", "")
		if err != nil || outcome.Rejection == nil || outcome.Rejection.Code != code || !strings.Contains(outcome.Rejection.Message, words) {
			t.Errorf("%+v, %v", outcome.Rejection, err)
		}
	}
	rejected(g.App, agent, workflow.RejectGuardFailed, "ready") // guards come first
	if _, err := fire(g.App, agent, run, "SET", `{"ready": true}`, ""); err != nil {
		t.Fatal(err)
	}
	rejected(g.App, agent, workflow.RejectUnsupported, "only you could grant it")
	without := g.replica()
	without.Approvals = nil
	rejected(without, operator, workflow.RejectUnsupported, "no approval service")
	if _, _, err := without.Settlement.SettleApproval(t.Context(), "default", run, "apr_1"); fault.ReasonOf(err) != fault.FailedPrecondition {
		t.Errorf("settled without: %v", err)
	}
	if n := g.timers() + len(g.humans.asked); n != 0 {
		t.Errorf("%d timers and questions", n)
	}
	if outcome, err := fire(g.App, operator, run, "GO", "", ""); err != nil || outcome.ApprovalID == "" {
		t.Errorf("another asks: %+v, %v", outcome, err)
	}
}

// What the service cannot take at all does not keep the run waiting.
func TestQuestionThatIsRefused(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	run := g.start("shipping", "")
	g.humans.befalls = func(call string) (error, error) {
		if call == "create" {
			return fault.New(fault.TooLarge, "data: too large"), nil
		}
		return nil, nil
	}
	g.park(run, "SHIP", "")
	g.pass(0)
	if a := g.is(run, workflow.Running, "ready").Approval; a.Outcome != workflow.ApprovalCancelled || !strings.Contains(a.Note, "data: too large") {
		t.Errorf("it was %s: %s", a.Outcome, a.Note)
	}
	g.pass(firstLook)
	if n := g.timers(); n != 0 {
		t.Errorf("%d timers are left", n)
	}
}

// Nobody waits for the approval service: what it was not told at once it is told
// later, with pauses that grow.
func TestServiceThatIsAway(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	run := g.start("shipping", "")
	var away atomic.Bool
	away.Store(true)
	g.humans.befalls = func(string) (error, error) {
		if away.Load() {
			return fault.New(fault.Unavailable, "away"), nil
		}
		return nil, nil
	}
	id := g.park(run, "SHIP", "")
	g.stands(id, "unknown")
	for range 10 {
		g.pass(time.Minute)
	}
	g.stands(id, "unknown")
	away.Store(false)
	g.pass(time.Minute)
	g.stands(id, "PENDING")
	g.humans.decide(t, id, true, "", "")
	g.pass(time.Minute)
	g.is(run, workflow.Running, "shipped")
	g.stands(id, "USED by "+run+"@3")
}

// An approval that waits is not asked about all the time.
func TestPausesOfTimers(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	g.park(g.start("shipping", ""), "SHIP", "")
	g.humans.calls = nil
	for range 720 {
		g.pass(5 * time.Second)
	}
	if n := len(g.humans.calls); n < 55 || n > 70 {
		t.Errorf("%d calls in an hour", n)
	}
}

// S6.2: an operator's hold keeps what was granted from happening, until the run is
// resumed; an agent's own pause does not.
func TestHeldRunWaitsWithItsGrant(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	run := g.start("shipping", "")
	id := g.park(run, "SHIP", "")
	if _, err := g.Moves.Pause(t.Context(), operator, run, "lunch", ""); err != nil {
		t.Fatal(err)
	}
	g.humans.decide(t, id, true, "", "")
	g.settle(run, id, false)
	g.pass(10 * time.Minute)
	g.is(run, workflow.Held, "ready")
	g.stands(id, "GRANTED")
	if _, err := g.Moves.Resume(t.Context(), operator, run, ""); err != nil {
		t.Fatal(err)
	}
	g.is(run, workflow.AwaitingApproval, "ready")
	g.Upkeep.SweepOnce(t.Context()) // at once
	g.is(run, workflow.Running, "shipped")

	id = g.park(run, "END", "")
	if _, err := g.Moves.Pause(t.Context(), agent, run, "", ""); err != nil {
		t.Fatal(err)
	}
	g.humans.decide(t, id, true, "", "")
	g.settle(run, id, true)
	g.is(run, workflow.Completed, "done")
}

// What a run does not wait for any more is withdrawn, whatever made it
// continue.
func TestWhatIsNotWaitedForIsWithdrawn(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	forced, cancelled, parent := g.start("shipping", ""), g.start("shipping", ""), g.start("outer", "p")
	ids := []string{g.park(forced, "SHIP", ""), g.park(cancelled, "SHIP", "")}
	if _, err := g.Moves.Force(t.Context(), operator, Force{Target: ports.Target{RunID: forced}, State: "ready"}); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Moves.Cancel(t.Context(), agent, cancelled, "", ""); err != nil {
		t.Fatal(err)
	}
	accepted(t, g.App, ports.Target{RunID: parent}, "DELEGATE", "", "")
	child := g.is(parent, workflow.Waiting, "a").Child.RunID
	ids = append(ids, g.park(child, "SHIP", ""))
	if _, err := g.Moves.Cancel(t.Context(), operator, parent, "", ""); err != nil {
		t.Fatal(err)
	}
	// The first branch ends the fork, and with it the other one.
	run := g.start("parallel", "m")
	accepted(t, g.App, ports.Target{RunID: run}, "FORK", "", "")
	if _, err := g.Branches.Bind(t.Context(), agent, Bind{RunID: run, Branch: "two", SessionID: "m2"}); err != nil {
		t.Fatal(err)
	}
	ids = append(ids, g.park(run, "OK", ""))
	accepted(t, g.App, ports.Target{SessionID: "m2"}, "FREE", "", "")
	g.is(run, workflow.Running, "e")
	for _, id := range ids {
		g.stands(id, "CANCELLED")
	}
	if n := g.timers(); n != 0 {
		t.Errorf("%d timers are left", n)
	}
}

// A decision on a branch, or on a run that was invoked, has all the consequences of
// the event itself.
func TestConsequencesOfAGrant(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	parent := g.start("outer", "p")
	accepted(t, g.App, ports.Target{SessionID: "p"}, "DELEGATE", "", "")
	child := g.is(parent, workflow.Waiting, "a").Child.RunID
	id := g.park(child, "SHIP", "")
	g.humans.decide(t, id, true, "", "")
	g.settle(child, id, true)
	id = g.park(child, "END", "")
	g.humans.decide(t, id, true, "", "")
	g.settle(child, id, true)
	g.is(child, workflow.Completed, "done")
	g.is(parent, workflow.Completed, "z")

	run := g.start("parallel", "m")
	accepted(t, g.App, ports.Target{RunID: run}, "FORK", "", "")
	if _, err := g.Branches.Bind(t.Context(), agent, Bind{RunID: run, Branch: "two", SessionID: "m2"}); err != nil {
		t.Fatal(err)
	}
	one := g.park(run, "OK", "")
	outcome, err := g.Moves.Transition(t.Context(), agent, Transition{Target: ports.Target{SessionID: "m2"}, Event: "OK"})
	if err != nil || outcome.ApprovalID == "" {
		t.Fatalf("%+v, %v", outcome, err)
	}
	two := g.humans.asked["default/"+outcome.ApprovalID]
	if branch, _ := two.Action.Subject.Get("branch"); branch.Str() != "two" || two.Asker.SessionID != "m2" {
		t.Errorf("asked in %q for %q", branch.Str(), two.Asker.SessionID)
	}
	g.humans.decide(t, two.ID, true, "", "")
	g.settle(run, two.ID, true)
	g.is(run, workflow.Running, "e")
	g.stands(one, "CANCELLED")
}

// S9.1: an engine that starts asks at once for what another one has parked and did not ask for any more.
func TestStartAsksForWhatIsParked(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	run := g.start("shipping", "")
	g.humans.befalls = func(string) (before, after error) { return errCrash, nil }
	outcome, err := fire(g.App, agent, run, "SHIP", `{"n": 7}`, "k")
	if err != nil || outcome.ApprovalID == "" || g.humans.asked["default/"+outcome.ApprovalID] != nil {
		t.Fatalf("%+v, %v", outcome, err)
	}
	g.humans.befalls = nil
	g.App = g.replica()
	g.Upkeep.catchUp(t.Context())
	g.stands(outcome.ApprovalID, "PENDING")
}

// Decisions are told by the event, by a call, and by timers, on all replicas at once:
// the effect happens once.
func TestReplicasSettleOnce(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	replicas := []*App{g.App, g.replica(), g.replica()}
	for range 8 {
		run := g.start("shipping", "")
		id := g.park(run, "SHIP", `{"n": 1}`)
		g.humans.decide(t, id, true, "", "")
		g.clock.Advance(firstLook)
		var group sync.WaitGroup
		var settled atomic.Int64
		for i := range 9 {
			group.Go(func() {
				a := replicas[i%3]
				if i < 3 {
					a.Upkeep.SweepOnce(context.Background())
					return
				}
				_, did, err := a.Settlement.SettleApproval(context.Background(), "default", run, id)
				if err != nil {
					t.Errorf("settle: %v", err)
				}
				if did {
					settled.Add(1)
				}
			})
		}
		group.Wait()
		if now := g.is(run, workflow.Running, "shipped"); now.Version != 3 || settled.Load() > 1 {
			t.Errorf("version %d, settled %d times", now.Version, settled.Load())
		}
		g.stands(id, "USED by "+run+"@3")
	}
	if n := g.timers(); n != 0 {
		t.Errorf("%d timers are left", n)
	}
}

// An approval is settled by its own run alone.
func TestApprovalOfAnotherRun(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	run, other := g.start("shipping", ""), g.start("shipping", "")
	id := g.park(run, "SHIP", "")
	for _, wrong := range []string{other, "run_none"} {
		if _, settled, err := g.Settlement.SettleApproval(t.Context(), "default", wrong, id); fault.ReasonOf(err) != fault.NotFound || settled {
			t.Errorf("of %s: settled %t, %v", wrong, settled, err)
		}
	}
	g.stands(id, "PENDING")
	if n := g.timers(); n != 1 {
		t.Errorf("%d timers", n)
	}
	// A call of a tool is none of the engine's.
	if err := g.humans.Create(t.Context(), "default", run, consent.Request{
		ID: "apr_tool", Action: consent.Action{Kind: consent.ToolCall, Subject: document.ObjectValue(nil)}, Asker: consent.Asker{Principal: "amir"},
	}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := g.Settlement.SettleApproval(t.Context(), "default", run, "apr_tool"); fault.ReasonOf(err) != fault.NotFound {
		t.Errorf("a tool call: %v", err)
	}
	g.stands("apr_tool", "PENDING")
}

// S6.5: a repeat names the approval of the first, and asks nobody again.
func TestRepeatOfAParkedEvent(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	run := g.start("shipping", "")
	first, err := fire(g.App, agent, run, "SHIP", "", "k")
	if err != nil {
		t.Fatal(err)
	}
	g.humans.decide(t, first.ApprovalID, true, "", "")
	g.settle(run, first.ApprovalID, true)
	again, err := fire(g.replica(), agent, run, "SHIP", "", "k")
	if err != nil || again.ApprovalID != first.ApprovalID || again.Note != first.Note || again.View.At.Status != workflow.AwaitingApproval {
		t.Errorf("again %+v, %v", again, err)
	}
	if len(g.humans.asked) != 1 {
		t.Errorf("%d questions", len(g.humans.asked))
	}
}

// S24.7: a transition is asked for by the person of the caller, so that the same person does not grant it under another name.
func TestAskersPerson(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	ann := ports.Caller{Namespace: "default", Principal: auth.Principal{Name: "ann's token", Role: auth.Operator, Person: "ann"}}
	outcome, err := fire(g.App, ann, g.start("shipping", "s"), "SHIP", "", "")
	if err != nil || outcome.ApprovalID == "" {
		t.Fatalf("%+v, %v", outcome, err)
	}
	asked := g.humans.asked["default/"+outcome.ApprovalID]
	if asked == nil || asked.Asker.Principal != "ann's token" || asked.Asker.Person != "ann" {
		t.Fatalf("asked by %+v", asked)
	}
	if refused := asked.Decide(consent.Approver{Name: "ann", Role: "approver", Person: "ann"}, consent.Decision{Approve: true}, asked.CreatedAt).Refusal; refused == nil || refused.Code != consent.CodeAsker {
		t.Errorf("she grants it herself: %+v", refused)
	}
}

// sessionless is a store whose sessions cannot be read.
type sessionless struct{ store.Store }

func (s sessionless) Get(ctx context.Context, key store.Key) (store.Record, error) {
	if key.Kind == ledger.KindSessionRef {
		return store.Record{}, store.ErrUnavailable
	}
	return s.Store.Get(ctx, key)
}

// S9.3: nobody is asked before it is known whose tree must not decide. The root is that of the tree, or of the name and of what
// stands above it, as in a decision on a call (S7.9).
func TestAskersTree(t *testing.T) {
	t.Parallel()
	for session, root := range map[string]string{"child": "top", "s": "s", "s/kid": "s", "child/kid": "top"} {
		t.Run(session, func(t *testing.T) {
			t.Parallel()
			g := newGated(t)
			all := g.store.Store
			if _, err := all.Commit(t.Context(), store.Batch{Across: true, Puts: []store.Put{
				{Key: ledger.SessionRef("default", "top"), Data: []byte(`{"id": "ses_1", "name": "top", "home": "ses_1"}`)},
				{Key: ledger.SessionRef("default", "child"), Data: []byte(`{"id": "ses_2", "name": "child", "home": "ses_2", "parent_home": "ses_1"}`)},
				{Key: ledger.SessionOf("default", "ses_1"), Data: []byte(`{"id": "ses_1", "name": "top"}`)},
				{Key: ledger.SessionOf("default", "ses_2"), Data: []byte(`{"id": "ses_2", "name": "child", "parent_home": "ses_1", "depth": 1}`)},
			}}); err != nil {
				t.Fatal(err)
			}
			run := g.start("shipping", session)
			g.store.Store = sessionless{all}
			id := g.park(run, "SHIP", "")
			g.stands(id, "unknown")
			g.store.Store = all
			g.pass(firstLook)
			if asker := g.humans.asked["default/"+id].Asker; asker != (consent.Asker{Principal: "amir", SessionID: session, RootSession: root}) {
				t.Errorf("asked for %+v", asker)
			}
		})
	}
}
