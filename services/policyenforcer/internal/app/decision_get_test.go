package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
)

// One decision is found by its run, or a run of its partition, and by its place; the last of
// several of a call. What cannot be found says why.
func TestGetDecision(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.engine.parents = map[string]string{"run_child": "run_1"}
		r.log("run_1", 4)
		again := r.record("run_1", "call 1")
		again.Message = "the last word"
		if err := r.Log(r.Context(), ns, "run_1", again); err != nil {
			r.Fatal(err)
		}
		r.sealed()
		for name, c := range map[string]struct {
			query app.CallQuery
			want  int64
		}{
			"by its run":              {app.CallQuery{RunID: "run_1", CallID: "call 2"}, 3},
			"by a run below":          {app.CallQuery{RunID: "run_child", CallID: "call 2"}, 3},
			"the last one":            {app.CallQuery{RunID: "run_1", CallID: "call 1"}, 5},
			"by its place":            {app.CallQuery{RunID: "run_1", CallID: "call 1", Sequence: 2}, 2},
			"with a mistaken place":   {app.CallQuery{RunID: "run_1", CallID: "call 2", Sequence: 2}, 3},
			"with a place beyond all": {app.CallQuery{RunID: "run_1", CallID: "call 2", Sequence: 200}, 3},
		} {
			got, err := r.GetDecision(r.Context(), ns, c.query)
			if err != nil || got.Sequence != c.want || got.CallID != c.query.CallID || len(got.Hash) != 64 || got.Time.IsZero() {
				r.Errorf("%s: %+v, %v", name, got, err)
			}
		}
		for _, q := range map[string]app.CallQuery{
			"another call":    {RunID: "run_1", CallID: "call 9"},
			"another run":     {RunID: "run_2", CallID: "call 2"},
			"another session": {SessionID: "nobody", CallID: "call 2"},
		} {
			_, err := r.GetDecision(r.Context(), ns, q)
			r.refused(err, fault.NotFound)
		}
		_, err := r.GetDecision(r.Context(), ns, app.CallQuery{CallID: "call 1"})
		r.refused(err, fault.InvalidRequest)
	})
}

// In a long partition the place finds what the latest records do not have, and without it the
// refusal says so.
func TestGetDecisionOfALongRun(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.Latest(8)
		r.log("run_1", 20)
		got, err := r.GetDecision(r.Context(), ns, app.CallQuery{RunID: "run_1", CallID: "call 0", Sequence: 1})
		if err != nil || got.Sequence != 1 {
			r.Fatalf("%+v, %v", got, err)
		}
		got, err = r.GetDecision(r.Context(), ns, app.CallQuery{RunID: "run_1", CallID: "call 15"})
		if err != nil || got.Sequence != 16 {
			r.Fatalf("%+v, %v", got, err)
		}
		_, err = r.GetDecision(r.Context(), ns, app.CallQuery{RunID: "run_1", CallID: "call 0"})
		if e := r.refused(err, fault.NotFound); !strings.Contains(e.Message, "give its sequence") || !strings.Contains(e.Message, fmt.Sprint(8)) {
			r.Errorf("it says %s", e.Message)
		}
	})
}
