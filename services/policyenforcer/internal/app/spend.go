package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/url"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/once"
)

// What policies count lives in other shards than a run. A store that spans shards
// counts it in the commit of the decision. In one that does not, it is reserved
// first, and given back when the rest denies or fails; what a crash leaves reserved
// stays spent, so nothing is ever admitted twice.

// counters are what a store counts for spends, in their order.
func (a *App) counters(namespace string, spends []rules.Spend) []store.Counter {
	counters := make([]store.Counter, len(spends))
	for i := range spends {
		s := &spends[i]
		counters[i] = store.Counter{
			Owner: a.spendKey(namespace, s.Account), Name: s.Counter(), Delta: s.Delta(), Limit: s.Limit(), Window: s.Window,
		}
	}
	return counters
}

// dropKnown reports that dropLater has nothing to do for spends with these counters:
// it need not name their owners again.
func (a *App) dropKnown(spends []rules.Spend, counters []store.Counter) bool {
	for i := range spends {
		if spends[i].Period == "" {
			continue
		}
		if _, ok := a.caches.dropped.Get(counters[i].Owner); !ok {
			return false
		}
	}
	return true
}

// corrections are what a store counts for changes.
func (a *App) corrections(namespace string, changes []rules.Change) []store.Counter {
	counters := make([]store.Counter, len(changes))
	for i := range changes {
		c := &changes[i]
		counters[i] = store.Counter{
			Owner: a.spendKey(namespace, c.Account), Name: c.Counter(), Delta: c.Delta, Limit: store.NoLimit, Window: c.Window, Admitted: c.Admitted,
		}
	}
	return counters
}

// spendError says that the account of a spend has no room.
type spendError struct {
	index     int
	value     int64
	reopensAt time.Time
}

func (e *spendError) Error() string { return "an account of a policy has no room" }

// reserve takes spends shard by shard. What was taken is given back when one has no
// room.
func (a *App) reserve(ctx context.Context, namespace string, spends []rules.Spend) error {
	if err := a.dropLater(ctx, namespace, spends); err != nil {
		return err
	}
	counters := a.counters(namespace, spends)
	var taken []rules.Spend
	for _, at := range byShard(counters, a.store.Shards()) {
		group := make([]store.Counter, len(at))
		for i, index := range at {
			group[i] = counters[index]
		}
		result, err := a.store.Commit(ctx, store.Batch{Counters: group})
		if err == nil {
			for i, index := range at {
				a.remember(&counters[index], spends[index].Max, result.Counters[i], a.clock())
				spends[index].Admitted = result.Admitted
				taken = append(taken, spends[index])
			}
			continue
		}
		a.release(ctx, namespace, taken)
		var limit *store.LimitError
		if errors.As(err, &limit) {
			return &spendError{index: at[limit.Index], value: limit.Value, reopensAt: limit.ReopensAt}
		}
		return err
	}
	return nil
}

// release gives back what a call that was not admitted has reserved. When that
// fails it stays spent.
func (a *App) release(ctx context.Context, namespace string, spends []rules.Spend) {
	counters := a.corrections(namespace, rules.Release(spends))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	for _, at := range byShard(counters, a.store.Shards()) {
		group := make([]store.Counter, len(at))
		for i, index := range at {
			group[i] = counters[index]
		}
		if _, err := a.store.Commit(ctx, store.Batch{Counters: group}); err != nil {
			a.log.LogAttrs(ctx, slog.LevelWarn, "the reservation of a call could not be returned, and stays spent",
				slog.String("of", group[0].Owner.String()), slog.Any("cause", err))
		}
	}
}

// byShard groups the indexes of counters by their shard, in the order of the first
// of each.
func byShard(counters []store.Counter, shards int) [][]int {
	var groups [][]int
	place := map[int]int{}
	for i := range counters {
		shard := counters[i].Owner.Shard(shards)
		at, ok := place[shard]
		if !ok {
			at = len(groups)
			place[shard] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], i)
	}
	return groups
}

// kindSpend owns the counters of accounts.
const kindSpend = "spend"

// spendKey owns the counter of an account, whose name is Account.Counter: one owner
// for each policy, scope and subject, so that all that a call spends there is
// counted in one shard. A period has an owner of its own, which dropLater drops when
// the period is long over.
func (a *App) spendKey(namespace string, account rules.Account) store.Key {
	id := url.PathEscape(account.Policy) + "/" + string(account.Scope) + "/" + url.PathEscape(account.Subject)
	if account.Period != "" {
		id += "/" + string(account.Period) + "/" + account.Start.UTC().Format("2006-01-02T15")
	}
	if len(id) > store.MaxIDBytes {
		sum := sha256.Sum256([]byte(id))
		id = "sha256:" + hex.EncodeToString(sum[:]) // other ids hold a slash
	}
	return store.Key{Namespace: namespace, Kind: kindSpend, ID: id}
}

// spendKept is how long the counters of a period outlive it: until every call that
// was admitted in it has been reported, or never will be.
const spendKept = 2 * once.Kept

// dropLater sees to it that the counters of periods do not stay forever. It must be
// called before the first of them is counted, and costs nothing from then on.
func (a *App) dropLater(ctx context.Context, namespace string, spends []rules.Spend) error {
	for i := range spends {
		account := spends[i].Account
		if account.Period == "" {
			continue
		}
		key := a.spendKey(namespace, account)
		if _, ok := a.caches.dropped.Get(key); ok {
			continue
		}
		_, end := account.Period.Bounds(account.Start)
		if _, err := a.store.Commit(ctx, store.Batch{SetTimers: []store.Timer{dropTimer(key, end.Add(spendKept))}}); err != nil {
			return fault.From(err)
		}
		a.caches.dropped.Put(key, struct{}{}, nil)
	}
	return nil
}

func dropTimer(owner store.Key, due time.Time) store.Timer {
	return store.Timer{TimerID: store.TimerID{Key: owner, Name: "drop"}, Due: due}
}

// drop forgets the counters of a period that is long over.
func (a *App) drop(ctx context.Context, timer store.Timer) error {
	_, err := a.store.Commit(ctx, store.Batch{Reset: []store.Key{timer.Key}, ClearTimers: []store.TimerID{timer.TimerID}})
	if err != nil {
		return fault.From(err)
	}
	return nil
}
