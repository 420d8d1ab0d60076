// Package importer translates the policies of other products into policies of Interlock, and
// lists the parts that it does not translate.
//
// It is pure: text in, a policy out. A translation never allows more than its source: a
// restriction that cannot be said exactly denies every call that it may be about, and a
// permission that cannot be said exactly is left out.
package importer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/rules"
)

// The products whose policies are read.
const (
	ClaudeCode = "claude-code"
	Intercept  = "intercept"
	Cedar      = "cedar"
)

// Options has the facts that a source does not have in its text.
type Options struct {
	// Server is the name of the MCP server that plain names of tools belong to.
	Server string
	// Workspace and Home are absolute folders, with / between their parts; empty where they are
	// not known.
	Workspace, Home string
	// User is true for settings of a person, whose paths from the root are not those of the
	// workspace.
	User bool
	// Everyone reads a scope on the type of a Cedar principal as one on every caller.
	Everyone bool
}

// Result is a policy, and how it differs from its source.
type Result struct {
	Policy document.Value
	// Left are the parts that are not translated, restrictions first. The calls that such a
	// restriction may be about are denied.
	Left []Note
	// Stricter are the parts that deny more than their source.
	Stricter []Note
}

// Note describes the translation of one part of a source.
type Note struct {
	// Line counts from 1; 0 is unknown.
	Line int
	// Text is the part, as it was written or named.
	Text string
	// Why explains it, without a full stop.
	Why string
	// Restricts is true for a part that forbids or asks.
	Restricts bool
}

// Translate reads a policy of a product.
func Translate(from string, src []byte, options Options) (Result, error) {
	server := one("capability", text("mcp:"+cmp.Or(options.Server, "none")))
	if strings.ContainsAny(options.Server, ":*") || check(deny, server, clause{}) != nil {
		return Result{}, fmt.Errorf("%s is not the name of an MCP server", document.Quote(options.Server))
	}
	switch from {
	case ClaudeCode:
		return claudeCode(src, options)
	case Intercept:
		return intercept(src, options)
	case Cedar:
		return cedar(src, options)
	default:
		return Result{}, fmt.Errorf("%s is not a product whose policies are read; name claude-code, intercept or cedar", document.Quote(from))
	}
}

// The lists of a policy.
const (
	deny  = "deny"
	ask   = "ask"
	allow = "allow"
)

// draft is a policy in the making.
type draft struct {
	description    string
	denies         bool // what no rule matches
	rules          map[string][]document.Value
	left, stricter []Note
}

func newDraft(description string) *draft {
	return &draft{description: description, rules: map[string][]document.Value{}}
}

// clause is when and unless of a rule; the zero Value is none.
type clause struct{ when, unless document.Value }

// add puts a rule into a list for each capability, or returns why it is not one. It takes all or
// none.
func (d *draft) add(list string, capabilities []string, c clause, more ...document.Member) error {
	if len(capabilities) == 0 {
		return errors.New("it names no tool")
	}
	var made []document.Value
	for _, capability := range capabilities {
		members := append([]document.Member{{Name: "capability", Value: text(capability)}}, more...)
		if err := check(list, object(members...), c); err != nil {
			return err
		}
		if !c.when.IsZero() {
			members = append(members, document.Member{Name: "when", Value: c.when})
		}
		if !c.unless.IsZero() {
			members = append(members, document.Member{Name: "unless", Value: c.unless})
		}
		made = append(made, object(members...))
	}
	for _, rule := range made {
		if !slices.ContainsFunc(d.rules[list], func(other document.Value) bool { return document.Equal(other, rule) }) {
			d.rules[list] = append(d.rules[list], rule)
		}
	}
	return nil
}

// check returns the first error of a rule as a policy would have it.
func check(list string, rule document.Value, c clause) error {
	policy := object(field("role", text("agent")), field(list, document.ArrayValue([]document.Value{rule})))
	_, problems := rules.ParsePolicyValue(policy)
	var r document.Report
	stance := condition.Restricts
	if list == allow {
		stance = condition.Allows
	}
	if !c.when.IsZero() {
		condition.Read(&r, c.when, nil, condition.Use{Stance: stance})
	}
	if !c.unless.IsZero() {
		condition.Read(&r, c.unless, nil, condition.Use{Stance: stance.Opposite()})
	}
	for _, p := range slices.Concat(problems, r.Problems()) {
		if p.Severity == document.SeverityError {
			return errors.New(p.Message)
		}
	}
	return nil
}

// restrict adds a rule of deny or ask. One that cannot be said denies its capabilities as a
// whole.
func (d *draft) restrict(list string, n Note, capabilities []string, c clause) {
	if err := d.add(list, capabilities, c); err != nil {
		n.Why = err.Error()
		d.refuse(n, capabilities)
	}
}

// refuse lists a restriction that is not translated and denies its capabilities.
func (d *draft) refuse(n Note, capabilities []string) {
	n.Restricts = true
	var denied []string
	for _, capability := range capabilities {
		if d.add(deny, []string{capability}, clause{}) == nil {
			denied = append(denied, capability)
		}
	}
	if len(denied) > 0 {
		n.Why += "; until you write it by hand, every call of " + strings.Join(denied, ", ") + " is denied"
	}
	d.left = append(d.left, n)
}

// skip lists a part that would allow something, and is not translated.
func (d *draft) skip(n Note) { d.left = append(d.left, n) }

// widen lists a part that denies more than its source, once for one reason.
func (d *draft) widen(n Note) {
	if !slices.ContainsFunc(d.stricter, func(other Note) bool { return other.Why == n.Why }) {
		d.stricter = append(d.stricter, n)
	}
}

// result returns the policy with its notes in order.
func (d *draft) result() (Result, error) {
	members := []document.Member{field("role", text("agent")), field("description", text(d.description))}
	if d.denies {
		members = append(members, field("default", text(deny)))
	}
	for _, list := range []string{deny, ask, allow} {
		if len(d.rules[list]) > 0 {
			members = append(members, field(list, document.ArrayValue(d.rules[list])))
		}
	}
	slices.SortStableFunc(d.left, func(a, b Note) int {
		if a.Restricts != b.Restricts {
			if a.Restricts {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Line, b.Line)
	})
	return Result{object(members...), d.left, d.stricter}, nil
}

// places returns a function that finds the lines of a JSON or YAML text by pointer.
func places(src []byte, isYAML bool) func(pointer string) int {
	return func(pointer string) int {
		return document.Places(src, isYAML, document.Problems{{Pointer: pointer}})[0].Line
	}
}

func field(name string, v document.Value) document.Member {
	return document.Member{Name: name, Value: v}
}

func object(members ...document.Member) document.Value { return document.ObjectValue(members) }

func one(key string, v document.Value) document.Value { return object(field(key, v)) }

func text(s string) document.Value { return document.StringValue(s) }

func texts(list []string) document.Value {
	values := make([]document.Value, len(list))
	for i, s := range list {
		values[i] = text(s)
	}
	return document.ArrayValue(values)
}

// join returns conditions under all or any; one stands alone.
func join(key string, conditions []document.Value) document.Value {
	if len(conditions) == 1 {
		return conditions[0]
	}
	return one(key, document.ArrayValue(conditions))
}

func anyOf(conditions ...document.Value) document.Value { return join("any", conditions) }
func allOf(conditions ...document.Value) document.Value { return join("all", conditions) }
func not(condition document.Value) document.Value       { return one("not", condition) }

// clipped returns a text short enough for a list.
func clipped(s string) string {
	const longest = 120
	s = strings.Join(strings.Fields(s), " ")
	if runes := []rune(s); len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return s
}
