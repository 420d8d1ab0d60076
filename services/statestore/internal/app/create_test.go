package app_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/services/statestore/internal/app"
	"github.com/interlock-run/interlock/services/statestore/internal/opening"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
	"github.com/interlock-run/interlock/services/statestore/internal/states"
	"github.com/interlock-run/interlock/services/statestore/internal/writes"
)

// S10.2, S11.1: the session that creates a state is its root, made when there is
// none of that name; children made from then on share it.
func TestCreateStateForASession(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		st := r.state("boss", counter, `{"n":1}`)
		if st.Version != 1 || st.Data.String() != `{"n":1}` || st.RootName != "boss" || st.UpdatedBy != "boss" || st.SchemaVersion != 1 ||
			!strings.HasPrefix(st.Key.ID, "wfstate_") || !st.CreatedAt.Equal(r.clock.Now()) {
			r.Errorf("created %+v", st)
		}
		root := r.member("boss")
		if root.StateID != st.Key.ID || root.ID != st.RootID || !root.Root() || root.Update != session.UpdateSkipped {
			r.Errorf("the root is %+v", root.Session)
		}
		child := r.session(opening.Request{Name: "child", Parent: "boss"})
		if child.StateID != st.Key.ID || child.Update != session.UpdateNone || child.RootID != root.ID {
			r.Errorf("the child is %+v", child.Session)
		}

		create := func(caller ports.Caller, existing bool) error {
			_, err := r.Creator.Create(r.Context(), caller, writes.NewState{Schema: "of boss", Data: []byte(`{"n":1}`), Existing: existing})
			return err
		}
		r.refused(create(as("boss"), false), fault.FailedPrecondition) // it has one
		r.refused(create(as("child"), false), fault.FailedPrecondition)
		r.refused(create(as("nobody"), true), fault.NotFound)
		r.refused(create(as("ses_nobody"), false), fault.InvalidRequest)
		r.unchanged(st)
		for _, caller := range []ports.Caller{operator, agent("")} { // a root of its own
			if err := create(caller, false); err != nil {
				r.Errorf("without a session: %v", err)
			}
		}

		early := r.session(opening.Request{Name: "early"})
		orphan := r.session(opening.Request{Name: "orphan", Parent: "early"})
		if err := create(as(early.ID), true); err != nil {
			r.Errorf("a session that is there: %v", err)
		}
		if got := r.member("orphan"); got.StateID != "" || orphan.StateID != "" {
			r.Errorf("a child that was there before shares %q", got.StateID)
		}
		r.session(opening.Request{Name: "done"})
		r.stop("done", session.Stop{})
		r.refused(create(as("done"), true), fault.SessionEnded)
	})
}

func TestCreateStateRefuses(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		r.schema("s", counter)
		for name, c := range map[string]struct {
			schema  string
			version int64
			data    string
			reason  fault.Reason
		}{
			"unknown schema":  {"none", 0, `{"n":1}`, fault.NotFound},
			"unknown version": {"s", 2, `{"n":1}`, fault.NotFound},
			"no data":         {"s", 0, ``, fault.InvalidJSON},
			"bad data":        {"s", 0, `{"n":NaN}`, fault.InvalidJSON},
			"not conforming":  {"s", 0, `{"n":"1"}`, fault.SchemaViolation},
			"missing":         {"s", 1, `{}`, fault.SchemaViolation},
			"too large":       {"s", 0, `{"n":1,"log":["` + strings.Repeat("x", 1<<20) + `"]}`, fault.TooLarge},
		} {
			_, err := r.Creator.Create(r.Context(), as("root of "+name), writes.NewState{Schema: c.schema, SchemaVersion: c.version, Data: []byte(c.data)})
			if got := fault.ReasonOf(err); got != c.reason {
				r.Errorf("%s: answered %q (%v), want %q", name, got, err, c.reason)
			}
			if _, err := r.Names.Find(r.Context(), "default", "root of "+name); fault.ReasonOf(err) != fault.NotFound {
				r.Errorf("%s: it left a session: %v", name, err)
			}
		}
		if states, _, err := r.States.List(r.Context(), operator, states.Query{Limit: 10}); err != nil || len(states) != 0 {
			r.Errorf("%d states, %v", len(states), err)
		}
	})
}

// S6.5: a repeat answers the first state, also without a session, whatever has
// happened to the state and its schema since.
func TestCreateStateAgainWithAKey(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{HistoryVersions: 1}, func(r *rig) {
		r.schema("s", anything)
		for _, caller := range []ports.Caller{operator, as("named")} {
			create := func(a *app.App, data string) (*states.State, error) {
				return a.Creator.Create(r.Context(), caller, writes.NewState{Schema: "s", Data: []byte(data), Key: "k"})
			}
			lost := r.faulty(func(_ int, batch *store.Batch) storetest.Fault {
				if puts("state")(batch) {
					return storetest.FailedButApplied
				}
				return storetest.Healthy
			})
			_, err := create(lost, `{"a":1}`)
			r.refused(err, fault.CommitUncertain)
			first, err := create(r.replicas(1)[0], `{"a":1}`)
			if err != nil || first.Version != 1 {
				r.Fatalf("the repeat: %+v, %v", first, err)
			}
			_, err = create(r.App, `{"a":2}`)
			r.refused(err, fault.IdempotencyMismatch)

			r.clock.Advance(1000)
			for range 130 {
				r.update(operator, writes.Update{StateID: first.Key.ID, Data: []byte(`{"a":3}`)})
			}
			_, _, err = r.States.Get(r.Context(), operator, first.Key.ID, 1, nil)
			r.refused(err, fault.NotFound) // it is not kept any more
			again, err := create(r.replicas(1)[0], `{"a":1}`)
			if err != nil || again.Key != first.Key || again.Version != 1 || again.Data.String() != `{"a":1}` ||
				!again.UpdatedAt.Equal(first.UpdatedAt) || again.UpdatedBy != first.UpdatedBy || again.SchemaID != first.SchemaID {
				r.Errorf("the repeat is %+v, %v; first it was %+v", again, err, first)
			}
		}
		// A newer version of the schema is not what the first request met.
		r.schema("s", `false`)
		if again, err := r.Creator.Create(r.Context(), operator, writes.NewState{Schema: "s", Data: []byte(`{"a":1}`), Key: "k"}); err != nil || again.SchemaVersion != 1 {
			r.Errorf("the repeat is %+v, %v", again, err)
		}
		if states, _, err := r.States.List(r.Context(), operator, states.Query{Limit: 10}); err != nil || len(states) != 2 {
			r.Errorf("%d states, %v", len(states), err)
		}
	})
}

// Two replicas create the state of one session: one does, and both know which.
func TestReplicasCreateOneState(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		r.schema("s", anything)
		for _, key := range []string{"", "k"} {
			root := "root" + key
			var mu sync.Mutex
			made := map[string]int{}
			var group sync.WaitGroup
			for _, a := range r.replicas(6) {
				group.Go(func() {
					st, err := a.Creator.Create(r.Context(), as(root), writes.NewState{Schema: "s", Data: []byte(`{}`), Key: key})
					mu.Lock()
					defer mu.Unlock()
					switch {
					case err == nil:
						made[st.Key.ID]++
					case key != "" || fault.ReasonOf(err) != fault.FailedPrecondition:
						r.Errorf("key %q: %v", key, err)
					}
				})
			}
			group.Wait()
			st := r.member(root).StateID
			if want := map[string]int{"": 1, "k": 6}[key]; len(made) != 1 || made[st] != want {
				r.Errorf("key %q: created %v, want %d times %s", key, made, want, st)
			}
		}
	})
}
