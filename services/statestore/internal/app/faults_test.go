package app_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/services/statestore/internal/app"
)

// Whatever befalls the commit of a change, its outcome is told as far as it is
// known, and a repeat with the key makes it once.
func TestOutcomeOfACommitThatFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault          storetest.Fault
		plain, keyed   fault.Reason
		plainIs, keyIs int64 // versions afterwards
	}{
		"healthy":            {storetest.Healthy, "", "", 2, 3},
		"failed":             {storetest.Failed, fault.Unavailable, fault.Unavailable, 1, 1},
		"failed but applied": {storetest.FailedButApplied, fault.CommitUncertain, "", 2, 3}, // the key tells
		"uncertain":          {storetest.Uncertain, fault.CommitUncertain, fault.CommitUncertain, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everywhere(t, app.Config{}, func(r *rig) {
				id := r.state("root", anything, `{"list":[]}`).Key.ID
				var healthy atomic.Bool
				a := r.faulty(func(int, *store.Batch) storetest.Fault {
					if healthy.Load() {
						return storetest.Healthy
					}
					return c.fault
				})
				u := patch(id, `[{"op":"add","path":"/list/-","value":"plain"}]`)
				_, err := a.Update(r.Context(), operator, u)
				if got := fault.ReasonOf(err); got != c.plain {
					r.Errorf("without a key: %v", err)
				}
				if st := r.read(id); st.Version != c.plainIs {
					r.Errorf("without a key: version %d", st.Version)
				}
				u = patch(id, `[{"op":"add","path":"/list/-","value":"keyed"}]`)
				u.Key = "k"
				_, err = a.Update(r.Context(), operator, u)
				if got := fault.ReasonOf(err); got != c.keyed {
					r.Errorf("with a key: %v", err)
				}
				if st := r.read(id); st.Version != c.keyIs {
					r.Errorf("with a key: version %d", st.Version)
				}
				healthy.Store(true)
				for range 2 {
					st, err := a.Update(r.Context(), operator, u)
					if want := c.plainIs + 1; err != nil || st.Version != want || r.read(id).Version != want {
						r.Errorf("the repeat: %+v, %v; want version %d", st, err, want)
					}
				}
				if _, err := a.Update(r.Context(), operator, merge(id, `{}`)); err != nil {
					r.Errorf("the next one: %v", err)
				}
			})
		})
	}
}

// deaf is a store that does not answer what idempotency keys it knows.
type deaf struct {
	store.Store
	after atomic.Int64 // answers that it still gives
}

func (d *deaf) Answer(ctx context.Context, owner store.Key, name string) ([]byte, error) {
	if d.after.Add(-1) < 0 {
		return nil, store.ErrUnavailable
	}
	return d.Store.Answer(ctx, owner, name)
}

// That the outcome is not known is not to be told as "no change was made", because
// the store is gone altogether afterwards.
func TestOutcomeStaysUnknown(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{}, func(r *rig) {
		id := r.state("root", anything, `{}`).Key.ID
		st := &deaf{Store: &storetest.Faulty{Store: r.store, Decide: storetest.Nth(1, storetest.FailedButApplied)}}
		st.after.Store(1)
		u := merge(id, `{"a":1}`)
		u.Key = "k"
		_, err := r.replica(st).Update(r.Context(), operator, u)
		r.refused(err, fault.CommitUncertain)
		if got := r.read(id).Version; got != 2 {
			r.Errorf("version %d", got)
		}
	})
}

// S6.5: a repeat is told the version that the first request made, also when that is
// not kept any more; then without its data.
func TestRepeatOfAVersionThatIsNotKept(t *testing.T) {
	t.Parallel()
	everywhere(t, app.Config{HistoryVersions: 1}, func(r *rig) {
		id := r.state("root", anything, `{}`).Key.ID
		u := merge(id, `{"a":1}`)
		u.Key = "k"
		first := r.update(as("root"), u)
		r.schema("of root", `{}`)
		r.update(operator, app.Update{StateID: id, Migrate: true})
		for range 130 {
			r.clock.Advance(1000)
			r.update(operator, patch(id, `[]`))
		}
		again, err := r.replicas(1)[0].Update(r.Context(), as("root"), u)
		if err != nil || again.Version != 2 || !again.Data.IsZero() || !again.UpdatedAt.Equal(first.UpdatedAt) ||
			again.UpdatedBy != "root" || again.SchemaVersion != 1 || again.SchemaID != first.SchemaID {
			r.Errorf("the repeat is %+v, %v; first it was %+v", again, err, first)
		}
	})
}

// S6.5 under a store that fails all the time: with keys nothing is lost or made
// twice; without, what was acknowledged is there, and no more than was asked for.
func TestUpdatesOverAFailingStore(t *testing.T) {
	t.Parallel()
	const writers, each = 8, 25
	everywhere(t, app.Config{}, func(r *rig) {
		id := r.state("root", anything, `{"keyed":[],"plain":[]}`).Key.ID
		var mu sync.Mutex
		random := randtest.New(r, 3)
		replicas := make([]*app.App, 3)
		for i := range replicas {
			replicas[i] = r.replica(&storetest.Faulty{Store: r.open(), Decide: func(int, *store.Batch) storetest.Fault {
				mu.Lock()
				defer mu.Unlock()
				if random.IntN(3) > 0 {
					return storetest.Healthy
				}
				return storetest.Fault(1 + random.IntN(3))
			}})
		}
		var group sync.WaitGroup
		var acked, maybe sync.Map
		for w := range writers {
			group.Go(func() {
				for n := range each {
					name := fmt.Sprintf("%d.%d", w, n)
					u := patch(id, `[{"op":"add","path":"/keyed/-","value":"`+name+`"}]`)
					u.Key = name
					for try := w; ; try++ { // the next replica each time
						_, err := replicas[try%3].Update(r.Context(), operator, u)
						if err == nil {
							break
						}
						if reason := fault.ReasonOf(err); reason != fault.Unavailable && reason != fault.CommitUncertain {
							r.Errorf("%s: %v", name, err)
							return
						}
					}
					_, err := replicas[w%3].Update(r.Context(), operator, patch(id, `[{"op":"add","path":"/plain/-","value":"`+name+`"}]`))
					switch fault.ReasonOf(err) {
					case "":
						acked.Store(name, true)
					case fault.CommitUncertain:
						maybe.Store(name, true)
					case fault.Unavailable:
					default:
						r.Errorf("%s: %v", name, err)
					}
				}
			})
		}
		group.Wait()
		final := r.read(id)
		count := func(field string) map[string]int {
			list, _ := final.Data.Get(field)
			counts := map[string]int{}
			for _, v := range list.Elements() {
				counts[v.Str()]++
			}
			return counts
		}
		keyed, plain := count("keyed"), count("plain")
		for w := range writers {
			for n := range each {
				name := fmt.Sprintf("%d.%d", w, n)
				if keyed[name] != 1 {
					r.Errorf("with its key %s is there %d times", name, keyed[name])
				}
				_, sure := acked.Load(name)
				_, unsure := maybe.Load(name)
				if got := plain[name]; got > 1 || sure && got != 1 || !sure && !unsure && got != 0 {
					r.Errorf("%s is there %d times; acknowledged %t, uncertain %t", name, got, sure, unsure)
				}
			}
		}
		if want := int64(1 + len(keyed) + len(plain)); final.Version != want {
			r.Errorf("version %d with %d changes", final.Version, want-1)
		}
	})
}

// The report of a child and its update are one commit: whatever befalls it, both are
// there or neither.
func TestReportAndUpdateAreOne(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault   storetest.Fault
		applied bool
	}{"failed": {storetest.Failed, false}, "failed but applied": {storetest.FailedButApplied, true}, "uncertain": {storetest.Uncertain, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everywhere(t, app.Config{}, func(r *rig) {
				id := r.state("root", anything, `{}`).Key.ID
				r.session(app.NewSession{Name: "child", Parent: "root"})
				r.stop("child", session.Stop{})
				a := r.faulty(storetest.Nth(1, c.fault))
				if _, err := a.Update(r.Context(), agent("child"), merge("", `{"done":true}`)); err == nil {
					r.Error("acknowledged")
				}
				version, status := r.read(id).Version, r.member("child").Update
				if applied := version == 2 && status == session.UpdateCompleted; applied != c.applied || !applied && (version != 1 || status != session.UpdatePending) {
					r.Errorf("version %d, %s", version, status)
				}
			})
		})
	}
}
