// Package runner takes tasks from the state-store and runs an agent for each: a
// command that has the prompt on its standard input (S11.5).
//
// It makes no decision about sessions. It must never let an agent run on without the
// claim of its task, and never leave processes of an agent behind, however it ends
// itself.
package runner

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// Config of a runner. Tasks, Name and Command must be set.
type Config struct {
	Tasks statev1.TaskServiceClient
	// Components keeps agents' changes in the file of their component; without it, they
	// are lost.
	Components statev1.ComponentServiceClient
	// Runs gives the advice of the state of a session's run to the agent's runtime, and its
	// clocks; without it, agents get none, and are not stopped when a clock ends their run.
	Runs enginev1.RunServiceClient
	// Agents sets up sessions that start from an agent; without it, they are not.
	Agents *Agents
	// Name is for people: it is shown with the tasks that the runner has.
	Name string
	// Labels that the runner has: it is given tasks whose labels are all among them.
	Labels map[string]string
	// Max is how many agents run at a time, at most 1000; 1 by default.
	Max int
	// Command is run by `sh -c` in Dir; the working folder by default.
	Command, Dir string
	// Jail is the outer jail of agents; nil for none. Data and Socket are the data folder that their
	// hooks read, and the socket in it that they connect to; empty for none.
	Jail         *Jail
	Data, Socket string
	// Environ has the variables of agents in addition to the variables of their task. It
	// must not hold the runner's token: see Environ.
	Environ []string
	// Grace is how long agents may continue when the runner is stopped.
	Grace time.Duration
	// KillAfter is how long the processes of an agent have between SIGTERM and
	// SIGKILL; 5 s by default.
	KillAfter time.Duration
	// DeadlineGrace is that time for an agent whose run was ended by a clock; 10 s by default.
	DeadlineGrace time.Duration
	// Out and Err are given the lines that agents print, one at a time; nil drops
	// them.
	Out, Err func(session, line string)
	// Tell receives progress, a line at a time.
	Tell func(line string)
}

// runner is a Run under way.
type runner struct {
	Config
	// freed are numbers of agents that may run and that no stream takes tasks for.
	freed chan int
	// stop ends the taking of tasks; its cause is why.
	stop context.CancelCauseFunc
	// kill ends when agents must.
	kill context.Context

	streams, jobs sync.WaitGroup

	mu       sync.Mutex
	sessions map[string]*job // the agents that run, by their sessions' ids
	failures int             // of streams, since the last task

	printing sync.Mutex
}

// Run takes tasks until ctx ends; then it waits for the agents that run, no longer
// than Grace, and gives the tasks of those that it had to stop back. It answers an
// error only when the server refuses the runner: from all else it recovers.
func Run(ctx context.Context, cfg Config) error {
	cfg.Max = max(cfg.Max, 1)
	cfg.KillAfter, cfg.DeadlineGrace = cmp.Or(cfg.KillAfter, 5*time.Second), cmp.Or(cfg.DeadlineGrace, 10*time.Second)
	r := &runner{Config: cfg, freed: make(chan int, cfg.Max), sessions: map[string]*job{}}
	taking, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	kill, killAll := context.WithCancel(context.WithoutCancel(ctx))
	defer killAll()
	r.stop, r.kill = stop, kill

	r.freed <- cfg.Max
	r.take(taking)
	r.streams.Wait() // no job begins any more

	if n := r.running(); n > 0 {
		r.tell("stopping: %d at work may continue for %s", n, cfg.Grace)
	}
	grace := time.AfterFunc(cfg.Grace, killAll)
	defer grace.Stop()
	r.jobs.Wait()
	if ctx.Err() == nil {
		return context.Cause(taking)
	}
	return nil
}

// take keeps a stream of tasks open for all agents that may run, until ctx ends.
//
// The server counts the tasks of a stream. When one breaks, those of its tasks that are
// at work still count here: the next stream is for the rest only, and capacity that
// becomes free later gets a stream of its own.
func (r *runner) take(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case slots := <-r.freed:
			for more := true; more; {
				select {
				case n := <-r.freed:
					slots += n
				default:
					more = false
				}
			}
			r.streams.Go(func() { r.follow(ctx, slots) })
		}
	}
}

// follow takes tasks from one stream until it breaks.
func (r *runner) follow(ctx context.Context, slots int) {
	supply := &supply{idle: slots}
	began := time.Now()
	stream, err := r.Tasks.ClaimTasks(ctx, &statev1.ClaimTasksRequest{
		Runner: r.Name, Labels: r.Labels, MaxInFlight: int32(slots), // at most 1000
	})
	for err == nil {
		var resp *statev1.ClaimTasksResponse
		if resp, err = stream.Recv(); err == nil {
			r.connected()
			supply.taken()
			r.begin(resp.GetTask(), func() {
				if supply.free() {
					r.freed <- 1
				}
			})
		}
	}
	idle := supply.broken()
	switch {
	case ctx.Err() != nil:
		return
	case refused(err):
		r.stop(err)
		return
	}
	if time.Since(began) > maxPause {
		r.connected()
	}
	wait := pause(r.failed())
	r.tell("the server cannot be reached or has ended the stream of tasks; trying again in %s",
		wait.Round(time.Millisecond))
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
	if idle > 0 {
		r.freed <- idle
	}
}

// supply counts the agents that may run on one stream's tasks.
type supply struct {
	mu   sync.Mutex
	idle int
	over bool
}

func (s *supply) taken() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle--
}

// free records that an agent has ended, and returns whether another stream must take
// tasks in its place.
func (s *supply) free() (elsewhere bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle++
	return s.over && s.idle > 0
}

// broken returns how many more tasks the stream would have taken.
func (s *supply) broken() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := max(s.idle, 0) // a server may have sent more than it was asked for
	s.idle -= left
	s.over = true
	return left
}

// failed counts a stream that has brought no task.
func (r *runner) failed() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures++
	return r.failures
}

// connected forgets the failures of before.
func (r *runner) connected() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = 0
}

// maxPause bounds the pause between streams.
const maxPause = 5 * time.Second

// pause returns how long to wait after that many failures: doubling, and spread so that
// runners do not come back all at once.
func pause(failures int) time.Duration {
	longest := min(100*time.Millisecond<<min(failures, 10), maxPause)
	return longest/2 + rand.N(longest/2)
}

// refused reports whether the server will not have the runner, whenever it asks.
func refused(err error) bool {
	switch fault.ReasonOf(err) {
	case fault.Unauthenticated, fault.PermissionDenied, fault.InvalidRequest, fault.Unimplemented:
		return true
	default:
		return false
	}
}

func (r *runner) running() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.sessions)
}

func (r *runner) tell(format string, args ...any) {
	r.printing.Lock()
	defer r.printing.Unlock()
	r.Tell(fmt.Sprintf(format, args...))
}
