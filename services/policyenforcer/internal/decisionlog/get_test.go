package decisionlog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest"
)

// One decision is found by its run, or a run of its partition, and by its place; the last of
// several of a call. What cannot be found says why.
func TestGetDecision(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.Engine.Parents = map[string]string{"run_child": "run_1"}
		r.AppendMany("run_1", 4)
		again := r.Record("run_1", "call 1")
		again.Message = "the last word"
		if err := r.Append("run_1", again); err != nil {
			r.Fatal(err)
		}
		r.sealed()
		for name, c := range map[string]struct {
			query decisionlog.CallQuery
			want  int64
		}{
			"by its run":              {decisionlog.CallQuery{RunID: "run_1", CallID: "call 2"}, 3},
			"by a run below":          {decisionlog.CallQuery{RunID: "run_child", CallID: "call 2"}, 3},
			"the last one":            {decisionlog.CallQuery{RunID: "run_1", CallID: "call 1"}, 5},
			"by its place":            {decisionlog.CallQuery{RunID: "run_1", CallID: "call 1", Sequence: 2}, 2},
			"with a mistaken place":   {decisionlog.CallQuery{RunID: "run_1", CallID: "call 2", Sequence: 2}, 3},
			"with a place beyond all": {decisionlog.CallQuery{RunID: "run_1", CallID: "call 2", Sequence: 200}, 3},
		} {
			got, err := r.Get(r.Context(), enforcertest.Namespace, c.query)
			if err != nil || got.Sequence != c.want || got.CallID != c.query.CallID || len(got.Hash) != 64 || got.Time.IsZero() {
				r.Errorf("%s: %+v, %v", name, got, err)
			}
		}
		for _, q := range map[string]decisionlog.CallQuery{
			"another call":    {RunID: "run_1", CallID: "call 9"},
			"another run":     {RunID: "run_2", CallID: "call 2"},
			"another session": {SessionID: "nobody", CallID: "call 2"},
		} {
			_, err := r.Get(r.Context(), enforcertest.Namespace, q)
			r.Refused(err, fault.NotFound)
		}
		_, err := r.Get(r.Context(), enforcertest.Namespace, decisionlog.CallQuery{CallID: "call 1"})
		r.Refused(err, fault.InvalidRequest)
	})
}

// In a long partition the place finds what the latest records do not have, and without it the
// refusal says so.
func TestGetDecisionOfALongRun(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.Latest(8)
		r.AppendMany("run_1", 20)
		got, err := r.Get(r.Context(), enforcertest.Namespace, decisionlog.CallQuery{RunID: "run_1", CallID: "call 0", Sequence: 1})
		if err != nil || got.Sequence != 1 {
			r.Fatalf("%+v, %v", got, err)
		}
		got, err = r.Get(r.Context(), enforcertest.Namespace, decisionlog.CallQuery{RunID: "run_1", CallID: "call 15"})
		if err != nil || got.Sequence != 16 {
			r.Fatalf("%+v, %v", got, err)
		}
		_, err = r.Get(r.Context(), enforcertest.Namespace, decisionlog.CallQuery{RunID: "run_1", CallID: "call 0"})
		if e := r.Refused(err, fault.NotFound); !strings.Contains(e.Message, "give its sequence") || !strings.Contains(e.Message, fmt.Sprint(8)) {
			r.Errorf("it says %s", e.Message)
		}
	})
}
