package check_test

import (
	"log/slog"
	"testing"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/rpc"
)

// rig is a test with a store of its own, and any number of replicas over it.
type rig struct {
	*enforcertest.Rig
	*app.App
}

// everywhere runs a test on both stores, each time on fresh storage.
func everywhere(t *testing.T, test func(r *rig)) {
	t.Helper()
	enforcertest.Everywhere(t, func(b *enforcertest.Rig) { test(newRig(b)) })
}

func newRig(b *enforcertest.Rig) *rig {
	r := &rig{Rig: b}
	r.App = r.replica(r.Storage)
	return r
}

// replica returns another process over a store, with caches of its own.
func (r *rig) replica(s store.Store) *app.App {
	return app.New(s, r.Engine, rpc.Announcer{}, r.Clock.Now, slog.New(slog.DiscardHandler), app.Config{Sessions: enforcertest.Trees{}})
}
