package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

var rollbackTests = []test{
	{"refuses everything", goneBack},
	{"an equal version of a lost history", equalVersion},
	{"tokens and events are of another era", otherEra},
	{"a copy that lacks nothing", lacksNothing},
}

// next writes the next version of a record, and an event.
func next(key store.Key, expect int64, data string) store.Batch {
	return store.Batch{
		Puts:   []store.Put{{Key: key, Expect: expect, Data: []byte(data)}},
		Events: []store.Event{{Key: key, ID: "event", Subject: "s"}},
	}
}

// accepted accepts that the store has gone back, and waits until it is used again.
func (f *fixture) accepted() {
	f.Helper()
	f.Store = f.storage.Accept(f.T)
	f.until(func() bool { return f.Ping(f.ctx) == nil })
}

// until waits for a condition.
func (f *fixture) until(is func() bool) {
	f.Helper()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for end := time.Now().Add(patience); !is(); <-poll.C {
		if time.Now().After(end) {
			f.Fatal("it never happened")
		}
	}
}

func goneBack(f *fixture) {
	f.commit(next(run("a"), 0, "kept"))
	back := f.storage.Keep(f.T)
	f.commit(next(run("a"), 1, "lost"))
	f.Store = back(f.T)
	var gone *store.RolledBackError
	if _, err := f.Commit(f.ctx, next(run("a"), 1, "new")); !errors.As(err, &gone) || gone.Lost == "" || !errors.Is(err, store.ErrUnavailable) {
		f.Fatalf("a commit to a store that has gone back answered %v", err)
	}
	for call, err := range everyCall(f, f.ctx) {
		if !errors.As(err, &gone) {
			f.Errorf("%s answered %v", call, err)
		}
	}
	f.accepted()
	if record := f.get(run("a")); record.Version != 1 || string(record.Data) != "kept" {
		f.Errorf("version %d, %s", record.Version, record.Data)
	}
	f.commit(next(run("a"), 1, "new"))
	f.reopen()
	f.commit(next(run("a"), 2, "newer"))
}

func equalVersion(f *fixture) {
	f.commit(next(run("a"), 0, "kept"))
	back := f.storage.Keep(f.T)
	f.commit(next(run("a"), 1, "lost"))
	old := f.Store
	work, leave, err := old.Gate().Enter(f.ctx)
	if err != nil {
		f.Fatal(err)
	}
	read, err := old.Get(work, run("a"))
	if err != nil || read.Version != 2 {
		f.Fatalf("version %d, %v", read.Version, err)
	}
	f.Store = back(f.T)
	f.refused(next(run("a"), 1, "new"), store.ErrUnavailable)
	f.Store = f.storage.Accept(f.T)
	// Where the store is used on, it waits for the work that has seen the lost data.
	if _, err := old.Commit(work, next(run("a"), read.Version, "decided on what is lost")); !errors.Is(err, store.ErrUnavailable) {
		f.Errorf("a commit of work from before answered %v", err)
	}
	leave()
	f.until(func() bool { return f.Ping(f.ctx) == nil })
	f.commit(next(run("a"), 1, "new"))
	if _, err := old.Commit(work, next(run("a"), read.Version, "decided on what is lost")); err == nil {
		f.Errorf("a commit of work from before, at an equal version, answered %v", err)
	}
	if record := f.get(run("a")); record.Version != 2 || string(record.Data) != "new" {
		f.Errorf("version %d, %s", record.Version, record.Data)
	}
}

func otherEra(f *fixture) {
	key := run("a")
	f.commit(next(key, 0, "kept"))
	back := f.storage.Keep(f.T)
	lost := acquired(f, key)
	f.commit(next(key, 1, "lost"))
	before := f.events()
	f.Store = back(f.T)
	f.refused(next(key, 1, "new"), store.ErrUnavailable)
	f.accepted()
	f.clock.Advance(hour) // so it has lapsed
	lease := acquired(f, key)
	if lease.Token <= lost.Token {
		f.Errorf("the token %d was given, and %d in the history that is lost", lease.Token, lost.Token)
	}
	batch := next(key, 1, "of the old holder")
	batch.Fence = &store.Fence{Key: key, Token: lost.Token}
	f.refused(batch, store.ErrFenced)
	f.commit(next(key, 1, "new"))
	after := f.events()
	if len(before) != 2 || len(after) != 2 {
		f.Fatalf("%d events and then %d", len(before), len(after))
	}
	if before[0].Era == "" || after[0].Era != before[0].Era || after[1].Era == before[1].Era {
		f.Errorf("events are of the eras %q, %q; then %q, %q", before[0].Era, before[1].Era, after[0].Era, after[1].Era)
	}
}

func acquired(f *fixture, key store.Key) store.Lease {
	f.Helper()
	lease, err := f.AcquireLease(context.WithoutCancel(f.ctx), key, "me", minute)
	if err != nil {
		f.Fatal(err)
	}
	return lease
}

func lacksNothing(f *fixture) {
	f.commit(next(run("a"), 0, "kept"))
	f.Store = f.storage.Keep(f.T)(f.T)
	f.commit(next(run("a"), 1, "next"))
	f.get(run("a"))
}
