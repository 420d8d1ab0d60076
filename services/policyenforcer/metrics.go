package policyenforcer

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
)

// mostPlaces bounds the states and the limits that metrics tell apart: what comes later is
// "other".
const mostPlaces = 1000

// metrics count decisions.
type metrics struct {
	decisions, denials *prometheus.CounterVec
	limits             *prometheus.GaugeVec

	mu     sync.Mutex
	places map[[3]string]bool
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "interlock_decisions_total", Help: "Decisions on tool calls, by decision and code.",
		}, []string{"decision", "code"}),
		denials: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "interlock_denials_total", Help: "Denied tool calls, by the state of the workflow that they were made in.",
		}, []string{"workflow", "state"}),
		limits: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "interlock_policy_limit_used_ratio",
			Help: "How much of a limit of a policy was used when it last counted a call, 1 for all of it; limits per session or principal are left out.",
		}, []string{"policy", "capability", "measure"}),
		places: map[[3]string]bool{},
	}
	for _, c := range []prometheus.Collector{m.decisions, m.denials, m.limits} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// observe counts a decision.
func (m *metrics) observe(d *app.Observed) {
	m.decisions.WithLabelValues(string(d.Decision), string(d.Code)).Inc()
	if d.Code != "" && d.Workflow != "" && d.Decision == "DENY" {
		at := m.place("state", d.Workflow, d.State)
		m.denials.WithLabelValues(at[1], at[2]).Inc()
	}
	for _, limit := range d.Limits {
		at := m.place("limit", limit.Policy, limit.Pattern)
		m.limits.WithLabelValues(at[1], at[2], string(limit.Measure)).Set(limit.Used)
	}
}

// place is what a metric tells of a place: other, when there are too many.
func (m *metrics) place(kind, of, at string) [3]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := [3]string{kind, of, at}
	switch {
	case m.places[key]:
	case len(m.places) >= mostPlaces:
		return [3]string{kind, "other", "other"}
	default:
		m.places[key] = true
	}
	return key
}
