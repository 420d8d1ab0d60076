package brief_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
)

func TestRun(t *testing.T) {
	t.Parallel()
	run := &enginev1.Run{
		RunId: "run_1", Workflow: "deploy", Status: enginev1.RunStatus_RUN_STATUS_RUNNING, State: "testing",
		ToolsRestricted: true, AllowedTools: []string{"Read", "Bash"}, DisallowedTools: []string{"WebFetch"},
		Iterations: 3, MaxIterations: 5, Instructions: "Run the tests.",
		LegalEvents: []*enginev1.LegalEvent{
			{Event: "DEPLOY", Targets: []string{"deploying"}, Guards: []string{"tests_passed"}, RequiresApproval: true},
			{Event: "FAIL", Targets: []string{"failed", "retrying"}},
		},
	}
	want := `Workflow: deploy (run run_1, RUNNING).
Phase: testing. Tools: Read, Bash. Never: WebFetch.
Transitions: DEPLOY -> deploying (guard tests_passed; needs approval), FAIL -> failed | retrying.
Tool calls left in this phase: 2 of 5.
Instructions: Run the tests.
`
	if got := brief.Run(run); got != want {
		t.Errorf("got\n%s", got)
	}
	run.ToolsRestricted, run.AllowedTools, run.DisallowedTools, run.LegalEvents, run.Iterations = false, nil, nil, nil, 9
	if got := brief.Run(run); !strings.Contains(got, "Tools: all.\nTransitions: none.\nTool calls left in this phase: 0 of 5.") {
		t.Errorf("got\n%s", got)
	}
	run.ToolsRestricted = true
	run.Status = enginev1.RunStatus_RUN_STATUS_COMPLETED
	if got := brief.Run(run); got != "Workflow: deploy (run run_1, COMPLETED).\nPhase: testing. Tools: none.\n" {
		t.Errorf("got\n%s", got)
	}
}

func TestRunIsCutToWhatAgentsTake(t *testing.T) {
	t.Parallel()
	got := brief.Run(&enginev1.Run{Workflow: "w", Instructions: strings.Repeat("é", brief.MaxBytes)})
	if len(got) > 10_000 || !strings.HasSuffix(got, "[cut]\n") || !utf8.ValidString(got) {
		t.Errorf("%d bytes, valid %v: ...%q", len(got), utf8.ValidString(got), got[len(got)-20:])
	}
}
