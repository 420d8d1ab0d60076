package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
)

// TestExampleWalks runs the scripts of examples/walks, each with a server of its own, and
// compares what they print (S12.3, S15.3, S15.4).
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
				"PATH="+filepath.Dir(binary(t, "interlock"))+string(os.PathListSeparator)+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			if err != nil || string(out) != want {
				log, _ := os.ReadFile(filepath.Join(cmd.Dir, "runner.log")) // of those that have a runner
				t.Errorf("%v\n%s\nwant\n%s\n%s", err, out, want, log)
			}
		})
	}
}
