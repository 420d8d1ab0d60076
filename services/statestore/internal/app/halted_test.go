package app_test

import (
	"slices"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/halts"
	"github.com/interlock-run/interlock/services/statestore/internal/components"
	"github.com/interlock-run/interlock/services/statestore/internal/opening"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
	"github.com/interlock-run/interlock/services/statestore/internal/writes"
)

// silent makes an event of a halt that is not announced twice.
type silent struct{}

func (silent) HaltChanged(_, _ string, c *halts.Change, _ time.Time) (store.Event, error) {
	return store.Event{ID: c.ID + c.Type, Subject: "interlock.halt", Payload: []byte(`{}`)}, nil
}

var root = halts.Caller{Namespace: "default", Principal: auth.Principal{Name: "rita", Role: auth.Root, Root: true}}

// halt puts a halt in force, and returns how it is lifted.
func (r *rig) halt(scope halts.Scope) (lift func()) {
	r.Helper()
	k := halts.NewKeeper(halts.New(r.open()), silent{}, r.clock.Now)
	h, _, err := k.Create(r.Context(), root, scope, "a test")
	if err != nil {
		r.Fatal(err)
	}
	return func() {
		if _, err := k.Lift(r.Context(), root, h.ID, "over"); err != nil {
			r.Error(err)
		}
	}
}

// S23.47: from the answer to a halt on, no state in its scope is written, locked or deleted, at any replica and also of a commit
// that has begun; after it, all goes on.
func TestHaltedStates(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, haltsStates)
}

// S23.47: nor does an execution of a component begin or end.
func TestHaltedExecutions(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, haltsExecutions)
}

// halting is a scope of a halt, and whether it holds for the agent that the tests halt.
type halting struct {
	scope halts.Scope
	holds bool
}

// haltings are of an agent amir, who is the person pat, in session lead/kid, which works for ann of the group pay.
var haltings = []halting{
	{halts.Scope{Kind: halts.Session, Name: "Lead"}, true},
	{halts.Scope{Kind: halts.Session, Name: "lead/kid"}, true},
	{halts.Scope{Kind: halts.Session, Name: "lead/other"}, false},
	{halts.Scope{Kind: halts.Principal, Name: "amir"}, true},
	{halts.Scope{Kind: halts.Principal, Name: "olga"}, false},
	{halts.Scope{Kind: halts.Person, Name: "pat"}, true},
	{halts.Scope{Kind: halts.Human, Name: "ann"}, true},
	{halts.Scope{Kind: halts.Group, Name: "pay"}, true},
	{halts.Scope{Kind: halts.Group, Name: "ops"}, false},
	{halts.Scope{Kind: halts.Namespace}, true},
	{halts.Scope{Kind: halts.All}, true},
}

// check demands that work is refused if the scope holds for it, and accepted otherwise.
func (row halting) check(r *rig, what string, err error) {
	r.Helper()
	if halted := fault.ReasonOf(err) == fault.Halted; halted != row.holds || err != nil && !halted {
		r.Errorf("%v: %s: %v", row.scope, what, err)
	}
}

// haltedAgent returns the agent of haltings, whose sessions are made.
func (r *rig) haltedAgent() ports.Caller {
	r.Helper()
	ann := &auth.Human{Name: "ann", Source: auth.Registered, GroupsKnown: true, Groups: []string{"pay"}}
	opener := operator
	opener.For = ann
	if _, _, err := r.Opener.Create(r.Context(), operator, opening.Request{Name: "lead"}); err != nil {
		r.Fatal(err)
	}
	if _, _, err := r.Opener.Create(r.Context(), opener, opening.Request{Name: "lead/kid", Parent: "lead"}); err != nil {
		r.Fatal(err)
	}
	by := agent("lead/kid")
	by.Principal.Person = "pat"
	return by
}

func haltsExecutions(r *rig) {
	by := r.haltedAgent()
	r.component(wizard)
	replicas := r.replicas(2)
	scope := components.Scope{Slug: "wizard-flow-state"}
	none := components.Outcome{}
	for _, row := range haltings {
		first, second := r.begin(by, scope), r.begin(by, scope)
		lift := func() {}
		racing := r.before(puts(components.KindExecution), func() { lift = r.halt(row.scope) })
		_, err := racing.Executions.Begin(r.Context(), by, scope)
		row.check(r, "an execution that is about to begin", err)
		for _, replica := range replicas {
			_, err := replica.Executions.Begin(r.Context(), by, scope)
			row.check(r, "the begin of an execution", err)
			if _, err := replica.Executions.Read(r.Context(), by, scope); err != nil {
				r.Errorf("%v: the values cannot be read: %v", row.scope, err)
			}
		}
		if row.holds {
			_, err = replicas[1].Executions.End(r.Context(), by, first.ID, none)
			row.check(r, "the end of an execution", err)
		}
		lift()
		racing = r.before(deletes(components.KindExecution), func() { lift = r.halt(row.scope) })
		_, err = racing.Executions.End(r.Context(), by, second.ID, none)
		row.check(r, "an execution that is about to end", err)
		lift()
		if row.holds {
			r.commit(by, first, none)
		}
	}
}

// deletes selects the commits that remove a record of a kind.
func deletes(kind string) func(*store.Batch) bool {
	return func(batch *store.Batch) bool {
		return slices.ContainsFunc(batch.Deletes, func(c store.Check) bool { return c.Key.Kind == kind })
	}
}

func haltsStates(r *rig) {
	st := r.state("lead", counter, `{"n":1}`)
	by := r.haltedAgent()
	replicas := r.replicas(2)
	for _, row := range haltings {
		lift := func() {}
		update := writes.Update{StateID: st.Key.ID, Merge: []byte(`{"n":2}`)}
		racing := r.before(puts(ports.KindState), func() { lift = r.halt(row.scope) })
		check := func(what string, err error) { r.Helper(); row.check(r, what, err) }
		_, err := racing.Editor.Update(r.Context(), by, update)
		check("a write that has begun", err)
		for _, replica := range replicas {
			_, err := replica.Editor.Update(r.Context(), by, update)
			check("a write", err)
			lease, err := replica.Locks.Lock(r.Context(), by, st.Key.ID, "h", time.Minute, 0, "")
			check("a lock", err)
			if err == nil {
				err = replica.Locks.Unlock(r.Context(), by, st.Key.ID, lease.Token)
			}
			check("the end of a lock", err)
		}
		lift()
		if _, err := replicas[0].Editor.Update(r.Context(), by, update); err != nil {
			r.Errorf("after %v: %v", row.scope, err)
		}
	}
}

// S23.47: no state is created in the scope, and an operator deletes a halted one.
func TestHaltedStatesAreCreatedAndDeleted(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		r.schema("s", anything)
		st := r.state("gone", anything, `{}`)
		r.session(opening.Request{Name: "new"})
		lift := r.halt(halts.Scope{Kind: halts.Namespace})
		_, err := r.Creator.Create(r.Context(), as("new"), writes.NewState{Schema: "s", Data: []byte(`{}`)})
		r.refused(err, fault.Halted)
		r.refused(r.Remover.Delete(r.Context(), agent("gone"), st.Key.ID, 0, false), fault.Halted)
		if err := r.Remover.Delete(r.Context(), operator, st.Key.ID, 0, true); err != nil {
			r.Error(err)
		}
		lift()
		if _, err := r.Creator.Create(r.Context(), as("new"), writes.NewState{Schema: "s", Data: []byte(`{}`)}); err != nil {
			r.Error(err)
		}
	})
}
