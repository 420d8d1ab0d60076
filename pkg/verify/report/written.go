package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// WrittenEvidence is an evidence that is a value of the shared state.
type WrittenEvidence struct {
	Evidence string
	// Pointer is the value's, and Writer its required author; empty for any.
	Pointer string
	Writer  string
	// Lists of the schema: each must name the writer.
	Lists []document.Restriction
	// admitted is whether the schema lets the value pass the evidence's test.
	admitted bool
	demands  string
	// of is the workflow that it guards.
	of *workflow.Machine
}

// FindWritten finds out who may write the values that guards of a workflow read in a state of a
// schema.
func FindWritten(m *workflow.Machine, s *document.Schema) []WrittenEvidence {
	var all []WrittenEvidence
	for _, spec := range m.Evidence() {
		if spec.State == nil {
			continue
		}
		all = append(all, WrittenEvidence{
			Evidence: spec.Name, Pointer: spec.State.Pointer, Writer: spec.Writer, Lists: s.WritersAt(spec.State.Pointer),
			admitted: admits(s, spec.State), demands: spec.State.String(), of: m,
		})
	}
	return all
}

// admits reports that a schema lets a value pass a test. Only tests of equality are certain.
func admits(s *document.Schema, t *evidence.Test) bool {
	return t.Op != condition.Eq || t.Value.Kind() == document.Null || s.Admits(t.Pointer, t.Value)
}

// Names returns the entries of the lists; none of a list means that no one may.
func (w *WrittenEvidence) Names() [][]string {
	all := make([][]string, 0, len(w.Lists))
	for _, list := range w.Lists {
		names := make([]string, 0, len(list.Writers))
		for _, rule := range list.Writers {
			names = append(names, rule.String())
		}
		all = append(all, names)
	}
	return all
}

// MayWrite describes for people who may write the value.
func (w *WrittenEvidence) MayWrite() string {
	if len(w.Lists) == 0 {
		return "every session of the tree"
	}
	var all []string
	for _, names := range w.Names() {
		if len(names) == 0 {
			return "no writer after the state was created"
		}
		if text := strings.Join(names, ", "); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return strings.Join(all, "; and one of ")
}

// lets reports that the agent whose run is guarded may write the value itself while its run is in
// a state, or in any state for the empty one.
func (w *WrittenEvidence) lets(state string) bool {
	return w.Writer == "" && !slices.ContainsFunc(w.Lists, func(list document.Restriction) bool {
		return !slices.ContainsFunc(list.Writers, func(rule document.WriterRule) bool {
			return rule.Kind == document.ByRole && rule.Name == "agent" || rule.Kind == document.BySession && strings.Trim(rule.Name, "*") == "" ||
				state != "" && w.ownState(rule) == state
		})
	})
}

// itself returns a state in which the run that is guarded may write the value; empty for
// none.
func (w *WrittenEvidence) itself() string {
	states := w.of.Definition().States
	if i := slices.IndexFunc(states, func(s workflow.State) bool { return w.lets(s.Name) }); i >= 0 {
		return states[i].Name
	}
	return ""
}

// ownState returns the state of the guarded workflow that an entry names; empty for none.
func (w *WrittenEvidence) ownState(rule document.WriterRule) string {
	name := strings.TrimPrefix(rule.Name, w.of.Name()+"/")
	if rule.Kind != document.ByState || !w.of.State(name).Known() {
		return ""
	}
	return name
}

// misspelt returns an entry that names a state which the guarded workflow does not have; empty for
// none.
func (w *WrittenEvidence) misspelt() string {
	for _, list := range w.Lists {
		for _, rule := range list.Writers {
			if rule.Kind == document.ByState && strings.HasPrefix(rule.Name, w.of.Name()+"/") && w.ownState(rule) == "" {
				return rule.String()
			}
		}
	}
	return ""
}

// Observed reports that it is more than the word of the agent that it guards.
func (w *WrittenEvidence) Observed() bool { return w.itself() == "" }

// mayNot reports that the demanded writer is no session that a list names, and that the list
// has no other name by which it could be known.
func (w *WrittenEvidence) mayNot() bool {
	return w.Writer != "" && slices.ContainsFunc(w.Lists, func(list document.Restriction) bool {
		return !slices.ContainsFunc(list.Writers, func(rule document.WriterRule) bool {
			return rule.Kind != document.BySession || rule.Matches(w.Writer)
		})
	})
}

// WarningsOf returns the warnings about evidence that the guarded run may write itself, or that is never written.
func WarningsOf(all []WrittenEvidence) []Warning {
	var found []Warning
	for i := range all {
		w := &all[i]
		warn := func(code, format string, args ...any) {
			found = append(found, Warning{code, document.Pointer("evidence", w.Evidence), fmt.Sprintf("evidence %s rests on %s of the shared state, ",
				document.Quote(w.Evidence), document.Quote(w.Pointer)) + fmt.Sprintf(format, args...)})
		}
		nobody := slices.ContainsFunc(w.Lists, func(list document.Restriction) bool { return len(list.Writers) == 0 })
		switch {
		case !w.admitted:
			warn(CodeValueNeverFit, "which the schema never lets be as demanded: %s", w.demands)
		case nobody:
			warn(CodeNobodyWrites, "which has no writer after the state was created: it is satisfied from the beginning, or never")
		case w.lets(""):
			warn(CodeAnyoneWrites, "which every agent of the tree may write, and so the one whose run it guards; list its writers in the schema, or name a \"writer\"")
		case w.itself() != "":
			warn(CodeSelfWritten, "which the run that it guards may write itself, in state %s; list other writers, or name a \"writer\"", document.Quote(w.itself()))
		case w.misspelt() != "":
			warn(CodeNoSuchState, "and %s names a state that the workflow does not have", document.Quote(w.misspelt()))
		case w.mayNot():
			warn(CodeWriterMayNot, "which %s must have written, and only %s may; name one of those, or a principal that acts in such a session",
				document.Quote(w.Writer), w.MayWrite())
		}
	}
	return found
}
