package hook_test

import (
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/hook"
)

// TestStandingLine: S13.15, each session begins with a line that says whether rules are enforced, to the person and to the agent.
func TestStandingLine(t *testing.T) {
	t.Parallel()
	with := func(status enginev1.RunStatus, enforcement string) *enginev1.Run {
		run := proto.Clone(planning).(*enginev1.Run)
		run.Status, run.WorkflowMeta = status, &enginev1.WorkflowMeta{Enforcement: enforcement}
		return run
	}
	policy := &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_ALLOW, Explanation: &policyv1.Explanation{
		Policies: []*policyv1.PolicyReason{{Policy: "house", Rules: []*policyv1.RuleReason{{Capability: "tool:Bash", Effect: policyv1.RuleEffect_RULE_EFFECT_DENY}, {Effect: policyv1.RuleEffect_RULE_EFFECT_ALLOW}}}},
	}}
	empty := &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_ALLOW, Explanation: &policyv1.Explanation{Policies: []*policyv1.PolicyReason{
		{Policy: "house", Rules: []*policyv1.RuleReason{{Effect: policyv1.RuleEffect_RULE_EFFECT_ALLOW}}},
	}}}
	shadows := &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_ALLOW, Explanation: &policyv1.Explanation{}}
	halted := &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_DENY}
	for name, c := range map[string]struct {
		s    services
		opts hook.Options
		want string
	}{
		"a run":                          {services{run: planning}, hook.Options{Observe: true}, `Interlock: enforcing workflow "bugfix", state "planning".`},
		"a run that has succeeded":       {services{run: with(enginev1.RunStatus_RUN_STATUS_COMPLETED, "until_success")}, hook.Options{}, "Interlock: NOT enforcing, because run run_1 of workflow \"bugfix\" is COMPLETED"},
		"its agent has paused it":        {services{run: with(enginev1.RunStatus_RUN_STATUS_PAUSED, "while_running")}, hook.Options{}, "Interlock: NOT enforcing, because run run_1"},
		"a run that an operator holds":   {services{run: with(enginev1.RunStatus_RUN_STATUS_HELD, "until_success")}, hook.Options{}, "Interlock: enforcing. run run_1 of workflow \"bugfix\" is HELD"},
		"a run of another workflow":      {services{run: planning}, hook.Options{Workflow: "release"}, "Interlock: enforcing. The session drives a run of another workflow"},
		"a workflow, and no run yet":     {services{started: planning}, hook.Options{Workflow: "bugfix", Observe: true}, `Interlock: enforcing workflow "bugfix"`},
		"no run, no policy":              {services{}, hook.Options{}, "Interlock: NOT enforcing, because the workspace is set up for no workflow and no policy applies."},
		"no run, policies":               {services{decision: policy}, hook.Options{}, "Interlock: enforcing policies, and no workflow."},
		"no run, a policy without rules": {services{decision: empty}, hook.Options{}, "Interlock: NOT enforcing, because the workspace is set up for no workflow and no policy applies."},
		"no run, only shadows":           {services{decision: shadows}, hook.Options{}, "Interlock: NOT enforcing, because the workspace is set up for no workflow and no policy applies."},
		"no run, a halt":                 {services{decision: halted}, hook.Options{}, "Interlock: enforcing policies, and no workflow."},
		"it observes, and a shadow":      {services{decision: shadows}, hook.Options{Observe: true}, "Interlock: NOT enforcing, because this workspace only observes"},
		"it observes":                    {services{}, hook.Options{Observe: true}, "Interlock: NOT enforcing, because this workspace only observes"},
		"it observes, and policies hold": {services{decision: policy}, hook.Options{Observe: true}, "Interlock: enforcing policies, and no workflow, because this workspace observes"},
	} {
		for agent, shows := range map[hook.Agent]bool{hook.ClaudeCode: true, hook.Codex: true, hook.Gemini: true, hook.Cursor: false, hook.Copilot: false} {
			s, opts := c.s, c.opts
			opts.Agent = agent
			a := s.handle(`{"session_id":"s","conversation_id":"s","cwd":"/w","hook_event_name":"SessionStart"}`, opts)
			if agent == hook.Cursor {
				a = s.handle(`{"conversation_id":"s","hook_event_name":"sessionStart","workspace_roots":["/w"]}`, opts)
			}
			var out struct {
				Shown string `json:"systemMessage"`
			}
			if err := json.Unmarshal([]byte(a.Stdout), &out); err != nil || a.Exit != 0 {
				t.Errorf("%s for %s: %+v", name, agent, a)
				continue
			}
			line, _ := json.Marshal(c.want)
			if !strings.Contains(a.Stdout, strings.Trim(string(line), `"`)) || shows != strings.HasPrefix(out.Shown, c.want) {
				t.Errorf("%s for %s: %s", name, agent, a.Stdout)
			}
		}
	}
	s := services{checkErr: fault.New(fault.Unavailable, "the store is away").GRPCStatus().Err()}
	wantBlock(t, "a doubt", s.handle(`{"session_id":"s","hook_event_name":"SessionStart"}`, hook.Options{}), "the store is away")
}

// TestObserve: S13.14, the enforcer is asked to record calls of a session without a run, and of no other.
func TestObserve(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		run  *enginev1.Run
		want bool
	}{"no run": {nil, true}, "a run": {planning, false}} {
		s := &services{run: c.run, decision: &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_ALLOW, Code: policyv1.DecisionCode_DECISION_CODE_NOT_ENFORCED}}
		wantSilence(t, name, s.handle(preTool, hook.Options{Observe: true}))
		if call, ok := s.asked[len(s.asked)-1].(*policyv1.CheckToolCallRequest); !ok || call.GetObserve() != c.want {
			t.Errorf("%s: asked %v", name, s.asked)
		}
	}
}
