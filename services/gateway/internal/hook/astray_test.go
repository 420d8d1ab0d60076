package hook_test

import (
	"errors"
	"strings"
	"testing"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/hook"
)

// A session that drives a run of another workflow than the one its hook was set up
// for makes no call, whatever that run allows; Interlock's own tools lead it back.
func TestSessionOnAnotherWorkflow(t *testing.T) {
	t.Parallel()
	lax := &enginev1.Run{RunId: "run_2", RootRunId: "run_2", Workflow: "lax"}
	inner := &enginev1.Run{RunId: "run_3", RootRunId: "run_2", Workflow: "bugfix"}
	outer := &enginev1.Run{RunId: "run_4", RootRunId: "run_1", Workflow: "review"}
	for name, tc := range map[string]struct {
		run, root *enginev1.Run
		denied    bool
	}{
		"its own":                               {planning, nil, false},
		"invoked by its own":                    {outer, planning, false},
		"another":                               {lax, nil, true},
		"its own, invoked by another":           {inner, lax, true},
		"a branch of another, in that session":  {&enginev1.Run{RunId: "run_2", Workflow: "lax"}, nil, true},
		"a root that cannot be told from a run": {&enginev1.Run{RunId: "run_9", RootRunId: "run_8", Workflow: "bugfix"}, &enginev1.Run{}, true},
	} {
		allow := &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_ALLOW, ToolsRestricted: true, State: "any"}
		s := &services{run: tc.run, now: tc.root, decision: allow}
		got := specific(t, s.handle(preTool, hook.Options{Workflow: "bugfix"}))
		if want := map[bool]string{true: "deny", false: "allow"}[tc.denied]; got["permissionDecision"] != want {
			t.Errorf("%s: %v, want %s", name, got, want)
		}
		for _, words := range []string{`workflow "bugfix"`, "load_workflow"} {
			if tc.denied && !strings.Contains(got["permissionDecisionReason"], words) {
				t.Errorf("%s: the reason does not mention %s: %v", name, words, got)
			}
		}

		own := strings.Replace(preTool, `"Edit"`, `"mcp__interlock__load_workflow"`, 1)
		if got := specific(t, s.handle(own, hook.Options{Workflow: "bugfix"})); got["permissionDecision"] != "allow" {
			t.Errorf("%s: an own tool: %v", name, got)
		}

		start := strings.Replace(preTool, "PreToolUse", "SessionStart", 1)
		warned := strings.Contains(specific(t, s.handle(start, hook.Options{Workflow: "bugfix"}))["additionalContext"], "set up for")
		if warned != tc.denied {
			t.Errorf("%s: warned is %t", name, warned)
		}
	}
}

// What cannot be known blocks.
func TestRootThatCannotBeRead(t *testing.T) {
	t.Parallel()
	s := &services{run: &enginev1.Run{RunId: "run_3", RootRunId: "run_2", Workflow: "bugfix"}, rootErr: errors.New("engine unavailable")}
	wantBlock(t, "root", s.handle(preTool, hook.Options{Workflow: "bugfix"}), "unavailable")
}
