package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// Names of loads that others are compared with.
const (
	bareCheck      = "bare check"
	loggedCheck    = "bare check that logs"
	bareTransition = "bare transition"
	barePatch      = "bare patch"
	etcdCheck      = "etcd CAS, bytes of a check"
	etcdTransition = "etcd CAS, bytes of a transition"
	etcdDocument   = "etcd CAS, 100 KB"
	plainCheck     = "check"
)

// cpuNote describes a column.
const cpuNote = "CPU us is the processor time of one call: of the server and, after the plus sign, of Redis."

// overGRPC compares the calls with those of the bare servers and with etcd, for each number
// of callers.
func (b *bencher) overGRPC(ctx context.Context, backend string) error {
	s := &sheet{title: "Over gRPC on Redis, appendfsync always", notes: cpuNote, header: loadHeader}
	if backend == "sqlite" {
		fsyncs, err := b.fsyncs()
		if err != nil {
			return err
		}
		s.title = "Over gRPC on SQLite, synchronous=FULL"
		s.notes += fmt.Sprintf(" The disk takes %.0f appended and synced blocks of 512 bytes a second, "+
			"one after the other.", fsyncs)
	}
	for _, callers := range b.callers {
		err := b.onStage(backend, func(st *stage) error {
			loads, err := b.group(ctx, st, callers)
			if err == nil {
				b.addLoads(s, loads)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	b.print(s)
	return nil
}

// group measures everything with one number of callers.
func (b *bencher) group(ctx context.Context, s *stage, callers int) ([]*load, error) {
	servers, err := s.serveTo(callers, roleBare, roleLogged, roleInterlock)
	if err != nil {
		return nil, err
	}
	bare, logged, interlock := servers[0], servers[1], servers[2]
	loads, err := gate(ctx, callers, bare, logged, interlock)
	if err != nil {
		return nil, err
	}
	if callers == 64 {
		more, err := s.atSixtyFour(ctx, bare, interlock)
		if err != nil {
			return nil, err
		}
		loads = append(loads, more...)
	}
	for _, l := range loads {
		l.stores = s.storePIDs()
	}
	if callers == 64 && hasEtcd() {
		swaps, err := s.etcdLoads(ctx, callers)
		if err != nil {
			return nil, err
		}
		loads = append(loads, swaps...)
	}
	for _, l := range loads {
		l.callers, l.calls = callers, max(1, l.calls)
	}
	loads = neighbours(loads)
	return loads, measure(ctx, loads, b.rounds, b.round)
}

// neighbours orders loads so that the two of a comparison are measured one after the other: a
// machine changes less between two moments than within a round.
func neighbours(loads []*load) []*load {
	var out []*load
	add := func(l *load) {
		if l != nil && !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	for _, l := range loads {
		if len(l.against) == 0 {
			continue // comes with the first that is compared with it
		}
		for _, pair := range l.against {
			add(find(loads, pair.base))
		}
		add(l)
	}
	for _, l := range loads {
		add(l)
	}
	return out
}

// gate returns the loads of every number of callers, on the bare servers and the services.
func gate(ctx context.Context, callers int, bare, logged, interlock connected) ([]*load, error) {
	// Checks and transitions have runs of their own: a transition makes the
	// enforcer load its run anew.
	runs, err := interlock.runs(ctx, 2*callers)
	if err != nil {
		return nil, err
	}
	checked, moved := runs[:callers], runs[callers:]
	at := func(n int, goals ...goal) []goal {
		if callers == n {
			return goals
		}
		return nil
	}
	p99 := goal{p99: true, bound: 1.5}
	loads := []*load{
		{name: bareCheck, server: bare.pid, open: checks(ctx, bare.pool, own(checked))},
		{name: loggedCheck, server: logged.pid, open: checks(ctx, logged.pool, own(checked))},
		{name: plainCheck, server: interlock.pid, open: checks(ctx, interlock.pool, own(checked)), against: []pair{
			with(bareCheck, at(64, goal{bound: 0.9}, p99)...), with(loggedCheck), with(etcdCheck),
		}},
	}
	if callers == 1 {
		return loads, nil
	}
	transition := append(at(64, goal{bound: 1}, p99), at(256, goal{bound: 1.3})...)
	return append(loads,
		&load{name: bareTransition, server: bare.pid, open: transitions(ctx, bare.pool, moved)},
		&load{name: "transition", server: interlock.pid, open: transitions(ctx, interlock.pool, moved), against: []pair{
			with(bareTransition, transition...), with(etcdTransition),
		}}), nil
}

// atSixtyFour returns the loads of 64 callers only: other calls of the services.
func (s *stage) atSixtyFour(ctx context.Context, bare, interlock connected) ([]*load, error) {
	const callers = 64
	runs, err := interlock.runs(ctx, callers)
	if err != nil {
		return nil, err
	}
	hot := func(int, int) string { return runs[0] }
	loads := []*load{
		{
			name: "check of a Bash line", open: checksOf(ctx, interlock.pool, own(runs), bashRequest),
			against: []pair{with(plainCheck, goal{bound: 0.9}), with(loggedCheck)},
		},
		{
			name: "check, all of one run", open: checks(ctx, interlock.pool, hot),
			against: []pair{with(plainCheck), with(loggedCheck)},
		},
		{
			name: "check, streamed", open: streams(ctx, interlock.pool, runs, 1),
			against: []pair{with(plainCheck, goal{bound: 2.5}), with(loggedCheck), with(etcdCheck)},
		},
		{
			name: "check, 16 a message", calls: batchSize, open: streams(ctx, interlock.pool, runs, batchSize),
			against: []pair{with(plainCheck, goal{bound: 6}), with(loggedCheck), with(etcdCheck)},
		},
	}
	limits, err := s.limitedLoad(ctx, interlock.child, callers)
	if err != nil {
		return nil, err
	}
	patched, err := s.patchLoads(ctx, interlock, callers)
	if err != nil {
		return nil, err
	}
	loads = append(append(loads, limits), patched...)
	for _, l := range loads {
		l.server = interlock.pid
	}
	documents := make([]string, callers)
	for i := range documents {
		documents[i] = "bare" + strconv.Itoa(i)
	}
	return append(loads, &load{name: barePatch, server: bare.pid, open: patches(ctx, bare.pool, own(documents))}), nil
}

// etcdLoads returns compare-and-swap of as many bytes as the services write.
func (s *stage) etcdLoads(ctx context.Context, callers int) ([]*load, error) {
	p, err := s.serveEtcd(ctx, callers)
	if err != nil {
		return nil, err
	}
	sample := s.b.sample
	loads := []*load{
		{name: etcdCheck, open: swaps(ctx, p, "check", written(&sample.Check))},
		{name: etcdTransition, open: swaps(ctx, p, "transition", written(&sample.Transition))},
		{name: etcdDocument, open: swaps(ctx, p, "document", largeDocument)},
	}
	for _, l := range loads {
		l.server = s.etcd.cmd.Process.Pid // which is its store too
	}
	return loads, nil
}

// fsyncs returns how often a second the disk takes a write.
func (b *bencher) fsyncs() (perSecond float64, err error) {
	f, err := os.Create(filepath.Join(b.dir, "fsync"))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	block := make([]byte, 512)
	begin, n := time.Now(), 0
	for ; time.Since(begin) < b.round; n++ {
		if _, err := f.Write(block); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
	}
	return float64(n) / time.Since(begin).Seconds(), nil
}
