package facet

import (
	"strconv"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
)

// fact returns a fact about the caller or the run; ok is false for a facet of the call itself.
func (s *Subject) fact(name condition.Facet) (set condition.Set, ok bool) {
	switch family, _, _ := strings.Cut(string(name), "."); family {
	case "caller", "session", "state", "workflow":
		return s.origin(name), true
	default:
		return condition.Set{}, false
	}
}

// origin returns who makes the call, and where its run is. A fact that the subject lacks is not known.
func (s *Subject) origin(name condition.Facet) condition.Set {
	value := ""
	switch name {
	case condition.CallerName:
		value = s.CallerName
	case condition.CallerRole:
		value = s.CallerRole
	case condition.CallerNamespace:
		value = s.CallerNamespace
	case condition.SessionRoot:
		value = s.SessionRoot
	case condition.SessionDepth:
		if s.SessionDepth >= 0 {
			depth := document.NumberValue(strconv.Itoa(s.SessionDepth))
			return condition.Set{Known: true, Values: []condition.Element{{Value: depth}}}
		}
	case condition.RunState:
		value = s.RunState
	case condition.RunWorkflow:
		value = s.RunWorkflow
	default:
	}
	if value == "" {
		return condition.Unknown(string(name) + " is not known here")
	}
	return condition.KnownSet(value)
}
