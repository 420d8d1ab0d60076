package storequota

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
)

// room is a store's room that a test sets.
type room struct {
	left  int64
	known bool
	err   error
}

func (r *room) Room(context.Context) (int64, bool, error) { return r.left, r.known, r.err }

func open(t *testing.T, cfg Config) (store.Store, context.Context) {
	t.Helper()
	st, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: filepath.Join(t.TempDir(), "a.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	cfg.Log = slog.New(slog.DiscardHandler)
	return Wrap(st, cfg), t.Context()
}

func as(ctx context.Context, role auth.Role, name, session string) context.Context {
	return auth.WithPrincipal(ctx, auth.Principal{Name: name, Role: role, Session: session, Namespace: "default"})
}

func putOf(id string, bytes int) store.Batch {
	return store.Batch{Puts: []store.Put{{Key: store.Key{Namespace: "default", Kind: "run", ID: id}, Expect: store.AnyVersion, Data: make([]byte, bytes)}}}
}

// fill commits until it is refused, and returns how many bytes went in.
func fill(t *testing.T, st store.Store, ctx context.Context, bytes int) (filled int64, refused error) {
	t.Helper()
	for range 10_000 {
		batch := putOf("a", bytes)
		if _, err := st.Commit(ctx, batch); err != nil {
			return filled, err
		}
		filled += Size(batch)
	}
	t.Fatal("it is never refused")
	return 0, nil
}

// A store with little room says so, through its wrappers, and says when there is room again.
func TestHasRoom(t *testing.T) {
	t.Parallel()
	left := &room{left: 10, known: true}
	st, ctx := open(t, Config{Least: 20, Room: left})
	around := struct{ wrapped }{wrapped{st}}
	if err := HasRoom(ctx, around); fault.ReasonOf(err) != fault.StoreFull {
		t.Errorf("little room: %v", err)
	}
	unbounded, _ := open(t, Config{})
	if err := HasRoom(ctx, unbounded); err != nil {
		t.Errorf("without a bound: %v", err)
	}
	if err := HasRoom(ctx, st.(*bounded).Store); err != nil {
		t.Errorf("a store that nothing bounds: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		b := &bounded{Store: st.(*bounded).Store, cfg: Config{Least: 20, Room: left, Log: slog.New(slog.DiscardHandler)}, now: time.Now}
		if HasRoom(t.Context(), b) == nil {
			t.Error("there is little room")
		}
		left.left = 30
		time.Sleep(lookEvery)
		if err := HasRoom(t.Context(), b); err != nil {
			t.Errorf("room again: %v", err)
		}
	})
}

// wrapped is a store around another one.
type wrapped struct{ store.Store }

func (w wrapped) Unwrap() store.Store { return w.Store }

func TestQuotas(t *testing.T) {
	t.Parallel()
	const principal, session = 400_000, 100_000
	for _, bytes := range []int{1, 1000, 30_000, 99_000} {
		st, ctx := open(t, Config{Principal: principal, Session: session})
		one, two := as(ctx, auth.Agent, "one", "s1"), as(ctx, auth.Agent, "two", "s1")
		filled, err := fill(t, st, one, bytes)
		if fault.ReasonOf(err) != fault.QuotaExceeded || !strings.Contains(err.Error(), "--bytes-per-session") || fault.From(err).RetryAfter <= 0 {
			t.Errorf("%d bytes: refused with %v", bytes, err)
		}
		if filled > session || filled < session-2*int64(bytes+256)-session/32 {
			t.Errorf("%d bytes: a session fills %d of %d", bytes, filled, session)
		}
		// Another principal in the same session has no more.
		if _, err := st.Commit(two, putOf("b", session/4+bytes)); fault.ReasonOf(err) != fault.QuotaExceeded {
			t.Errorf("another principal of the session: %v", err)
		}
		// A principal has one quota in all of its sessions.
		var all int64
		for i := 0; i < 10 && err != nil && strings.Contains(err.Error(), "per-session"); i++ {
			all += filled
			filled, err = fill(t, st, as(ctx, auth.Runtime, "one", "more"+string(rune('a'+i))), bytes)
		}
		if all+filled > principal || err == nil || !strings.Contains(err.Error(), "--bytes-per-principal") {
			t.Errorf("%d bytes: a principal fills %d of %d, then %v", bytes, all+filled, principal, err)
		}
		for name, who := range map[string]context.Context{
			"an operator": as(ctx, auth.Operator, "one", ""), "a service": as(ctx, auth.Service, "one", ""), "a timer": ctx,
			"what stops": store.WithStop(one), "another agent": as(ctx, auth.Agent, "three", ""),
		} {
			if _, err := st.Commit(who, putOf("b", 2*session)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// S19.1: another process counts on the same quota, and a commit that is refused for another reason costs
// no room.
func TestQuotasAreOfTheStore(t *testing.T) {
	t.Parallel()
	const limit = 100_000
	first, ctx := open(t, Config{Principal: limit})
	inner, _ := first.(interface{ Unwrap() store.Store })
	second := Wrap(inner.Unwrap(), Config{Principal: limit})
	who := as(ctx, auth.Agent, "a", "")
	if _, err := fill(t, first, who, 1000); err == nil {
		t.Fatal(err)
	}
	if filled, _ := fill(t, second, who, 1000); filled > 0 {
		t.Errorf("another process fills %d more", filled)
	}
	other := as(ctx, auth.Agent, "b", "")
	for range 1000 {
		batch := putOf("a", 1000)
		batch.Puts[0].Expect = store.Absent
		if _, err := first.Commit(other, batch); !errors.Is(err, store.ErrConflict) {
			t.Fatalf("a commit that changes nothing: %v", err)
		}
	}
	if filled, _ := fill(t, first, other, 1000); filled < limit*8/10 {
		t.Errorf("after commits that changed nothing, %d of %d fit", filled, limit)
	}
}

// S19.2
func TestLittleRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &room{left: 100, known: true}
		st := Wrap(accepts{}, Config{Least: 100, Room: r, Log: slog.New(slog.DiscardHandler)})
		ctx := t.Context()
		agent, operator := as(ctx, auth.Agent, "a", ""), as(ctx, auth.Operator, "o", "")
		commit := func(ctx context.Context) error {
			time.Sleep(lookEvery) // of the bubble's clock
			_, err := st.Commit(ctx, store.Batch{})
			return err
		}
		if err := commit(agent); err != nil {
			t.Errorf("with room: %v", err)
		}
		r.left = 99
		for name, ctx := range map[string]context.Context{"an agent": agent, "an operator": operator} {
			if err := commit(ctx); fault.ReasonOf(err) != fault.StoreFull || !strings.Contains(err.Error(), "--min-store-room") {
				t.Errorf("%s without room: %v", name, err)
			}
		}
		for name, ctx := range map[string]context.Context{
			"an agent that stops": store.WithStop(agent), "an operator that stops": store.WithStop(operator),
			"a service": as(ctx, auth.Service, "s", ""), "a timer": ctx,
		} {
			if err := commit(ctx); err != nil {
				t.Errorf("%s without room: %v", name, err)
			}
		}
		r.left = 1000
		if err := commit(agent); err != nil {
			t.Errorf("with room again: %v", err)
		}
		r.err = errors.New("no such disk")
		if err := commit(agent); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("room that cannot be measured: %v", err)
		}
		*r = room{}
		if err := commit(agent); err != nil {
			t.Errorf("room that is not bounded: %v", err)
		}
	})
}

// accepts is a store that takes everything.
type accepts struct{ store.Store }

func (accepts) Commit(context.Context, store.Batch) (store.Result, error) { return store.Result{}, nil }

// Each way to add to a store counts.
func TestSize(t *testing.T) {
	t.Parallel()
	kb := make([]byte, 1000)
	for name, tt := range map[string]struct {
		batch store.Batch
		least int64
	}{
		"a new record":              {store.Batch{Puts: []store.Put{{Expect: store.Absent, Data: kb}}}, 1000},
		"a record without history":  {store.Batch{Puts: []store.Put{{Expect: 3, Data: kb}}}, 1000},
		"a history":                 {store.Batch{Puts: []store.Put{{Expect: 3, Data: kb, History: kb[:500]}}}, 500},
		"a new record with history": {store.Batch{Puts: []store.Put{{Data: kb, History: kb}}}, 2000},
		"earlier versions":          {store.Batch{Puts: []store.Put{{Expect: 3, History: kb, Earlier: [][]byte{kb, kb}}}}, 3000},
		"labels":                    {store.Batch{Puts: []store.Put{{Labels: map[string]string{"a": string(kb)}}}}, 1000},
		"a log":                     {store.Batch{Appends: []store.Append{{Entry: kb}}}, 1000},
		"an event":                  {store.Batch{Events: []store.Event{{Payload: kb}}}, 1000},
		"timers":                    {store.Batch{SetTimers: make([]store.Timer, 4)}, 1000},
		"an answer":                 {store.Batch{Idempotency: &store.Idempotency{Answer: kb}}, 1000},
	} {
		if got := Size(tt.batch); got < tt.least || got > tt.least+1300 {
			t.Errorf("%s has the size %d, and at least %d were expected", name, got, tt.least)
		}
	}
	if Size(store.Batch{Deletes: []store.Check{{}}, ClearTimers: []store.TimerID{{}}}) != 0 {
		t.Error("what removes something has a size")
	}
}
