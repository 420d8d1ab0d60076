package app_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/statestore/internal/app"
	"github.com/interlock-run/interlock/services/statestore/internal/opening"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
)

// gone demands that nothing of a state is left.
func (r *rig) gone(id string) {
	r.Helper()
	for _, version := range []int64{0, 1} {
		_, _, err := r.States.Get(r.Context(), operator, id, version, nil)
		r.refused(err, fault.NotFound)
	}
	_, _, err := r.States.History(r.Context(), operator, id, 0, 10)
	r.refused(err, fault.NotFound)
	_, err = r.Editor.Update(r.Context(), operator, merge(id, `{}`))
	r.refused(err, fault.NotFound)
	key := store.Key{Namespace: "default", Kind: ports.KindState, ID: id}
	if entries, err := r.store.History(r.Context(), key, 0, 10); err != nil || len(entries) != 0 {
		r.Errorf("%d entries of history are kept, %v", len(entries), err)
	}
}

// S10.8: a state goes when its root session has ended, or by force, which agents
// have not.
func TestDeleteState(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		st := r.state("root", anything, `{}`)
		id := st.Key.ID
		st = r.update(operator, merge(id, `{"a":1}`))
		stale := r.replica(r.open())
		if _, err := stale.Editor.Update(r.Context(), operator, merge(id, `{}`)); err != nil {
			r.Fatal(err)
		}
		st.Version++
		r.session(opening.Request{Name: "child", Parent: "root", Skip: true})
		r.state("stranger", anything, `{}`)
		remove := func(caller ports.Caller, expected int64, force bool) error {
			return r.Remover.Delete(r.Context(), caller, id, expected, force)
		}
		r.refused(remove(operator, 0, false), fault.FailedPrecondition)
		r.refused(remove(agent("root"), 0, true), fault.PermissionDenied)
		r.refused(remove(agent(""), 0, false), fault.SessionRequired)
		r.refused(remove(agent("stranger"), 0, false), fault.PermissionDenied)
		if f := r.refused(remove(operator, 1, true), fault.VersionConflict); f.Metadata["current_version"] != "3" {
			r.Errorf("it tells %+v", f.Metadata)
		}
		r.refused(r.Remover.Delete(r.Context(), operator, "wfstate_none", 0, true), fault.NotFound)
		r.unchanged(st)

		r.stop("root", session.Stop{}) // its child has not ended: nor has it
		r.refused(remove(agent("root"), 0, false), fault.FailedPrecondition)
		r.stop("child", session.Stop{})
		root := r.member("root")
		if root.Status == session.Finished { // the callback of its child
			root = r.stop("root", session.Stop{End: true})
		}
		if root.Status != session.Ended {
			r.Fatalf("the root is %s", root.Status)
		}
		lease, err := r.Locks.Lock(r.Context(), operator, id, "holder", time.Minute, 0, "")
		if err != nil {
			r.Fatal(err)
		}
		if f := r.refused(remove(agent("root"), 0, false), fault.Locked); f.Metadata["holder"] != "holder" {
			r.Errorf("it tells %+v", f.Metadata)
		}
		if err := r.Locks.Unlock(r.Context(), operator, id, lease.Token); err != nil {
			r.Fatal(err)
		}
		r.refused(remove(agent("child"), 3, false), fault.PermissionDenied) // only the root, or an operator
		if err := remove(agent("root"), 3, false); err != nil {
			r.Fatalf("after the end: %v", err)
		}
		r.gone(id)
		_, err = stale.Editor.Update(r.Context(), operator, merge(id, `{}`))
		r.refused(err, fault.NotFound)
		r.refused(remove(operator, 0, true), fault.NotFound)
		if got := r.member("root"); got.StateID != "" {
			r.Errorf("the root shares %q", got.StateID)
		}
	})
}

// A deletion and updates race: an update is acknowledged before it, or not at all.
func TestDeleteRacesUpdates(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		for range 10 {
			id := r.state(time.Now().String(), anything, `{}`).Key.ID
			replicas := r.replicas(2)
			var group sync.WaitGroup
			begun := make(chan struct{}, 100)
			for range 4 {
				group.Go(func() {
					for {
						_, err := replicas[0].Editor.Update(r.Context(), operator, patch(id, `[]`))
						if fault.ReasonOf(err) == fault.NotFound {
							return
						}
						if err != nil {
							r.Errorf("update: %v", err)
							return
						}
						select {
						case begun <- struct{}{}:
						default:
						}
					}
				})
			}
			for range 3 {
				receive(r, begun)
			}
			for {
				err := replicas[1].Remover.Delete(r.Context(), operator, id, 0, true)
				if err == nil {
					break
				}
				r.refused(err, fault.VersionConflict) // the updates were faster, too often
			}
			group.Wait()
			r.gone(id)
		}
	})
}

// S10.8: a state goes when it has outlived its root session for as long as it may,
// by whichever replica; a root that continues keeps it.
func TestRetentionOfStates(t *testing.T) {
	t.Parallel()
	const keep = time.Hour
	everywhere(t, ports.Config{Retention: keep}, func(r *rig) {
		other := r.replica(r.open())
		sweep := func(after time.Duration) {
			r.clock.Advance(after)
			r.sweep(other, r.App)
		}
		there := func(id string) {
			r.Helper()
			if _, _, err := r.States.Get(r.Context(), operator, id, 0, nil); err != nil {
				r.Fatalf("the state is gone: %v", err)
			}
		}
		id := r.state("root", anything, `{}`).Key.ID
		sweep(100 * keep)
		there(id)
		r.stop("root", session.Stop{})
		sweep(keep - time.Second)
		there(id)
		// It begins again, and ends later.
		if _, err := r.Sessions.Resume(r.Context(), operator, "root", "", ""); err != nil {
			r.Fatal(err)
		}
		sweep(time.Second)
		there(id)
		sweep(100 * keep)
		there(id)
		r.stop("root", session.Stop{})
		sweep(keep - time.Second)
		there(id)
		// Anyone who holds the lock keeps it so long.
		if _, err := r.Locks.Lock(r.Context(), operator, id, "h", time.Minute, 0, ""); err != nil {
			r.Fatal(err)
		}
		sweep(time.Second)
		there(id)
		sweep(time.Minute)
		r.gone(id)

		// One that was ended, resumed and ended again within the time.
		id = r.state("root 2", anything, `{}`).Key.ID
		r.stop("root 2", session.Stop{})
		sweep(keep / 2)
		if _, err := r.Sessions.Resume(r.Context(), operator, "root 2", "", ""); err != nil {
			r.Fatal(err)
		}
		r.stop("root 2", session.Stop{})
		sweep(keep / 2)
		there(id)
		sweep(keep / 2)
		r.gone(id)
		r.noTimers()
	})
}

// noTimers demands that nothing is left to fire, ever.
func (r *rig) noTimers() {
	r.Helper()
	timers, err := r.store.Due(r.Context(), r.clock.Now().Add(1000*time.Hour), 10, app.Swept...)
	if err != nil || len(timers) != 0 {
		r.Errorf("timers are left: %v, %v", timers, err)
	}
}

// partly is a store of which one shard is out of reach.
type partly struct {
	store.Store
	broken int
}

func (p *partly) Due(ctx context.Context, now time.Time, limit int, kinds ...string) ([]store.Timer, error) {
	timers, err := p.Store.Due(ctx, now, limit, kinds...)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(timers, func(timer store.Timer) bool {
		return timer.Key.Shard(p.Shards()) == p.broken
	}), store.ErrUnavailable
}

// Shards may live on different servers: one that is out of reach keeps only its own
// timers from firing.
func TestSweepGoesOnBesideABrokenShard(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{Retention: time.Second}, func(r *rig) {
		st := r.state("root", anything, `{}`)
		r.stop("root", session.Stop{})
		r.clock.Advance(time.Second)
		mine := st.Key.Shard(r.store.Shards())
		r.replica(&partly{r.store, mine}).SweepOnce(r.Context())
		r.unchanged(st)
		for shard := range r.store.Shards() {
			if shard != mine {
				r.replica(&partly{r.store, shard}).SweepOnce(r.Context())
				break
			}
		}
		r.gone(st.Key.ID)
	})
}
