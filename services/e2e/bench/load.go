package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"
)

// op is one step of one caller: it answers when its calls are answered.
type op func() error

// load is something that is measured.
type load struct {
	name string
	// callers that are busy at the same time, and how many calls each step has.
	callers, calls int
	// open makes the step of a caller.
	open func(caller int) (op, error)
	// server is the process whose time is counted, 0 for none; stores are those of its store.
	server int
	stores []int
	// against is the other side of the comparison.
	against []pair
	ops     []op
	got     []measured
	made    int // calls, those that warm up included
}

// pair is a load with the name of its comparison, and the goal.
type pair struct {
	base  string
	goals []goal
}

func with(base string, goals ...goal) pair { return pair{base, goals} }

// measured is one round of a load.
type measured struct {
	rate     float64 // calls a second
	p50, p99 time.Duration
	// behind is how many times fewer calls the slowest caller made than the mean.
	behind float64
	calls  int
	// Processor time of all calls.
	server, store time.Duration
}

// measure opens the loads and runs them in rounds, every second one in the
// opposite order.
func measure(ctx context.Context, loads []*load, rounds int, round time.Duration) error {
	for _, l := range loads {
		for caller := range l.callers {
			step, err := l.open(caller)
			if err != nil {
				return fmt.Errorf("%s: %w", l.name, err)
			}
			l.ops = append(l.ops, step)
		}
		if _, err := l.run(ctx, round/4); err != nil { // warms caches and pools
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	for i := range rounds {
		order := slices.Clone(loads)
		if i%2 == 1 {
			slices.Reverse(order)
		}
		for _, l := range order {
			m, err := l.run(ctx, round)
			if err != nil {
				return fmt.Errorf("%s: %w", l.name, err)
			}
			l.got = append(l.got, m)
		}
	}
	return nil
}

// run lets the callers work for a while.
func (l *load) run(ctx context.Context, length time.Duration) (measured, error) {
	took := make([][]time.Duration, len(l.ops))
	errs := make([]error, len(l.ops))
	var callers sync.WaitGroup
	server, store := processorTime(l.server), processorTime(l.stores...)
	begin := time.Now()
	end := begin.Add(length)
	for i, step := range l.ops {
		callers.Go(func() {
			for now := time.Now(); now.Before(end) && ctx.Err() == nil; {
				if errs[i] = step(); errs[i] != nil {
					return
				}
				done := time.Now()
				took[i] = append(took[i], done.Sub(now))
				now = done
			}
		})
	}
	callers.Wait()
	elapsed := time.Since(begin)
	all := slices.Concat(took...)
	for _, err := range append(errs, ctx.Err()) {
		if err != nil {
			return measured{}, err // the others' are much the same
		}
	}
	fewest := len(all)
	for _, calls := range took {
		fewest = min(fewest, len(calls))
	}
	slices.Sort(all)
	calls := len(all) * l.calls
	l.made += calls
	return measured{
		calls:  calls,
		rate:   float64(calls) / elapsed.Seconds(),
		behind: float64(len(all)) / float64(len(took)) / float64(max(fewest, 1)),
		p50:    all[len(all)/2], p99: all[len(all)*99/100],
		server: processorTime(l.server) - server, store: processorTime(l.stores...) - store,
	}, nil
}

// processorTime of processes so far, 0 where that is not known.
func processorTime(pids ...int) (sum time.Duration) {
	for _, pid := range pids {
		sum += timeOf(pid)
	}
	return sum
}

func timeOf(pid int) time.Duration {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if pid == 0 || err != nil {
		return 0
	}
	// The name, in parentheses, may hold anything; user and system time are the
	// 12th and 13th fields after it, in hundredths of a second.
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	ticks := 0
	for _, field := range fields[11:13] {
		n, err := strconv.Atoi(string(field))
		if err != nil {
			return 0
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// values returns those of the rounds.
func (l *load) values(value func(measured) float64) []float64 {
	values := make([]float64, len(l.got))
	for i, m := range l.got {
		values[i] = value(m)
	}
	return values
}

// of returns the median over the rounds.
func (l *load) of(value func(measured) float64) float64 { return spreadOf(l.values(value)).median }

// ratio returns of the ratios to another load, round by round.
func (l *load) ratio(base *load, value func(measured) float64) spread {
	return spreadOf(ratios(l.values(value), base.values(value)))
}

func rate(m measured) float64   { return m.rate }
func behind(m measured) float64 { return m.behind }
func p50(m measured) float64    { return float64(m.p50.Microseconds()) }
func p99(m measured) float64    { return float64(m.p99.Microseconds()) }

// serverTime returns the microseconds of the server's processor time for each call. The clock
// of processes is coarse, so it is the mean over all rounds.
func (l *load) serverTime() float64 {
	return l.perCall(func(m measured) time.Duration { return m.server })
}

// storeTime returns serverTime of Redis or etcd.
func (l *load) storeTime() float64 {
	return l.perCall(func(m measured) time.Duration { return m.store })
}

func (l *load) perCall(time func(measured) time.Duration) float64 {
	spent, calls := 0.0, 0
	for _, m := range l.got {
		spent += float64(time(m).Nanoseconds()) / 1e3
		calls += m.calls
	}
	return spent / float64(max(calls, 1))
}
