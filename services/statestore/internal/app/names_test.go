package app_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/services/statestore/internal/app"
)

func (r *rig) create(req app.NewSession) (*app.Member, bool, error) {
	return r.CreateSession(r.Context(), operator, req)
}

// S11.1: names and ids are one space, unique in the namespace; the same request
// again returns the same session.
func TestSessionNames(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{}, func(r *rig) {
		plain := r.session(app.NewSession{})
		if plain.Name != plain.ID || !strings.HasPrefix(plain.ID, "ses_") {
			r.Errorf("without a name: %+v", plain.Session)
		}
		full := app.NewSession{
			ID: "own-id", Name: "a name", Parent: plain.ID, Labels: map[string]string{"os": "linux", "gpu": ""}, Skip: true, AcceptEarly: true, Prompt: "go",
		}
		first := r.session(full)
		if first.ID != "own-id" || first.Name != "a name" || first.Subject != plain.Subject {
			r.Errorf("the session is %+v", first.Session)
		}
		for _, name := range []string{"own-id", "a name", first.Key.ID} {
			if got := r.member(name); got.Key != first.Key {
				r.Errorf("%s is %+v", name, got)
			}
		}
		// Again, also where it is in a cache as it was then.
		other := r.replica(r.open())
		if _, _, err := other.StopSession(r.Context(), operator, "a name", session.Stop{End: true}, ""); err != nil {
			r.Fatal(err)
		}
		for _, a := range []*app.App{r.App, other, r.replica(r.open())} {
			again, created, err := a.CreateSession(r.Context(), operator, full)
			if err != nil || created || again.Key != first.Key || again.Status != session.Ended {
				r.Errorf("again: %+v, %t, %v", again, created, err)
			}
		}

		for name, change := range map[string]func(*app.NewSession){
			"another id": func(q *app.NewSession) { q.ID = "other" }, "no id": func(q *app.NewSession) { q.ID = "" },
			"another name": func(q *app.NewSession) { q.Name = "other" }, "another parent": func(q *app.NewSession) { q.Parent = "" },
			"another label": func(q *app.NewSession) { q.Labels = map[string]string{"os": "linux"} },
			"to report":     func(q *app.NewSession) { q.Skip = false }, "not early": func(q *app.NewSession) { q.AcceptEarly = false },
			"another subject": func(q *app.NewSession) { q.Subject, q.Prompt = "s go", "on" }, "another prompt": func(q *app.NewSession) { q.Prompt = "stop" },
			"the id as its name": func(q *app.NewSession) { q.ID, q.Name = "", "own-id" }, "the name as its id": func(q *app.NewSession) { q.ID, q.Name = "a name", "" },
		} {
			req := full
			change(&req)
			_, _, err := r.create(req)
			if got := fault.ReasonOf(err); got != fault.NameTaken {
				r.Errorf("%s: %v", name, err)
			}
		}
		// What those have reserved in the meantime is free.
		r.session(app.NewSession{Name: "other"})
		if _, _, err := r.CreateSession(r.Context(), app.Caller{Namespace: "elsewhere"}, app.NewSession{Name: "a name"}); err != nil {
			r.Errorf("in another namespace: %v", err)
		}
	})
}

func TestSessionRefusals(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{}, func(r *rig) {
		r.session(app.NewSession{Name: "root"})
		st := r.state("owner", anything, `{}`)
		for name, c := range map[string]struct {
			req    app.NewSession
			reason fault.Reason
		}{
			"a minted id":         {app.NewSession{ID: "ses_1"}, fault.InvalidRequest},
			"a minted name":       {app.NewSession{Name: "ses_01j"}, fault.InvalidRequest},
			"a blank":             {app.NewSession{Name: " x"}, fault.InvalidRequest},
			"a newline":           {app.NewSession{Name: "x\ny"}, fault.InvalidRequest},
			"too long":            {app.NewSession{Name: strings.Repeat("x", 257)}, fault.InvalidRequest},
			"a subject no one is": {app.NewSession{Name: "x", Subject: "a\x00b"}, fault.InvalidRequest},
			"no parent":           {app.NewSession{Name: "x", Parent: "nobody"}, fault.NotFound},
			"a state of another":  {app.NewSession{Name: "x", Parent: "root", StateID: st.Key.ID}, fault.PermissionDenied},
			"a state as a root":   {app.NewSession{Name: "x", StateID: st.Key.ID}, fault.PermissionDenied},
			"no component":        {app.NewSession{Name: "x", StateRef: "none"}, fault.NotFound},
		} {
			_, _, err := r.create(c.req)
			if got := fault.ReasonOf(err); got != c.reason {
				r.Errorf("%s: %v, want %s", name, err, c.reason)
			}
		}
		r.session(app.NewSession{Name: "x", Parent: "owner", StateID: st.Key.ID})
	})
}

// S11.1: a root has depth 0, and its tree 32 levels below it.
func TestTreesAreBounded(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{}, func(r *rig) {
		r.session(app.NewSession{Name: "0"})
		for depth := 1; depth <= 32; depth++ {
			m := r.session(app.NewSession{Name: fmt.Sprint(depth), Parent: fmt.Sprint(depth - 1)})
			if m.Depth != depth || m.RootName != "0" {
				r.Fatalf("session %d is %+v", depth, m.Session)
			}
		}
		_, _, err := r.create(app.NewSession{Name: "33", Parent: "32"})
		r.refused(err, fault.FailedPrecondition)
		_, err = r.Member(r.Context(), "default", "33")
		r.refused(err, fault.NotFound)
		r.session(app.NewSession{Name: "33"})
	})
}

// A creation is several commits: a name, an id, the session. Whichever of them fails,
// or is all that was done when the process died, the name leads to the session, the
// request again to the same, and another request is refused.
func TestCreationThatWasCutShort(t *testing.T) {
	t.Parallel()
	full := app.NewSession{ID: "own-id", Name: "name", Parent: "root", Prompt: "go", Skip: true}
	finish := map[string]func(r *rig) error{
		"by its name":  func(r *rig) error { _, err := r.Member(r.Context(), "default", "name"); return err },
		"as the actor": func(r *rig) error { _, _, err := r.State(r.Context(), agent("name"), "", 0, nil); return err },
		"as a parent": func(r *rig) error {
			_, _, err := r.create(app.NewSession{Name: "grandchild", Parent: "name"})
			return err
		},
		"by the request":  func(r *rig) error { _, _, err := r.create(full); return err },
		"by who is taken": func(r *rig) error { _, _, err := r.create(app.NewSession{Name: "name"}); return err },
	}
	for n := 1; n <= 3; n++ {
		for _, befalls := range []storetest.Fault{storetest.Failed, storetest.FailedButApplied, storetest.Uncertain} {
			for how, next := range finish {
				t.Run(fmt.Sprintf("%d %d %s", n, befalls, how), func(t *testing.T) {
					t.Parallel()
					everywhere(t, app.Config{}, func(r *rig) {
						r.state("root", anything, `{}`)
						if _, _, err := r.faulty(storetest.Nth(n, befalls)).CreateSession(r.Context(), operator, full); err == nil {
							r.Fatal("it was acknowledged")
						}
						begun := n > 1 || befalls == storetest.FailedButApplied
						err := next(r)
						switch {
						case how == "by who is taken" && begun:
							r.refused(err, fault.NameTaken)
						case how == "by who is taken":
							if err != nil {
								r.Errorf("the name is free: %v", err)
							}
							return
						case begun || how == "by the request":
							if err != nil {
								r.Fatalf("it does not continue: %v", err)
							}
						case err == nil:
							r.Fatal("a session that was never begun is there")
						}
						m, _, err := r.create(full)
						if err != nil || m.ID != "own-id" || m.Name != "name" || m.ParentName != "root" || m.Prompt != "go" {
							r.Errorf("the request again: %+v, %v", m, err)
						}
						if by := r.member("own-id"); by.Key != m.Key || r.member("name").Key != m.Key {
							r.Errorf("its id leads to %+v", by)
						}
						if root := r.member("root"); root.OpenChildren != 1 {
							r.Errorf("its parent counts %d children", root.OpenChildren)
						}
					})
				})
			}
		}
	}
}

// A creation that has its name but can never have its id leaves no trace, also when
// nobody was there to take the name back.
func TestCreationWhoseIDIsTaken(t *testing.T) {
	t.Parallel()
	req := app.NewSession{ID: "id", Name: "second"}
	for name, next := range map[string]func(r *rig){
		"nothing": func(*rig) {},
		"a read": func(r *rig) {
			_, err := r.Member(r.Context(), "default", "second")
			r.refused(err, fault.NotFound)
		},
		"the request again": func(r *rig) {
			_, _, err := r.create(req)
			r.refused(err, fault.NameTaken)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everywhere(t, app.Config{}, func(r *rig) {
				first := r.session(app.NewSession{ID: "id", Name: "first"})
				// It dies before it can take the name back.
				dies := r.faulty(func(_ int, batch *store.Batch) storetest.Fault {
					if len(batch.Deletes) > 0 {
						return storetest.Failed
					}
					return storetest.Healthy
				})
				_, _, err := dies.CreateSession(r.Context(), operator, req)
				r.refused(err, fault.NameTaken)
				next(r)
				if m := r.session(app.NewSession{Name: "second"}); m.ID == "id" {
					r.Errorf("the name leads to %+v", m.Session)
				}
				if r.member("id").Key != first.Key || r.member("first").Key != first.Key {
					r.Error("the first one has lost its names")
				}
			})
		})
	}
}

// The name of a creation that fails is taken back by two at once, and a third has got
// it in between: it keeps it.
func TestNameIsNotTakenFromItsNextOwner(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{}, func(r *rig) {
		r.session(app.NewSession{ID: "id", Name: "first"})
		var third *app.Member
		slow := r.before(func(batch *store.Batch) bool { return len(batch.Deletes) > 0 }, func() {
			// The session is looked for, which takes the name back, and then made.
			third = r.session(app.NewSession{Name: "name"})
		})
		_, _, err := slow.CreateSession(r.Context(), operator, app.NewSession{ID: "id", Name: "name"})
		r.refused(err, fault.NameTaken)
		if got := r.member("name"); third == nil || got.Key != third.Key {
			r.Errorf("the name leads to %+v, not to %+v", got, third)
		}
		_, _, err = r.create(app.NewSession{Name: "name", Subject: "another"})
		r.refused(err, fault.NameTaken)
	})
}

// preempted is a store where something happens just before a record is read for the
// first time.
type preempted struct {
	store.Store
	kind string
	once sync.Once
	do   func()
}

func (p *preempted) Get(ctx context.Context, key store.Key) (store.Record, error) {
	if key.Kind == p.kind {
		p.once.Do(p.do)
	}
	return p.Store.Get(ctx, key)
}

// A name that was taken, and is free again before it is known by whom, is still to
// be reserved.
func TestNameThatIsFreeAgain(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{}, func(r *rig) {
		r.session(app.NewSession{ID: "id", Name: "first"})
		dies := r.faulty(func(_ int, batch *store.Batch) storetest.Fault {
			if len(batch.Deletes) > 0 {
				return storetest.Failed
			}
			return storetest.Healthy
		})
		_, _, err := dies.CreateSession(r.Context(), operator, app.NewSession{ID: "id", Name: "name"})
		r.refused(err, fault.NameTaken)
		late := r.replica(&preempted{Store: r.store, kind: "session_ref", do: func() {
			_, err := r.Member(r.Context(), "default", "name") // which frees it
			r.refused(err, fault.NotFound)
		}})
		m, _, err := late.CreateSession(r.Context(), operator, app.NewSession{Name: "name"})
		if err != nil || r.member("name").Key != m.Key {
			r.Errorf("created %+v, %v", m, err)
		}
	})
}

// Of two that want one name, or one id, one gets it; the same request at once is one
// session.
func TestReplicasRaceForANameAndAnID(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{}, func(r *rig) {
		r.session(app.NewSession{Name: "root"})
		replicas := r.replicas(3)
		race := func(req func(i int) app.NewSession) (homes map[string]int) {
			homes = map[string]int{}
			var mu sync.Mutex
			var group sync.WaitGroup
			for i := range 6 {
				group.Go(func() {
					m, _, err := replicas[i%3].CreateSession(r.Context(), operator, req(i))
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						homes[m.Key.ID]++
					} else if fault.ReasonOf(err) != fault.NameTaken {
						r.Errorf("%+v: %v", req(i), err)
					}
				})
			}
			group.Wait()
			return homes
		}
		for round := range 10 {
			name := fmt.Sprint("n", round)
			if homes := race(func(i int) app.NewSession { return app.NewSession{Name: name, Subject: fmt.Sprint(i)} }); len(homes) != 1 {
				r.Errorf("one name led to %v", homes)
			}
			id := fmt.Sprint("i", round)
			if homes := race(func(i int) app.NewSession { return app.NewSession{ID: id, Name: fmt.Sprint(id, " ", i)} }); len(homes) != 1 {
				r.Errorf("one id led to %v", homes)
			}
			same := app.NewSession{ID: "same " + id, Name: "same " + name, Parent: "root"}
			if homes := race(func(int) app.NewSession { return same }); len(homes) != 1 || homes[r.member(same.ID).Key.ID] != 6 {
				r.Errorf("one request led to %v", homes)
			}
			// Anyone who lost has left no name behind.
			for i := range 6 {
				name := fmt.Sprint(id, " ", i)
				if m, err := r.Member(r.Context(), "default", name); err == nil && m.Key != r.member(id).Key {
					r.Errorf("%s leads to %+v", name, m)
				} else if err != nil {
					r.refused(err, fault.NotFound)
				}
			}
		}
		if root := r.member("root"); root.OpenChildren != 10 {
			r.Errorf("the root counts %d children", root.OpenChildren)
		}
	})
}
