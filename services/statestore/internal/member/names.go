package member

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"

	"github.com/interlock-run/interlock/services/internal/snapshot"
)

// Names finds sessions by their names and ids, and creates and removes both.
type Names struct {
	ports   *ports.Ports
	members *Members
	refs    *snapshot.Cache[store.Key, string]
}

// NewNames returns the names of sessions.
func NewNames(p *ports.Ports, members *Members) *Names {
	ns := &Names{ports: p, members: members, refs: snapshot.New[store.Key, string](16_384)}
	p.Store.Gate().OnTurn(ns.refs.Clear)
	return ns
}

// kindRef maps a name, or an id that a caller chose, to a session's home.
const kindRef = ledger.KindSessionRef

func refKey(namespace, name string) store.Key {
	return store.Key{Namespace: namespace, Kind: kindRef, ID: name}
}

// Find returns a session by its id or name, as it is now.
func (ns *Names) Find(ctx context.Context, namespace, name string) (*Member, error) {
	key, err := ns.homeOf(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	return ns.members.Load(ctx, key)
}

// homeOf returns the record of the session that a name or an id stands for. A
// session whose creation was cut short is completed first.
func (ns *Names) homeOf(ctx context.Context, namespace, name string) (store.Key, error) {
	if strings.HasPrefix(name, typeid.Session+"_") {
		return KeyOf(namespace, name), nil
	}
	at := refKey(namespace, name)
	if home, ok := ns.refs.Get(at); ok {
		return KeyOf(namespace, home), nil
	}
	in, err := ns.read(ctx, at)
	if err != nil {
		return store.Key{}, err
	}
	if in == nil {
		return store.Key{}, noSession(name)
	}
	m, err := ns.settle(ctx, namespace, in)
	if err != nil {
		return store.Key{}, err
	}
	ns.refs.Put(at, m.Key.ID, nil)
	return m.Key, nil
}

// settle completes the session of an intent that was found. Where that can never be,
// for its id went to another one, its name is free again and the session NOT_FOUND.
func (ns *Names) settle(ctx context.Context, namespace string, in *Intent) (*Member, error) {
	if in.Deleted {
		return ns.members.Load(ctx, KeyOf(namespace, in.Home)) // of a removal that was cut short
	}
	m, err := ns.complete(ctx, namespace, in)
	var taken *takenError
	if !errors.As(err, &taken) {
		return m, err
	}
	if err := ns.takeBack(ctx, namespace, in); err != nil {
		return nil, err
	}
	return nil, noSession(in.Name)
}

// Intent is a session to be, stored under its name (and under its id, if the caller
// chose one) before the session itself: names live in other shards than trees. The
// name decides: who finds it without its session completes that, so a creation that
// was cut short is finished by the next caller and no name is lost.
type Intent struct {
	Home       string            `json:"home"`
	ID         string            `json:"id"`
	Name       string            `json:"name"`
	ParentHome string            `json:"parent_home,omitempty"`
	Skip       bool              `json:"skip,omitempty"`
	Early      bool              `json:"early,omitempty"`
	NoCallback bool              `json:"no_callback,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
	// LabelsCount: no agent has set the labels.
	LabelsCount bool   `json:"labels_count,omitempty"`
	StateRef    string `json:"state_ref,omitempty"`
	Agent       string `json:"agent,omitempty"`
	Subject     string `json:"subject,omitempty"`
	Prompt      string `json:"prompt,omitempty"`
	Owner       string `json:"owner"`
	// Only narrows its calls as long as it has no record of its own: before it is made, and once it is deleted.
	Only json.RawMessage `json:"only,omitempty"`
	// Human is on whose behalf the session works; nil for that of its parent.
	Human *ledger.Human `json:"human,omitempty"`
	// Deleted: the session is removed, and its names are never given again (S15.11).
	Deleted bool `json:"deleted,omitempty"`

	// by is who asks for it; only its name is known of an intent that was found.
	by auth.Principal

	version int64 // of the record that it was read from
}

// By returns the intent of a caller.
func (in *Intent) By(p auth.Principal) *Intent {
	in.by = p
	return in
}

// same reports whether both are requests for the same session.
func (in *Intent) same(other *Intent) bool {
	a, b := *in, *other
	if a.ID == a.Home && b.ID == b.Home {
		a.ID = b.ID // both were left to the server
	}
	a.Home, a.Owner, a.LabelsCount, a.version, a.by = b.Home, b.Owner, b.LabelsCount, b.version, b.by
	if a.Human.Same(b.Human) {
		a.Human = b.Human // a later token of the person
	}
	a.Labels, b.Labels = nil, nil
	return maps.Equal(in.Labels, other.Labels) && reflect.DeepEqual(a, b)
}

// read reads the intent of a name or an id; nil if there is none.
func (ns *Names) read(ctx context.Context, at store.Key) (*Intent, error) {
	record, err := ns.ports.Store.Get(ctx, at)
	if ports.NotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.From(err)
	}
	in := &Intent{}
	if err := json.Unmarshal(record.Data, in); err != nil {
		return nil, fault.From(fmt.Errorf("decode session name: %w", err))
	}
	in.version = record.Version
	return in, nil
}

// refs returns the keys that lead to a session: none when its id is its only name.
func (in *Intent) refs(namespace string) []store.Key {
	var keys []store.Key
	if in.Name != in.Home {
		keys = append(keys, refKey(namespace, in.Name))
	}
	if in.ID != in.Home && in.ID != in.Name {
		keys = append(keys, refKey(namespace, in.ID))
	}
	return keys
}

// Create makes the session of an intent, or answers the one that is the same.
func (ns *Names) Create(ctx context.Context, namespace string, in *Intent) (m *Member, created bool, err error) {
	m, err = ns.complete(ctx, namespace, in)
	var taken *takenError
	switch {
	case err == nil:
		return m, true, nil
	case fault.ReasonOf(err) == fault.FailedPrecondition || fault.ReasonOf(err) == fault.Halted || fault.ReasonOf(err) == fault.Unauthenticated:
		return nil, false, errors.Join(err, ns.takeBack(ctx, namespace, in))
	case !errors.As(err, &taken):
		return nil, false, err
	case taken.by.Deleted:
		return nil, false, errors.Join(taken.fault(), ns.takeBack(ctx, namespace, in))
	}
	m, err = ns.settle(ctx, namespace, taken.by)
	switch {
	case fault.ReasonOf(err) == fault.NotFound:
		return nil, false, store.ErrConflict // and the name is free again
	case err != nil:
		return nil, false, err
	case taken.by.same(in):
		m, err = ns.members.Load(ctx, m.Key)
		return m, false, err
	default:
		return nil, false, errors.Join(taken.fault(), ns.takeBack(ctx, namespace, in))
	}
}

// complete creates the missing parts of an intent, and returns the session.
func (ns *Names) complete(ctx context.Context, namespace string, in *Intent) (*Member, error) {
	key := KeyOf(namespace, in.Home)
	if m, err := ns.members.Cached(ctx, key); fault.ReasonOf(err) != fault.NotFound {
		return m, err
	}
	for _, ref := range in.refs(namespace) {
		if err := ns.reserve(ctx, ref, in); err != nil {
			return nil, err
		}
	}
	var m *Member
	err := ns.members.Contest(ctx, key, "session "+in.Name, func() (err error) {
		m, err = ns.open(ctx, key, in)
		if !retry.Lost(err) {
			return err
		}
		there, failed := ns.members.Load(ctx, key) // made by a faster caller
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
func (ns *Names) reserve(ctx context.Context, ref store.Key, in *Intent) error {
	data, err := json.Marshal(in)
	if err != nil {
		return fault.From(fmt.Errorf("encode session name: %w", err))
	}
	return retry.Run(ctx, "session "+in.Name, func() error {
		_, lost := ns.ports.Commit(ctx, in.by, store.Batch{Puts: []store.Put{{Key: ref, Expect: store.Absent, Data: data}}})
		if !retry.Lost(lost) {
			return retry.Fault(lost)
		}
		switch other, err := ns.read(ctx, ref); {
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

// takenError says that a name stands for another session.
type takenError struct {
	name string
	by   *Intent
}

func (e *takenError) Error() string { return e.fault().Error() }

func (e *takenError) Unwrap() error { return e.fault() }

func (e *takenError) fault() *fault.Error {
	return fault.New(fault.NameTaken, "session %q already exists; choose another name, or use that session", ports.Clip(e.name))
}

// open commits the session itself, and its parent's count.
func (ns *Names) open(ctx context.Context, key store.Key, in *Intent) (*Member, error) {
	if in.by.Name == "" {
		in.by.Name = in.Owner
	}
	t := ns.members.NewTree(ports.Caller{Namespace: key.Namespace, Principal: in.by})
	check, err := ns.members.Unhalted(ctx, key.Namespace, Work{
		By: in.by, Humans: []*auth.Human{in.Human.Read()}, Agent: in.Agent, Sessions: []string{in.Name, in.ID, in.ParentHome},
	})
	if err != nil {
		return nil, err
	}
	t.Batch.Checks = append(t.Batch.Checks, check)
	m := &Member{Session: &session.Session{}, Key: key, RootHome: in.Home, ParentHome: in.ParentHome}
	var parent *Member
	var above *session.Session
	if in.ParentHome != "" {
		if parent, err = ns.members.Load(ctx, KeyOf(key.Namespace, in.ParentHome)); err != nil {
			return nil, err
		}
		above, m.RootHome = parent.Session, parent.RootHome
	}
	r, err := session.Open(session.Spec{
		ID: in.ID, Name: in.Name, Skip: in.Skip, AcceptEarly: in.Early, NoCallback: in.NoCallback, Labels: in.Labels, LabelsCount: in.LabelsCount,
		StateRef: in.StateRef, Agent: in.Agent, Subject: in.Subject, Prompt: in.Prompt, Owner: in.Owner, Only: in.Only,
	}, above, t.Clock)
	if err != nil {
		return nil, fault.New(fault.FailedPrecondition, "%v", err)
	}
	if in.Human != nil {
		if r.Session.Human, err = json.Marshal(in.Human); err != nil {
			return nil, fault.From(err)
		}
	}
	event, err := ns.members.announce.SessionCreated(key.Namespace, in.Owner, withVersion(r.Session, 1))
	if err != nil {
		return nil, fault.From(err)
	}
	t.Announce(key, event)
	if err := t.Apply(ctx, m, r); err != nil {
		return nil, err
	}
	if parent != nil {
		if err := t.Apply(ctx, parent, above.ChildOpened(t.Clock)); err != nil {
			return nil, err
		}
	}
	if _, err := t.Commit(ctx); err != nil {
		return nil, err
	}
	return t.Member(ctx, key)
}

func withVersion(s *session.Session, version int64) *session.Session {
	next := *s
	next.Version = version
	return &next
}

// takeBack frees the names of a session that cannot be made.
func (ns *Names) takeBack(ctx context.Context, namespace string, in *Intent) error {
	for _, ref := range in.refs(namespace) {
		known, err := ns.read(ctx, ref)
		if err != nil {
			return err
		}
		if known == nil || known.Home != in.Home {
			continue
		}
		// Anyone who has taken the name since then keeps it.
		_, err = ns.ports.Store.Commit(ctx, store.Batch{Deletes: []store.Check{{Key: ref, Version: known.version}}})
		if err != nil && !retry.Lost(err) {
			return fault.From(err)
		}
	}
	return nil
}

// Remove removes one session that has ended. Its names, which live in other shards,
// are closed before: they never make a session again.
func (ns *Names) Remove(ctx context.Context, caller ports.Caller, key store.Key) error {
	return ns.members.Contest(ctx, key, "session "+key.ID, func() error {
		m, err := ns.members.Load(ctx, key)
		switch {
		case fault.ReasonOf(err) == fault.NotFound:
			return nil
		case err != nil:
			return err
		case m.Status != session.Ended:
			return fault.New(fault.FailedPrecondition, "session %q works again; end it first", ports.Clip(m.Name))
		}
		for _, name := range []string{m.Name, m.ID} {
			if err := ns.close(ctx, caller, m, name); err != nil {
				return err
			}
		}
		_, err = ns.ports.Commit(ctx, caller.Principal, store.Batch{
			Deletes:     []store.Check{{Key: key, Version: m.Version}, {Key: ValuesKey(m), Version: store.AnyVersion}},
			ClearTimers: []store.TimerID{{Key: key, Name: "session"}},
		})
		if err != nil {
			return retry.Fault(err)
		}
		ns.members.cache.Drop(key)
		return nil
	})
}

// close makes a name of a session stand for one that is removed.
func (ns *Names) close(ctx context.Context, caller ports.Caller, m *Member, name string) error {
	at := refKey(m.Key.Namespace, name)
	return retry.Run(ctx, "session "+m.Name, func() error {
		in, err := ns.read(ctx, at)
		if err != nil || in == nil || in.Home != m.Key.ID || in.Deleted {
			return err
		}
		in.Deleted, in.Only = true, m.Only
		data, err := json.Marshal(in)
		if err != nil {
			return fault.From(fmt.Errorf("encode session name: %w", err))
		}
		_, err = ns.ports.Commit(ctx, caller.Principal, store.Batch{Puts: []store.Put{{Key: at, Expect: in.version, Data: data}}})
		return retry.Fault(err)
	})
}

// Taken reports a name that a session has or had.
func (ns *Names) Taken(ctx context.Context, namespace, name string) (bool, error) {
	in, err := ns.read(ctx, refKey(namespace, name))
	return in != nil, err
}
