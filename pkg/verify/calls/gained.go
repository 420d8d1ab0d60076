package calls

import (
	"fmt"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// GainedByCalls describes input of a tool that the calls of one state refuse and those of another do not, by all
// results that the comparisons of both can have; empty where there is none.
func (j *Judge) GainedByCalls(was, is *workflow.StateView, tool string) string {
	if len(was.Calls) == 0 {
		return ""
	}
	for _, input := range []document.Value{{}, object("command", "true")} {
		if gained := j.gainedByCalls(was, is, tool, input); gained != "" {
			return gained
		}
	}
	return ""
}

func (j *Judge) gainedByCalls(was, is *workflow.StateView, tool string, input document.Value) (gained string) {
	state := was
	all := worlds{vocabularies: &j.vocabularies, known: func(c condition.Comparison, stance condition.Stance) (condition.Truth, bool) {
		if condition.Facet(c.Looks()) != condition.RunState {
			return condition.Doubt, false
		}
		return c.Judge(facet.Of(facet.Subject{RunState: state.Name}), stance), true
	}}
	tried := all.each(func(facts condition.Chosen) bool {
		call := toolcall.Call{Tool: tool, Input: written(input), Facts: facts}
		state = is
		if !toolcall.HoldsCalls(is, call) {
			return true
		}
		state = was
		if toolcall.HoldsCalls(was, call) || all.found {
			return true
		}
		gained = all.describe()
		return false
	})
	if !tried {
		return fmt.Sprintf("input, of which there are more than %d combinations of results", mostWorlds)
	}
	return gained
}

// describe describes the input of this world.
func (w *worlds) describe() string {
	input := w.arguments(document.Value{})
	for _, class := range w.classes {
		if class.Unread {
			return "input that cannot be read"
		}
	}
	var facets []string
	for _, looks := range w.looks() {
		if !strings.HasPrefix(looks, "/") {
			facets = append(facets, looks)
		}
	}
	switch {
	case len(facets) == 0:
		return "input such as " + input.String()
	case input.Len() == 0:
		return "other " + strings.Join(facets, ", ")
	default:
		return "input such as " + input.String() + ", by its " + strings.Join(facets, ", ")
	}
}
