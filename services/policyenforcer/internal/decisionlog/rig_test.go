package decisionlog_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/rpc"
)

// rig is a test with a store of its own, and any number of replicas over it.
type rig struct {
	*enforcertest.Rig
	*decisionlog.Log
}

// everywhere runs a test on both stores, each time on fresh storage.
func everywhere(t *testing.T, test func(r *rig)) {
	t.Helper()
	enforcertest.Everywhere(t, func(b *enforcertest.Rig) { test(newRig(b)) })
}

func newRig(b *enforcertest.Rig) *rig {
	r := &rig{Rig: b}
	r.Log = r.replica(r.Storage)
	return r
}

// replica returns another process over a store.
func (r *rig) replica(s store.Store) *decisionlog.Log {
	return decisionlog.New(s, r.Engine, rpc.Announcer{}, r.Clock.Now, nil)
}

// replicas returns processes, each with its own connection where a store has some.
func (r *rig) replicas(n int) []*decisionlog.Log {
	all := make([]*decisionlog.Log, n)
	for i := range all {
		all[i] = r.replica(r.Backend.Open(r.T, r.Clock))
	}
	return all
}

// tamper tampers with the closed store.
func (r *rig) tamper(do func(enforcertest.Tampering)) {
	r.Helper()
	r.Tampered(do)
	r.Log = r.replica(r.Storage)
}

// sealed lets time pass until everything is sealed.
func (r *rig) sealed(replicas ...*decisionlog.Log) {
	r.Clock.Advance(decisionlog.SealEvery)
	for _, a := range append(replicas, r.Log) {
		a.SweepOnce(r.Context())
	}
}

// verified is the report of one partition.
func (r *rig) verified(partition string) *decisionlog.Report {
	r.Helper()
	reports, _, err := r.replica(r.Storage).Verify(r.Context(), enforcertest.Namespace, partition, "")
	if err != nil || len(reports) != 1 {
		r.Fatalf("verify %s: %d reports, %v", partition, len(reports), err)
	}
	return reports[0]
}

// broken returns a replica whose commits fail as decide says.
func (r *rig) broken(decide func(n int, batch *store.Batch) storetest.Fault) *decisionlog.Log {
	return r.replica(r.Faulty(decide))
}
