package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
)

// Part is the value at a JSON Pointer in a state.
type Part struct {
	Pointer string
	Value   document.Value
	Found   bool
}

// State returns a state as it is, or with a version as it was then, and the parts
// of it that pointers name (S10.4).
func (a *App) State(ctx context.Context, caller Caller, id string, version int64, pointers []string) (*State, []Part, error) {
	st, err := a.readable(ctx, caller, id)
	if err != nil {
		return nil, nil, err
	}
	if version != 0 && version != st.Version {
		if st, err = a.stateAt(ctx, st.Key, version); err != nil {
			return nil, nil, err
		}
	} else if st, err = a.withLock(ctx, st); err != nil {
		return nil, nil, err
	}
	parts := make([]Part, len(pointers))
	for i, pointer := range pointers {
		if pointer != "" && pointer[0] != '/' {
			return nil, nil, fault.New(fault.InvalidRequest, "%q is not a JSON Pointer: it must be empty or begin with /", clip(pointer)).
				Violate(fmt.Sprintf("/pointers/%d", i), "POINTER", "must be empty or begin with /")
		}
		value, found := document.Lookup(st.Data, pointer)
		parts[i] = Part{pointer, value, found}
	}
	return st, parts, nil
}

// readable returns a state that the caller may read.
func (a *App) readable(ctx context.Context, caller Caller, id string) (*State, error) {
	var st *State
	err := a.onState(ctx, caller, id, func(acting *Member, key store.Key) (err error) {
		if st, err = a.loadState(ctx, key); err != nil {
			return err
		}
		return a.mayRead(ctx, acting, st)
	})
	if err != nil {
		return nil, err
	}
	return st, nil
}

// withLock adds who holds the lock on a state.
func (a *App) withLock(ctx context.Context, st *State) (*State, error) {
	lease, err := a.store.GetLease(ctx, lockKey(st.Key))
	if errors.Is(err, store.ErrNotFound) {
		return st, nil
	}
	if err != nil {
		return nil, fault.From(err)
	}
	next := *st
	lease.Holder = holderName(lease.Holder)
	next.Lock = &lease
	return &next, nil
}

// stateAt returns a state as it was at a version: the last whole document before it
// and the patches since.
func (a *App) stateAt(ctx context.Context, key store.Key, version int64) (*State, error) {
	now, err := a.loadState(ctx, key)
	if err != nil {
		return nil, err
	}
	if now.Version == version {
		return now, nil
	}
	gone := fault.New(fault.NotFound, "state %s has no version %d; the latest is %d", key.ID, version, now.Version)
	if version > now.Version || version < 1 {
		return nil, gone
	}
	// The version after this one is whole.
	begin := (version - 1) / snapshotEvery * snapshotEvery
	changes, lost, err := a.stretch(ctx, key, begin, version)
	if err != nil {
		return nil, err
	}
	if lost != nil {
		return nil, fault.New(fault.NotFound, "version %d of state %s is no longer kept", version, key.ID)
	}
	st, last := *now, changes[len(changes)-1]
	if st.Data, err = follow(document.NullValue(), changes); err != nil {
		return nil, fault.From(fmt.Errorf("state %s: %w", key.ID, err))
	}
	st.Version, st.UpdatedAt, st.UpdatedBy, st.SchemaVersion = version, last.At, last.Actor, last.SchemaVersion
	if last.SessionName != "" {
		st.UpdatedBy = last.SessionName
	}
	return a.under(ctx, &st, st.SchemaVersion), nil
}

// stretch returns the changes after a version up to another. The first error says that
// some are not there.
func (a *App) stretch(ctx context.Context, key store.Key, after, through int64) (changes []*Change, lost, err error) {
	entries, err := a.store.History(ctx, key, after, int(through-after))
	if err != nil {
		return nil, nil, fault.From(err)
	}
	if len(entries) == 0 || entries[0].Version != after+1 || entries[len(entries)-1].Version != through {
		return nil, fmt.Errorf("state %s: its versions %d to %d are not all there", key.ID, after+1, through), nil
	}
	changes = make([]*Change, len(entries))
	for i := range entries {
		if changes[i], err = decodeChange(entries[i]); err != nil {
			return nil, nil, err
		}
	}
	return changes, nil, nil
}

// maxRecordBytes is the longest document or patch that is read: it was judged when it
// was written.
const maxRecordBytes = 1 << 30

// follow applies changes to a document, from the last that brings it whole.
func follow(data document.Value, changes []*Change) (document.Value, error) {
	first := 0
	for i, c := range changes {
		if c.Data != nil {
			first = i
		}
	}
	for _, c := range changes[first:] {
		var err error
		if data, err = c.onto(data); err != nil {
			return data, fmt.Errorf("version %d: %w", c.Version, err)
		}
	}
	return data, nil
}

// onto returns the document after a change.
func (c *Change) onto(before document.Value) (document.Value, error) {
	if c.Data != nil {
		v, problem := document.Parse(c.Data, document.Limits{Bytes: maxRecordBytes})
		if problem != nil {
			return v, errors.New(problem.Message)
		}
		return v, nil
	}
	patch, problems := document.ParsePatch(c.Patch, document.PatchLimits{Text: maxRecordBytes})
	if problems.HasErrors() {
		return before, problems.Err()
	}
	v, failed := patch.Apply(before, document.PatchLimits{Bytes: maxRecordBytes})
	if failed != nil {
		return v, failed
	}
	return v, nil
}

func decodeChange(entry store.HistoryEntry) (*Change, error) {
	c := &Change{Version: entry.Version}
	if err := json.Unmarshal(entry.Data, c); err != nil {
		return nil, fault.From(fmt.Errorf("decode change: %w", err))
	}
	return c, nil
}

// pageBytes ends a page early: documents are up to 1 MiB each, and an answer must stay
// within the limits of clients.
const pageBytes = 2 << 20

// History returns the changes of a state after a version, oldest first, and after
// which the next page begins: 0 when there is none (S10.6).
func (a *App) History(ctx context.Context, caller Caller, id string, after int64, limit int) ([]*Change, int64, error) {
	st, err := a.readable(ctx, caller, id)
	if err != nil {
		return nil, 0, err
	}
	changes, err := a.changesAfter(ctx, st.Key, after, limit)
	if err != nil || len(changes) == 0 {
		return nil, 0, err
	}
	if last := changes[len(changes)-1].Version; last < st.Version {
		return changes, last, nil
	}
	return changes, 0, nil
}

// changesAfter returns as many changes as fit into a page.
func (a *App) changesAfter(ctx context.Context, key store.Key, after int64, limit int) ([]*Change, error) {
	var changes []*Change
	for size := 0; len(changes) < limit; {
		entries, err := a.store.History(ctx, key, after, min(limit-len(changes), 64))
		if err != nil {
			return nil, fault.From(err)
		}
		for _, entry := range entries {
			if size += len(entry.Data); size > pageBytes && len(changes) > 0 {
				return changes, nil
			}
			c, err := decodeChange(entry)
			if err != nil {
				return nil, err
			}
			changes = append(changes, c)
			after = entry.Version
		}
		if len(entries) == 0 {
			break
		}
	}
	return changes, nil
}

// StateQuery selects states; empty fields select all.
type StateQuery struct {
	Root, Schema string
	After        string
	Limit        int
}

// States returns a page of states, newest first. A session that acts sees its own
// tree's.
func (a *App) States(ctx context.Context, caller Caller, q StateQuery) ([]*State, string, error) {
	acting, err := a.actor(ctx, caller)
	if err != nil {
		return nil, "", err
	}
	query := store.Query{Namespace: caller.Namespace, Kind: KindState, Labels: map[string]string{}, Descending: true, After: q.After, Limit: min(q.Limit, 100)}
	if acting != nil {
		query.Labels["root"] = acting.RootID
	}
	if q.Root != "" {
		root, err := a.Member(ctx, caller.Namespace, q.Root)
		switch {
		case fault.ReasonOf(err) == fault.NotFound:
			return nil, "", nil // no session, no states of it
		case err != nil:
			return nil, "", err
		case acting != nil && !acting.SameTree(root.ID):
			return nil, "", nil
		}
		query.Labels["root"] = root.ID
	}
	if q.Schema != "" {
		query.Labels["schema"] = q.Schema
	}
	page, err := a.store.List(ctx, query)
	if err != nil {
		return nil, "", fault.From(err)
	}
	states := make([]*State, len(page.Records))
	for i, record := range page.Records {
		if states[i], err = decodeState(record); err != nil {
			return nil, "", err
		}
	}
	return states, page.Next, nil
}
