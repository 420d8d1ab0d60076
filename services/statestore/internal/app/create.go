package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/internal/contend"
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
	rules, err := a.compile(ctx, caller.Namespace, req.Schema, req.SchemaVersion)
	if err != nil {
		return nil, err
	}
	if problems := rules.rules.Validate(data); problems.HasErrors() {
		return nil, violations(fault.New(fault.SchemaViolation, "the data does not conform to schema %q version %d, so no state was created: %s",
			rules.Name, rules.Number, first(problems)), "", problems)
	}
	root, err := a.rootFor(ctx, caller, req)
	if err != nil {
		return nil, err
	}
	digest := req.digest()
	for i := range contend.Attempts {
		if st, err := a.createdBefore(ctx, root.Key, req, digest); st != nil || err != nil {
			return st, err
		}
		st, err := a.putState(ctx, caller, root, rules, data, req, digest)
		if !lostRace(err) {
			return st, err
		}
		if err := contend.Yield(ctx, i); err != nil {
			return nil, fault.From(err)
		}
		if root, err = a.loadMember(ctx, root.Key); err != nil {
			return nil, err
		}
	}
	return nil, contended("session " + root.Name)
}

func (r *NewState) digest() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d %s", r.Schema, r.SchemaVersion, r.Data))
	return hex.EncodeToString(sum[:])
}

// rootFor answers the session that the state is to be of.
func (a *App) rootFor(ctx context.Context, caller Caller, req NewState) (*Member, error) {
	name := caller.Session
	if name == "" && req.Key != "" {
		// A repeat must find the session that the first request made.
		sum := sha256.Sum256([]byte(caller.Principal.Name + "\x00" + req.Key))
		name = "root-" + hex.EncodeToString(sum[:12])
	}
	if name == "" {
		m, _, err := a.CreateSession(ctx, caller, NewSession{})
		return m, err
	}
	m, err := a.Member(ctx, caller.Namespace, name)
	if fault.ReasonOf(err) != fault.NotFound {
		return m, err
	}
	if req.Existing {
		return nil, fault.New(fault.NotFound, "there is no session %q; create it with POST /sessions, or give a session_name", clip(name))
	}
	caller.Session = ""
	m, _, err = a.CreateSession(ctx, caller, NewSession{Name: name})
	return m, err
}

func (a *App) createdBefore(ctx context.Context, root store.Key, req NewState, digest string) (*State, error) {
	if req.Key == "" {
		return nil, nil
	}
	stored, err := a.store.Answer(ctx, root, "create state "+req.Key)
	if notFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.From(err)
	}
	return a.firstCreated(ctx, root, req, digest, stored)
}

func (a *App) firstCreated(ctx context.Context, root store.Key, req NewState, digest string, stored []byte) (*State, error) {
	var first struct{ ID, Digest string }
	if err := json.Unmarshal(stored, &first); err != nil {
		return nil, fault.From(fmt.Errorf("decode answer: %w", err))
	}
	if first.Digest != digest {
		return nil, fault.From(&store.ReplayMismatchError{Owner: root, Name: req.Key})
	}
	return a.stateAt(ctx, stateKey(root.Namespace, first.ID), 1)
}

// putState commits a state, its root session and the events of both.
func (a *App) putState(ctx context.Context, caller Caller, root *Member, rules *compiled, data document.Value, req NewState, digest string) (*State, error) {
	switch {
	case !root.Root():
		return nil, fault.New(fault.FailedPrecondition, "session %q is a child: only the root of its tree (%q) creates the state, and children share it", clip(root.Name), clip(root.RootName))
	case root.StateID != "":
		return nil, fault.New(fault.FailedPrecondition, "session %q has state %s already; update that, or create another session", clip(root.Name), root.StateID).
			Meta("state_id", root.StateID)
	}
	id, err := typeid.NewWhere(typeid.State, func(id string) bool {
		shards := a.store.Shards()
		return stateKey(caller.Namespace, id).Shard(shards) == root.Key.Shard(shards)
	})
	if err != nil {
		return nil, fault.From(err)
	}
	t := a.newTree(caller)
	st := &State{
		Key: stateKey(caller.Namespace, id), SchemaName: rules.Name, SchemaVersion: rules.Number, SchemaID: rules.ID,
		RootID: root.ID, RootName: root.Name, RootHome: root.Key.ID, Version: 1, Data: data,
		CreatedAt: t.clock.Now, UpdatedAt: t.clock.Now, UpdatedBy: root.Name,
	}
	text := data.AppendJSON(nil)
	if st.Bytes = len(text); st.Bytes > a.cfg.MaxStateBytes {
		return nil, fault.New(fault.TooLarge, "the state would be larger than %d bytes; no state was created", a.cfg.MaxStateBytes)
	}
	if err := t.apply(ctx, root, root.WithState(id, t.clock)); err != nil {
		return nil, err
	}
	change := &Change{
		Version: 1, Type: Created, At: st.CreatedAt, SessionID: root.ID, SessionName: root.Name, Actor: caller.Principal.Name,
		SchemaVersion: rules.Number, Patch: append(append([]byte(`[{"op":"add","path":"","value":`), text...), `}]`...), Pointers: []string{""},
	}
	event, err := a.announce.StateEvent(caller.Namespace, caller.Principal.Name, st, change)
	if err != nil {
		return nil, fault.From(err)
	}
	t.batch.Events = append(t.batch.Events, event)
	t.batch.Puts = []store.Put{{Key: st.Key, Expect: store.Absent, Data: st.encode(text), Labels: st.labels(), History: encodeChange(change)}}
	if req.Key != "" {
		stored, err := json.Marshal(struct{ ID, Digest string }{id, digest})
		if err != nil {
			return nil, fault.From(err)
		}
		t.batch.Idempotency = &store.Idempotency{Owner: root.Key, Name: "create state " + req.Key, Digest: digest, Answer: stored, TTL: answersKept}
	}
	result, err := t.commit(ctx)
	switch {
	case lostRace(err):
		return nil, err
	case err != nil:
		return nil, fault.From(err)
	case result.Replayed:
		return a.firstCreated(ctx, root.Key, req, digest, result.Answer)
	}
	a.rememberState(st)
	return st, nil
}
