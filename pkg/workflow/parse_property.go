package workflow

import (
	"maps"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/toolname"
)

// CodeUnknownEvent says that no state has such an event, so that the property has no meaning.
const CodeUnknownEvent document.Code = "UNKNOWN_EVENT"

// maxProperties bounds the properties of one definition.
const maxProperties = 1_000

// maxCalls is the highest at_most: a larger one bounds no real run.
const maxCalls = 10_000

// properties reads the properties of all runs of the definition.
func (r *reader) properties(f document.Fields) {
	all, ok := f.Object("properties")
	if !ok {
		return
	}
	if n := all.Value.Len(); n > maxProperties {
		r.report.Errorf(all.At, document.CodeTooMany, "there are %d properties, the limit is %d", n, maxProperties)
		return
	}
	all.SameNames("property")
	p := propertyReader{report: &r.report, def: &r.def}
	for name, v := range all.Value.Members() {
		if property, ok := p.property(name, v, all.At.Key(name)); ok {
			r.def.Properties = append(r.def.Properties, property)
		}
	}
}

// ParseProperties reads properties from a document of their own: an object of them, by
// their names, or one with such an object as "properties". They are held to the
// definition that they are about.
func ParseProperties(v document.Value, def *Definition) ([]Property, document.Problems) {
	var report document.Report
	p := propertyReader{report: &report, def: def}
	var all []Property
	f, ok := report.Object(v, nil, "a list of properties")
	if ok && f.Has("properties") {
		f.Known("a file of properties", "properties", "$schema", "$comment", "description")
		f, ok = f.Object("properties")
	}
	if ok {
		f.SameNames("property")
		for name, v := range f.Value.Members() {
			if property, ok := p.property(name, v, f.At.Key(name)); ok {
				all = append(all, property)
			}
		}
	}
	problems := report.Problems()
	if problems.HasErrors() {
		return nil, problems
	}
	return all, problems
}

// propertyReader reads properties of a definition whose states and guards are known.
type propertyReader struct {
	report *document.Report
	def    *Definition
}

// propertyKinds are the keys of a property that say its kind, and those next to them.
var (
	propertyKinds  = []string{"never", "before", "always_possible", "at_most", "can_be_decided", "ends_without_agent"}
	propertyFields = append(slices.Clone(propertyKinds), "unless", "always", "tool", "command", "when", "people",
		"while", "description")
	propertyRule = document.NameRule{What: "property", Prefix: branchDone, Spaces: true}
)

func (r *propertyReader) property(name string, v document.Value, at *document.Path) (Property, bool) {
	r.report.CheckName(name, at, propertyRule)
	p := Property{Name: name}
	f, ok := r.report.Object(v, at, "a property")
	if !ok {
		return p, false
	}
	f.Known("a property", propertyFields...)
	f.Str("description")
	var kinds []string
	for _, kind := range propertyKinds {
		if f.Has(kind) {
			kinds = append(kinds, kind)
		}
	}
	switch len(kinds) {
	case 1:
		p.Kind = PropertyKind(kinds[0])
	case 0:
		r.report.Errorf(at, document.CodeRequired, "it is empty: add one of %s", strings.Join(propertyKinds, ", "))
		return p, false
	default:
		r.report.Errorf(at, document.CodeConflict, "a property says one thing, this one has %s; write a property for each",
			strings.Join(kinds, " and "))
		return p, false
	}
	r.next(f, &p)
	if scope, ok := f.Enum("while", "running"); ok {
		p.Running = scope == "running"
	}
	switch p.Kind {
	case Never, Before:
		subject, ok := f.Object(string(p.Kind))
		if !ok {
			return p, false
		}
		p.Subject = r.subject(subject, true)
		return p, r.condition(f, &p)
	case AtMost:
		p.Most, _ = f.Integer("at_most", 0)
		if p.Most > maxCalls {
			r.report.Errorf(at.Key("at_most"), document.CodeRange, "%d is more than the limit of %d", p.Most, maxCalls)
		}
		f.Require("tool")
		p.Subject = r.subject(f, false)
	case AlwaysPossible:
		r.alwaysPossible(f, &p)
	case CanBeDecided:
		r.isTrue(f, "can_be_decided")
		r.people(f, &p)
	case EndsWithoutAgent:
		r.isTrue(f, "ends_without_agent")
	}
	return p, true
}

// isTrue refuses a property that is written as false.
func (r *propertyReader) isTrue(f document.Fields, name string) {
	if !f.Bool(name) && f.Has(name) {
		r.report.Errorf(f.At.Key(name), document.CodeEnum, "write true: a property is something that holds")
	}
}

// next refuses the keys that belong to another kind: every written key has an effect.
func (r *propertyReader) next(f document.Fields, p *Property) {
	belongs := map[string][]PropertyKind{
		"unless": {Never}, "always": {Before}, "tool": {AtMost}, "command": {AtMost}, "when": {AtMost}, "people": {CanBeDecided},
		"while": {Never, Before, AtMost},
	}
	for _, key := range []string{"unless", "always", "tool", "command", "when", "people", "while"} {
		if f.Has(key) && !slices.Contains(belongs[key], p.Kind) {
			r.report.Errorf(f.At.Key(key), document.CodeConflict, "%q does not go with %q; remove one", key, p.Kind)
		}
	}
}

// toolNames know the tools that the definition declares or lists.
func (r *propertyReader) toolNames() toolname.Names {
	declared := append(slices.Clone(r.def.Meta.Tools), slices.Collect(maps.Keys(r.def.Meta.EditTools))...)
	for i := range r.def.States {
		declared = append(append(declared, r.def.States[i].AllowedTools...), r.def.States[i].DisallowedTools...)
	}
	return toolname.With(declared)
}

func (r *propertyReader) subject(f document.Fields, alone bool) (s Subject) {
	if alone {
		f.Known("what a property is about", "state", "event", "tool", "command", "when")
		if state, ok := f.Text("state"); ok {
			s.State = r.state(state, f.At.Key("state"))
		}
		if event, ok := f.Text("event"); ok {
			s.Event = r.event(event, f.At.Key("event"))
		}
	}
	if tool, ok := f.Text("tool"); ok {
		s.Tool = tool
		if i := strings.IndexByte(tool, '*'); i >= 0 && i < len(tool)-1 {
			r.report.Errorf(f.At.Key("tool"), CodeGlob, "a * is allowed only at the end, where it matches any rest")
		}
		// A property of a missing tool is true of every run.
		if fault := r.toolNames().Fault(tool, toolname.Grants); fault != "" {
			r.report.Errorf(f.At.Key("tool"), toolname.CodeUnknownTool, "%s", fault)
		}
	}
	if command, ok := f.Text("command"); ok {
		s.Command = command
		if shell.IsConfinement(command) || shell.NewPattern(command).Empty() {
			r.report.Errorf(f.At.Key("command"), CodeCommand, "%s is not one plain command; write its first words, or a pattern of * ? [a-z]", document.Quote(command))
		}
	}
	if v, ok := f.Value.Get("when"); ok {
		s.When = condition.Read(r.report, v, f.At.Key("when"), condition.Use{})
		if !f.Has("tool") && !f.Has("command") {
			r.report.Errorf(f.At.Key("when"), document.CodeConflict, "\"when\" narrows the calls of a \"tool\" or \"command\"; name one")
		}
	}
	if !alone {
		return s
	}
	given := 0
	for _, has := range []bool{f.Has("state"), f.Has("event"), f.Has("tool") || f.Has("command")} {
		if has {
			given++
		}
	}
	switch {
	case given == 0:
		r.report.Errorf(f.At, document.CodeRequired, `name its subject: a "state", an "event", or a "tool" with or without a "command"`)
	case given > 1:
		r.report.Errorf(f.At, document.CodeConflict, "it is about one thing: a state, an event or a tool call; write a property for each")
	}
	return s
}

// condition reads unless and always.
func (r *propertyReader) condition(f document.Fields, p *Property) bool {
	key := "unless"
	if p.Kind == Before {
		key = "always"
		f.Require(key)
	}
	c, ok := f.Object(key)
	if !ok {
		return p.Kind == Never && !f.Has(key)
	}
	p.Condition = &Condition{}
	r.oneCondition(c, p.Condition, true)
	return true
}

// oneCondition reads one of the things that a condition can be, or any of several.
func (r *propertyReader) oneCondition(c document.Fields, into *Condition, outer bool) {
	c.Known("a condition", "evidence", "event", "state", "approval", "any")
	if name, ok := c.Text("evidence"); ok {
		into.Evidence = name
		r.evidence(name, c.At.Key("evidence"))
	}
	if event, ok := c.Text("event"); ok {
		into.Event = r.event(event, c.At.Key("event"))
	}
	if state, ok := c.Text("state"); ok {
		into.State = r.state(state, c.At.Key("state"))
	}
	if c.Has("approval") {
		into.Approval = r.approval(c)
	}
	if c.Has("any") {
		r.anyCondition(c, into, outer)
	}
	if c.Value.Len() != 1 {
		r.report.Errorf(c.At, document.CodeConflict, "a condition is one of evidence, event, state, approval and any; write a property for each")
	}
}

func (r *propertyReader) anyCondition(c document.Fields, into *Condition, outer bool) {
	at := c.At.Key("any")
	if !outer {
		r.report.Errorf(at, document.CodeConflict, "an \"any\" holds conditions, and no further \"any\"; write them in one list")
		return
	}
	list, ok := c.List("any", maxItems)
	if ok && list.Len() == 0 {
		r.report.Errorf(at, document.CodeEmpty, "the list is empty, so the condition is never met; add conditions")
	}
	for i, v := range list.Elements() {
		if f, ok := r.report.Object(v, at.At(i), "a condition"); ok {
			var one Condition
			r.oneCondition(f, &one, false)
			into.Any = append(into.Any, one)
		}
	}
}

func (r *propertyReader) approval(c document.Fields) *ApprovalCondition {
	a := &ApprovalCondition{}
	if v, _ := c.Value.Get("approval"); v.Kind() == document.Bool && v.Bool() {
		return a
	}
	f, ok := c.Object("approval")
	if !ok {
		return a
	}
	f.Known("an approval", "by", "state", "event")
	a.By, _ = f.Text("by")
	if state, ok := f.Text("state"); ok {
		a.State = r.state(state, f.At.Key("state"))
	}
	if event, ok := f.Text("event"); ok {
		a.Event = r.event(event, f.At.Key("event"))
	}
	return a
}

func (r *propertyReader) alwaysPossible(f document.Fields, p *Property) {
	v, _ := f.Value.Get("always_possible")
	if v.Kind() == document.Object {
		target, _ := f.Object("always_possible")
		target.Known("always_possible", "state")
		target.Require("state")
		if state, ok := target.Text("state"); ok {
			p.Target = r.state(state, target.At.Key("state"))
		}
		return
	}
	if !f.Bool("always_possible") && v.Kind() == document.Bool {
		r.report.Errorf(f.At.Key("always_possible"), document.CodeEnum,
			`write true, or {"state": ...}: a property is something that holds`)
	}
}

func (r *propertyReader) people(f document.Fields, p *Property) {
	people, ok := f.Object("people")
	if !ok {
		return
	}
	p.People = make(map[string][]string)
	for role := range people.Value.Members() {
		names, _ := people.Strings(role, maxItems)
		p.People[role] = document.Texts(names)
	}
}

func (r *propertyReader) state(name string, at *document.Path) string {
	if slices.ContainsFunc(r.def.States, func(s State) bool { return s.Name == name }) {
		return name
	}
	names := func(yield func(string) bool) {
		for i := range r.def.States {
			if !yield(r.def.States[i].Name) {
				return
			}
		}
	}
	hint := r.report.DidYouMean(name, names)
	if hint == "" {
		hint = "; name one of its states"
	}
	r.report.Errorf(at, CodeUnknownState, "no state %s%s", document.Quote(name), hint)
	return name
}

// event finds an event that some state defines, or that any word is where a state
// has safe_next.
func (r *propertyReader) event(name string, at *document.Path) string {
	names := func(yield func(string) bool) {
		for i := range r.def.States {
			for j := range r.def.States[i].On {
				if !yield(r.def.States[i].On[j].Event) {
					return
				}
			}
		}
	}
	for known := range names {
		if known == name {
			return name
		}
	}
	hint := r.report.DidYouMean(name, names)
	if hint == "" {
		hint = "; name an event that a state defines"
	}
	r.report.Errorf(at, CodeUnknownEvent, "no event %s%s", document.Quote(name), hint)
	return name
}

// evidence finds the declared evidence.
func (r *propertyReader) evidence(name string, at *document.Path) {
	names := func(yield func(string) bool) {
		for i := range r.def.Evidence {
			if !yield(r.def.Evidence[i].Name) {
				return
			}
		}
	}
	for known := range names {
		if known == name {
			return
		}
	}
	hint := r.report.DidYouMean(name, names)
	if hint == "" {
		hint = "; declare it under \"evidence\""
	}
	r.report.Errorf(at, CodeUnknownEvidence, "no evidence %s%s", document.Quote(name), hint)
}
