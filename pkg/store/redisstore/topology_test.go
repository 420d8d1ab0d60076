package redisstore_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
)

// A shard moves from one node to another, key by key, while it is written to. A
// commit that meets it half way is refused whole.
func TestShardMovesWhileItIsWritten(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	s := open(t, redisstore.Config{URL: cluster.URL(), Prefix: "il", Shards: 1})
	const writers = 4
	acknowledged := make([]int64, writers)
	ctx, cancel := context.WithCancel(t.Context())
	var wg, began sync.WaitGroup
	began.Add(writers)
	for writer := range writers {
		wg.Go(func() {
			for n := 1; ctx.Err() == nil || n <= 10; n++ {
				version, err := writeNext(t, s, writer, acknowledged[writer])
				switch {
				case err == nil:
					acknowledged[writer] = version
				case !errors.Is(err, store.ErrUnavailable):
					t.Errorf("a commit to a moving shard: %v", err)
				}
				if n == 10 {
					began.Done()
				}
			}
		})
	}
	began.Wait()
	from, to := move(t, cluster, "il:{0}:o")
	cancel()
	wg.Wait()
	if version, err := writeNext(t, s, 0, acknowledged[0]); err != nil {
		t.Fatalf("a commit after the move: %v", err)
	} else {
		acknowledged[0] = version
	}
	if n := from.DBSize(t.Context()).Val(); n > 1 { // the store's own key may be there
		t.Errorf("%d keys stayed behind", n)
	}
	if n := to.DBSize(t.Context()).Val(); n < writers {
		t.Errorf("only %d keys moved", n)
	}
	for writer, version := range acknowledged {
		checkRun(t, s, writer, version)
	}
	checkEvents(t, s, acknowledged)
}

// move moves the slot of a key to another node.
func move(t *testing.T, cluster *redistest.Cluster, key string) (from, to *redis.Client) {
	t.Helper()
	ctx := t.Context()
	slot := cluster.Nodes[0].Client(t).ClusterKeySlot(ctx, key).Val()
	owner := int(slot) * len(cluster.Nodes) / redistest.Slots
	target := cluster.Nodes[(owner+1)%len(cluster.Nodes)]
	from, to = cluster.Nodes[owner].Client(t), target.Client(t)
	fromID, toID := from.Do(ctx, "cluster", "myid").String(), to.Do(ctx, "cluster", "myid").String()
	fromID, toID = fromID[strings.LastIndex(fromID, " ")+1:], toID[strings.LastIndex(toID, " ")+1:]
	do := func(client *redis.Client, args ...any) {
		t.Helper()
		if err := client.Do(ctx, args...).Err(); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
	}
	do(to, "cluster", "setslot", slot, "importing", fromID)
	do(from, "cluster", "setslot", slot, "migrating", toID)
	host, port, _ := strings.Cut(target.Addr(), ":")
	for {
		keys, err := from.ClusterGetKeysInSlot(ctx, int(slot), 1).Result()
		if err != nil {
			t.Fatal(err)
		}
		if len(keys) == 0 {
			break
		}
		do(from, "migrate", host, port, keys[0], 0, 5000)
	}
	for _, node := range cluster.Nodes {
		do(node.Client(t), "cluster", "setslot", slot, "node", toID)
	}
	return from, to
}

// A node that is gone keeps only the timers of its own shards from being read.
func TestDueBesideANodeThatIsGone(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, "--cluster-require-full-coverage", "no")
	s := open(t, redisstore.Config{URL: cluster.URL()})
	now := time.Now()
	set := map[int]bool{}
	for i := 0; len(set) < s.Shards(); i++ {
		due := store.Timer{TimerID: store.TimerID{Key: key(strconv.Itoa(i)), Name: "t"}, Due: now}
		if _, err := s.Commit(t.Context(), store.Batch{SetTimers: []store.Timer{due}}); err != nil {
			t.Fatal(err)
		}
		set[due.Key.Shard(s.Shards())] = true
	}
	all, err := s.Due(t.Context(), now, 1, "run")
	if err != nil || len(all) != s.Shards() {
		t.Fatalf("%d timers of %d shards, %v", len(all), s.Shards(), err)
	}
	cluster.Nodes[1].Kill()
	some, err := s.Due(t.Context(), now, 1, "run")
	if !errors.Is(err, store.ErrUnavailable) || len(some) < s.Shards()/3 || len(some) >= s.Shards() {
		t.Errorf("%d timers of %d shards without one node of 3, %v", len(some), s.Shards(), err)
	}
}
