// Package writes creates, updates and deletes shared states.
package writes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/internal/idempotency"
	"github.com/interlock-run/interlock/services/statestore/internal/member"
	"github.com/interlock-run/interlock/services/statestore/internal/opening"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
	"github.com/interlock-run/interlock/services/statestore/internal/schemas"
	"github.com/interlock-run/interlock/services/statestore/internal/states"
)

// Announcer turns a change of a state into the event that is committed with it.
type Announcer interface {
	StateEvent(namespace, actor string, st *states.State, change *states.Change) (store.Event, error)
	StateDeleted(namespace, actor string, st *states.State, forced bool, at time.Time) (store.Event, error)
}

// Creator creates states.
type Creator struct {
	ports    *ports.Ports
	announce Announcer
	schemas  *schemas.Schemas
	states   *states.States
	members  *member.Members
	names    *member.Names
	opener   *opening.Opener
}

// NewCreator returns a creator of states.
func NewCreator(
	p *ports.Ports, announce Announcer, schemas *schemas.Schemas, states *states.States, members *member.Members, names *member.Names, opener *opening.Opener,
) *Creator {
	return &Creator{ports: p, announce: announce, schemas: schemas, states: states, members: members, names: names, opener: opener}
}

// NewState is a request for a state.
type NewState struct {
	Schema        string
	SchemaVersion int64
	Data          []byte
	// Existing refuses a session that is not known.
	Existing bool
	Key      string
}

// Create makes a state at version 1 for the session that acts, which is a root
// and made when there is none of that name (S10.2).
func (cr *Creator) Create(ctx context.Context, caller ports.Caller, req NewState) (*states.State, error) {
	data, problems := document.ParseAll(req.Data, document.Limits{Bytes: cr.ports.Config.MaxStateBytes})
	if problems.HasErrors() {
		return nil, ports.BadJSON("initial_data", problems)
	}
	c := &creation{a: cr, caller: caller, NewState: req, data: data, once: req.once(caller)}
	if st, err := c.repeated(ctx); st != nil || err != nil {
		return st, err
	}
	var err error
	if c.rules, err = cr.schemas.ForNew(ctx, caller.Namespace, req.Schema, req.SchemaVersion); err != nil {
		return nil, err
	}
	if problems := c.rules.Rules.Validate(data); problems.HasErrors() {
		return nil, ports.Violations(fault.New(fault.SchemaViolation, "the data does not conform to schema %q version %d, so no state was created: %s",
			c.rules.Name, c.rules.Number, ports.First(problems)), "", problems)
	}
	root, err := c.rootSession(ctx)
	if err != nil {
		return nil, err
	}
	var st *states.State
	err = cr.members.Contest(ctx, root.Key, "session "+root.Name, func() (err error) {
		if root, err = cr.members.Load(ctx, root.Key); err != nil {
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

func (r *NewState) once(caller ports.Caller) idempotency.Key {
	return idempotency.Of(r.Key, "create state", fmt.Sprintf("%q %d %s", r.Schema, r.SchemaVersion, r.Data)).By(caller.Principal)
}

// creation is a request for a state that has been read.
type creation struct {
	NewState
	a      *Creator
	caller ports.Caller
	data   document.Value
	once   idempotency.Key
	rules  *schemas.Compiled
}

// rootName returns the name of the session that the state is to be of; empty for a new
// one without a name of its own.
func (c *creation) rootName() string {
	if c.caller.Session != "" || c.Key == "" {
		return c.caller.Session
	}
	// A repeat must find the session that the first request made.
	sum := sha256.Sum256([]byte(idempotency.NameBy(c.caller.Principal, c.Key)))
	return "root-" + hex.EncodeToString(sum[:12])
}

// rootSession returns the session that the state is to be of.
func (c *creation) rootSession(ctx context.Context) (*member.Member, error) {
	name := c.rootName()
	if name != "" {
		m, err := c.a.names.Find(ctx, c.caller.Namespace, name)
		if fault.ReasonOf(err) != fault.NotFound {
			return m, err
		}
		if c.Existing {
			return nil, fault.New(fault.NotFound, "there is no session %q; create it with POST /v1/sessions, or give a session_name", ports.Clip(name))
		}
	}
	caller := c.caller
	caller.Session = ""
	m, _, err := c.a.opener.Create(ctx, caller, opening.Request{Name: name})
	return m, err
}

// repeated handles a repeat of a request, regardless of its present schema.
func (c *creation) repeated(ctx context.Context) (*states.State, error) {
	if c.Key == "" {
		return nil, nil
	}
	root, err := c.a.names.Find(ctx, c.caller.Namespace, c.rootName())
	if fault.ReasonOf(err) == fault.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return c.before(ctx, root.Key)
}

// before returns the state that the same request has created for a session.
func (c *creation) before(ctx context.Context, root store.Key) (*states.State, error) {
	stored, err := idempotency.Answer(ctx, c.a.ports.Store, root, c.once.Name)
	if stored == nil || err != nil {
		return nil, err
	}
	return c.replayed(ctx, root, stored)
}

func (c *creation) replayed(ctx context.Context, root store.Key, stored []byte) (*states.State, error) {
	first, err := states.DecodeAnswer(stored, c.once, root)
	if err != nil {
		return nil, err
	}
	return c.a.states.Replay(ctx, ports.StateKey(root.Namespace, first.StateID), first, c.data)
}

// admit refuses sessions that cannot create a state.
func (c *creation) admit(root *member.Member) error {
	switch {
	case !root.Root():
		return fault.New(fault.FailedPrecondition, "session %q is a child: only the root of its tree (%q) creates the state, and children share it", ports.Clip(root.Name), ports.Clip(root.RootName))
	case root.StateID != "":
		return fault.New(fault.FailedPrecondition, "session %q already has state %s; update that, or create another session", ports.Clip(root.Name), root.StateID).
			Meta("state_id", root.StateID)
	case root.Status == session.Ended:
		return fault.New(fault.SessionEnded, "session %q has ended and cannot create a state; resume it first, or create another session", ports.Clip(root.Name))
	}
	return nil
}

// put commits a state, its root session and the events of both.
func (c *creation) put(ctx context.Context, root *member.Member) (*states.State, error) {
	if err := c.admit(root); err != nil {
		return nil, err
	}
	a, rules := c.a, c.rules
	id, err := typeid.NewWhere(typeid.State, func(id string) bool {
		shards := a.ports.Store.Shards()
		return ports.StateKey(c.caller.Namespace, id).Shard(shards) == root.Key.Shard(shards)
	})
	if err != nil {
		return nil, fault.From(err)
	}
	unhalted, err := a.members.Unhalted(ctx, root.Key.Namespace, member.Work{By: c.caller.Principal, Humans: []*auth.Human{c.caller.For}, Sessions: []string{root.ID}})
	if err != nil {
		return nil, err
	}
	t := a.members.NewTree(c.caller)
	st := &states.State{
		Key: ports.StateKey(c.caller.Namespace, id), SchemaName: rules.Name, SchemaVersion: rules.Number, SchemaID: rules.ID,
		RootID: root.ID, RootName: root.Name, RootHome: root.Key.ID, Version: 1, Base: 1, Data: c.data,
		CreatedAt: t.Clock.Now, UpdatedAt: t.Clock.Now, UpdatedBy: root.Name,
	}
	text := c.data.AppendJSON(nil)
	if st.Bytes = len(text); st.Bytes > a.ports.Config.MaxStateBytes {
		return nil, fault.New(fault.TooLarge, "the state would be larger than %d bytes; no state was created", a.ports.Config.MaxStateBytes)
	}
	if err := t.Apply(ctx, root, root.WithState(id, t.Clock)); err != nil {
		return nil, err
	}
	change := &states.Change{
		Version: 1, Type: states.Created, At: st.CreatedAt, SessionID: root.ID, SessionName: root.Name, Actor: c.caller.Principal.Name,
		SchemaVersion: rules.Number, Patch: append(append([]byte(`[{"op":"add","path":"","value":`), text...), `}]`...), Pointers: []string{""},
	}
	event, err := a.announce.StateEvent(c.caller.Namespace, c.caller.Principal.Name, st, change)
	if err != nil {
		return nil, fault.From(err)
	}
	t.Batch.Checks = append(t.Batch.Checks, unhalted)
	t.Batch.Events = append(t.Batch.Events, event)
	t.Batch.Puts = []store.Put{{Key: st.Key, Expect: store.Absent, Data: st.Encode(), Labels: st.Labels(), History: states.EncodeChange(change)}}
	if t.Batch.Idempotency, err = st.Keep(c.once, root.Key); err != nil {
		return nil, err
	}
	result, err := t.Commit(ctx)
	switch {
	case err != nil:
		return nil, err
	case result.Replayed:
		return c.replayed(ctx, root.Key, result.Answer)
	}
	a.states.Remember(st)
	return st, nil
}
