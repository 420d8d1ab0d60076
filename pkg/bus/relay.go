package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

// Limits of the entries that a relay holds in memory before it reads more of the outbox.
const (
	tailLimit       = 512
	maxBufferEvents = 4096
	maxBufferBytes  = 16 << 20
	tailWait        = 30 * time.Second
)

// Relay carries the store's outbox to the stream.
//
// A shard is relayed by the one process that holds its lease; processes that run
// a relay over one store share the shards. Within a shard, events of one
// namespace and id are published one after the other, each when NATS has
// acknowledged the one before, so that the stream never holds an event without
// the earlier ones of its entity; others go side by side.
//
// NATS acknowledges before it syncs. So entries stay in the outbox for Config.Grace after
// the acknowledgement, and are trimmed only when the stream proves that it still has the
// entries that it acknowledged. After any error the connection is dropped, and a new one
// is used only when the stream has proved the same; otherwise the relay begins again at
// the first retained entry of the outbox, and JetStream drops duplicates. If the stream
// was away for longer than its duplicate window, the relay reads it to find its entries.
//
// A relay whose lease lapsed unnoticed does no harm: it publishes each event after the
// events before it, and JetStream drops the second copy.
type Relay struct {
	store store.Store
	cfg   Config
	m     *metrics
	log   *slog.Logger

	mu     sync.Mutex
	shards map[int]*shard
	// session is the verified connection, nil while there is none.
	session *session
	// offline is since when there is none.
	offline time.Time
	// failure is why the last session ended, until the stream takes something again.
	failure error
	// ready holds queues that may publish, first come first served.
	ready []*queue
	// buffered counts entries that were read and are not acknowledged.
	buffered, bufferedBytes int
	// high is the newest message in the stream that is known to be there.
	high position
	// created is when the stream was created, to notice another of its name.
	created time.Time
	// left has the last acknowledged entry of each shard that this relay has given up.
	left map[int]int64
	// waits is the count of entries that wait in the outbox.
	waits waiting
	// lost requires that the next session begins at the first retained entry.
	lost bool
	// expires is when the store is next informed of the entries that it need not keep.
	expires time.Time
	// stopTail ends the wait for new entries, when the shards have changed.
	stopTail context.CancelFunc
	// space wakes the reader when the buffer has room, or there are shards.
	space chan struct{}
	// regroup wakes the lease loop.
	regroup chan struct{}
}

// position is a message in the stream.
type position struct {
	seq uint64
	id  string
}

// NewRelay makes a relay over a store; Run starts it. An error is a mistake in
// the configuration.
func NewRelay(st store.Store, cfg Config) (*Relay, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	m, err := newMetrics(cfg.Registerer)
	if err != nil {
		return nil, err
	}
	return &Relay{
		store:   st,
		cfg:     cfg,
		m:       m,
		log:     cfg.Log.With("component", "relay", "holder", cfg.Holder),
		shards:  make(map[int]*shard),
		left:    make(map[int]int64),
		space:   make(chan struct{}, 1),
		regroup: make(chan struct{}, 1),
	}, nil
}

// Run relays until ctx ends, through all failures of NATS and the store, and
// then gives up its leases and returns nil.
func (r *Relay) Run(ctx context.Context) error {
	r.store.Gate().OnTurn(r.beginAgain)
	var wg sync.WaitGroup
	wg.Go(func() { r.keepLeases(ctx) })
	const shortest, longest = 50 * time.Millisecond, 5 * time.Second
	pause := shortest
	for ctx.Err() == nil {
		useful, err := r.serve(ctx)
		if ctx.Err() != nil {
			break
		}
		r.m.failures.Inc()
		if useful {
			pause = shortest
		}
		r.log.Warn("relay connection given up", "error", err, "retry_in", pause)
		r.report(err)
		if r.cfg.Reopen != nil && !errors.Is(err, errLost) {
			r.reopen()
		}
		wait(ctx, pause/2+rand.N(pause/2+1)) // jitter needs no secrecy
		pause = min(2*pause, longest)
	}
	wg.Wait()
	return nil
}

// beginAgain drops all shards, to take them anew from the first retained entry of the
// outbox: the store's history may have gone back, and then the next entries have sequence
// numbers that were read already.
func (r *Relay) beginAgain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, sh := range r.shards {
		r.drop(sh)
	}
	clear(r.left) // NATS had entries of another history
	r.askRegroup()
}

// reopen opens the server's files anew. Acknowledged entries may be missing: all retained
// entries are published again, and JetStream drops duplicates.
func (r *Relay) reopen() {
	r.m.reopens.Inc()
	r.mu.Lock()
	r.lost = true
	r.mu.Unlock()
	if err := r.cfg.Reopen(); err != nil {
		r.log.Error("the event stream's files cannot be opened again", "error", err)
		r.report(err)
	}
}

// report keeps the error of a stream that takes no entries; nil when it does.
func (r *Relay) report(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failure = err
}

// Health returns nil while the stream takes events, else why it does not.
func (r *Relay) Health() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failure == nil && r.session == nil {
		return errors.New("the event stream is not connected yet")
	}
	return r.failure
}

// serve opens a connection, verifies the stream and relays until something
// fails. It returns whether the stream took anything new.
func (r *Relay) serve(ctx context.Context) (useful bool, err error) {
	s, err := r.open(ctx)
	if err != nil {
		return false, err
	}
	defer s.close()
	if err := r.adopt(ctx, s); err != nil {
		return false, err
	}
	reading, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { r.readOutbox(reading, s) })
	defer func() {
		useful = r.abandon(s)
		stop()
		wg.Wait()
	}()
	tick := time.NewTicker(min(max(r.cfg.Grace/8, 10*time.Millisecond), r.cfg.AckTimeout/4, time.Second))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, nil
		case err := <-s.failed:
			return false, err
		case <-tick.C:
			if err := r.check(s); err != nil {
				return false, err
			}
			if err := r.trim(ctx, s); err != nil {
				return false, err
			}
			if err := r.attest(ctx, s); err != nil {
				return false, err
			}
			r.expire(ctx)
		}
	}
}

// abandon ends a session: later acknowledgements are ignored. It returns whether the
// session was of use.
func (r *Relay) abandon(s *session) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.session == s {
		r.session = nil
		r.offline = time.Now()
		r.m.connected.Set(0)
	}
	for _, e := range s.flights {
		e.end("the connection was given up")
	}
	return s.useful
}

// readOutbox reads the shards' new entries for as long as the session lasts.
func (r *Relay) readOutbox(ctx context.Context, s *session) {
	pause := 10 * time.Millisecond
	for {
		after, owners, tailCtx, cancel := r.cursors(ctx)
		if len(after) == 0 {
			select {
			case <-ctx.Done():
				return
			case <-r.space:
			}
			continue
		}
		entries, err := r.store.Tail(tailCtx, after, tailLimit, tailWait)
		interrupted := tailCtx.Err() != nil
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !interrupted:
			r.log.Warn("outbox not readable", "error", err, "retry_in", pause)
			wait(ctx, pause)
			pause = min(2*pause, 2*time.Second)
			continue
		case err != nil:
			continue
		}
		pause = 10 * time.Millisecond
		if len(entries) == 0 {
			continue
		}
		for i := range entries {
			entries[i].ID = wireID(&entries[i])
		}
		known := s.known(ctx, entries)
		r.mu.Lock()
		if r.session == s {
			r.take(entries, owners, known)
			r.pump()
		}
		r.mu.Unlock()
	}
}

// cursors returns where to read on, per shard, for whom, and the context to read with,
// which ends when the shards change. None when there is no shard or no room.
func (r *Relay) cursors(ctx context.Context) (map[int]int64, map[int]*shard, context.Context, context.CancelFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.shards) == 0 || r.full() {
		return nil, nil, nil, nil
	}
	after := make(map[int]int64, len(r.shards))
	for n, sh := range r.shards {
		after[n] = sh.read
	}
	tailCtx, cancel := context.WithCancel(ctx)
	r.stopTail = cancel
	return after, maps.Clone(r.shards), tailCtx, cancel
}

// full reports whether the buffer is; r.mu is held.
func (r *Relay) full() bool {
	return r.buffered >= maxBufferEvents || r.bufferedBytes >= maxBufferBytes
}

// wake lets the reader look at the shards and the buffer again.
func (r *Relay) wake() {
	select {
	case r.space <- struct{}{}:
	default:
	}
}

// refresh makes the reader look at the shards again; r.mu is held.
func (r *Relay) refresh() {
	if r.stopTail != nil {
		r.stopTail()
	}
	r.wake()
}

// check fails the session when NATS does not answer in time, and keeps the
// gauges.
func (r *Relay) check(s *session) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for _, e := range s.flights {
		if now.Sub(e.sentAt) > r.cfg.AckTimeout {
			return fmt.Errorf("nats did not acknowledge event %s within %s", e.ID, r.cfg.AckTimeout)
		}
	}
	if r.buffered == 0 && s == r.session {
		r.failure = nil // no entry waits for the stream
	}
	r.m.backlog.Set(float64(r.buffered))
	return nil
}

// wait sleeps until d has passed or ctx has ended.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
