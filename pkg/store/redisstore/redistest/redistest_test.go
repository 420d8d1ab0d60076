package redistest_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
)

func TestKilledServerKeepsItsData(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client(t)
	if err := client.Set(t.Context(), "key", "value", 0).Err(); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if err := client.Ping(t.Context()).Err(); err == nil {
		t.Error("a killed server answers")
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	if got, err := client.Get(t.Context(), "key").Result(); got != "value" || err != nil {
		t.Errorf("after a restart the value is %q, %v", got, err)
	}
}

func TestClusterServesAllSlots(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: cluster.Addrs()[:1]})
	t.Cleanup(func() { _ = client.Close() })
	owners := map[string]bool{}
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		if err := client.Set(t.Context(), key, "value", 0).Err(); err != nil {
			t.Fatal(err)
		}
		owner, err := client.MasterForKey(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		owners[owner.Options().Addr] = true
	}
	if len(owners) != 3 {
		t.Errorf("the keys live on %d nodes, not 3", len(owners))
	}
}
