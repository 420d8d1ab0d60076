package app_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/services/approval/internal/app"
	"github.com/interlock-run/interlock/services/approval/internal/rpc"
)

// patience is how long anything may take that must happen at all.
const patience = time.Minute

func as(name string, role auth.Role) app.Caller {
	return app.Caller{Namespace: "default", Principal: auth.Principal{Name: name, Role: role}}
}

// announcer writes events.
var announcer = rpc.Announcer{}

// engine asks and uses; the others decide.
var (
	engine = as("engine", auth.Service)
	alice  = as("alice", auth.Approver)
	bob    = as("bob", auth.Approver)
	carol  = as("carol", auth.Approver)
	olga   = as("olga", auth.Operator)
	agent  = as("agent-7", auth.Agent)
)

// rig is a test with a store of its own, and any number of replicas over it.
type rig struct {
	testing.TB
	clock     *storetest.Clock
	store     store.Store
	open      func() store.Store // another connection to the same data
	seen      *announced
	runs      app.Runs
	hooks     app.Webhooks
	retention time.Duration
	quota     int64
	keys      app.Keys
	signing   app.Signing
	*app.App
}

// everywhere runs a test on both stores, each time on fresh storage.
func everywhere(t *testing.T, test func(r *rig)) {
	t.Helper()
	for name, backend := range map[string]func(testing.TB, *storetest.Clock) func() store.Store{"sqlite": sqlite, "redis": redis} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newRig(t, backend))
		})
	}
}

// here runs a test on one store.
func here(t *testing.T) *rig {
	t.Helper()
	return newRig(t, sqlite)
}

func newRig(t testing.TB, backend func(testing.TB, *storetest.Clock) func() store.Store) *rig {
	t.Helper()
	clock := storetest.NewClock()
	seen := &announced{t: t, ids: map[string]bool{}}
	open := backend(t, clock)
	r := &rig{TB: t, clock: clock, seen: seen, open: func() store.Store { return &watched{open(), seen} }}
	r.store = r.open()
	r.App = r.replica(r.store)
	return r
}

// sqlite opens one store, for a file belongs to one process.
func sqlite(t testing.TB, clock *storetest.Clock) func() store.Store {
	t.Helper()
	s, err := sqlitestore.Open(context.Background(), sqlitestore.Config{Path: filepath.Join(t.TempDir(), "store.db"), Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return func() store.Store { return s }
}

// redis opens a store with a connection of its own each time.
func redis(t testing.TB, clock *storetest.Clock) func() store.Store {
	t.Helper()
	server, prefix := redistest.Shared(t), redistest.Prefix()
	return func() store.Store {
		s, err := redisstore.Open(context.Background(), redisstore.Config{
			URL: server.URL(), Prefix: prefix, Clock: clock.Now, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
}

// announced are the events of a test, in the order of their commits: each id must be
// unique, or the stream drops an event as one that it has.
type announced struct {
	t      testing.TB
	mu     sync.Mutex
	ids    map[string]bool
	events []*eventv1.Event
}

// watched is a store whose events are watched.
type watched struct {
	store.Store
	seen *announced
}

func (w *watched) Commit(ctx context.Context, batch store.Batch) (store.Result, error) {
	result, err := w.Store.Commit(ctx, batch)
	if err != nil || result.Replayed {
		return result, err
	}
	w.seen.mu.Lock()
	defer w.seen.mu.Unlock()
	for _, event := range batch.Events {
		if w.seen.ids[event.ID] {
			w.seen.t.Errorf("two events have the id %s", event.ID)
		}
		w.seen.ids[event.ID] = true
		ev, err := bus.Decode(event.Payload)
		if err != nil {
			w.seen.t.Error(err)
		}
		w.seen.events = append(w.seen.events, ev)
	}
	return result, nil
}

// said demands which events there were of an approval, as "type by actor".
func (r *rig) said(id string, want ...string) {
	r.Helper()
	r.seen.mu.Lock()
	defer r.seen.mu.Unlock()
	var got []string
	for _, ev := range r.seen.events {
		if ev.GetEntityId() == id {
			got = append(got, ev.GetType()+" by "+ev.GetActor())
		}
	}
	if !slices.Equal(got, want) {
		r.Errorf("the events of %s are %q, want %q", id, got, want)
	}
}

// replica returns another process over a store.
func (r *rig) replica(s store.Store) *app.App {
	return app.New(app.Config{
		Store: s, Announce: announcer, Runs: r.runs, Webhooks: r.hooks, Retention: r.retention, Quota: r.quota, Keys: r.keys, Signing: func() app.Signing { return r.signing }, Leases: consent.LeaseBounds{Calls: 100, For: 8 * time.Hour}, Clock: r.clock.Now, Log: slog.New(slog.DiscardHandler),
	})
}

// with restarts the rig's own replica with an engine, or webhooks.
func (r *rig) with(runs app.Runs, hooks app.Webhooks) *rig {
	r.runs, r.hooks = runs, hooks
	r.App = r.replica(r.store)
	return r
}

// faulty returns a replica whose commits fail as decide says.
func (r *rig) faulty(decide func(n int, batch *store.Batch) storetest.Fault) *app.App {
	return r.replica(&storetest.Faulty{Store: r.store, Decide: decide})
}

// before returns a replica that does something just before its first commit that
// puts a record of a kind.
func (r *rig) before(kind string, do func()) *app.App {
	var once sync.Once
	return r.faulty(func(_ int, batch *store.Batch) storetest.Fault {
		if slices.ContainsFunc(batch.Puts, func(p store.Put) bool { return p.Key.Kind == kind }) {
			once.Do(do)
		}
		return storetest.Healthy
	})
}

// question is one that can be asked as it is.
func question() app.Question {
	return app.Question{
		Kind: consent.Transition, Subject: []byte(`{"run_id":"run_1","event":"SHIP"}`), Data: []byte(`{"build":9007199254740993}`), Editable: true,
		Asker:   consent.Asker{Principal: "agent-7", SessionID: "ses_2", RootSession: "ses_1"},
		Message: "Ship it?", RunID: "run_1",
	}
}

// ask asks a question, which must be new.
func (r *rig) ask(change func(*app.Question)) *app.Record {
	r.Helper()
	q := question()
	if change != nil {
		change(&q)
	}
	got, created, err := r.Create(context.Background(), engine, q)
	if err != nil || !created {
		r.Fatalf("created %t, %v", created, err)
	}
	return got
}

// vote casts a vote that must be accepted.
func (r *rig) vote(by app.Caller, id string, v app.Vote) *app.Record {
	r.Helper()
	got, err := r.Decide(context.Background(), by, id, v)
	if err != nil {
		r.Fatalf("%s votes: %v", by.Principal.Name, err)
	}
	return got
}

// granted asks and grants.
func (r *rig) granted() *app.Record {
	r.Helper()
	return r.vote(alice, r.ask(nil).ID, app.Vote{Approve: true})
}

// is demands how an approval stands, and answers it.
func (r *rig) is(id string, want consent.Status) *app.Record {
	r.Helper()
	got, err := r.Get(context.Background(), olga, id)
	if err != nil {
		r.Fatal(err)
	}
	if got.Standing() != want {
		r.Errorf("%s is %s, want %s", id, got.Standing(), want)
	}
	return got
}

// stored returns an approval as it was noted last.
func (r *rig) stored(id string) store.Record {
	r.Helper()
	record, err := r.store.Get(context.Background(), store.Key{Namespace: "default", Kind: app.KindApproval, ID: id})
	if err != nil {
		r.Fatal(err)
	}
	return record
}

// refused demands a fault of a reason, whose metadata has these pairs, and answers it.
func (r *rig) refused(err error, reason fault.Reason, metadata ...string) *fault.Error {
	r.Helper()
	e := fault.From(err)
	if fault.ReasonOf(err) != reason {
		r.Fatalf("answered %q (%v), want %q", fault.ReasonOf(err), err, reason)
	}
	for i := 0; i < len(metadata); i += 2 {
		if e.Metadata[metadata[i]] != metadata[i+1] {
			r.Errorf("%q says %s=%q, want %q", e, metadata[i], e.Metadata[metadata[i]], metadata[i+1])
		}
	}
	return e
}

// advance turns the clock and fires what is due then.
func (r *rig) advance(d time.Duration) {
	r.clock.Advance(d)
	r.SweepOnce(context.Background())
}

// timers are those that will ever be due, as "kind name".
func (r *rig) timers(kinds ...string) []string {
	r.Helper()
	due, err := r.store.Due(context.Background(), r.clock.Now().Add(1000*24*time.Hour), 1000, append(kinds, app.KindApproval)...)
	if err != nil {
		r.Fatal(err)
	}
	var names []string
	for _, timer := range due {
		names = append(names, timer.Key.Kind+" "+timer.Name)
	}
	slices.Sort(names)
	return names
}

// receive waits for a value that must come.
func receive[T any](t testing.TB, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

// ended demands that something ends because its context did.
func (r *rig) ended(done <-chan error) {
	r.Helper()
	if err := receive(r, done); fault.ReasonOf(err) != fault.Cancelled && !errors.Is(err, context.Canceled) {
		r.Errorf("ended with %v", err)
	}
}

// told is an engine that records what it is told.
type told struct {
	mu    sync.Mutex
	calls []string
	err   error
}

func (e *told) Settle(_ context.Context, namespace, runID, approvalID string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls = append(e.calls, strings.Join([]string{namespace, runID, approvalID}, " "))
	return e.err
}

// Entry says that every run is in its third entry, but for one that has ended.
func (e *told) Entry(_ context.Context, _, runID, _ string) (int64, error) {
	if runID == "run_ended" {
		return 0, nil
	}
	return 3, nil
}

// records counts those of a kind.
func (r *rig) records(kind string) int {
	r.Helper()
	page, err := r.store.List(context.Background(), store.Query{Namespace: "default", Kind: kind, Limit: 100})
	if err != nil {
		r.Fatal(err)
	}
	return len(page.Records)
}
