package engine

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/interlock-run/interlock/services/engine/internal/app"
	"github.com/interlock-run/interlock/services/engine/internal/schedules"
	process "github.com/interlock-run/interlock/services/internal/metrics"
)

// silentRuns reports how many runs are active, and for how long the most silent of them has made no progress. Every replica reports
// the same.
func silentRuns(set *process.Set, a *app.App) {
	if set == nil {
		return
	}
	var since atomic.Pointer[time.Time]
	active := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "interlock_runs_active", Help: "Runs that are running or waiting for a run that they invoked; every replica reports the same number.",
	})
	silent := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "interlock_run_silent_seconds_max", Help: "For how long the most silent of them has made no progress.",
	}, func() float64 {
		if at := since.Load(); at != nil && !at.IsZero() {
			return max(0, a.Clock().Sub(*at).Seconds())
		}
		return 0
	})
	set.Register(active, silent)
	set.Refresh(func(ctx context.Context) {
		// A value that cannot be read stays as it was, and grows older.
		if n, at, err := a.Reads.Active(ctx); err == nil {
			active.Set(float64(n))
			since.Store(&at)
		}
	})
}

// scheduledTimes counts the times of schedules by their result, and how late starts were.
func scheduledTimes(set *process.Set, a *app.App) {
	if set == nil {
		return
	}
	times := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "interlock_schedule_times_total", Help: "Times of schedules, by result: started, missed, skipped, queued or refused.",
	}, []string{"result"})
	late := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "interlock_schedule_late_seconds", Help: "How late runs of schedules were started.", Buckets: []float64{.1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 3600, 86400},
	})
	for _, result := range schedules.Results() {
		times.WithLabelValues(string(result))
	}
	set.Register(times, late)
	a.Scheduled = func(result string, count int64, by time.Duration) {
		times.WithLabelValues(result).Add(float64(count))
		if result == string(schedules.Started) {
			late.Observe(max(0, by.Seconds()))
		}
	}
}
