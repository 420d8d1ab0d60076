package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/catalog"
	"github.com/interlock-run/interlock/services/internal/definition"
)

// Workflow returns one version, or with number 0 the live one.
func (reg *Registry) Workflow(ctx context.Context, namespace, name string, number int64) (*Version, error) {
	key := store.Key{Namespace: namespace, Kind: KindWorkflow, ID: name}
	if number != 0 {
		return reg.version(ctx, key, number)
	}
	st, err := reg.standing(ctx, key)
	switch {
	case err != nil:
		return nil, err
	case st.latest == nil:
		return nil, notRegistered(name)
	case st.live == nil:
		return nil, fault.New(fault.NotFound, "no version of %s %q is live; its latest, %d, is staged: apply its set, or promote it", st.latest.what(), name, st.latest.Number)
	}
	return st.live, nil
}

// version returns one version.
func (reg *Registry) version(ctx context.Context, key store.Key, number int64) (*Version, error) {
	entries, err := reg.ports.Store.History(ctx, key, number-1, 1)
	if err != nil {
		return nil, fault.From(err)
	}
	if len(entries) == 0 || entries[0].Version != number {
		return nil, fault.New(fault.NotFound, "workflow %q has no version %d", key.ID, number)
	}
	return decodeVersion(entries[0].Data, number)
}

func notRegistered(name string) error {
	return fault.New(fault.NotFound, "workflow %q is not registered; register it first", name)
}

func (reg *Registry) loadLatest(ctx context.Context, key store.Key) (*Version, error) {
	record, err := reg.ports.Store.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, notRegistered(key.ID)
	}
	if err != nil {
		return nil, fault.From(err)
	}
	return decodeVersion(record.Data, record.Version)
}

func decodeVersion(data []byte, number int64) (*Version, error) {
	v := &Version{Number: number}
	if err := json.Unmarshal(data, v); err != nil {
		return nil, fault.From(fmt.Errorf("decode workflow: %w", err))
	}
	return v, nil
}

// Workflows returns a page of workflows by name, each in its live version or else the latest, and where the
// next one begins after: empty when there is none.
func (reg *Registry) Workflows(ctx context.Context, namespace, after string, limit int) ([]*Version, string, error) {
	var versions []*Version
	for {
		page, next, err := reg.page(ctx, store.Query{Namespace: namespace, After: after, Limit: limit - len(versions)})
		if err != nil {
			return nil, "", err
		}
		versions = append(versions, slices.DeleteFunc(page, func(v *Version) bool { return v.Process })...)
		if next == "" || len(versions) == limit {
			return versions, next, nil
		}
		after = next
	}
}

func (reg *Registry) page(ctx context.Context, query store.Query) ([]*Version, string, error) {
	query.Kind = KindWorkflow
	page, err := reg.ports.Store.List(ctx, query)
	if err != nil {
		return nil, "", fault.From(err)
	}
	c, err := catalog.Read(ctx, reg.ports.Store, query.Namespace)
	if err != nil {
		return nil, "", err
	}
	versions := make([]*Version, len(page.Records))
	for i, record := range page.Records {
		if versions[i], err = decodeVersion(record.Data, record.Version); err != nil {
			return nil, "", err
		}
		live, err := reg.liveOf(ctx, record.Key, c.Places[record.Key.ID], versions[i])
		if err != nil {
			return nil, "", err
		}
		if live != nil {
			versions[i] = live
		}
	}
	return versions, page.Next, nil
}

// Machine returns a compiled version. Versions are immutable, so
// the cache is always right.
func (reg *Registry) Machine(ctx context.Context, namespace, name string, number int64) (definition.Compiled, error) {
	key := machineKey{namespace, name, number}
	if m, ok := reg.machines.Get(key); ok {
		return m, nil
	}
	v, err := reg.Workflow(ctx, namespace, name, number)
	if err != nil {
		return definition.Compiled{}, err
	}
	m, err := reg.ports.Definitions.Compile(v.Definition, number)
	if err != nil {
		return m, fault.New(fault.InvalidDefinition, "%s version %d: %s", v.what(), number, err)
	}
	reg.machines.PutSized(key, m, definition.Memory(v.Definition), nil)
	return m, nil
}

func claimKey(workflow store.Key) store.Key {
	workflow.Kind = kindClaim
	return workflow
}

// OnlyByAgents reports that agents alone have registered a version.
func (reg *Registry) OnlyByAgents(ctx context.Context, namespace string, v *Version) (bool, error) {
	if !v.Role.Drives() {
		return false, nil
	}
	claimed, err := reg.Claimed(ctx, namespace, v)
	return !claimed, err
}

// Claimed reports that an operator has registered a text that an agent had before.
func (reg *Registry) Claimed(ctx context.Context, namespace string, v *Version) (bool, error) {
	_, err := reg.ports.Store.Get(ctx, claimKey(store.Key{Namespace: namespace, ID: v.Name}))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fault.From(err)
	}
	return true, nil
}
