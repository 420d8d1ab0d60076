package member

import (
	"context"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/internal/sessionend"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
)

// Tree collects the sessions that one change touches, from a session up to its
// root. They live in one shard, so that it is one commit.
type Tree struct {
	a      *Members
	Caller ports.Caller
	Batch  store.Batch
	Clock  session.Clock
	// Now is each session as it will be, in the order in which they were touched.
	Now []*Member
	// tasks: there are others for runners to do than before.
	tasks bool
	// ends has the notices to the engine, by session.
	ends map[store.Key]sessionend.Word
}

// NewTree begins a change of the sessions of a tree.
func (ms *Members) NewTree(caller ports.Caller) *Tree {
	t := &Tree{a: ms, Caller: caller, ends: map[store.Key]sessionend.Word{}}
	t.Clock = session.Clock{Now: ms.ports.Now(), Config: ms.ports.Config.Session, NewTaskID: func() string { return typeid.New(typeid.Task) }}
	return t
}

// Member returns a session as this change has left it so far.
func (t *Tree) Member(ctx context.Context, key store.Key) (*Member, error) {
	for _, m := range t.Now {
		if m.Key == key {
			return m, nil
		}
	}
	return t.a.Load(ctx, key)
}

// Apply takes a result over, and carries out its consequences for the parent.
func (t *Tree) Apply(ctx context.Context, m *Member, r session.Result) error {
	if !r.Changed {
		return nil
	}
	next := t.touch(m, r.Session)
	for _, ev := range r.Events {
		event, err := t.a.announce.SessionEvent(m.Key.Namespace, t.Caller.Principal.Name, next.Session, ev)
		if err != nil {
			return fault.From(err)
		}
		t.Announce(m.Key, event)
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
	above := KeyOf(m.Key.Namespace, m.ParentHome)
	up := func(step func(*session.Session) session.Result) error {
		parent, err := t.Member(ctx, above)
		if err != nil {
			return err
		}
		return t.Apply(ctx, parent, step(parent.Session))
	}
	for _, cb := range r.Calls {
		if err := up(func(p *session.Session) session.Result { return p.Receive(cb, t.Clock) }); err != nil {
			return err
		}
	}
	if r.Ended {
		return up(func(p *session.Session) session.Result { return p.ChildEnded(t.Clock) })
	}
	if r.Reopened {
		return up(func(p *session.Session) session.Result { return p.ChildOpened(t.Clock) })
	}
	return nil
}

// ended removes the data of a session alone, and sets when the state of a root goes
// (S10.8, S12.3).
func (t *Tree) ended(m *Member) {
	m = t.touch(m, m.Cleaned(t.Clock).Session)
	m.Ends++
	t.Batch.Deletes = append(t.Batch.Deletes, store.Check{Key: ValuesKey(m), Version: store.AnyVersion})
	if keep := t.a.ports.Config.Retention; keep > 0 && m.Root() && m.StateID != "" {
		t.Batch.SetTimers = append(t.Batch.SetTimers, store.Timer{TimerID: RetentionTimer(m), Due: m.EndedAt.Add(keep)})
	}
}

// Announce adds an event about a session, or a task of it, whose ids may belong to
// other shards than its record.
func (t *Tree) Announce(of store.Key, event store.Event) {
	event.Key = of
	t.Batch.Events = append(t.Batch.Events, event)
}

// touch records the next form of a session.
func (t *Tree) touch(m *Member, s *session.Session) *Member {
	for _, known := range t.Now {
		if known.Key == m.Key {
			s.Version = known.Version
			known.Session = s
			return known
		}
	}
	next := &Member{Session: s, Key: m.Key, ParentHome: m.ParentHome, RootHome: m.RootHome, Ends: m.Ends}
	s.Version = m.Version + 1
	t.Now = append(t.Now, next)
	return next
}

// Puts adds the sessions to the batch.
func (t *Tree) Puts() error {
	for _, m := range t.Now {
		data, err := encode(m)
		if err != nil {
			return fault.From(err)
		}
		t.Batch.Puts = append(t.Batch.Puts, store.Put{Key: m.Key, Expect: m.Version - 1, Data: data, Labels: m.labels()})
		timer := store.TimerID{Key: m.Key, Name: "session"}
		if due := m.NextDue(); due.IsZero() {
			t.Batch.ClearTimers = append(t.Batch.ClearTimers, timer)
		} else {
			t.Batch.SetTimers = append(t.Batch.SetTimers, store.Timer{TimerID: timer, Due: due})
		}
	}
	for of, word := range t.ends {
		if err := word.Say(&t.Batch, of, t.Clock.Now); err != nil {
			return err
		}
	}
	return nil
}

// Commit stores the change. Without changes it does not write. The error is a fault, or a
// lost race.
func (t *Tree) Commit(ctx context.Context) (store.Result, error) {
	if err := t.Puts(); err != nil {
		return store.Result{}, err
	}
	if len(t.Batch.Puts) == 0 {
		return store.Result{}, nil
	}
	result, err := t.a.ports.Commit(ctx, t.Caller.Principal, t.Batch)
	if err != nil {
		return result, retry.Fault(err)
	}
	if !result.Replayed {
		t.Committed()
	}
	return result, nil
}

// Committed caches the stored records, and wakes runners: there is a new task, or one of
// them has less to do.
func (t *Tree) Committed() {
	for _, m := range t.Now {
		t.a.remember(m)
	}
	if t.tasks {
		t.a.ports.Changes.Wake(AnyTask)
	}
}

// MemberOr returns a session as the change has left it so far, or as it was given.
func (t *Tree) MemberOr(given *Member) *Member {
	for _, m := range t.Now {
		if m.Key == given.Key {
			return m
		}
	}
	return given
}
