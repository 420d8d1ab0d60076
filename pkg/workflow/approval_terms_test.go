package workflow_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/workflow"
)

const withTerms = `{"id": "w", "initial": "a", "meta": {"approval": {"approvers": {"names": ["ann", "bob", "cid"]}, "terms": %s}},
	"states": {"a": {"on": {"X": {"target": "z", "requires_approval": true}}}, "z": {"type": "final"}}}`

// TestApprovalTerms: S21.15: every term that holds or is in doubt applies, by the facts of the call or event.
func TestApprovalTerms(t *testing.T) {
	t.Parallel()
	def, problems := workflow.Parse(fmt.Appendf(nil, withTerms, `[
		{"when": {"/amount": {"gte": 10000}}, "required": 2},
		{"when": {"/role": {"exists": true, "contains": "admin"}}, "approvers": {"names": ["sec"]}},
		{"when": {"git.verb": ["push"]}, "required": 3}]`))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	m := workflow.Compile(def, 1)
	for input, want := range map[string]string{ // of an event, which is no push
		`{"amount": 9999}`:                            "1",
		`{"amount": 10000}`:                           "2 /0",
		`{"amount": 1e4}`:                             "2 /0",
		`{"amount": "9999"}`:                          "2 /0", // in doubt
		`{}`:                                          "2 /0",
		`{"amount": 1, "Amount": 20000}`:              "2 /0",
		`{"amount": 1, "role": "reader"}`:             "1",
		`{"amount": 1, "role": "db-admin"}`:           "1 /1",
		`{"amount": 1, "role": 7}`:                    "1 /1",
		`{"amount": 20000, "role": "db-admin"}`:       "2 /0 /1",
		`{"amount": 9999.99999999999999999999999999}`: "2 /0", // programs with doubles read 10000
	} {
		v, problem := document.Parse([]byte(input), document.Limits{})
		if problem != nil {
			t.Fatal(problem)
		}
		terms := m.ApprovalFor(facet.OfEvent(facet.Event{Data: v, Actor: "agent", State: "a", Workflow: "w"}))
		got := fmt.Sprint(max(terms.Required, 1))
		for _, c := range terms.Also {
			got += " " + strings.TrimPrefix(c.Term, "/meta/approval/terms")
		}
		if got != want {
			t.Errorf("%s: %s, want %s", input, got, want)
		}
	}
	push := facet.Of(facet.Subject{Tool: "Bash", Input: []byte(`{"command": "git push", "amount": 1, "role": "x"}`), SessionDepth: -1})
	if terms := m.ApprovalFor(push); terms.Required != 3 || len(terms.Also) != 1 {
		t.Errorf("a push: %+v", terms)
	}
	if terms := m.ApprovalFor(nil); terms.Required != 3 || len(terms.Also) != 3 {
		t.Errorf("without facts: %+v", terms)
	}
	if !m.ApprovalReadsInput() {
		t.Error("terms look at pointers")
	}
}

// TestApprovalTermsOfEvents: S21.15: an event has no values of the facets of calls, and its data is the input.
func TestApprovalTermsOfEvents(t *testing.T) {
	t.Parallel()
	for when, applies := range map[string]bool{
		`{"writes": ["infra/**"]}`:                     false,
		`{"money": {"gte": 1}}`:                        false,
		`{"not": {"writes": ["docs/**"]}}`:             false, // an event writes no file
		`{"state": "a"}`:                               true,
		`{"state": "b"}`:                               false,
		`{"workflow": "w", "caller.name": "agent"}`:    true,
		`{"caller.role": "agent"}`:                     true, // not known
		`{"session.root": "s"}`:                        true,
		`{"session.root": "other"}`:                    false,
		`{"session.depth": {"gte": 5}}`:                true, // not known
		`{"anywhere": {"contains": "prod"}}`:           true,
		`{"/env": "prod"}`:                             true,
		`{"/env": "test"}`:                             false,
		`{"any": [{"/env": "test"}, {"/other": "x"}]}`: true,
		`{"all": [{"/env": "test"}, {"/other": "x"}]}`: false,
	} {
		def, problems := workflow.Parse(fmt.Appendf(nil, withTerms, `[{"when": `+when+`, "required": 2}]`))
		if problems.HasErrors() {
			t.Fatal(when, problems)
		}
		data := document.ObjectValue([]document.Member{{Name: "env", Value: document.StringValue("prod")}})
		terms := workflow.Compile(def, 1).ApprovalFor(facet.OfEvent(facet.Event{Data: data, Actor: "agent", Root: "s", State: "a", Workflow: "w"}))
		if got := terms.Required == 2; got != applies {
			t.Errorf("%s: %t, want %t", when, got, applies)
		}
	}
}

// TestApprovalTermsAreChecked: S21.15: terms without a demand, or that can never be met, are errors with a fix.
func TestApprovalTermsAreChecked(t *testing.T) {
	t.Parallel()
	for terms, want := range map[string]string{
		`[]`:                                   "is empty",
		`{}`:                                   "list",
		`[1]`:                                  "a term of an approval",
		`[{"required": 2}]`:                    `"when"`,
		`[{"when": {"/a": 1}}]`:                `add "required"`,
		`[{"when": {}, "required": 2}]`:        "empty",
		`[{"when": {"/a": 1}, "required": 0}]`: "required",
		`[{"when": {"/a": 1}, "required": 4}]`: "only 3 of the named people",
		`[{"when": {"/a": 1}, "required": 2, "approvers": {"names": ["sec"]}}]`: "needs 2 approvals of sec, but only 1",
		`[{"when": {"/a": 1}, "approvers": {"groups": ["security"]}}]`:          `fields: "roles", "names"`,
		`[{"when": {"/a": 1}, "approvers": {"roles": ["agent"]}}]`:              "agents never decide",
		`[{"when": {"/a": 1}, "required": 2, "quorum": 2}]`:                     `has no field "quorum"`,
		`[{"if": {"/a": 1}, "required": 2}]`:                                    `has no field "if"`,
		`[{"when": {"time": "night"}, "required": 2}]`:                          "windows",
		`[{"when": {"/a": {"gt": 1}}, "deny_threshold": 2}]`:                    `has no field "deny_threshold"`,
	} {
		_, problems := workflow.Parse(fmt.Appendf(nil, withTerms, terms))
		if !problems.HasErrors() || !strings.Contains(fmt.Sprint(problems), want) {
			t.Errorf("%s: %v, want %q", terms, problems, want)
		}
	}
}

// TestDroppedTerms: S21.15, S17.3: a version without a term, or with another one, may ask for less.
func TestDroppedTerms(t *testing.T) {
	t.Parallel()
	meta := func(terms string) workflow.Meta {
		def, problems := workflow.Parse(fmt.Appendf(nil, withTerms, terms))
		if problems.HasErrors() {
			t.Fatal(terms, problems)
		}
		return workflow.Compile(def, 1).Meta()
	}
	const a, b = `{"when": {"/a": {"gte": 100}}, "required": 2}`, `{"when": {"/b": "x"}, "approvers": {"names": ["sec"]}}`
	both := meta(`[` + a + `,` + b + `]`)
	for terms, want := range map[string]struct{ drops, same bool }{
		`[` + a + `,` + b + `]`: {false, true}, `[` + b + `,` + a + `]`: {false, false}, `[` + a + `]`: {true, false},
		`[` + a + `,` + b + `,{"when": {"/c": 1}, "required": 3}]`:  {false, false},
		`[{"when": {"/a": {"gte": 200}}, "required": 2},` + b + `]`: {true, false},
		`[{"when": {"/a": {"gte": 1e2}}, "required": 3},` + b + `]`: {true, false},
		`[{"when": {"/a": {"gte": 1e2}}, "required": 2},` + b + `]`: {false, true},
	} {
		other := meta(terms)
		if got := both.DropsApprovalTerm(&other); got != want.drops {
			t.Errorf("%s: drops %t", terms, got)
		}
		if got := both.SameApproval(&other); got != want.same {
			t.Errorf("%s: the same %t", terms, got)
		}
	}
}
