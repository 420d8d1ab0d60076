package workflow

import (
	"maps"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
)

// Sources are where the values of a context come from, by their top-level keys; results of
// invoked runs are distinguished by resultSource (S14.3). Missing ones are the agent's. It
// is kept outside the context, where no agent can write, and is a snapshot.
type Sources map[string]evidence.Source

// resultSource returns the key of an invoked run's results. No key of a context begins
// with $.
func resultSource(event string) string { return "$" + resultsKey + "/" + event }

// initialSources returns those of a new run: the definition's own values are the
// operator's.
func (m sourceRules) initialSources(p *StartParams) Sources {
	if !m.traces {
		return nil
	}
	sources := Sources{}
	for name := range m.definition.Context.Members() {
		sources[name] = evidence.Operator
	}
	return m.sourcesAfter(sources, p.Context, p.Source, nil)
}

// sourcesAfter returns the sources after data has merged, of which some keys were edited
// by a human.
func (m sourceRules) sourcesAfter(before Sources, data document.Value, from evidence.Source, edited map[string]bool) Sources {
	if !m.traces || data.Len() == 0 {
		return before
	}
	after := maps.Clone(before)
	if after == nil {
		after = Sources{}
	}
	for name := range data.Members() {
		source := from
		if edited[name] {
			source = evidence.Human
		}
		after.set(name, source)
	}
	return after
}

func (s Sources) set(name string, source evidence.Source) {
	if name == resultsKey {
		maps.DeleteFunc(s, func(key string, _ evidence.Source) bool { return strings.HasPrefix(key, resultSource("")) })
	}
	s.put(name, source)
}

func (s Sources) put(key string, source evidence.Source) {
	if source == "" || source == evidence.Agent {
		delete(s, key)
		return
	}
	s[key] = source
}

// resultObserved returns the sources after an invoked run has left its end.
func (m sourceRules) resultObserved(before Sources, event string) Sources {
	if !m.traces {
		return before
	}
	after := maps.Clone(before)
	if after == nil {
		after = Sources{}
	}
	after[resultSource(event)] = evidence.Observed
	return after
}

// joinedSources returns the sources after the branches of a fork have merged: a value
// that several have changed is as good as the least of them.
func (m sourceRules) joinedSources(at *cursor, changes document.Value) Sources {
	if !m.traces || changes.Len() == 0 {
		return at.Sources
	}
	after := maps.Clone(at.Sources)
	if after == nil {
		after = Sources{}
	}
	for name, merged := range changes.Members() {
		if name != resultsKey || merged.Kind() != document.Object {
			after.set(name, leastOf(at.Fork, at.Context, name, name))
			continue
		}
		before, _ := at.Context.Get(resultsKey)
		after.put(resultsKey, leastOf(at.Fork, at.Context, resultsKey, resultsKey))
		for event, v := range merged.Members() {
			if was, had := before.Get(event); !had || !document.Equal(was, v) {
				after.put(resultSource(event), leastOf(at.Fork, at.Context, resultsKey, resultSource(event)))
			}
		}
	}
	return after
}

// leastOf returns the least trusted source of a key among the branches that have ended
// and changed its value.
func leastOf(fork *ForkProgress, base document.Value, name, key string) evidence.Source {
	least := evidence.Operator
	was, _ := base.Get(name)
	for i := range fork.Branches {
		b := &fork.Branches[i]
		v, has := b.Context.Get(name)
		if b.Status == BranchActive || !has || document.Equal(was, v) {
			continue
		}
		source, known := b.Sources[key]
		if key != name && !known && !resultChanged(was, v, key) {
			continue
		}
		if !source.Meets(least) {
			least = source
		}
	}
	return least
}

// resultChanged reports that a branch has changed the results for the event of a
// resultSource.
func resultChanged(was, is document.Value, key string) bool {
	event := strings.TrimPrefix(key, resultSource(""))
	before, had := was.Get(event)
	after, has := is.Get(event)
	return has && (!had || !document.Equal(before, after))
}

// sourceIn returns where the value that a guard compares comes from.
func (p *predicate) sourceIn(g *given) evidence.Source {
	key := p.field
	if _, exact := g.context.Get(p.field); !exact && p.path != nil {
		key = p.path[0].key
		if key == resultsKey && len(p.path) > 1 {
			if source, ok := g.sources[resultSource(p.path[1].key)]; ok {
				return source
			}
		}
	}
	if source, ok := g.sources[key]; ok {
		return source
	}
	return evidence.Agent
}

// differing returns the keys of edited data whose values are other than those that
// waited.
func differing(waited, edited document.Value) map[string]bool {
	keys := make(map[string]bool)
	for name, v := range edited.Members() {
		if was, had := waited.Get(name); !had || !document.Equal(was, v) {
			keys[name] = true
		}
	}
	return keys
}

// mostApproved bounds how many approvals a run remembers; the oldest are forgotten.
const mostApproved = 64

// agreed remembers that humans have agreed to a transition.
func (s *stepper) agreed(at *cursor, a *Approval, by string) {
	if !s.m.approvals {
		return
	}
	kept := make([]evidence.Approved, 0, len(at.Approved)+1)
	for _, old := range at.Approved {
		if old.State != at.State || old.Event != a.Event {
			kept = append(kept, old)
		}
	}
	kept = append(kept, evidence.Approved{State: at.State, Event: a.Event, Entry: s.out.Run.lane(at.path).Entry, At: s.out.Entry.Time, By: by})
	s.out.Run.Approved = kept[max(0, len(kept)-mostApproved):]
}

// EvidenceOf returns the basis on which the evidence of a run is judged for a lane,
// without values of the shared state.
func (at *View) EvidenceOf(record evidence.Record, now time.Time) evidence.Basis {
	return evidence.Basis{Record: record, RunID: at.ID, Claimed: at.Claimed, Homeless: at.Workspace == "", Entry: at.Entry, Approved: at.Approved, Now: now}
}
