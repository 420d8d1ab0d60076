package bus

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

// memStore is as much of a store as a relay uses, in memory, with faults.
type memStore struct {
	store.Store // methods that are not written here must not be called

	shards int
	gate   *store.Gate
	era    string

	mu      sync.Mutex
	outbox  map[int][]store.OutboxEntry
	seq     map[int]int64
	trimmed map[int]int64
	leases  map[store.Key]store.Lease
	records map[store.Key]store.Record
	token   int64
	changed chan struct{}
	// dead makes the members' own commits fail, as those of a dead process would.
	dead atomic.Bool
	// fail, when set, is asked before every call; its error is returned.
	fail func(call, holder string) error
}

func newMemStore(shards int) *memStore {
	return &memStore{
		shards: shards, outbox: map[int][]store.OutboxEntry{}, seq: map[int]int64{}, trimmed: map[int]int64{},
		leases: map[store.Key]store.Lease{}, records: map[store.Key]store.Record{}, changed: make(chan struct{}),
	}
}

func (m *memStore) Shards() int { return m.shards }

func (m *memStore) Gate() *store.Gate { return m.gate }

func (m *memStore) failing(call, holder string) error {
	if m.fail == nil {
		return nil
	}
	return m.fail(call, holder)
}

func (m *memStore) Commit(_ context.Context, b store.Batch) (store.Result, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(b.Events) == 0 && m.dead.Load() {
		return store.Result{}, store.ErrUnavailable
	}
	var result store.Result
	for _, p := range b.Puts {
		have := m.records[p.Key].Version
		if p.Expect != store.AnyVersion && p.Expect != have {
			return store.Result{}, &store.ConflictError{Key: p.Key, Want: p.Expect, Have: have}
		}
		m.records[p.Key] = store.Record{Key: p.Key, Version: have + 1, Data: p.Data}
		result.Versions = append(result.Versions, have+1)
	}
	for _, d := range b.Deletes {
		if have := m.records[d.Key].Version; d.Version != store.AnyVersion && d.Version != have {
			return store.Result{}, &store.ConflictError{Key: d.Key, Want: d.Version, Have: have}
		}
		delete(m.records, d.Key)
	}
	for _, e := range b.Events {
		n := e.Key.Shard(m.shards)
		m.seq[n]++
		m.outbox[n] = append(m.outbox[n], store.OutboxEntry{Shard: n, Seq: m.seq[n], Era: m.era, ID: e.ID, Subject: e.Subject, Payload: e.Payload, Trace: e.Trace})
	}
	if len(b.Events) > 0 {
		close(m.changed)
		m.changed = make(chan struct{})
	}
	return result, nil
}

func (m *memStore) Get(_ context.Context, key store.Key) (store.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.failing("get", ""); err != nil {
		return store.Record{}, err
	}
	record, ok := m.records[key]
	if !ok {
		return store.Record{}, store.ErrNotFound
	}
	return record, nil
}

func (m *memStore) List(_ context.Context, q store.Query) (store.Page, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var page store.Page
	for key, rec := range m.records {
		if key.Namespace == q.Namespace && key.Kind == q.Kind && key.ID > q.After { // a relay lists by ascending id
			page.Records = append(page.Records, rec)
		}
	}
	slices.SortFunc(page.Records, func(a, b store.Record) int {
		if a.Key.ID < b.Key.ID {
			return -1
		}
		return 1
	})
	return page, m.failing("list", "")
}

func (m *memStore) AcquireLease(_ context.Context, key store.Key, holder string, ttl time.Duration) (store.Lease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.failing("acquire", holder); err != nil {
		return store.Lease{}, err
	}
	if l, ok := m.leases[key]; ok && l.Holder != holder && time.Now().Before(l.Expires) {
		return store.Lease{}, &store.HeldError{Key: key, Holder: l.Holder, Until: l.Expires}
	}
	m.token++
	l := store.Lease{Key: key, Holder: holder, Token: m.token, Expires: time.Now().Add(ttl)}
	m.leases[key] = l
	return l, nil
}

func (m *memStore) RenewLease(_ context.Context, lease store.Lease, ttl time.Duration) (store.Lease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.failing("renew", lease.Holder); err != nil {
		return store.Lease{}, err
	}
	if l := m.leases[lease.Key]; l.Token != lease.Token || time.Now().After(l.Expires) {
		return store.Lease{}, store.ErrFenced
	}
	lease.Expires = time.Now().Add(ttl)
	m.leases[lease.Key] = lease
	return lease, nil
}

func (m *memStore) ReleaseLease(_ context.Context, lease store.Lease) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.failing("release", lease.Holder); err != nil {
		return err
	}
	if m.leases[lease.Key].Token == lease.Token {
		delete(m.leases, lease.Key)
	}
	return nil
}

func (m *memStore) Tail(ctx context.Context, after map[int]int64, limit int, wait time.Duration) ([]store.OutboxEntry, error) {
	t := time.NewTimer(wait)
	defer t.Stop()
	for {
		m.mu.Lock()
		err := m.failing("tail", "")
		var out []store.OutboxEntry
		for _, n := range slices.Sorted(maps.Keys(after)) {
			box := m.outbox[n]
			i, found := slices.BinarySearchFunc(box, after[n], func(e store.OutboxEntry, seq int64) int { return int(e.Seq - seq) })
			if found {
				i++
			}
			out = append(out, box[i:min(len(box), i+limit-len(out))]...)
		}
		changed := m.changed
		m.mu.Unlock()
		if err != nil || len(out) > 0 {
			return out, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-t.C:
			return nil, nil
		case <-changed:
		}
	}
}

func (m *memStore) Trim(_ context.Context, shard int, through int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.failing("trim", ""); err != nil {
		return err
	}
	box := m.outbox[shard]
	n := 0
	for n < len(box) && box[n].Seq <= through {
		n++
	}
	m.outbox[shard] = slices.Clone(box[n:])
	m.trimmed[shard] = max(m.trimmed[shard], through)
	return nil
}

// retained counts the entries in the outbox.
func (m *memStore) retained() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, box := range m.outbox {
		n += len(box)
	}
	return n
}

// holders counts the shards by the holder of their lease.
func (m *memStore) holders() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]int{}
	for _, l := range m.leases {
		if time.Now().Before(l.Expires) {
			out[l.Holder]++
		}
	}
	return out
}

// kick ends the waits of Tail.
func (m *memStore) kick() {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.changed)
	m.changed = make(chan struct{})
}

func (m *memStore) setFail(f func(call, holder string) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = f
}
