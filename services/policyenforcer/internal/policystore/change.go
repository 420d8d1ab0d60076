package policystore

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
)

// indexEdit edits a copy of the index and returns the changes.
type indexEdit func(text *IndexText) ([]*Change, error)

// edited is an edited index before its commit.
type edited struct {
	before  *Index
	text    IndexText
	data    []byte
	changes []*Change
	// silent says that the index changes also where no change of a policy is announced.
	silent bool
}

// changed reports that the index is written.
func (e *edited) changed() bool { return e.silent || len(e.changes) > 0 }

// edit applies an edit to a copy of the index of a namespace, within its bounds.
func (st *Store) edit(ctx context.Context, namespace string, edit indexEdit) (*edited, error) {
	x, err := st.Refresh(ctx, namespace)
	if err != nil {
		return nil, err
	}
	e := &edited{before: x, text: x.text.clone()}
	if e.changes, err = edit(&e.text); err != nil {
		return nil, err
	}
	if e.data, err = json.Marshal(e.text); err != nil {
		return nil, fault.From(fmt.Errorf("encode index of policies: %w", err))
	}
	return e, e.text.bounded(len(e.data))
}

// changeIndex commits an edit of the index of a namespace with its events. Without a change it commits the
// idempotency key only.
func (st *Store) changeIndex(ctx context.Context, caller enforcer.Caller, request *store.Idempotency, edit indexEdit) (*Index, error) {
	return retry.Do(ctx, "the index of policies", func() (*Index, error) {
		e, err := st.edit(ctx, caller.Namespace, edit)
		if err != nil {
			return nil, err
		}
		if len(e.changes) == 0 && request == nil {
			return e.before, nil
		}
		x, err := st.commitIndex(ctx, caller, request, e)
		return x, retry.Fault(err)
	})
}

func (st *Store) commitIndex(ctx context.Context, caller enforcer.Caller, request *store.Idempotency, e *edited) (*Index, error) {
	batch := store.Batch{Idempotency: request}
	if err := st.addIndex(&batch, caller, e); err != nil {
		return nil, err
	}
	result, err := st.store.Commit(ctx, batch)
	switch {
	case err != nil:
		return nil, err
	case result.Replayed, len(e.changes) == 0:
		return st.Refresh(ctx, caller.Namespace)
	}
	return st.committed(caller.Namespace, e), nil
}

// addIndex adds an edited index to a batch, with its events; without a change, the precondition that it is unchanged.
func (st *Store) addIndex(batch *store.Batch, caller enforcer.Caller, e *edited) error {
	key := IndexKey(caller.Namespace)
	if !e.changed() {
		batch.Checks = append(batch.Checks, store.Check{Key: key, Version: e.before.Version})
		return nil
	}
	batch.Puts = append(batch.Puts, store.Put{Key: key, Expect: e.before.Version, Data: e.data})
	for i, change := range e.changes {
		change.IndexVersion, change.Nth = e.before.Version+1, i
		event, err := st.announce.PolicyChanged(caller.Namespace, caller.Principal.Name, change, st.clock().UTC())
		if err != nil {
			return err
		}
		event.Key = key // the one shard that is written; changes keep their order
		batch.Events = append(batch.Events, event)
	}
	return nil
}

// committed caches an index that was committed with changes, and returns it.
func (st *Store) committed(namespace string, e *edited) *Index {
	x := newIndex(namespace, e.before.Version+1, e.text)
	st.cacheIndex(x)
	return x
}

// clone returns a copy with maps of its own. Edits replace lists of attachments and never write to them.
func (t IndexText) clone() IndexText {
	c := IndexText{Policies: maps.Clone(t.Policies), WorkflowShadows: maps.Clone(t.WorkflowShadows)}
	if c.Policies == nil {
		c.Policies = make(map[string]Indexed)
	}
	if c.WorkflowShadows == nil {
		c.WorkflowShadows = make(map[string]shadowText)
	}
	return c
}

// bounded returns an error for an index that is too large to be read with each change.
func (t *IndexText) bounded(bytes int) error {
	attachments := 0
	for _, p := range t.Policies {
		attachments += len(p.Attachments)
	}
	switch {
	case len(t.Policies) > maxPolicies:
		return fault.New(fault.LimitReached, "a namespace has at most %d policies; delete one that is not needed", maxPolicies)
	case attachments > maxAttachments:
		return fault.New(fault.LimitReached, "the policies of a namespace are attached to at most %d things; attach them to roles, or detach them from sessions that have ended", maxAttachments)
	case bytes > maxIndexBytes:
		return fault.New(fault.LimitReached, "the index of policies would have %d bytes, the limit is %d; detach policies that are not needed", bytes, maxIndexBytes)
	}
	return nil
}

// names returns the names of all policies, sorted.
func (x *Index) names() []string { return slices.Sorted(maps.Keys(x.text.Policies)) }

// withStatus returns a version with the present status of its policy.
func (x *Index) withStatus(v Version) *Policy {
	p := x.text.Policies[v.Name]
	return &Policy{Version: v, Live: p.Live, Shadow: p.Shadow, Attachments: p.Attachments}
}
