package workflow

import (
	"slices"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/shell"
)

// checkClaims warns of transitions into a state with more rights whose guards ask only
// for the agent's own claims (S14.3). One without guards is a choice; one with such
// guards looks like a check.
func (r graphCheck) checkClaims() {
	guards := make(map[string]*Guard, len(r.def.Guards))
	for i := range r.def.Guards {
		guards[r.def.Guards[i].Name] = &r.def.Guards[i]
	}
	for i := range r.def.States {
		from := &r.def.States[i]
		open := from.unguarded()
		for j := range from.On {
			t := &from.On[j]
			for k := range t.Branches {
				b := &t.Branches[k]
				to, known := r.states[b.Target]
				if !known || b.RequiresApproval || len(b.Guards) == 0 || open[b.Target] || !onlyClaims(b.Guards, guards) {
					continue
				}
				if tool := r.def.States[to].adds(from); tool != "" {
					at := r.facts[i].at.Key("on").Key(t.Event)
					if t.Branched {
						at = at.At(k)
					}
					r.report.Warnf(at, CodeClaimedRights,
						"state %s allows %s, which %s does not, and the guards ask only for claims of the agent; add {\"evidence\": ...}, a \"source\", or an approval",
						document.Quote(b.Target), tool, document.Quote(from.Name))
				}
			}
		}
	}
}

// unguarded returns the states that a transition without guards leads to: they have been
// chosen to be open, regardless of guards on other ways there.
func (s *State) unguarded() map[string]bool {
	open := map[string]bool{}
	for i := range s.On {
		if t := &s.On[i]; len(t.Branches) == 1 && len(t.Branches[0].Guards) == 0 && !t.Branches[0].RequiresApproval {
			open[t.Branches[0].Target] = true
		}
	}
	return open
}

// onlyClaims reports that guards pass by values that an agent can set.
func onlyClaims(names []string, guards map[string]*Guard) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		g := guards[name]
		return g == nil || !g.claimable()
	})
}

// claimable reports that an agent can make a guard pass by its claims.
func (g *Guard) claimable() bool {
	switch {
	case g.Evidence != "":
		return false
	case g.Not != nil:
		return g.Not.each(func(g *Guard) bool { return g.Evidence == "" && (!g.looks() || g.claimable()) }) && g.Not.compares()
	case len(g.All) > 0:
		return !slices.ContainsFunc(g.All, func(g Guard) bool { return !g.claimable() })
	case len(g.Any) > 0:
		return slices.ContainsFunc(g.Any, func(g Guard) bool { return g.claimable() })
	default:
		return g.looks() && !g.Source.Meets(evidence.Observed)
	}
}

// compares reports that a guard, or one that it joins, is on a field.
func (g *Guard) compares() bool { return !g.each(func(g *Guard) bool { return !g.looks() }) }

// looks reports that a guard, without those that it joins, compares values of the context.
func (g *Guard) looks() bool { return g.Field != "" || g.When != nil }

// adds names a right that a state gives to an agent, and another state does not; empty if
// there is none. A final state gives none: it ends the run.
func (s *State) adds(other *State) string {
	if s.Final || !other.ToolsRestricted {
		return ""
	}
	if !s.ToolsRestricted {
		return "every tool"
	}
	if dropped := other.DropsCalls(s); len(dropped) > 0 {
		return "any input of " + document.Quote(dropped[0].Pattern())
	}
	had := newToolTable(other)
	for _, tool := range s.AllowedTools {
		acts := tool == s.AllowedCommandsTool || !slices.Contains(noEdits, tool)
		if acts && had.rule(tool) != ToolAllowed {
			return document.Quote(tool)
		}
	}
	if !permits(s.AllowedTools, s.AllowedCommandsTool) || !other.CommandsRestricted {
		return ""
	}
	if !s.CommandsRestricted {
		return "every command"
	}
	for _, command := range s.AllowedCommands {
		if command != "@inert" && !slices.Contains(other.AllowedCommands, command) {
			return shell.ShowEntry(command)
		}
	}
	return ""
}
