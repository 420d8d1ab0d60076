package app

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/runnotice"
)

const timed = `{
	"id": "timed", "initial": "working", "context": {"n": 0},
	"meta": {"deadline": {"after": "8h", "target": "expired"}, "approval_mode": "ui", "approval": {"expires_seconds": 864000}},
	"guards": {"ready": {"field": "n", "op": "gte", "value": 1}},
	"states": {
		"working": {
			"after": {"2h": "stuck"}, "remind": ["1h"],
			"on": {"AGAIN": "working", "ASK": {"target": "done", "requires_approval": true}, "WAIT": "waiting", "CALL": {"invoke": "part", "on_complete": "done"}, "QUIET": "quiet", "HURRY": "hurried",
				"DEPLOY": {"target": "done", "not_before": "10m"}}},
		"waiting": {"after": {"1h": {"target": "done", "guard": "ready"}}, "on": {"SET": "waiting"}},
		"quiet": {"allowed_tools": ["Read"], "stale": {"after": "10m", "call_limit": "30m", "do": "hold"}, "on": {"LOUD": "working", "AGAIN": "quiet"}},
		"hurried": {"after": {"2h": "stuck"}, "remind": ["1h"], "while_asked": "runs", "on": {"ASK": {"target": "done", "requires_approval": true}}},
		"stuck": {"allowed_tools": [], "on": {"RESUME": "working"}},
		"done": {"type": "final"}, "expired": {"type": "final", "outcome": "failure"}
	}
}`

const part = `{"id": "part", "initial": "a", "meta": {"deadline": {"after": "2d", "target": "z"}}, "states": {"a": {"on": {"GO": "z"}}, "z": {"type": "final"}}}`

// newTimed returns a rig whose agent runs the workflow above.
func newTimed(t *testing.T) (g *gated, run string) {
	t.Helper()
	g = newGated(t)
	for _, definition := range []string{part, timed} {
		if _, _, _, err := g.Registry.Register(t.Context(), operator, []byte(definition), ""); err != nil {
			t.Fatal(err)
		}
	}
	return g, g.start("timed", "s")
}

// fires moves the run on.
func (g *gated) fires(run, event, data string) {
	g.Helper()
	if outcome, err := fire(g.App, agent, run, event, data, ""); err != nil || outcome.Rejection != nil {
		g.Fatalf("%s: %+v, %v", event, outcome, err)
	}
}

// published counts the events of a type.
func (g *gated) published(kind string) (n int) {
	g.Helper()
	after := map[int]int64{}
	for shard := range g.store.Shards() {
		after[shard] = 0
	}
	all, err := g.store.Tail(g.Context(), after, 1000, 0)
	if err != nil {
		g.Fatal(err)
	}
	for i := range all {
		if string(all[i].Payload) == kind {
			n++
		}
	}
	return n
}

// clocks returns the timers of clocks that are set.
func (g *gated) clocks() []store.Timer {
	g.Helper()
	all, err := g.store.Due(g.Context(), g.clock.Now().Add(10_000*time.Hour), 100, ledger.KindClock)
	if err != nil {
		g.Fatal(err)
	}
	return all
}

// S25.3, S25.4, S25.8, S25.9: time moves a run, and the history says by which clock and how late.
func TestClocksMoveRuns(t *testing.T) {
	t.Parallel()
	g, run := newTimed(t)
	g.pass(2*time.Hour - time.Second)
	g.is(run, workflow.Running, "working")
	g.pass(3 * time.Second)
	g.is(run, workflow.Running, "stuck")
	g.pass(6 * time.Hour)
	g.is(run, workflow.Failed, "expired")
	if got := g.types(run); got != "started -working; reminded working-working; transitioned working-stuck; transitioned stuck-expired; " {
		t.Error(got)
	}
	entries, _, err := g.Reads.History(t.Context(), operator, run, Position{Version: 2}, 2)
	if err != nil || entries[0].Cause == nil || entries[0].Event != "$after:2h" || entries[0].Cause.Kind != workflow.DueAfter {
		t.Fatalf("%+v, %v", entries, err)
	}
	if late := entries[0].Time.Sub(entries[0].Cause.Due); late != 2*time.Second {
		t.Errorf("it was late by %s", late)
	}
	if left := g.clocks(); len(left) != 0 {
		t.Errorf("timers are left: %v", left)
	}
	// S23.54: the log of its notices has what receivers may want, with the clock that has led to the end.
	kept, err := g.Store.History(t.Context(), runnotice.KeyOf(runKey("default", run)), 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	notices, err := runnotice.Read(kept)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range notices {
		got = append(got, fmt.Sprintf("%d %s %s %s by %s", n.Version, n.Event, n.Status, n.State, n.Cause))
	}
	if want := []string{"2 reminded RUNNING working by remind", "4 deadline FAILED expired by deadline", "4 failed FAILED expired by deadline"}; !slices.Equal(got, want) {
		t.Errorf("the notices are %q, want %q", got, want)
	}
}

// S25.2, S25.8: the clock of a state stands still while people are asked; the deadline does not, and voids the question.
func TestClocksWhilePeopleAreAsked(t *testing.T) {
	t.Parallel()
	g, run := newTimed(t)
	id := g.park(run, "ASK", "")
	g.pass(5 * time.Hour)
	g.is(run, workflow.AwaitingApproval, "working")
	g.pass(3 * time.Hour)
	g.is(run, workflow.Failed, "expired")
	g.pass(time.Minute)
	g.stands(id, "CANCELLED")
}

// S25.2: with while_asked, the clock of a state runs while people are asked, and a transition by time voids the question.
func TestClocksRunWhileAsked(t *testing.T) {
	t.Parallel()
	g, run := newTimed(t)
	g.fires(run, "HURRY", "")
	id := g.park(run, "ASK", "")
	g.pass(2*time.Hour - time.Second)
	g.is(run, workflow.AwaitingApproval, "hurried")
	g.stands(id, "PENDING")
	if n := g.published("reminded"); n != 1 {
		t.Errorf("%d reminders", n)
	}
	g.pass(2 * time.Second)
	g.is(run, workflow.Running, "stuck")
	g.pass(time.Minute)
	g.stands(id, "CANCELLED")
}

// S25.2, S25.8: a hold stops all clocks but the deadline, which takes effect when the hold is lifted.
func TestClocksWhileHeld(t *testing.T) {
	t.Parallel()
	g, run := newTimed(t)
	g.pass(90 * time.Minute)
	if _, err := g.Moves.Pause(t.Context(), operator, run, "a look", ""); err != nil {
		t.Fatal(err)
	}
	g.pass(5 * time.Hour)
	g.is(run, workflow.Held, "working")
	if _, err := g.Moves.Resume(t.Context(), operator, run, ""); err != nil {
		t.Fatal(err)
	}
	g.pass(29 * time.Minute)
	g.is(run, workflow.Running, "working")
	g.pass(time.Minute)
	g.is(run, workflow.Running, "stuck")
}

// S25.3: where no guard lets it through, a transition is tried again every minute.
func TestClocksAreBlocked(t *testing.T) {
	t.Parallel()
	g, run := newTimed(t)
	g.fires(run, "WAIT", "")
	g.pass(time.Hour)
	g.pass(time.Minute)
	g.pass(time.Minute)
	g.is(run, workflow.Running, "waiting")
	g.fires(run, "SET", `{"n": 1}`)
	g.pass(time.Minute)
	g.is(run, workflow.Completed, "done")
	if got := g.types(run); got != "started -working; transitioned working-waiting; timer.blocked waiting-waiting; transitioned waiting-waiting; transitioned waiting-done; " {
		t.Error(got)
	}
}

// S25.3, S25.8: a transition that a guard keeps stopping does not keep the clocks behind it from their turn, and steps of
// the agent do not put off its next try.
func TestBlockedClocksHoldNothingOff(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	for id, retried := range map[string]string{"starve": "d", "kept": "expired"} {
		definition := fmt.Sprintf(`{"id": %q, "initial": "w", "context": {"n": 0}, "guards": {"ready": {"field": "n", "op": "gte", "value": 1}},
			"meta": {"deadline": {"after": "10m", "target": "expired"}},
			"states": {"w": {"after": {"1m": {"target": "d", "guard": "ready"}}, "remind": ["2m"], "on": {"SELF": "w"}}, "d": {"type": "final"},
				"expired": {"type": "final", "outcome": "failure"}}}`, id)
		if _, _, _, err := g.Registry.Register(t.Context(), operator, []byte(definition), ""); err != nil {
			t.Fatal(err)
		}
		run, data := g.start(id, id), `{"n": 0}`
		if retried == "d" {
			data = `{"n": 1}`
		}
		g.pass(time.Minute)
		g.is(run, workflow.Running, "w")
		g.pass(30 * time.Second)
		g.fires(run, "SELF", data)
		for range 20 {
			g.pass(30 * time.Second)
			if now, err := g.runs.load(t.Context(), runKey("default", run)); err != nil || now.Status.Ended() {
				break
			}
			g.fires(run, "SELF", data)
		}
		status := workflow.Failed
		if retried == "d" {
			status = workflow.Completed
		}
		g.is(run, status, retried)
	}
}

// S25.8: after the deadline nothing that the agent does is accepted, also when a hold has kept it from ending the run.
func TestDeadlineAfterAHold(t *testing.T) {
	t.Parallel()
	g, run := newTimed(t)
	if _, err := g.Moves.Pause(t.Context(), operator, run, "a look", ""); err != nil {
		t.Fatal(err)
	}
	g.clock.Advance(9 * time.Hour)
	if _, err := g.Moves.Resume(t.Context(), operator, run, ""); err != nil {
		t.Fatal(err)
	}
	if outcome, err := fire(g.App, agent, run, "AGAIN", "", ""); err == nil && outcome.Rejection == nil {
		t.Errorf("accepted: %+v", outcome)
	}
	g.pass(time.Second)
	g.is(run, workflow.Failed, "expired")
}

// S25.2, S25.8: a hold that no operator has placed keeps no run from its deadline.
func TestDeadlineEndsHeldRuns(t *testing.T) {
	t.Parallel()
	g, run := newTimed(t)
	g.fires(run, "QUIET", "")
	g.pass(10 * time.Minute)
	g.is(run, workflow.Held, "quiet")
	g.pass(8 * time.Hour)
	if ended := g.is(run, workflow.Failed, "expired"); ended.Held() {
		t.Errorf("the run has ended and is held by %+v", ended.Holds)
	}
	other := g.start("timed", "gone")
	if err := g.Ends.SessionEnded(t.Context(), "default", "end", "gone"); err != nil {
		t.Fatal(err)
	}
	g.pass(8*time.Hour - time.Second)
	g.is(other, workflow.Held, "working")
	g.pass(time.Second)
	g.is(other, workflow.Failed, "expired")
}

// S25.2: what was due in a run meanwhile follows in the order in which it was due, silence among it.
func TestOverdueClocksFollowInOrder(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ state, want string }{
		{`"stale": {"after": "1m", "do": "hold"}, "remind": ["50s"], "after": {"70s": "z"}`, "reminded a-a; held a-a; "},
		{`"stale": {"after": "1m", "do": {"target": "z"}}, "after": {"70s": "y"}`, "transitioned a-z; "},
		{`"stale": {"after": "70s", "do": {"target": "z"}}, "after": {"1m": "y"}`, "transitioned a-y; "},
		{`"stale": {"after": "1m", "do": "notify"}, "after": {"70s": "y"}`, "stale a-a; transitioned a-y; "},
		{`"stale": {"after": "70s", "do": "notify"}, "remind": ["1m"], "after": {"2h": "y"}`, "reminded a-a; stale a-a; "},
	} {
		t.Run(test.state, func(t *testing.T) {
			t.Parallel()
			g := newGated(t)
			definition := `{"id": "order", "initial": "a", "states": {"a": {` + test.state + `}, "y": {"type": "final"}, "z": {"type": "final"}}}`
			if _, _, _, err := g.Registry.Register(t.Context(), operator, []byte(definition), ""); err != nil {
				t.Fatal(err)
			}
			run := g.start("order", "s")
			g.clock.Advance(100 * time.Second)
			g.Upkeep.SweepOnce(t.Context())
			g.Upkeep.SweepOnce(t.Context())
			entries, _, err := g.Reads.History(t.Context(), operator, run, Position{Version: 1}, 100)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, e := range entries {
				got += fmt.Sprintf("%s %s-%s; ", e.Type, e.From, e.To)
			}
			if got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// S25.8: the deadline of a run bounds those that it invokes, and ends them.
func TestDeadlineOfChildren(t *testing.T) {
	t.Parallel()
	g, run := newTimed(t)
	g.pass(time.Hour)
	g.fires(run, "CALL", "")
	parent := g.is(run, workflow.Waiting, "working")
	child, err := g.runs.load(t.Context(), runKey("default", parent.Child.RunID))
	if err != nil || !child.Deadline.Equal(parent.Deadline) || parent.Deadline.IsZero() {
		t.Fatalf("the child's deadline is %v, %v; the parent's %v", child.Deadline, err, parent.Deadline)
	}
	g.pass(time.Hour) // the clock of the state that waits runs
	g.is(run, workflow.Running, "stuck")
	if child, err = g.runs.load(t.Context(), runKey("default", child.ID)); err != nil || child.Status != workflow.Cancelled {
		t.Errorf("the child is %s, %v", child.Status, err)
	}
}

// S25.9: two replicas that fire the same timers move a run once.
func TestClocksOfReplicas(t *testing.T) {
	t.Parallel()
	g, run := newTimed(t)
	other := g.replica()
	g.clock.Advance(9 * time.Hour)
	var both sync.WaitGroup
	for _, a := range []*App{g.App, other} {
		both.Go(func() { a.Upkeep.clocks.sweeper().Once(t.Context()) })
	}
	both.Wait()
	g.pass(time.Second)
	g.is(run, workflow.Failed, "expired")
	if got := g.types(run); got != "started -working; reminded working-working; transitioned working-stuck; transitioned stuck-expired; " {
		t.Error(got)
	}
}

// S25.9: what is due is done in one try, and none of it is tried in vain.
func TestClocksAreNotTriedInVain(t *testing.T) {
	t.Parallel()
	g, run := newTimed(t)
	var log bytes.Buffer
	s := g.Upkeep.clocks.sweeper()
	s.Log = slog.New(slog.NewTextHandler(&log, nil))
	for _, d := range []time.Duration{time.Hour, time.Hour, 8 * time.Hour} {
		g.clock.Advance(d)
		s.Once(t.Context())
	}
	g.is(run, workflow.Failed, "expired")
	if log.Len() > 0 {
		t.Error(log.String())
	}
}

// S25.2: a clock of the machine that goes back undoes nothing, and fires nothing twice.
func TestTimeGoesBack(t *testing.T) {
	t.Parallel()
	g, run := newTimed(t)
	g.pass(2 * time.Hour)
	g.is(run, workflow.Running, "stuck")
	g.clock.Advance(-time.Hour)
	g.pass(30 * time.Minute)
	g.fires(run, "RESUME", "")
	g.pass(time.Hour)
	g.is(run, workflow.Running, "working")
	g.pass(time.Hour)
	g.is(run, workflow.Running, "stuck")
	if got := g.types(run); got != "started -working; reminded working-working; transitioned working-stuck; transitioned stuck-working; reminded working-working; transitioned working-stuck; " {
		t.Error(got)
	}
}

// S25.2: what fell due between a backup and its restore waits for its own time, ten minutes at most, and that is announced once.
func TestClocksAfterARestore(t *testing.T) {
	t.Parallel()
	g, run := newTimed(t)
	g.pass(10 * time.Minute)
	g.clock.Advance(5 * time.Hour)
	now := g.clock.Now()
	restored := ledger.ClockWatch{Gap: now, Restored: now}
	if _, err := g.store.Commit(t.Context(), store.Batch{SetTimers: []store.Timer{restored.Timer(now)}}); err != nil {
		t.Fatal(err)
	}
	a := g.replica()
	before := g.published("timer.restored")
	for range 19 {
		a.Upkeep.SweepOnce(t.Context())
		g.clock.Advance(30 * time.Second)
		g.is(run, workflow.Running, "working")
	}
	if got := g.published("timer.restored") - before; got != 1 {
		t.Errorf("announced %d times", got)
	}
	g.clock.Advance(30 * time.Second)
	a.Upkeep.SweepOnce(t.Context())
	g.is(run, workflow.Running, "stuck")
	if got := g.types(run); got != "started -working; reminded working-working; transitioned working-stuck; " {
		t.Error(got)
	}
}
