// Package enforcertest has the fixtures of tests of the policy enforcer: stores, an engine, and ways to tamper
// with stored data.
package enforcertest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
)

// Namespace is the namespace of all calls.
const Namespace = "default"

// Operator is a caller who may change policies.
var Operator = enforcer.Caller{Namespace: Namespace, Principal: auth.Principal{Name: "olga", Role: auth.Operator}}

// Rig is a test with a store of its own.
type Rig struct {
	*testing.T
	Clock   *storetest.Clock
	Backend Backend
	Storage store.Store
	Engine  *Engine
}

// Everywhere runs a test on both stores, each time on fresh storage.
func Everywhere(t *testing.T, test func(r *Rig)) {
	t.Helper()
	for name, fresh := range map[string]func(*testing.T) Backend{"sqlite": NewSQLite, "redis": newRedis} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(New(t, fresh(t)))
		})
	}
}

// New opens a store on a backend.
func New(t *testing.T, b Backend) *Rig {
	t.Helper()
	r := &Rig{T: t, Clock: storetest.NewClock(), Backend: b, Engine: &Engine{}}
	r.Storage = b.Open(t, r.Clock)
	return r
}

// Faulty returns the store with commits that fail as decide says.
func (r *Rig) Faulty(decide func(n int, batch *store.Batch) storetest.Fault) store.Store {
	return &storetest.Faulty{Store: r.Storage, Decide: decide}
}

// Append appends a decision to the partition of a run, as a check does.
func (r *Rig) Append(root string, rec *ledger.Decision) error {
	return r.AppendTo(r.Storage, Namespace, root, rec)
}

// AppendTo appends a decision to a partition, by a connection to the store.
func (r *Rig) AppendTo(st store.Store, namespace, root string, rec *ledger.Decision) error {
	now := rec.Time
	if now.IsZero() {
		now = r.Clock.Now()
	}
	_, err := st.Commit(r.Context(), store.Batch{
		Appends:   []store.Append{decisionlog.Append(namespace, root, rec)},
		SetTimers: []store.Timer{decisionlog.SealTimer(namespace, root, now)},
	})
	return err
}

// AppendMany appends decisions to a partition.
func (r *Rig) AppendMany(run string, n int) {
	r.Helper()
	for i := range n {
		record := r.Record(run, fmt.Sprintf("call %d", i))
		if i%2 == 1 {
			record.Time = time.Time{} // that of the commit
		}
		if err := r.Append(run, record); err != nil {
			r.Fatal(err)
		}
	}
}

// Puts selects the commits that write a record of a kind.
func Puts(batch *store.Batch, kind string) bool {
	return slices.ContainsFunc(batch.Puts, func(p store.Put) bool { return p.Key.Kind == kind })
}

// Refused demands a fault of a reason, and answers it.
func (r *Rig) Refused(err error, reason fault.Reason) *fault.Error {
	r.Helper()
	if got := fault.ReasonOf(err); got != reason {
		r.Fatalf("answered %q (%v), want %q", got, err, reason)
	}
	return fault.From(err)
}

// Events are the subjects of what was announced since the last time, and their ids
// must be all different.
func (r *Rig) Events() []string {
	r.Helper()
	after := map[int]int64{}
	for i := range r.Storage.Shards() {
		after[i] = 0
	}
	entries, err := r.Storage.Tail(r.Context(), after, 100_000, 0)
	if err != nil {
		r.Fatal(err)
	}
	var subjects []string
	ids := map[string]bool{}
	for _, e := range entries {
		if ids[e.ID] {
			r.Errorf("two events have the id %s", e.ID)
		}
		ids[e.ID] = true
		subjects = append(subjects, e.Subject)
		if err := r.Storage.Trim(r.Context(), e.Shard, e.Seq); err != nil {
			r.Fatal(err)
		}
	}
	return subjects
}

// Record returns a decision at the present time, on a run that is its own root.
func (r *Rig) Record(run, call string) *ledger.Decision {
	return &ledger.Decision{
		Time: r.Clock.Now(), Principal: "amir", SessionID: "s", RunID: run, RunVersion: 3,
		Workflow: "w", WorkflowVersion: 1, State: "work", CallID: call, Tool: "Bash", Capability: "bash",
		Decision: toolcall.Allow, InputDigest: "00ff",
	}
}

// Backend is a kind of store. Open returns another connection to the same data.
type Backend interface {
	Open(t *testing.T, clock *storetest.Clock) store.Store
	tamper(t *testing.T, do func(Tampering)) // requires that no store is open
}
