package verify_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/verify"
)

// checked returns the report on a workflow, given without its name and end, and one property of it.
func checked(t *testing.T, workflow, property string) verify.Report {
	t.Helper()
	q := question(t, `{"workflow": {"id": "w", "initial": "a", `+workflow+`}, "properties": {"p": `+property+`}}`)
	return verify.Check(q.Model, q.Properties, verify.Options{Builtin: true})
}

// S25.10: a clock may do its work at any moment, a transition with not_before may be possible, and a window open or closed.
func TestTimeIsExplored(t *testing.T) {
	t.Parallel()
	const always = `"meta": {"enforcement": "always"}, `
	for name, c := range map[string]struct {
		workflow, property string
		want               verify.Verdict
		step               string // of the counterexample
	}{
		"after leads there": {
			always + `"states": {"a": {"after": {"2h": "b"}, "on": {"GO": "z"}}, "b": {"on": {"GO": "z"}}, "z": {"type": "final"}}`,
			`{"never": {"state": "b"}}`, verify.Refuted, `until: "$after:2h"`,
		},
		"after, by a guard that an event satisfies": {
			always + `"context": {"n": 0}, "guards": {"g": {"field": "n", "op": "eq", "value": 7}}, "states": {"a": {"after": {"2h": {"target": "b", "guard": "g"}}, "on": {"SET": "a", "GO": "z"}}, "b": {"on": {"GO": "z"}}, "z": {"type": "final"}}`,
			`{"never": {"state": "b"}}`, verify.Refuted, `until: "$after:2h"`,
		},
		"after, by a guard that nothing satisfies": {
			always + `"context": {"n": 0}, "inputs": [], "guards": {"g": {"field": "n", "op": "eq", "value": 7, "source": "operator"}}, "states": {"a": {"after": {"2h": {"target": "b", "guard": "g"}}, "on": {"GO": "z"}}, "b": {"on": {"GO": "z"}}, "z": {"type": "final"}}`,
			`{"never": {"state": "b"}}`, verify.Proved, "",
		},
		"a deadline leads there": {
			`"meta": {"enforcement": "always", "deadline": {"after": "8h", "target": "late"}}, "states": {"a": {"on": {"GO": "z"}}, "z": {"type": "final"}, "late": {"type": "final", "outcome": "failure"}}`,
			`{"never": {"state": "late"}}`, verify.Refuted, `until: "$deadline"`,
		},
		"silence leads there": {
			always + `"states": {"a": {"stale": {"after": "10m", "do": {"target": "b"}}, "on": {"GO": "z"}}, "b": {"on": {"GO": "z"}}, "z": {"type": "final"}}`,
			`{"never": {"state": "b"}}`, verify.Refuted, `advance: "10m0s"`,
		},
		"inside of a window nobody is asked": {
			`"meta": {"enforcement": "always", "approval_mode": "ui"}, "windows": {"work": {"zone": "UTC", "days": ["sat"]}}, "states": {"a": {"on": {"GO": {"target": "z", "window": "work", "outside": "ask"}}}, "z": {"type": "final"}}`,
			`{"before": {"state": "z"}, "always": {"approval": true}}`, verify.Refuted, `event: "GO"`,
		},
		"a fork that takes too long": {
			always + `"states": {"a": {"on": {"F": {"fork": {"after": "1h", "branches": {"x": {"initial": "b", "terminal": "c"}}, "on_complete": "z", "on_fail": "late"}}}}, "b": {"on": {"T": "c"}}, "c": {"type": "final"}, "late": {"on": {"GO": "z"}}, "z": {"type": "final"}}`,
			`{"never": {"state": "late"}}`, verify.Refuted, `until: "$after:1h"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := checked(t, c.workflow, c.property).Results[0]
			if r.Verdict != c.want {
				t.Fatalf("%s: %s", r.Verdict, r.Reason)
			}
			if c.step != "" && !strings.Contains(string(r.Counterexample.Scenario), c.step) {
				t.Errorf("%s", r.Counterexample.Scenario)
			}
		})
	}
}

// S25.10: ends_without_agent is proved where time alone ends every run, with the bound.
func TestEndsWithoutAgent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		workflow string
		want     verify.Verdict
		words    string
	}{
		"a deadline": {
			`"meta": {"deadline": {"after": "8h", "target": "late"}}, "states": {"a": {"on": {"GO": "b"}}, "b": {"on": {"GO": "z"}}, "z": {"type": "final"}, "late": {"type": "final", "outcome": "failure"}}`,
			verify.Proved, "within 8h0m0s",
		},
		"afters": {
			`"states": {"a": {"after": {"1h": "b"}, "on": {"GO": "b"}}, "b": {"after": {"30m": "z"}, "on": {"GO": "z"}}, "z": {"type": "final"}}`,
			verify.Proved, "within 1h30m0s",
		},
		"a circle": {
			`"states": {"a": {"after": {"1h": "b", "2h": "z"}, "on": {"GO": "b"}}, "b": {"after": {"30m": "a"}, "on": {"GO": "z"}}, "z": {"type": "final"}}`,
			verify.Proved, "no bound is known",
		},
		"a state without": {
			`"states": {"a": {"after": {"1h": "z"}, "on": {"GO": "b"}}, "b": {"on": {"GO": "z"}}, "z": {"type": "final"}}`,
			verify.Refuted, `state "b"`,
		},
		"a guard in the way": {
			`"context": {"n": 0}, "guards": {"g": {"field": "n", "op": "eq", "value": 7}}, "states": {"a": {"after": {"1h": {"target": "z", "guard": "g"}}, "on": {"SET": "a"}}, "z": {"type": "final"}}`,
			verify.Refuted, `state "a"`,
		},
		"a pause": {
			`"meta": {"enforcement": "while_running"}, "states": {"a": {"after": {"1h": "z"}}, "z": {"type": "final"}}`,
			verify.Refuted, "can pause",
		},
		"a handler": {
			`"states": {"a": {"after": {"1h": "z"}}, "h": {"on": {"BACK": "$return"}}, "z": {"type": "final"}}, "interrupts": {"i": {"trigger": {"file_pattern": "x"}, "target": "h"}}`,
			verify.Refuted, `state "h"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := checked(t, c.workflow, `{"ends_without_agent": true}`).Results[0]
			if text := r.Reason + strings.Join(r.Notes, "; "); r.Verdict != c.want || !strings.Contains(text, c.words) {
				t.Errorf("%s: %s", r.Verdict, text)
			}
		})
	}
}

// S25.11: a state with more rights that time alone leads to is warned of.
func TestSilenceGrants(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ workflow, at string }{
		"after": {
			`"states": {"a": {"allowed_tools": ["Read"], "after": {"60m": "b"}, "on": {"GO": "z"}}, "b": {"allowed_tools": ["Edit"], "on": {"GO": "z"}}, "z": {"type": "final"}}`,
			"/states/a/after/60m",
		},
		"stale": {
			`"states": {"a": {"allowed_tools": ["Read"], "stale": {"after": "1h", "do": {"target": "b"}}, "on": {"GO": "z"}}, "b": {"allowed_tools": ["Edit"], "on": {"GO": "z"}}, "z": {"type": "final"}}`,
			"/states/a/stale/do/target",
		},
		"fewer rights": {
			`"states": {"a": {"allowed_tools": ["Edit"], "after": {"1h": "b"}, "on": {"GO": "z"}}, "b": {"allowed_tools": ["Read"], "on": {"GO": "z"}}, "z": {"type": "final"}}`, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := ""
			for _, w := range checked(t, c.workflow, `{"ends_without_agent": true}`).Warnings {
				if w.Code == "SILENCE_GRANTS" {
					found = w.Pointer
				}
			}
			if found != c.at {
				t.Errorf("warned at %q, want %q", found, c.at)
			}
		})
	}
}
