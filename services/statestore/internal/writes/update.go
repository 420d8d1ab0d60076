package writes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/idempotency"
	"github.com/interlock-run/interlock/services/statestore/internal/member"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
	"github.com/interlock-run/interlock/services/statestore/internal/schemas"
	"github.com/interlock-run/interlock/services/statestore/internal/states"
)

// Editor changes states.
type Editor struct {
	ports    *ports.Ports
	announce Announcer
	schemas  *schemas.Schemas
	states   *states.States
	members  *member.Members
	permits  *Permits
	writers  writers
}

// NewEditor returns an editor of states.
func NewEditor(p *ports.Ports, announce Announcer, schemas *schemas.Schemas, states *states.States, members *member.Members, permits *Permits) *Editor {
	return &Editor{
		ports: p, announce: announce, schemas: schemas, states: states, members: members, permits: permits,
		writers: writers{queues: map[store.Key]*queue{}},
	}
}

// Update is a request to change a state: exactly one of Data, Patch and Merge, or a
// migration with or without a patch.
type Update struct {
	StateID            string
	Data, Patch, Merge []byte
	// Migrate moves the state to SchemaVersion of its schema, 0 for the live one.
	Migrate       bool
	SchemaVersion int64
	Expected      int64
	Token         int64
	Key           string
}

// once distinguishes requests with the same idempotency key.
func (u *Update) once(caller ports.Caller) idempotency.Key {
	if u.Key == "" {
		return idempotency.Key{}
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %d %d %v %d", caller.Session, u.StateID, u.Expected, u.Token, u.Migrate, u.SchemaVersion)
	for _, part := range [][]byte{u.Data, u.Patch, u.Merge} {
		fmt.Fprintf(h, " %d:", len(part))
		h.Write(part)
	}
	return idempotency.Key{Name: "update " + u.Key, Digest: hex.EncodeToString(h.Sum(nil))}.By(caller.Principal)
}

// edit is an Update that has been read: its effect on a document.
type edit struct {
	Update
	caller ports.Caller
	acting *member.Member
	once   idempotency.Key

	data  document.Value
	patch *document.Patch
	merge document.Value
	// target is the schema that a migration leads to.
	target *schemas.Compiled
	// guards are the records that a permission to write rests on: see restricted.
	guards []store.Check

	done chan outcome // receives once
	// work is that of the request, which waits for the edit, and leave ends the edit's part.
	work  context.Context
	leave func()
}

// size returns how many bytes a request brings.
func (e *edit) size() int { return len(e.Data) + len(e.Patch) + len(e.Merge) }

type outcome struct {
	state *states.State
	err   error
}

// Update changes a state and returns it at its new version. Changes of concurrent writers
// apply one after the other to the document as it is then (S10.3).
func (ed *Editor) Update(ctx context.Context, caller ports.Caller, u Update) (*states.State, error) {
	var st *states.State
	err := ed.states.On(ctx, caller, u.StateID, func(acting *member.Member, key store.Key) (err error) {
		st, err = ed.updateAs(ctx, caller, acting, key, u)
		return err
	})
	return st, err
}

func (ed *Editor) updateAs(ctx context.Context, caller ports.Caller, acting *member.Member, key store.Key, u Update) (*states.State, error) {
	size := len(u.Data) + len(u.Patch) + len(u.Merge)
	if err := ed.writers.enter(size); err != nil {
		return nil, err
	}
	defer ed.writers.leave(size)
	e, err := ed.parse(ctx, caller, acting, key, u)
	if err != nil {
		return nil, err
	}
	if st, err := ed.updatedBefore(ctx, key, e); st != nil || err != nil {
		return st, err
	}
	if e.work, e.leave, err = ed.ports.Store.Gate().Enter(context.WithoutCancel(ctx)); err != nil {
		return nil, fault.From(err)
	}
	ed.writers.add(ed, key, e)
	select {
	case out := <-e.done:
		if out.err == nil {
			return out.state, nil
		}
		// A repeat may have been under way at the same time.
		st, again := ed.updatedBefore(ctx, key, e)
		if st != nil || fault.ReasonOf(again) == fault.IdempotencyMismatch {
			return st, again
		}
		return nil, out.err
	case <-ctx.Done():
		return nil, fault.New(fault.CommitUncertain, "the caller cancelled the request or its deadline passed before it was complete; read the state before trying again").Wrap(ctx.Err())
	}
}

// parse parses a request.
func (ed *Editor) parse(ctx context.Context, caller ports.Caller, acting *member.Member, key store.Key, u Update) (*edit, error) {
	e := &edit{Update: u, caller: caller, acting: acting, once: u.once(caller), done: make(chan outcome, 1)}
	limits := document.Limits{Bytes: ed.ports.Config.MaxStateBytes}
	var problems document.Problems
	switch {
	case u.Data != nil:
		if e.data, problems = document.ParseAll(u.Data, limits); problems.HasErrors() {
			return nil, ports.BadJSON("data", problems)
		}
	case u.Merge != nil:
		if e.merge, problems = document.ParseAll(u.Merge, limits); problems.HasErrors() {
			return nil, ports.BadJSON("merge_patch", problems)
		}
	case u.Patch != nil:
		if e.patch, problems = document.ParsePatch(u.Patch, ed.patchLimits()); problems.HasErrors() {
			return nil, ports.BadJSON("operations", problems)
		}
	case !u.Migrate:
		return nil, fault.New(fault.InvalidRequest, "give data, or a patch")
	}
	if !u.Migrate {
		return e, nil
	}
	st, err := ed.states.Load(ctx, key)
	if err != nil {
		return nil, err
	}
	e.target, err = ed.schemas.Compile(ctx, caller.Namespace, st.SchemaName, u.SchemaVersion)
	return e, err
}

func (ed *Editor) patchLimits() document.PatchLimits {
	return document.PatchLimits{Bytes: ed.ports.Config.MaxStateBytes}
}

// updatedBefore handles a repeat of a request that was carried out (S6.5): the
// state as it was then.
func (ed *Editor) updatedBefore(ctx context.Context, key store.Key, e *edit) (*states.State, error) {
	data, err := idempotency.Answer(ctx, ed.ports.Store, key, e.once.Name)
	if data == nil || err != nil {
		return nil, err
	}
	return ed.replayed(ctx, key, e, data)
}

func (ed *Editor) replayed(ctx context.Context, key store.Key, e *edit, stored []byte) (*states.State, error) {
	first, err := states.DecodeAnswer(stored, e.once, key)
	if err != nil {
		return nil, err
	}
	return ed.states.Replay(ctx, key, first, document.Value{})
}

// apply applies an edit to a state, under its schema, once permit accepts the resulting
// document.
func (e *edit) apply(
	cur *states.State, rules *document.Schema, most int, permit func(document.Value) error,
) (states.State, json.RawMessage, []string, error) {
	if e.Expected != 0 && e.Expected != cur.Version {
		return states.State{}, nil, nil, fault.New(fault.VersionConflict,
			"state %s is at version %d, not %d; read it and decide again", cur.Key.ID, cur.Version, e.Expected).
			Meta("current_version", strconv.FormatInt(cur.Version, 10)).Meta("expected_version", strconv.FormatInt(e.Expected, 10))
	}
	if e.target != nil && e.target.Number <= cur.SchemaVersion {
		return states.State{}, nil, nil, fault.New(fault.FailedPrecondition,
			"state %s already conforms to version %d of schema %q; it can only move to a newer version", cur.Key.ID, cur.SchemaVersion, cur.SchemaName)
	}
	data, patch, err := e.change(cur, most)
	if err == nil {
		err = permit(data)
	}
	if err != nil {
		return states.State{}, nil, nil, err
	}
	size := document.Size(data, most+1)
	if size > most {
		return states.State{}, nil, nil, fault.New(fault.TooLarge, "the state would be larger than %d bytes; no change was made. Store large results elsewhere and refer to them here", most)
	}
	problems := rules.ValidateChange(cur.Data, data)
	if e.target != nil {
		problems = e.target.Rules.Validate(data)
	}
	if problems.HasErrors() {
		name, number := cur.SchemaName, cur.SchemaVersion
		if e.target != nil {
			number = e.target.Number
		}
		return states.State{}, nil, nil, ports.Violations(fault.New(fault.SchemaViolation,
			"the state would not conform to schema %q version %d, so no change was made (it stays at version %d): %s", name, number, cur.Version, ports.First(problems)), "", problems).
			Meta("current_version", strconv.FormatInt(cur.Version, 10))
	}
	next := *cur
	next.Data, next.Bytes = data, size
	return next, patch.AppendJSON(nil), patch.Touched(), nil
}

// change returns the document afterwards, and the patch that leads there.
func (e *edit) change(cur *states.State, most int) (document.Value, *document.Patch, error) {
	switch {
	case e.patch != nil:
		next, failed := e.patch.Apply(cur.Data, document.PatchLimits{Bytes: most})
		if failed != nil {
			p := failed.Problem()
			return next, nil, fault.New(ports.PatchReason(failed.Code), "the patch does not apply to version %d, so no change was made: operation %d (%s %s): %s",
				cur.Version, failed.Operation, failed.Op, ports.Clip(failed.Path), failed.Message).
				Violate("/operations"+p.Pointer, failed.Code, failed.Message).Meta("current_version", strconv.FormatInt(cur.Version, 10))
		}
		return next, e.patch, nil
	case !e.merge.IsZero():
		next, problem := document.MergePatch(cur.Data, e.merge, document.PatchLimits{Bytes: most})
		if problem != nil {
			return next, nil, fault.New(ports.PatchReason(problem.Code), "the patch does not apply, so no change was made: %s", problem.Message)
		}
		return next, document.Diff(cur.Data, next), nil
	case !e.data.IsZero():
		return e.data, document.Diff(cur.Data, e.data), nil
	default: // a migration that leaves the data as it is
		return cur.Data, document.Diff(cur.Data, cur.Data), nil
	}
}
