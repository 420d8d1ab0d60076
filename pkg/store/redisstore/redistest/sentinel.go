package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Guarded is a server with a replica, and a sentinel that promotes it where a test asks for
// that (Promoted, Swap).
type Guarded struct {
	// Master and Replica are so at the beginning.
	Master, Replica *Server
	sentinel        *Server
}

// A sentinel that is calm takes no server for dead, however slow the machine is. One that watches
// promotes the replica of a master that does not answer.
const calm, watching = time.Hour, time.Second

// soon lets a replica not wait for others to copy the data with.
var soon = []string{"--repl-diskless-sync-delay", "0"}

// StartGuarded starts the three of them for a test, and stops them when the test ends.
func StartGuarded(tb testing.TB) *Guarded {
	tb.Helper()
	g := &Guarded{Master: Start(tb, soon...)}
	host, port, _ := strings.Cut(g.Master.Addr(), ":")
	g.Replica = Start(tb, append(slices.Clone(soon), "--replicaof", host+" "+port)...)
	file := filepath.Join(tb.TempDir(), "sentinel.conf") // a sentinel writes to it
	monitor := fmt.Sprintf("sentinel monitor main %s %s 1\nsentinel down-after-milliseconds main %d\nsentinel failover-timeout main 1500\n", host, port, calm.Milliseconds())
	err := errors.Join(os.WriteFile(file, []byte(monitor), 0o600), g.Replica.awaits("master_link_status:up"))
	if err != nil {
		tb.Fatal(err)
	}
	g.sentinel = &Server{dir: tb.TempDir(), config: file}
	if err := g.sentinel.startAnywhere(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(g.sentinel.Kill)
	if err := g.Settle(); err != nil {
		tb.Fatal(err)
	}
	return g
}

// URL returns the address of the present master, as redisstore takes it.
func (g *Guarded) URL() string { return "redis+sentinel://" + g.sentinel.Addr() + "/main/0" }

// Promoted lets the sentinel watch until it has made the replica the master.
func (g *Guarded) Promoted() error {
	downAfter := func(d time.Duration) error {
		return g.sentinel.until("the sentinel takes its settings", func(ctx context.Context, client *redis.Client) bool {
			return client.Do(ctx, "sentinel", "set", "main", "down-after-milliseconds", d.Milliseconds()).Err() == nil
		})
	}
	if err := downAfter(watching); err != nil {
		return err
	}
	return errors.Join(g.sentinel.until("the replica is promoted", func(ctx context.Context, client *redis.Client) bool {
		return g.masterIs(ctx, client, g.Replica)
	}), downAfter(calm))
}

// Settle waits until the sentinel knows both servers as healthy, and labels them as it does.
func (g *Guarded) Settle() error {
	return g.sentinel.until("both servers are healthy", func(ctx context.Context, client *redis.Client) bool {
		g.relabel(ctx, client)
		return g.healthy(ctx, client)
	})
}

func (g *Guarded) masterIs(ctx context.Context, client *redis.Client, server *Server) bool {
	master, err := client.Do(ctx, "sentinel", "get-master-addr-by-name", "main").StringSlice()
	return err == nil && net.JoinHostPort(master[0], master[1]) == server.Addr()
}

// Swap makes the former master, which runs or not, the replica of the other server, as the
// sentinel does in its own time, and swaps their names. Both can fail over once
// more.
func (g *Guarded) Swap() error {
	if err := g.Promoted(); err != nil {
		return err
	}
	g.Master, g.Replica = g.Replica, g.Master
	if !g.Replica.running() {
		return g.RestartReplica()
	}
	return g.follow()
}

// RestartReplica starts the replica that was killed. It knows its master, as a server does
// whose file of settings a sentinel has written.
func (g *Guarded) RestartReplica() error {
	host, port, _ := strings.Cut(g.Master.Addr(), ":")
	g.Replica.settings = append(slices.Clone(soon), "--replicaof", host+" "+port)
	if err := g.Replica.Restart(); err != nil {
		return err
	}
	return g.follow()
}

// follow waits until the replica has all that the master has, and reports which that is:
// on a machine that is busy, the sentinel may have changed its mind.
func (g *Guarded) follow() error {
	return g.sentinel.until("the replica follows", func(ctx context.Context, client *redis.Client) bool {
		g.relabel(ctx, client)
		replica := redis.NewClient(&redis.Options{Addr: g.Replica.Addr(), Protocol: 2, DisableIdentity: true})
		defer func() { _ = replica.Close() }()
		info, err := replica.Info(ctx, "replication").Result()
		if err == nil && strings.Contains(info, "master_link_status:up") {
			return g.healthy(ctx, client)
		}
		host, port, _ := strings.Cut(g.Master.Addr(), ":")
		_ = replica.Do(ctx, "replicaof", host, port) // the command is repeated
		return false
	})
}

// relabel gives the servers the roles that the sentinel sees.
func (g *Guarded) relabel(ctx context.Context, client *redis.Client) {
	if g.masterIs(ctx, client, g.Replica) {
		g.Master, g.Replica = g.Replica, g.Master
	}
}

// healthy reports whether the sentinel sees the roles of master and replica correctly.
func (g *Guarded) healthy(ctx context.Context, client *redis.Client) bool {
	known, err := client.Do(ctx, "sentinel", "replicas", "main").Slice()
	if err != nil || len(known) != 1 || !g.masterIs(ctx, client, g.Master) {
		return false
	}
	said := fmt.Sprint(known[0])
	return strings.Contains(said, g.Replica.Addr()) && strings.Contains(said, "flags slave ")
}

// awaits waits until the server says so of its replication.
func (s *Server) awaits(what string) error {
	return s.until(what, func(ctx context.Context, client *redis.Client) bool {
		info, err := client.Info(ctx, "replication").Result()
		return err == nil && strings.Contains(info, what)
	})
}

func (s *Server) until(what string, is func(context.Context, *redis.Client) bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client := redis.NewClient(&redis.Options{Addr: s.Addr(), Protocol: 2, DisableIdentity: true})
	defer func() { _ = client.Close() }()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for !is(ctx, client) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("redistest: %s: waited %s in vain for %q", s.Addr(), patience, what)
		case <-poll.C:
		}
	}
	return nil
}
