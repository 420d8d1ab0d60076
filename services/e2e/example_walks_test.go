package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
)

// TestExampleWalks runs the scripts of examples/walks, each with a server of its own, and
// compares their output (S3.3, S3.4, S7.2, S8.2, S12.3, S15.3, S15.4, S15.8).
func TestExampleWalks(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"component-in-three-modes.sh": `none: the next execution begins with 0
none: another session begins with 0
session: the next execution begins with 1
session: another session begins with 0
long_term: the next execution begins with 1
long_term: another session begins with 1
`,
		"gate-with-four-actions.sh": `registered  deploy-gate-walk  version 1
1. The agent reads the prompt and the first question before its first turn.
Walk through the deployment checklist before pushing to production.
Is the target environment correct
2. The policy: what is denied, what people are asked about, and a rate limit.
DENY  mcp__filesystem__delete_file: Tool 'mcp__filesystem__delete_file' ('mcp:filesystem:delete_file') is denied: policy 'process/deploy-gate-walk/policy' (version 1) denies 'mcp:filesystem:delete_file'
DENY  mcp__filesystem__write_file: Interlock asks people first: Tool 'mcp__filesystem__write_file' ('mcp:filesystem:write_file') needs the approval of a human: policy 'process/deploy-gate-walk/policy' (version 1) asks for 'mcp:filesystem:write_file'
ALLOW mcp__filesystem__write_file
ALLOW Bash
ALLOW Bash
DENY  Bash: Tool 'Bash' ('bash') is denied: policy 'process/deploy-gate-walk/policy' (version 1) allows 2 calls of 'bash' in any 3600 seconds
3. warn continues, notify_human waits for a person, complete ends well.
yes: RUNNING
n/a: RUNNING
unsure: AWAITING_APPROVAL
yes: COMPLETED
1
4. block ends the session, and its agent does nothing more.
no: BLOCKED
DENY  Bash: Tool 'Bash' is denied: the run is BLOCKED.
`,
		"pipeline-with-prefixed-tools.sh": `registered  deploy-pipeline-walk  version 1
1. Planning reads only. An event that is not known leads to safe_next.
statewright_load_workflow: Loaded deploy-pipeline-walk.
ALLOW Read
DENY  Edit: Tool 'Edit' is not allowed in state 'planning'.
statewright_transition: Accepted: GO.
2. Testing runs tests only, and the first branch decides whose guard passes.
ALLOW Bash
DENY  Bash: Tool 'Bash' is denied in state 'testing': the command 'rm -rf /repo' is not in the list.
DENY  Bash: Tool 'Bash' is denied in state 'testing': it reads the variable 'PROD_DB_URL', which is blocked in this state; run it without that variable.
statewright_transition: Accepted: EVALUATE.
3. Fixing edits little. A run that is paused keeps its place.
statewright_pause: Paused.
statewright_load_workflow: Resumed deploy-pipeline-walk.
DENY  Edit: Tool 'Edit' would change 21 lines in one call; 20 are allowed in state 'fixing'.
ALLOW Edit
statewright_transition: Accepted: DONE.
statewright_transition: Accepted: EVALUATE.
4. Deploying runs the commands of deployments, and a person approves its end.
ALLOW Bash
DENY  Bash: Tool 'Bash' is denied in state 'deploying': the command 'pytest' is not in the list.
statewright_transition: Parked: people must approve 'DONE' first (approval APPROVAL). The state has not changed. A person with the role approver decides it, in the console, /ui/approvals; you cannot. statewright_wait_approval waits for that.
statewright_wait_approval: Approval APPROVAL was granted by 'approver'
statewright_get_state: Phase: complete. Tools: any.
`,
		"root-state-with-callbacks.sh": `1. The schema is registered, and the root creates the state.
registered  review  version 1
2. Children are started below it, and share the state.
3. A runner starts their agents; who stops without a report is asked for it.
4. The root is called back, with what the children have found.
[orchestrator] "checked lint"
[orchestrator] "checked test"
5. The state says how it ended.
/status  "completed"
"checked lint"
`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := startUp(t)
			script := must[string](t)(filepath.Abs(filepath.Join("../../examples/walks", name)))
			cmd := exec.CommandContext(within(t), "sh", script)
			cmd.Dir = t.TempDir()
			cmd.Env = append(cleanEnv(), "INTERLOCK_DATA="+string(u.data), "INTERLOCK_TOKEN="+u.tokens[auth.Operator],
				"INTERLOCK_APPROVER="+u.tokens[auth.Approver],
				"PATH="+filepath.Dir(binary(t, "interlock"))+string(os.PathListSeparator)+os.Getenv("PATH"))
			var warned bytes.Buffer // such as warnings of validation
			cmd.Stderr = &warned
			out, err := cmd.Output()
			if err != nil || string(out) != want {
				log, _ := os.ReadFile(filepath.Join(cmd.Dir, "runner.log")) // of those that have a runner
				t.Errorf("%v\n%s\nwant\n%s\n%s\n%s", err, out, want, log, &warned)
			}
		})
	}
}
