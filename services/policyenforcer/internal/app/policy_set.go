package app

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
	// kindPolicy is a policy: its history are its versions. It outlives the policy's
	// place in the index.
	kindPolicy = "policy"
	// kindWorkflowShadow is a definition by its digest.
	kindWorkflowShadow = "workflow_shadow"
)

// PolicyVersion is one immutable version of a policy. Its number is the version of
// its record.
type PolicyVersion struct {
	Name       string    `json:"name"`
	Number     int64     `json:"-"`
	Digest     string    `json:"digest"`
	Definition []byte    `json:"definition"`
	CreatedAt  time.Time `json:"created_at"`
	CreatedBy  string    `json:"created_by"`
}

// versionKey and shadowKey name what is compiled.
type versionKey struct {
	namespace, name string
	version         int64
}

type shadowKey struct{ namespace, workflow, digest string }

func policyKey(namespace, name string) store.Key {
	return store.Key{Namespace: namespace, Kind: kindPolicy, ID: name}
}

// loadPolicy returns one version of a policy, deleted or not.
func (a *App) loadPolicy(ctx context.Context, namespace, name string, version int64) (*PolicyVersion, error) {
	entries, err := a.store.History(ctx, policyKey(namespace, name), version-1, 1)
	if err != nil {
		return nil, fault.From(err)
	}
	if len(entries) == 0 || entries[0].Version != version {
		return nil, fault.New(fault.NotFound, "policy %q has no version %d", name, version)
	}
	v := &PolicyVersion{Number: version}
	if err := json.Unmarshal(entries[0].Data, v); err != nil {
		return nil, fault.From(fmt.Errorf("decode policy: %w", err))
	}
	return v, nil
}

// policySet returns a version of a policy, compiled. One that is not there, or
// cannot be read, denies everything.
func (a *App) policySet(ctx context.Context, namespace, name string, version int64) (*rules.Set, error) {
	key := versionKey{namespace, name, version}
	if set, ok := a.caches.sets.Get(key); ok {
		return set, nil
	}
	v, err := a.loadPolicy(ctx, namespace, name, version)
	switch reason := fault.ReasonOf(err); {
	case reason == fault.NotFound, reason == fault.Internal:
		a.warnBroken(ctx, name, version, err)
		return rules.Compile(nil, version), nil
	case err != nil:
		return nil, err
	}
	policy, problems := rules.ParsePolicy(v.Definition)
	if problems.HasErrors() {
		// It was valid when it was put: a validator that has grown stricter must not
		// guess what the old meaning was.
		a.warnBroken(ctx, name, version, problems.Err())
		policy = nil
	} else {
		policy.Name = v.Name
	}
	set := rules.Compile(policy, version)
	a.caches.sets.PutSized(key, set, definition.Memory(v.Definition), nil)
	return set, nil
}

func (a *App) warnBroken(ctx context.Context, name string, version int64, cause error) {
	a.log.LogAttrs(ctx, slog.LevelError, "a policy cannot be read, and denies every call",
		slog.String("policy", name), slog.Int64("version", version), slog.Any("cause", cause))
}

// shadowMachine returns the definition that is judged next to a workflow's own,
// compiled.
func (a *App) shadowMachine(ctx context.Context, namespace, name, digest string) (*workflow.Machine, error) {
	key := shadowKey{namespace, name, digest}
	if m, ok := a.caches.machines.Get(key); ok {
		return m, nil
	}
	record, err := a.store.Get(ctx, workflowShadowKey(namespace, digest))
	if errors.Is(err, store.ErrNotFound) {
		return nil, fault.New(fault.NotFound, "the shadow %.12s of workflow %q does not exist", digest, name)
	}
	if err != nil {
		return nil, fault.From(err)
	}
	def, problems := workflow.Parse(record.Data)
	if problems.HasErrors() {
		return nil, fault.From(fmt.Errorf("shadow of workflow %s: %w", name, problems.Err()))
	}
	m := workflow.Compile(def, 0)
	a.caches.machines.PutSized(key, m, definition.Memory(record.Data), nil)
	return m, nil
}

func workflowShadowKey(namespace, digest string) store.Key {
	return store.Key{Namespace: namespace, Kind: kindWorkflowShadow, ID: digest}
}
