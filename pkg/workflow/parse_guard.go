package workflow

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
)

// maxGuardDepth bounds how deep all, any and not nest.
const maxGuardDepth = 16

// guardOperators are the operators of guards (S2.5), in the order that messages list them.
var guardOperators = []string{"eq", "neq", "gt", "gte", "lt", "lte", "in", "contains", "exists", "not_exists"}

// operatorSynonyms map other spellings to ours.
var operatorSynonyms = map[string]string{
	"=": "eq", "==": "eq", "===": "eq", "equals": "eq", "equal": "eq", "is": "eq", "!=": "neq", "!==": "neq", "<>": "neq", "ne": "neq",
	"not_eq": "neq", ">": "gt", ">=": "gte", "ge": "gte", "<": "lt", "<=": "lte", "le": "lte", "one_of": "in", "includes": "contains",
	"has": "exists", "missing": "not_exists", "notexists": "not_exists", "not_in": "neq",
}

func (r guardSection) guardDefinitions(f document.Fields) {
	r.guards = make(map[string]bool)
	guards, ok := f.Object("guards")
	if !ok {
		return
	}
	if n := guards.Value.Len(); n > maxGuards {
		r.report.Errorf(guards.At, document.CodeTooMany, "there are %d guards, the limit is %d", n, maxGuards)
		return
	}
	guards.SameNames("guard")
	context, _ := f.Value.Get("context")
	for name, v := range guards.Value.Members() {
		at := guards.At.Key(name)
		r.evidencePart().checkName(name, at, guardRule)
		r.guards[name] = true
		g := Guard{Name: name}
		if fields, ok := r.report.Object(v, at, "a guard"); ok {
			r.guard(fields, &g, context)
			(&negated{r.reader, context}).walk(&g, at, false, nil)
		}
		r.def.Guards = append(r.def.Guards, g)
	}
}

func (r guardSection) guardHint(name string) string {
	names := func(yield func(string) bool) {
		for _, g := range r.def.Guards {
			if !yield(g.Name) {
				return
			}
		}
	}
	if hint := r.report.DidYouMean(name, names); hint != "" {
		return hint
	}
	return "; add it to \"guards\", or name another"
}

// guard reads a comparison, an evidence, or one of all, any and not (S14.2).
func (r guardSection) guard(f document.Fields, g *Guard, context document.Value) {
	r.guardAt(f, g, context, 1)
}

func (r guardSection) guardAt(f document.Fields, g *Guard, context document.Value, depth int) {
	if depth > maxGuardDepth {
		r.report.Errorf(f.At, document.CodeTooDeep, "guards nest at most %d levels deep; split it into several", maxGuardDepth)
		return
	}
	if shortForm(f.Value) {
		g.When = r.condition(f)
		return
	}
	var forms []string
	for _, form := range []string{"evidence", "all", "any", "not"} {
		if f.Has(form) {
			forms = append(forms, form)
		}
	}
	if len(forms) == 0 {
		f.Known("a guard", "field", "op", "value", "source", "evidence", "all", "any", "not")
		f.Require("field", "op")
		r.fieldGuard(f, g, context)
		return
	}
	if len(forms) > 1 || f.Has("field") {
		r.report.Errorf(f.At, document.CodeConflict, "a guard has one of \"field\", \"evidence\", \"all\", \"any\" and \"not\"; keep one, and join several with \"all\"")
		return
	}
	f.Known("a guard of this form", forms[0])
	switch forms[0] {
	case "evidence":
		if name, ok := f.Str("evidence"); ok {
			g.Evidence = name
			if _, known := r.evidence[name]; !known {
				r.report.Errorf(f.At.Key("evidence"), CodeUnknownEvidence, "no evidence %s%s", document.Quote(name), r.evidencePart().evidenceHint(name))
			} else {
				r.evidence[name] = true
			}
		}
	case "all":
		g.All = r.guardList(f, "all", context, depth)
	case "any":
		g.Any = r.guardList(f, "any", context, depth)
	case "not":
		if inner, ok := f.Object("not"); ok {
			g.Not = &Guard{}
			r.guardAt(inner, g.Not, context, depth+1)
		}
	}
}

// shortForm reports a guard that is a condition: a key of it is a pointer.
func shortForm(v document.Value) bool {
	for name := range v.Members() {
		if strings.HasPrefix(name, "/") {
			return true
		}
	}
	return false
}

// condition reads a guard in the short form (S21.17).
func (r guardSection) condition(f document.Fields) *condition.Condition {
	if f.Has("field") || f.Has("evidence") || f.Has("source") {
		r.report.Errorf(f.At, document.CodeConflict, "a guard has pointers, or one of \"field\" and \"evidence\"; join both with \"all\": [{\"/coverage\": {\"gte\": 80}}, {\"evidence\": ...}]")
		return nil
	}
	when := condition.Read(&r.report, f.Value, f.At, condition.Use{Stance: condition.Allows, Context: true})
	for _, pointer := range when.Looks() {
		r.guardField(pointer, f.At)
	}
	return when
}

func (r guardSection) guardList(f document.Fields, name string, context document.Value, depth int) []Guard {
	list, ok := f.List(name, maxItems)
	if !ok {
		return nil
	}
	at := f.At.Key(name)
	if list.Len() == 0 {
		r.report.Errorf(at, document.CodeEmpty, "an empty list has no effect; add guards or remove it")
	}
	guards := make([]Guard, list.Len())
	for i, e := range list.Elements() {
		if inner, ok := r.report.Object(e, at.At(i), "a guard"); ok {
			r.guardAt(inner, &guards[i], context, depth+1)
		}
	}
	return guards
}

func (r guardSection) fieldGuard(f document.Fields, g *Guard, context document.Value) {
	if field, ok := f.Text("field"); ok {
		g.Field = field
		r.guardField(field, f.At.Key("field"))
	}
	if source, ok := f.Enum("source", evidence.Sources()...); ok {
		g.Source = evidence.Source(source)
	}
	r.comparison(f, g, context)
}

// comparison reads op and value.
func (r guardSection) comparison(f document.Fields, g *Guard, context document.Value) {
	g.Value, g.HasValue = f.Value.Get("value")
	op, ok := f.Str("op")
	if !ok {
		return
	}
	if !slices.Contains(guardOperators, op) {
		r.report.Errorf(f.At.Key("op"), CodeBadOperator, "no operator %s%s; operators: %s",
			document.Quote(op), r.operatorHint(op), strings.Join(guardOperators, ", "))
		return
	}
	g.Op = op
	r.operand(g, f.At.Key("value"), context)
}

func (r guardSection) operatorHint(op string) string {
	if ours, ok := operatorSynonyms[strings.ToLower(op)]; ok {
		return "; did you mean \"" + ours + "\"?"
	}
	return r.report.DidYouMean(op, slices.Values(guardOperators))
}

// guardField checks a top-level key, dotted path or JSON Pointer (S2.5).
func (r guardSection) guardField(field string, at *document.Path) {
	first := field
	if strings.HasPrefix(field, "/") {
		for segment := range strings.SplitSeq(field[1:], "/") {
			if _, ok := document.UnescapeSegment(segment); !ok {
				r.report.Errorf(at, document.CodeName, "%s is not a JSON Pointer; write ~0 for ~ and ~1 for /", document.Quote(field))
				return
			}
		}
		first, _, _ = strings.Cut(field[1:], "/")
	}
	switch {
	case strings.TrimSpace(field) == "":
		r.report.Errorf(at, document.CodeEmpty, "the field is blank; name a key of the context")
	case reservedKey(first):
		r.report.Errorf(at, document.CodeReserved, "a context cannot contain %s, because its first letter or name is reserved; choose another", document.Quote(first))
	}
}

// operand checks that the value fits the operator (S2.5).
func (r guardSection) operand(g *Guard, at *document.Path, context document.Value) {
	v := g.Value
	switch g.Op {
	case "exists", "not_exists":
		if g.HasValue {
			r.report.Warnf(at, document.CodeNoEffect, "%q takes no value; remove the value", g.Op)
		}
		return
	}
	if !g.HasValue {
		r.report.Errorf(at, document.CodeRequired, "%q needs a value; add it", g.Op)
		return
	}
	switch g.Op {
	case "in":
		r.listOperand(v, at)
	case "gt", "gte", "lt", "lte":
		r.orderOperand(g, at, context)
	}
}

func (r guardSection) listOperand(v document.Value, at *document.Path) {
	switch {
	case v.Kind() != document.Array:
		r.report.Errorf(at, CodeGuardValue, "\"in\" needs a list, not a %s; write [...]", v.Kind())
	case v.Len() == 0:
		r.report.Errorf(at, document.CodeEmpty, "the list is empty, so the guard never passes; add values")
	default:
		seen := make(map[string]bool, v.Len())
		for i, e := range v.Elements() {
			canonical := string(document.Canonical(e))
			if seen[canonical] {
				r.report.Warnf(at.At(i), document.CodeDuplicateItem, "it is already in the list; remove one")
			}
			seen[canonical] = true
		}
	}
}

// orderOperand checks the value of gt, gte, lt and lte: a number, or a string
// that is compared by code point. A string that reads as a number is a mistake,
// as is any string next to a context that holds a number: the guard would never
// pass.
func (r guardSection) orderOperand(g *Guard, at *document.Path, context document.Value) {
	switch g.Value.Kind() {
	case document.Number:
	case document.String:
		text := strings.TrimSpace(g.Value.Str())
		if initial, ok := context.Get(g.Field); ok && initial.Kind() == document.Number {
			r.report.Errorf(at, CodeGuardValue, "%q compares the number in %q with text and never passes; write a number", g.Op, g.Field)
		} else if text == "" || !document.NumberValue(text).IsZero() {
			r.report.Errorf(at, CodeGuardValue, "%q compares numbers with numbers; write %s without quotes", g.Op, document.Quote(text))
		}
	default:
		r.report.Errorf(at, CodeGuardValue, "%q needs a number, not a %s", g.Op, g.Value.Kind())
	}
}
