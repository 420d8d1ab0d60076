package main

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/bus"
)

// perRound is how many single checks are followed to the subscriber.
const perRound = 200

// announced has the measurements of the way from the outbox to NATS.
type announced struct {
	answer     []float64 // microseconds from a check to its answer, the median of a round
	p50, p99   []float64 // microseconds from the answer to the event
	slower     []float64 // how many times later than the answer the event comes, since the check
	checked    []float64 // checks a second from 64 callers, batched, while the relay runs
	relayed    []float64 // of their events
	accumulate []float64 // checks a second, batched, without a relay
	drained    []float64 // events a second of the backlog that they leave
}

// eventRounds is how many rounds events are measured in: each has servers of its own.
const eventRounds = 3

// events measures the way of an event from its commit to a subscriber.
func (b *bencher) events(ctx context.Context) error {
	s := &sheet{
		title: "Events, from the outbox to a subscriber of JetStream",
		notes: "NATS and the relay run within the services' process; the stream is in files, synced each second. " +
			"An event may reach its subscriber before the answer reaches the caller: then it comes after a negative time.",
		header: []string{
			"store", "measured", "min / median / max", "compared with", "min / median / max",
			"ratio min / median / max", goalsColumn,
		},
	}
	for _, backend := range []string{"redis", "sqlite"} {
		var got announced
		for range min(b.rounds, eventRounds) {
			for _, measured := range []func(context.Context, *stage, *announced) error{b.live, b.backlog} {
				if err := b.onStage(backend, func(s *stage) error { return measured(ctx, s, &got) }); err != nil {
					return err
				}
			}
		}
		p50, drained := spreadOf(got.p50), spreadOf(got.drained)
		answer := spreadOf(got.answer).String()
		s.add(backend, "event after the answer, p50 us", p50.String(), "answer after the call, p50 us", answer,
			spreadOf(got.slower).String()+" (event / answer, since the call)", b.judge(p50.median <= 250, "p50 <= 250 us"))
		s.add("", "event after the answer, p99 us", spreadOf(got.p99).String(), "answer after the call, p50 us",
			answer, spreadOf(ratios(got.p99, got.answer)).String(), "")
		s.add("", "events relayed/s while 64 callers check, 16 a message", spreadOf(got.relayed).String(), "their checks/s",
			spreadOf(got.checked).String(), spreadOf(ratios(got.relayed, got.checked)).String(), "")
		s.add("", "events relayed/s of a backlog", drained.String(), "checks/s that made it, 16 a message",
			spreadOf(got.accumulate).String(), spreadOf(ratios(got.drained, got.accumulate)).String(),
			b.judge(drained.median >= 20_000, ">= 20000/s"))
	}
	b.print(s)
	return nil
}

// subscription counts the events that arrive and keeps when the last one did.
type subscription struct {
	conn    *nats.Conn
	arrived chan time.Time
	count   atomic.Int64
	last    atomic.Int64
}

// subscribe receives every event as it is published.
func subscribe(url string) (*subscription, error) {
	conn, err := (bus.Endpoint{URL: url}).Connect("bench")
	if err != nil {
		return nil, err
	}
	s := &subscription{conn: conn, arrived: make(chan time.Time, 1)}
	sub, err := conn.Subscribe(bus.Root+".>", func(*nats.Msg) {
		now := time.Now()
		s.last.Store(now.UnixNano())
		s.count.Add(1)
		select {
		case s.arrived <- now:
		default: // single ones are not waited for
		}
	})
	if err == nil {
		err = errors.Join(sub.SetPendingLimits(-1, -1), conn.Flush())
	}
	return s, err
}

// settle waits until n events have arrived, or none has for two seconds.
func (s *subscription) settle(ctx context.Context, n int64) {
	for quiet := time.Now(); s.count.Load() < n && time.Since(quiet) < 2*time.Second && ctx.Err() == nil; {
		if last := time.Unix(0, s.last.Load()); last.After(quiet) {
			quiet = last
		}
		time.Sleep(time.Millisecond)
	}
}

// live measures while the services and the relay work: single checks, then as
// many as 64 callers can make.
func (b *bencher) live(ctx context.Context, s *stage, got *announced) error {
	c, err := s.serve(childConfig{Role: roleInterlock, Relay: true})
	if err != nil {
		return err
	}
	p, err := s.dial(c, 64)
	if err != nil {
		return err
	}
	sub, err := subscribe(c.NATS)
	if err != nil {
		return err
	}
	defer sub.conn.Close()
	runs, err := p.runs(ctx, 64)
	if err != nil {
		return err
	}
	sub.settle(ctx, 65) // the workflow and the runs
	if err := follow(ctx, p, runs[0], sub, got); err != nil {
		return err
	}
	before := sub.count.Load()
	l := &load{name: "check", callers: 64, calls: batchSize, open: streams(ctx, p, runs, batchSize)}
	begin := time.Now()
	if err := measure(ctx, []*load{l}, 1, b.round); err != nil {
		return err
	}
	sub.settle(ctx, before+int64(l.made))
	got.checked = append(got.checked, l.of(rate))
	got.relayed = append(got.relayed, float64(sub.count.Load()-before)/time.Unix(0, sub.last.Load()).Sub(begin).Seconds())
	return nil
}

// follow checks one call at a time and waits for its event.
func follow(ctx context.Context, p pool, run string, sub *subscription, got *announced) error {
	select {
	case <-sub.arrived:
	default:
	}
	client := policyv1.NewPolicyEnforcerServiceClient(p[0])
	var answers, took []float64
	for range perRound {
		asked := time.Now()
		if _, err := client.CheckToolCall(ctx, checkRequest(run)); err != nil {
			return err
		}
		answered := time.Now()
		answers = append(answers, float64(answered.Sub(asked).Nanoseconds())/1e3)
		select {
		case at := <-sub.arrived:
			took = append(took, float64(at.Sub(answered).Nanoseconds())/1e3)
		case <-time.After(10 * time.Second):
			return errors.New("an event did not arrive")
		}
	}
	slices.Sort(took)
	answer, event := spreadOf(answers).median, spreadOf(took).median
	got.answer, got.slower = append(got.answer, answer), append(got.slower, (answer+event)/answer)
	got.p50, got.p99 = append(got.p50, took[len(took)/2]), append(got.p99, took[len(took)*99/100])
	return nil
}

// backlog measures how fast a relay that comes up carries the waiting events.
func (b *bencher) backlog(ctx context.Context, s *stage, got *announced) error {
	c, err := s.serve(childConfig{Role: roleInterlock})
	if err != nil {
		return err
	}
	p, err := s.dial(c, 64)
	if err != nil {
		return err
	}
	runs, err := p.runs(ctx, 64)
	if err != nil {
		return err
	}
	l := &load{name: "check", callers: 64, calls: batchSize, open: streams(ctx, p, runs, batchSize)}
	if err := measure(ctx, []*load{l}, 1, max(b.round, time.Second)); err != nil {
		return err
	}
	got.accumulate = append(got.accumulate, l.of(rate))
	if err := s.hangUp(); err != nil {
		return err
	}
	r, err := s.serve(childConfig{Role: roleRelay, Path: s.path(roleInterlock)})
	if err != nil {
		return err
	}
	sub, err := subscribe(r.NATS)
	if err != nil {
		return err
	}
	defer sub.conn.Close()
	if _, err := r.stdin.Write([]byte("\n")); err != nil {
		return err
	}
	first := time.Now()
	for sub.count.Load() == 0 && time.Since(first) < 10*time.Second {
		time.Sleep(100 * time.Microsecond)
	}
	first = time.Now()
	sub.settle(ctx, int64(l.made)+65) // and the workflow and the runs
	got.drained = append(got.drained, float64(sub.count.Load())/time.Unix(0, sub.last.Load()).Sub(first).Seconds())
	return nil
}
