// Package storequota bounds the data of callers in a store: the bytes that a principal and a
// session commit in a day, and the room that is left. It is around every commit, so a new kind of
// record needs no code of its own. It must never hold up changes that stop an agent.
package storequota

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
)

// Window is the time that quotas are for.
const Window = 24 * time.Hour

const (
	// counterName is the counter of a principal or a session.
	counterName = "stored_bytes"
	// largestChunk is the most that is taken of a quota ahead of its use. A commit then needs no
	// counter of its own.
	largestChunk = 1 << 20
	// keptFor is how long reserved bytes may be used.
	keptFor = time.Hour
	// lookEvery is how often the room is measured.
	lookEvery = 200 * time.Millisecond
	// maxAccounts bounds the memory of reservations.
	maxAccounts = 10_000
)

// Config of a quota; 0 is unbounded.
type Config struct {
	// Principal and Session are the bytes that each may commit within Window. They hold for
	// agents and runtimes, and the second for tokens that are bound to a session.
	Principal, Session int64
	// Least is the room that is reserved for changes that stop agents.
	Least int64
	// Room of the store; nil when it has none that is known.
	Room store.Roomy
	Log  *slog.Logger
}

// Wrap bounds the commits of a store.
func Wrap(st store.Store, cfg Config) store.Store {
	return &bounded{Store: st, cfg: cfg, now: time.Now, accounts: map[store.Key]account{}}
}

type bounded struct {
	store.Store
	cfg Config
	now func() time.Time

	mu       sync.Mutex
	accounts map[store.Key]account
	// looked is when the room was measured, and refusal follows from it.
	looked  time.Time
	refusal error
}

// account has the reserved bytes of a quota.
type account struct {
	left  int64
	until time.Time
}

// Unwrap returns the store whose commits are bounded.
func (b *bounded) Unwrap() store.Store { return b.Store }

// Commit commits a batch that its caller has room for.
func (b *bounded) Commit(ctx context.Context, batch store.Batch) (store.Result, error) {
	giveBack, err := b.admit(ctx, &batch)
	if err != nil {
		return store.Result{}, err
	}
	result, err := b.Store.Commit(ctx, batch)
	if result.Replayed || err != nil && !errors.Is(err, store.ErrUncertain) {
		giveBack()
	}
	return result, err
}

// Probe judges a batch that its caller has room for.
func (b *bounded) Probe(ctx context.Context, batch store.Batch) error {
	giveBack, err := b.admit(ctx, &batch)
	if err != nil {
		return err
	}
	defer giveBack()
	return b.Store.Probe(ctx, batch)
}

// admit takes the size of a batch from the quotas of its caller, and returns a function that returns it.
func (b *bounded) admit(ctx context.Context, batch *store.Batch) (giveBack func(), err error) {
	caller, known := auth.FromContext(ctx)
	if !known || caller.Role == auth.Service || store.Stops(ctx) {
		return func() {}, nil
	}
	if err := b.room(ctx); err != nil {
		return nil, err
	}
	quotas := b.cfg.quotasOf(caller)
	size := Size(*batch)
	for i, q := range quotas {
		if err := b.take(ctx, q, size); err != nil {
			b.giveBack(quotas[:i], size)
			return nil, err
		}
	}
	return func() { b.giveBack(quotas, size) }, nil
}

// HasRoom returns nil while a store takes every change, and an error while it takes only those that stop things. A
// store that is not of Wrap has room.
func HasRoom(ctx context.Context, st store.Store) error {
	for {
		switch s := st.(type) {
		case *bounded:
			return s.room(ctx)
		case interface{ Unwrap() store.Store }:
			st = s.Unwrap()
		default:
			return nil
		}
	}
}

// quota is one that a commit counts for.
type quota struct {
	key         store.Key
	whose, flag string
	limit       int64
}

// quotasOf returns the quotas that a caller's commits count for.
func (c *Config) quotasOf(caller auth.Principal) (quotas []quota) {
	if !caller.Role.Drives() {
		return nil
	}
	if c.Session > 0 && caller.Session != "" {
		quotas = append(quotas, quota{
			keyOf(caller.Namespace, "session", caller.Session), fmt.Sprintf("session %q", caller.Session), "bytes-per-session", c.Session,
		})
	}
	if c.Principal > 0 {
		quotas = append(quotas, quota{
			keyOf(caller.Namespace, "principal", caller.Name), fmt.Sprintf("principal %q", caller.Name), "bytes-per-principal", c.Principal,
		})
	}
	return quotas
}

// keyOf returns the owner of a counter. A principal that may call in all namespaces has one quota.
func keyOf(namespace, kind, name string) store.Key {
	if namespace == "" {
		namespace = "_quota"
	}
	sum := sha256.Sum256([]byte(kind + "\x00" + name))
	return store.Key{Namespace: namespace, Kind: "quota", ID: "bytes-" + hex.EncodeToString(sum[:12])}
}

// Size returns the bytes that a batch adds to a store at most: its new records and entries, and its
// events. A put of a record that has a history counts by its entry in that.
func Size(batch store.Batch) (size int64) {
	const record = 256 // of keys, labels and indexes
	for i := range batch.Puts {
		p := &batch.Puts[i]
		size += record + int64(len(p.History))
		for _, entry := range p.Earlier {
			size += record + int64(len(entry))
		}
		if p.Expect == store.Absent || p.History == nil {
			size += int64(len(p.Data))
		}
		for name, value := range p.Labels {
			size += int64(len(name) + len(value))
		}
	}
	for i := range batch.Appends {
		size += record + int64(len(batch.Appends[i].Entry))
	}
	for i := range batch.Events {
		size += record + int64(len(batch.Events[i].Payload))
	}
	size += record * int64(len(batch.SetTimers))
	if batch.Idempotency != nil {
		size += record + int64(len(batch.Idempotency.Answer))
	}
	return size
}

// take takes bytes of a quota, from the reservation or from the store's count.
func (b *bounded) take(ctx context.Context, q quota, size int64) error {
	if b.fromAhead(q.key, size) {
		return nil
	}
	ahead := max(size, min(q.limit/64, largestChunk))
	err := b.count(ctx, q, ahead)
	if errors.Is(err, store.ErrLimit) && ahead > size {
		ahead = size
		err = b.count(ctx, q, ahead)
	}
	var limit *store.LimitError
	switch {
	case errors.As(err, &limit):
		return errExceeded(q, limit, size, b.now())
	case err != nil:
		return err
	}
	b.keep(q.key, ahead-size)
	return nil
}

func (b *bounded) count(ctx context.Context, q quota, bytes int64) error {
	_, err := b.Store.Commit(ctx, store.Batch{Counters: []store.Counter{
		{Owner: q.key, Name: counterName, Delta: bytes, Limit: q.limit, Window: Window},
	}})
	return err
}

func (b *bounded) fromAhead(key store.Key, size int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	a, found := b.accounts[key]
	if !found || a.left < size || b.now().After(a.until) {
		return false
	}
	a.left -= size
	b.accounts[key] = a
	return true
}

// keep adds to the reservation.
func (b *bounded) keep(key store.Key, bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	a, found := b.accounts[key]
	if !found && len(b.accounts) >= maxAccounts {
		clear(b.accounts) // the reservation counts as used
	}
	if now.After(a.until) {
		a = account{until: now.Add(keptFor)}
	}
	a.left += bytes
	b.accounts[key] = a
}

func (b *bounded) giveBack(quotas []quota, size int64) {
	for _, q := range quotas {
		b.keep(q.key, size)
	}
}

// room refuses when there is less room than is reserved for changes that stop agents, or when
// that cannot be measured. It measures now and then, and one caller at a time.
func (b *bounded) room(ctx context.Context) error {
	if b.cfg.Least <= 0 || b.cfg.Room == nil {
		return nil
	}
	b.mu.Lock()
	now, before, first := b.now(), b.refusal, b.looked.IsZero()
	if !first && now.Sub(b.looked) < lookEvery {
		b.mu.Unlock()
		return before
	}
	b.looked = now
	b.mu.Unlock()
	left, known, err := b.cfg.Room.Room(ctx)
	switch {
	case ctx.Err() != nil:
		return before // does not mention the store
	case err != nil:
		err = fmt.Errorf("%w: its room cannot be measured: %w", store.ErrUnavailable, err)
	case known && left < b.cfg.Least:
		err = errFull(b.cfg.Least)
	}
	if (err == nil) != (before == nil) {
		b.cfg.Log.WarnContext(ctx, "the room of the store", "enough", err == nil, "bytes", left, "least", b.cfg.Least, "cause", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refusal = err
	return err
}

func errFull(least int64) error {
	return fault.New(fault.StoreFull, "the store has less than %d bytes of room (--min-store-room), so only acts that stop work are accepted: "+
		"cancel, pause, end, delete; an operator has to free some of its disk, or raise the maxmemory of its Redis", least)
}

func errExceeded(q quota, limit *store.LimitError, size int64, now time.Time) error {
	e := fault.New(fault.QuotaExceeded, "the %s has stored %d bytes in 24 hours, and may store %d (--%s); this needs %d more. "+
		"Store less, wait until earlier bytes are a day old, or ask an operator to raise the quota", q.whose, limit.Value, q.limit, q.flag, size)
	if !limit.ReopensAt.IsZero() {
		e.RetryAfter = max(limit.ReopensAt.Sub(now), time.Second)
	}
	return e
}
