package report

import (
	"fmt"
	"slices"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/verify/model"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// CertificateFormat is the form of certificates that this version writes and reads.
const CertificateFormat = "interlock-verify/1"

// Certificate states proofs about texts. It is not proof by itself: Confirm explores
// again and compares.
type Certificate struct {
	Format string `json:"format"`
	// Version of the program that explored.
	Version string `json:"version"`
	// Workflow and the digests of its definition, of the workflows that it may invoke and
	// of the policies: SHA-256 of their canonical JSON.
	Workflow   string   `json:"workflow"`
	Definition string   `json:"definition"`
	Invoked    []string `json:"invoked,omitempty"`
	Policies   []string `json:"policies,omitempty"`
	MaxStates  int      `json:"max_states"`

	Properties []Certified `json:"properties"`
}

// Certified is one property.
type Certified struct {
	Name string `json:"name"`
	// Property is a digest of its text.
	Property string  `json:"property"`
	Verdict  Verdict `json:"verdict"`
	States   int     `json:"states"`
	// Explored is a digest of the states, independent of the order of exploration.
	Explored string `json:"explored"`
}

// Certify writes down a report of an exploration of at most maxStates states for each property.
func Certify(m *model.Model, r *Report, maxStates int, version string) Certificate {
	c := Certificate{
		Format: CertificateFormat, Version: version, Workflow: r.Workflow, Definition: document.Digest(m.Main.Text),
		MaxStates: maxStates,
	}
	for i := range m.Others {
		c.Invoked = append(c.Invoked, document.Digest(m.Others[i].Text))
	}
	for i := range m.Policies {
		c.Policies = append(c.Policies, document.Digest(m.Policies[i].Text))
	}
	slices.Sort(c.Invoked)
	slices.Sort(c.Policies)
	for i := range r.Results {
		result := &r.Results[i]
		c.Properties = append(c.Properties, Certified{
			result.Property.Name, DigestOf(&result.Property), result.Verdict, result.States, result.Explored,
		})
	}
	return c
}

// DigestOf returns a digest of a property.
func DigestOf(p *workflow.Property) string {
	people := make([]document.Member, 0, len(p.People))
	for _, role := range slices.Sorted(keys(p.People)) {
		people = append(people, member(role, text(fmt.Sprintf("%q", p.People[role]))))
	}
	members := []document.Member{
		member("kind", text(string(p.Kind))), member("state", text(p.Subject.State)), member("event", text(p.Subject.Event)),
		member("tool", text(p.Subject.Tool)), member("command", text(p.Subject.Command)), member("most",
			text(fmt.Sprint(p.Most))),
		member("target", text(p.Target)), member("running", document.BoolValue(p.Running)), member("people",
			record(people...)),
		member("condition", conditionOf(p.Condition)),
	}
	if p.Subject.When != nil {
		members = append(members, member("when", p.Subject.When.Value()))
	}
	return document.Digest(record(members...))
}

func conditionOf(c *workflow.Condition) document.Value {
	if c == nil {
		return document.NullValue()
	}
	approval := document.NullValue()
	if a := c.Approval; a != nil {
		approval = record(member("by", text(a.By)), member("state", text(a.State)), member("event", text(a.Event)))
	}
	var any []document.Value
	for i := range c.Any {
		any = append(any, conditionOf(&c.Any[i]))
	}
	return record(
		member("evidence", text(c.Evidence)), member("event", text(c.Event)), member("state", text(c.State)),
		member("approval", approval), member("any", document.ArrayValue(any)),
	)
}

func keys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name := range m {
			if !yield(name) {
				return
			}
		}
	}
}

// OtherTexts returns why a certificate is not about these texts; none when it is.
func (c *Certificate) OtherTexts(m *model.Model) []string {
	if c.Format != CertificateFormat {
		return []string{fmt.Sprintf("its format is %s, and this version reads %s", document.Quote(c.Format), document.Quote(CertificateFormat))}
	}
	now := Certify(m, &Report{Workflow: m.Main.Machine.Name()}, c.MaxStates, c.Version)
	switch {
	case now.Workflow != c.Workflow || now.Definition != c.Definition:
		return []string{"the definition is another one"}
	case !slices.Equal(now.Invoked, c.Invoked):
		return []string{"the workflows that may be invoked are others"}
	case !slices.Equal(now.Policies, c.Policies):
		return []string{"the policies are others"}
	default:
		return nil
	}
}

// Differences returns the properties that a later certificate does not confirm.
func (c *Certificate) Differences(now *Certificate) []string {
	var differs []string
	say := func(format string, args ...any) { differs = append(differs, fmt.Sprintf(format, args...)) }
	for _, was := range c.Properties {
		i := slices.IndexFunc(now.Properties, func(p Certified) bool { return p.Name == was.Name })
		switch {
		case i < 0:
			say("property %s is not there", document.Quote(was.Name))
		case now.Properties[i].Property != was.Property:
			say("property %s says something else", document.Quote(was.Name))
		case now.Properties[i].Verdict != was.Verdict:
			say("property %s is %s, not %s", document.Quote(was.Name), now.Properties[i].Verdict, was.Verdict)
		case now.Properties[i] != was:
			say("property %s was proved on other states: %d, not %d", document.Quote(was.Name), now.Properties[i].States,
				was.States)
		}
	}
	for _, p := range now.Properties {
		if !slices.ContainsFunc(c.Properties, func(was Certified) bool { return was.Name == p.Name }) {
			say("property %s is not in the certificate", document.Quote(p.Name))
		}
	}
	return differs
}
