// Package redisstore keeps a store in Redis, or a compatible server, from version 7.0 on:
// a single server, or one behind Sentinel. It refuses a server in cluster mode.
//
// A commit is one Lua script, so it is atomic and isolated; concurrent commits
// are coalesced into one call of it.
//
// It must never say that a commit is done before it is on disk: the server has to sync its
// append-only file with every write, and Open refuses one that does not. It must never repeat a
// commit whose answer was lost, for that might apply it twice. A failover to a replica can lose
// writes that the replica had not received, unless Config.Wait asks for its confirmation. A server
// that has gone back in time is noticed, see era.go, and reads of the lost history are not
// committed on.
//
// Counters are exact up to MaxUnits.
package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/interlock-run/interlock/pkg/store"
)

// MaxUnits is how far a counter counts, 2^53: the scripts' numbers are exact up
// to there. A Delta that would exceed it is refused as one that exceeds a limit.
const MaxUnits = 1 << 53

// Store is a store in Redis.
type Store struct {
	db *redis.Client
	// tails has connections that wait, so that no other call waits for them.
	tails    *redis.Client
	shards   int
	prefixes []string
	lane     *lane
	turn     atomic.Uint64 // of Tail, see positions
	clock    func() time.Time
	config   Config

	gate  *store.Gate
	place place
	// probe looks at the era of the server; look asks to look now.
	probe *redis.Client
	look  chan chan struct{}

	mu      sync.RWMutex
	closed  bool
	calls   sync.WaitGroup // of callers
	work    sync.WaitGroup // that callers left behind
	closing chan struct{}
}

var _ store.Store = (*Store)(nil)

// Open connects to a store, and makes it when there is none. It refuses a server
// that could lose acknowledged commits unless Config.AllowLossy is set.
func Open(ctx context.Context, config Config) (*Store, error) {
	s, err := openStore(ctx, config)
	if err != nil {
		return nil, err
	}
	f, err := eras(ctx, s.probe, s.place.key, "look", sight{}, "")
	if err != nil {
		return nil, errors.Join(readError(ctx, "open", err), s.Close())
	}
	if f.lost != "" {
		s.lose(ctx, f.lost)
	}
	s.place.turn(sight{}, (&eraWatcher{s}).trusted(f.sight))
	s.work.Go((&eraWatcher{s}).watchEras)
	return s, nil
}

func openStore(ctx context.Context, config Config) (*Store, error) {
	if err := config.fill(); err != nil {
		return nil, err
	}
	options, err := config.options()
	if err != nil {
		return nil, err
	}
	quiet()
	probing := *options
	probing.PoolSize = 1 // and no other use may take it
	probe := connect(&probing)
	shards, err := prepare(ctx, probe, &config)
	if err != nil {
		return nil, errors.Join(err, probe.Close())
	}
	s := &Store{
		probe: probe, config: config, gate: store.NewGate(), look: make(chan chan struct{}),
		shards: shards, prefixes: shardPrefixes(config.Prefix, shards), clock: config.Clock, closing: make(chan struct{}),
	}
	s.place.key = eraOf(&config)
	s.lane = &lane{send: s.send, work: &s.work, flights: config.Flights, measure: config.Measure}
	options.OnConnect = s.meet
	s.db, s.tails = connect(options), connect(options)
	return s, nil
}

// quiet makes the client library silent, for the whole process: it would print to
// standard error errors that it also returns.
var quiet = sync.OnceFunc(logging.Disable)

// Shards returns the number of shards, fixed when the store was first opened.
func (s *Store) Shards() int { return s.shards }

// Ping returns nil when the store can be reached.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.end()
	if err := s.db.Ping(ctx).Err(); err != nil {
		return readError(ctx, "ping", err)
	}
	return nil
}

// Bytes returns the memory that Redis uses, all of its databases together: see
// store.Sized.
func (s *Store) Bytes(ctx context.Context) (int64, error) {
	used, _, err := s.memory(ctx)
	return used, err
}

// Room returns the bytes left below the maxmemory of the server; it is not known where that is
// not set.
func (s *Store) Room(ctx context.Context) (room int64, known bool, err error) {
	used, most, err := s.memory(ctx)
	if err != nil || most <= 0 {
		return 0, false, err
	}
	return most - used, true, nil
}

// memory returns the bytes that the server uses, and its maxmemory.
func (s *Store) memory(ctx context.Context) (used, most int64, err error) {
	info, err := s.db.InfoMap(ctx, "memory").Result()
	if err != nil {
		return 0, 0, readError(ctx, "info", err)
	}
	used, err = strconv.ParseInt(info["Memory"]["used_memory"], 10, 64)
	most, bad := strconv.ParseInt(info["Memory"]["maxmemory"], 10, 64)
	if err := errors.Join(err, bad); err != nil {
		return 0, 0, fmt.Errorf("redisstore: the server's memory: %w", err)
	}
	return used, most, nil
}

// Close releases the store. Commits under way finish first, and callers that wait in Tail
// get no entries.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.closing)
	s.mu.Unlock()
	s.calls.Wait()
	err := s.tails.Close()
	s.work.Wait()
	err = errors.Join(err, s.db.Close(), s.probe.Close())
	if err != nil {
		return fmt.Errorf("redisstore: close: %w", err)
	}
	return nil
}

// begin counts a caller, unless its context has ended or the store is closed.
func (s *Store) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("redisstore: %w", err)
	}
	if err := s.gate.Pass(ctx); err != nil {
		return fmt.Errorf("redisstore: %w", err)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return fmt.Errorf("redisstore: %w", errClosed)
	}
	s.calls.Add(1)
	return nil
}

func (s *Store) end() { s.calls.Done() }

// now returns the time for a script: empty for the server's own.
func (s *Store) now() string {
	if s.clock == nil {
		return ""
	}
	return strconv.FormatInt(s.clock().UnixMicro(), 10)
}

func (s *Store) checkShard(shard int) error {
	if shard < 0 || shard >= s.shards {
		return fmt.Errorf("redisstore: there is no shard %d; the store has 0 to %d", shard, s.shards-1)
	}
	return nil
}
