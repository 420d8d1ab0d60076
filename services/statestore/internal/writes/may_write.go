package writes

import (
	"context"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/statestore/internal/member"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
	"github.com/interlock-run/interlock/services/statestore/internal/states"

	"github.com/interlock-run/interlock/services/statestore/internal/schemas"
)

// Permits decides who may write which values, by the schema of a state (S18).
type Permits struct {
	ports   *ports.Ports
	schemas *schemas.Schemas
}

// NewPermits returns the permits of a store.
func NewPermits(p *ports.Ports, schemas *schemas.Schemas) *Permits {
	return &Permits{ports: p, schemas: schemas}
}

// restricted refuses a change that touches values which the schema reserves for others
// (S18.2). guards are the records that a permission rests on: they must hold when the
// change is committed.
func (ps *Permits) restricted(
	ctx context.Context, e *edit, cur *states.State, rules *document.Schema, data document.Value,
) (guards []store.Check, err error) {
	if !rules.Restricted() {
		return nil, nil
	}
	touched, known := rules.Touched(cur.Data, data, e.patch)
	if !known {
		return nil, fault.New(fault.TooLarge, "it takes too long to find out whether the change touches values with restricted writers; no change was made. Make it smaller, or send it in parts")
	}
	w := writing{a: ps, caller: e.caller, acting: e.acting}
	var denied []document.Restriction
	for _, list := range touched {
		ok, err := w.may(ctx, list.Writers)
		if err != nil {
			return nil, err
		}
		if !ok {
			denied = append(denied, list)
		}
	}
	if len(denied) == 0 {
		return w.guards, nil
	}
	return nil, w.refuse("the change touches %s, which %s; %s asked, so no change was made. Leave it out, or let one of those write it", denied)
}

// writing is who changes a state, as far as lists of writers ask.
type writing struct {
	a      *Permits
	caller ports.Caller
	acting *member.Member

	looked bool
	states []runState // of the runs that the acting session drives
	guards []store.Check
}

// runState is the workflow of a run and the state that it is in; none of one that moves no more.
type runState struct{ workflow, state string }

// listed reports that a list has the state, of any workflow or of this one.
func (s runState) listed(list []document.WriterRule) bool {
	is := func(name string) bool {
		return slices.Contains(list, document.WriterRule{Kind: document.ByState, Name: name})
	}
	return s.state != "" && (is(s.state) || is(s.workflow+"/"+s.state))
}

// may reports that a list names the writer.
func (w *writing) may(ctx context.Context, list []document.WriterRule) (bool, error) {
	asksState := false
	for _, rule := range list {
		switch rule.Kind {
		case document.BySession:
			if w.acting != nil && rule.Matches(w.acting.Name, w.acting.ID) {
				return true, nil
			}
		case document.ByRole:
			if string(w.caller.Principal.Role) == rule.Name {
				return true, nil
			}
		case document.BySource:
			if rule.Name == document.SourceHuman && w.human() {
				return true, nil
			}
		case document.ByState:
			asksState = true
		}
	}
	if !asksState {
		return false, nil
	}
	if err := w.look(ctx); err != nil {
		return false, err
	}
	for _, state := range w.states {
		if !state.listed(list) {
			return false, nil
		}
	}
	return len(w.states) > 0, nil
}

// human reports that the caller is a person: neither an agent nor a service, and not with
// the token of a session.
func (w *writing) human() bool {
	p := w.caller.Principal
	return p.Role == auth.Operator && p.Session == ""
}

// look finds the state of the run that the acting session drives, once. A run is bound to
// the name of its session when it started, a name or an id: where both are, both count. All
// records become conditions of the commit where it can have them, and are as of now
// elsewhere. A token that is bound to a branch works in that one alone.
func (w *writing) look(ctx context.Context) error {
	if w.looked || w.acting == nil {
		return nil
	}
	w.looked = true
	names := []string{w.acting.ID}
	if w.acting.Name != w.acting.ID && w.acting.Name != "" {
		names = append(names, w.acting.Name)
	}
	for _, name := range names {
		record, err := w.record(ctx, ledger.BindingOf(w.caller.Namespace, name))
		if err != nil {
			return err
		}
		bound := ledger.ReadBinding(record.Data)
		if bound.Ended || bound.RunID == "" {
			continue
		}
		run, err := w.record(ctx, ledger.Run(w.caller.Namespace, bound.RunID))
		if err != nil {
			return err
		}
		state := runState{}
		if run.Version != store.Absent {
			if state.workflow, state.state, err = ledger.StateIn(run.Data, name, bound, w.caller.Principal.Branch); err != nil {
				return fault.From(err)
			}
		}
		w.states = append(w.states, state)
	}
	return nil
}

// record reads a record that a permission rests on, also when it is not there.
func (w *writing) record(ctx context.Context, key store.Key) (store.Record, error) {
	record, err := w.a.ports.Store.Get(ctx, key)
	switch {
	case ports.NotFound(err):
		record = store.Record{Key: key, Version: store.Absent}
	case err != nil:
		return record, fault.From(err)
	}
	w.guards = append(w.guards, store.Check{Key: key, Version: record.Version})
	return record, nil
}

// refuse names the permitted writers of the touched values, and the caller.
func (w *writing) refuse(format string, denied []document.Restriction) error {
	at := denied[0]
	e := fault.New(fault.NotAWriter, format, place(at.Pointer), whoMay(at.Writers), w.who())
	for _, d := range denied[:min(len(denied), 20)] {
		e = e.Violate(d.Pointer, document.Code(fault.NotAWriter), whoMay(d.Writers))
	}
	return e
}

func place(pointer string) string {
	if pointer == "" {
		return "the document as a whole"
	}
	return ports.Clip(pointer)
}

func whoMay(list []document.WriterRule) string {
	if len(list) == 0 {
		return "no one may write after the state was created"
	}
	names := make([]string, 0, len(list))
	for _, rule := range list[:min(len(list), 10)] {
		names = append(names, rule.String())
	}
	if len(list) > 10 {
		names = append(names, "...")
	}
	return "only " + strings.Join(names, ", ") + " may write"
}

func (w *writing) who() string {
	who := "the role " + string(w.caller.Principal.Role)
	if w.acting != nil {
		who += ` in session "` + ports.Clip(w.acting.Name) + `"`
	} else {
		who += " without a session"
	}
	for _, state := range w.states {
		if state.state != "" {
			who += ` whose run of "` + ports.Clip(state.workflow) + `" is in state "` + ports.Clip(state.state) + `"`
		}
	}
	return who
}

// mayReplaceSchema refuses an agent that would move a state to another version of a schema
// that names writers: that version may name others (S18.4).
func mayReplaceSchema(caller ports.Caller, cur *states.State, rules *document.Schema) error {
	if rules.Restricted() && caller.Agent() {
		return fault.New(fault.NotAWriter,
			"version %d of schema %q restricts the writers of values, so only an operator moves the state to another version; no change was made", cur.SchemaVersion, cur.SchemaName)
	}
	return nil
}

// mayErase refuses an agent that would delete a state with values that it may not write
// (S18.4).
func (ps *Permits) mayErase(ctx context.Context, caller ports.Caller, acting *member.Member, st *states.State) ([]store.Check, error) {
	if !caller.Agent() {
		return nil, nil
	}
	rules, err := ps.schemas.Compile(ctx, caller.Namespace, st.SchemaName, st.SchemaVersion)
	if err != nil {
		return nil, err
	}
	return ps.restricted(ctx, &edit{caller: caller, acting: acting}, st, rules.Rules, document.Value{})
}
