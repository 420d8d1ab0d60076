package outcome_test

import (
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest/stage"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/outcome"
)

// S14.6: tests that run while a call may still change files give no evidence, for all kinds of calls and missing
// ends. After the end of the call, or the time for which it is at work, tests count again.
func TestEvidenceWhileCallsAreOpen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tool, input string
		// ends says how the call ends; nil for never.
		ends func(t *testing.T, a *app.App)
		// later is when the tests run again.
		later time.Duration
		held  bool
	}{
		"an edit, not reported":                {tool: "Write", input: string(stage.Write("main.go"))},
		"an edit, long ago":                    {tool: "Write", input: string(stage.Write("main.go")), later: evidence.AtWork + time.Second, held: true},
		"an edit, reported":                    {tool: "Write", input: string(stage.Write("main.go")), ends: reports(stage.Witnessed, "", false), held: true},
		"an edit that failed":                  {tool: "Write", input: string(stage.Write("main.go")), ends: reports(stage.Witnessed, "", true), held: true},
		"an edit, by the agent's word":         {tool: "Write", input: string(stage.Write("main.go")), ends: reports(stage.Agent, "", false)},
		"an edit that people settle":           {tool: "Write", input: string(stage.Write("main.go")), ends: settles(outcome.NotExecuted), held: true},
		"a tool of a server":                   {tool: "mcp__db__migrate", input: `{}`},
		"a skill":                              {tool: "Skill", input: `{"skill":"x"}`},
		"a monitor, reported":                  {tool: "Monitor", input: `{"command":"sed -i s/a/b/ main.go"}`, ends: reports(stage.Witnessed, "", false), later: time.Hour},
		"an unknown program":                   {tool: "Bash", input: `{"command":"mamba run x"}`},
		"in the background, reported":          {tool: "Bash", input: `{"command":"./gen","run_in_background":true}`, ends: reports(stage.Witnessed, "", false), later: time.Hour},
		"with &, reported":                     {tool: "Bash", input: `{"command":"./gen & true"}`, ends: reports(stage.Witnessed, "", false), later: time.Hour},
		"nohup, reported":                      {tool: "Bash", input: `{"command":"nohup ./gen"}`, ends: reports(stage.Witnessed, "", false), later: time.Hour},
		"nohup, settled":                       {tool: "Bash", input: `{"command":"nohup ./gen"}`, ends: settles(outcome.OK), held: true},
		"a background agent, reported":         {tool: "Task", input: `{"run_in_background":true}`, ends: reports(stage.Witnessed, "", false), later: time.Hour},
		"moved to the background":              {tool: "Bash", input: `{"command":"./gen"}`, ends: reports(stage.Witnessed, "b1", false), later: time.Hour},
		"moved to the background, and stopped": {tool: "Bash", input: `{"command":"./gen"}`, ends: stopped("b1", stage.Witnessed), held: true},
		"stopped, by the agent's word":         {tool: "Bash", input: `{"command":"./gen"}`, ends: stopped("b1", stage.Agent), later: time.Hour},
		"another one is stopped":               {tool: "Bash", input: `{"command":"./gen"}`, ends: stopped("b2", stage.Witnessed), later: time.Hour},
		"a reader":                             {tool: "Read", input: `{"file_path":"a"}`, held: true},
		"a list of things to do":               {tool: "TodoWrite", input: `{}`, held: true},
		"an agent whose calls are judged":      {tool: "Task", input: `{}`, held: true},
		"a line that reads, in the background": {tool: "Bash", input: `{"command":"tail -f log","run_in_background":true}`, held: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stage.OnBoth(t, func(t *testing.T, st store.Store) {
				e, faulty := stage.NewEngineOn(t, st, stage.Proven)
				now := time.Now()
				a := stage.AppAt(e, faulty, func() time.Time { return now })
				if d := stage.MustCheck(t, a, c.tool, []byte(c.input), "open"); d.Verdict.Decision != toolcall.Allow {
					t.Fatalf("denied: %s", d.Message)
				}
				if c.ends != nil {
					c.ends(t, a)
				}
				now = now.Add(c.later)
				stage.MustCheck(t, a, "Bash", stage.GoTest, "t1")
				stage.ReportAs(t, a, stage.Witnessed, "t1", "Bash", true)
				if s := stage.HeldAt(t, e, st, now); s.Held != c.held || !s.Held && s.Missing == "" {
					t.Errorf("%+v", s)
				}
				if open, err := a.Outcomes.Calls(t.Context(), stage.Agent, enforcer.Target{RunID: "run_1"}); err != nil || (len(open) == 0) != c.held {
					t.Errorf("%d calls are listed as open, %v", len(open), err)
				}
			})
		})
	}
}

// S14.6: tests that passed before stand again once people say that the open call was never made,
// at any time of its permission, and against any word of its agent.
func TestNotExecutedVoidsNothing(t *testing.T) {
	t.Parallel()
	write := func(t *testing.T, a *app.App) { stage.MustCheck(t, a, "Write", stage.Write("main.go"), "open") }
	tests := func(t *testing.T, a *app.App) {
		stage.MustCheck(t, a, "Bash", stage.GoTest, "t1")
		stage.ReportAs(t, a, stage.Witnessed, "t1", "Bash", true)
	}
	for name, c := range map[string]struct {
		steps []func(t *testing.T, a *app.App)
		ends  string
		held  bool
	}{
		"allowed before the tests":          {[]func(*testing.T, *app.App){write, tests}, outcome.NotExecuted, true},
		"allowed after the tests":           {[]func(*testing.T, *app.App){tests, write}, outcome.NotExecuted, true},
		"claimed by its agent":              {[]func(*testing.T, *app.App){tests, write, reports(stage.Agent, "", false)}, outcome.NotExecuted, true},
		"it was made":                       {[]func(*testing.T, *app.App){tests, write}, outcome.OK, false},
		"it was made, before the tests":     {[]func(*testing.T, *app.App){write, tests}, outcome.OK, false},
		"it failed":                         {[]func(*testing.T, *app.App){tests, write}, outcome.Failed, false},
		"it left something, as it was seen": {[]func(*testing.T, *app.App){tests, write, reports(stage.Witnessed, "b1", false)}, outcome.NotExecuted, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stage.OnBoth(t, func(t *testing.T, st store.Store) {
				e, faulty := stage.NewEngineOn(t, st, stage.Proven)
				a := stage.NewApp(e, faulty)
				for _, step := range c.steps {
					step(t, a)
				}
				if s := stage.HeldNow(t, e, st); s.Held {
					t.Errorf("while it is open: %+v", s)
				}
				settles(c.ends)(t, a)
				if s := stage.HeldNow(t, e, st); s.Held != c.held {
					t.Errorf("it was settled as %s: %+v", c.ends, s)
				}
			})
		})
	}
}

func reports(by enforcer.Caller, background string, failed bool) func(t *testing.T, a *app.App) {
	return func(t *testing.T, a *app.App) {
		t.Helper()
		if _, err := a.Outcomes.Report(t.Context(), by, outcome.Report{Target: enforcer.Target{RunID: "run_1"}, CallID: "open", Tool: "x", OK: !failed, Background: background}); err != nil {
			t.Fatal(err)
		}
	}
}

func settles(outcome string) func(t *testing.T, a *app.App) {
	return func(t *testing.T, a *app.App) {
		t.Helper()
		if _, err := a.Outcomes.Settle(t.Context(), stage.Agent, enforcer.Target{RunID: "run_1"}, "open", outcome, ""); err != nil {
			t.Fatal(err)
		}
	}
}

// stopped leaves the call in the background as b1, and stops a program.
func stopped(ended string, by enforcer.Caller) func(t *testing.T, a *app.App) {
	return func(t *testing.T, a *app.App) {
		t.Helper()
		reports(stage.Witnessed, "b1", false)(t, a)
		stage.MustCheck(t, a, "BashOutput", []byte(`{}`), "stop")
		if _, err := a.Outcomes.Report(t.Context(), by, outcome.Report{
			Target: enforcer.Target{RunID: "run_1"}, CallID: "stop", Tool: "BashOutput", OK: true, BackgroundEnded: ended,
		}); err != nil {
			t.Fatal(err)
		}
	}
}
