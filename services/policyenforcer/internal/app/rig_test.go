package app_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/sessionread"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/rpc"
)

const ns = "default"

var operator = app.Caller{Namespace: ns, Principal: auth.Principal{Name: "olga", Role: auth.Operator}}

// rig is a test with a store of its own, and any number of replicas over it.
type rig struct {
	*testing.T
	clock   *storetest.Clock
	backend backend
	store   store.Store
	engine  *engine
	*app.App
}

// backend is a kind of store: open answers another connection to the same data, and
// tampering changes what is stored behind the store's back.
type backend interface {
	open(t *testing.T, clock *storetest.Clock) store.Store
	tamper(t *testing.T, do func(tampering)) // while no store is open
}

// everywhere runs a test on both stores, each time on fresh storage.
func everywhere(t *testing.T, test func(r *rig)) {
	t.Helper()
	for name, fresh := range map[string]func(*testing.T) backend{"sqlite": newSQLite, "redis": newRedis} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newRig(t, fresh(t)))
		})
	}
}

func newRig(t *testing.T, b backend) *rig {
	t.Helper()
	r := &rig{T: t, clock: storetest.NewClock(), backend: b, engine: &engine{}}
	r.store = b.open(t, r.clock)
	r.App = r.replica(r.store)
	return r
}

// replica returns another process over a store, with caches of its own.
func (r *rig) replica(s store.Store) *app.App {
	return app.New(s, r.engine, rpc.Announcer{}, r.clock.Now, slog.New(slog.DiscardHandler), app.Config{Sessions: trees{}})
}

// replicas returns processes, each with its own connection where a store has some.
func (r *rig) replicas(n int) []*app.App {
	all := make([]*app.App, n)
	for i := range all {
		all[i] = r.replica(r.backend.open(r.T, r.clock))
	}
	return all
}

// faulty returns a replica whose commits fail as decide says.
func (r *rig) faulty(decide func(n int, batch *store.Batch) storetest.Fault) *app.App {
	return r.replica(&storetest.Faulty{Store: r.store, Decide: decide})
}

// puts selects the commits that write a record of a kind.
func puts(batch *store.Batch, kind string) bool {
	return slices.ContainsFunc(batch.Puts, func(p store.Put) bool { return p.Key.Kind == kind })
}

// refused demands a fault of a reason, and answers it.
func (r *rig) refused(err error, reason fault.Reason) *fault.Error {
	r.Helper()
	if got := fault.ReasonOf(err); got != reason {
		r.Fatalf("answered %q (%v), want %q", got, err, reason)
	}
	return fault.From(err)
}

// put stores a policy that must be accepted.
func (r *rig) put(name, definition string) *app.Policy {
	r.Helper()
	p, _, _, err := r.PutPolicy(r.Context(), operator, app.PutPolicy{Name: name, Definition: []byte(definition)})
	if err != nil {
		r.Fatalf("put %s: %v", name, err)
	}
	return p
}

// events are the subjects of what was announced since the last time, and their ids
// must be all different.
func (r *rig) events() []string {
	r.Helper()
	after := map[int]int64{}
	for i := range r.store.Shards() {
		after[i] = 0
	}
	entries, err := r.store.Tail(r.Context(), after, 100_000, 0)
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
		if err := r.store.Trim(r.Context(), e.Shard, e.Seq); err != nil {
			r.Fatal(err)
		}
	}
	return subjects
}

// record is a decision at the present time, of a run that is its own root.
func (r *rig) record(run, call string) *ledger.Decision {
	return &ledger.Decision{
		Time: r.clock.Now(), Principal: "amir", SessionID: "s", RunID: run, RunVersion: 3,
		Workflow: "w", WorkflowVersion: 1, State: "work", CallID: call, Tool: "Bash", Capability: "bash",
		Decision: toolcall.Allow, InputDigest: "00ff",
	}
}

// log appends decisions to a partition.
func (r *rig) log(run string, n int) {
	r.Helper()
	for i := range n {
		record := r.record(run, fmt.Sprintf("call %d", i))
		if i%2 == 1 {
			record.Time = time.Time{} // that of the commit
		}
		if err := r.Log(r.Context(), ns, run, record); err != nil {
			r.Fatal(err)
		}
	}
}

// sealed lets time pass until everything is sealed.
func (r *rig) sealed(replicas ...*app.App) {
	r.clock.Advance(app.SealEvery)
	for _, a := range append(replicas, r.App) {
		a.SweepOnce(r.Context())
	}
}

// verified is the report of one partition.
func (r *rig) verified(partition string) *app.ChainReport {
	r.Helper()
	reports, _, err := r.replica(r.store).Verify(r.Context(), ns, partition, "")
	if err != nil || len(reports) != 1 {
		r.Fatalf("verify %s: %d reports, %v", partition, len(reports), err)
	}
	return reports[0]
}

// engine knows one workflow, and which runs others have invoked.
type engine struct{ parents map[string]string }

var machine = func() *workflow.Machine {
	def, problems := workflow.Parse([]byte(`{"id":"w","initial":"work","states":{"work":{"allowed_commands":["ls"],"allowed_commands_tool":"console","on":{"DONE":"done"}},"done":{"type":"final"}}}`))
	if err := problems.Err(); err != nil {
		panic(err)
	}
	return workflow.Compile(def, 1)
}()

func (e *engine) Run(ctx context.Context, namespace string, target app.Target) (*workflow.View, string, error) {
	run, err := e.Lane(ctx, namespace, target.RunID, "")
	return run, "", err
}

func (e *engine) Lane(_ context.Context, _, runID, _ string) (*workflow.View, error) {
	root, ok := e.parents[runID]
	if !ok {
		return nil, fault.New(fault.NotFound, "no such run")
	}
	return new((&workflow.Run{ID: runID, Parent: &workflow.Parent{RunID: root, Root: root}}).At("")), nil
}

func (e *engine) Interrupt(context.Context, string, string, []string) (*app.Interrupted, error) {
	return nil, nil
}

func (e *engine) Definition(context.Context, string, string, int64) (*app.Definition, error) {
	return &app.Definition{Machine: machine}, nil
}

// trees are sessions of which "child" is below "s".
type trees struct{}

func (trees) Place(_ context.Context, _, session, _ string) (*sessionread.Place, error) {
	if session == "child" {
		return &sessionread.Place{Names: []string{"s", "child"}, Account: "s"}, nil
	}
	return &sessionread.Place{Names: []string{session}, Account: session}, nil
}

// sqlite is a store in a file, which belongs to one process: all replicas share it.
type sqlite struct {
	path string
	st   store.Store
}

func newSQLite(t *testing.T) backend {
	t.Helper()
	return &sqlite{path: filepath.Join(t.TempDir(), "store.db")}
}

func (b *sqlite) open(t *testing.T, clock *storetest.Clock) store.Store {
	t.Helper()
	if b.st != nil {
		return b.st
	}
	st, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: b.path, Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	b.st = st
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// redis is a store on the shared server.
type redis struct{ url, prefix string }

func newRedis(t *testing.T) backend {
	t.Helper()
	return &redis{url: redistest.Shared(t).URL(), prefix: redistest.Prefix()}
}

func (b *redis) open(t *testing.T, clock *storetest.Clock) store.Store {
	t.Helper()
	st, err := redisstore.Open(context.Background(), redisstore.Config{
		URL: b.url, Prefix: b.prefix, Clock: clock.Now, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}
