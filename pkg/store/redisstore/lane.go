package redisstore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/interlock-run/interlock/pkg/store"
)

// How much may share one EVALSHA: no more than the server runs in a few milliseconds, for
// it is blocked in between.
const (
	maxBatches = 128
	maxBytes   = 1 << 20
	// earlierBytes is the weight of each of a put's earlier entries next to its own
	// bytes: the server takes as long over one as over a quarter of a commit.
	earlierBytes = 1 << 10
	// fullEnough is how many commits wait before another flight is worth it: the server
	// makes each flight durable by itself, and to share that is worth more than to wait less.
	fullEnough = 64
)

// call is one commit on its way.
type call struct {
	era        string // in which it was decided
	keys, args []string
	size       int
	state      atomic.Int32
	done       chan struct{}
	// Set before done is closed. now is the time of the commit in microseconds.
	now   int64
	reply []any
	err   error
}

// The states of a call.
const (
	waiting int32 = iota
	sent
	abandoned
)

// lane coalesces commits: those that arrive while others are in flight wait and are sent
// together as soon as a flight is back, or when they are many. There is no timer: a
// commit that finds no flight goes at once.
type lane struct {
	send func([]*call)
	// work counts the flights, which may outlast their callers.
	work *sync.WaitGroup
	// flights is how many may be under way at once.
	flights int
	// measure is notified of each.
	measure func(commits, waiting int)

	mu     sync.Mutex
	queue  []*call
	flying int
}

// do sends a call with the others that wait, and returns when it is done or ctx
// ends. A call that was not sent yet is not sent then.
func (l *lane) do(ctx context.Context, c *call) error {
	l.mu.Lock()
	l.queue = append(l.queue, c)
	if l.flying == 0 || l.flying < l.flights && len(l.queue) >= fullEnough {
		l.flying++
		l.work.Go(l.fly)
	}
	l.mu.Unlock()
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
	}
	if c.state.CompareAndSwap(waiting, abandoned) {
		return fmt.Errorf("redisstore: commit was not sent: %w", ctx.Err())
	}
	select {
	case <-c.done:
		return c.err
	default:
		return fmt.Errorf("redisstore: commit is under way: %w: %w", store.ErrUncertain, ctx.Err())
	}
}

// fly sends waiting commits until there are none.
func (l *lane) fly() {
	var calls []*call
	for {
		var queued int
		calls, queued = l.take(calls[:0])
		if len(calls) == 0 {
			return
		}
		l.measure(len(calls), queued)
		l.send(calls)
		for _, c := range calls {
			close(c.done)
		}
		clear(calls)
	}
}

// take moves calls from the queue, and counts those that still wait there. When there are
// none, the flight has ended.
func (l *lane) take(calls []*call) (moved []*call, queued int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken, size := 0, 0
	for _, c := range l.queue {
		if len(calls) == maxBatches || len(calls) > 0 && size+c.size > maxBytes {
			break
		}
		taken++
		if c.state.CompareAndSwap(waiting, sent) {
			calls = append(calls, c)
			size += c.size
		}
	}
	rest := copy(l.queue, l.queue[taken:])
	clear(l.queue[rest:])
	l.queue = l.queue[:rest]
	if len(calls) == 0 {
		l.flying--
	}
	return calls, rest
}
