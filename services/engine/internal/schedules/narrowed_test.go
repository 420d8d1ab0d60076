package schedules_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// opener notes the sessions that it opens, or fails with an error.
type opener struct {
	opened []string
	fails  error
}

func (o *opener) Open(_ context.Context, namespace, name string, only []byte) error {
	if o.fails != nil {
		return o.fails
	}
	o.opened = append(o.opened, namespace+" "+name+" "+string(only))
	return nil
}

// S25.27: the session of a run is created narrowed before the run starts, and without it no run starts.
func TestSchedulesNarrowTheirRuns(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *rig) {
		sessions := &opener{fails: fault.New(fault.Unavailable, "the state-store is away")}
		r.Sessions = sessions
		spec := daily()
		spec.Only = `[ {"tools": ["Read"]} ]`
		r.put(spec)
		r.pass(7 * time.Hour)
		if n := len(r.runs("daily")); n != 0 {
			t.Fatalf("%d runs started, and their sessions are not narrowed", n)
		}
		sessions.fails = nil
		r.pass(2 * time.Second)
		runs := r.runs("daily")
		if len(runs) != 1 || runs[0].Status != workflow.Running {
			t.Fatalf("the runs are %+v", runs)
		}
		if want := "default " + runs[0].SessionID + ` [{"tools":["Read"]}]`; len(sessions.opened) == 0 || sessions.opened[0] != want {
			t.Errorf("sessions %q were opened, want %q", sessions.opened, want)
		}
	})
}

// S25.27: a schedule with invalid entries is refused, and a state-store that refuses a session refuses the start.
func TestSchedulesCannotNarrow(t *testing.T) {
	t.Parallel()
	r := newRig(t, "sqlite")
	spec := daily()
	spec.Only = `[{"tools": ["Read"]}]`
	if _, err := r.Schedules.Create(t.Context(), olga, spec, false); fault.ReasonOf(err) != fault.FailedPrecondition {
		t.Errorf("without a state-store: %v", err)
	}
	sessions := &opener{fails: fault.New(fault.NameTaken, "there is another session of that name")}
	r.Sessions = sessions
	for _, only := range []string{`{`, `[]x`, `[{"tool": "Read"}, 1]`, `[{"tols": ["Read"]}]`} {
		bad := spec
		bad.Only = only
		var refused *fault.Error
		if _, err := r.Schedules.Create(t.Context(), olga, bad, false); fault.ReasonOf(err) != fault.InvalidRequest || !errors.As(err, &refused) || len(refused.Violations) == 0 {
			t.Errorf("%s: %v", only, err)
		}
	}
	bad := spec
	bad.SessionID = "s"
	if _, err := r.Schedules.Create(t.Context(), olga, bad, false); fault.ReasonOf(err) != fault.InvalidRequest {
		t.Errorf("with a session of every run: %v", err)
	}
	r.Quotas.RequireSessions = true
	r.put(spec)
	r.pass(7 * time.Hour)
	if s := r.get("daily"); s.Last == nil || s.Last.Code != fault.NameTaken || s.Counts.Refused != 1 {
		t.Errorf("the last time is %+v", s.Last)
	}
}
