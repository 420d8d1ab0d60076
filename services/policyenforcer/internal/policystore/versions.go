package policystore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/definition"
)

// Kinds of records.
const (
	// kindPolicy is the kind of policies, with their versions as history. The record outlives the entry in
	// the index.
	kindPolicy = "policy"
	// kindWorkflowShadow is the kind of shadow definitions, by digest.
	kindWorkflowShadow = "workflow_shadow"
)

// Version is one immutable version of a policy. Number is the version of its record.
type Version struct {
	Name       string    `json:"name"`
	Number     int64     `json:"-"`
	Digest     string    `json:"digest"`
	Definition []byte    `json:"definition"`
	CreatedAt  time.Time `json:"created_at"`
	CreatedBy  string    `json:"created_by"`
}

// versionKey identifies a compiled policy, and shadowKey a compiled workflow.
type versionKey struct {
	namespace, name string
	version         int64
}

type shadowKey struct{ namespace, workflow, digest string }

// Key returns the key of a policy.
func Key(namespace, name string) store.Key {
	return store.Key{Namespace: namespace, Kind: kindPolicy, ID: name}
}

// load reads one version of a policy, which may be deleted.
func (st *Store) load(ctx context.Context, namespace, name string, version int64) (*Version, error) {
	entries, err := st.store.History(ctx, Key(namespace, name), version-1, 1)
	if err != nil {
		return nil, fault.From(err)
	}
	if len(entries) == 0 || entries[0].Version != version {
		return nil, fault.New(fault.NotFound, "policy %q has no version %d", name, version)
	}
	v := &Version{Number: version}
	if err := json.Unmarshal(entries[0].Data, v); err != nil {
		return nil, fault.From(fmt.Errorf("decode policy: %w", err))
	}
	return v, nil
}

// Set returns a compiled version of a policy. A version that is missing or cannot be read denies all calls.
func (st *Store) Set(ctx context.Context, namespace, name string, version int64) (*rules.Set, error) {
	key := versionKey{namespace, name, version}
	if set, ok := st.sets.Get(key); ok {
		return set, nil
	}
	v, err := st.load(ctx, namespace, name, version)
	switch reason := fault.ReasonOf(err); {
	case reason == fault.NotFound, reason == fault.Internal:
		st.warnBroken(ctx, name, version, err)
		return rules.Compile(nil, version), nil
	case err != nil:
		return nil, err
	}
	policy, problems := rules.ParsePolicy(v.Definition)
	if problems.HasErrors() {
		// It was valid when it was stored. A stricter validator must not guess its meaning.
		st.warnBroken(ctx, name, version, problems.Err())
		policy = nil
	} else {
		policy.Name = v.Name
	}
	set := rules.Compile(policy, version)
	st.sets.PutSized(key, set, definition.Memory(v.Definition), nil)
	return set, nil
}

func (st *Store) warnBroken(ctx context.Context, name string, version int64, cause error) {
	st.log.LogAttrs(ctx, slog.LevelError, "a policy cannot be read, and denies every call",
		slog.String("policy", name), slog.Int64("version", version), slog.Any("cause", cause))
}

// ShadowMachine returns the compiled shadow definition of a workflow.
func (st *Store) ShadowMachine(ctx context.Context, namespace, name, digest string) (*workflow.Machine, error) {
	key := shadowKey{namespace, name, digest}
	if m, ok := st.machines.Get(key); ok {
		return m, nil
	}
	record, err := st.store.Get(ctx, workflowShadowKey(namespace, digest))
	if errors.Is(err, store.ErrNotFound) {
		return nil, fault.New(fault.NotFound, "the shadow %.12s of workflow %q does not exist", digest, name)
	}
	if err != nil {
		return nil, fault.From(err)
	}
	compiled, err := st.compile.Compile(record.Data, 0)
	if err != nil {
		return nil, fault.From(fmt.Errorf("shadow of %s: %w", name, err))
	}
	m := compiled.Machine
	st.machines.PutSized(key, m, definition.Memory(record.Data), nil)
	return m, nil
}

func workflowShadowKey(namespace, digest string) store.Key {
	return store.Key{Namespace: namespace, Kind: kindWorkflowShadow, ID: digest}
}
