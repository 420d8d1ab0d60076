package decisionlog_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest"
)

// Decisions are sealed soon, once, and in order; until then the log says that they
// are not.
func TestSealing(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.AppendMany("run_1", 3)
		r.SweepOnce(r.Context()) // too soon
		if got := r.verified("run_1"); !got.OK() || got.Sealed != 0 || got.Unsealed != 3 {
			r.Fatalf("%+v", got)
		}
		r.sealed(r.replicas(2)...)
		first := r.verified("run_1")
		if !first.OK() || first.Sealed != 3 || first.Unsealed != 0 || len(first.Head) != 64 {
			r.Fatalf("%+v", first)
		}
		if got := r.Events(); len(got) != 1 || got[0] != "interlock.default.audit.run_1.sealed" {
			r.Errorf("announced %v", got)
		}
		r.AppendMany("run_1", 2)
		r.sealed()
		second := r.verified("run_1")
		if !second.OK() || second.Sealed != 5 || second.Head == first.Head {
			r.Errorf("%+v", second)
		}
		for range 3 {
			r.sealed()
		}
		if got := r.Events(); len(got) != 1 {
			r.Errorf("announced %v", got)
		}
		due, err := r.Storage.Due(r.Context(), r.Clock.Now().Add(decisionlog.SealEvery), 10, "decisions")
		if err != nil || len(due) != 0 {
			r.Errorf("timers are left: %v, %v", due, err)
		}
	})
}

// A partition with more records than a seal covers is sealed at once.
func TestSealingOfMany(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.AppendMany("run_1", 2100)
		r.sealed()
		if got := r.verified("run_1"); !got.OK() || got.Sealed != 2100 {
			r.Errorf("%+v", got)
		}
		found, next, err := r.List(r.Context(), enforcertest.Namespace, decisionlog.Query{Limit: 1000})
		if err != nil || len(found) != 1000 || next == "" {
			r.Fatalf("%d records, next %q, %v", len(found), next, err)
		}
		for _, record := range found {
			if record.Hash == "" {
				r.Fatalf("record %d has no hash", record.Sequence)
			}
		}
	})
}

// A partition that is never idle is sealed too: each sweep finds a timer that is due.
func TestSealingWhileBusy(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		logged := 0
		for range 40 {
			r.Clock.Advance(decisionlog.SealEvery / 4)
			r.AppendMany("run_1", 1)
			logged++
			r.SweepOnce(r.Context())
			r.AppendMany("run_1", 1)
			logged++
			if got := r.verified("run_1"); got.Unsealed > 16 {
				r.Fatalf("%d of %d records wait for their seal", got.Unsealed, logged)
			}
		}
	})
}

// hooked returns a replica that does something before it commits a seal.
func (r *rig) hooked(do func()) *decisionlog.Log {
	return r.broken(func(_ int, batch *store.Batch) storetest.Fault {
		if enforcertest.Puts(batch, "decision_seal") {
			do()
		}
		return storetest.Healthy
	})
}

// A decision that comes while those before it are sealed keeps its timer.
func TestSealingMissesNothing(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.AppendMany("run_1", 1)
		late := r.Record("run_1", "late") // of the same stretch of time
		var once sync.Once
		a := r.hooked(func() {
			once.Do(func() {
				if err := r.Append("run_1", late); err != nil {
					r.Error(err)
				}
			})
		})
		r.Clock.Advance(decisionlog.SealEvery)
		for range 3 {
			a.SweepOnce(r.Context())
		}
		if got := r.verified("run_1"); !got.OK() || got.Sealed != 2 {
			r.Errorf("%+v", got)
		}
	})
}

// Decisions that keep coming hold up no seal.
func TestSealingNeverWaits(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.AppendMany("run_1", 1)
		a := r.hooked(func() { r.AppendMany("run_1", 1) })
		r.Clock.Advance(decisionlog.SealEvery)
		for range 3 {
			a.SweepOnce(r.Context())
		}
		if got := r.verified("run_1"); !got.OK() || got.Sealed < 3 {
			r.Errorf("%+v", got)
		}
	})
}

// A partition that cannot be sealed waits, and keeps no other from its turn.
func TestSealingThatFailsWaits(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.AppendMany("run_1", 1)
		tries := 0
		a := r.broken(func(_ int, batch *store.Batch) storetest.Fault {
			if enforcertest.Puts(batch, "decision_seal") {
				tries++
				return storetest.Failed
			}
			return storetest.Healthy
		})
		r.Clock.Advance(decisionlog.SealEvery)
		for range 3 {
			a.SweepOnce(r.Context())
		}
		if tries != 1 {
			r.Errorf("%d tries at once", tries)
		}
		r.Clock.Advance(decisionlog.FiredAgain)
		a.SweepOnce(r.Context())
		if tries != 2 {
			r.Errorf("%d tries in the end", tries)
		}
	})
}

// Heads are kept elsewhere, so the way to one never changes.
func TestHeadIsAFormat(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		for i := range 2 { // as older releases wrote them
			if err := r.Append("run_1", r.Record("run_1", fmt.Sprintf("call %d", i))); err != nil {
				r.Fatal(err)
			}
		}
		r.AppendMany("run_2", 2)
		r.sealed()
		for run, want := range map[string]string{
			"run_1": "355925b4f5499a36c2b3fe8fd9e7a7ff297904455945be025868c47b974e4a2a",
			"run_2": "5c11e5e8eff7bc7fa532486228db816621dff018d6eb53b87bac6cf68336b065",
		} {
			if got := r.verified(run); got.Head != want {
				r.Errorf("the head of %s is %s, was %s", run, got.Head, want)
			}
		}
	})
}

// Anyone who seals while others write: nothing is sealed twice, nothing left out.
func TestSealingUnderConcurrentWrites(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		const writers, each = 4, 50
		var group sync.WaitGroup
		var writing sync.WaitGroup
		done := make(chan struct{})
		for i := range writers {
			st := r.Backend.Open(r.T, r.Clock)
			writing.Go(func() {
				for n := range each {
					if err := r.AppendTo(st, enforcertest.Namespace, "run_1", r.Record("run_1", fmt.Sprintf("call %d of %d", n, i))); err != nil {
						r.Error(err)
					}
				}
			})
		}
		for _, a := range r.replicas(3) {
			group.Go(func() {
				for {
					r.Clock.Advance(decisionlog.SealEvery)
					a.SweepOnce(r.Context())
					select {
					case <-done:
						return
					default:
					}
				}
			})
		}
		writing.Wait()
		close(done)
		group.Wait()
		r.sealed()
		if got := r.verified("run_1"); !got.OK() || got.Sealed != writers*each || got.Unsealed != 0 {
			r.Errorf("%+v", got)
		}
		for _, subject := range r.Events() {
			if !strings.HasSuffix(subject, ".audit.run_1.sealed") {
				r.Errorf("announced %s", subject)
			}
		}
	})
}

// failing lets a fault befall the first commit that seals.
func failing(n int) func(int, *store.Batch) storetest.Fault {
	var once atomic.Bool
	return func(_ int, batch *store.Batch) storetest.Fault {
		if enforcertest.Puts(batch, "decision_seal") && once.CompareAndSwap(false, true) {
			return []storetest.Fault{storetest.Failed, storetest.FailedButApplied, storetest.Uncertain}[n]
		}
		return storetest.Healthy
	}
}

// A commit that may have been applied is not sealed twice, and one that was not is.
func TestSealingThroughFaults(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		for n := range 3 {
			r.AppendMany("run_1", 2)
			faulty := r.broken(failing(n))
			r.sealed(faulty, faulty)
			r.Clock.Advance(decisionlog.FiredAgain)
			r.sealed()
			if got := r.verified("run_1"); !got.OK() || got.Sealed != int64(2*(n+1)) {
				r.Errorf("fault %d: %+v", n, got)
			}
		}
	})
}

// Records of the same words in other places have other hashes.
func TestChainsDiffer(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		same := r.Record("run", "call")
		for _, partition := range []string{"run_1", "run_2"} {
			for range 2 {
				if err := r.Append(partition, same); err != nil {
					r.Fatal(err)
				}
			}
		}
		if err := r.AppendTo(r.Storage, "other", "run_1", same); err != nil {
			r.Fatal(err)
		}
		r.sealed()
		seen := map[string]bool{}
		for _, namespace := range []string{enforcertest.Namespace, "other"} {
			found, _, err := r.List(r.Context(), namespace, decisionlog.Query{Limit: 10})
			if err != nil {
				r.Fatal(err)
			}
			for _, record := range found {
				if record.Hash == "" || seen[record.Hash] {
					r.Errorf("%s, %s, %d: hash %q again", namespace, record.Partition, record.Sequence, record.Hash)
				}
				seen[record.Hash] = true
			}
		}
		if len(seen) != 5 {
			r.Errorf("%d records, want 5", len(seen))
		}
	})
}

// The timer of a stretch of time is never that of the next.
func TestSealTimers(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	var last store.Timer
	for range 20 {
		at := clock.Now()
		timer := decisionlog.SealTimer(enforcertest.Namespace, "run_1", at)
		if wait := timer.Due.Sub(at); wait <= 0 || wait > decisionlog.SealEvery {
			t.Errorf("due %v after the decision", wait)
		}
		if timer.Due != last.Due && timer.Name == last.Name {
			t.Errorf("the timer that is due at %v is put off", last.Due)
		}
		last = timer
		clock.Advance(decisionlog.SealEvery / 3)
	}
}
