package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/backup"
)

// Copies is storage that backups are made of, and storage that they are restored into.
type Copies struct {
	Store store.Store
	// Export writes a backup of the storage while it is in use.
	Export func(t *testing.T, path string)
	// Import restores a backup into other storage, which is empty at first, and closes
	// the store that is open there before. Open opens the present storage.
	Import func(t *testing.T, from backup.Source) error
	Open   func(t *testing.T) store.Store
}

// RunCopies tests that a backup restores the same data. The store of open
// takes the time from the clock, as for Run.
func RunCopies(t *testing.T, open func(t *testing.T, clock *Clock) *Copies) {
	for name, run := range map[string]func(c *copies){
		"everything": copyOfAll, "an empty store": copyOfNothing, "not empty": intoMore, "services' own": intoOwn,
		"another era": copyIsAnotherEra, "in use": copyWhileUsed, "in use by one": copyIsAPrefix,
		"interrupted": interruptedRestore,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := NewClock()
			run(newCopies(t, open, clock))
		})
	}
}

// copies is a test of copies.
type copies struct {
	*fixture
	*Copies
	open func(t *testing.T, clock *Clock) *Copies
}

func newCopies(t *testing.T, open func(t *testing.T, clock *Clock) *Copies, clock *Clock) *copies {
	t.Helper()
	of := open(t, clock)
	return &copies{&fixture{T: t, Store: of.Store, ctx: t.Context(), clock: clock}, of, open}
}

// backup makes a backup.
func (c *copies) backup() *backup.File {
	c.Helper()
	path := filepath.Join(c.TempDir(), "backup")
	c.Export(c.T, path)
	f, err := backup.Open(path)
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { _ = f.Close() })
	return f
}

// restored returns the copy of a backup.
func (c *copies) restored(from backup.Source) *fixture {
	c.Helper()
	if err := c.Import(c.T, from); err != nil {
		c.Fatal(err)
	}
	return c.other()
}

// other returns the store that was restored.
func (c *copies) other() *fixture {
	c.Helper()
	return &fixture{T: c.T, Store: c.Open(c.T), ctx: c.ctx, clock: c.clock}
}

// Names of the objects of a random history.
var (
	copyKinds  = []string{"run", "session"}
	copyIDs    = []string{"a", "b/1", "c=%", "d\n", "é", "f"}
	copyLabels = []string{"", "on", "a=b/c\n%"}
)

func copyKey(r *rand.Rand) store.Key {
	return store.Key{Namespace: "test", Kind: copyKinds[r.IntN(2)], ID: copyIDs[r.IntN(len(copyIDs))]}
}

// busy commits a random batch, of each kind of change for itself or together with others, and an
// event.
func (f *fixture) busy(r *rand.Rand, n int) {
	f.Helper()
	key := copyKey(r)
	data := fmt.Appendf(nil, "data %d", n)
	log := store.Key{Namespace: key.Namespace, Kind: "log", ID: key.ID}
	batch := store.Batch{Events: []store.Event{{Key: key, ID: fmt.Sprint("event ", n), Subject: "s", Payload: data}}}
	for first := true; first || r.IntN(2) == 0; first = false {
		f.change(r, n, &batch, key, log, data)
	}
	f.commit(batch)
	f.clock.Advance(time.Second)
}

// change adds a random change to a batch, unless it has one of this kind.
func (f *fixture) change(r *rand.Rand, n int, b *store.Batch, key, log store.Key, data []byte) {
	rolling := store.Key{Namespace: key.Namespace, Kind: "rolling", ID: key.ID}
	plain, window := r.IntN(3), 1+r.IntN(3)
	timer := store.TimerID{Key: key, Name: fmt.Sprint("t/", r.IntN(3))}
	due := f.clock.Now().Add(time.Duration(r.IntN(1000)) * microsecond)
	put := store.Put{
		Key: key, Expect: store.AnyVersion, Data: data,
		Labels: map[string]string{"status": copyLabels[r.IntN(3)], "b=/": fmt.Sprint(r.IntN(2))},
	}
	timed := len(b.SetTimers)+len(b.ClearTimers)+len(b.Postpone) > 0
	switch what := r.IntN(14); {
	case what == 0 && len(b.Puts)+len(b.Deletes) == 0:
		b.Deletes = []store.Check{{Key: key, Version: store.AnyVersion}}
	case what == 1 && len(b.Puts)+len(b.Deletes) == 0:
		put.Labels, put.History, put.Earlier = nil, data, [][]byte{nil, data}
		b.Puts = []store.Put{put}
	case what < 4 && len(b.Puts)+len(b.Deletes) == 0:
		b.Puts = []store.Put{put}
	case what == 4 && len(b.Appends) == 0:
		b.Appends = []store.Append{{Key: log, Entry: data}}
		b.Events[0].Entry, b.Events[0].Payload = log, nil
		if b.Idempotency == nil {
			b.Idempotency = &store.Idempotency{Owner: key, Name: fmt.Sprint("once/", n), Digest: "d", Entry: log, TTL: hour}
		}
	case what == 5 && b.Idempotency == nil:
		b.Idempotency = &store.Idempotency{Owner: key, Name: fmt.Sprint("once/", n), Digest: "d", Answer: data, TTL: hour}
	case what == 6 && len(b.Counters) == 0:
		b.Counters = []store.Counter{{Owner: key, Name: "plain", Delta: int64(plain), Limit: store.NoLimit}}
	case what == 7 && len(b.Counters) == 0:
		b.Counters = []store.Counter{
			{Owner: rolling, Name: "rolling", Delta: int64(window), Limit: store.NoLimit, Window: hour},
		}
	case what == 8 && len(b.Counters) == 0:
		b.Counters = []store.Counter{
			{Owner: key, Name: "plain", Delta: -1, Limit: store.NoLimit},
			{Owner: key, Name: "other", Delta: 1, Limit: store.NoLimit},
		}
	case what == 9 && len(b.Reset) == 0:
		b.Reset = []store.Key{[]store.Key{key, rolling}[r.IntN(2)]}
	case what == 10 && len(b.Forget) == 0:
		b.Forget = []store.Forget{{Key: log, Through: int64(n / 30)}, {Key: key, Through: int64(n / 10)}}
	case what == 11 && !timed:
		b.ClearTimers = []store.TimerID{timer}
	case what == 12 && !timed:
		b.SetTimers = []store.Timer{{TimerID: timer, Due: due, Data: data}}
	case what == 13 && !timed:
		for _, timer := range must(f.Due(f.ctx, f.clock.Now().Add(hour), 100, key.Kind))(f.T) {
			if timer.Key == key {
				b.Postpone = []store.Postpone{{Timer: timer, Until: due}}
			}
		}
	}
}

// everything returns all data of a store, as lines of text. Leases are not part of a copy, and
// eras are random.
func (f *fixture) everything(commits int) []string {
	f.Helper()
	var all []string
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	record := func(r *store.Record) string {
		return fmt.Sprintf("%q version %d %q %q %s", r.Key, r.Version, r.Data, labelText(r.Labels), r.UpdatedAt)
	}
	for _, kind := range append(slices.Clone(copyKinds), "log", "rolling") {
		for _, labels := range []map[string]string{nil, {"status": "on"}, {"status": copyLabels[2], "b=/": "1"}} {
			page, err := f.List(f.ctx, store.Query{Namespace: "test", Kind: kind, Labels: labels, Limit: 1000})
			if err != nil {
				f.Fatal(err)
			}
			for i := range page.Records {
				say("listed by %q: %s", labelText(labels), record(&page.Records[i]))
			}
		}
		for _, id := range copyIDs {
			f.about(store.Key{Namespace: "test", Kind: kind, ID: id}, commits, say)
		}
	}
	for _, timer := range must(f.Due(f.ctx, f.clock.Now().Add(hour), 1000, copyKinds...))(f.T) {
		say("timer %q %s due %s %q", timer.Key, timer.Name, timer.Due, timer.Data)
	}
	for _, e := range f.events() {
		say("event %d/%d: %q %q %q", e.Shard, e.Seq, e.ID, e.Subject, e.Payload)
		say("event %q is entry %d of %q at %s", e.ID, e.Version, e.Entry, e.At)
	}
	return all
}

// about returns a store's data about a key.
func (f *fixture) about(key store.Key, commits int, say func(string, ...any)) {
	f.Helper()
	for _, entry := range must(f.History(f.ctx, key, 0, 10_000))(f.T) {
		say("history of %q: %d %s %q", key, entry.Version, entry.At, entry.Data)
	}
	say("counters of %q: %v", key, f.counters(key))
	say("window of %q: %d", key, f.rolling(key))
	for n := range commits {
		answer, err := f.Answer(f.ctx, key, fmt.Sprint("once/", n))
		switch {
		case err == nil:
			say("answer %d of %q: %q", n, key, answer)
		case !errors.Is(err, store.ErrNotFound):
			f.Fatal(err)
		}
	}
}

// rolling is the windowed counter of an owner.
func (f *fixture) rolling(owner store.Key) int64 {
	f.Helper()
	look := store.Counter{Owner: owner, Name: "rolling", Limit: store.NoLimit, Window: hour}
	return f.commit(store.Batch{Counters: []store.Counter{look}}).Counters[0]
}

// labelled lists the records with a label.
func (f *fixture) labelled(kind, name, value string) []store.Record {
	f.Helper()
	query := store.Query{Namespace: "test", Kind: kind, Labels: map[string]string{name: value}, Limit: 1000}
	return must(f.List(f.ctx, query))(f.T).Records
}

func labelText(labels map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, name+" is "+labels[name])
	}
	return strings.Join(parts, ", ")
}

func must[T any](value T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// same requires that two stores have the same data.
func (f *fixture) same(other *fixture, commits int) {
	f.Helper()
	want, got := f.everything(commits), other.everything(commits)
	slices.Sort(want)
	slices.Sort(got)
	if slices.Equal(want, got) {
		return
	}
	for _, line := range want {
		if _, found := slices.BinarySearch(got, line); !found {
			f.Errorf("it lacks    %s", line)
		}
	}
	for _, line := range got {
		if _, found := slices.BinarySearch(want, line); !found {
			f.Errorf("it also has %s", line)
		}
	}
	f.Fatalf("%d things became %d", len(want), len(got))
}

func copyOfAll(c *copies) {
	const commits = 400
	r := randtest.New(c.T, 1)
	for n := range commits {
		c.busy(r, n)
	}
	before := c.events()
	for shard := range c.Shards() { // some were relayed and trimmed
		if err := c.Trim(c.ctx, shard, before[len(before)/2].Seq/2); err != nil {
			c.Fatal(err)
		}
	}
	file := c.backup()
	other := c.restored(file)
	if c.Shards() != other.Shards() {
		c.Fatalf("%d shards became %d", c.Shards(), other.Shards())
	}
	c.same(other, commits)
	// Versions and sequence numbers continue, also those of records that were deleted.
	last := map[int]int64{}
	for _, e := range before {
		last[e.Shard] = max(last[e.Shard], e.Seq)
	}
	for _, kind := range copyKinds {
		for _, id := range copyIDs {
			key := store.Key{Namespace: "test", Kind: kind, ID: id}
			batch := store.Batch{
				Puts: []store.Put{{
					Key: key, Expect: store.AnyVersion, Data: []byte("next"), Labels: map[string]string{"status": "on"},
				}},
				Events: []store.Event{{Key: key, ID: "next", Subject: "s"}},
			}
			if a, b := c.commit(batch), other.commit(batch); a.Versions[0] != b.Versions[0] {
				c.Errorf("%s is version %d, and %d in the copy", key, a.Versions[0], b.Versions[0])
			}
		}
	}
	for _, e := range other.events() {
		if e.ID == "next" && e.Seq <= last[e.Shard] {
			c.Errorf("event %d of shard %d is another one in the copy", e.Seq, e.Shard)
		}
	}
	if found := other.labelled("run", "status", "on"); len(found) != len(copyIDs) {
		c.Errorf("%d records have the label", len(found))
	}
}

func copyOfNothing(c *copies) {
	other := c.restored(c.backup())
	other.commit(create(run("a"), "x"))
	other.get(run("a"))
}

// intoMore: a store that has anything is left alone.
func intoMore(c *copies) {
	c.commit(create(run("a"), "x"))
	file := c.backup()
	other := c.restored(file)
	other.commit(create(run("b"), "more"))
	if err := c.Import(c.T, file); err == nil || !strings.Contains(err.Error(), "not empty") {
		c.Errorf("a store that is not empty was restored into: %v", err)
	}
	other = c.other()
	other.get(run("a"))
	other.get(run("b"))
}

// intoOwn: data that services write as soon as they run does not count.
func intoOwn(c *copies) {
	c.commit(create(run("a"), "x"))
	file := c.backup()
	own := store.Key{Namespace: "_relay", Kind: "member", ID: "m"}
	before := c.other()
	before.commit(create(own, "x"))
	acquired(before, own)
	other := c.restored(file)
	other.gone(own)
	other.get(run("a"))
}

// Later tokens, leases and events are of another era.
func copyIsAnotherEra(c *copies) {
	key := run("a")
	once := func(expect int64, name string) store.Batch {
		batch := next(key, expect, name)
		batch.Idempotency = &store.Idempotency{
			Owner: key, Name: name, Digest: name, Answer: []byte(name), TTL: hour,
		}
		return batch
	}
	c.commit(once(0, "kept"))
	held := acquired(c.fixture, key)
	file := c.backup()
	lost := c.commit(once(1, "lost"))
	if err := c.ReleaseLease(c.ctx, held); err != nil {
		c.Fatal(err)
	}
	newer := acquired(c.fixture, key)
	before := c.events()
	other := c.restored(file)
	for _, lease := range []store.Lease{held, newer} {
		batch := next(key, 1, "of an old holder")
		batch.Fence = &store.Fence{Key: key, Token: lease.Token}
		other.refused(batch, store.ErrFenced)
		if _, err := other.RenewLease(c.ctx, lease, minute); !errors.Is(err, store.ErrFenced) {
			c.Errorf("a lease of before is renewed: %v", err)
		}
	}
	if token := acquired(other, key).Token; token <= newer.Token {
		c.Errorf("the token %d is given, and there was %d", token, newer.Token)
	}
	if repeated := other.commit(once(0, "kept")); !repeated.Replayed || string(repeated.Answer) != "kept" {
		c.Errorf("a key of before the copy gets %+v", repeated)
	}
	// A later one is new: its effects are repeated, and announced.
	again := other.commit(once(1, "lost"))
	if again.Replayed {
		c.Errorf("a key of after the copy gets %+v", again)
	}
	after := other.events()
	if again.Versions[0] != lost.Versions[0] || len(before) != 2 || len(after) != 2 {
		c.Fatalf("version %d, %d events and then %d", again.Versions[0], len(before), len(after))
	}
	kept := after[0].Era == before[0].Era && after[0].Seq == before[0].Seq
	if !kept || after[1].Era == before[1].Era || after[1].Era == "" {
		c.Errorf("events were %+v and are %+v", before, after)
	}
}

// copyWhileUsed backs a store up while it is used by commits that span shards: each is in the copy
// whole, or not at all. Where none spans, earlier commits are in the copy before
// later ones.
func copyWhileUsed(c *copies) {
	c.ballast()
	policy := store.Key{Namespace: "test", Kind: "policy", ID: "p"}
	ctx, stop := context.WithCancel(c.ctx)
	defer stop()
	const writers, most = 6, 2500
	var group sync.WaitGroup
	var mu sync.Mutex
	done, wanted := 0, make(chan struct{}, 1)
	for w := range writers {
		log := store.Key{Namespace: "test", Kind: "log", ID: fmt.Sprint("w", w)}
		group.Go(func() {
			for n := 1; ctx.Err() == nil && n <= most; n++ {
				if err := c.act(log, policy, n); err != nil {
					c.Errorf("a commit while a backup is made: %v", err)
					return
				}
				mu.Lock()
				done++
				mu.Unlock()
				select {
				case wanted <- struct{}{}:
				default:
				}
			}
		})
	}
	for range 20 {
		<-wanted
	}
	file := c.backup()
	stop()
	group.Wait()
	other := c.restored(file)
	logged, told := int64(0), 0
	for w := range writers {
		log := store.Key{Namespace: "test", Kind: "log", ID: fmt.Sprint("w", w)}
		logged += c.whole(other, log)
	}
	for _, e := range other.events() {
		if len(e.Payload) == 0 {
			c.Errorf("event %s has lost its entry", e.ID)
		}
		told++
	}
	counted := other.counters(policy)["n"]
	rolling := other.rolling(policy)
	if int64(told) != logged || logged == 0 {
		c.Errorf("%d entries and %d events", logged, told)
	}
	if more := counted - logged; counted != rolling || more < 0 || more > 0 && c.Spans() || more > writers {
		c.Errorf("%d entries were counted %d times, and %d in the window", logged, counted, rolling)
	}
	c.Logf("the copy has %d of %d", logged, done)
}

// copyIsAPrefix backs a store up while one caller makes random changes: the copy is the state
// after some of its commits.
func copyIsAPrefix(c *copies) {
	c.ballast()
	begun, end, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		r := randtest.New(c.T, 3)
		for n := 0; ; n++ {
			if n == 100 {
				close(begun)
			}
			select {
			case <-end:
				return
			default:
				c.busy(r, n)
			}
		}
	}()
	<-begun
	file := c.backup()
	close(end)
	<-ended
	other := c.restored(file)
	commits := len(other.events()) // each has one
	same := newCopies(c.T, c.open, NewClock())
	same.ballast()
	r := randtest.New(c.T, 3)
	for n := range commits {
		same.busy(r, n)
	}
	same.same(other, commits+1)
	c.Logf("the copy is of the commit %d", commits)
}

// ballast is data that takes time to copy.
func (c *copies) ballast() {
	var group sync.WaitGroup
	for w := range 20 {
		group.Go(func() {
			for i := range 100 {
				batch := create(run(fmt.Sprint("ballast", w, "-", i)), strings.Repeat("x", 200))
				if _, err := c.Commit(c.ctx, batch); err != nil {
					c.Errorf("commit: %v", err)
				}
			}
		})
	}
	group.Wait()
}

// act commits an entry of a log, with its event, its idempotency key and a count in another shard.
func (c *copies) act(log, policy store.Key, n int) error {
	counters := []store.Counter{
		{Owner: policy, Name: "n", Delta: 1, Limit: store.NoLimit},
		{Owner: policy, Name: "rolling", Delta: 1, Limit: store.NoLimit, Window: hour},
	}
	name := fmt.Sprint("call/", n)
	batch := store.Batch{
		Idempotency: &store.Idempotency{Owner: log, Name: name, Digest: name, Entry: log, TTL: hour},
		Appends:     []store.Append{{Key: log, Entry: []byte(name)}},
		Puts: []store.Put{{
			Key: run(log.ID), Expect: int64(n - 1), Data: []byte(name), Labels: map[string]string{"n": name},
		}},
		Events: []store.Event{{Key: log, ID: log.ID + " " + name, Subject: "s", Entry: log}},
		SetTimers: []store.Timer{{
			TimerID: store.TimerID{Key: run(log.ID), Name: "due"}, Due: c.clock.Now(), Data: []byte(name),
		}},
	}
	if c.Spans() {
		batch.Counters = counters
	} else if _, err := c.Commit(context.WithoutCancel(c.ctx), store.Batch{Counters: counters}); err != nil {
		return err
	}
	_, err := c.Commit(context.WithoutCancel(c.ctx), batch)
	return err
}

// whole requires that all parts of each commit of a log are there, and returns how many.
func (c *copies) whole(other *fixture, log store.Key) int64 {
	c.Helper()
	entries := must(other.History(c.ctx, log, 0, 1_000_000))(c.T)
	last := ""
	for i, entry := range entries {
		last = fmt.Sprint("call/", i+1)
		if entry.Version != int64(i+1) || string(entry.Data) != last {
			c.Fatalf("entry %d of %s is %d, %q", i+1, log, entry.Version, entry.Data)
		}
		if answer, err := other.Answer(c.ctx, log, last); err != nil || string(answer) != last {
			c.Errorf("%s of %s is answered %q, %v", last, log, answer, err)
		}
	}
	if _, err := other.Answer(c.ctx, log, fmt.Sprint("call/", len(entries)+1)); !errors.Is(err, store.ErrNotFound) {
		c.Errorf("%s has an answer without its entry: %v", log, err)
	}
	if len(entries) == 0 {
		return 0
	}
	record := other.get(run(log.ID))
	if record.Version != int64(len(entries)) || string(record.Data) != last {
		c.Errorf("%s is version %d, %q, after %d entries", record.Key, record.Version, record.Data, len(entries))
	}
	found := other.labelled("run", "n", last)
	if !slices.ContainsFunc(found, func(r store.Record) bool { return r.Key == record.Key }) {
		c.Errorf("%s is not listed by its label", record.Key)
	}
	timers := must(other.Due(c.ctx, c.clock.Now(), 100, "run"))(c.T)
	timers = slices.DeleteFunc(timers, func(t store.Timer) bool { return t.Key != record.Key })
	if len(timers) != 1 || string(timers[0].Data) != last {
		c.Errorf("%s has the timers %v", record.Key, timers)
	}
	return int64(len(entries))
}

// interrupted is a source that ends in an error.
type interrupted struct {
	backup.Source
	after int
}

var errInterrupted = errors.New("killed")

func (i *interrupted) Each(yield func(backup.Item) error) error {
	left := i.after
	return i.Source.Each(func(item backup.Item) error {
		if left--; left < 0 {
			return errInterrupted
		}
		return yield(item)
	})
}

// interruptedRestore: half a restore is not used, and the same restore continues it.
func interruptedRestore(c *copies) {
	const commits = 60
	r := randtest.New(c.T, 2)
	for n := range commits {
		c.busy(r, n)
	}
	file := c.backup()
	total := 0
	for _, n := range file.Tail.Items {
		total += int(n)
	}
	for _, after := range []int{0, total / 3, total - 1} {
		if err := c.Import(c.T, &interrupted{file, after}); !errors.Is(err, errInterrupted) {
			c.Fatalf("it was interrupted after %d of %d: %v", after, total, err)
		}
	}
	c.same(c.restored(file), commits)
}
