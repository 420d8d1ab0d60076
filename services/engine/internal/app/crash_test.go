package app

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
)

// story is what happens to a parked transition, and how everything stands in the end.
type story struct {
	happens  func(g *gated, run, id string) error
	status   workflow.Status
	state    string
	standing string // its first word
	history  string // the one entry that settles it, or none
}

var stories = map[string]story{
	"granted": {
		func(g *gated, run, id string) error {
			g.humans.decide(g.T, id, true, "", "")
			_, _, err := g.Settlement.SettleApproval(g.Context(), "default", run, id)
			return err
		},
		workflow.Running, "shipped", "USED", "transitioned ready-shipped",
	},
	"granted, and stale": {
		func(g *gated, run, id string) error {
			g.humans.decide(g.T, id, true, "", `{"_n": 1}`)
			_, _, err := g.Settlement.SettleApproval(g.Context(), "default", run, id)
			return err
		},
		workflow.Running, "ready", "STALE", "approval.stale ready-ready",
	},
	"rejected": {
		func(g *gated, run, id string) error {
			g.humans.decide(g.T, id, false, "no", "")
			_, _, err := g.Settlement.SettleApproval(g.Context(), "default", run, id)
			return err
		},
		workflow.Running, "ready", "REJECTED", "approval.rejected ready-ready",
	},
	"expired": {
		func(g *gated, run, id string) error {
			g.clock.Advance(25 * time.Hour)
			_, _, err := g.Settlement.SettleApproval(g.Context(), "default", run, id)
			return err
		},
		workflow.Running, "ready", "EXPIRED", "approval.expired ready-ready",
	},
	"forced away": {
		func(g *gated, run, _ string) error {
			_, err := g.Moves.Force(g.Context(), operator, Force{Target: ports.Target{RunID: run}, State: "shipped", IdempotencyKey: "f"})
			return err
		},
		workflow.Running, "shipped", "CANCELLED", "forced ready-shipped",
	},
	"cancelled": {
		func(g *gated, run, _ string) error {
			_, err := g.Moves.Cancel(g.Context(), agent, run, "", "c")
			return err
		},
		workflow.Cancelled, "ready", "CANCELLED", "cancelled ready-ready",
	},
	"granted, and cancelled before it is settled": {
		func(g *gated, run, id string) error {
			g.humans.decide(g.T, id, true, "", "")
			_, err := g.Moves.Cancel(g.Context(), agent, run, "", "c")
			return err
		},
		workflow.Cancelled, "ready", "STALE", "cancelled ready-ready",
	},
}

var errCrash = errors.New("the engine crashed")

// crash fails the nth step of an engine - a commit or a call - and all that follow,
// until the engine is started again. When late, that step is done before.
type crash struct {
	at   int
	late bool

	mu    sync.Mutex // a sweep does several things at once
	steps int
}

// step is true when this step must not be done, and lost when its answer is.
func (c *crash) step() (fails, lost bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.steps++
	switch {
	case c.at == 0 || c.steps < c.at:
		return false, false
	case c.steps == c.at && c.late:
		return false, true
	default:
		return true, false
	}
}

func (c *crash) arm(g *gated) {
	g.humans.befalls = func(string) (before, after error) {
		switch fails, lost := c.step(); {
		case fails:
			return errCrash, nil
		case lost:
			return nil, errCrash
		default:
			return nil, nil
		}
	}
	g.store.Decide = func(int, *store.Batch) storetest.Fault {
		switch fails, lost := c.step(); {
		case fails:
			return storetest.Failed
		case lost:
			return storetest.FailedButApplied
		default:
			return storetest.Healthy
		}
	}
}

func (c *crash) disarm(g *gated) {
	g.humans.befalls, g.store.Decide = nil, nil
	g.App = g.replica() // as it starts again
}

// Wherever the engine crashes while a transition is parked, or while what humans have
// said of it is carried out, timers bring the run and the approval together in the
// end, and the effect happens once.
func TestCrashesAreMadeGood(t *testing.T) {
	t.Parallel()
	for name, s := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, late := range []bool{false, true} {
				points := 0
				for ; playWith(t, s, &crash{}, &crash{at: points + 1, late: late}); points++ {
				}
				if points < 3 {
					t.Errorf("only %d steps to crash at", points)
				}
				for at := 1; playWith(t, s, &crash{at: at, late: late}, &crash{}); at++ {
				}
			}
		})
	}
}

// playWith plays a story with one crash while it parks, and one while it happens; it is
// false when neither came.
func playWith(t *testing.T, s story, parking, happening *crash) bool {
	t.Helper()
	g := newGated(t)
	run := g.start("shipping", "")
	fires := func() (*Outcome, error) { return fire(g.App, agent, run, "SHIP", `{"n": 7}`, "k") }

	parking.arm(g)
	outcome, err := fires()
	parking.disarm(g)
	if err != nil { // so the agent asks again
		if outcome, err = fires(); err != nil {
			t.Fatal(err)
		}
	}
	id := outcome.ApprovalID
	g.pass(firstLook)
	g.stands(id, "PENDING")

	happening.arm(g)
	err = s.happens(g, run, id)
	happening.disarm(g)
	if fault.ReasonOf(err) != "" && happening.at == 0 {
		t.Fatal(err)
	}
	if strings.Contains(s.history, "forced") || strings.Contains(s.history, "cancelled ") {
		// Who has asked for that does so again until it is done.
		if err := s.happensAgain(g, run); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		g.pass(time.Minute)
	}

	where := fmt.Sprintf("crash at %d and %d, late %t", parking.at, happening.at, parking.late || happening.late)
	g.is(run, s.status, s.state)
	if got := g.humans.standing(id); strings.Fields(got)[0] != s.standing {
		t.Errorf("%s: the approval is %s, want %s", where, got, s.standing)
	}
	want := "started -ready; approval.parked ready-ready; " + s.history + "; "
	if got := g.types(run); got != want {
		t.Errorf("%s: history is %s, want %s", where, got, want)
	}
	if n := g.timers(); n != 0 {
		t.Errorf("%s: %d timers are left", where, n)
	}
	if len(g.humans.asked) != 1 {
		t.Errorf("%s: %d questions", where, len(g.humans.asked))
	}
	return parking.at > 0 && parking.steps >= parking.at || happening.at > 0 && happening.steps >= happening.at
}

// happensAgain repeats what a caller has asked for, with the same key.
func (s story) happensAgain(g *gated, run string) error {
	if strings.Contains(s.history, "forced") {
		_, err := g.Moves.Force(g.Context(), operator, Force{Target: ports.Target{RunID: run}, State: "shipped", IdempotencyKey: "f"})
		return err
	}
	_, err := g.Moves.Cancel(g.Context(), agent, run, "", "c")
	return err
}
