// Package metrics has the metrics of a process for Prometheus. A scrape reads memory alone:
// values from the store, or from another service, are refreshed by one timer.
//
// A nil Set is for a process without metrics: its methods have no effect.
package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/interlock-run/interlock/pkg/health"
	"github.com/interlock-run/interlock/pkg/telemetry"
	"github.com/interlock-run/interlock/services/internal/snapshot"
	"github.com/interlock-run/interlock/services/internal/sweep"
)

const (
	// interval is the greatest age of refreshed values.
	interval = 10 * time.Second
	// patience bounds one refresh.
	patience = 5 * time.Second
)

// Set is the metrics of a process.
type Set struct {
	registry *prometheus.Registry
	timers   *sweep.Watch
	// failClosed is of all parts of the process.
	failClosed *prometheus.CounterVec

	once  sync.Once
	store *Store

	mu        sync.Mutex
	refreshes []func(context.Context)
	caches    []snapshot.Use
}

// New makes the metrics of a process, with those of Go and of the operating system.
func New() *Set {
	s := &Set{registry: prometheus.NewRegistry(), timers: &sweep.Watch{}}
	s.failClosed = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "interlock_fail_closed_denials_total",
		Help: "Tool calls that were denied because something was unavailable, by the part that denied them and the reason.",
	}, []string{"at", "reason"})
	s.registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		s.failClosed, timers{s.timers}, caches{s},
	)
	if limit, known := telemetry.MemoryBound(); known {
		s.gauge("interlock_memory_limit_bytes", "Memory of the container, or of the machine when the container has no limit.").Set(float64(limit))
	}
	return s
}

// Registerer returns where collectors are registered; nil for a nil Set.
func (s *Set) Registerer() prometheus.Registerer {
	if s == nil {
		return nil
	}
	return s.registry
}

// Gatherer returns where a scrape reads; nil for a nil Set.
func (s *Set) Gatherer() prometheus.Gatherer {
	if s == nil {
		return nil
	}
	return s.registry
}

// Register adds collectors. To register one twice is a mistake of the program.
func (s *Set) Register(all ...prometheus.Collector) {
	if s != nil {
		s.registry.MustRegister(all...)
	}
}

// Timers returns the watch on the sweeps of this process.
func (s *Set) Timers() *sweep.Watch {
	if s == nil {
		return nil
	}
	return s.timers
}

// Caches adds caches, whose names differ.
func (s *Set) Caches(used ...snapshot.Use) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.caches = append(s.caches, used...)
}

// Refresh has do called now and then while Run runs.
func (s *Set) Refresh(do func(context.Context)) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refreshes = append(s.refreshes, do)
}

// Run refreshes until ctx ends.
func (s *Set) Run(ctx context.Context) error {
	if s == nil {
		return nil
	}
	// At the start, missing values are there soon.
	for wait := interval / 10; ; wait = min(2*wait, interval) {
		s.refreshOnce(ctx)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
	}
}

// refreshOnce refreshes all values once, side by side: a store that is silent holds up no
// others.
func (s *Set) refreshOnce(ctx context.Context) {
	s.mu.Lock()
	all := s.refreshes
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var group sync.WaitGroup
	for _, do := range all {
		group.Go(func() { do(ctx) })
	}
	group.Wait()
}

// Health reports whether the process is ready, and which of its dependencies work. Checks
// are read when they are due.
func (s *Set) Health(checks *health.Checks) {
	if s == nil {
		return
	}
	ready := s.gauge("interlock_ready", "1 while the process is ready to serve, like /readyz.")
	up := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "interlock_dependency_up", Help: "1 while a dependency of the process works.",
	}, []string{"dependency"})
	s.Register(up)
	s.Refresh(func(ctx context.Context) {
		report := checks.Run(ctx)
		for _, result := range report {
			up.WithLabelValues(result.Name).Set(truth(result.Err == nil))
		}
		ready.Set(truth(report.Ready()))
	})
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func (s *Set) gauge(name, help string) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	s.Register(g)
	return g
}

// caches collects how much the caches hold.
type caches struct{ set *Set }

var (
	cacheBytes   = prometheus.NewDesc("interlock_cache_bytes", "Estimated memory of a cache's entries.", []string{"cache"}, nil)
	cacheEntries = prometheus.NewDesc("interlock_cache_entries", "Entries of a cache.", []string{"cache"}, nil)
)

// Describe implements prometheus.Collector.
func (c caches) Describe(to chan<- *prometheus.Desc) { to <- cacheBytes; to <- cacheEntries }

// Collect implements prometheus.Collector.
func (c caches) Collect(to chan<- prometheus.Metric) {
	c.set.mu.Lock()
	all := c.set.caches
	c.set.mu.Unlock()
	for _, use := range all {
		entries, bytes := use.Of()
		to <- prometheus.MustNewConstMetric(cacheEntries, prometheus.GaugeValue, float64(entries), use.Name)
		if use.Bytes {
			to <- prometheus.MustNewConstMetric(cacheBytes, prometheus.GaugeValue, float64(bytes), use.Name)
		}
	}
}

// timers collects how late the timers are that this process sweeps.
type timers struct{ watch *sweep.Watch }

var (
	timersOverdue = prometheus.NewDesc("interlock_timers_overdue",
		"Timers that should have fired and have not, as far as a sweep reads.", []string{"kind"}, nil)
	timersLate = prometheus.NewDesc("interlock_timers_overdue_seconds",
		"For how long the oldest of them should have fired.", []string{"kind"}, nil)
	timersFired = prometheus.NewDesc("interlock_timers_fired_total",
		"Timers that this process fired.", []string{"kind"}, nil)
	timersFailed = prometheus.NewDesc("interlock_timers_failed_total",
		"Times that a timer could not be fired, and is tried again.", []string{"kind"}, nil)
)

// Describe implements prometheus.Collector.
func (c timers) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{timersOverdue, timersLate, timersFired, timersFailed} {
		to <- desc
	}
}

// Collect implements prometheus.Collector.
func (c timers) Collect(to chan<- prometheus.Metric) {
	for _, l := range c.watch.Lateness() {
		to <- prometheus.MustNewConstMetric(timersOverdue, prometheus.GaugeValue, float64(l.Overdue), l.Label)
		to <- prometheus.MustNewConstMetric(timersLate, prometheus.GaugeValue, l.Oldest.Seconds(), l.Label)
		to <- prometheus.MustNewConstMetric(timersFired, prometheus.CounterValue, float64(l.Fired), l.Label)
		to <- prometheus.MustNewConstMetric(timersFailed, prometheus.CounterValue, float64(l.Failed), l.Label)
	}
}
