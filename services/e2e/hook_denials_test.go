package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
)

// TestDenialsOfTheHookAreRecorded: S13.12. The hook's own denials are in the log, with a run and without.
func TestDenialsOfTheHookAreRecorded(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	w := &world{shape: &u.shape, namespace: "default"}
	operator := w.as(t, auth.Operator)
	operator.register(t, `{"id": "free", "initial": "a", "states": {"a": {"on": {"GO": "b"}}, "b": {"type": "final"}}}`)
	operator.register(t, `{"id": "strict", "initial": "a", "states": {"a": {"allowed_tools": ["Grep"], "on": {"GO": "b"}}, "b": {"type": "final"}}}`)
	operator.register(t, `{"id": "wanted", "initial": "a", "states": {"a": {"on": {"GO": "b"}}, "b": {"type": "final"}}}`)
	dir := t.TempDir()
	if err := os.Symlink(string(u.data), filepath.Join(dir, "notes")); err != nil {
		t.Fatal(err)
	}
	reads := map[string]string{"file_path": "notes/tokens.json"}
	harmless := map[string]string{"file_path": "README.md"}
	for name, tc := range map[string]struct {
		drives   string // the workflow of the session's run; empty for none
		workflow string // that the hook is set up for
		client   string // that calls the hook
		input    map[string]string
		code     string // in the log
		says     string
	}{
		"another workflow":               {drives: "free", workflow: "wanted", input: harmless, code: "CALLER_DENIED", says: `set up for workflow \"wanted\"`},
		"another workflow, denied by it": {drives: "strict", workflow: "wanted", input: harmless, code: "TOOL_NOT_ALLOWED", says: `set up for workflow \"wanted\"`},
		"a link to the data folder":      {drives: "free", input: reads, code: "CALLER_DENIED", says: "Interlock"},
		"such a link without a run":      {input: reads, code: "CALLER_DENIED", says: "Interlock"},
		"an old client":                  {drives: "free", client: "claude-code_2-1-100_harness", input: harmless, code: "CALLER_DENIED", says: "update it to"},
		"an old client without a run":    {client: "claude-code_2-1-100_harness", input: harmless, code: "CALLER_DENIED", says: "update it to"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session := strings.ReplaceAll(name, " ", "-")
			if tc.drives != "" {
				operator.begin(t, &enginev1.StartRunRequest{Workflow: tc.drives, SessionId: session})
			}
			args := []string{"hook", "--data-dir", string(u.data)}
			if tc.workflow != "" {
				args = append(args, "--workflow", tc.workflow)
			}
			run := exec.CommandContext(within(t), binary(t, "interlock"), args...)
			run.Dir, run.Env = dir, append(cleanEnv(), "AI_AGENT="+tc.client)
			run.Stdin = bytes.NewReader(must[[]byte](t)(json.Marshal(map[string]any{
				"hook_event_name": "PreToolUse", "session_id": session, "cwd": dir, "tool_use_id": "call-1", "tool_name": "Read", "tool_input": tc.input,
			})))
			out, blocks := run.CombinedOutput()
			if allowsHook(string(out)) && blocks == nil || !strings.Contains(string(out), tc.says) {
				t.Errorf("the hook says %s", out)
			}
			decisions := policyv1.NewDecisionServiceClient(w.dial(t, w.policies[0], w.tokens[auth.Operator]))
			log := must[*policyv1.ListDecisionsResponse](t)(decisions.ListDecisions(within(t), &policyv1.ListDecisionsRequest{Filter: "session_id=" + session})).GetDecisions()
			if len(log) != 1 || log[0].GetDecision() != deny || log[0].GetCode().String() != "DECISION_CODE_"+tc.code || log[0].GetMessage() == "" || log[0].GetCallId() != "call-1" {
				t.Errorf("the log has %v", log)
			}
		})
	}
}
