//go:build unix

package runner

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// group is a process group for an agent and all that it starts, but for processes that
// leave the group on purpose.
//
// A guard leads it: a shell that waits for the end of a pipe, which comes when the runner
// ends, however hard, and then kills the group. As long as the guard is there no other
// group can have the same id.
type group struct {
	guard *exec.Cmd
	life  *os.File // the end of the pipe that the runner has
}

// guarding does not end by the signals that stop the agent.
const guarding = `trap '' HUP INT QUIT TERM; read -r _; kill -KILL 0`

func newGroup() (*group, error) {
	wait, life, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("guard an agent: %w", err)
	}
	defer wait.Close()
	guard := exec.Command("sh", "-c", guarding)
	guard.Stdin = wait
	guard.Env = []string{} // no variables of the runner
	guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := guard.Start(); err != nil {
		life.Close()
		return nil, fmt.Errorf("guard an agent: %w", err)
	}
	return &group{guard: guard, life: life}, nil
}

// add makes a command start in the group.
func (g *group) add(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: g.guard.Process.Pid}
}

// signal signals every process of the group. There is always one: the guard is
// waited for only at the end.
func (g *group) signal(sig syscall.Signal) { _ = syscall.Kill(-g.guard.Process.Pid, sig) }

// kill ends every process of the group.
func (g *group) kill() {
	g.signal(syscall.SIGKILL)
	_ = g.guard.Wait() // it was killed
	g.life.Close()
}
