package brief_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
)

func TestState(t *testing.T) {
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
	want := `Phase: testing. Tools: Read, Bash.
Transitions: DEPLOY -> deploying [guards: tests_passed] [needs approval], FAIL -> failed | retrying.
Instructions: Run the tests.
Disallowed tools: WebFetch.
Iterations: 3 of 5 used, 2 left.
Run: run_1 of deploy version 0, RUNNING.`
	if got := brief.State(run, ""); got != want {
		t.Errorf("got\n%s", got)
	}
	run.ToolsRestricted, run.AllowedTools, run.DisallowedTools, run.LegalEvents, run.Iterations = false, nil, nil, nil, 9
	if got := brief.State(run, "x_"); !strings.Contains(got, "Tools: any.\nTransitions: none.\n") || !strings.Contains(got, "0 left; fire an event with x_transition now") {
		t.Errorf("got\n%s", got)
	}
	run.ToolsRestricted = true
	run.Status = enginev1.RunStatus_RUN_STATUS_COMPLETED
	if got := brief.State(run, ""); !strings.Contains(got, "Tools: none.") || !strings.Contains(got, "COMPLETED. It has ended") {
		t.Errorf("got\n%s", got)
	}
}

func TestInjectedIsCutToWhatAgentsTake(t *testing.T) {
	t.Parallel()
	got := brief.Injected(&enginev1.Run{Workflow: "w", Instructions: strings.Repeat("é", brief.MaxBytes)})
	if len(got) > 10_000 || !strings.HasSuffix(got, "[cut]") || !utf8.ValidString(got) {
		t.Errorf("%d bytes, valid %v: ...%q", len(got), utf8.ValidString(got), got[len(got)-20:])
	}
}
