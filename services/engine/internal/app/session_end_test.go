package app

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/internal/sessionend"
)

// S11.1, S6.6: a session's end holds its run, so that nobody escapes its rules by
// ending; the session's resumption lifts that hold, once, and no other.
func TestSessionEndHoldsTheRun(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	run := newRun(t, a, agent, Start{Workflow: "review", SessionID: "s"})
	is := func(status workflow.Status, held bool) {
		t.Helper()
		now, err := a.runs.load(t.Context(), runKey("default", run.ID))
		if err != nil || now.Status != status || now.Held() != held {
			t.Fatalf("the run is %s, held %t (%v); want %s, held %t", now.Status, now.Held(), err, status, held)
		}
	}
	obey := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // events come at least once
		obey(a.Ends.SessionEnded(t.Context(), "default", "e1", "ses_1", "s"))
		is(workflow.Held, true)
	}
	if _, err := a.Moves.Resume(t.Context(), agent, run.ID, ""); fault.ReasonOf(err) != fault.RunHeld {
		t.Errorf("an agent resumes it: %v", err)
	}
	obey(a.Ends.SessionResumed(t.Context(), "default", "r1", "ses_1", "s"))
	is(workflow.Running, false)
	obey(a.Ends.SessionEnded(t.Context(), "default", "e1", "ses_1", "s"))
	is(workflow.Running, false) // that end is past

	if _, err := a.Moves.Pause(t.Context(), operator, run.ID, "lunch", ""); err != nil {
		t.Fatal(err)
	}
	obey(a.Ends.SessionEnded(t.Context(), "default", "e2", "s"))
	obey(a.Ends.SessionResumed(t.Context(), "default", "r2", "s"))
	is(workflow.Held, true) // an operator's hold is not the session's to lift
	obey(a.Ends.SessionEnded(t.Context(), "default", "e3", "unknown"))

	obey(a.Ends.SessionEnded(t.Context(), "default", "e4", "s"))
	if _, err := a.Moves.Resume(t.Context(), operator, run.ID, ""); err != nil {
		t.Fatal(err)
	}
	is(workflow.Running, false) // an operator lifts both
	entries, _, err := a.Reads.History(t.Context(), operator, run.ID, Position{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, e := range entries {
		types = append(types, e.Type)
	}
	if got := strings.Join(types, " "); got != "started held resumed held held hold.lifted held resumed" {
		t.Errorf("history: %s", got)
	}
}

// S6.2, S9.1: whatever becomes of an approval while the session is gone, the run
// continues when the session is resumed.
func TestSessionEndWhileParked(t *testing.T) {
	t.Parallel()
	for name, decide := range map[string]func(g *gated, id string){
		"rejected": func(g *gated, id string) { g.humans.decide(g.T, id, false, "not today", "") },
		"expired":  func(g *gated, _ string) { g.clock.Advance(25 * time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGated(t)
			run := g.start("shipping", "s")
			id := g.park(run, "SHIP", "")
			if err := g.Ends.SessionEnded(t.Context(), "default", "e1", "s"); err != nil {
				t.Fatal(err)
			}
			decide(g, id)
			g.settle(run, id, true)
			if now := g.is(run, workflow.Held, "ready"); !now.HeldFor(workflow.HoldSessionEnd) {
				t.Fatalf("held by %v", now.Holds)
			}
			if err := g.Ends.SessionResumed(t.Context(), "default", "r1", "s"); err != nil {
				t.Fatal(err)
			}
			if now := g.is(run, workflow.Running, "ready"); now.Held() {
				t.Errorf("held by %v", now.Holds)
			}
		})
	}
}

// S11.1, S6.2: a pause before the end is no way around the hold.
func TestSessionEndHoldsAPausedRun(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	run := newRun(t, a, agent, Start{Workflow: "review", SessionID: "s"})
	if _, err := a.Moves.Pause(t.Context(), agent, run.ID, "", ""); err != nil {
		t.Fatal(err)
	}
	if err := a.Ends.SessionEnded(t.Context(), "default", "e1", "s"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Moves.Resume(t.Context(), agent, run.ID, ""); fault.ReasonOf(err) != fault.RunHeld {
		t.Errorf("an agent resumes it: %v", err)
	}
	if err := a.Ends.SessionResumed(t.Context(), "default", "r1", "s"); err != nil {
		t.Fatal(err)
	}
	if now := load(t, a, run.ID); now.Status != workflow.Running || now.Held() {
		t.Errorf("it is %s, held by %v", now.Status, now.Holds)
	}
}

// S11.1: a session that has ended begins nothing for its agent, and has no part in its
// branch, until it is resumed; an operator may put it to work.
func TestEndedSessionBeginsNothing(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	a := newApp(st)
	registerEscapes(t, a)
	forked := mustStart(t, a, agent, Start{Workflow: "nfork", SessionID: "F"})
	accepted(t, a, ports.Target{SessionID: "F"}, "GO", "", "")
	mustBind(t, a, forked.ID, "a", "w")
	left := mustStart(t, a, agent, Start{Workflow: "free", SessionID: "old"})
	if _, err := a.Moves.Pause(t.Context(), agent, left.ID, "", ""); err != nil {
		t.Fatal(err)
	}
	tell := func(what func(context.Context, string, string, ...string) error, cause string) {
		t.Helper()
		for _, session := range []string{"w", "idle"} {
			if err := what(t.Context(), "default", cause, "ses_"+session, session); err != nil {
				t.Fatal(err)
			}
		}
	}
	over := func(want bool) {
		t.Helper()
		view, err := a.Reads.Get(t.Context(), operator, ports.Target{SessionID: "w"}, true)
		if err != nil || view.At.Over != want {
			t.Errorf("the branch is %+v, %v", view.At, err)
		}
	}
	over(false)
	tell(a.Ends.SessionEnded, "e1")
	over(true)
	if outcome, err := a.Moves.Transition(t.Context(), agent, Transition{Target: ports.Target{SessionID: "w"}, Event: "OK"}); err != nil || outcome.Rejection == nil {
		t.Errorf("an event in the branch: %+v, %v", outcome, err)
	}
	for _, session := range []string{"w", "idle"} {
		_, err := a.Branches.Bind(t.Context(), agent, Bind{RunID: forked.ID, Branch: "b", SessionID: session})
		_, _, resumes := a.Starts.Start(t.Context(), agent, Start{Workflow: "free", SessionID: session, Resume: true})
		for _, reason := range []fault.Reason{loads(t, a, session), fault.ReasonOf(err), fault.ReasonOf(resumes)} {
			if reason != fault.SessionEnded {
				t.Errorf("%s begins something: %v", session, reason)
			}
		}
	}
	if run := load(t, a, forked.ID); run.Held() || run.SessionIn("b") != "F" {
		t.Errorf("another's run: %+v", run)
	}
	run := mustStart(t, a, operator, Start{Workflow: "free", SessionID: "idle"})
	if _, err := a.Moves.Cancel(t.Context(), agent, run.ID, "", ""); err != nil { // which frees the session
		t.Fatal(err)
	}
	if got := loads(t, a, "idle"); got != fault.SessionEnded {
		t.Errorf("after an operator's run: %v", got)
	}

	tell(a.Ends.SessionResumed, "r1")
	tell(a.Ends.SessionEnded, "e1") // that end is past
	over(false)
	accepted(t, a, ports.Target{SessionID: "w"}, "OK", "", "")
	mustStart(t, a, agent, Start{Workflow: "free", SessionID: "idle"})
	if _, err := st.Get(t.Context(), bindingKey("default", "ses_idle")); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the mark of a session is left: %v", err)
	}
}

// S11.1: an end that comes while a run is being started is not missed.
func TestSessionEndsWhileItStarts(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	a, b := newApp(st), newApp(st.Store)
	newRun(t, b, agent, Start{Workflow: "review"}) // registers it
	once := true
	st.Decide = hookOnce(&once, func() {
		if err := b.Ends.SessionEnded(context.Background(), "default", "e1", "s"); err != nil {
			t.Error(err)
		}
	})
	if _, _, err := a.Starts.Start(t.Context(), agent, Start{Workflow: "review", SessionID: "s"}); fault.ReasonOf(err) != fault.SessionEnded {
		t.Errorf("started: %v", err)
	}
}

// S11.1: what the state-store says of a session in its commit is obeyed by whichever engine
// sweeps, until it was: the last word counts, and a newer one is not lost.
func TestTheLastWordOnASession(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	a := newApp(st)
	run := newRun(t, a, agent, Start{Workflow: "review", SessionID: "s"})
	home := store.Key{Namespace: "default", Kind: "session", ID: "ses_1"}
	says := func(cause string, ended bool) {
		t.Helper()
		var batch store.Batch
		word := sessionend.Word{Cause: cause, ID: "ses_1", Name: "s", Ended: ended}
		if err := word.Say(&batch, home, a.Clock()); err != nil {
			t.Fatal(err)
		}
		if _, err := st.Commit(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	holds := func(want bool) {
		t.Helper()
		if now, err := a.runs.load(t.Context(), runKey("default", run.ID)); err != nil || now.Held() != want {
			t.Fatalf("held %t, %v; want %t", now.Held(), err, want)
		}
	}
	waiting := func() int {
		t.Helper()
		timers, err := st.Due(t.Context(), a.Clock().Add(time.Hour), 10, sessionend.Kind)
		if err != nil {
			t.Fatal(err)
		}
		return len(timers)
	}
	says("e1", true)
	holds(false)
	a.Upkeep.SweepOnce(t.Context())
	holds(true)
	says("r1", false)
	says("e2", true)
	says("r2", false)
	a.Upkeep.SweepOnce(t.Context())
	holds(false)
	if n := waiting(); n != 0 {
		t.Errorf("%d words are left", n)
	}
	// An engine that cannot obey keeps the word; one is said while it obeys another.
	says("e3", true)
	broken := newApp(&refusingStore{Store: st, refuses: func(b store.Batch) bool { return len(b.Deletes) == 0 && len(b.Puts) > 0 }})
	broken.Upkeep.SweepOnce(t.Context())
	holds(false)
	late := newApp(&refusingStore{Store: st, refuses: func(b store.Batch) bool {
		if len(b.Deletes) > 0 && b.Deletes[0].Key.Kind == sessionend.Kind {
			says("r3", false)
		}
		return false
	}})
	late.Clock = func() time.Time { return a.Clock().Add(time.Minute) }
	late.Upkeep.SweepOnce(t.Context())
	holds(true)
	if waiting() != 1 {
		t.Error("the newer word is lost")
	}
	a.Upkeep.SweepOnce(t.Context())
	holds(false)
}

// refusingStore is a store whose commits fail as a test says.
type refusingStore struct {
	store.Store
	refuses func(store.Batch) bool
}

func (s *refusingStore) Commit(ctx context.Context, b store.Batch) (store.Result, error) {
	if s.refuses(b) {
		return store.Result{}, errors.New("the store is down")
	}
	return s.Store.Commit(ctx, b)
}
