package member

import (
	"context"
	"slices"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/halts"
	"github.com/interlock-run/interlock/services/internal/idempotency"
	"github.com/interlock-run/interlock/services/internal/sessionread"
	"github.com/interlock-run/interlock/services/internal/sweep"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"

	"github.com/interlock-run/interlock/services/internal/snapshot"
)

// Announcer turns a change of a session into the event that is committed with it.
type Announcer interface {
	SessionCreated(namespace, actor string, s *session.Session) (store.Event, error)
	SessionEvent(namespace, actor string, s *session.Session, ev session.Event) (store.Event, error)
}

// Members loads sessions, and commits changes of them.
type Members struct {
	ports    *ports.Ports
	announce Announcer
	cache    *snapshot.Cache[store.Key, *Member]
	halts    *halts.Reader
	places   *sessionread.Reader
}

// New returns the sessions of a store.
func New(p *ports.Ports, announce Announcer) *Members {
	ms := &Members{
		ports: p, announce: announce, cache: snapshot.New[store.Key, *Member](16_384), halts: halts.New(p.Store), places: sessionread.New(p.Store),
	}
	p.Store.Gate().OnTurn(ms.cache.Clear)
	return ms
}

// Cache returns the cache in memory.
func (ms *Members) Cache() snapshot.Use { return ms.cache.Use("sessions") }

// Load reads a session by its home.
func (ms *Members) Load(ctx context.Context, key store.Key) (*Member, error) {
	record, err := ms.ports.Store.Get(ctx, key)
	if ports.NotFound(err) {
		return nil, noSession(key.ID)
	}
	if err != nil {
		return nil, fault.From(err)
	}
	m, err := Decode(record)
	if err == nil {
		ms.remember(m)
	}
	return m, err
}

func (ms *Members) remember(m *Member) {
	ms.cache.Put(m.Key, m, func(old *Member) bool { return old.Version > m.Version })
}

// Cached returns a session that may be old: anyone who decides on it lets the
// commit check its version.
func (ms *Members) Cached(ctx context.Context, key store.Key) (*Member, error) {
	if m, ok := ms.cache.Get(key); ok {
		return m, nil
	}
	return ms.Load(ctx, key)
}

// Below returns a session with all below it, the deepest first.
func (ms *Members) Below(ctx context.Context, m *Member) ([]*Member, error) {
	inside := map[string]bool{m.Key.ID: true}
	var all []*Member
	query := store.Query{Namespace: m.Key.Namespace, Kind: Kind, Labels: map[string]string{"root": m.RootID}, Limit: 1000}
	for {
		page, err := ms.ports.Store.List(ctx, query)
		if err != nil {
			return nil, fault.From(err)
		}
		for _, record := range page.Records {
			each, err := Decode(record)
			if err != nil {
				return nil, err
			}
			all = append(all, each)
		}
		if query.After = page.Next; page.Next == "" {
			break
		}
	}
	slices.SortStableFunc(all, func(x, y *Member) int { return x.Depth - y.Depth })
	tree := []*Member{m}
	for _, each := range all {
		if each.Key.ID != m.Key.ID && inside[each.ParentHome] {
			inside[each.Key.ID] = true
			tree = append(tree, each)
		}
	}
	slices.Reverse(tree)
	return tree, nil
}

// Contest calls try until it has not lost a race, in turn with the others of this
// process that want the same tree. of is any key of the tree.
func (ms *Members) Contest(ctx context.Context, of store.Key, what string, try func() error) error {
	return ms.ports.Turns.Run(ctx, of.Shard(ms.ports.Store.Shards()), what, try)
}

// Step applies one command to one session and commits it, again from the start when
// another caller was faster. It returns the session afterwards; key, when not empty,
// makes the request happen once.
func (ms *Members) Step(ctx context.Context, caller ports.Caller, at store.Key, key idempotency.Key, decide func(*Member, session.Clock) (session.Result, error)) (*Member, error) {
	var m *Member
	err := ms.Contest(ctx, at, "session "+at.ID, func() (err error) {
		m, err = ms.tryStep(ctx, caller, at, key, decide)
		return err
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (ms *Members) tryStep(ctx context.Context, caller ports.Caller, at store.Key, key idempotency.Key, decide func(*Member, session.Clock) (session.Result, error)) (*Member, error) {
	m, err := ms.Load(ctx, at)
	if err != nil {
		return nil, err
	}
	switch done, err := key.Done(ctx, ms.ports.Store, at); {
	case err != nil:
		return nil, err
	case done:
		return ms.Load(ctx, at)
	}
	t := ms.NewTree(caller)
	if m, t.Clock.StateVersion, err = ms.withStateVersion(ctx, m); err != nil {
		return nil, err
	}
	r, err := decide(m, t.Clock)
	if err != nil {
		return nil, err
	}
	if err := t.Apply(ctx, m, r); err != nil {
		return nil, err
	}
	if r.Changed {
		t.Batch.Idempotency = key.Keep(at)
	}
	result, err := t.Commit(ctx)
	switch {
	case err != nil:
		return nil, err
	case result.Replayed:
		return ms.Load(ctx, at)
	default:
		return t.Member(ctx, at)
	}
}

// withStateVersion returns the version of the state that a session shares, 0 without
// one. A session whose state was deleted shares none any more.
func (ms *Members) withStateVersion(ctx context.Context, m *Member) (*Member, int64, error) {
	if m.StateID == "" {
		return m, 0, nil
	}
	record, err := ms.ports.Store.Get(ctx, ports.StateKey(m.Key.Namespace, m.StateID))
	if ports.NotFound(err) {
		without := *m
		alone := *m.Session
		alone.StateID = ""
		without.Session = &alone
		return &without, 0, nil
	}
	if err != nil {
		return nil, 0, fault.From(err)
	}
	return m, record.Version, nil
}

// Tick lets time pass for a session.
func (ms *Members) Tick(ctx context.Context, timer store.Timer) error {
	var changed bool
	m, err := ms.Step(ctx, ports.System(timer.Key.Namespace), timer.Key, idempotency.Key{}, func(m *Member, c session.Clock) (session.Result, error) {
		r := m.Tick(c)
		changed = r.Changed
		return r, nil
	})
	switch {
	case fault.ReasonOf(err) == fault.NotFound:
		return sweep.Clear(ctx, ms.ports.Store, timer.TimerID, store.Check{Key: timer.Key, Version: store.Absent})
	case err != nil:
		return err
	case !changed && m.NextDue().IsZero():
		return sweep.Clear(ctx, ms.ports.Store, timer.TimerID, store.Check{Key: m.Key, Version: m.Version})
	default:
		return nil
	}
}
