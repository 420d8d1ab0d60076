// Package quota counts the limits of policies: calls, money and mails, per policy, principal and session tree.
package quota

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
	"github.com/interlock-run/interlock/services/internal/idempotency"
	"github.com/interlock-run/interlock/services/internal/snapshot"
)

// Accounts counts the limits of policies, in a store.
type Accounts struct {
	store store.Store
	clock func() time.Time
	log   *slog.Logger
	// dropped are owners of counters whose timer is set: see dropLater.
	dropped *snapshot.Cache[store.Key, struct{}]
	// lastSeen are counters near their limit.
	lastSeen *snapshot.Cache[counterName, seenValue]
}

// New returns the accounts in a store.
func New(st store.Store, clock func() time.Time, log *slog.Logger) *Accounts {
	a := &Accounts{
		store: st, clock: clock, log: log,
		dropped: snapshot.New[store.Key, struct{}](65_536), lastSeen: snapshot.New[counterName, seenValue](seenCounters),
	}
	st.Gate().OnTurn(a.dropped.Clear)
	st.Gate().OnTurn(a.lastSeen.Clear)
	return a
}

// Counters returns the counters of spends, in their order.
func (a *Accounts) Counters(namespace string, spends []rules.Spend) []store.Counter {
	counters := make([]store.Counter, len(spends))
	for i := range spends {
		s := &spends[i]
		counters[i] = store.Counter{
			Owner: Key(namespace, s.Account), Name: s.Counter(), Delta: s.Delta(), Limit: s.Limit(), Window: s.Window,
		}
	}
	return counters
}

// DropKnown reports whether the timers of all spends with these counters are set. It saves DropLater the
// names of the owners.
func (a *Accounts) DropKnown(spends []rules.Spend, counters []store.Counter) bool {
	for i := range spends {
		if spends[i].Period == "" {
			continue
		}
		if _, ok := a.dropped.Get(counters[i].Owner); !ok {
			return false
		}
	}
	return true
}

// Corrections returns the counters of changes.
func (a *Accounts) Corrections(namespace string, changes []rules.Change) []store.Counter {
	counters := make([]store.Counter, len(changes))
	for i := range changes {
		c := &changes[i]
		counters[i] = store.Counter{
			Owner: Key(namespace, c.Account), Name: c.Counter(), Delta: c.Delta, Limit: store.NoLimit,
		}
	}
	return counters
}

// FullError reports that the account of a spend has no room.
type FullError struct {
	Index     int
	Value     int64
	ReopensAt time.Time
}

func (e *FullError) Error() string { return "an account of a policy has no room" }

// Room returns a *FullError if an account has no room for its spend. It counts the spends of a call that is asked about,
// which are 0 each.
func (a *Accounts) Room(ctx context.Context, namespace string, spends []rules.Spend) error {
	if len(spends) == 0 {
		return nil
	}
	if err := a.DropLater(ctx, namespace, spends); err != nil {
		return err
	}
	counters := a.Counters(namespace, spends)
	result, err := a.store.Commit(ctx, store.Batch{Counters: counters})
	var limit *store.LimitError
	if errors.As(err, &limit) {
		return &FullError{Index: limit.Index, Value: limit.Value, ReopensAt: limit.ReopensAt}
	}
	if err != nil {
		return err
	}
	for i := range counters {
		a.remember(&counters[i], spends[i].Max, result.Counters[i], a.clock())
	}
	return nil
}

// Kind is the kind of the owners of counters.
const Kind = "spend"

// Key returns the owner of the counter of an account; Account.Counter is its name. Each policy, scope and
// subject has one owner. Each period has an
// owner of its own, which is dropped long after the period: see DropLater.
func Key(namespace string, account rules.Account) store.Key {
	id := url.PathEscape(account.Policy) + "/" + string(account.Scope) + "/" + url.PathEscape(account.Subject)
	if account.Period != "" {
		id += "/" + string(account.Period) + "/" + account.Start.UTC().Format("2006-01-02T15")
	}
	if len(id) > store.MaxIDBytes {
		sum := sha256.Sum256([]byte(id))
		id = "sha256:" + hex.EncodeToString(sum[:]) // other ids hold a slash
	}
	return store.Key{Namespace: namespace, Kind: Kind, ID: id}
}

// SpendKept is the time for which counters outlive their period. Later, no call of the period can be
// reported.
const SpendKept = 2 * idempotency.TTL

// DropLater sets the timers that drop the counters of periods. It must be called before a period is first
// counted. Later calls are free.
func (a *Accounts) DropLater(ctx context.Context, namespace string, spends []rules.Spend) error {
	for i := range spends {
		account := spends[i].Account
		if account.Period == "" {
			continue
		}
		key := Key(namespace, account)
		if _, ok := a.dropped.Get(key); ok {
			continue
		}
		_, end := account.Period.Bounds(account.Start)
		if _, err := a.store.Commit(ctx, store.Batch{SetTimers: []store.Timer{dropTimer(key, end.Add(SpendKept))}}); err != nil {
			return fault.From(err)
		}
		a.dropped.Put(key, struct{}{}, nil)
	}
	return nil
}

func dropTimer(owner store.Key, due time.Time) store.Timer {
	return store.Timer{TimerID: store.TimerID{Key: owner, Name: "drop"}, Due: due}
}

// Drop removes the counters of a period that ended long ago.
func (a *Accounts) Drop(ctx context.Context, timer store.Timer) error {
	_, err := a.store.Commit(ctx, store.Batch{Reset: []store.Key{timer.Key}, ClearTimers: []store.TimerID{timer.TimerID}})
	if err != nil {
		return fault.From(err)
	}
	return nil
}

// Counted returns the value of an account. It reads a window by a probe of one unit too many, whose
// refusal has the value.
func (a *Accounts) Counted(ctx context.Context, owner store.Key, account rules.Account) (int64, error) {
	if account.Window == 0 {
		counters, err := a.store.Counters(ctx, owner)
		return counters[account.Counter()], err
	}
	err := a.store.Probe(ctx, store.Batch{
		Counters: []store.Counter{{Owner: owner, Name: account.Counter(), Delta: 1, Limit: 0, Window: account.Window}},
	})
	var full *store.LimitError
	if errors.As(err, &full) {
		return full.Value, nil
	}
	return 0, err
}

// ReadCost reads an amount of US dollars. An empty text is 0.
func ReadCost(text string) (rules.MicroUSD, bool) {
	if text == "" {
		return 0, true
	}
	cost, ok := rules.ParseCost(text)
	return cost, ok && cost <= rules.MostCost
}
