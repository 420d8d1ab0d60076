package check_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest/stage"
)

// A call for one version of a run is decided at that version only: with an old cache, and after the run has moved. Other calls
// leave no record.
func TestOnlyAtAVersion(t *testing.T) {
	t.Parallel()
	e, st := stage.NewEngine(t)
	a, other := stage.NewApp(e, st), stage.NewApp(e, st)
	at := func(run string, version int64, tool, call string) (*check.Decision, error) {
		return a.Checks.Check(t.Context(), stage.Agent, check.Request{
			Target: enforcer.Target{RunID: "run_1"}, Tool: tool, CallID: call, IfRun: run, IfVersion: version,
		})
	}
	if d, err := at("run_1", 1, "Read", "first"); err != nil || d.Verdict.Decision != toolcall.Allow {
		t.Fatalf("%+v, %v", d, err)
	}
	e.Fire(t, "READY") // the cache is old now
	if d, err := at("run_1", 2, "Edit", "second"); err != nil || d.Verdict.Decision != toolcall.Allow {
		t.Errorf("at the new version: %+v, %v", d, err)
	}
	before := len(stage.Payloads(t, st))
	for name, test := range map[string]struct {
		run     string
		version int64
	}{"an old version": {"run_1", 1}, "a version to come": {"run_1", 3}, "another run": {"run_2", 2}} {
		if d, err := at(test.run, test.version, "Edit", "third"); fault.ReasonOf(err) != fault.VersionConflict {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
	if after := len(stage.Payloads(t, st)); after != before {
		t.Errorf("%d events of calls that were not decided", after-before)
	}
	// The id of such a call is free.
	if d := stage.Check(t, other, "Edit", "third"); d.Verdict.Decision != toolcall.Allow {
		t.Errorf("%+v", d)
	}
}
