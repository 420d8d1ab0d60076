package app_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
	"github.com/interlock-run/interlock/services/statestore/internal/writes"
)

// S10.5: while the lock is held only its token writes; when it has lapsed, or
// another has it, that token never does again.
func TestLockFencesWriters(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		st := r.state("root", anything, `{"n":0}`)
		id := st.Key.ID
		other := r.replica(r.open())
		lock := func(holder string, ttl time.Duration, token int64) (store.Lease, error) {
			return r.Locks.Lock(r.Context(), agent("root"), id, holder, ttl, token, "")
		}
		write := func(token int64) error {
			_, err := other.Editor.Update(r.Context(), operator, writes.Update{StateID: id, Patch: []byte(`[]`), Token: token})
			return err
		}
		held := func(err error, holder string) {
			r.Helper()
			f := r.refused(err, fault.Locked)
			if f.Metadata["holder"] != holder || f.Metadata["until"] == "" || f.RetryAfter < time.Second || f.RetryAfter > time.Minute {
				r.Errorf("it tells %+v and to try after %v", f.Metadata, f.RetryAfter)
			}
		}

		r.refused(write(1), fault.Fenced) // nobody holds anything
		first, err := lock("one", time.Minute, 0)
		if err != nil || first.Token < 1 || !first.Expires.Equal(r.clock.Now().Add(time.Minute)) {
			r.Fatalf("lock: %+v, %v", first, err)
		}
		if got := r.read(id); got.Lock == nil || got.Lock.Holder != "one" || got.Version != 1 {
			r.Errorf("a reader sees %+v", got.Lock)
		}
		held(write(0), "one")
		r.refused(write(first.Token+1), fault.Fenced)
		if err := write(first.Token); err != nil {
			r.Errorf("the holder: %v", err)
		}
		_, err = lock("two", time.Minute, 0)
		held(err, "one")
		_, err = lock("two", time.Minute, first.Token+1)
		r.refused(err, fault.Fenced)

		// Renewed in time it continues; the token stays.
		r.clock.Advance(59 * time.Second)
		renewed, err := lock("one", time.Minute, first.Token)
		if err != nil || renewed.Token != first.Token || !renewed.Expires.Equal(r.clock.Now().Add(time.Minute)) {
			r.Errorf("renewed: %+v, %v", renewed, err)
		}
		r.clock.Advance(59 * time.Second)
		held(write(0), "one")

		// The very moment that it lapses it is free, and the token is no good.
		r.clock.Advance(time.Second)
		r.refused(write(first.Token), fault.Fenced)
		_, err = lock("one", time.Minute, first.Token)
		r.refused(err, fault.Fenced)
		if err := write(0); err != nil {
			r.Errorf("a lapsed lock: %v", err)
		}
		if got := r.read(id); got.Lock != nil {
			r.Errorf("a reader sees %+v", got.Lock)
		}

		second, err := lock("two", time.Minute, 0)
		if err != nil || second.Token <= first.Token {
			r.Fatalf("the next lock: %+v, %v", second, err)
		}
		r.refused(write(first.Token), fault.Fenced)
		unlock := func(token int64) {
			r.Helper()
			if err := other.Locks.Unlock(r.Context(), operator, id, token); err != nil {
				r.Errorf("unlock: %v", err)
			}
		}
		r.refused(other.Locks.Unlock(r.Context(), operator, id, first.Token), fault.Fenced) // which frees nothing
		held(write(0), "two")
		// A name is no proof: who takes it again under the same one must wait.
		_, err = lock("two", time.Minute, 0)
		held(err, "two")
		unlock(second.Token)
		unlock(second.Token)
		r.refused(write(second.Token), fault.Fenced)
		if err := write(0); err != nil {
			r.Errorf("a free state: %v", err)
		}
		if got := r.read(id); got.Version != 4 {
			r.Errorf("version %d after the writes that were accepted", got.Version)
		}
	})
}

func TestLockRefusals(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		id := r.state("root", anything, `{}`).Key.ID
		r.state("stranger", anything, `{}`)
		for _, c := range []struct {
			caller ports.Caller
			id     string
			reason fault.Reason
		}{
			{agent(""), id, fault.SessionRequired},
			{agent("nobody"), id, fault.PermissionDenied},
			{agent("stranger"), id, fault.PermissionDenied},
			{operator, "wfstate_none", fault.NotFound},
		} {
			_, err := r.Locks.Lock(r.Context(), c.caller, c.id, "h", time.Minute, 0, "")
			r.refused(err, c.reason)
			r.refused(r.Locks.Unlock(r.Context(), c.caller, c.id, 1), c.reason)
		}
		// A deletion by force is by an operator, no matter who holds the lock.
		if _, err := r.Locks.Lock(r.Context(), operator, id, "h", time.Minute, 0, ""); err != nil {
			r.Fatal(err)
		}
		if err := r.Remover.Delete(r.Context(), operator, id, 0, true); err != nil {
			r.Errorf("by force: %v", err)
		}
	})
}

// Tokens only grow, and of callers that race for a lock one gets it at a time.
func TestReplicasRaceForALock(t *testing.T) {
	t.Parallel()
	const racers, rounds = 8, 20
	everywhere(t, ports.Config{}, func(r *rig) {
		id := r.state("root", anything, `{"list":[]}`).Key.ID
		replicas := r.replicas(4)
		var inside, last atomic.Int64
		var group sync.WaitGroup
		for i := range racers {
			group.Go(func() {
				a, holder := replicas[i%4], fmt.Sprint(i)
				for done := 0; done < rounds; {
					lease, err := a.Locks.Lock(r.Context(), operator, id, holder, time.Hour, 0, "")
					if fault.ReasonOf(err) == fault.Locked {
						continue
					}
					if err != nil {
						r.Errorf("lock: %v", err)
						return
					}
					if n := inside.Add(1); n != 1 {
						r.Errorf("%d have the lock", n)
					}
					if before := last.Swap(lease.Token); before >= lease.Token {
						r.Errorf("token %d after %d", lease.Token, before)
					}
					if _, err := a.Editor.Update(r.Context(), operator, writes.Update{
						StateID: id, Patch: fmt.Appendf(nil, `[{"op":"add","path":"/list/-","value":%d}]`, lease.Token), Token: lease.Token,
					}); err != nil {
						r.Errorf("the holder's write: %v", err)
					}
					inside.Add(-1)
					if err := a.Locks.Unlock(r.Context(), operator, id, lease.Token); err != nil {
						r.Errorf("unlock: %v", err)
					}
					done++
				}
			})
		}
		group.Wait()
		st := r.read(id)
		list, _ := st.Data.Get("list")
		var before int64
		for _, v := range list.Elements() {
			token, _ := v.Number().Int64()
			if token <= before {
				r.Errorf("token %d wrote after %d", token, before)
			}
			before = token
		}
		if list.Len() != racers*rounds {
			r.Errorf("%d writes", list.Len())
		}
	})
}

// A lock whose event could not be stored is given back, so that it can be taken
// again.
func TestLockWhoseAnswerWasLost(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		id := r.state("root", anything, `{}`).Key.ID
		a := r.faulty(storetest.Nth(1, storetest.Failed))
		_, err := a.Locks.Lock(r.Context(), operator, id, "h", time.Minute, 0, "")
		r.refused(err, fault.Unavailable)
		lease, err := a.Locks.Lock(r.Context(), operator, id, "h", time.Minute, 0, "")
		if err != nil {
			r.Fatal(err)
		}
		r.update(operator, writes.Update{StateID: id, Merge: []byte(`{}`), Token: lease.Token})
	})
}
