package outcome_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest/stage"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/outcome"
)

// S25.1, S25.5: an allowed call that counts, and its report, are progress of a lane; a denied call, a dry run, and a call of
// Interlock's own tools, its report among them, are none.
func TestProgressOfCalls(t *testing.T) {
	t.Parallel()
	stage.OnBoth(t, func(t *testing.T, st store.Store) {
		engine, faulty := stage.NewEngineOn(t, st, `{"id": "w", "initial": "s",
			"states": {"s": {"allowed_tools": ["Read"], "stale": {"after": "10m", "call_limit": "30m", "do": "hold"}, "on": {"GO": "z"}}, "z": {"type": "final"}}}`)
		clock := storetest.NewClock()
		a := app.New(faulty, engine, stage.Announcer{}, clock.Now, slog.New(slog.DiscardHandler), app.Config{})
		silence := func() time.Time {
			t.Helper()
			timers, err := st.Due(t.Context(), clock.Now().Add(time.Hour), 10, ledger.KindClock)
			if err != nil || len(timers) > 1 {
				t.Fatalf("timers of silence are %v, %v", timers, err)
			}
			if len(timers) == 0 {
				return time.Time{}
			}
			return timers[0].Due
		}
		ask := func(id, tool string, dry bool) func() error {
			return func() error {
				_, err := a.Checks.Check(t.Context(), stage.Agent, check.Request{Target: enforcer.Target{RunID: "run_1"}, Tool: tool, CallID: id, DryRun: dry})
				return err
			}
		}
		report := func(id, tool string) func() error {
			return func() error {
				_, err := a.Outcomes.Report(t.Context(), stage.Agent, outcome.Report{Target: enforcer.Target{RunID: "run_1"}, CallID: id, Tool: tool, OK: true})
				return err
			}
		}
		for _, step := range []struct {
			name string
			does func() error
			// silent is how long the lane may be silent from then on; 0 keeps its end.
			silent time.Duration
		}{
			{"a dry run", ask("", "Read", true), 0},
			{"an allowed call", ask("r", "Read", false), 30 * time.Minute},
			{"a denied call", ask("w", "Write", false), 0},
			{"a call of an own tool", ask("g", "mcp__interlock__get_state", false), 0},
			{"its report", report("g", "mcp__interlock__get_state"), 0},
			{"the report of the allowed call", report("r", "Read"), 10 * time.Minute},
			{"a repeated report", report("r", "Read"), 0},
		} {
			clock.Advance(time.Minute)
			want := silence()
			if step.silent > 0 {
				want = clock.Now().Add(step.silent)
			}
			if err := step.does(); err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			if got := silence(); !got.Equal(want) {
				t.Errorf("%s: the lane may be silent until %s, want %s", step.name, got, want)
			}
		}
	})
}
