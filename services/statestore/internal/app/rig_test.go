package app_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/services/statestore/internal/app"
	"github.com/interlock-run/interlock/services/statestore/internal/member"
	"github.com/interlock-run/interlock/services/statestore/internal/opening"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
	"github.com/interlock-run/interlock/services/statestore/internal/rpc"
	"github.com/interlock-run/interlock/services/statestore/internal/schemas"
	"github.com/interlock-run/interlock/services/statestore/internal/states"
	"github.com/interlock-run/interlock/services/statestore/internal/writes"
)

// patience is how long anything may take that must happen at all.
const patience = time.Minute

// The schemas that most tests use: anything, and an object with a bounded number.
const (
	anything = `true`
	counter  = `{"type":"object","required":["n"],"properties":{"n":{"type":"integer","maximum":100},"log":{"type":"array"}},"additionalProperties":false}`
)

// operator acts without a session, agent within one.
var operator = ports.Caller{Namespace: "default", Principal: auth.Principal{Name: "olga", Role: auth.Operator}}

func agent(session string) ports.Caller {
	return ports.Caller{Namespace: "default", Principal: auth.Principal{Name: "amir", Role: auth.Agent}, Session: session}
}

// as is an operator's caller that names a session.
func as(session string) ports.Caller {
	caller := operator
	caller.Session = session
	return caller
}

// rig is a test with a store of its own, and any number of replicas over it.
type rig struct {
	*testing.T
	clock *storetest.Clock
	store store.Store
	open  func() store.Store // another connection to the same data
	cfg   ports.Config
	*app.App
}

// everywhere runs a test on both stores, each time on fresh storage and with one
// replica.
func everywhere(t *testing.T, cfg ports.Config, test func(r *rig)) {
	t.Helper()
	for _, backend := range []struct {
		name string
		open func(*testing.T, *storetest.Clock) func() store.Store
	}{{"sqlite", sqlite}, {"redis", redis}} {
		t.Run(backend.name, func(t *testing.T) {
			t.Parallel()
			clock := storetest.NewClock()
			seen := &announced{t: t, ids: map[string]bool{}}
			open := backend.open(t, clock)
			r := &rig{T: t, clock: clock, cfg: cfg, open: func() store.Store { return &watched{open(), seen} }}
			r.store = r.open()
			r.App = r.replica(r.store)
			test(r)
		})
	}
}

// sqlite opens one store, for a file belongs to one process.
func sqlite(t *testing.T, clock *storetest.Clock) func() store.Store {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: filepath.Join(t.TempDir(), "store.db"), Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return func() store.Store { return s }
}

// redis opens a store with a connection of its own each time.
func redis(t *testing.T, clock *storetest.Clock) func() store.Store {
	t.Helper()
	prefix := redistest.Prefix()
	return func() store.Store { return redisAt(t, prefix, clock.Now) }
}

func redisAt(t *testing.T, prefix string, clock func() time.Time) store.Store {
	t.Helper()
	server := redistest.Shared(t)
	s, err := redisstore.Open(context.Background(), redisstore.Config{
		URL: server.URL(), Prefix: prefix, Clock: clock, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// announced are the events of a test: each id must be unique, or the stream drops an
// event as one that it has.
type announced struct {
	t   *testing.T
	mu  sync.Mutex
	ids map[string]bool
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
	}
	return result, nil
}

// replica returns another process over a store, with caches of its own.
func (r *rig) replica(s store.Store) *app.App {
	return app.New(s, rpc.Announcer{}, r.clock.Now, slog.New(slog.DiscardHandler), r.cfg)
}

// replicas returns processes, each with its own connection.
func (r *rig) replicas(n int) []*app.App {
	all := make([]*app.App, n)
	for i := range all {
		all[i] = r.replica(r.open())
	}
	return all
}

// faulty returns a replica whose commits fail as decide says.
func (r *rig) faulty(decide func(n int, batch *store.Batch) storetest.Fault) *app.App {
	return r.replica(&storetest.Faulty{Store: r.store, Decide: decide})
}

// before returns a replica that does something just before one of its commits, the
// first that is asked for.
func (r *rig) before(which func(*store.Batch) bool, do func()) *app.App {
	var once sync.Once
	return r.faulty(func(_ int, batch *store.Batch) storetest.Fault {
		if which(batch) {
			once.Do(do)
		}
		return storetest.Healthy
	})
}

// puts selects the commits that write a record of a kind.
func puts(kind string) func(*store.Batch) bool {
	return func(batch *store.Batch) bool {
		for _, put := range batch.Puts {
			if put.Key.Kind == kind {
				return true
			}
		}
		return false
	}
}

// schema registers a schema that must be accepted.
func (r *rig) schema(name, text string) *schemas.Schema {
	r.Helper()
	v, _, err := r.Schemas.Register(r.Context(), operator, schemas.Registration{Name: name, Text: []byte(text)})
	if err != nil {
		r.Fatalf("schema %s: %v", name, err)
	}
	return v
}

// state creates a state of a root session that is made for it, under a schema that
// is registered for it.
func (r *rig) state(root, schema, data string) *states.State {
	r.Helper()
	r.schema("of "+root, schema)
	st, err := r.Creator.Create(r.Context(), as(root), writes.NewState{Schema: "of " + root, Data: []byte(data)})
	if err != nil {
		r.Fatalf("state of %s: %v", root, err)
	}
	return st
}

// session makes a session that must be new.
func (r *rig) session(req opening.Request) *member.Member {
	r.Helper()
	m, created, err := r.Opener.Create(r.Context(), operator, req)
	if err != nil || !created {
		r.Fatalf("session %q: created %t, %v", req.Name, created, err)
	}
	return m
}

// member returns a session as it is.
func (r *rig) member(name string) *member.Member {
	r.Helper()
	m, err := r.Names.Find(r.Context(), "default", name)
	if err != nil {
		r.Fatalf("session %s: %v", name, err)
	}
	return m
}

// read returns a state as it is, through a replica that has not seen it.
func (r *rig) read(id string) *states.State {
	r.Helper()
	return r.readAt(id, 0)
}

func (r *rig) readAt(id string, version int64) *states.State {
	r.Helper()
	st, _, err := r.replica(r.store).States.Get(r.Context(), operator, id, version, nil)
	if err != nil {
		r.Fatalf("state %s at %d: %v", id, version, err)
	}
	return st
}

// update makes a change that must be accepted.
func (r *rig) update(caller ports.Caller, u writes.Update) *states.State {
	r.Helper()
	st, err := r.Editor.Update(r.Context(), caller, u)
	if err != nil {
		r.Fatalf("update %+v: %v", u, err)
	}
	return st
}

// sweep fires what is due, at every replica.
func (r *rig) sweep(replicas ...*app.App) {
	for _, a := range append([]*app.App{r.App}, replicas...) {
		a.SweepOnce(r.Context())
	}
}

// advance turns the clock and fires what is due then.
func (r *rig) advance(d time.Duration) {
	r.clock.Advance(d)
	r.sweep()
}

// refused demands a fault of a reason, and answers it.
func (r *rig) refused(err error, reason fault.Reason) *fault.Error {
	r.Helper()
	if got := fault.ReasonOf(err); got != reason {
		r.Fatalf("answered %q (%v), want %q", got, err, reason)
	}
	return fault.From(err)
}

// unchanged demands that a state is at a version with these data, and that its
// history ends there.
func (r *rig) unchanged(want *states.State) {
	r.Helper()
	got := r.read(want.Key.ID)
	if got.Version != want.Version || got.Data.String() != want.Data.String() {
		r.Errorf("the state is at version %d with %.200s, want version %d with %.200s", got.Version, got.Data, want.Version, want.Data)
	}
	after, _, err := r.States.History(r.Context(), operator, want.Key.ID, want.Version, 10)
	if err != nil || len(after) != 0 {
		r.Errorf("%d entries of history after version %d, %v", len(after), want.Version, err)
	}
}

// receive waits for a value that must come.
func receive[T any](r *rig, from <-chan T) T {
	r.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		r.Fatal("nothing came")
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

// stop stops a session's agent.
func (r *rig) stop(name string, cmd session.Stop) *member.Member {
	r.Helper()
	m, _, err := r.Sessions.Stop(r.Context(), operator, name, cmd, "")
	if err != nil {
		r.Fatalf("stop %s: %v", name, err)
	}
	return m
}
