package app_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/services/statestore/internal/app"
	"github.com/interlock-run/interlock/services/statestore/internal/member"
	"github.com/interlock-run/interlock/services/statestore/internal/opening"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
	"github.com/interlock-run/interlock/services/statestore/internal/sessions"
	"github.com/interlock-run/interlock/services/statestore/internal/states"
)

// S10.9: what a session may see and do ends at its tree.
func TestSessionsKeepToTheirTree(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		mine := r.state("mine", anything, `{}`).Key.ID
		theirs := r.state("theirs", anything, `{}`).Key.ID
		r.session(opening.Request{Name: "child", Parent: "mine"})
		ctx := r.Context()
		for _, caller := range []ports.Caller{agent("child"), as("child")} {
			for name, do := range map[string]func(session, state string) error{
				"read":    func(_, state string) error { _, _, err := r.States.Get(ctx, caller, state, 0, nil); return err },
				"history": func(_, state string) error { _, _, err := r.States.History(ctx, caller, state, 0, 1); return err },
				"write":   func(_, state string) error { _, err := r.Editor.Update(ctx, caller, merge(state, `{}`)); return err },
				"get":     func(name, _ string) error { _, err := r.Sessions.Get(ctx, caller, name); return err },
				"resume":  func(name, _ string) error { _, err := r.Sessions.Resume(ctx, caller, name, "", ""); return err },
				"below": func(name, _ string) error {
					_, _, err := r.Opener.Create(ctx, caller, opening.Request{Parent: name})
					return err
				},
				"list": func(name, _ string) error {
					_, _, err := r.Sessions.List(ctx, caller, sessions.Query{Root: name, Limit: 10})
					return err
				},
				"stop": func(name, _ string) error {
					_, _, err := r.Sessions.Stop(ctx, caller, name, session.Stop{}, "")
					return err
				},
			} {
				if err := do("mine", mine); err != nil {
					r.Errorf("%s in its own tree: %v", name, err)
				}
				if err := do("theirs", theirs); fault.ReasonOf(err) != fault.PermissionDenied {
					r.Errorf("%s in another tree: %v", name, err)
				}
			}
		}
		if theirs := r.member("theirs"); theirs.Status != session.Running || theirs.OpenChildren != 0 || theirs.Version != 2 {
			r.Errorf("the other root is now %+v", theirs.Session)
		}
		_, _, err := r.Sessions.List(ctx, agent(""), sessions.Query{Limit: 10})
		r.refused(err, fault.SessionRequired)
		_, err = r.Sessions.Get(ctx, agent("nobody"), "mine")
		r.refused(err, fault.PermissionDenied)
	})
}

func TestSessionAndStateLists(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		r.state("b", anything, `1`)
		r.session(opening.Request{Name: "b1", Parent: "b", Skip: true})
		r.session(opening.Request{Name: "b2", Parent: "b1", Skip: true})
		r.state("a", anything, `2`)
		r.session(opening.Request{Name: "a1", Parent: "a", Skip: true})
		r.session(opening.Request{Name: "c"})
		r.stop("b2", session.Stop{})
		list := func(caller ports.Caller, q sessions.Query) string {
			r.Helper()
			var names []string
			for {
				page, next, err := r.Sessions.List(r.Context(), caller, q)
				if err != nil {
					return string(fault.ReasonOf(err))
				}
				for _, m := range page {
					names = append(names, m.Name)
				}
				if q.After = next; next == "" {
					return strings.Join(names, " ")
				}
			}
		}
		for name, c := range map[string]struct {
			caller ports.Caller
			query  sessions.Query
			want   string
		}{
			"all":                 {operator, sessions.Query{}, "c a1 a b2 b1 b"},
			"a tree":              {operator, sessions.Query{Root: "b"}, "b2 b1 b"},
			"children":            {operator, sessions.Query{Parent: "b"}, "b1"},
			"ended":               {operator, sessions.Query{Status: session.Ended}, "b2"},
			"running of a tree":   {operator, sessions.Query{Root: "b", Status: session.Running}, "b1 b"},
			"an agent":            {agent("a1"), sessions.Query{}, "a1 a"},
			"an operator as one":  {as("b2"), sessions.Query{}, "b2 b1 b"},
			"of none":             {operator, sessions.Query{Root: "none"}, "NOT_FOUND"},
			"an agent, elsewhere": {agent("a1"), sessions.Query{Parent: "b"}, "PERMISSION_DENIED"},
		} {
			for _, limit := range []int{2, 10} {
				c.query.Limit = limit
				if got := list(c.caller, c.query); got != c.want {
					r.Errorf("%s, by %d: %s, want %s", name, limit, got, c.want)
				}
			}
		}

		listed := func(caller ports.Caller, q states.Query) string {
			r.Helper()
			var found []string
			for {
				page, next, err := r.States.List(r.Context(), caller, q)
				if err != nil {
					return string(fault.ReasonOf(err))
				}
				for _, st := range page {
					found = append(found, st.RootName)
				}
				if q.After = next; next == "" {
					return strings.Join(found, " ")
				}
			}
		}
		for name, c := range map[string]struct {
			caller ports.Caller
			query  states.Query
			want   string
		}{
			"all":                 {operator, states.Query{}, "a b"},
			"of a root":           {operator, states.Query{Root: "a"}, "a"},
			"by schema":           {operator, states.Query{Schema: "of b"}, "b"},
			"of another's schema": {operator, states.Query{Schema: "of b", Root: "a"}, ""},
			"of none":             {operator, states.Query{Root: "none"}, ""},
			"an agent":            {agent("a1"), states.Query{}, "a"},
			"an agent, elsewhere": {agent("a1"), states.Query{Root: "b"}, ""},
			"an agent, of none":   {agent(""), states.Query{}, "SESSION_REQUIRED"},
		} {
			for _, limit := range []int{1, 10} {
				c.query.Limit = limit
				if got := listed(c.caller, c.query); got != c.want {
					r.Errorf("states, %s, by %d: %s, want %s", name, limit, got, c.want)
				}
			}
		}
	})
}

// S10.9: a grant lets a session read a state of another tree, and no more than that,
// until it is taken back.
func TestGrants(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		id := r.state("owner", anything, `{"a":1}`).Key.ID
		r.session(opening.Request{Name: "reader"})
		other := r.replica(r.open())
		reads := func(a *app.App) fault.Reason {
			_, _, err := a.States.Get(r.Context(), agent("reader"), id, 0, nil)
			return fault.ReasonOf(err)
		}
		if got := reads(other); got != fault.PermissionDenied {
			r.Errorf("before: %q", got)
		}
		for range 2 { // again changes nothing
			m, err := r.Sessions.Grant(r.Context(), operator, "reader", id, false)
			if err != nil || !slices.Equal(m.Grants, []string{id}) || m.Version != 2 {
				r.Errorf("granted: %+v, %v", m, err)
			}
		}
		if got := reads(other); got != "" {
			r.Errorf("granted: %q", got)
		}
		_, err := other.Editor.Update(r.Context(), agent("reader"), merge(id, `{}`))
		r.refused(err, fault.PermissionDenied)
		_, err = other.Locks.Lock(r.Context(), agent("reader"), id, "h", 1000, 0, "")
		r.refused(err, fault.PermissionDenied)
		r.refused(other.Remover.Delete(r.Context(), agent("reader"), id, 0, false), fault.PermissionDenied)
		for range 2 {
			if m, err := r.Sessions.Grant(r.Context(), operator, "reader", id, true); err != nil || len(m.Grants) != 0 {
				r.Errorf("revoked: %+v, %v", m, err)
			}
		}
		if got := reads(other); got != fault.PermissionDenied {
			r.Errorf("revoked: %q", got)
		}
		_, err = r.Sessions.Grant(r.Context(), operator, "reader", "wfstate_none", false)
		r.refused(err, fault.NotFound)
		_, err = r.Sessions.Grant(r.Context(), operator, "nobody", id, false)
		r.refused(err, fault.NotFound)

		// Concurrent grants are none lost.
		var group sync.WaitGroup
		states := make([]string, 6)
		for i := range states {
			states[i] = r.state(fmt.Sprint("owner", i), anything, `{}`).Key.ID
			group.Go(func() {
				if _, err := r.Sessions.Grant(r.Context(), operator, "reader", states[i], false); err != nil {
					r.Error(err)
				}
			})
		}
		group.Wait()
		if m := r.member("reader"); len(m.Grants) != len(states) {
			r.Errorf("%d grants of %d", len(m.Grants), len(states))
		}
	})
}

// Many children of one parent begin and end at once, through several replicas: the
// parent counts each.
func TestManyChildrenOfOneParent(t *testing.T) {
	t.Parallel()
	const children = 64
	everywhere(t, ports.Config{}, func(r *rig) {
		r.state("root", anything, `{}`)
		replicas := r.replicas(3)
		var group sync.WaitGroup
		for i := range children {
			group.Go(func() {
				a, name := replicas[i%3], fmt.Sprint("child", i)
				if _, _, err := a.Opener.Create(r.Context(), operator, opening.Request{Name: name, Parent: "root", Skip: i%2 == 0}); err != nil {
					r.Errorf("%s: %v", name, err)
				}
			})
		}
		group.Wait()
		if root := r.member("root"); root.OpenChildren != children {
			r.Fatalf("%d children are open", root.OpenChildren)
		}
		for i := range children {
			group.Go(func() {
				a, name := replicas[(i+1)%3], fmt.Sprint("child", i)
				if _, _, err := a.Sessions.Stop(r.Context(), operator, name, session.Stop{End: true}, ""); err != nil {
					r.Errorf("%s: %v", name, err)
				}
			})
		}
		group.Wait()
		root := r.member("root")
		if root.OpenChildren != 0 || len(root.Callbacks) != children {
			r.Errorf("%d children are open, %d have called back", root.OpenChildren, len(root.Callbacks))
		}
	})
}

// S6.5: a stop again with its key is one stop, whatever has happened since, and
// whichever of two is faster.
func TestStopAgainWithAKey(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		r.state("root", anything, `{}`)
		r.session(opening.Request{Name: "child", Parent: "root"})
		stop := func(a *app.App, key string) (*member.Member, string, error) {
			return a.Sessions.Stop(r.Context(), operator, "child", session.Stop{InPlace: true}, key)
		}
		lost := r.faulty(storetest.Nth(1, storetest.FailedButApplied))
		_, _, err := stop(lost, "k1")
		r.refused(err, fault.CommitUncertain)
		for range 3 {
			m, prompt, err := stop(lost, "k1")
			if err != nil || m.Attempts != 1 || m.Update != session.UpdatePending || prompt == "" {
				r.Errorf("again: %+v, %q, %v", m, prompt, err)
			}
		}
		r.update(agent("child"), merge("", `{"done":true}`))
		if m, prompt, err := stop(r.App, "k1"); err != nil || m.Status != session.Running || prompt != "" {
			r.Errorf("after the update: %+v, %q, %v", m, prompt, err)
		}

		// A repeat is not judged by what the first request has made of the session.
		r.session(opening.Request{Name: "resumed"})
		for range 2 {
			if m, err := r.Sessions.Resume(r.Context(), operator, "resumed", "continue", "k"); err != nil || m.Prompt != "continue" {
				r.Errorf("resumed: %+v, %v", m, err)
			}
		}
		_, err = r.Sessions.Resume(r.Context(), operator, "resumed", "continue", "another")
		r.refused(err, fault.SessionBusy)

		// The other request with the key comes in between, wherever: neither may stop
		// without the prompt.
		for nth := range 5 {
			name := fmt.Sprint("child", nth)
			r.session(opening.Request{Name: name, Parent: "root"})
			stop := func(a *app.App) {
				m, prompt, err := a.Sessions.Stop(r.Context(), operator, name, session.Stop{InPlace: true}, "k")
				if err != nil || m.Attempts != 1 || prompt == "" {
					r.Errorf("with the other one after read %d: %+v, %q, %v", nth, m, prompt, err)
				}
			}
			stop(r.replica(&overtaken{Store: r.store, kind: member.Kind, left: nth, do: func() { stop(r.App) }}))
		}
	})
}

// overtaken is a store of one caller, where something happens just after a record was
// read.
type overtaken struct {
	store.Store
	kind string
	left int // reads of that kind before that
	do   func()
}

func (o *overtaken) Get(ctx context.Context, key store.Key) (store.Record, error) {
	record, err := o.Store.Get(ctx, key)
	if key.Kind == o.kind {
		if o.left--; o.left == -1 {
			o.do()
		}
	}
	return record, err
}
