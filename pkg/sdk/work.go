package sdk

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// Runner is who takes tasks.
type Runner struct {
	// Name is for people. It must not be empty.
	Name string
	// Labels: a task is given to runners that have all of the task's labels.
	Labels map[string]string
	// MaxInFlight is how many tasks it does at a time; 0 for one.
	MaxInFlight int
}

// Work takes tasks and does each with do, in a goroutine of its own, until ctx ends
// or the server refuses; its error says which. It connects again by itself.
//
// A task whose do returns nil is acknowledged: its agent has run and stopped. One
// with an error has failed; when that wraps [ErrNotRun] the task is given to
// another runner. A panic in do is a failure, and continues.
//
// The changes of a finished task to the values of its component are kept (S15.2); where
// they do not conform, or others have changed them too, the task has failed.
//
// The claim on a task is kept as long as do runs. When it is lost, the task's context
// ends with the cause [ErrClaimLost] and the outcome is not reported. When ctx ends the
// contexts of all tasks do; Work waits until every do has returned and its outcome is
// delivered.
func (c *Client) Work(ctx context.Context, r Runner, do func(context.Context, Task) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	w := &worker{client: c, runner: r, do: do, stop: stop, free: make(chan struct{}, max(1, r.MaxInFlight))}
	for range cap(w.free) {
		w.free <- struct{}{}
	}
	for ctx.Err() == nil {
		select {
		case <-w.free:
			places := 1 + w.others()
			w.group.Go(func() { w.fill(ctx, places) })
		case <-ctx.Done():
		}
	}
	w.group.Wait()
	return context.Cause(ctx)
}

// worker takes tasks. It has places for that many at a time, and asks the server to
// fill them by a stream. A task that runs when its stream breaks keeps its place
// until it has ended; the place is then free for another stream.
type worker struct {
	client *Client
	runner Runner
	do     func(context.Context, Task) error
	stop   context.CancelCauseFunc
	group  sync.WaitGroup

	free     chan struct{} // holds the places that no stream has
	failures atomic.Int64  // of streams, in a row
}

// others takes other free tasks.
func (w *worker) others() int {
	for n := 0; ; n++ {
		select {
		case <-w.free:
		default:
			return n
		}
	}
}

// fill has the server fill places, until the stream breaks.
func (w *worker) fill(ctx context.Context, places int) {
	b := &batch{free: w.free, places: places, open: true}
	begun := time.Now()
	err := w.receive(ctx, b)
	if ctx.Err() != nil {
		return
	}
	f := fault.From(err)
	if !transient(f.Reason) {
		w.stop(f)
		return
	}
	if time.Since(begun) > steady {
		w.failures.Store(0)
	}
	w.client.log.LogAttrs(ctx, slog.LevelInfo, "a runner connects again", slog.String("runner", w.runner.Name), slog.Any("error", f))
	if pause(ctx, delay(int(w.failures.Add(1)), f.RetryAfter)) == nil {
		b.freePlaces()
	}
}

// receive starts the tasks of a stream.
func (w *worker) receive(ctx context.Context, b *batch) error {
	var stream grpc.ServerStreamingClient[statev1.ClaimTasksResponse]
	stream, err := w.client.tasks.ClaimTasks(ctx, &statev1.ClaimTasksRequest{
		Runner: w.runner.Name, Labels: w.runner.Labels, MaxInFlight: int32(b.places), // at most 1000, or the server refuses
	})
	if err != nil {
		return err
	}
	for {
		resp, err := stream.Recv()
		if err != nil {
			return broken(err)
		}
		w.failures.Store(0)
		task := taskOf(resp.GetTask())
		b.begin()
		w.group.Go(func() {
			defer b.end()
			w.perform(ctx, task)
		})
	}
}

// perform does a task and says the outcome.
func (w *worker) perform(ctx context.Context, task Task) {
	kept := w.client.keep(ctx, task)
	defer kept.stop()
	returned := false
	defer func() {
		if !returned { // do has panicked, or ended its goroutine. That continues.
			w.client.settle(ctx, task, errPanicked)
		}
	}()
	err := w.do(kept.ctx, task)
	returned = true
	if errors.Is(context.Cause(kept.ctx), ErrClaimLost) {
		return
	}
	if err == nil {
		err = w.client.keepValues(ctx, task)
	}
	w.client.settle(ctx, task, err)
}

// batch is the places that one stream fills.
type batch struct {
	mu     sync.Mutex
	free   chan<- struct{}
	places int // below 0 when a task came before the one that it follows had ended here
	open   bool
}

func (b *batch) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.places--
}

func (b *batch) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.places++
	b.release()
}

// freePlaces frees the places of attempts that have ended.
func (b *batch) freePlaces() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open = false
	b.release()
}

func (b *batch) release() {
	for ; !b.open && b.places > 0; b.places-- {
		b.free <- struct{}{} // never blocks: there are no more places than it holds
	}
}
