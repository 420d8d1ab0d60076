package policyenforcer

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/interlock-run/interlock/pkg/telemetry"
	"github.com/interlock-run/interlock/pkg/toolcall"
	process "github.com/interlock-run/interlock/services/internal/metrics"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
)

// mostPlaces bounds the states and the limits with metrics of their own. Later ones are "other".
const mostPlaces = 1000

// metrics count decisions.
type metrics struct {
	decisions *prometheus.CounterVec
	// denials and limits have names of workflows and policies, which are those of tenants; nil unless they are asked for.
	denials    *prometheus.CounterVec
	limits     *prometheus.GaugeVec
	seconds    *prometheus.HistogramVec
	failClosed *process.FailClosed

	mu     sync.Mutex
	places map[[3]string]bool
}

func newMetrics(set *process.Set, names bool) *metrics {
	m := &metrics{
		failClosed: set.FailClosed(process.AtEnforcer),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "interlock_decision_seconds",
			Help:    "Time that the answer to a tool call took, by decision; UNDECIDED for a denial because something was unavailable.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}, []string{"decision"}),
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "interlock_decisions_total", Help: "Decisions on tool calls, by decision and code, and by the reason of NOT_ENFORCED.",
		}, []string{"decision", "code", "reason"}),
		places: map[[3]string]bool{},
	}
	for _, decision := range []string{string(toolcall.Allow), string(toolcall.Deny), string(toolcall.Ask), undecided} {
		m.seconds.WithLabelValues(decision)
	}
	set.Register(m.decisions, m.seconds)
	if names {
		m.named(set)
	}
	return m
}

// appliedBundles reports when a signed set was applied last, and returns the function to call then.
func appliedBundles(set *process.Set) func(time.Time) {
	last := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "interlock_bundle_last_success_timestamp_seconds", Help: "When this process applied a signed set last; 0 before the first.",
	})
	set.Register(last)
	return func(at time.Time) { last.Set(float64(at.Unix())) }
}

// named adds the metrics that have names of workflows and policies.
func (m *metrics) named(set *process.Set) {
	m.denials = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "interlock_denials_total", Help: "Denied tool calls, by the state of the workflow that they were made in.",
	}, []string{"workflow", "state"})
	m.limits = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "interlock_policy_limit_used_ratio",
		Help: "How much of a limit of a policy was used when it last counted a call, 1 for all of it; limits per session or principal are left out.",
	}, []string{"policy", "capability", "measure"})
	set.Register(m.denials, m.limits)
}

// undecided is the label of a denial without a decision.
const undecided = "UNDECIDED"

// answered counts an answer to a check.
func (m *metrics) answered(ctx context.Context, d *check.Decision, took time.Duration) {
	decision, why := string(d.Verdict.Decision), d.Undecided
	switch {
	case why != "":
		decision = undecided
	case d.Verdict.Code == toolcall.CodePolicyUnavailable:
		why = process.PolicyUnavailable
	}
	telemetry.Measure(ctx, m.seconds.WithLabelValues(decision), took.Seconds())
	if why != "" {
		m.failClosed.Count(why)
	}
}

// unsealed measures the delay of the seals of the decision log.
func unsealed(l *decisionlog.Log) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "interlock_decisions_unsealed_seconds",
		Help: "Age of the oldest decision that should be sealed and is not; 0 while all are.",
	}, func() float64 { return l.Unsealed().Seconds() })
}

// measure counts a decision.
func (m *metrics) measure(d *check.Measured) {
	m.decisions.WithLabelValues(string(d.Decision), string(d.Code), d.Reason).Inc()
	if m.denials == nil {
		return
	}
	if d.Code != "" && d.Workflow != "" && d.Decision == "DENY" {
		at := m.place("state", d.Workflow, d.State)
		m.denials.WithLabelValues(at[1], at[2]).Inc()
	}
	for _, limit := range d.Limits {
		at := m.place("limit", limit.Policy, limit.Pattern)
		m.limits.WithLabelValues(at[1], at[2], string(limit.Measure)).Set(limit.Used)
	}
}

// place returns the labels of a place: "other" if there are too many.
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
