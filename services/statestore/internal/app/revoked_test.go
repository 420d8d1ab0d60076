package app_test

import (
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/statestore/internal/agents"
	"github.com/interlock-run/interlock/services/statestore/internal/app"
	"github.com/interlock-run/interlock/services/statestore/internal/components"
	"github.com/interlock-run/interlock/services/statestore/internal/member"
	"github.com/interlock-run/interlock/services/statestore/internal/opening"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
	"github.com/interlock-run/interlock/services/statestore/internal/schemas"
	"github.com/interlock-run/interlock/services/statestore/internal/writes"
)

// S22.36: no change passes that is committed after the revocation of its caller's token was answered, also if it has begun before.
func TestNoChangeAfterRevocation(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		r.component(scratch)
		r.schema("s", anything)
		every := func(*store.Batch) bool { return true }
		for name, row := range map[string]struct {
			// last selects the commit before which the token is revoked.
			last    func(*store.Batch) bool
			prepare func(by ports.Caller) any
			does    func(a *app.App, by ports.Caller, prepared any) error
		}{
			"a new session": {puts(ledger.KindSessionRef), nil, func(a *app.App, by ports.Caller, _ any) error {
				_, _, err := a.Opener.Create(r.Context(), by, opening.Request{Name: by.Session + "/new", Parent: by.Session})
				return err
			}},
			"a session whose name is reserved": {puts(member.Kind), nil, func(a *app.App, by ports.Caller, _ any) error {
				name := by.Session + "/reserved"
				_, _, err := a.Opener.Create(r.Context(), by, opening.Request{Name: name, Parent: by.Session})
				if _, err := r.Names.Find(r.Context(), "default", name); fault.ReasonOf(err) != fault.NotFound {
					r.Errorf("the refused session is %v", err)
				}
				return err
			}},
			"a schema": {every, nil, func(a *app.App, by ports.Caller, _ any) error {
				_, _, err := a.Schemas.Register(r.Context(), by, schemas.Registration{Name: "of " + by.Session, Text: []byte(anything)})
				return err
			}},
			"a component": {every, nil, func(a *app.App, by ports.Caller, _ any) error {
				_, err := a.Components.Create(r.Context(), by, []byte(`{"name":"N","slug":"new","persistence":"none","schema_definition":{}}`), "")
				return err
			}},
			"an agent": {every, nil, func(a *app.App, by ports.Caller, _ any) error {
				_, err := a.Agents.Create(r.Context(), by, agents.Spec{Name: "new"})
				return err
			}},
			"a state": {every, nil, func(a *app.App, by ports.Caller, _ any) error {
				_, err := a.Creator.Create(r.Context(), by, writes.NewState{Schema: "s", Data: []byte(`{}`)})
				return err
			}},
			"the end of a state": {every, func(by ports.Caller) any {
				id := r.state(by.Session, anything, `{}`).Key.ID
				r.stop(by.Session, session.Stop{End: true})
				return id
			}, func(a *app.App, by ports.Caller, id any) error {
				return a.Remover.Delete(r.Context(), by, id.(string), 0, false)
			}},
			"a lock": {every, func(by ports.Caller) any { return r.state(by.Session, anything, `{}`).Key.ID }, func(a *app.App, by ports.Caller, id any) error {
				_, err := a.Locks.Lock(r.Context(), by, id.(string), "h", time.Minute, 0, "")
				_, free := r.store.GetLease(r.Context(), store.Key{Namespace: "default", Kind: "state_lock", ID: id.(string)})
				if free == nil {
					r.Error("the refused lock is held")
				}
				return err
			}},
			"a longer lock": {every, func(by ports.Caller) any {
				st := r.state(by.Session, anything, `{}`)
				lease, err := r.Locks.Lock(r.Context(), by, st.Key.ID, "h", time.Minute, 0, "")
				if err != nil {
					r.Fatal(err)
				}
				return lease
			}, func(a *app.App, by ports.Caller, lease any) error {
				held := lease.(store.Lease)
				_, err := a.Locks.Lock(r.Context(), by, held.Key.ID, held.Holder, time.Minute, held.Token, "")
				return err
			}},
			"a stop": {every, nil, func(a *app.App, by ports.Caller, _ any) error {
				_, _, err := a.Sessions.Stop(r.Context(), by, by.Session, session.Stop{}, "")
				return err
			}},
			"a narrowing": {every, nil, func(a *app.App, by ports.Caller, _ any) error {
				_, err := a.Sessions.Narrow(r.Context(), by, by.Session, []byte(`[{"tools":["Read"]}]`), false)
				return err
			}},
			"the begin of an execution": {every, nil, func(a *app.App, by ports.Caller, _ any) error {
				_, err := a.Executions.Begin(r.Context(), by, components.Scope{Slug: "scratch"})
				return err
			}},
			"the end of an execution": {every, func(by ports.Caller) any { return r.begin(by, components.Scope{Slug: "scratch"}).ID }, func(a *app.App, by ports.Caller, id any) error {
				_, err := a.Executions.End(r.Context(), by, id.(string), components.Outcome{})
				return err
			}},
			"the deletion of a session": {every, func(by ports.Caller) any { r.stop(by.Session, session.Stop{End: true}); return nil }, func(a *app.App, by ports.Caller, _ any) error {
				_, err := a.Sessions.Delete(r.Context(), by, by.Session, false)
				return err
			}},
		} {
			top := "of " + name
			r.session(opening.Request{Name: top})
			by := agent(top)
			by.Principal.Kind, by.Principal.TokenID, by.Principal.Session = auth.OfSession, "minted", top
			by.Principal.Namespace, by.Principal.IssuedAt, by.Principal.Expires = "default", r.clock.Now(), r.clock.Now().Add(time.Hour)
			var prepared any
			if row.prepare != nil {
				prepared = row.prepare(by)
			}
			revoked := false
			racing := r.before(row.last, func() {
				if _, err := r.Sessions.Revoke(r.Context(), operator, top, ""); err != nil {
					r.Fatal(err)
				}
				revoked = true
			})
			if err := row.does(racing, by, prepared); fault.ReasonOf(err) != fault.Unauthenticated || !revoked {
				r.Errorf("%s: revoked %t, answered %v", name, revoked, err)
			}
		}
	})
}
