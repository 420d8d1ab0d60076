package redisstore_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
)

// failOver kills the master while the replica lags, and waits until that is promoted.
func failOver(t *testing.T, g *redistest.Guarded, lagging func()) {
	t.Helper()
	if err := g.Replica.Pause(); err != nil {
		t.Fatal(err)
	}
	lagging()
	g.Master.Kill()
	if err := errors.Join(g.Replica.Resume(), g.Promoted()); err != nil {
		t.Fatal(err)
	}
}

// big is more than the sockets between two servers hold in a few writes.
var big = bytes.Repeat([]byte("x"), 512<<10)

func TestFailoverToAReplicaThatLags(t *testing.T) {
	t.Parallel()
	g := redistest.StartGuarded(t)
	s := open(t, redisstore.Config{URL: g.URL(), Prefix: "il"})
	version := int64(0)
	write := func() { commit(t, s, put("a", version, string(big))); version++ }
	write()
	work, leave, err := s.Gate().Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	failOver(t, g, func() {
		for range 64 {
			write()
		}
	})
	var gone *store.RolledBackError
	until(t, func() bool { return errors.As(s.Ping(t.Context()), &gone) })
	if _, err := s.Commit(t.Context(), put("a", store.AnyVersion, "new")); !errors.As(err, &gone) {
		t.Errorf("a commit to the replica that was promoted: %v", err)
	}
	lost, err := redisstore.AcceptRollback(t.Context(), redisstore.Config{URL: g.URL(), Prefix: "il"})
	if err != nil || len(lost) != 1 {
		t.Fatalf("accepted %q, %v", lost, err)
	}
	<-work.Done()
	leave()
	until(t, func() bool { return s.Ping(t.Context()) == nil })
	record, err := s.Get(t.Context(), key("a"))
	if err != nil && !errors.Is(err, store.ErrNotFound) || record.Version >= version { // the replica may have been empty
		t.Errorf("version %d of %d, %v: nothing was lost", record.Version, version, err)
	}
	commit(t, s, put("a", record.Version, "new"))
}

func TestFailoverLosesNothingThatReplicasHaveConfirmed(t *testing.T) {
	t.Parallel()
	g := redistest.StartGuarded(t)
	s := open(t, redisstore.Config{URL: g.URL(), Prefix: "il", Wait: 1})
	acknowledged := int64(0)
	for range 20 {
		commit(t, s, put("a", acknowledged, string(big)))
		acknowledged++
	}
	lease, err := s.AcquireLease(t.Context(), key("a"), "me", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	failOver(t, g, func() {
		// The outcome of these is unknown.
		if _, err := s.Commit(t.Context(), put("a", acknowledged, string(big))); !errors.Is(err, store.ErrUncertain) {
			t.Errorf("a commit that no replica has: %v", err)
		}
		if _, err := s.AcquireLease(t.Context(), key("b"), "me", time.Minute); !errors.Is(err, store.ErrUncertain) {
			t.Errorf("a lease that no replica has: %v", err)
		}
	})
	until(t, func() bool { return s.Ping(t.Context()) == nil })
	var record store.Record
	until(t, func() bool { record, err = s.Get(t.Context(), key("a")); return err == nil })
	if record.Version < acknowledged {
		t.Errorf("version %d of %d that were acknowledged", record.Version, acknowledged)
	}
	next, err := s.AcquireLease(t.Context(), key("a"), "me", time.Minute)
	if !errors.Is(err, store.ErrUncertain) || next.Token != 0 {
		t.Errorf("the promoted server has no replica, and gave %d after %d, %v", next.Token, lease.Token, err)
	}
}

// A write that no replica has confirmed is not acknowledged in any other way either: not to a repeat, not
// by a commit that is refused because of it. So the failover that takes it away is no loss.
func TestUnconfirmedCommitsAreAcknowledgedToNobody(t *testing.T) {
	t.Parallel()
	g := redistest.StartGuarded(t)
	config := redisstore.Config{URL: g.URL(), Prefix: "il", Wait: 1}
	s, other := open(t, config), open(t, config)
	var opened *redisstore.Store
	commit(t, s, put("a", 0, "first"))
	commit(t, other, put("b", 0, "first"))
	once := put("a", 1, "second")
	once.Idempotency = &store.Idempotency{Owner: key("a"), Name: "once", Answer: []byte("done"), TTL: time.Hour}
	direct := g.Master.Client(t)
	failOver(t, g, func() {
		for i := range 64 { // no more data fits between the servers after that
			if err := direct.Set(t.Context(), fmt.Sprint("filler", i), big, 0).Err(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Commit(t.Context(), once); !errors.Is(err, store.ErrUncertain) {
			t.Errorf("a commit that no replica has: %v", err)
		}
		var all sync.WaitGroup
		all.Go(func() {
			if result, err := other.Commit(t.Context(), once); !errors.Is(err, store.ErrUncertain) {
				t.Errorf("its repeat: %+v, %v", result, err)
			}
		})
		all.Go(func() {
			if answer, err := other.Answer(t.Context(), key("a"), "once"); !errors.Is(err, store.ErrUncertain) {
				t.Errorf("its answer: %q, %v", answer, err)
			}
		})
		all.Go(func() {
			if _, err := other.Commit(t.Context(), put("a", 1, "another")); !errors.Is(err, store.ErrUncertain) {
				t.Errorf("a commit that it is in the way of: %v", err)
			}
		})
		all.Wait()
		opened = open(t, config) // it sees writes that are not confirmed
		if _, err := opened.Get(t.Context(), key("a")); err != nil {
			t.Error(err)
		}
	})
	for _, s := range []*redisstore.Store{s, other, opened} {
		var gone *store.RolledBackError
		until(t, func() bool {
			err := s.Ping(t.Context())
			if errors.As(err, &gone) {
				t.Fatal(err)
			}
			return err == nil
		})
	}
	record, err := s.Get(t.Context(), key("a"))
	if err != nil || record.Version != 1 {
		t.Errorf("version %d, %v: what was confirmed is gone, or nothing was lost", record.Version, err)
	}
}
