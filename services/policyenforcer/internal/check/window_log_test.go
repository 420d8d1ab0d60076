package check_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest/stage"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

// allowed are the times at which the log says that calls were allowed.
func allowed(t *testing.T, a *app.App) (at []time.Time) {
	t.Helper()
	for page := ""; ; {
		found, next, err := a.Log.List(t.Context(), "default", decisionlog.Query{Decision: toolcall.Allow, Limit: 100, PageToken: page})
		if err != nil {
			t.Fatal(err)
		}
		for _, record := range found {
			at = append(at, record.Time)
		}
		if page = next; next == "" {
			slices.SortFunc(at, time.Time.Compare)
			return at
		}
	}
}

// The log has the times by which windows count: no window in it has more calls than the limit, for any clocks of
// replicas.
func TestTheLogShowsNoWindowOverItsLimit(t *testing.T) {
	t.Parallel()
	const limit, callers = 15, 24
	test := func(t *testing.T, s *stage.Stage) {
		s.Put(t, "p", fmt.Sprintf(`{"role": "agent", "allow": [{"capability": "*", "rate_limit": {"max_calls": %d, "window_seconds": 1}}]}`, limit),
			policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
		replicas := make([]*app.App, 3)
		for i := range replicas {
			// A call is judged some time before it is committed.
			replicas[i] = s.AppAt(func() time.Time { return time.Now().Add(time.Duration(-i) * 300 * time.Millisecond) })
		}
		var group sync.WaitGroup
		for caller := range callers {
			group.Go(func() {
				for i, admitted := 0, 0; admitted < 2; i++ {
					req := check.Request{Tool: "Read", CallID: fmt.Sprintf("%d-%d", caller, i), Target: enforcer.Target{RunID: "run_1"}}
					d, err := replicas[(caller+i)%3].Checks.Check(t.Context(), stage.Agent, req)
					if err != nil {
						t.Error(err)
						return
					}
					if d.Verdict.Decision == toolcall.Allow {
						admitted++
					}
				}
			})
		}
		group.Wait()
		at := allowed(t, replicas[0])
		if len(at) != 2*callers {
			t.Fatalf("the log has %d allowed calls", len(at))
		}
		for i := limit; i < len(at); i++ {
			if span := at[i].Sub(at[i-limit]); span < time.Second {
				t.Errorf("the log has %d allowed calls within %s", limit+1, span)
			}
		}
	}
	stage.OnAllStores(t, stage.Open, test)
}
