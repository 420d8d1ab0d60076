package jailertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/services/internal/jailer"
	"github.com/interlock-run/interlock/services/internal/jailer/hostproxy"
)

// job is one command for modeRun.
type job struct {
	Argv    []string
	Dir     string
	Env     []string
	Profile *jail.Profile // nil runs the command without a jail
	Caches  string
	// Highest is the level of the jail; 0 is the one of the machine.
	Highest jail.Level
}

// result is the result of a job.
type result struct {
	Witness *jail.Witness
	Error   string
	// Output is of both streams, at most maxOutput bytes; Bytes is how many there were.
	Output string `json:"-"`
	Bytes  int64  `json:"-"`
	// Late is true where the job was ended from outside.
	Late bool `json:"-"`
	Took time.Duration
}

const maxOutput = 1 << 20

// machine is the machine of a pen.
var machine = jail.Machine{
	Home: home, DataFolder: dataFolder, ConfigFolder: configFolder, Program: penTest,
}

// secretOfRunner is in the environment, the memory and the arguments of the process that runs a jail.
const secretOfRunner = "CANARY-of-the-runner"

// runOne is modeRun: the job is its argument, descriptor 3 takes the result.
func runOne() int {
	syscall.CloseOnExec(3)
	out := os.NewFile(3, "result")
	var j job
	if err := json.Unmarshal([]byte(os.Args[1]), &j); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	var r result
	if j.Profile == nil {
		r.Witness = bare(j)
	} else {
		w, err := jailer.Run(context.Background(), &jailer.Command{
			CallID: "call", Argv: j.Argv, Env: j.Env, Dir: j.Dir, Profile: j.Profile, Machine: machine, Caches: j.Caches, Highest: j.Highest, Proxy: hostproxy.Open,
			Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		})
		r.Witness = w
		if err != nil {
			r.Error = err.Error()
		}
	}
	if err := json.NewEncoder(out).Encode(r); err != nil {
		return 2
	}
	return 0
}

// bare runs a command without a jail.
func bare(j job) *jail.Witness {
	cmd := exec.Command(j.Argv[0], j.Argv[1:]...)
	cmd.Dir, cmd.Env = j.Dir, j.Env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	w := &jail.Witness{}
	if err := cmd.Run(); err != nil {
		w.ExitStatus = -1
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			w.ExitStatus = exit.ExitCode()
		}
	}
	return w
}

// run runs a job in a process of its own, with descriptors that a jail must not pass on.
func run(t *testing.T, j job, patience time.Duration) result {
	t.Helper()
	if j.Dir == "" {
		j.Dir = workspace
	}
	j.Env = append([]string{
		"PATH=" + penPath, "HOME=" + home, "USER=agent", "LANG=C.UTF-8", "TERM=dumb",
		"DEPLOY_TOKEN=CANARY-in-the-environment", "SSH_AUTH_SOCK=" + sshAgent, "GIT_CONFIG_COUNT=0",
	}, j.Env...)
	spec, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	secret, err := os.Open(dataFolder + "/tokens.json")
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	top, err := os.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer top.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, penTest, string(spec))
	cmd.Env = append(os.Environ(), modeVar+"="+modeRun, "RUNNER_SECRET="+secretOfRunner)
	cmd.ExtraFiles = []*os.File{write, secret, top}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
	output := &bounded{}
	cmd.Stdout, cmd.Stderr = output, output
	start := time.Now()
	if err = cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	_ = cmd.Wait()
	r := result{}
	_ = read.SetReadDeadline(time.Now().Add(time.Second))
	data, _ := io.ReadAll(read)
	if err = json.Unmarshal(data, &r); err != nil {
		r.Error = "the runner has ended: " + cmd.ProcessState.String()
	}
	r.Took, r.Late = time.Since(start), ctx.Err() != nil
	output.Lock()
	defer output.Unlock()
	r.Output, r.Bytes = output.String(), output.seen
	return r
}

// bounded keeps the beginning of its input.
type bounded struct {
	sync.Mutex
	bytes.Buffer
	seen int64
}

func (b *bounded) Write(data []byte) (int, error) {
	b.Lock()
	defer b.Unlock()
	b.seen += int64(len(data))
	if room := maxOutput - b.Len(); room > 0 {
		b.Buffer.Write(data[:min(room, len(data))])
	}
	return len(data), nil
}

// shell is the arguments of a line of a shell.
func shell(line string) []string { return []string{"/bin/bash", "--noprofile", "--norc", "-c", line} }
