package scenario

import (
	"strconv"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/rules"
)

// mostNames bounds lists of groups and of values of an attribute.
const mostNames = 1024

// who is the caller of a case, as far as its given names it. What it leaves out is not known.
type who struct {
	// subject has the facts about the caller alone.
	subject facet.Subject
	// human is the account of the human; empty where that is not known.
	human string
	// loggedIn is how long before the case begins the human has logged in; negative where that is not known.
	loggedIn time.Duration
}

// readWho reads human, caller, agent and labels of a given.
func readWho(given document.Fields) who {
	w := who{subject: facet.Subject{CallerName: actor, SessionDepth: -1, SessionRoot: session}, loggedIn: -1}
	w.readHuman(given)
	if c, ok := given.Object("caller"); ok {
		c.Known("a caller", "name", "role", "namespace", "token", "via", "bound")
		if name, ok := c.Text("name"); ok {
			w.subject.CallerName = name
		}
		w.subject.CallerRole, _ = c.Enum("role", "agent", "operator", "approver", "observer", "runtime", "service")
		w.subject.CallerNamespace, _ = c.Text("namespace")
		w.subject.CallerToken, _ = c.Enum("token", "static", "session", "oidc", "person")
		w.subject.CallerVia, _ = c.Enum("via", "hook", "mcp", "rest", "grpc", "authzen", "ext_authz")
		if c.Has("bound") {
			w.subject.CallerBound = strconv.FormatBool(c.Bool("bound"))
		}
	}
	if a, ok := given.Object("agent"); ok {
		a.Known("an agent", "name", "version")
		a.Require("name")
		w.subject.Agent, _ = a.Text("name")
		w.subject.AgentVersion, _ = a.Integer("version", 1)
	}
	if labels, ok := given.Object("labels"); ok {
		w.subject.SessionLabels = map[string]string{}
		for name := range labels.Value.Members() {
			if text, ok := labels.Str(name); ok {
				w.subject.SessionLabels[name] = text
			}
		}
	}
	return w
}

// readHuman reads the human of a given.
func (w *who) readHuman(given document.Fields) {
	f, ok := given.Object("human")
	if !ok {
		return
	}
	f.Known("a human", "name", "issuer", "source", "groups", "attributes", "authenticated_age")
	f.Require("name")
	h := &facet.Human{Age: -1}
	h.Name, _ = f.Text("name")
	h.Issuer, _ = f.Text("issuer")
	h.Source = byOperator
	if h.Issuer != "" {
		h.Source = byIssuer
	}
	if source, ok := f.Enum("source", "claimed", "gateway", byIssuer, byOperator); ok {
		h.Source = source
	}
	if groups, ok := f.Strings("groups", mostNames); ok {
		h.GroupsKnown, h.Groups = true, document.Texts(groups)
	}
	if attributes, ok := f.Object("attributes"); ok {
		h.Attributes = map[string][]string{}
		for name, value := range attributes.Value.Members() {
			h.Attributes[name] = attributeOf(attributes, name, value)
		}
	}
	if age, ok := f.Integer("authenticated_age", 0); ok {
		w.loggedIn = time.Duration(min(age, int64(mostAge/time.Second))) * time.Second
	}
	if h.Source == byIssuer || h.Source == byOperator {
		w.subject.Human, w.human = h, rules.HumanAccount(h.Name, h.Issuer)
		return
	}
	w.subject.WhyHuman = "no issuer and no operator vouches for the human of the case"
}

// mostAge bounds how long ago a human has logged in.
const mostAge = 100 * 365 * 24 * time.Hour

// Sources whose facts about a human count in conditions, as auth.Source has them.
const byIssuer, byOperator = "issuer", "operator"

// attributeOf returns an attribute as texts: of a list, each element.
func attributeOf(f document.Fields, name string, value document.Value) []string {
	switch value.Kind() {
	case document.String:
		return []string{value.Str()}
	case document.Number, document.Bool:
		return []string{string(value.AppendJSON(nil))}
	default:
		items, _ := f.Strings(name, mostNames)
		return document.Texts(items)
	}
}

// at returns the facts about the caller at a time of the case.
func (w *who) at(began, now time.Time, depth int) facet.Subject {
	s := w.subject
	s.SessionDepth = depth
	if s.Human != nil && w.loggedIn >= 0 {
		h := *s.Human
		h.Age = w.loggedIn + now.Sub(began)
		s.Human = &h
	}
	return s
}
