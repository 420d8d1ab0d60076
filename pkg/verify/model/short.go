package model

import (
	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// shortOf visits the comparisons of guards in the short form (S21.17).
func shortOf(g *workflow.Guard, visit func(condition.Comparison)) {
	if g.When != nil {
		g.When.Judge(condition.Chosen(func(c condition.Comparison, _ condition.Stance) condition.Truth {
			visit(c)
			return condition.Doubt // so that all are visited
		}), condition.Allows)
	}
	if g.Not != nil {
		shortOf(g.Not, visit)
	}
	for _, list := range [][]workflow.Guard{g.All, g.Any} {
		for i := range list {
			shortOf(&list[i], visit)
		}
	}
}

// addShort adds a comparison of a condition with a key of the context, or below it. The values of a key that
// both forms read, or that several pointers read, are not listed.
func (t *Tree) addShort(key string, c condition.Comparison) {
	t.coarse = t.coarse || c.Within() || len(t.short) > 0 && t.short[0].Looks() != c.Looks()
	t.key, t.short = key, append(t.short, c)
}

// shortVector returns the results of the comparisons of conditions for a context.
func (t *Tree) shortVector(dst []byte, call condition.Class) []byte {
	for _, c := range t.short {
		for _, stance := range []condition.Stance{condition.Restricts, condition.Allows} {
			dst = append(dst, '0'+byte(c.Judge(call, stance)))
		}
	}
	return dst
}

// with returns a context with a value of the tree's key; the zero Value for none.
func (t *Tree) with(v document.Value) condition.Class {
	if v.IsZero() {
		return condition.Class{Arguments: document.ObjectValue(nil)}
	}
	return condition.Class{Arguments: document.ObjectValue([]document.Member{{Name: t.key, Value: v}})}
}

// shortValues returns a value of the key for every result that the conditions can have. A context with another
// key that looks like this one puts all in doubt, as one that is not read; where no value does, the values are not all.
func (t *Tree) shortValues() []document.Value {
	if len(t.short) == 0 {
		return nil
	}
	classes, complete := condition.Classes(t.short)
	t.coarse = t.coarse || !complete
	var values []document.Value
	seen := map[string]bool{string(t.shortVector(nil, t.with(document.Value{}))): true}
	for _, c := range classes {
		if v, ok := c.Arguments.Get(t.key); ok && c.Arguments.Len() == 1 && !c.Unread {
			values = append(values, v)
			seen[string(t.shortVector(nil, c))] = true
		}
	}
	for _, c := range classes {
		t.coarse = t.coarse || !seen[string(t.shortVector(nil, c))]
	}
	return values
}
