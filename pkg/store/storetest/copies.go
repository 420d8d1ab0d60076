package storetest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

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
// whole, or not at all.
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
	if more := counted - logged; counted != rolling || more != 0 {
		c.Errorf("%d entries were counted %d times, and %d in the window", logged, counted, rolling)
	}
	c.Logf("the copy has %d of %d", logged, done)
}
