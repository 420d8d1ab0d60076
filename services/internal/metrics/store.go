package metrics

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/telemetry"
)

// methods of a store whose time is notified; the others wait, or are as these.
var methods = []string{"Get", "List", "History", "Counters", "Answer", "Commit", "Due"}

// Store has the metrics of calls of the store. A nil one is silent.
type Store struct {
	seconds        map[string]prometheus.Observer
	errors         *prometheus.CounterVec
	batch, waiting prometheus.Histogram
}

// Store returns the metrics of calls of the store; nil for a nil Set.
func (s *Set) Store() *Store {
	if s == nil {
		return nil
	}
	s.once.Do(func() { s.store = s.newStore() })
	return s.store
}

func (s *Set) newStore() *Store {
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "interlock_store_seconds", Help: "Time that calls of the store took.",
		Buckets: []float64{.0001, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 2.5},
	}, []string{"method"})
	sizes := prometheus.ExponentialBuckets(1, 2, 10)
	m := &Store{
		seconds: map[string]prometheus.Observer{},
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "interlock_store_errors_total", Help: "Calls that the store did not serve, by error.",
		}, []string{"error"}),
		batch: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "interlock_store_batch_commits", Help: "Commits that share a transaction or a round trip.", Buckets: sizes,
		}),
		waiting: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "interlock_store_queue_commits", Help: "Commits that wait when a transaction or a round trip begins.",
			Buckets: append([]float64{0}, sizes...),
		}),
	}
	for _, method := range methods {
		m.seconds[method] = seconds.WithLabelValues(method)
	}
	m.errors.WithLabelValues(rolledBack)
	for _, kind := range storeErrors {
		m.errors.WithLabelValues(kind.name)
	}
	s.Register(seconds, m.errors, m.batch, m.waiting)
	return m
}

// rolledBack is the label of calls of a store that has gone back in time.
const rolledBack = "rolled_back"

// storeErrors are the other causes for which a store does not serve; the first that fits
// counts.
var storeErrors = []struct {
	name string
	err  error
}{
	{"broken", store.ErrBroken},
	{"era_ended", store.ErrTurned},
	{"uncertain", store.ErrUncertain},
	{"unavailable", store.ErrUnavailable},
}

// Call reports a call that has ended.
func (m *Store) Call(ctx context.Context, method string, took time.Duration, err error) {
	if m == nil {
		return
	}
	if seconds, told := m.seconds[method]; told {
		telemetry.Measure(ctx, seconds, took.Seconds())
	}
	if name := nameOf(err); name != "" {
		m.errors.WithLabelValues(name).Inc()
	}
}

// nameOf returns the label of an error; empty for one that is an answer, as a conflict or a
// limit is, or that the caller made by leaving.
func nameOf(err error) string {
	if err == nil || errors.Is(err, context.Canceled) {
		return ""
	}
	if gone := (*store.RolledBackError)(nil); errors.As(err, &gone) {
		return rolledBack
	}
	for _, kind := range storeErrors {
		if errors.Is(err, kind.err) {
			return kind.name
		}
	}
	return ""
}

// Batch notifies of commits that are written together, and of those that wait for the
// next.
func (m *Store) Batch(commits, waiting int) {
	if m == nil {
		return
	}
	m.batch.Observe(float64(commits))
	m.waiting.Observe(float64(waiting))
}

// Bytes reports how much room a store takes, and NaN while that is not known.
func (s *Set) Bytes(st store.Sized) {
	if s == nil {
		return
	}
	bytes := s.gauge("interlock_store_bytes", "Bytes of the store: SQLite's files, or the memory that Redis uses.")
	s.Refresh(func(ctx context.Context) {
		n, err := st.Bytes(ctx)
		if err != nil {
			bytes.Set(math.NaN())
			return
		}
		bytes.Set(float64(n))
	})
}

// Safe is a store of a server with settings of its own.
type Safe interface {
	// Settings are those that no acknowledged write is lost by, and whether they are as
	// they have to be.
	Settings(ctx context.Context) (map[string]bool, error)
}

// Settings reports whether a server has the settings that it must have. An unreadable one
// stays as it was.
func (s *Set) Settings(st Safe) {
	if s == nil {
		return
	}
	safe := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "interlock_redis_setting_safe",
		Help: "1 when a setting of Redis is such that no acknowledged write is lost.",
	}, []string{"setting"})
	s.Register(safe)
	s.Refresh(func(ctx context.Context) {
		settings, err := st.Settings(ctx)
		if err != nil {
			return
		}
		for name, is := range settings {
			safe.WithLabelValues(name).Set(truth(is))
		}
	})
}
