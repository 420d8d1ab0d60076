package workflow

import "github.com/interlock-run/interlock/pkg/document"

// checkBypasses reports every safe_next that leads round an approval: a state asks before
// it lets a run go to some state, and an unknown event would lead there, at once or by
// further transitions without a question, while no other event of the state does (S1.3).
func (r graphCheck) checkBypasses(g graph) {
	asked := make([][]edge, len(r.facts))
	for _, e := range g.edges {
		if e.approval && e.to >= 0 {
			asked[e.from] = append(asked[e.from], e)
		}
	}
	byEvents, bySafe := newSet(len(r.facts)), newSet(len(r.facts))
	checks := 0
	for s := range r.facts {
		next := r.facts[s].safeNext
		if next < 0 || len(asked[s]) == 0 {
			continue
		}
		if checks++; checks > maxBypassChecks {
			r.report.Errorf(r.facts[s].at, document.CodeTooMany, "more than %d states have both \"safe_next\" and an approval; split the workflow", maxBypassChecks)
			return
		}
		open := func(e edge) bool { return !e.approval && (e.from != s || e.kind != bySafeNext) }
		byEvents.clear()
		byEvents.add(s)
		g.walk(byEvents, open)
		bySafe.clear()
		bySafe.add(next)
		g.walk(bySafe, open)
		for _, e := range asked[s] {
			if bySafe.has[e.to] && !byEvents.has[e.to] {
				r.report.Errorf(r.facts[s].at.Key("safe_next"), CodeSafeNextBypass,
					"an unknown event would lead to %q without the approval that %q asks for; choose a state that does not", r.stateOrder[e.to], r.stateOrder[s])
				break
			}
		}
	}
}
