package sqlitestore

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/interlock-run/interlock/pkg/store"
)

// maxGroup is the most that one transaction carries: it bounds how long the
// first of a group waits for the last.
const maxGroup = 512

// request is one write that waits for its answer.
type request struct {
	// apply makes the change within the group's transaction. It may be called
	// again after a rollback.
	apply func(w *writer) error
	done  chan error
	// taken is set by the first of two: the writer to apply the request, or
	// its caller to withdraw it.
	taken atomic.Bool
	err   error
}

// writer is the only one who writes. All fields but queue and broken belong to
// its goroutine.
type writer struct {
	conn  *conn
	clock func() time.Time
	// measure is notified of each group.
	measure func(commits, waiting int)
	queue   queue
	ended   chan struct{}
	// broken is set when the disk failed in a way that leaves its content unknown. No
	// call is answered from then on.
	broken atomic.Pointer[error]
	// failing is why the last transaction failed, nil when it did not.
	failing atomic.Pointer[error]
	reserve *reserve

	statements
	cache *cache
	// pending are written before the transaction is committed.
	pending pending
	heads   *heads
	quiet   *quiet
	// era is the id of the era, and floor its least fencing token.
	era   string
	floor int64
	// nextPurge is when to look for expired answers again, in microseconds.
	nextPurge int64
}

// queue holds the requests that wait. Its length is bounded by the callers, who
// wait for their answers.
type queue struct {
	mu      sync.Mutex
	arrival sync.Cond
	waiting []*request
	closed  bool
}

func (q *queue) push(r *request) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return errClosed
	}
	q.waiting = append(q.waiting, r)
	q.arrival.Signal()
	return nil
}

// take waits for requests and appends them to group, and counts those that still wait;
// none are left when the queue is closed.
func (q *queue) take(group []*request) (taken []*request, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) == 0 && !q.closed {
		q.arrival.Wait()
	}
	n := min(len(q.waiting), maxGroup)
	group = append(group, q.waiting[:n]...)
	rest := copy(q.waiting, q.waiting[n:])
	clear(q.waiting[rest:])
	q.waiting = q.waiting[:rest]
	return group, rest
}

func (q *queue) shut() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.arrival.Broadcast()
}

// write hands a change to the writer and waits until it is durable.
func (s *Store) write(ctx context.Context, apply func(w *writer) error) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	r := &request{apply: apply, done: make(chan error, 1)}
	if err := s.writer.queue.push(r); err != nil {
		return err
	}
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
	}
	if r.taken.CompareAndSwap(false, true) {
		return ctx.Err()
	}
	late := time.NewTimer(s.grace)
	defer late.Stop()
	select {
	case err := <-r.done:
		return err
	case <-late.C:
		return fmt.Errorf("%w: %w", store.ErrUncertain, ctx.Err())
	}
}

// start starts the writer's goroutine.
func (w *writer) start() {
	w.queue.arrival.L = &w.queue.mu
	w.ended = make(chan struct{})
	go func() {
		defer close(w.ended)
		var group []*request
		for {
			// Callers that were just answered may have more to write: let them,
			// so that they share a transaction.
			runtime.Gosched()
			var waiting int
			group, waiting = w.queue.take(group[:0])
			if len(group) == 0 {
				return
			}
			w.measure(len(group), waiting)
			w.serve(group)
			clear(group)
		}
	}()
}

// stop lets the writer finish waiting commits, and waits for it.
func (w *writer) stop() {
	w.queue.shut()
	<-w.ended
}

// serve applies a group of requests and answers them.
func (w *writer) serve(group []*request) {
	live := group[:0]
	for _, r := range group {
		if r.taken.CompareAndSwap(false, true) {
			live = append(live, r)
		}
	}
	err := w.transact(live)
	if full(err) && w.reserve.free() {
		err = w.transact(live)
	}
	if err != nil && len(live) > 1 && w.broken.Load() == nil {
		// One of them may be to blame, as when it does not fit on the disk.
		for _, r := range live {
			if err := w.transact([]*request{r}); err != nil {
				r.err = err
			}
		}
	} else if err != nil {
		for _, r := range live {
			r.err = err
		}
	}
	for _, r := range live {
		r.done <- r.err
	}
}

// transact applies requests in one transaction. Its error is about all of them;
// each request's own is in the request.
func (w *writer) transact(group []*request) error {
	if err := w.broken.Load(); err != nil {
		return *err
	}
	if len(group) == 0 {
		return nil
	}
	if err := w.begin.run(); err != nil {
		return w.abandon(unavailable("beginning a transaction", err))
	}
	for _, r := range group {
		if r.err = r.apply(w); failed(r.err) {
			return w.abandon(unavailable("writing", r.err))
		}
	}
	if err := w.finish(); err != nil {
		return w.abandon(unavailable("writing", err))
	}
	if err := w.commitGroup.run(); err != nil {
		return w.commitFailed(err)
	}
	w.quiet.publish()
	w.heads.publish()
	w.failing.Store(nil)
	return nil
}

// finish writes the parts that a group leaves to be written once.
func (w *writer) finish() error {
	for shard, seq := range w.heads.moved() {
		if err := w.setHead.run(seq, int64(shard)); err != nil {
			return fail("storing a sequence number", err)
		}
	}
	if err := w.flush(); err != nil {
		return err
	}
	return w.purgeAnswers(micros(w.clock()))
}

// commitFailed interprets a failed COMMIT. A full disk is found out before the
// transaction is marked as complete, so no commit was applied. After any other failure
// the log may hold the transaction or not, and the next to open the file decides: until
// then no call may be answered.
func (w *writer) commitFailed(err error) error {
	if code(err) == sqlite3.SQLITE_FULL {
		return w.abandon(unavailable("committing", err))
	}
	broken := fmt.Errorf("%w: %w: the disk failed during an earlier commit: check it, then start again", store.ErrUnavailable, store.ErrBroken)
	w.broken.Store(&broken)
	return w.abandon(fmt.Errorf("%w: committing: %w", store.ErrUncertain, explain(err)))
}

// abandon rolls back and returns why.
func (w *writer) abandon(why error) error {
	w.failing.Store(&why)
	w.cache.clear()
	w.pending.clear()
	w.heads.revert()
	w.quiet.revert()
	// SQLite has rolled back by itself after some errors: then there is no
	// transaction any more and this one fails. If it fails otherwise, so will
	// the next BEGIN, with a clear error.
	_ = w.rollback.run()
	return why
}

func unavailable(doing string, err error) error {
	return fmt.Errorf("%w: %s: %w", store.ErrUnavailable, doing, explain(err))
}

// now returns the time on the store's clock, in microseconds.
func (w *writer) now() int64 { return micros(w.clock()) }
