package facet

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
)

// fact returns a fact about the caller or the run; ok is false for a facet of the call itself.
func (s *Subject) fact(name condition.Facet) (set condition.Set, ok bool) {
	switch family, _, _ := strings.Cut(string(name), "."); family {
	case "caller", "session", "state", "workflow":
		return s.origin(name), true
	case "human":
		return s.human(name), true
	case "agent":
		return s.agent(name), true
	default:
		return condition.Set{}, false
	}
}

// origin returns who makes the call, and where its run is. A fact that the subject lacks is not known.
func (s *Subject) origin(name condition.Facet) condition.Set {
	if label, ok := name.Label(); ok {
		if value, known := s.SessionLabels[label]; known {
			return condition.KnownSet(value)
		}
		return condition.Unknown("no one but an agent has given the session the label " + document.Quote(label))
	}
	value := ""
	switch name {
	case condition.CallerName:
		value = s.CallerName
	case condition.CallerRole:
		value = s.CallerRole
	case condition.CallerNamespace:
		value = s.CallerNamespace
	case condition.CallerToken:
		value = s.CallerToken
	case condition.CallerVia:
		value = s.CallerVia
	case condition.CallerBound:
		if s.CallerBound != "" {
			return condition.Set{Known: true, Values: []condition.Element{{Value: document.BoolValue(s.CallerBound == "true")}}}
		}
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

// human returns a fact about the person on whose behalf the call is made. That it is nobody is never known.
func (s *Subject) human(name condition.Facet) condition.Set {
	h := s.Human
	if h == nil {
		return condition.Unknown(cmp.Or(s.WhyHuman, "it is not known here on whose behalf the call is made"))
	}
	if attribute, ok := name.Attribute(); ok {
		if values, known := h.Attributes[attribute]; known {
			return condition.KnownSet(values...)
		}
		return condition.Unknown("the attribute " + document.Quote(attribute) + " of the human is not known")
	}
	switch name {
	case condition.HumanName:
		return condition.KnownSet(h.Name)
	case condition.HumanIssuer:
		return condition.KnownSet(h.Issuer)
	case condition.HumanSource:
		return condition.KnownSet(h.Source)
	case condition.HumanAge:
		if h.Age < 0 {
			return condition.Unknown("it is not known when the human has logged in")
		}
		seconds := document.NumberValue(strconv.FormatInt(int64(h.Age/time.Second), 10))
		return condition.Set{Known: true, Values: []condition.Element{{Value: seconds}}}
	case condition.HumanGroups:
		if !h.GroupsKnown {
			return condition.Unknown("it is not known in which groups the human is")
		}
		return condition.KnownSet(h.Groups...)
	default:
		return condition.Unknown(string(name) + " is not known here")
	}
}

// agent returns a fact about the agent that the session has started from. That it is none is never known.
func (s *Subject) agent(name condition.Facet) condition.Set {
	switch {
	case s.Agent == "":
		return condition.Unknown("it is not known from which agent the session has started")
	case name == condition.AgentName:
		return condition.KnownSet(s.Agent)
	case name == condition.AgentVersion && s.AgentVersion > 0:
		version := document.NumberValue(strconv.FormatInt(s.AgentVersion, 10))
		return condition.Set{Known: true, Values: []condition.Element{{Value: version}}}
	default:
		return condition.Unknown(string(name) + " is not known here")
	}
}
