package check_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest/stage"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

const explained = `{"id": "w", "initial": "testing", "meta": {"capture_output": true}, "states": {
	"testing": {"allowed_tools": ["Bash", "Read", "Pay", "Mail", "mcp__*"], "allowed_commands": ["go test *", "ls"], "max_iterations": 6,
		"on": {"READY": "implementing", "END": "over"}},
	"implementing": {"allowed_tools": ["Edit"], "on": {"END": "over"}},
	"over": {"type": "final"}}}`

const explainedPolicy = `{"role": "agent", "meta": {"tools": ["Pay", "Mail", "Edit"]}, "deny": [{"capability": "mcp:secret"}], "ask": [{"capability": "tool:Mail"}],
	"allow": [{"capability": "bash", "rate_limit": {"max_calls": 2, "window_seconds": 3600}},
	{"capability": "tool:Pay", "budget_limit": {"max_usd": 1, "period": "daily"}}]}`

func command(line string) []byte { return fmt.Appendf(nil, `{"command": %q}`, line) }

// The explanation agrees with the decision, before a call and after, as the log has it. A denial names the changes
// that would allow the call (S3, S7).
func TestExplain(t *testing.T) {
	t.Parallel()
	s := stage.New(t, explained)
	s.Put(t, "p", explainedPolicy, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	a := s.App()
	decided := map[toolcall.Code]bool{}
	for i, c := range []struct {
		call check.Request
		says string // about a change that would allow it
	}{
		{check.Request{Tool: "Bash", Input: command("go test ./...")}, ""},
		{check.Request{Tool: "Bash", Input: command("ls && git push -f")}, "\"git push -f\" is not among the commands of state \"testing\": \"go test *\", \"ls\". To allow it there, add its first words to /states/testing/allowed_commands of the workflow"},
		{check.Request{Tool: "Bash", Input: command("ls > out.txt")}, "redirects output into a file"},
		{check.Request{Tool: "Bash", Input: command("echo $(")}, "is refused"},
		{check.Request{Tool: "Edit", Input: []byte(`{"file_path": "a", "old_string": "a", "new_string": "b"}`)}, "event \"READY\" leads to \"implementing\", which allows it"},
		{check.Request{Tool: "mcp__secret__read"}, "/deny/0"},
		{check.Request{Tool: "Mail", Input: []byte(`{"to": "a@example.com"}`)}, "needs the approval of a human"},
		{check.Request{Tool: "Bash", Input: command("ls")}, ""},
		{check.Request{Tool: "Bash", Input: command("ls")}, "An operator may raise the limit of rule /allow/0 of policy \"p\", which has counted 2 of 2 calls; it reopens at 2"},
		{check.Request{Tool: "Pay", EstimatedCost: 600_000}, ""},
		{check.Request{Tool: "Pay", EstimatedCost: 600_000}, "has counted 0.6 of 1 USD; it reopens at 2026-11-21T00:00:00Z."},
		{check.Request{Tool: "Read"}, ""},
		{check.Request{Tool: "transition"}, ""},
		{check.Request{Tool: "Read"}, ""},
		{check.Request{Tool: "Read"}, ""},
		{check.Request{Tool: "Read"}, "max_iterations of state \"testing\" is reached, with 6 of 6"},
	} {
		c.call.Explain, c.call.CallID = true, fmt.Sprint("call ", i)
		dry := c.call
		dry.DryRun = true
		probed, real := stage.Ask(t, a, dry), stage.Ask(t, a, c.call)
		decided[real.Verdict.Code] = true
		if diff := cmp.Diff(probed.Explanation, real.Explanation, cmp.AllowUnexported(rules.Verdict{})); diff != "" {
			t.Errorf("call %d is explained before and then (-before +then):\n%s", i, diff)
		}
		agrees(t, real, c.says)
		plain := c.call
		plain.Explain, plain.DryRun = false, true
		if d := stage.Ask(t, a, plain); d.Explanation != nil {
			t.Errorf("call %d is explained without a request", i)
		}
		logged, err := a.Log.Get(t.Context(), "default", decisionlog.CallQuery{RunID: "run_1", CallID: c.call.CallID})
		if err != nil || logged.CallID != c.call.CallID || logged.Code != real.Verdict.Code {
			t.Fatalf("call %d is logged as %+v, %v", i, logged, err)
		}
		why, err := a.Checks.ExplainRecorded(t.Context(), "default", logged)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.call.Input) > 0 != why.InputKept || why.InputKept && cmp.Diff(lineOf(why), lineOf(real.Explanation)) != "" {
			t.Errorf("call %d: the record is explained with %+v", i, why.State.Line)
		}
		if real.Verdict.Decision != toolcall.Allow && len(why.WouldAllow) == 0 {
			t.Errorf("call %d: nothing is said of what would have allowed it: %+v", i, why)
		}
		if real.By != nil && real.By.Policy != "" && (len(why.Policies) == 0 || why.Policies[0].Version != real.By.Version) {
			t.Errorf("call %d: the record is explained by %+v", i, why.Policies)
		}
	}
	for _, code := range []toolcall.Code{
		"", toolcall.CodeCommandNotAllowed, toolcall.CodeCommandWrites, toolcall.CodeCommandUnparsable, toolcall.CodeToolNotAllowed,
		toolcall.CodePolicyDenied, toolcall.CodeApprovalRequired, toolcall.CodeRateLimited, toolcall.CodeBudgetExceeded, toolcall.CodeMaxIterations,
	} {
		if !decided[code] {
			t.Errorf("no call is decided with %q: %v", code, decided)
		}
	}
}

func lineOf(e *check.Explanation) *toolcall.Line { return e.State.Line }

// agrees demands that an explanation leads to the decision.
func agrees(t *testing.T, d *check.Decision, says string) {
	t.Helper()
	e := d.Explanation
	verdicts := make([]rules.Verdict, len(e.Policies))
	for i := range e.Policies {
		p := &e.Policies[i]
		verdicts[i] = p.Verdict
		deciding := 0
		for _, r := range p.Rules {
			if r.Decides {
				deciding++
				if !r.Matches || r.Effect != p.Verdict.Decision {
					t.Errorf("%s: rule %s decides %s and %v", d.Tool, r.By.Pointer(), r.Effect, r.Matches)
				}
			}
		}
		if deciding != 1 {
			t.Errorf("%s: %d rules decide: %+v", d.Tool, deciding, p.Rules)
		}
	}
	full := false
	for i := range e.Limits {
		full = full || e.Limits[i].Full()
	}
	all := rules.Combine(e.State.Verdict, verdicts, nil)
	want := all.Decision
	if full {
		want = toolcall.Deny
	}
	if d.Verdict.Decision != want {
		t.Errorf("%s is %s, and explained as %s: %+v", d.Tool, d.Verdict.Decision, want, e)
	}
	if allowed := d.Verdict.Decision == toolcall.Allow; allowed != (len(e.WouldAllow) == 0) || !strings.Contains(strings.Join(e.WouldAllow, " "), says) {
		t.Errorf("%s is %s, and what would allow it is %q; want %q", d.Tool, d.Verdict.Decision, e.WouldAllow, says)
	}
}

// The limits of a call have their counts before it and with it.
func TestExplainLimits(t *testing.T) {
	t.Parallel()
	s := stage.New(t, explained)
	s.Put(t, "p", explainedPolicy, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	a := s.App()
	call := check.Request{Tool: "Pay", EstimatedCost: 250_000, Explain: true}
	for i := range int64(3) {
		e := stage.Ask(t, a, call).Explanation
		if len(e.Limits) != 2 {
			t.Fatalf("the limits are %+v", e.Limits)
		}
		entry, money := e.Limits[0], e.Limits[1]
		if entry.Measure != check.MeasureIterations || entry.Used != i || entry.After != i+1 || entry.Max != 6 || entry.Scope != check.PerEntry {
			t.Errorf("the state's is %+v", entry)
		}
		if money.Measure != rules.Money || money.Policy != "p" || money.Rule != "/allow/1" || money.Used != i*250_000 || money.After != (i+1)*250_000 ||
			money.Max != 1_000_000 || money.Period != rules.Daily || !money.ResetsAt.Equal(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("the policy's is %+v", money)
		}
	}
}

// A record of an allowed call names no change that would allow it: the approval was given, and the limit had room.
func TestExplainAllowed(t *testing.T) {
	t.Parallel()
	s := stage.New(t, explained)
	s.Put(t, "p", explainedPolicy, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	a := s.App()
	mail := check.Request{Tool: "Mail", Input: []byte(`{"to": "a@example.com"}`), CallID: "mail"}
	stage.Expect(t, stage.Ask(t, a, mail), toolcall.Ask, toolcall.CodeApprovalRequired, "apr_1")
	s.Approvals.Decide("apr_1", consent.Granted)
	stage.Expect(t, stage.Ask(t, a, mail), toolcall.Allow, "")
	for _, id := range []string{"ls 1", "ls 2"} {
		stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "Bash", Input: command("ls"), CallID: id}), toolcall.Allow, "")
	}
	for _, id := range []string{"mail", "ls 2"} {
		record, err := a.Log.Get(t.Context(), "default", decisionlog.CallQuery{RunID: "run_1", CallID: id})
		if err != nil || record.Decision != toolcall.Allow {
			t.Fatalf("%s is recorded as %+v, %v", id, record, err)
		}
		e, err := a.Checks.ExplainRecorded(t.Context(), "default", record)
		if err != nil || len(e.Policies) != 1 || len(e.WouldAllow) != 0 {
			t.Errorf("%s, which was allowed, is explained by %+v, %v", id, e, err)
		}
	}
}

// A record is explained by the version of the policy that decided it, not by the live one.
func TestExplainOldPolicy(t *testing.T) {
	t.Parallel()
	s := stage.New(t, explained)
	s.Put(t, "p", explainedPolicy, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	s.Put(t, "q", `{"role": "agent", "allow": [{"capability": "bash"}]}`, policystore.Indexed{Attachments: []policystore.Attachment{{Kind: policystore.AttachedToWorkflow, ID: "w"}}})
	a := s.App()
	stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "mcp__secret__read", CallID: "c"}), toolcall.Deny, toolcall.CodePolicyDenied)
	s.Put(t, "p", `{"role": "agent", "allow": [{"capability": "mcp:secret"}]}`, policystore.Indexed{Live: 2, Attachments: stage.ToRole(auth.Agent)})
	record, err := a.Log.Get(t.Context(), "default", decisionlog.CallQuery{RunID: "run_1", CallID: "c"})
	if err != nil {
		t.Fatal(err)
	}
	e, err := a.Checks.ExplainRecorded(t.Context(), "default", record)
	if err != nil || len(e.Policies) != 2 || e.Policies[0].Name != "q" || e.Policies[0].Scope != "workflow w" || e.Policies[1].Name != "p" || e.Policies[1].Version != 1 ||
		e.Policies[1].Verdict.Decision != toolcall.Deny {
		t.Errorf("it is explained by %+v, %v", e, err)
	}
	now := stage.Ask(t, a, check.Request{Tool: "mcp__secret__read", DryRun: true, Explain: true}).Explanation
	if len(now.Policies) != 2 || now.Policies[1].Version != 2 && now.Policies[0].Version != 2 || len(now.WouldAllow) != 0 {
		t.Errorf("now it is explained by %+v", now)
	}
}

// A call that no state could have decided has no explanation, and a wrong place none either.
func TestGetDecisionOfNoRun(t *testing.T) {
	t.Parallel()
	s := stage.New(t, explained)
	s.Put(t, "p", explainedPolicy, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	a := s.App()
	d, err := a.Checks.Check(t.Context(), stage.Agent, check.Request{Target: enforcer.Target{SessionID: "nobody"}, Tool: "mcp__secret__read", CallID: "c", Explain: true})
	if err != nil || d.Verdict.Code != toolcall.CodePolicyDenied || len(d.Explanation.Policies) != 1 {
		t.Fatalf("%+v, %v", d, err)
	}
	record, err := a.Log.Get(t.Context(), "default", decisionlog.CallQuery{SessionID: "nobody", CallID: "c"})
	if err != nil || record.Code != toolcall.CodePolicyDenied || record.RunID != "" {
		t.Fatalf("%+v, %v", record, err)
	}
	if e, err := a.Checks.ExplainRecorded(t.Context(), "default", record); err != nil || len(e.Policies) != 1 || len(e.WouldAllow) == 0 {
		t.Errorf("it is explained by %+v, %v", e, err)
	}
	_, err = a.Log.Get(t.Context(), "default", decisionlog.CallQuery{SessionID: "somebody", CallID: "c"})
	if fault.ReasonOf(err) != fault.NotFound {
		t.Errorf("another session's is answered %v", err)
	}
}

// S2.9: a recorded call without enforcement is explained by the reason.
func TestRecordedCallThatIsNotEnforced(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.Open)
	a := s.App()
	var reasons []string
	a.Checks.Measure = func(o *check.Measured) { reasons = append(reasons, string(o.Code)+":"+o.Reason) }
	stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "Write"}), toolcall.Allow, "")
	s.Engine.Fire(t, "END")
	stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "Write", CallID: "c"}), toolcall.Allow, toolcall.CodeNotEnforced)
	if want := []string{":", "NOT_ENFORCED:" + toolcall.HasEnded}; !slices.Equal(reasons, want) {
		t.Errorf("metrics hear of %q, want %q", reasons, want)
	}
	record, err := a.Log.Get(t.Context(), "default", decisionlog.CallQuery{RunID: s.Engine.Current.ID, CallID: "c"})
	if err != nil {
		t.Fatal(err)
	}
	e, err := a.Checks.ExplainRecorded(t.Context(), "default", record)
	if err != nil || e.State.Verdict.Code != toolcall.CodeNotEnforced || e.StateMessage != toolcall.HasEnded {
		t.Errorf("it is explained by %+v, %v", e, err)
	}
}
