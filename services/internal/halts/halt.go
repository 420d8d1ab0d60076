// Package halts stops work: it stores the halts and the freezes of a deployment, and says which of them a request is
// in the scope of. A halt is in force from the commit that stores it: every commit of a decision has
// the version of the halts that it was made on as its precondition (S23.41).
package halts

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/sessionread"
)

// Kind is the kind of object that a halt stops.
type Kind string

// The kinds.
const (
	Session   Kind = "session"
	Workflow  Kind = "workflow"
	Principal Kind = "principal"
	Person    Kind = "person"
	Human     Kind = "human"
	Group     Kind = "group"
	Agent     Kind = "agent"
	Namespace Kind = "namespace"
	All       Kind = "all"
)

// Kinds returns all kinds, in the order in which they are shown.
func Kinds() []Kind {
	return []Kind{Session, Workflow, Principal, Person, Human, Group, Agent, Namespace, All}
}

// Scope names the calls and runs that a halt stops.
type Scope struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name,omitempty"` // empty for Namespace and All
}

// named reports whether halts of a kind name an object.
func (k Kind) named() bool { return k != Namespace && k != All }

// Halt stops all work in its scope.
type Halt struct {
	ID string `json:"id"`
	Scope
	// Namespace is where it holds; empty for All.
	Namespace string    `json:"namespace,omitempty"`
	Reason    string    `json:"reason"`
	By        string    `json:"by"`
	At        time.Time `json:"at"`
	// ByRoot: only root may lift it.
	ByRoot bool `json:"by_root,omitempty"`
	// Until is when a freeze ends; zero for a halt.
	Until time.Time `json:"until,omitzero"`
}

// validate returns an error for a scope of an unknown kind, or with a wrong name.
func (s Scope) validate() error {
	switch {
	case !slices.Contains(Kinds(), s.Kind):
		return fault.New(fault.InvalidRequest, "a halt stops a session, workflow, principal, person, human, group, agent, a namespace or all, not a %s", document.Quote(string(s.Kind))).
			Violate("/scope/kind", "ENUM", "not a kind")
	case s.Kind.named() && (s.Name == "" || len(s.Name) > store.MaxIDBytes):
		return fault.New(fault.InvalidRequest, "the name of the %s must have 1 to %d bytes", s.Kind, store.MaxIDBytes).
			Violate("/scope/name", "RANGE", "too short or too long")
	case !s.Kind.named() && s.Name != "":
		return fault.New(fault.InvalidRequest, "a halt of kind %s has no name: send the request in the namespace that it is about", s.Kind).
			Violate("/scope/name", "RANGE", "must be empty")
	}
	return nil
}

// String describes the scope of the halt.
func (h *Halt) String() string {
	switch h.Kind {
	case All:
		return "all work of this deployment"
	case Namespace:
		return "all work in namespace " + h.Namespace
	default:
		return string(h.Kind) + " " + document.Quote(h.Name)
	}
}

// Why explains the refusal of work in the scope of the halt.
func (h *Halt) Why() string {
	return fmt.Sprintf("%s is halted by %s: %s. Nothing in its scope goes on until an operator lifts halt %s; wait, and do not try another way.",
		upper(h.String()), document.Quote(h.By), h.Reason, h.ID)
}

func upper(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// Refusal returns the refusal of a request in the scope of the halt.
func (h *Halt) Refusal() error {
	e := fault.New(fault.Halted, "%s", h.Why())
	e.Metadata = map[string]string{"halt_id": h.ID}
	return e
}

// Subject is a request as halts see it.
type Subject struct {
	Namespace string
	Principal auth.Principal
	// Sessions are those of the request and all above them, by names and ids.
	Sessions []string
	// Agents are those that the sessions were started from.
	Agents []string
	// Workflows are those of the run and of all runs that have invoked it.
	Workflows []string
	// Humans are those on whose behalf the request is, besides that of the principal. It may have nil elements.
	Humans []*auth.Human
}

// In adds a session with all above it, the agents that they were started from, and the human of the session.
func (s *Subject) In(place *sessionread.Place) {
	s.Sessions = append(s.Sessions, place.Names...)
	for _, agent := range place.Agents {
		s.Agents = append(s.Agents, agent.Name)
	}
	s.Humans = append(s.Humans, place.Human.Read())
}

// OfSessions are the kinds for which the sessions of a subject must be read.
func OfSessions() []Kind { return []Kind{Session, Agent, Human, Group} }

// covers reports whether a request is in the scope of the halt. A name is in it in any case of letters: in
// doubt a halt holds.
func (h *Halt) covers(s *Subject) bool {
	if h.Kind == All {
		return true
	}
	if h.Namespace != s.Namespace {
		return false
	}
	is := func(name string) bool { return name != "" && strings.EqualFold(name, h.Name) }
	of := func(is func(*auth.Human) bool) bool {
		return slices.ContainsFunc(append(slices.Clone(s.Humans), s.Principal.Human), func(human *auth.Human) bool { return human != nil && is(human) })
	}
	switch h.Kind {
	case Namespace:
		return true
	case Session:
		return slices.ContainsFunc(s.Sessions, func(name string) bool { return session.Alike(name) == session.Alike(h.Name) })
	case Workflow:
		return slices.ContainsFunc(s.Workflows, is)
	case Principal:
		return is(s.Principal.Name)
	case Person:
		return is(s.Principal.Person)
	case Human:
		return is(s.Principal.Person) || of(func(human *auth.Human) bool { return is(human.Name) })
	case Group:
		return of(func(human *auth.Human) bool { return !human.GroupsKnown || slices.ContainsFunc(human.Groups, is) })
	case Agent:
		return slices.ContainsFunc(s.Agents, is)
	default: // of a later version of Interlock
		return true
	}
}
