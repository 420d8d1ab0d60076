package app

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// indexEdit changes a copy of the index and says what has changed, nil for nothing.
type indexEdit func(text *indexText) (*PolicyChange, error)

// edited is an index that is not stored yet.
type edited struct {
	before *policyIndex
	text   indexText
	data   []byte
	change *PolicyChange
}

// edit reads the index of a namespace and edits a copy of it, within its bounds.
func (a *App) edit(ctx context.Context, namespace string, edit indexEdit) (*edited, error) {
	x, err := a.refreshPolicies(ctx, namespace)
	if err != nil {
		return nil, err
	}
	e := &edited{before: x, text: x.text.clone()}
	if e.change, err = edit(&e.text); err != nil {
		return nil, err
	}
	if e.data, err = json.Marshal(e.text); err != nil {
		return nil, fault.From(fmt.Errorf("encode index of policies: %w", err))
	}
	return e, e.text.bounded(len(e.data))
}

// changeIndex edits the index of a namespace in one commit with its event. What
// changes nothing commits nothing, but for the idempotency key.
func (a *App) changeIndex(ctx context.Context, caller Caller, request *store.Idempotency, edit indexEdit) (*policyIndex, error) {
	return retry.Do(ctx, "the index of policies", func() (*policyIndex, error) {
		e, err := a.edit(ctx, caller.Namespace, edit)
		if err != nil {
			return nil, err
		}
		if e.change == nil && request == nil {
			return e.before, nil
		}
		x, err := a.commitIndex(ctx, caller, request, e)
		return x, retry.Fault(err)
	})
}

func (a *App) commitIndex(ctx context.Context, caller Caller, request *store.Idempotency, e *edited) (*policyIndex, error) {
	key := policyIndexKey(caller.Namespace)
	batch := store.Batch{Idempotency: request}
	if e.change == nil {
		batch.Checks = []store.Check{{Key: key, Version: e.before.Version}}
	} else {
		e.change.IndexVersion = e.before.Version + 1
		event, err := a.announce.PolicyChanged(caller.Namespace, caller.Principal.Name, e.change, a.clock().UTC())
		if err != nil {
			return nil, err
		}
		event.Key = key // the one shard that is written; changes keep their order
		batch.Puts = []store.Put{{Key: key, Expect: e.before.Version, Data: e.data}}
		batch.Events = []store.Event{event}
	}
	result, err := a.store.Commit(ctx, batch)
	switch {
	case err != nil:
		return nil, err
	case result.Replayed, e.change == nil:
		return a.refreshPolicies(ctx, caller.Namespace)
	}
	x := newPolicyIndex(caller.Namespace, result.Versions[0], e.text)
	a.cacheIndex(x)
	return x, nil
}

// clone is a copy that can be edited: its maps are its own. Lists of attachments are
// replaced, not written to.
func (t indexText) clone() indexText {
	c := indexText{Policies: maps.Clone(t.Policies), WorkflowShadows: maps.Clone(t.WorkflowShadows)}
	if c.Policies == nil {
		c.Policies = make(map[string]indexed)
	}
	if c.WorkflowShadows == nil {
		c.WorkflowShadows = make(map[string]shadowText)
	}
	return c
}

// bounded refuses an index that has become too large to be read with each change.
func (t *indexText) bounded(bytes int) error {
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

// names are those of all policies, in order.
func (x *policyIndex) names() []string { return slices.Sorted(maps.Keys(x.text.Policies)) }

// withStanding is a version with what holds of its policy now.
func (x *policyIndex) withStanding(v PolicyVersion) *Policy {
	p := x.text.Policies[v.Name]
	return &Policy{PolicyVersion: v, Live: p.Live, Shadow: p.Shadow, Attachments: p.Attachments}
}
