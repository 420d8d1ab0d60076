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
	"github.com/interlock-run/interlock/services/statestore/internal/member"
	"github.com/interlock-run/interlock/services/statestore/internal/opening"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
)

func (r *rig) create(req opening.Request) (*member.Member, bool, error) {
	return r.Opener.Create(r.Context(), operator, req)
}

// S11.1: names and ids are one space, unique in the namespace; the same request
// again returns the same session.
func TestSessionNames(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		plain := r.session(opening.Request{})
		if plain.Name != plain.ID || !strings.HasPrefix(plain.ID, "ses_") {
			r.Errorf("without a name: %+v", plain.Session)
		}
		full := opening.Request{
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
		if _, _, err := other.Sessions.Stop(r.Context(), operator, "a name", session.Stop{End: true}, ""); err != nil {
			r.Fatal(err)
		}
		for _, a := range []*app.App{r.App, other, r.replica(r.open())} {
			again, created, err := a.Opener.Create(r.Context(), operator, full)
			if err != nil || created || again.Key != first.Key || again.Status != session.Ended {
				r.Errorf("again: %+v, %t, %v", again, created, err)
			}
		}

		for name, change := range map[string]func(*opening.Request){
			"another id": func(q *opening.Request) { q.ID = "other" }, "no id": func(q *opening.Request) { q.ID = "" },
			"another name": func(q *opening.Request) { q.Name = "other" }, "another parent": func(q *opening.Request) { q.Parent = "" },
			"another label": func(q *opening.Request) { q.Labels = map[string]string{"os": "linux"} },
			"to report":     func(q *opening.Request) { q.Skip = false }, "not early": func(q *opening.Request) { q.AcceptEarly = false },
			"another subject": func(q *opening.Request) { q.Subject, q.Prompt = "s go", "on" }, "another prompt": func(q *opening.Request) { q.Prompt = "stop" },
			"the id as its name": func(q *opening.Request) { q.ID, q.Name = "", "own-id" }, "the name as its id": func(q *opening.Request) { q.ID, q.Name = "a name", "" },
		} {
			req := full
			change(&req)
			_, _, err := r.create(req)
			if got := fault.ReasonOf(err); got != fault.NameTaken {
				r.Errorf("%s: %v", name, err)
			}
		}
		// What those have reserved in the meantime is free.
		r.session(opening.Request{Name: "other"})
		if _, _, err := r.Opener.Create(r.Context(), ports.Caller{Namespace: "elsewhere"}, opening.Request{Name: "a name"}); err != nil {
			r.Errorf("in another namespace: %v", err)
		}
	})
}

func TestSessionRefusals(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		r.session(opening.Request{Name: "root"})
		st := r.state("owner", anything, `{}`)
		for name, c := range map[string]struct {
			req    opening.Request
			reason fault.Reason
		}{
			"a minted id":         {opening.Request{ID: "ses_1"}, fault.InvalidRequest},
			"a minted name":       {opening.Request{Name: "ses_01j"}, fault.InvalidRequest},
			"a blank":             {opening.Request{Name: " x"}, fault.InvalidRequest},
			"a newline":           {opening.Request{Name: "x\ny"}, fault.InvalidRequest},
			"too long":            {opening.Request{Name: strings.Repeat("x", 257)}, fault.InvalidRequest},
			"a subject no one is": {opening.Request{Name: "x", Subject: "a\x00b"}, fault.InvalidRequest},
			"no parent":           {opening.Request{Name: "x", Parent: "nobody"}, fault.NotFound},
			"a state of another":  {opening.Request{Name: "x", Parent: "root", StateID: st.Key.ID}, fault.PermissionDenied},
			"a state as a root":   {opening.Request{Name: "x", StateID: st.Key.ID}, fault.PermissionDenied},
			"no component":        {opening.Request{Name: "x", StateRef: "none"}, fault.NotFound},
		} {
			_, _, err := r.create(c.req)
			if got := fault.ReasonOf(err); got != c.reason {
				r.Errorf("%s: %v, want %s", name, err, c.reason)
			}
		}
		r.session(opening.Request{Name: "x", Parent: "owner", StateID: st.Key.ID})
	})
}

// S11.1: a root has depth 0, and its tree 32 levels below it.
func TestTreesAreBounded(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		r.session(opening.Request{Name: "0"})
		for depth := 1; depth <= 32; depth++ {
			m := r.session(opening.Request{Name: fmt.Sprint(depth), Parent: fmt.Sprint(depth - 1)})
			if m.Depth != depth || m.RootName != "0" {
				r.Fatalf("session %d is %+v", depth, m.Session)
			}
		}
		_, _, err := r.create(opening.Request{Name: "33", Parent: "32"})
		r.refused(err, fault.FailedPrecondition)
		_, err = r.Names.Find(r.Context(), "default", "33")
		r.refused(err, fault.NotFound)
		r.session(opening.Request{Name: "33"})
	})
}

// A creation is several commits: a name, an id, the session. Whichever of them fails,
// or is all that was done when the process died, the name leads to the session, the
// request again to the same, and another request is refused.
func TestCreationThatWasCutShort(t *testing.T) {
	t.Parallel()
	full := opening.Request{ID: "own-id", Name: "name", Parent: "root", Prompt: "go", Skip: true}
	finish := map[string]func(r *rig) error{
		"by its name":  func(r *rig) error { _, err := r.Names.Find(r.Context(), "default", "name"); return err },
		"as the actor": func(r *rig) error { _, _, err := r.States.Get(r.Context(), agent("name"), "", 0, nil); return err },
		"as a parent": func(r *rig) error {
			_, _, err := r.create(opening.Request{Name: "grandchild", Parent: "name"})
			return err
		},
		"by the request":  func(r *rig) error { _, _, err := r.create(full); return err },
		"by who is taken": func(r *rig) error { _, _, err := r.create(opening.Request{Name: "name"}); return err },
	}
	for n := 1; n <= 3; n++ {
		for _, befalls := range []storetest.Fault{storetest.Failed, storetest.FailedButApplied, storetest.Uncertain} {
			for how, next := range finish {
				t.Run(fmt.Sprintf("%d %d %s", n, befalls, how), func(t *testing.T) {
					t.Parallel()
					everywhere(t, ports.Config{}, func(r *rig) {
						r.state("root", anything, `{}`)
						if _, _, err := r.faulty(storetest.Nth(n, befalls)).Opener.Create(r.Context(), operator, full); err == nil {
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
	req := opening.Request{ID: "id", Name: "second"}
	for name, next := range map[string]func(r *rig){
		"nothing": func(*rig) {},
		"a read": func(r *rig) {
			_, err := r.Names.Find(r.Context(), "default", "second")
			r.refused(err, fault.NotFound)
		},
		"the request again": func(r *rig) {
			_, _, err := r.create(req)
			r.refused(err, fault.NameTaken)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everywhere(t, ports.Config{}, func(r *rig) {
				first := r.session(opening.Request{ID: "id", Name: "first"})
				// It dies before it can take the name back.
				dies := r.faulty(func(_ int, batch *store.Batch) storetest.Fault {
					if len(batch.Deletes) > 0 {
						return storetest.Failed
					}
					return storetest.Healthy
				})
				_, _, err := dies.Opener.Create(r.Context(), operator, req)
				r.refused(err, fault.NameTaken)
				next(r)
				if m := r.session(opening.Request{Name: "second"}); m.ID == "id" {
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
	everywhere(t, ports.Config{}, func(r *rig) {
		r.session(opening.Request{ID: "id", Name: "first"})
		var third *member.Member
		slow := r.before(func(batch *store.Batch) bool { return len(batch.Deletes) > 0 }, func() {
			// The session is looked for, which takes the name back, and then made.
			third = r.session(opening.Request{Name: "name"})
		})
		_, _, err := slow.Opener.Create(r.Context(), operator, opening.Request{ID: "id", Name: "name"})
		r.refused(err, fault.NameTaken)
		if got := r.member("name"); third == nil || got.Key != third.Key {
			r.Errorf("the name leads to %+v, not to %+v", got, third)
		}
		_, _, err = r.create(opening.Request{Name: "name", Subject: "another"})
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
	everywhere(t, ports.Config{}, func(r *rig) {
		r.session(opening.Request{ID: "id", Name: "first"})
		dies := r.faulty(func(_ int, batch *store.Batch) storetest.Fault {
			if len(batch.Deletes) > 0 {
				return storetest.Failed
			}
			return storetest.Healthy
		})
		_, _, err := dies.Opener.Create(r.Context(), operator, opening.Request{ID: "id", Name: "name"})
		r.refused(err, fault.NameTaken)
		late := r.replica(&preempted{Store: r.store, kind: "session_ref", do: func() {
			_, err := r.Names.Find(r.Context(), "default", "name") // which frees it
			r.refused(err, fault.NotFound)
		}})
		m, _, err := late.Opener.Create(r.Context(), operator, opening.Request{Name: "name"})
		if err != nil || r.member("name").Key != m.Key {
			r.Errorf("created %+v, %v", m, err)
		}
	})
}

// Of two that want one name, or one id, one gets it; the same request at once is one
// session.
func TestReplicasRaceForANameAndAnID(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		r.session(opening.Request{Name: "root"})
		replicas := r.replicas(3)
		race := func(req func(i int) opening.Request) (homes map[string]int) {
			homes = map[string]int{}
			var mu sync.Mutex
			var group sync.WaitGroup
			for i := range 6 {
				group.Go(func() {
					m, _, err := replicas[i%3].Opener.Create(r.Context(), operator, req(i))
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
			if homes := race(func(i int) opening.Request { return opening.Request{Name: name, Subject: fmt.Sprint(i)} }); len(homes) != 1 {
				r.Errorf("one name led to %v", homes)
			}
			id := fmt.Sprint("i", round)
			if homes := race(func(i int) opening.Request { return opening.Request{ID: id, Name: fmt.Sprint(id, " ", i)} }); len(homes) != 1 {
				r.Errorf("one id led to %v", homes)
			}
			same := opening.Request{ID: "same " + id, Name: "same " + name, Parent: "root"}
			if homes := race(func(int) opening.Request { return same }); len(homes) != 1 || homes[r.member(same.ID).Key.ID] != 6 {
				r.Errorf("one request led to %v", homes)
			}
			// Anyone who lost has left no name behind.
			for i := range 6 {
				name := fmt.Sprint(id, " ", i)
				if m, err := r.Names.Find(r.Context(), "default", name); err == nil && m.Key != r.member(id).Key {
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
