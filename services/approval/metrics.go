package approval

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/services/approval/internal/app"
	process "github.com/interlock-run/interlock/services/internal/metrics"
)

// counted counts approvals by outcome.
func counted(set *process.Set) func(consent.Status) {
	by := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "interlock_approvals_total",
		Help: "Approvals that were asked for (PENDING), and decided, by status.",
	}, []string{"status"})
	set.Register(by)
	return func(status consent.Status) { by.WithLabelValues(string(status)).Inc() }
}

// waiting reports how many approvals wait, and for how long. Every replica reports the
// same.
func waiting(set *process.Set, a *app.App, clock func() time.Time) {
	var oldest atomic.Pointer[time.Time]
	pending := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "interlock_approvals_pending", Help: "Approvals that wait for a decision; every replica reports the same number.",
	})
	age := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "interlock_approvals_pending_oldest_seconds", Help: "For how long the oldest of them has waited.",
	}, func() float64 {
		if since := oldest.Load(); since != nil && !since.IsZero() {
			return max(0, clock().Sub(*since).Seconds())
		}
		return 0
	})
	set.Register(pending, age)
	set.Refresh(func(ctx context.Context) {
		// A value that cannot be read stays as it was, and grows older.
		if n, since, err := a.Waiting(ctx); err == nil {
			pending.Set(float64(n))
			oldest.Store(&since)
		}
	})
}
