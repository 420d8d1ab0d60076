package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/once"
)

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
