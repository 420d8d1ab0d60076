package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
)

const (
	// soakRuns is how many runs start each second of a soak.
	soakRuns = 10
	// soakCalls is how many tool calls each of them makes, checked and reported.
	soakCalls = 10
	// soakCallers share them.
	soakCallers = 8
	// soakRows is how many rows a soak has.
	soakRows = 10
)

// soakSections returns one: the memory of `interlock up` over a long time of work.
func (b *bencher) soakSections() []section {
	return []section{{"soak", b.soaked}}
}

// soaked measures the memory of a process while runs come and go at a steady pace.
func (b *bencher) soaked(ctx context.Context) error {
	s := &sheet{
		title: "`interlock up` at work, on SQLite",
		notes: fmt.Sprintf("Each second %d runs start, make %d tool calls each, checked and reported, two transitions and a "+
			"patch of a shared state of 1 KB, and end. Everything is kept.", soakRuns, soakCalls),
		header: []string{
			"minutes", "runs", "calls", "memory, MB", "file descriptors", "goroutines", "processor, %",
			"interlock.db, MB", "and its log, MB", "nats, MB",
		},
	}
	err := b.onStage("sqlite", func(st *stage) error { return b.soakOn(ctx, st, s) })
	if err != nil {
		return err
	}
	b.print(s)
	return nil
}

func (b *bencher) soakOn(ctx context.Context, st *stage, s *sheet) error {
	u, err := st.up(b.interlock)
	if err != nil {
		return err
	}
	defer func() { _ = u.down() }() // it has printed its memory
	work, err := st.soakWork(ctx, &u.child)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	runs, failed := steady(ctx, work)
	begin := time.Now()
	busy := processorTime(u.pid)
	for row := range soakRows + 1 {
		next := time.NewTimer(time.Until(begin.Add(b.soak * time.Duration(row) / soakRows)))
		select {
		case <-next.C:
		case err := <-failed:
			return err
		}
		cells, err := st.holds(ctx, u)
		if err != nil {
			return err
		}
		now := processorTime(u.pid)
		share := 100 * (now - busy).Seconds() / (b.soak / soakRows).Seconds()
		busy = now
		n := runs.Load()
		figures := append([]string{
			figure(time.Since(begin).Minutes()), strconv.FormatInt(n, 10),
			strconv.FormatInt(n*(soakCalls*2+5), 10),
		}, cells[:3]...)
		s.rows = append(s.rows, append(append(figures, figure(share)), cells[3:]...))
		fmt.Fprintln(b.out, s.rows[len(s.rows)-1])
	}
	return nil
}

// steady does work soakRuns times a second, until ctx ends or it fails.
func steady(ctx context.Context, work func(context.Context, int) error) (done *atomic.Int64, failed <-chan error) {
	done, errs := &atomic.Int64{}, make(chan error, soakCallers)
	var turn atomic.Int64
	begin := time.Now()
	for caller := range soakCallers {
		go func() {
			for ctx.Err() == nil {
				n := turn.Add(1)
				time.Sleep(time.Until(begin.Add(time.Duration(n) * time.Second / soakRuns)))
				if err := work(ctx, caller); err != nil {
					if ctx.Err() == nil {
						errs <- err
					}
					return
				}
				done.Add(1)
			}
		}()
	}
	return done, errs
}

// soakWork returns the life of a run.
func (s *stage) soakWork(ctx context.Context, c *child) (func(context.Context, int) error, error) {
	p, err := s.dial(c, soakCallers)
	if err != nil {
		return nil, err
	}
	if _, err := p.runs(ctx, 0); err != nil { // the workflow
		return nil, err
	}
	operator, err := s.operator(c, "")
	if err != nil {
		return nil, err
	}
	states, err := createStates(ctx, operator, stateOf(smallDocument), soakCallers)
	if err != nil {
		return nil, err
	}
	patch := patches(ctx, p, own(states))
	ops := make([]op, soakCallers)
	for i := range ops {
		if ops[i], err = patch(i); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, caller int) error {
		conn := p.of(caller)
		engine, enforcer := enginev1.NewRunServiceClient(conn), policyv1.NewPolicyEnforcerServiceClient(conn)
		started, err := engine.StartRun(ctx, &enginev1.StartRunRequest{Workflow: "bench"})
		if err != nil {
			return err
		}
		run := started.GetRun().GetRunId()
		for range soakCalls {
			if err := checkAndReport(ctx, enforcer, run); err != nil {
				return err
			}
		}
		if _, err := engine.TransitionRun(ctx, transitionRequest(run, 0)); err != nil {
			return err
		}
		if err := ops[caller](); err != nil {
			return err
		}
		_, err = engine.TransitionRun(ctx, &enginev1.TransitionRunRequest{RunId: run, Event: "SHIP"})
		return err
	}, nil
}

// holds returns the memory, file descriptors and goroutines of a process, and the sizes of its files.
func (s *stage) holds(ctx context.Context, u *up) ([]string, error) {
	descriptors, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", u.pid))
	if err != nil {
		return nil, err
	}
	goroutines, err := metricAt(ctx, u.http+"/metrics", s.token, "go_goroutines")
	if err != nil {
		return nil, err
	}
	var sizes [3]int64
	var errs [3]error
	var all sync.WaitGroup
	for i, prefix := range []string{"interlock.db", "interlock.db-wal", ""} {
		all.Go(func() {
			dir := string(s.data())
			if prefix == "" {
				dir = s.data().NATS()
			}
			sizes[i], errs[i] = sizeOf(dir, prefix)
		})
	}
	all.Wait()
	mega := func(n int64) string { return figure(float64(n) / (1 << 20)) }
	return []string{
		figure(resident(u.pid) / (1 << 20)), strconv.Itoa(len(descriptors)), figure(goroutines),
		mega(sizes[0] - sizes[1]), mega(sizes[1]), mega(sizes[2]),
	}, errors.Join(errs[:]...)
}
