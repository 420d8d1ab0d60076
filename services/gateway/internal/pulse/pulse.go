package pulse

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/interlock-run/interlock/pkg/bus"
)

const (
	// replayed is how many events of the past are read at the first request.
	replayed = 200_000
	// looked is how long after the last look events are still followed.
	looked = 30 * time.Minute
	// mostNamespaces are kept.
	mostNamespaces = 1000
	// retry is how long a reader that failed waits.
	retry = 2 * time.Second
)

// Pulse follows events while there are requests.
type Pulse struct {
	open func() (jetstream.JetStream, error)
	log  *slog.Logger
	now  func() time.Time

	mu     sync.Mutex
	boards map[string]*Board
	// asked is the time of the last request, and stop ends the reader that runs.
	asked  time.Time
	stop   context.CancelFunc
	behind bool // it has not read yet the events from before its start
	ended  sync.WaitGroup
	closed bool
}

// New follows the events of a stream that open connects to, from the first look on.
func New(open func() (jetstream.JetStream, error), log *slog.Logger) *Pulse {
	return &Pulse{open: open, log: log, now: time.Now, boards: map[string]*Board{}}
}

// Close stops the reader.
func (p *Pulse) Close() {
	p.mu.Lock()
	p.closed = true
	p.end()
	p.mu.Unlock()
	p.ended.Wait()
}

// end stops the reader that runs; mu is held.
func (p *Pulse) end() {
	if p.stop != nil {
		p.stop()
		p.stop = nil
	}
}

// Look shows the board of a namespace. complete is false until all that was there at the
// first look has been read.
func (p *Pulse) Look(namespace string, at func(b *Board, now time.Time)) (complete bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	p.asked = now
	if p.stop == nil && !p.closed {
		p.begin()
	}
	b := p.boards[namespace]
	if b == nil {
		b = NewBoard()
	}
	at(b, now)
	return !p.behind
}

// Since returns the time of the first event that the board knows; the zero time for none.
func (b *Board) Since() time.Time { return b.since }

// Sealed returns when decisions were sealed last, as far as the board knows.
func (b *Board) Sealed() time.Time { return b.sealed }

// CoverageOf returns the parts that runs of a version of a workflow have used.
func (b *Board) CoverageOf(workflow string, number int64) Coverage {
	if c := b.taken[version{workflow, number}]; c != nil {
		return *c
	}
	return Coverage{}
}

// begin starts a reader; mu is held.
func (p *Pulse) begin() {
	ctx, stop := context.WithCancel(context.Background())
	p.stop, p.behind, p.boards = stop, true, map[string]*Board{}
	p.ended.Go(func() {
		for ctx.Err() == nil {
			err := p.follow(ctx)
			if ctx.Err() != nil {
				return
			}
			p.log.Warn("the board does not follow events", "error", err, "retry_in", retry.String())
			select {
			case <-time.After(retry):
			case <-ctx.Done():
			}
		}
	})
}

// follow reads events until ctx ends, requests stop, or it fails.
func (p *Pulse) follow(ctx context.Context) error {
	js, err := p.open()
	if err != nil {
		return err
	}
	last, err := newest(ctx, js)
	if err != nil {
		return err
	}
	watcher, err := bus.Watch(ctx, js, bus.WatchConfig{Subjects: []string{bus.Root + ".>"}, Last: replayed, Log: p.log})
	if err != nil {
		return err
	}
	defer watcher.Stop()
	p.restart(last == 0)
	for {
		m, err := p.next(ctx, watcher)
		if err != nil {
			return err
		}
		p.take(m, m.Seq == 0 || m.Seq >= last)
		if p.idle() {
			return nil
		}
	}
}

// next returns the next event, or none for a while.
func (p *Pulse) next(ctx context.Context, watcher *bus.Watcher) (bus.Message, error) {
	wait, cancel := context.WithTimeout(ctx, looked/10)
	defer cancel()
	m, err := watcher.Next(wait)
	if err != nil && ctx.Err() == nil {
		return bus.Message{}, nil // it is only quiet
	}
	return m, err
}

// restart drops the events of an earlier reader: the next one begins in the past.
func (p *Pulse) restart(complete bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.boards, p.behind = map[string]*Board{}, !complete
}

// take puts an event on its board, if there is one.
func (p *Pulse) take(m bus.Message, caughtUp bool) {
	e, err := decode(m.Payload)
	p.mu.Lock()
	defer p.mu.Unlock()
	if caughtUp {
		p.behind = false
	}
	if err != nil {
		return // there was none, or it is not ours
	}
	b := p.boards[e.Namespace]
	if b == nil {
		if len(p.boards) >= mostNamespaces {
			return
		}
		b = NewBoard()
		p.boards[e.Namespace] = b
	}
	b.Apply(e)
	b.Stored(e.Time, m.Time)
}

// idle reports whether there was no request for long, and ends the reader then.
func (p *Pulse) idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now().Sub(p.asked) <= looked {
		return false
	}
	p.end()
	p.boards = map[string]*Board{}
	return true
}

// newest returns the last sequence of the stream, 0 for none.
func newest(ctx context.Context, js jetstream.JetStream) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	stream, err := js.Stream(ctx, bus.DefaultStream)
	if err != nil {
		return 0, fmt.Errorf("look for the stream of events: %w", err)
	}
	return stream.CachedInfo().State.LastSeq, nil
}
