package model

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Values of a context that stand for any value that a caller may have set. They are
// distinct, because a join of branches compares earlier values with present ones.
var (
	FreeByAgent  = document.StringValue("\x00interlock: any value, by the agent")
	FreeByHuman  = document.StringValue("\x00interlock: any value, by a human")
	freeByResult = document.StringValue("\x00interlock: any value, by an invoked run")
)

// IsFree reports a value that stands for any.
func IsFree(v document.Value) bool {
	return v.Kind() == document.String && strings.HasPrefix(v.Str(), "\x00interlock: any value")
}

// ResultsKey is where the engine keeps the results of invoked runs.
const ResultsKey = "results"

// Bounds of the distinct values. Beyond them there is no decision.
const (
	mostSubsets    = 5   // operands of contains on one field
	mostOfField    = 512 // values of one field
	mostAssignment = 4096
)

// Vocabulary has the values that the guards of a workflow can distinguish: of every key
// that they read, values such that any other value is judged by each guard as one of them
// is.
type Vocabulary struct {
	Keys    []string
	Classes map[string][]document.Value
	// Optional are the keys that a run may lack: those that its definition does not set.
	Optional map[string]bool
	// Traced are the keys of which a guard asks where their values come from.
	Traced map[string]bool
	// reads are the keys that a guard reads, by its name.
	reads map[string][]string
	// Coarse says which fields have values that could not all be distinguished.
	Coarse []string
	Trees  map[string]*Tree
	guards []workflow.Guard
	parts  map[string]*Vocabulary
}

// Comparison is a comparison of a guard.
type Comparison struct {
	field string
	Op    condition.Operator
	Value document.Value
	From  evidence.Source
}

// ComparisonsOf visits the comparisons of a guard.
func ComparisonsOf(g *workflow.Guard, visit func(Comparison)) {
	switch {
	case g.Evidence != "":
	case g.Not != nil:
		ComparisonsOf(g.Not, visit)
	case len(g.All) > 0 || len(g.Any) > 0:
		for _, list := range [][]workflow.Guard{g.All, g.Any} {
			for i := range list {
				ComparisonsOf(&list[i], visit)
			}
		}
	case g.Field != "":
		visit(Comparison{g.Field, condition.Named(g.Op), g.Value, g.Source})
	}
}

// keysOf returns the top-level keys that a field may be found under.
func keysOf(field string) []string {
	path := workflow.FieldPath(field)
	if len(path) == 0 || path[0] == field {
		return []string{field}
	}
	return []string{field, path[0]}
}

// NewVocabulary returns the values that the guards of a workflow distinguish.
func NewVocabulary(m *workflow.Machine) *Vocabulary {
	return VocabularyOf(m.Definition().Guards, m.Definition().Context)
}

// of returns the part of a vocabulary that some guards need.
func (v *Vocabulary) of(guards []string) *Vocabulary {
	name := strings.Join(guards, "\x00")
	if part, ok := v.parts[name]; ok {
		return part
	}
	var some []workflow.Guard
	for _, g := range v.guards {
		if slices.Contains(guards, g.Name) {
			some = append(some, g)
		}
	}
	part := VocabularyOf(some, document.Value{})
	for _, key := range part.Keys {
		part.Optional[key] = v.Optional[key]
	}
	v.parts[name] = part
	return part
}

// VocabularyOf returns the values that guards distinguish; context has the keys that every run has.
func VocabularyOf(guards []workflow.Guard, context document.Value) *Vocabulary {
	v := &Vocabulary{
		Classes: map[string][]document.Value{}, Optional: map[string]bool{}, Traced: map[string]bool{},
		reads:  map[string][]string{},
		guards: guards, parts: map[string]*Vocabulary{},
	}
	trees := map[string]*Tree{}
	v.Trees = trees
	for i := range guards {
		name := guards[i].Name
		ComparisonsOf(&guards[i], func(l Comparison) {
			for _, key := range keysOf(l.field) {
				if trees[key] == nil {
					trees[key] = &Tree{}
					v.Keys = append(v.Keys, key)
				}
				path := workflow.FieldPath(l.field)
				if key == l.field {
					path = nil
				} else {
					path = path[1:]
				}
				trees[key].add(path, l)
				v.Traced[key] = v.Traced[key] || l.From.Meets(evidence.Observed)
				if !slices.Contains(v.reads[name], key) {
					v.reads[name] = append(v.reads[name], key)
				}
			}
		})
		shortOf(&guards[i], func(c condition.Comparison) {
			key := workflow.FieldPath(c.Looks())[0]
			if trees[key] == nil {
				trees[key] = &Tree{}
				v.Keys = append(v.Keys, key)
			}
			trees[key].addShort(key, c)
			if !slices.Contains(v.reads[name], key) {
				v.reads[name] = append(v.reads[name], key)
			}
		})
		slices.Sort(v.reads[name])
	}
	slices.Sort(v.Keys)
	for _, key := range v.Keys {
		_, set := context.Get(key)
		v.Optional[key] = !set
		values := trees[key].Values()
		v.Classes[key] = trees[key].distinct(values)
		if trees[key].vague() || len(values) >= mostOfField {
			v.Coarse = append(v.Coarse, key)
		}
	}
	return v
}

// Tracing reports that a guard asks where a value comes from.
func (v *Vocabulary) Tracing() bool {
	return slices.ContainsFunc(v.Keys, func(key string) bool { return v.Traced[key] })
}

// Restrict returns a context without unread keys.
func (v *Vocabulary) Restrict(context document.Value) document.Value {
	var kept []document.Member
	for _, key := range v.Keys {
		if value, ok := context.Get(key); ok {
			kept = append(kept, document.Member{Name: key, Value: value})
		}
	}
	return document.ObjectValue(kept)
}

// Anything returns data that sets every key to any value, but for those that it keeps.
func (v *Vocabulary) Anything(keep []string) document.Value {
	var members []document.Member
	for _, key := range v.Keys {
		if !slices.Contains(keep, key) {
			members = append(members, document.Member{Name: key, Value: FreeByAgent})
		}
	}
	return document.ObjectValue(members)
}

// Assignment is a key with the value that is taken for it; a missing one is not there. of
// distinguishes the values that matter there.
type Assignment struct {
	Key   string
	Value document.Value
	of    *Tree
}

// Agrees reports that another value of the key is judged in the same way.
func (a *Assignment) Agrees(v document.Value) bool {
	if a.of == nil || a.Value.IsZero() || v.IsZero() {
		return a.Value.IsZero() == v.IsZero() && (v.IsZero() || document.Equal(a.Value, v))
	}
	return string(a.of.Vector(nil, a.Value)) == string(a.of.Vector(nil, v))
}

// Assignments returns all choices of values for the keys of a context that have any
// value.
func (v *Vocabulary) Assignments(context document.Value, guards []string) (all [][]Assignment, complete bool) {
	all = [][]Assignment{nil}
	if len(guards) == 0 {
		return all, true
	}
	v = v.of(guards)
	for _, key := range v.Keys {
		if held, ok := context.Get(key); !ok || !IsFree(held) {
			continue
		}
		values := v.Classes[key]
		if v.Optional[key] {
			values = append(slices.Clone(values), document.Value{})
		}
		if len(all)*len(values) > mostAssignment {
			return all, false
		}
		next := make([][]Assignment, 0, len(all)*len(values))
		for _, before := range all {
			for _, value := range values {
				next = append(next, append(slices.Clip(before), Assignment{key, value, v.Trees[key]}))
			}
		}
		all = next
	}
	return all, true
}

// Assign returns a context in which values were chosen.
func Assign(context document.Value, chosen []Assignment) document.Value {
	if len(chosen) == 0 {
		return context
	}
	members := make([]document.Member, 0, context.Len())
	for name, v := range context.Members() {
		i := slices.IndexFunc(chosen, func(a Assignment) bool { return a.Key == name })
		switch {
		case i < 0 || !IsFree(v): // known values are not chosen
			members = append(members, document.Member{Name: name, Value: v})
		case !chosen[i].Value.IsZero():
			members = append(members, document.Member{Name: name, Value: chosen[i].Value})
		}
	}
	return document.ObjectValue(members)
}

// ReadsResults reports that a guard reads the results of invoked runs.
func ReadsResults(m *workflow.Machine) bool {
	return NewVocabulary(m).Trees[ResultsKey] != nil
}

// TracedKeys returns the keys of which a guard asks where their values come from.
func TracedKeys(m *workflow.Machine) (keys []string) {
	words := NewVocabulary(m)
	for _, key := range words.Keys {
		if words.Traced[key] {
			keys = append(keys, key)
		}
	}
	return keys
}
