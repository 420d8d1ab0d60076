package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats.go"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/bus"
)

// perRound is how many single checks are followed to the subscriber.
const perRound = 200

// announced is what is measured of the way from the outbox to NATS.
type announced struct {
	p50, p99 []float64 // microseconds from the answer of a check to its event
	checked  []float64 // checks a second from 64 callers, batched, while the relay runs
	relayed  []float64 // of their events
	drained  []float64 // events a second of a backlog
}

// events measures the way of an event from its commit to a subscriber.
func (b *bencher) events(ctx context.Context) error {
	fmt.Printf("\nEvents: outbox to JetStream (file storage, synced each second) to a subscriber; NATS and relay within the services' process.\nAn event may reach its subscriber before the answer reaches the caller: then the time is negative\n")
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "store\tevent after the answer p50 ms\tp99 ms\tgoal\t64 callers, 16 a message: checks/s\tevents relayed/s\tbacklog relayed/s\tgoal\t")
	for _, backend := range []string{"redis", "sqlite"} {
		var got announced
		for range min(b.rounds, 3) {
			for _, measured := range []func(context.Context, *stage, *announced) error{b.live, b.backlog} {
				if err := b.onStage(backend, func(s *stage) error { return measured(ctx, s, &got) }); err != nil {
					return err
				}
			}
		}
		p50, drained := median(got.p50), median(got.drained)
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%s\t%.0f\t%.0f\t%.0f\t%s\t\n", backend, p50/1e3, median(got.p99)/1e3,
			b.judge(p50 <= 250, "p50 <= 0.25 ms"), median(got.checked), median(got.relayed), drained,
			b.judge(drained >= 20_000, ">= 20000/s"))
	}
	return w.Flush()
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
		default: // nobody waits for single ones
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
	sub.settle(ctx, 1<<62)
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
	var took []float64
	for range perRound {
		if _, err := client.CheckToolCall(ctx, checkRequest(run)); err != nil {
			return err
		}
		answered := time.Now()
		select {
		case at := <-sub.arrived:
			took = append(took, float64(at.Sub(answered).Microseconds()))
		case <-time.After(10 * time.Second):
			return errors.New("an event did not arrive")
		}
	}
	slices.Sort(took)
	got.p50, got.p99 = append(got.p50, took[len(took)/2]), append(got.p99, took[len(took)*99/100])
	return nil
}

// backlog measures how fast a relay that comes up carries what waits.
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
	sub.settle(ctx, 1<<62)
	got.drained = append(got.drained, float64(sub.count.Load())/time.Unix(0, sub.last.Load()).Sub(first).Seconds())
	return nil
}
