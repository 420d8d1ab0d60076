package workflow

import (
	"slices"

	"github.com/interlock-run/interlock/pkg/evidence"
)

// Told is a call whose end is reported by the result of another.
type Told struct {
	evidence.OpenCall
	OK bool
}

// Reconcile closes the calls of a run of which the result of a successful call of a tool
// reports how they ended (S16.5): the only one that waits of the tool that an entry of
// meta.reconcile names, once it is unknown. Where several wait, which one is meant is in doubt.
func (m *Machine) Reconcile(record evidence.Record, run, tool string, output []byte) (evidence.Record, []Told) {
	var told []Told
	for i := range m.definition.Meta.Reconcile {
		entry := &m.definition.Meta.Reconcile[i]
		if entry.Tool != tool {
			continue
		}
		of := slices.Collect(record.CallsOf(run, entry.Of))
		if len(of) != 1 || !of[0].Unknown {
			continue
		}
		ok := entry.OK != nil && evidence.Shows(entry.OK, output)
		if ok || entry.Failed != nil && evidence.Shows(entry.Failed, output) {
			record, _, _ = record.Close(of[0].ID)
			told = append(told, Told{of[0], ok})
		}
	}
	return record, told
}
