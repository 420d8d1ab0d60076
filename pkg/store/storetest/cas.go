package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/interlock-run/interlock/pkg/store"
)

var casTests = []test{
	{"exact conflicts", exactConflicts},
	{"unconditional puts", unconditionalPuts},
	{"one winner per version among 64 writers", oneWinnerPerVersion},
	{"one creator among 64", oneCreator},
	{"checks are isolated", checksAreIsolated},
}

func exactConflicts(f *fixture) {
	a := run("a")
	conflict := func(batch store.Batch, want, have int64) {
		f.Helper()
		wantConflict(f.T, f.refusal(batch, store.ErrConflict), store.ConflictError{Key: a, Want: want, Have: have})
	}
	put := func(version int64) store.Batch { return store.Batch{Puts: []store.Put{{Key: a, Expect: version}}} }
	check := func(version int64) store.Batch { return store.Batch{Checks: []store.Check{{Key: a, Version: version}}} }
	remove := func(version int64) store.Batch {
		return store.Batch{Deletes: []store.Check{{Key: a, Version: version}}}
	}

	conflict(put(1), 1, store.Absent)
	conflict(check(1), 1, store.Absent)
	conflict(remove(1), 1, store.Absent)
	f.commit(check(store.Absent))
	f.commit(check(store.AnyVersion))
	f.commit(put(store.Absent))
	for _, wrong := range []int64{store.Absent, 2, 1 << 40} {
		conflict(put(wrong), wrong, 1)
		conflict(check(wrong), wrong, 1)
		conflict(remove(wrong), wrong, 1)
	}
	f.commit(check(1))
	f.commit(check(store.AnyVersion))
	if got := f.get(a).Version; got != 1 {
		f.Errorf("version is %d, not 1", got)
	}
	f.commit(remove(1))
	f.gone(a)
}

func unconditionalPuts(f *fixture) {
	a := run("a")
	for want := int64(1); want <= 3; want++ {
		result := f.commit(store.Batch{Puts: []store.Put{{Key: a, Expect: store.AnyVersion, Data: fmt.Append(nil, want)}}})
		if got := result.Versions[0]; got != want {
			f.Errorf("put answered version %d, not %d", got, want)
		}
		if got := f.get(a); got.Version != want || string(got.Data) != fmt.Sprint(want) {
			f.Errorf("record is %q at version %d, not %d", got.Data, got.Version, want)
		}
	}
}

// inParallel runs n copies of do and waits for them.
func inParallel(t *testing.T, n int, do func(worker int) error) {
	t.Helper()
	var wg sync.WaitGroup
	for worker := range n {
		wg.Go(func() {
			if err := do(worker); err != nil {
				t.Errorf("worker %d: %v", worker, err)
			}
		})
	}
	wg.Wait()
}

func oneWinnerPerVersion(f *fixture) {
	const writers, wins = 64, 3
	a := run("a")
	var mu sync.Mutex
	winner := map[int64]int{}
	inParallel(f.T, writers, func(worker int) error {
		expect := store.Absent
		for won := 0; won < wins; {
			result, err := f.Commit(f.ctx, store.Batch{Puts: []store.Put{{Key: a, Expect: expect, Data: fmt.Append(nil, worker), History: fmt.Append(nil, worker)}}})
			var conflict *store.ConflictError
			switch {
			case err == nil:
				won++
				if result.Versions[0] != expect+1 {
					return fmt.Errorf("put on version %d answered version %d", expect, result.Versions[0])
				}
				mu.Lock()
				other, taken := winner[expect+1]
				winner[expect+1] = worker
				mu.Unlock()
				if taken {
					return fmt.Errorf("version %d was won by worker %d as well", expect+1, other)
				}
				expect++
			case errors.As(err, &conflict):
				if conflict.Have <= expect {
					return fmt.Errorf("conflict on version %d says that the version is %d", expect, conflict.Have)
				}
				expect = conflict.Have
			default:
				return err
			}
		}
		return nil
	})

	if got := f.get(a).Version; got != writers*wins {
		f.Errorf("the version is %d after %d puts", got, writers*wins)
	}
	history, err := f.History(f.ctx, a, 0, 2*writers*wins)
	if err != nil || len(history) != writers*wins {
		f.Fatalf("history has %d entries for %d puts, %v", len(history), writers*wins, err)
	}
	for i, entry := range history {
		if entry.Version != int64(i+1) {
			f.Fatalf("history entry %d is of version %d", i, entry.Version)
		}
		if string(entry.Data) != fmt.Sprint(winner[entry.Version]) {
			f.Errorf("version %d was won by %d, history says %s", entry.Version, winner[entry.Version], entry.Data)
		}
	}
}

func oneCreator(f *fixture) {
	for round := range 8 {
		key := run(fmt.Sprintf("round %d", round))
		var mu sync.Mutex
		created := 0
		inParallel(f.T, 64, func(worker int) error {
			_, err := f.Commit(f.ctx, create(key, fmt.Sprint(worker)))
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				created++
				return nil
			}
			if !errors.Is(err, store.ErrConflict) {
				return err
			}
			return nil
		})
		if created != 1 {
			f.Errorf("%d of 64 created %s", created, key)
		}
	}
}

// checksAreIsolated tries write skew: two guards, of whom one at least must
// stay, each leave only after checking that the other has not changed.
func checksAreIsolated(f *fixture) {
	for round := range 25 {
		a := run(fmt.Sprintf("guard %d", round))
		b := a
		b.Kind = "guard"
		f.commit(store.Batch{Puts: []store.Put{{Key: a, Data: []byte("on")}, {Key: b, Data: []byte("on")}}})
		inParallel(f.T, 4, func(worker int) error {
			mine, other := a, b
			if worker%2 == 1 {
				mine, other = b, a
			}
			record, err := f.Get(f.ctx, other)
			if err != nil || string(record.Data) != "on" {
				return err
			}
			_, err = f.Commit(f.ctx, store.Batch{
				Checks: []store.Check{{Key: other, Version: record.Version}},
				Puts:   []store.Put{{Key: mine, Expect: store.AnyVersion, Data: []byte("off")}},
			})
			if errors.Is(err, store.ErrConflict) {
				return nil
			}
			return err
		})
		if string(f.get(a).Data) == "off" && string(f.get(b).Data) == "off" {
			f.Fatalf("round %d: both guards left", round)
		}
	}
}
