package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// The parts of Interlock that deny undecidable calls.
const (
	AtEnforcer = "policy-enforcer"
	AtGateway  = "gateway"
)

// PolicyUnavailable is the reason of a decision that a policy which cannot be judged by has
// made.
const PolicyUnavailable = fault.Reason(toolcall.CodePolicyUnavailable)

// outages are the causes for which no decision is possible. All other faults are the
// caller's.
var outages = []fault.Reason{
	fault.Unavailable, fault.StoreRolledBack, fault.CommitUncertain, fault.DeadlineExceeded, fault.Internal, PolicyUnavailable,
}

// FailClosed counts tool calls that were denied because something was unavailable.
type FailClosed struct {
	by map[fault.Reason]prometheus.Counter
}

// FailClosed returns that of a part; nil for a nil Set.
func (s *Set) FailClosed(at string) *FailClosed {
	if s == nil {
		return nil
	}
	f := &FailClosed{by: map[fault.Reason]prometheus.Counter{}}
	for _, reason := range outages { // from 0 on, so that the first denial is an increase
		f.by[reason] = s.failClosed.WithLabelValues(at, string(reason))
	}
	return f
}

// Count counts a denial, unless its reason is the caller's fault.
func (f *FailClosed) Count(reason fault.Reason) {
	if f == nil {
		return
	}
	if counter, outage := f.by[reason]; outage {
		counter.Inc()
	}
}
