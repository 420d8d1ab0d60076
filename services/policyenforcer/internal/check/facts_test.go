package check_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest/stage"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

// S21: policies see what a call does, a dry run decides and explains the same, and the log has the values that
// they look at, without secrets and within bounds.
func TestPoliciesSeeTheCall(t *testing.T) {
	t.Parallel()
	s := stage.New(t, `{"id": "w", "initial": "a", "states": {"a": {"on": {"GO": "z"}}, "z": {"type": "final"}}}`)
	s.Put(t, "p", `{"role": "agent", "deny": [{"id": "too much", "capability": "mcp:bank:send", "when": {"/amount": {"gt": 100}}},
		{"capability": "mcp:bank:send", "when": {"/api_token": "none"}}]}`,
		policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	a := s.App()
	send := func(input string) check.Request {
		return check.Request{Tool: "mcp__bank__send", Input: []byte(input), Explain: true}
	}
	for input, code := range map[string]toolcall.Code{
		`{"amount": 99, "api_token": "hunter2"}`:   "",
		`{"amount": 101, "api_token": "hunter2"}`:  toolcall.CodePolicyDenied,
		`{"amount": "99", "api_token": "hunter2"}`: toolcall.CodeCallUnclear,
		`{"api_token": "hunter2"}`:                 toolcall.CodeCallUnclear,
	} {
		d := stage.Ask(t, a, send(input))
		dry := send(input)
		dry.DryRun = true
		same := stage.Ask(t, a, dry)
		if d.Verdict.Code != code || same.Verdict.Code != code || same.Message != d.Message {
			t.Errorf("%s: %s %q, and in a dry run %s %q", input, d.Verdict.Code, d.Message, same.Verdict.Code, same.Message)
		}
		rule := d.Explanation.Policies[0].Rules[0]
		if len(rule.Conditions) != 1 || rule.Unclear != (code == toolcall.CodeCallUnclear) || rule.Matches != (code == toolcall.CodePolicyDenied) {
			t.Errorf("%s is explained by %+v", input, rule)
		}
	}
	facts := logged(t, s)
	if got := strings.Join(facts, " "); strings.Contains(got, "hunter2") || !strings.Contains(got, `"/amount":[101]`) {
		t.Errorf("the log has %s", got)
	}
}

// Facts are bounded in the log, and say when some are left out.
func TestLoggedFactsAreBounded(t *testing.T) {
	t.Parallel()
	s := stage.New(t, `{"id": "w", "initial": "a", "states": {"a": {"on": {"GO": "z"}}, "z": {"type": "final"}}}`)
	s.Put(t, "p", `{"role": "agent", "deny": [{"capability": "mcp:x:y", "when": {"any": [{"/a": "a"}, {"/b": "b"}, {"/c": "c"}]}}]}`,
		policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	a := s.App()
	long := strings.Repeat("x", 3_000)
	for _, input := range []string{`{"a":"x","b":"` + long + `","c":"` + long + `"}`, `{"a":"` + long + long + `","b":"x","c":"x"}`, `{"a":"x","b":"x","c":"x"}`} {
		stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "mcp__x__y", Input: []byte(input)}), toolcall.Allow, "")
	}
	omitted := 0
	for _, facts := range logged(t, s) {
		if len(facts) > 4<<10 || !json.Valid([]byte(facts)) {
			t.Errorf("%d bytes: %s", len(facts), facts)
		}
		omitted += strings.Count(facts, "[omitted]")
	}
	if omitted != 2 {
		t.Errorf("%d records leave values out", omitted)
	}
}

// logged returns the facts of every record of the run.
func logged(t *testing.T, s *stage.Stage) []string {
	t.Helper()
	entries, err := s.Store.History(t.Context(), decisionlog.PartitionKey("default", "run_1"), 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	var facts []string
	for _, entry := range entries {
		record, err := ledger.DecodeDecision("run_1", entry)
		if err != nil {
			t.Fatal(err)
		}
		facts = append(facts, string(record.Facts))
	}
	return facts
}

// TestDescriptionsAreTheirAuthors: the description of a workflow is known to its states alone, and that of a policy to that
// policy alone: no other can describe a tool otherwise for the rules of another (S21.14).
func TestDescriptionsAreTheirAuthors(t *testing.T) {
	t.Parallel()
	const workflow = `{"id": "w", "initial": "a", "meta": {"tools": {"mcp__web__get": {"urls": ["/url"], "closed": true}}}, "states": {
		"a": {"calls": [{"capability": "mcp:web", "only": {"host": "good.example"}}], "on": {"GO": "z"}}, "z": {"type": "final"}}}`
	s := stage.New(t, workflow)
	a := s.App()
	ask := func(host string) *check.Decision {
		return stage.Ask(t, a, check.Request{Tool: "mcp__web__get", Input: []byte(`{"url": "https://` + host + `/"}`)})
	}
	stage.Expect(t, ask("good.example"), toolcall.Allow, "")
	stage.Expect(t, ask("evil.org"), toolcall.Deny, toolcall.CodeCallNotAllowed)

	s = stage.New(t, workflow)
	s.Put(t, "p", `{"role": "agent", "deny": [{"capability": "mcp:web", "unless": {"host": ["good.example", "evil.org"]}}]}`,
		policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	a = s.App()
	stage.Expect(t, ask("good.example"), toolcall.Deny, toolcall.CodeCallUnclear)

	s = stage.New(t, strings.Replace(workflow, `"urls": ["/url"]`, `"hosts": []`, 1))
	s.Put(t, "p", `{"role": "agent", "meta": {"tools": {"mcp__web__get": {"urls": ["/url"]}}},
		"deny": [{"capability": "mcp:web", "unless": {"host": "good.example"}}]}`, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	a = s.App()
	if d := stage.Ask(t, a, check.Request{Tool: "mcp__web__get", Input: []byte(`{"url": "https://evil.org/"}`)}); d.Verdict.Decision != toolcall.Deny {
		t.Errorf("the policy goes by the description of the workflow: %+v", d)
	}
}
