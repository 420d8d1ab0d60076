package app

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
)

// Whatever agents, humans, operators and faults do, in whatever order and on whatever
// replica: what needs an approval happens by one that was granted, and by each once;
// and when all is quiet the run and the approval service agree, and no timer is left.
func TestApprovalsInRandomStories(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	replicas := []*App{g.replica(), g.replica()}
	used := 0
	randtest.Check(t, func(t *rapid.T) {
		g.humans.asked, g.humans.used = map[string]*ports.Approval{}, map[string]string{}
		run := g.start("shipping", "")
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			g.App = replicas[rapid.IntRange(0, 1).Draw(t, "replica")]
			fault := &crash{}
			if rapid.IntRange(0, 3).Draw(t, "fault") == 0 {
				fault = &crash{at: rapid.IntRange(1, 6).Draw(t, "at"), late: rapid.Bool().Draw(t, "late")}
			}
			fault.arm(g)
			g.act(run, rapid.SampledFrom(acting).Draw(t, "act"))
			g.humans.befalls, g.store.Decide = nil, nil
		}
		_, _ = g.Moves.Resume(g.Context(), operator, run, "")
		for range 4 {
			g.pass(time.Minute)
		}
		used += agree(t, g, run)
		if _, err := g.Moves.Cancel(g.Context(), operator, run, "", ""); err == nil { // or the next story is disturbed
			g.pass(time.Minute)
		}
	})
	if used == 0 {
		t.Error("the stories are too tame: nothing was ever granted")
	}
}

var acting = []string{"SHIP", "SHIP", "LOOK", "END", "approve", "approve", "edit", "reject", "settle", "settle", "sweep", "pause", "hold", "resume", "force", "day"}

// act does one thing. What fails, or is refused, fails.
func (g *gated) act(run, what string) {
	ctx := g.Context()
	switch what {
	case "approve", "edit", "reject":
		d := consent.Decision{Approve: what != "reject"}
		if what == "edit" {
			d.Data = value(g.T, `{"_n": 1}`)
		}
		for _, a := range g.humans.asked {
			if d.Data.IsZero() || a.Editable {
				_ = become(a, a.Decide(consent.Approver{Name: "alice", Role: consent.RoleApprover}, d, g.clock.Now()))
			}
		}
	case "settle":
		for id := range g.humans.asked {
			_, _, _ = g.Settlement.SettleApproval(ctx, "default", run, strings.TrimPrefix(id, "default/"))
		}
	case "sweep":
		g.pass(10 * time.Second)
	case "day":
		g.clock.Advance(25 * time.Hour)
	case "pause":
		_, _ = g.Moves.Pause(ctx, agent, run, "", "")
	case "hold":
		_, _ = g.Moves.Pause(ctx, operator, run, "", "")
	case "resume":
		_, _ = g.Moves.Resume(ctx, operator, run, "")
	case "force":
		_, _ = g.Moves.Force(ctx, operator, Force{Target: ports.Target{RunID: run}, State: "ready"})
	default:
		_, _ = fire(g.App, agent, run, what, "", "")
	}
}

// agree checks a run that nothing happens to any more, and counts the approvals that
// were used for it.
func agree(t *rapid.T, g *gated, runID string) (used int) {
	now, err := g.runs.load(g.Context(), runKey("default", runID))
	if err != nil {
		t.Fatal(err)
	}
	fired := map[string]int{}
	entries, _, err := g.Reads.History(g.Context(), operator, runID, Position{}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Type == workflow.EventTransitioned && e.Event != "LOOK" {
			fired[e.ApprovalID]++
		}
	}
	waits := map[string]bool{}
	for _, id := range now.Approvals() {
		waits[id] = true
	}
	for key := range g.humans.asked {
		id := strings.TrimPrefix(key, "default/")
		standing := g.humans.standing(id)
		switch {
		case waits[id] != (standing == "PENDING"):
			t.Errorf("%s is %s, and the run waits for it: %t", id, standing, waits[id])
		case (fired[id] == 1) != strings.HasPrefix(standing, "USED"):
			t.Errorf("%s is %s, and has let %d events through", id, standing, fired[id])
		case standing == "GRANTED":
			t.Errorf("%s is granted, and nothing follows", id)
		}
		used += fired[id]
		delete(fired, id)
		delete(waits, id)
	}
	if len(fired)+len(waits) > 0 {
		t.Errorf("events without an approval: %v, and waiting for what was not asked: %v", fired, waits)
	}
	if n, want := g.timersOf(runID), len(now.Approvals()); n != want {
		t.Errorf("%d timers, %d approvals are waited for", n, want)
	}
	return used
}

// timersOf counts the timers of a run.
func (g *gated) timersOf(runID string) (n int) {
	due, err := g.store.Due(g.Context(), g.clock.Now().Add(1000*time.Hour), 1000, ports.KindRun)
	if err != nil {
		g.Fatal(err)
	}
	for _, timer := range due {
		if timer.Key.ID == runID {
			n++
		}
	}
	return n
}
