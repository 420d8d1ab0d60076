package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// intent is a session to be, stored under its name (and under its id, if the caller
// chose one) before the session itself: names live in other shards than trees. The
// name decides: who finds it without its session completes that, so a creation that
// was cut short is finished by the next caller and no name is lost.
type intent struct {
	Home       string            `json:"home"`
	ID         string            `json:"id"`
	Name       string            `json:"name"`
	ParentHome string            `json:"parent_home,omitempty"`
	Skip       bool              `json:"skip,omitempty"`
	Early      bool              `json:"early,omitempty"`
	NoCallback bool              `json:"no_callback,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
	StateRef   string            `json:"state_ref,omitempty"`
	Agent      string            `json:"agent,omitempty"`
	Subject    string            `json:"subject,omitempty"`
	Prompt     string            `json:"prompt,omitempty"`
	Owner      string            `json:"owner"`
	// Deleted: the session is removed, and its names are never given again (S15.11).
	Deleted bool `json:"deleted,omitempty"`

	version int64 // of the record that it was read from
}

// same reports whether both are requests for the same session.
func (in *intent) same(other *intent) bool {
	a, b := *in, *other
	if a.ID == a.Home && b.ID == b.Home {
		a.ID = b.ID // both were left to the server
	}
	a.Home, a.Owner, a.version = b.Home, b.Owner, b.version
	a.Labels, b.Labels = nil, nil
	return maps.Equal(in.Labels, other.Labels) && reflect.DeepEqual(a, b)
}

func refKey(namespace, name string) store.Key {
	return store.Key{Namespace: namespace, Kind: kindRef, ID: name}
}

// intent reads the intent of a name or an id; nil if there is none.
func (a *App) intent(ctx context.Context, at store.Key) (*intent, error) {
	record, err := a.store.Get(ctx, at)
	if notFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.From(err)
	}
	in := &intent{}
	if err := json.Unmarshal(record.Data, in); err != nil {
		return nil, fault.From(fmt.Errorf("decode session name: %w", err))
	}
	in.version = record.Version
	return in, nil
}

// refs returns the keys that lead to a session: none when its id is its only name.
func (in *intent) refs(namespace string) []store.Key {
	var keys []store.Key
	if in.Name != in.Home {
		keys = append(keys, refKey(namespace, in.Name))
	}
	if in.ID != in.Home && in.ID != in.Name {
		keys = append(keys, refKey(namespace, in.ID))
	}
	return keys
}

// complete creates the missing parts of an intent, and returns the session.
func (a *App) complete(ctx context.Context, namespace string, in *intent) (*Member, error) {
	key := sessionKey(namespace, in.Home)
	if m, err := a.cachedMember(ctx, key); fault.ReasonOf(err) != fault.NotFound {
		return m, err
	}
	for _, ref := range in.refs(namespace) {
		if err := a.reserve(ctx, ref, in); err != nil {
			return nil, err
		}
	}
	var m *Member
	err := a.contest(ctx, key, "session "+in.Name, func() (err error) {
		m, err = a.openMember(ctx, key, in)
		if !retry.Lost(err) {
			return err
		}
		there, failed := a.loadMember(ctx, key) // made by a faster caller
		if fault.ReasonOf(failed) != fault.NotFound {
			m, err = there, failed
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// reserve makes a name stand for this session, or answers that it is taken.
func (a *App) reserve(ctx context.Context, ref store.Key, in *intent) error {
	data, err := json.Marshal(in)
	if err != nil {
		return fault.From(fmt.Errorf("encode session name: %w", err))
	}
	return retry.Run(ctx, "session "+in.Name, func() error {
		_, lost := a.store.Commit(ctx, store.Batch{Puts: []store.Put{{Key: ref, Expect: store.Absent, Data: data}}})
		if !retry.Lost(lost) {
			return retry.Fault(lost)
		}
		switch other, err := a.intent(ctx, ref); {
		case err != nil:
			return err
		case other == nil: // it was taken back in the meantime
			return lost
		case other.Home == in.Home:
			return nil
		default:
			return &takenError{ref.ID, other}
		}
	})
}

// settle completes the session of an intent that was found. Where that can never be,
// for its id went to another one, its name is free again and the session NOT_FOUND.
func (a *App) settle(ctx context.Context, namespace string, in *intent) (*Member, error) {
	if in.Deleted {
		return a.loadMember(ctx, sessionKey(namespace, in.Home)) // of a removal that was cut short
	}
	m, err := a.complete(ctx, namespace, in)
	var taken *takenError
	if !errors.As(err, &taken) {
		return m, err
	}
	if err := a.takeBack(ctx, namespace, in); err != nil {
		return nil, err
	}
	return nil, noSession(in.Name)
}

// takenError says that a name stands for another session.
type takenError struct {
	name string
	by   *intent
}

func (e *takenError) Error() string { return e.fault().Error() }

func (e *takenError) Unwrap() error { return e.fault() }

func (e *takenError) fault() *fault.Error {
	return fault.New(fault.NameTaken, "session %q already exists; choose another name, or use that session", clip(e.name))
}

// openMember commits the session itself, and its parent's count.
func (a *App) openMember(ctx context.Context, key store.Key, in *intent) (*Member, error) {
	t := a.newTree(Caller{Namespace: key.Namespace})
	t.caller.Principal.Name = in.Owner
	m := &Member{Session: &session.Session{}, Key: key, RootHome: in.Home, ParentHome: in.ParentHome}
	var parent *Member
	var above *session.Session
	if in.ParentHome != "" {
		var err error
		if parent, err = a.loadMember(ctx, sessionKey(key.Namespace, in.ParentHome)); err != nil {
			return nil, err
		}
		above, m.RootHome = parent.Session, parent.RootHome
	}
	r, err := session.Open(session.Spec{
		ID: in.ID, Name: in.Name, Skip: in.Skip, AcceptEarly: in.Early, NoCallback: in.NoCallback, Labels: in.Labels,
		StateRef: in.StateRef, Agent: in.Agent, Subject: in.Subject, Prompt: in.Prompt, Owner: in.Owner,
	}, above, t.clock)
	if err != nil {
		return nil, fault.New(fault.FailedPrecondition, "%v", err)
	}
	event, err := a.announce.SessionCreated(key.Namespace, in.Owner, withVersion(r.Session, 1))
	if err != nil {
		return nil, fault.From(err)
	}
	t.announce(key, event)
	if err := t.apply(ctx, m, r); err != nil {
		return nil, err
	}
	if parent != nil {
		if err := t.apply(ctx, parent, above.ChildOpened(t.clock)); err != nil {
			return nil, err
		}
	}
	if _, err := t.commit(ctx); err != nil {
		return nil, err
	}
	return t.memberNow(ctx, key)
}

func withVersion(s *session.Session, version int64) *session.Session {
	next := *s
	next.Version = version
	return &next
}

// takeBack frees the names of a session that cannot be made.
func (a *App) takeBack(ctx context.Context, namespace string, in *intent) error {
	for _, ref := range in.refs(namespace) {
		known, err := a.intent(ctx, ref)
		if err != nil {
			return err
		}
		if known == nil || known.Home != in.Home {
			continue
		}
		// Anyone who has taken the name since then keeps it.
		_, err = a.store.Commit(ctx, store.Batch{Deletes: []store.Check{{Key: ref, Version: known.version}}})
		if err != nil && !retry.Lost(err) {
			return fault.From(err)
		}
	}
	return nil
}
