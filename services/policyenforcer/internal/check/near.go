package check

import (
	"strconv"

	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/quota"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// Measures of a state's limits.
const (
	measureIterations   = "iterations"
	measureContextBytes = "context_bytes"
	measureFiles        = "files"
	scopeEntry          = "entry"
)

// nearLimits are the limits of which more than 80 percent are used after a call.
func (c *Service) nearLimits(q *question, s *runs.Snapshot, d *Decision) []ledger.Limit {
	limits := d.full
	add := func(l ledger.Limit) {
		if l.Max > 0 && l.Used*10 > l.Max*quota.NearTenths {
			limits = append(limits, l)
		}
	}
	v := &d.Verdict
	entry := strconv.FormatInt(s.Run.Entry, 10)
	state := func(measure string, used, most int64) {
		add(ledger.Limit{Measure: measure, Scope: scopeEntry, Subject: entry, Used: used, Max: most})
	}
	switch {
	case v.Counted:
		state(measureIterations, c.Quota.Seen(s.Entry, ledger.Iterations, 0, q.now)+1, v.MaxIterations)
		state(measureContextBytes, c.Quota.Seen(s.Entry, ledger.ContextBytes, 0, q.now), v.ContextBudget)
		state(measureFiles, d.files, v.MaxFiles)
	case v.Code == toolcall.CodeMaxIterations:
		state(measureIterations, v.Iterations, v.MaxIterations)
	case v.Code == toolcall.CodeContextBudget:
		state(measureContextBytes, v.ContextSpent, v.ContextBudget)
	}
	for i := range d.combined.Spends {
		spend := &d.combined.Spends[i]
		if spend.Max > 0 && spend.Max < 1<<59 {
			used := c.Quota.Seen(quota.Key(q.caller.Namespace, spend.Account), spend.Counter(), spend.Window, q.now) + spend.Delta()
			add(quota.LimitOf(spend, used, q.now))
		}
	}
	return limits
}
