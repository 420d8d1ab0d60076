package app

import (
	"context"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/internal/once"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/internal/sessionend"
)

// tree collects the sessions that one change touches, from a session up to its
// root. They live in one shard, so that it is one commit.
type tree struct {
	a      *App
	caller Caller
	batch  store.Batch
	clock  session.Clock
	// now is each session as it will be, in the order in which they were touched.
	now []*Member
	// tasks: there are others for runners to do than before.
	tasks bool
	// ends has the notices to the engine, by session.
	ends map[store.Key]sessionend.Word
}

func (a *App) newTree(caller Caller) *tree {
	t := &tree{a: a, caller: caller, ends: map[store.Key]sessionend.Word{}}
	t.clock = session.Clock{Now: a.now(), Config: a.cfg.Session, NewTaskID: func() string { return typeid.New(typeid.Task) }}
	return t
}

// memberNow returns a session as this change has left it so far.
func (t *tree) memberNow(ctx context.Context, key store.Key) (*Member, error) {
	for _, m := range t.now {
		if m.Key == key {
			return m, nil
		}
	}
	return t.a.loadMember(ctx, key)
}

// apply takes a result over, and carries out its consequences for the parent.
func (t *tree) apply(ctx context.Context, m *Member, r session.Result) error {
	if !r.Changed {
		return nil
	}
	next := t.touch(m, r.Session)
	for _, ev := range r.Events {
		event, err := t.a.announce.SessionEvent(m.Key.Namespace, t.caller.Principal.Name, next.Session, ev)
		if err != nil {
			return fault.From(err)
		}
		t.announce(m.Key, event)
		t.tasks = t.tasks || ev.Task != nil
		if ended := ev.Type == session.EventEnded; ended || ev.Type == session.EventResumed {
			t.ends[m.Key] = sessionend.Word{Cause: event.ID, ID: next.ID, Name: next.Name, Ended: ended}
		}
	}
	if r.Ended {
		t.ended(next)
	}
	if m.ParentHome == "" {
		return nil
	}
	above := sessionKey(m.Key.Namespace, m.ParentHome)
	up := func(step func(*session.Session) session.Result) error {
		parent, err := t.memberNow(ctx, above)
		if err != nil {
			return err
		}
		return t.apply(ctx, parent, step(parent.Session))
	}
	for _, cb := range r.Calls {
		if err := up(func(p *session.Session) session.Result { return p.Receive(cb, t.clock) }); err != nil {
			return err
		}
	}
	if r.Ended {
		return up(func(p *session.Session) session.Result { return p.ChildEnded(t.clock) })
	}
	if r.Reopened {
		return up(func(p *session.Session) session.Result { return p.ChildOpened(t.clock) })
	}
	return nil
}

// ended removes the data of a session alone, and sets when the state of a root goes
// (S10.8, S12.3).
func (t *tree) ended(m *Member) {
	m = t.touch(m, m.Cleaned(t.clock).Session)
	m.Ends++
	t.batch.Deletes = append(t.batch.Deletes, store.Check{Key: sessionValuesKey(m), Version: store.AnyVersion})
	if keep := t.a.cfg.Retention; keep > 0 && m.Root() && m.StateID != "" {
		t.batch.SetTimers = append(t.batch.SetTimers, store.Timer{TimerID: retentionTimer(m), Due: m.EndedAt.Add(keep)})
	}
}

// announce adds an event about a session, or a task of it, whose ids may belong to
// other shards than its record.
func (t *tree) announce(of store.Key, event store.Event) {
	event.Key = of
	t.batch.Events = append(t.batch.Events, event)
}

// touch records the next form of a session.
func (t *tree) touch(m *Member, s *session.Session) *Member {
	for _, known := range t.now {
		if known.Key == m.Key {
			s.Version = known.Version
			known.Session = s
			return known
		}
	}
	next := &Member{Session: s, Key: m.Key, ParentHome: m.ParentHome, RootHome: m.RootHome, Ends: m.Ends}
	s.Version = m.Version + 1
	t.now = append(t.now, next)
	return next
}

// puts adds the sessions to the batch.
func (t *tree) puts() error {
	for _, m := range t.now {
		data, err := encodeMember(m)
		if err != nil {
			return fault.From(err)
		}
		t.batch.Puts = append(t.batch.Puts, store.Put{Key: m.Key, Expect: m.Version - 1, Data: data, Labels: m.labels()})
		timer := store.TimerID{Key: m.Key, Name: "session"}
		if due := m.NextDue(); due.IsZero() {
			t.batch.ClearTimers = append(t.batch.ClearTimers, timer)
		} else {
			t.batch.SetTimers = append(t.batch.SetTimers, store.Timer{TimerID: timer, Due: due})
		}
	}
	for of, word := range t.ends {
		if err := word.Say(&t.batch, of, t.clock.Now); err != nil {
			return err
		}
	}
	return nil
}

// commit stores the change. Without changes it does not write. The error is a fault, or a
// lost race.
func (t *tree) commit(ctx context.Context) (store.Result, error) {
	if err := t.puts(); err != nil {
		return store.Result{}, err
	}
	if len(t.batch.Puts) == 0 {
		return store.Result{}, nil
	}
	result, err := t.a.store.Commit(ctx, t.batch)
	if err != nil {
		return result, retry.Fault(err)
	}
	if !result.Replayed {
		t.committed()
	}
	return result, nil
}

// committed caches the stored records, and wakes runners: there is a new task, or one of
// them has less to do.
func (t *tree) committed() {
	for _, m := range t.now {
		t.a.rememberMember(m)
	}
	if t.tasks {
		t.a.changes.Wake(anyTask)
	}
}

// contest calls try until it has not lost a race, in turn with the others of this
// process that want the same tree. of is any key of the tree.
func (a *App) contest(ctx context.Context, of store.Key, what string, try func() error) error {
	return a.turns.Run(ctx, of.Shard(a.store.Shards()), what, try)
}

// step applies one command to one session and commits it, again from the start when
// another caller was faster. It returns the session afterwards; key, when not empty,
// makes the request happen once.
func (a *App) step(ctx context.Context, caller Caller, at store.Key, key once.Key, decide func(*Member, session.Clock) (session.Result, error)) (*Member, error) {
	var m *Member
	err := a.contest(ctx, at, "session "+at.ID, func() (err error) {
		m, err = a.tryStep(ctx, caller, at, key, decide)
		return err
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (a *App) tryStep(ctx context.Context, caller Caller, at store.Key, key once.Key, decide func(*Member, session.Clock) (session.Result, error)) (*Member, error) {
	m, err := a.loadMember(ctx, at)
	if err != nil {
		return nil, err
	}
	switch done, err := key.Done(ctx, a.store, at); {
	case err != nil:
		return nil, err
	case done:
		return a.loadMember(ctx, at)
	}
	t := a.newTree(caller)
	if m, t.clock.StateVersion, err = a.withStateVersion(ctx, m); err != nil {
		return nil, err
	}
	r, err := decide(m, t.clock)
	if err != nil {
		return nil, err
	}
	if err := t.apply(ctx, m, r); err != nil {
		return nil, err
	}
	if r.Changed {
		t.batch.Idempotency = key.Keep(at)
	}
	result, err := t.commit(ctx)
	switch {
	case err != nil:
		return nil, err
	case result.Replayed:
		return a.loadMember(ctx, at)
	default:
		return t.memberNow(ctx, at)
	}
}

// withStateVersion returns the version of the state that a session shares, 0 without
// one. A session whose state was deleted shares none any more.
func (a *App) withStateVersion(ctx context.Context, m *Member) (*Member, int64, error) {
	if m.StateID == "" {
		return m, 0, nil
	}
	record, err := a.store.Get(ctx, stateKey(m.Key.Namespace, m.StateID))
	if notFound(err) {
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
