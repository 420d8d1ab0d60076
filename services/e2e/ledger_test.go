package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/fault"
)

// ledger notes the answers to callers, to compare them with the kept data.
type ledger struct {
	// runs are driven by one worker each.
	runs []string
	// retry makes workers repeat failed requests, with the same idempotency key;
	// otherwise they end.
	retry bool
	// pause is between a worker's rounds.
	pause time.Duration

	mu       sync.Mutex
	moved    map[string][]step // acknowledged transitions
	decided  map[string][]string
	failures map[fault.Reason]int
	count    atomic.Int64 // acknowledged transitions and checks
	wrong    []string
}

// step is one acknowledged transition.
type step struct{ number, version int64 }

// newLedger starts the runs.
func newLedger(t testing.TB, c *caller, workers int) *ledger {
	t.Helper()
	l := &ledger{moved: map[string][]step{}, decided: map[string][]string{}, failures: map[fault.Reason]int{}}
	c.register(t, pingPong)
	for range workers {
		l.runs = append(l.runs, c.start(t, "ping-pong").GetRunId())
	}
	return l
}

// load drives every run at once; the answer ends the work and waits for it.
func (l *ledger) load(ctx context.Context, callers ...*caller) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var workers sync.WaitGroup
	for i, id := range l.runs {
		workers.Go(func() { l.work(ctx, callers[i%len(callers)], id) })
	}
	return func() { cancel(); workers.Wait() }
}

// work moves one run on and on, with a check after each transition.
func (l *ledger) work(ctx context.Context, c *caller, id string) {
	l.mu.Lock()
	number := int64(len(l.moved[id]))
	l.mu.Unlock()
	for ctx.Err() == nil {
		number++
		if !l.move(ctx, c, id, number) || !l.check(ctx, c, id, number) {
			return
		}
		if l.pause > 0 {
			select {
			case <-ctx.Done():
			case <-time.After(l.pause):
			}
		}
	}
}

// again notes a failure and reports whether to try again.
func (l *ledger) again(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures[fault.ReasonOf(err)]++
	return l.retry
}

func (l *ledger) move(ctx context.Context, c *caller, id string, number int64) bool {
	for {
		resp, err := c.runs.TransitionRun(ctx, &enginev1.TransitionRunRequest{
			RunId: id, Event: "GO", Data: fmt.Appendf(nil, `{"number":%d}`, number), IdempotencyKey: fmt.Sprint(number),
		})
		if err == nil {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.moved[id] = append(l.moved[id], step{number, resp.GetRun().GetVersion()})
			l.count.Add(1)
			return true
		}
		if !l.again(ctx, err) {
			return false
		}
	}
}

// check asks for the tool that the other state has: an ALLOW is always wrong. It
// asks for the right one too, unless the store is away.
func (l *ledger) check(ctx context.Context, c *caller, id string, number int64) bool {
	right, other := toolAt(number+1), toolAt(number)
	for _, tool := range []string{right, other} {
		for {
			d, err := c.policy.CheckToolCall(ctx, &policyv1.CheckToolCallRequest{RunId: id, Tool: tool})
			if err == nil && codeOf(d) == "POLICY_UNAVAILABLE" {
				err = fault.New(fault.Unavailable, "denied")
			}
			if err == nil {
				l.note(id, tool, d, tool == right)
				break
			}
			if !l.again(ctx, err) {
				return false
			}
		}
	}
	return true
}

func (l *ledger) note(id, tool string, d *policyv1.CheckToolCallResponse, right bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if (d.GetDecision() == allow) != right {
		l.wrong = append(l.wrong, fmt.Sprintf("%s in %s at version %d is %v %s", tool, id, d.GetRunVersion(), d.GetDecision(), codeOf(d)))
	}
	l.decided[id] = append(l.decided[id], d.GetCallId())
	l.count.Add(1)
}

// reaches waits until so much more was acknowledged.
func (l *ledger) reaches(t testing.TB, more int64) {
	t.Helper()
	want := l.count.Load() + more
	eventually(t, fmt.Sprintf("%d calls are answered", want), func() error {
		if got := l.count.Load(); got < want {
			return fmt.Errorf("only %d are", got)
		}
		return nil
	})
}

// verify compares with the data of the store and the events on NATS: every
// acknowledged transition is there once, at its version, with its data; versions
// are contiguous; every entry and every decision is announced.
func (l *ledger) verify(t testing.TB, w *world, c *caller) {
	t.Helper()
	for _, line := range l.wrong {
		t.Error(line)
	}
	total := 0
	for _, id := range l.runs {
		history := c.history(t, id)
		contiguous(t, id, history)
		total += len(l.moved[id])
		for _, s := range l.moved[id] {
			if s.version > int64(len(history)) {
				t.Fatalf("run %s: transition %d was acknowledged at version %d; the history ends at %d", id, s.number, s.version, len(history))
			}
		}
		byVersion := map[int64]int64{}
		for _, s := range l.moved[id] {
			byVersion[s.version] = s.number
		}
		for i, entry := range history[1:] {
			var data struct{ Number int64 }
			if err := json.Unmarshal(entry.GetData(), &data); err != nil {
				t.Fatal(err)
			}
			// One worker, numbers in order, each key once: the i-th is number i+1.
			if data.Number != int64(i)+1 {
				t.Fatalf("run %s: version %d has transition %d: lost or done twice", id, entry.GetRunVersion(), data.Number)
			}
			if acknowledged, ok := byVersion[entry.GetRunVersion()]; ok && acknowledged != data.Number {
				t.Fatalf("run %s: version %d was acknowledged for %d and has %d", id, entry.GetRunVersion(), acknowledged, data.Number)
			}
		}
		w.events(t, bus.Subject{Namespace: w.namespace, Entity: "run", ID: id}).announced(t, id, history)
		l.announcedDecisions(t, w, id)
	}
	if total == 0 {
		t.Fatal("no transition was acknowledged: this test tests nothing")
	}
}

func (l *ledger) announcedDecisions(t testing.TB, w *world, id string) {
	t.Helper()
	missing := map[string]bool{}
	for _, call := range l.decided[id] {
		missing[call] = true
	}
	if len(missing) == 0 {
		return
	}
	events := w.events(t, bus.Subject{Namespace: w.namespace, Entity: "toolcall", ID: id})
	for len(missing) > 0 {
		delete(missing, events.next(t).GetToolcallDecided().GetCallId())
	}
}
