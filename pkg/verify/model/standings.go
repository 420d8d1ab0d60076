package model

import (
	"slices"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Standings returns how the evidence of a run stands in a lane, by the function that
// decides it, on a record of the held evidence.
func (n *Node) Standings(at *workflow.View) evidence.Statuses {
	specs := n.Unit.Machine.Evidence()
	if len(specs) == 0 && !n.Unit.Machine.KeepsAccount() {
		return nil
	}
	facts := map[string]evidence.Fact{}
	written := map[string]evidence.Written{}
	for i := range specs {
		spec := &specs[i]
		at := slices.IndexFunc(n.Held, func(h Held) bool { return h.Name == spec.Name })
		if at < 0 {
			continue
		}
		if spec.State != nil {
			written[spec.Name] = WrittenFor(spec)
			continue
		}
		seen := make([]evidence.Sighting, spec.Count)
		for j := range seen {
			seen[j] = evidence.Sighting{At: Epoch, CallID: spec.Name, Entry: n.Held[at].Entry}
		}
		facts[spec.Name] = evidence.Fact{Seen: seen}
	}
	record := evidence.Record{Runs: map[string]map[string]evidence.Fact{n.Run.ID: facts}}
	basis := at.EvidenceOf(record, Epoch)
	basis.Written = written
	all := basis.Judge(specs)
	if n.Unit.Machine.KeepsAccount() { // people can settle all unknown effects
		if all == nil {
			all = evidence.Statuses{}
		}
		all[evidence.NoUnknownEffects] = record.Effects()
	}
	return all
}

// WrittenFor returns a value of the shared state that satisfies an evidence.
func WrittenFor(spec *evidence.Spec) evidence.Written {
	w := evidence.Written{Writers: []string{spec.Writer}, At: Epoch}
	t := &Tree{Comparisons: []Comparison{{Op: spec.State.Op, Value: spec.State.Value}}}
	for _, v := range append([]document.Value{spec.State.Value}, t.Values()...) {
		if spec.State.Op.Holds(v, spec.State.Value) {
			w.Value = v
			return w
		}
	}
	w.Unknown = "no value is enough"
	return w
}

// Holds reports that an evidence is held for a lane.
func (n *Node) Holds(at *workflow.View, name string) bool { return n.Standings(at)[name].Held }
