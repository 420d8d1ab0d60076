package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/internal/once"
)

// NewState is a request for a state.
type NewState struct {
	Schema        string
	SchemaVersion int64
	Data          []byte
	// Existing refuses a session that is not known.
	Existing bool
	Key      string
}

// CreateState makes a state at version 1 for the session that acts, which is a root
// and made when there is none of that name (S10.2).
func (a *App) CreateState(ctx context.Context, caller Caller, req NewState) (*State, error) {
	data, problems := document.ParseAll(req.Data, document.Limits{Bytes: a.cfg.MaxStateBytes})
	if problems.HasErrors() {
		return nil, badJSON("initial_data", problems)
	}
	c := &creation{a: a, caller: caller, NewState: req, data: data, once: req.once(caller)}
	if st, err := c.repeated(ctx); st != nil || err != nil {
		return st, err
	}
	var err error
	if c.rules, err = a.compile(ctx, caller.Namespace, req.Schema, req.SchemaVersion); err != nil {
		return nil, err
	}
	if problems := c.rules.rules.Validate(data); problems.HasErrors() {
		return nil, violations(fault.New(fault.SchemaViolation, "the data does not conform to schema %q version %d, so no state was created: %s",
			c.rules.Name, c.rules.Number, first(problems)), "", problems)
	}
	root, err := c.rootSession(ctx)
	if err != nil {
		return nil, err
	}
	var st *State
	err = a.contest(ctx, root.Key, "session "+root.Name, func() (err error) {
		if root, err = a.loadMember(ctx, root.Key); err != nil {
			return err
		}
		// Asked after the session was read, which already has its state.
		if st, err = c.before(ctx, root.Key); st != nil || err != nil {
			return err
		}
		st, err = c.put(ctx, root)
		return err
	})
	if err != nil {
		return nil, err
	}
	return st, nil
}

func (r *NewState) once(caller Caller) once.Key {
	return once.Of(r.Key, "create state", fmt.Sprintf("%q %d %s", r.Schema, r.SchemaVersion, r.Data)).By(caller.Principal)
}

// creation is a request for a state that has been read.
type creation struct {
	NewState
	a      *App
	caller Caller
	data   document.Value
	once   once.Key
	rules  *compiled
}

// rootName returns the name of the session that the state is to be of; empty for a new
// one without a name of its own.
func (c *creation) rootName() string {
	if c.caller.Session != "" || c.Key == "" {
		return c.caller.Session
	}
	// A repeat must find the session that the first request made.
	sum := sha256.Sum256([]byte(once.NameBy(c.caller.Principal, c.Key)))
	return "root-" + hex.EncodeToString(sum[:12])
}

// rootSession returns the session that the state is to be of.
func (c *creation) rootSession(ctx context.Context) (*Member, error) {
	name := c.rootName()
	if name != "" {
		m, err := c.a.Member(ctx, c.caller.Namespace, name)
		if fault.ReasonOf(err) != fault.NotFound {
			return m, err
		}
		if c.Existing {
			return nil, fault.New(fault.NotFound, "there is no session %q; create it with POST /v1/sessions, or give a session_name", clip(name))
		}
	}
	caller := c.caller
	caller.Session = ""
	m, _, err := c.a.CreateSession(ctx, caller, NewSession{Name: name})
	return m, err
}

// repeated handles a repeat of a request, regardless of its present schema.
func (c *creation) repeated(ctx context.Context) (*State, error) {
	if c.Key == "" {
		return nil, nil
	}
	root, err := c.a.Member(ctx, c.caller.Namespace, c.rootName())
	if fault.ReasonOf(err) == fault.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return c.before(ctx, root.Key)
}

// before returns the state that the same request has created for a session.
func (c *creation) before(ctx context.Context, root store.Key) (*State, error) {
	stored, err := once.Answer(ctx, c.a.store, root, c.once.Name)
	if stored == nil || err != nil {
		return nil, err
	}
	return c.replayed(ctx, root, stored)
}

func (c *creation) replayed(ctx context.Context, root store.Key, stored []byte) (*State, error) {
	first, err := decodeAnswer(stored, c.once, root)
	if err != nil {
		return nil, err
	}
	return c.a.replay(ctx, stateKey(root.Namespace, first.StateID), first, c.data)
}

// admit refuses sessions that cannot create a state.
func (c *creation) admit(root *Member) error {
	switch {
	case !root.Root():
		return fault.New(fault.FailedPrecondition, "session %q is a child: only the root of its tree (%q) creates the state, and children share it", clip(root.Name), clip(root.RootName))
	case root.StateID != "":
		return fault.New(fault.FailedPrecondition, "session %q already has state %s; update that, or create another session", clip(root.Name), root.StateID).
			Meta("state_id", root.StateID)
	case root.Status == session.Ended:
		return fault.New(fault.SessionEnded, "session %q has ended and cannot create a state; resume it first, or create another session", clip(root.Name))
	}
	return nil
}

// put commits a state, its root session and the events of both.
func (c *creation) put(ctx context.Context, root *Member) (*State, error) {
	if err := c.admit(root); err != nil {
		return nil, err
	}
	a, rules := c.a, c.rules
	id, err := typeid.NewWhere(typeid.State, func(id string) bool {
		shards := a.store.Shards()
		return stateKey(c.caller.Namespace, id).Shard(shards) == root.Key.Shard(shards)
	})
	if err != nil {
		return nil, fault.From(err)
	}
	t := a.newTree(c.caller)
	st := &State{
		Key: stateKey(c.caller.Namespace, id), SchemaName: rules.Name, SchemaVersion: rules.Number, SchemaID: rules.ID,
		RootID: root.ID, RootName: root.Name, RootHome: root.Key.ID, Version: 1, Base: 1, Data: c.data,
		CreatedAt: t.clock.Now, UpdatedAt: t.clock.Now, UpdatedBy: root.Name,
	}
	text := c.data.AppendJSON(nil)
	if st.Bytes = len(text); st.Bytes > a.cfg.MaxStateBytes {
		return nil, fault.New(fault.TooLarge, "the state would be larger than %d bytes; no state was created", a.cfg.MaxStateBytes)
	}
	if err := t.apply(ctx, root, root.WithState(id, t.clock)); err != nil {
		return nil, err
	}
	change := &Change{
		Version: 1, Type: Created, At: st.CreatedAt, SessionID: root.ID, SessionName: root.Name, Actor: c.caller.Principal.Name,
		SchemaVersion: rules.Number, Patch: append(append([]byte(`[{"op":"add","path":"","value":`), text...), `}]`...), Pointers: []string{""},
	}
	event, err := a.announce.StateEvent(c.caller.Namespace, c.caller.Principal.Name, st, change)
	if err != nil {
		return nil, fault.From(err)
	}
	t.batch.Events = append(t.batch.Events, event)
	t.batch.Puts = []store.Put{{Key: st.Key, Expect: store.Absent, Data: st.encode(), Labels: st.labels(), History: encodeChange(change)}}
	if t.batch.Idempotency, err = st.keep(c.once, root.Key); err != nil {
		return nil, err
	}
	result, err := t.commit(ctx)
	switch {
	case err != nil:
		return nil, err
	case result.Replayed:
		return c.replayed(ctx, root.Key, result.Answer)
	}
	a.rememberState(st)
	return st, nil
}
