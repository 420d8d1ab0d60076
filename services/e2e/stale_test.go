package e2e

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
)

// neverStale moves a run through one replica and asks the other at once, whose
// cache is a version behind each time.
func neverStale(t *testing.T, w *world) {
	callers := []*caller{w.at(t, 0, auth.Agent), w.at(t, 1, auth.Agent)}
	callers[0].register(t, pingPong)
	id := callers[0].start(t, "ping-pong").GetRunId()
	for i := range 200 {
		mover, asker := callers[i%2], callers[(i+1)%2]
		run := mover.move(t, id, "GO")
		right, wrong := toolAt(run.GetVersion()), toolAt(run.GetVersion()+1)
		for _, d := range []*policyv1.CheckToolCallResponse{
			asker.expect(t, id, right, allow, ""), asker.expect(t, id, wrong, deny, "TOOL_NOT_ALLOWED"),
		} {
			if d.GetRunVersion() != run.GetVersion() {
				t.Fatalf("decided on version %d after version %d was answered", d.GetRunVersion(), run.GetVersion())
			}
		}
	}
}

// toolAt is the only tool of a ping-pong run at a version.
func toolAt(version int64) string {
	if version%2 == 1 {
		return "InA"
	}
	return "InB"
}

// neverStaleInRaces asks all the time while others move the run. A check that
// begins after a transition was answered is decided on that version or a later
// one, and always by the rules of the version that it names.
func neverStaleInRaces(t *testing.T, w *world) {
	callers := []*caller{w.at(t, 0, auth.Agent), w.at(t, 1, auth.Agent)}
	callers[0].register(t, pingPong)
	id := callers[0].start(t, "ping-pong").GetRunId()
	ctx := within(t)
	const movers, moves, askers = 2, 50, 4
	var answered atomic.Int64 // the newest answered version
	var moved atomic.Int64
	all(t, movers+askers, func(i int) error {
		c := callers[i%2]
		if i < movers {
			defer moved.Add(1)
			return keepMoving(ctx, c, id, moves, &answered)
		}
		for moved.Load() < movers {
			if err := askOnce(ctx, c, id, &answered); err != nil {
				return err
			}
		}
		return nil
	})
	history := callers[1].history(t, id)
	contiguous(t, id, history)
	if len(history) != 1+movers*moves {
		t.Errorf("the history has %d entries, want %d", len(history), 1+movers*moves)
	}
}

func keepMoving(ctx context.Context, c *caller, id string, moves int, answered *atomic.Int64) error {
	for done := 0; done < moves; {
		resp, err := c.runs.TransitionRun(ctx, &enginev1.TransitionRunRequest{RunId: id, Event: "GO"})
		if fault.ReasonOf(err) == fault.VersionConflict {
			continue // it lost every race that it may lose, and made no change
		}
		if err != nil {
			return err
		}
		raise(answered, resp.GetRun().GetVersion())
		done++
	}
	return nil
}

func raise(value *atomic.Int64, to int64) {
	for {
		have := value.Load()
		if have >= to || value.CompareAndSwap(have, to) {
			return
		}
	}
}

func askOnce(ctx context.Context, c *caller, id string, answered *atomic.Int64) error {
	known := answered.Load()
	for _, tool := range []string{"InA", "InB"} {
		d, err := c.policy.CheckToolCall(ctx, &policyv1.CheckToolCallRequest{RunId: id, Tool: tool})
		if fault.ReasonOf(err) == fault.VersionConflict {
			continue // the run changed faster than the check could follow: not allowed
		}
		if err != nil {
			return err
		}
		at := d.GetRunVersion()
		if at < known {
			return fmt.Errorf("decided on version %d when %d had been answered", at, known)
		}
		if allowed := d.GetDecision() == allow; allowed != (tool == toolAt(at)) {
			return fmt.Errorf("%s at version %d is %v %s", tool, at, d.GetDecision(), codeOf(d))
		}
	}
	return nil
}
