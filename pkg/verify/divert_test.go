package verify_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/verify"
)

// Only a call that edits files fires an interrupt: a counterexample makes one, and where none is
// allowed there is no counterexample.
func TestInterruptsNeedEdits(t *testing.T) {
	t.Parallel()
	for tool, want := range map[string]verify.Verdict{"Edit": verify.Refuted, "Read": verify.Undecided} {
		q := question(t, `{"workflow": {"id": "w", "initial": "a", "states": {"a": {"allowed_tools": ["`+tool+`"], "on": {"GO": "end"}},
			"look": {"allowed_tools": ["Read"], "on": {"BACK": "$return"}}, "end": {"type": "final"}},
			"interrupts": {"sql": {"trigger": {"file_pattern": "db/**/*.sql"}, "target": "look"}}, "meta": {"enforcement": "always"}},
			"properties": {"no look": {"never": {"state": "look"}}}}`)
		r := verify.Check(q.Model, q.Properties, verify.Options{}).Results[0]
		if r.Verdict != want {
			t.Errorf("%s: %s %s", tool, r.Verdict, r.Reason)
		}
		if want == verify.Refuted && !strings.Contains(string(r.Counterexample.Scenario), "- call: {\"tool\":\"Edit\"") {
			t.Errorf("%s", r.Counterexample.Scenario)
		}
	}
}
