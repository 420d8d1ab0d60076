package policystore_test

import (
	"log/slog"
	"testing"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/halts"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/quota"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/rpc"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// rig is a test with a store of its own, and any number of replicas over it.
type rig struct {
	*enforcertest.Rig
	*policystore.Store
}

// everywhere runs a test on both stores, each time on fresh storage.
func everywhere(t *testing.T, test func(r *rig)) {
	t.Helper()
	enforcertest.Everywhere(t, func(b *enforcertest.Rig) { test(newRig(b)) })
}

func newRig(b *enforcertest.Rig) *rig {
	r := &rig{Rig: b}
	r.Store = r.replica(r.Storage)
	return r
}

// replica returns another process over a store, with caches of its own.
func (r *rig) replica(s store.Store) *policystore.Store {
	log := slog.New(slog.DiscardHandler)
	return policystore.New(s, rpc.Announcer{}, r.Clock.Now, log, runs.NewReader(s, r.Engine, enforcertest.Trees{}), quota.New(s, r.Clock.Now, log), halts.New(s))
}

// replicas returns processes, each with its own connection where a store has some.
func (r *rig) replicas(n int) []*policystore.Store {
	all := make([]*policystore.Store, n)
	for i := range all {
		all[i] = r.replica(r.Backend.Open(r.T, r.Clock))
	}
	return all
}

// Tampered tampers with the closed store, and opens it again with fresh caches.
func (r *rig) Tampered(do func(enforcertest.Tampering)) {
	r.Helper()
	r.Rig.Tampered(do)
	r.Store = r.replica(r.Storage)
}

// put stores a policy that must be accepted.
func (r *rig) put(name, definition string) *policystore.Policy {
	r.Helper()
	p, _, _, err := r.Put(r.Context(), enforcertest.Operator, policystore.Put{Name: name, Definition: []byte(definition)})
	if err != nil {
		r.Fatalf("put %s: %v", name, err)
	}
	return p
}
