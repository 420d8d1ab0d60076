package app

import (
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// S14.6: tests that run while a call may still change files show nothing, whatever that call is and
// however its end stays away; its end, and the time for which it is at work, make room for others.
func TestEvidenceWhileCallsAreOpen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tool, input string
		// ends says how the call ends; nil for never.
		ends func(t *testing.T, a *App)
		// later is when the tests run again.
		later time.Duration
		held  bool
	}{
		"an edit, not reported":                {tool: "Write", input: string(write("main.go"))},
		"an edit, long ago":                    {tool: "Write", input: string(write("main.go")), later: evidence.AtWork + time.Second, held: true},
		"an edit, reported":                    {tool: "Write", input: string(write("main.go")), ends: reports(witnessed, "", false), held: true},
		"an edit that failed":                  {tool: "Write", input: string(write("main.go")), ends: reports(witnessed, "", true), held: true},
		"an edit, by the agent's word":         {tool: "Write", input: string(write("main.go")), ends: reports(agent, "", false)},
		"an edit that people settle":           {tool: "Write", input: string(write("main.go")), ends: settles(OutcomeNotExecuted), held: true},
		"a tool of a server":                   {tool: "mcp__db__migrate", input: `{}`},
		"a skill":                              {tool: "Skill", input: `{"skill":"x"}`},
		"a monitor, reported":                  {tool: "Monitor", input: `{"command":"sed -i s/a/b/ main.go"}`, ends: reports(witnessed, "", false), later: time.Hour},
		"an unknown program":                   {tool: "Bash", input: `{"command":"mamba run x"}`},
		"in the background, reported":          {tool: "Bash", input: `{"command":"./gen","run_in_background":true}`, ends: reports(witnessed, "", false), later: time.Hour},
		"with &, reported":                     {tool: "Bash", input: `{"command":"./gen & true"}`, ends: reports(witnessed, "", false), later: time.Hour},
		"nohup, reported":                      {tool: "Bash", input: `{"command":"nohup ./gen"}`, ends: reports(witnessed, "", false), later: time.Hour},
		"nohup, settled":                       {tool: "Bash", input: `{"command":"nohup ./gen"}`, ends: settles(OutcomeOK), held: true},
		"a background agent, reported":         {tool: "Task", input: `{"run_in_background":true}`, ends: reports(witnessed, "", false), later: time.Hour},
		"moved to the background":              {tool: "Bash", input: `{"command":"./gen"}`, ends: reports(witnessed, "b1", false), later: time.Hour},
		"moved to the background, and stopped": {tool: "Bash", input: `{"command":"./gen"}`, ends: stopped("b1", witnessed), held: true},
		"stopped, by the agent's word":         {tool: "Bash", input: `{"command":"./gen"}`, ends: stopped("b1", agent), later: time.Hour},
		"another one is stopped":               {tool: "Bash", input: `{"command":"./gen"}`, ends: stopped("b2", witnessed), later: time.Hour},
		"a reader":                             {tool: "Read", input: `{"file_path":"a"}`, held: true},
		"a list of things to do":               {tool: "TodoWrite", input: `{}`, held: true},
		"an agent whose calls are judged":      {tool: "Task", input: `{}`, held: true},
		"a line that reads, in the background": {tool: "Bash", input: `{"command":"tail -f log","run_in_background":true}`, held: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, st store.Store) {
				e, faulty := newEngineOn(t, st, proven)
				a := newApp(e, faulty)
				now := time.Now()
				a.clock = func() time.Time { return now }
				if d := mustCheck(t, a, c.tool, []byte(c.input), "open"); d.Verdict.Decision != toolcall.Allow {
					t.Fatalf("denied: %s", d.Message)
				}
				if c.ends != nil {
					c.ends(t, a)
				}
				now = now.Add(c.later)
				mustCheck(t, a, "Bash", goTest, "t1")
				reportAs(t, a, witnessed, "t1", "Bash", true)
				if s := heldAt(t, e, st, now); s.Held != c.held || !s.Held && s.Missing == "" {
					t.Errorf("%+v", s)
				}
				if open, err := a.Calls(t.Context(), agent, Target{RunID: "run_1"}); err != nil || (len(open) == 0) != c.held {
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
	write := func(t *testing.T, a *App) { mustCheck(t, a, "Write", write("main.go"), "open") }
	tests := func(t *testing.T, a *App) {
		mustCheck(t, a, "Bash", goTest, "t1")
		reportAs(t, a, witnessed, "t1", "Bash", true)
	}
	for name, c := range map[string]struct {
		steps []func(t *testing.T, a *App)
		ends  string
		held  bool
	}{
		"allowed before the tests":          {[]func(*testing.T, *App){write, tests}, OutcomeNotExecuted, true},
		"allowed after the tests":           {[]func(*testing.T, *App){tests, write}, OutcomeNotExecuted, true},
		"claimed by its agent":              {[]func(*testing.T, *App){tests, write, reports(agent, "", false)}, OutcomeNotExecuted, true},
		"it was made":                       {[]func(*testing.T, *App){tests, write}, OutcomeOK, false},
		"it was made, before the tests":     {[]func(*testing.T, *App){write, tests}, OutcomeOK, false},
		"it failed":                         {[]func(*testing.T, *App){tests, write}, OutcomeFailed, false},
		"it left something, as it was seen": {[]func(*testing.T, *App){tests, write, reports(witnessed, "b1", false)}, OutcomeNotExecuted, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, st store.Store) {
				e, faulty := newEngineOn(t, st, proven)
				a := newApp(e, faulty)
				for _, step := range c.steps {
					step(t, a)
				}
				if s := heldNow(t, e, st); s.Held {
					t.Errorf("while it is open: %+v", s)
				}
				settles(c.ends)(t, a)
				if s := heldNow(t, e, st); s.Held != c.held {
					t.Errorf("it was settled as %s: %+v", c.ends, s)
				}
			})
		})
	}
}

func reports(by Caller, background string, failed bool) func(t *testing.T, a *App) {
	return func(t *testing.T, a *App) {
		t.Helper()
		if _, err := a.Report(t.Context(), by, Report{Target: Target{RunID: "run_1"}, CallID: "open", Tool: "x", OK: !failed, Background: background}); err != nil {
			t.Fatal(err)
		}
	}
}

func settles(outcome string) func(t *testing.T, a *App) {
	return func(t *testing.T, a *App) {
		t.Helper()
		if _, err := a.Settle(t.Context(), agent, Target{RunID: "run_1"}, "open", outcome, ""); err != nil {
			t.Fatal(err)
		}
	}
}

// stopped leaves the call in the background as b1, and stops a program.
func stopped(ended string, by Caller) func(t *testing.T, a *App) {
	return func(t *testing.T, a *App) {
		t.Helper()
		reports(witnessed, "b1", false)(t, a)
		mustCheck(t, a, "BashOutput", []byte(`{}`), "stop")
		if _, err := a.Report(t.Context(), by, Report{
			Target: Target{RunID: "run_1"}, CallID: "stop", Tool: "BashOutput", OK: true, BackgroundEnded: ended,
		}); err != nil {
			t.Fatal(err)
		}
	}
}
