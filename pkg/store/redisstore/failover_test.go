package redisstore_test

import (
	"bytes"
	"errors"
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
	if err != nil && !errors.Is(err, store.ErrNotFound) || record.Version >= version { // the replica may have had nothing yet
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
		// Nobody knows what comes of these.
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
