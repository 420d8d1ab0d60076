package workflow

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
)

// inputs reads the keys of the context that agents may set when they start a run.
func (r *reader) inputs(f document.Fields) {
	inputs, ok := f.Strings("inputs", maxItems)
	r.def.InputsDeclared = f.Has("inputs")
	if !ok {
		return
	}
	r.def.Inputs = document.Texts(inputs)
	for _, input := range inputs {
		if reservedKey(input.Text) {
			r.report.Errorf(input.At, document.CodeReserved,
				"the key %s is reserved; choose one that begins with a letter", document.Quote(input.Text))
		}
	}
}

// Claims returns the keys of a start's context that an agent may not set: those that the
// definition's inputs do not name, or, where it has no inputs, those that a guard reads
// (S6.8). context has the start's additions, and may be missing.
func (m *Machine) Claims(context document.Value) []string {
	var claims []string
	for name := range context.Members() {
		refused := m.definition.InputsDeclared && !slices.Contains(m.definition.Inputs, name)
		if refused || !m.definition.InputsDeclared && m.guarded(name) {
			claims = append(claims, name)
		}
	}
	return claims
}

// guarded reports that a guard reads a top-level key of the context, or inside it.
func (m *Machine) guarded(key string) bool {
	return slices.ContainsFunc(m.definition.Guards, func(g Guard) bool {
		return !g.each(func(g *Guard) bool { return !g.reads(key) })
	})
}

// reads reports that a guard, without those that it joins, reads a top-level key.
func (g *Guard) reads(key string) bool {
	if slices.ContainsFunc(g.When.Looks(), func(pointer string) bool { return topKey(pointer) == key }) {
		return true
	}
	path := pathOf(g.Field)
	return g.Field != "" && (g.Field == key || len(path) > 0 && path[0].key == key || strings.HasPrefix(g.Field, key+"."))
}
