package app

import (
	"context"
	"time"

	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/halts"
	"github.com/interlock-run/interlock/services/internal/ledger"

	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/engine/internal/registry"
)

// Views shows runs with the rules of their states and the status of their evidence.
type Views struct {
	ports     *ports.Ports
	registry  *registry.Registry
	runs      *Runs
	lastTrees lastTrees
}

// View is a run together with the rules of its state.
type View struct {
	Run *workflow.Run
	// At is the run as the branch sees it that it was asked about, or the one that
	// unbound callers work in.
	At      workflow.View
	Machine *workflow.Machine
	// Process is the definition of the run when that is not a workflow, else nil (S8).
	Process *process.Process
	// AskedID is the run that was asked for: this one, or one that has invoked it.
	AskedID string
	// SupersededBy is the run that is driven instead of this one, which is paused or has
	// ended. Only Get by a run's id sets it; see authority.SupersededBy.
	SupersededBy string
	// Freeze is the one that the run is under, or nil. Only requests for one run set it.
	Freeze *workflow.Freeze
	// Halt is the one that stops its work, or nil. Only requests for one run set it.
	Halt *halts.Halt
	// Evidence is how that of the workflow stands, in definition order.
	Evidence []evidence.Status
	// LastActivity is when the run made progress last, to the second, and Silences are the ends of the patience with its silent
	// lanes. AddTimes sets them; Silent sets LastActivity too.
	LastActivity time.Time
	Silences     []workflow.Due
}

func newView(at workflow.View, m definition.Compiled) *View {
	return &View{Run: at.Run, At: at, Machine: m.Machine, Process: m.Process, AskedID: at.ID}
}

// State returns the state in force.
func (v *View) State() *workflow.StateView { return v.Machine.State(v.At.State) }

// Frozen reports that a freeze stops an event of a state.
func (v *View) Frozen(state, event string) bool { return v.Machine.Under(v.Freeze).Stops(state, event) }

// of adds the rules of its state to a run.
func (vs *Views) of(ctx context.Context, namespace string, at workflow.View, tree string) (*View, error) {
	m, err := vs.registry.Machine(ctx, namespace, at.Workflow, at.WorkflowVersion)
	if err != nil {
		return nil, err
	}
	v := newView(at, m)
	return v, vs.addEvidence(ctx, namespace, v, tree)
}

// AddTimes adds to views of runs of a namespace when these made progress last, and how long their lanes may be silent.
func (vs *Views) AddTimes(ctx context.Context, namespace string, views ...*View) error {
	var names []store.TimerID
	for _, v := range views {
		if v.Run.Status.Ended() {
			continue
		}
		key := runKey(namespace, v.Run.ID)
		names = append(names, ledger.ActivityTimerID(key))
		for _, at := range awaited(v.Machine, v.Run) {
			names = append(names, ledger.SilenceTimerID(key, at.Branch))
		}
	}
	if len(names) == 0 {
		return nil
	}
	timers, err := vs.ports.Store.Timers(ctx, names...)
	if err != nil {
		return fault.From(err)
	}
	for _, timer := range timers {
		for _, v := range views {
			if v.Run.ID == timer.Key.ID {
				v.addTime(timer)
			}
		}
	}
	return nil
}

// addTime adds what a timer says.
func (v *View) addTime(timer store.Timer) {
	if timer.Key.Kind == ledger.KindActivity {
		v.LastActivity = timer.Due
		return
	}
	branch, since, runs := ledger.SilentBranch(timer)
	if !runs {
		return
	}
	at := v.Run.At(branch)
	v.Silences = append(v.Silences, v.Machine.State(at.State).Stale.Due(branch, since, timer.Due))
}
