//go:build unix

package runner

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// runnerVariable makes the test binary a runner that has started an agent.
const runnerVariable = "INTERLOCK_TEST_RUNNER"

func TestMain(m *testing.M) {
	if os.Getenv(runnerVariable) == "" {
		os.Exit(m.Run())
	}
	processes, err := newGroup()
	if err != nil {
		panic(err)
	}
	// The shell is not replaced by its last command, and has a child of its own.
	agent := exec.Command("sh", "-c", `trap '' HUP TERM; sleep 1000 & echo $$ $!; wait; :`)
	agent.Stdout = os.Stdout
	processes.add(agent)
	if err := agent.Run(); err != nil {
		panic(err)
	}
}

// However hard a runner ends, agents do not outlive it.
func TestRunnerThatIsKilled(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), runnerVariable+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	b := &bench{t: t}
	for _, pid := range strings.Fields(line) {
		b.vanished(pid)
	}
}
