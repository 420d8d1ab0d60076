package redistest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Slots is the number of hash slots of a Redis Cluster.
const Slots = 16384

// Cluster is a Redis Cluster of masters without replicas.
type Cluster struct {
	Nodes []*Server
}

// StartCluster starts a cluster of three nodes for a test, and stops it when the
// test ends.
func StartCluster(tb testing.TB, settings ...string) *Cluster {
	tb.Helper()
	needsServer(tb)
	cluster, err := LaunchCluster(tb.TempDir(), 3, settings...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(cluster.Kill)
	return cluster
}

// LaunchCluster starts a cluster of a number of masters, with its files in dir. The caller
// kills it.
func LaunchCluster(dir string, nodes int, settings ...string) (*Cluster, error) {
	cluster := &Cluster{}
	for i := range nodes {
		home := filepath.Join(dir, fmt.Sprintf("node%d", i))
		if err := os.Mkdir(home, 0o700); err != nil {
			cluster.Kill()
			return nil, fmt.Errorf("redistest: %w", err)
		}
		node, err := boot(home, true, settings)
		if err != nil {
			cluster.Kill()
			return nil, err
		}
		cluster.Nodes = append(cluster.Nodes, node)
	}
	if err := cluster.form(); err != nil {
		cluster.Kill()
		return nil, fmt.Errorf("redistest: form a cluster: %w", err)
	}
	return cluster, nil
}

// URL returns the cluster's address as redisstore takes it.
func (c *Cluster) URL() string { return "redis+cluster://" + strings.Join(c.Addrs(), ",") }

// Addrs returns the host and port of every node.
func (c *Cluster) Addrs() []string {
	addrs := make([]string, 0, len(c.Nodes))
	for _, node := range c.Nodes {
		addrs = append(addrs, node.Addr())
	}
	return addrs
}

// Kill ends all nodes at once.
func (c *Cluster) Kill() {
	for _, node := range c.Nodes {
		node.Kill()
	}
}

// form gives every node its share of the slots, introduces the nodes to each
// other and waits until all agree.
func (c *Cluster) form() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	clients := make([]*redis.Client, 0, len(c.Nodes))
	for _, node := range c.Nodes {
		client := redis.NewClient(&redis.Options{Addr: node.Addr(), Protocol: 2, DisableIdentity: true})
		defer func() { _ = client.Close() }()
		clients = append(clients, client)
	}
	for i, client := range clients {
		first, last := i*Slots/len(clients), (i+1)*Slots/len(clients)-1
		if err := client.ClusterAddSlotsRange(ctx, first, last).Err(); err != nil {
			return err
		}
		if err := client.Do(ctx, "cluster", "set-config-epoch", i+1).Err(); err != nil {
			return err
		}
	}
	for _, other := range c.Nodes[1:] {
		if err := clients[0].Do(ctx, "cluster", "meet", "127.0.0.1", other.port, other.busPort).Err(); err != nil {
			return err
		}
	}
	for _, client := range clients {
		if err := c.wait(ctx, client); err != nil {
			return err
		}
	}
	return nil
}

// wait returns when a node knows all the others and serves all slots.
func (c *Cluster) wait(ctx context.Context, client *redis.Client) error {
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for {
		info, err := client.ClusterInfo(ctx).Result()
		if err != nil {
			return err
		}
		if strings.Contains(info, "cluster_state:ok") && strings.Contains(info, fmt.Sprintf("cluster_slots_ok:%d", Slots)) &&
			strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d\r", len(c.Nodes))) {
			return nil
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: the nodes do not agree: %s", ctx.Err(), info)
		}
	}
}
