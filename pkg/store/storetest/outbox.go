package storetest

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/interlock-run/interlock/pkg/store"
)

var outboxTests = []test{
	{"entries and cursors", entriesAndCursors},
	{"traces", tracesOfEvents},
	{"trim", trimOutbox},
	{"sequence numbers are never used again", neverUsedAgain},
	{"tail wakes on a commit", tailWakes},
	{"tail waits for the shards it names", tailWaits},
	{"tail starves no shard", tailIsFair},
	{"tail sees every commit once and in order", tailSeesAll},
}

// emit returns a batch of events of one entity.
func emit(key store.Key, ids ...string) store.Batch {
	var batch store.Batch
	for _, id := range ids {
		batch.Events = append(batch.Events, store.Event{Key: key, ID: id, Subject: "subject." + id, Payload: []byte("payload of " + id)})
	}
	return batch
}

// tail returns the present contents of the outbox.
func tail(f *fixture, after map[int]int64, limit int) []store.OutboxEntry {
	f.Helper()
	entries, err := f.Tail(f.ctx, after, limit, 0)
	if err != nil {
		f.Fatalf("tail: %v", err)
	}
	return entries
}

// ids returns the ids of entries, joined.
func ids(entries []store.OutboxEntry) string {
	var b strings.Builder
	for _, entry := range entries {
		b.WriteString(entry.ID)
	}
	return b.String()
}

// An event keeps its trace, also when its payload is a history entry.
func tracesOfEvents(f *fixture) {
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	a := run("a")
	log := store.Key{Namespace: a.Namespace, Kind: "log", ID: a.ID}
	f.commit(store.Batch{
		Appends: []store.Append{{Key: log, Entry: []byte("entry")}},
		Events: []store.Event{
			{Key: a, ID: "1", Subject: "s", Payload: []byte("payload"), Trace: trace},
			{Key: a, ID: "2", Subject: "s", Payload: []byte("payload")},
			{Key: a, ID: "3", Subject: "s", Entry: log, Trace: trace},
			{Key: a, ID: "4", Subject: "s", Entry: log},
		},
	})
	f.commit(emit(a, "5"))
	var got []string
	eras := map[string]bool{}
	for _, entry := range tail(f, map[int]int64{a.Shard(f.Shards()): 0}, 10) {
		got = append(got, entry.ID+" "+string(entry.Payload)+" "+entry.Trace)
		eras[entry.Era] = true
	}
	if len(eras) != 1 || eras[""] {
		f.Errorf("events of one era have the eras %v", eras)
	}
	want := []string{"1 payload " + trace, "2 payload ", "3 entry " + trace, "4 entry ", "5 payload of 5 "}
	if diff := cmp.Diff(want, got); diff != "" {
		f.Errorf("events, payloads and traces (-want +got):\n%s", diff)
	}
}

func entriesAndCursors(f *fixture) {
	a := run("a")
	b := f.otherShard(a)
	shard, other := a.Shard(f.Shards()), b.Shard(f.Shards())
	if got := tail(f, map[int]int64{shard: 0, other: 0}, 10); len(got) != 0 {
		f.Errorf("a new outbox has %v", got)
	}
	f.commit(emit(a, "1", "2"))
	f.commit(emit(b, "x"))
	f.commit(emit(a, "3", "4", "5"))

	all := tail(f, map[int]int64{shard: 0}, 10)
	if got := ids(all); got != "12345" {
		f.Fatalf("events are %q", got)
	}
	for i, entry := range all {
		want := store.OutboxEntry{
			Shard: shard, Seq: entry.Seq, Era: entry.Era, ID: fmt.Sprint(i + 1), Subject: fmt.Sprintf("subject.%d", i+1), Payload: fmt.Appendf(nil, "payload of %d", i+1),
		}
		if diff := cmp.Diff(want, entry); diff != "" {
			f.Errorf("entry (-want +got):\n%s", diff)
		}
		if entry.Seq < 1 || i > 0 && entry.Seq <= all[i-1].Seq {
			f.Errorf("entry %d has sequence number %d", i, entry.Seq)
		}
		if got, want := ids(tail(f, map[int]int64{shard: entry.Seq}, 10)), "12345"[i+1:]; got != want {
			f.Errorf("after entry %d come %q, not %q", i, got, want)
		}
	}
	if got := ids(tail(f, map[int]int64{shard: 0}, 2)); got != "12" {
		f.Errorf("the first 2 are %q", got)
	}
	if got := ids(tail(f, map[int]int64{other: 0}, 10)); got != "x" {
		f.Errorf("the other shard has %q", got)
	}
	both := tail(f, map[int]int64{shard: all[3].Seq, other: 0}, 10)
	if got := ids(both); got != "5x" && got != "x5" {
		f.Errorf("both shards have %q", got)
	}
	// Reading does not remove entries.
	if got := ids(tail(f, map[int]int64{shard: 0}, 10)); got != "12345" {
		f.Errorf("events are %q when read again", got)
	}
}

func trimOutbox(f *fixture) {
	a := run("a")
	shard := a.Shard(f.Shards())
	b := f.otherShard(a)
	f.commit(emit(a, "1", "2", "3"))
	f.commit(emit(b, "x"))
	all := tail(f, map[int]int64{shard: 0}, 10)
	for _, tt := range []struct {
		through int64
		want    string
	}{{0, "123"}, {all[1].Seq, "3"}, {all[0].Seq, "3"}, {all[2].Seq, ""}, {all[2].Seq, ""}} {
		if err := f.Trim(f.ctx, shard, tt.through); err != nil {
			f.Fatalf("trim: %v", err)
		}
		if got := ids(tail(f, map[int]int64{shard: 0}, 10)); got != tt.want {
			f.Errorf("after trimming through %d: %q, not %q", tt.through, got, tt.want)
		}
	}
	if got := ids(tail(f, map[int]int64{b.Shard(f.Shards()): 0}, 10)); got != "x" {
		f.Errorf("the other shard has %q", got)
	}
}

func neverUsedAgain(f *fixture) {
	a := run("a")
	shard := a.Shard(f.Shards())
	var last int64
	for round := range 3 {
		f.commit(emit(a, "1", "2", "3"))
		entries := tail(f, map[int]int64{shard: 0}, 10)
		if got := ids(entries); got != "123" {
			f.Fatalf("round %d: events are %q", round, got)
		}
		if entries[0].Seq <= last {
			f.Errorf("round %d: sequence number %d comes after %d", round, entries[0].Seq, last)
		}
		last = entries[2].Seq
		if err := f.Trim(f.ctx, shard, last); err != nil {
			f.Fatal(err)
		}
		f.reopen()
	}
}

func tailWakes(f *fixture) {
	a := run("a")
	ctx, cancel := context.WithTimeout(f.ctx, patience)
	defer cancel()
	after := map[int]int64{}
	for shard := range f.Shards() {
		after[shard] = 0
	}
	for i := range 20 {
		key := run(fmt.Sprintf("%s.%d", a.ID, i))
		var wg sync.WaitGroup
		wg.Go(func() {
			// The wait is longer than the patience: only a wake-up helps.
			entries, err := f.Tail(ctx, after, 10, 10*patience)
			if err != nil || len(entries) != 1 || entries[0].ID != fmt.Sprint(i) {
				f.Errorf("tail answered %v, %v", entries, err)
				return
			}
			after[entries[0].Shard] = entries[0].Seq
		})
		f.commit(emit(key, fmt.Sprint(i)))
		wg.Wait()
		if f.Failed() {
			return
		}
	}
}

func tailWaits(f *fixture) {
	a := run("a")
	b := f.otherShard(a)
	shard := a.Shard(f.Shards())
	f.commit(emit(b, "x"))
	entries, err := f.Tail(f.ctx, map[int]int64{shard: 0}, 10, 20*microsecond)
	if err != nil || len(entries) != 0 {
		f.Errorf("waiting in vain answered %v, %v", entries, err)
	}
	// Waiting continues when a commit is of another shard or without events.
	ctx, cancel := context.WithTimeout(f.ctx, patience)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		entries, err := f.Tail(ctx, map[int]int64{shard: 0}, 10, 10*patience)
		if err != nil || ids(entries) != "1" {
			f.Errorf("tail answered %v, %v", entries, err)
		}
	})
	f.commit(emit(b, "y"))
	f.commit(create(a, "no event"))
	f.commit(emit(a, "1"))
	wg.Wait()
}

func tailIsFair(f *fixture) {
	busy := run("busy")
	quiet := f.otherShard(busy)
	for _, limit := range []int{1, 2, 10} {
		after := map[int]int64{busy.Shard(f.Shards()): 0, quiet.Shard(f.Shards()): 0}
		name := fmt.Sprintf("quiet %d", limit)
		f.commit(emit(quiet, name))
		more := make([]string, 2*limit)
		for i := range more {
			more[i] = fmt.Sprintf("busy %d %d", limit, i)
		}
		seen := false
		for range 16 {
			f.commit(emit(busy, more...))
			entries := tail(f, after, limit)
			if len(entries) == 0 || len(entries) > limit {
				f.Fatalf("%d entries with a limit of %d", len(entries), limit)
			}
			for _, entry := range entries {
				seen = seen || entry.ID == name
				after[entry.Shard] = entry.Seq
			}
		}
		if !seen {
			f.Errorf("with a limit of %d a busy shard starves the other", limit)
		}
	}
}

// tailSeesAll lets writers commit while a reader follows: an entry that became
// visible after a later one would be passed over by the reader's cursor.
func tailSeesAll(f *fixture) {
	const writers, each = 16, 40
	ctx, cancel := context.WithTimeout(f.ctx, patience)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		inParallel(f.T, writers, func(worker int) error {
			key := run(fmt.Sprint(worker))
			for i := range each {
				batch := emit(key, fmt.Sprintf("%d/%d", worker, 2*i), fmt.Sprintf("%d/%d", worker, 2*i+1))
				batch.Puts = []store.Put{{Key: key, Expect: int64(i)}}
				if _, err := f.Commit(ctx, batch); err != nil {
					return err
				}
			}
			return nil
		})
	})

	after := map[int]int64{}
	for shard := range f.Shards() {
		after[shard] = 0
	}
	next := make([]int, writers)
	for total := 0; total < 2*writers*each; {
		entries, err := f.Tail(ctx, after, 50, 10*patience)
		if err != nil {
			f.Errorf("tail after %d entries: %v", total, err)
			break
		}
		for _, entry := range entries {
			var worker, i int
			if _, err := fmt.Sscanf(entry.ID, "%d/%d", &worker, &i); err != nil {
				f.Fatalf("entry %q", entry.ID)
			}
			if i != next[worker] || entry.Seq <= after[entry.Shard] || entry.Shard != run(fmt.Sprint(worker)).Shard(f.Shards()) {
				f.Fatalf("entry %+v comes where %d/%d is next", entry, worker, next[worker])
			}
			next[worker]++
			after[entry.Shard] = entry.Seq
			total++
		}
	}
	wg.Wait()
	if diff := cmp.Diff([]store.OutboxEntry(nil), tail(f, after, 10), cmpopts.EquateEmpty()); diff != "" {
		f.Errorf("more than was committed (-want +got):\n%s", diff)
	}
}
