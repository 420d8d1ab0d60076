package conform

import (
	"maps"
	"slices"

	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/verify/explore"
	"github.com/interlock-run/interlock/pkg/verify/model"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// bySource takes a change again as it is when others have sent some of the values of which
// guards ask where they come from: no history says whether an operator has. False when no
// choice of them makes the change that was recorded.
func (c *conformer) bySource(m *workflow.Machine, e *workflow.HistoryEntry, cmd workflow.Command) (workflow.Result, bool) {
	for _, sent := range explore.SubsetsOf(model.TracedKeys(m))[1:] {
		run := *c.run
		run.Lane = sentByOthers(run.Lane, sent)
		if out := m.Step(&run, cmd, e.Time); c.compare(e, &out) == "" {
			return out, true
		}
	}
	return workflow.Result{}, false
}

// sentByOthers returns a lane in which an operator has sent some values that an agent is
// taken to have sent, and the other way round.
func sentByOthers(l workflow.Lane, keys []string) workflow.Lane {
	l.Sources = maps.Clone(l.Sources)
	if l.Sources == nil {
		l.Sources = workflow.Sources{}
	}
	for _, key := range keys {
		if l.Sources[key] == evidence.Operator {
			delete(l.Sources, key)
		} else {
			l.Sources[key] = evidence.Operator
		}
	}
	if l.Fork == nil {
		return l
	}
	fork := *l.Fork
	fork.Branches = slices.Clone(fork.Branches)
	for i := range fork.Branches {
		fork.Branches[i].Lane = sentByOthers(fork.Branches[i].Lane, keys)
	}
	l.Fork = &fork
	return l
}
