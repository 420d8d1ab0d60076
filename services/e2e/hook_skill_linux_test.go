package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
)

// TestSkillCommandsAreJudged: S13.11. Claude Code itself runs a command in the text of a skill or of a
// slash command only where the state allows that command, for the agent and for the user, and not where its hook fails.
func TestSkillCommandsAreJudged(t *testing.T) {
	t.Parallel()
	claude := claudeCode(t)
	u := startUp(t)
	w := &world{shape: &u.shape, namespace: "default"}
	operator := w.as(t, auth.Operator)
	operator.register(t, `{"id": "touching", "initial": "a", "evidence": {"tests": {"tool": "Bash", "command": "make test", "after": "edit"}},
		"states": {"a": {"allowed_tools": ["Skill", "Bash"], "allowed_commands": ["touch"], "on": {"GO": "b"}}, "b": {"type": "final"}}}`)
	operator.register(t, `{"id": "skills-only", "initial": "a", "states": {"a": {"allowed_tools": ["Skill"], "on": {"GO": "b"}}, "b": {"type": "final"}}}`)
	operator.register(t, `{"id": "listing", "initial": "a", "states": {"a": {"allowed_tools": ["Skill", "Bash"], "allowed_commands": ["ls"],
		"on": {"GO": "b"}}, "b": {"type": "final"}}}`)

	skill := modelCall{"Skill", map[string]string{"skill": "marking"}}
	for name, tc := range map[string]struct {
		workflow string
		prompt   string // that loads the text; by default the agent does
		fails    bool   // the hook for it
		made     bool
	}{
		"an agent's, no rules":        {made: true},
		"an agent's, allowed":         {workflow: "touching", made: true},
		"an agent's, no shell":        {workflow: "skills-only"},
		"an agent's, other commands":  {workflow: "listing"},
		"an agent's, the hook fails":  {fails: true},
		"a user's skill, allowed":     {workflow: "touching", prompt: "/marking", made: true},
		"a user's skill, no shell":    {workflow: "skills-only", prompt: "/marking"},
		"a user's command, allowed":   {workflow: "touching", prompt: "/mark", made: true},
		"a user's command, no shell":  {workflow: "skills-only", prompt: "/mark"},
		"a user's command, the other": {workflow: "listing", prompt: "/mark x"},
		"a user's, the hook fails":    {prompt: "/mark", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			writeSkills(t, dir)
			init := []string{"init", "claude-code", "--yes", "--data-dir", string(u.data)}
			if tc.workflow != "" {
				init = append(init, "--workflow", tc.workflow)
			}
			program := binary(t, "interlock")
			setUp := exec.CommandContext(within(t), program, append(init, dir)...)
			setUp.Env = append(cleanEnv(), "XDG_STATE_HOME="+t.TempDir())
			if out, err := setUp.CombinedOutput(); err != nil {
				t.Fatalf("init: %v\n%s", err, out)
			}
			if tc.fails {
				failSkillHook(t, dir)
			}
			var out string
			if tc.prompt == "" {
				_, out = oneCall(t, claude, dir, os.Getenv("PATH"), skill)
			} else {
				out, _ = prompted(t, claude, dir, os.Getenv("PATH"), tc.prompt, &oneToolCall{}) // it may end with an error where it is denied
			}
			_, err := os.Stat(filepath.Join(dir, "marker"))
			if made := !errors.Is(err, os.ErrNotExist); made != tc.made {
				t.Errorf("the command was run: %t\n%s", made, out)
			}
			if tc.workflow != "" {
				wantSkillCommand(t, w, operator, dir, tc.made)
			}
		})
	}
}

// writeSkills writes a skill and a slash command whose texts hold a command.
func writeSkills(t *testing.T, dir string) {
	t.Helper()
	for name, text := range map[string]string{
		"skills/marking/SKILL.md": "---\nname: marking\ndescription: Makes a file\n---\nMade: !`touch marker`\n",
		"commands/mark.md":        "---\ndescription: Makes a file\n---\nMade: !`touch marker`\n",
	} {
		file := filepath.Join(dir, ".claude", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// failSkillHook has the hook for commands in texts end with an error.
func failSkillHook(t *testing.T, dir string) {
	t.Helper()
	file := filepath.Join(dir, ".claude", "settings.local.json")
	var settings map[string]any
	if err := json.Unmarshal(must[[]byte](t)(os.ReadFile(file)), &settings); err != nil {
		t.Fatal(err)
	}
	groups, _ := settings["hooks"].(map[string]any)["PreSkillShellCommand"].([]any)
	group, _ := groups[0].(map[string]any)
	entry, _ := group["hooks"].([]any)[0].(map[string]any)
	entry["command"] = script(t, "exit 1", 0o700)
	if err := os.WriteFile(file, must[[]byte](t)(json.Marshal(settings)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// wantSkillCommand checks that the log has the command, and that no call of it is open.
func wantSkillCommand(t *testing.T, w *world, operator *caller, dir string, allowed bool) {
	t.Helper()
	var run *enginev1.Run
	for _, r := range must[*enginev1.ListRunsResponse](t)(operator.runs.ListRuns(within(t), &enginev1.ListRunsRequest{})).GetRuns() {
		if r.GetWorkspace() == dir {
			run = r
		}
	}
	if run == nil {
		t.Fatal("no run of that workspace")
	}
	decisions := policyv1.NewDecisionServiceClient(w.dial(t, w.policies[0], w.tokens[auth.Operator]))
	log := must[*policyv1.ListDecisionsResponse](t)(decisions.ListDecisions(within(t), &policyv1.ListDecisionsRequest{Filter: "run_id=" + run.GetRunId()})).GetDecisions()
	found := false
	for _, d := range log {
		if d.GetTool() == "Bash" && strings.Contains(d.GetCallId(), ":preamble-") {
			found = true
			if got := d.GetDecision() == allow; got != allowed {
				t.Errorf("the log has %v", d)
			}
		}
	}
	if !found {
		t.Errorf("the log has no command: %v", log)
	}
	open := must[*policyv1.ListOpenCallsResponse](t)(operator.policy.ListOpenCalls(within(t), &policyv1.ListOpenCallsRequest{RunId: run.GetRunId()}))
	if len(open.GetCalls()) > 0 {
		t.Errorf("open: %v", open)
	}
}
