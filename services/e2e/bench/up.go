package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

// upPatience is how long `interlock up` may take to serve: it reads JetStream's files.
const upPatience = 5 * time.Minute

// up is a running `interlock up` over the store of a stage.
type up struct {
	child
	cmd    *exec.Cmd
	output bytes.Buffer
	http   string // its URL
	// took is how long it was until it served.
	took time.Duration
}

// data returns the folder of the stage's `interlock up`.
func (s *stage) data() datadir.Dir { return datadir.Dir(filepath.Join(s.dir, "up")) }

// up starts `interlock up`, whose files stay on the stage when it stops.
func (s *stage) up(program string, flags ...string) (*up, error) {
	dir := s.data()
	if err := dir.Make(); err != nil {
		return nil, err
	}
	if _, err := os.Stat(dir.Tokens()); errors.Is(err, os.ErrNotExist) {
		if _, err := auth.WriteFile(dir.Tokens(), s.tokensOf); err != nil {
			return nil, err
		}
	}
	dir.RemoveEndpoints()
	u := &up{}
	u.cmd = exec.Command(program, append([]string{
		"up", "--presence", "none", "--data-dir", string(dir), "--store", s.store(), "--runs-per-principal", "0", "--bytes-per-principal", "0",
		"--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--nats", "127.0.0.1:0",
	}, flags...)...)
	u.cmd.Stdout, u.cmd.Stderr = &u.output, &u.output
	u.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	begin := time.Now()
	if err := u.cmd.Start(); err != nil {
		return nil, err
	}
	u.pid = u.cmd.Process.Pid
	for time.Since(begin) < upPatience {
		at, err := dir.ReadEndpoints()
		if err == nil && at.PID == u.pid {
			u.GRPC, u.http, u.took = at.GRPC, at.HTTP, time.Since(begin)
			return u, nil
		}
		if u.cmd.Process.Signal(syscall.Signal(0)) != nil || processorState(u.pid) == 'Z' {
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	return nil, errors.Join(u.down(), fmt.Errorf("%s up did not start: %s", program, u.output.Bytes()))
}

// down ends it as Ctrl-C does, and waits.
func (u *up) down() error {
	if err := u.cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return u.cmd.Wait()
}

// processorState returns the letter of a process's state, 0 where that is not known.
func processorState(pid int) byte {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	return data[bytes.LastIndexByte(data, ')')+2]
}

var residentLine = regexp.MustCompile(`(?m)^VmRSS:\s+(\d+) kB$`)

// resident returns the bytes of memory that a process has, 0 where that is not known.
func resident(pid int) float64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	found := residentLine.FindSubmatch(data)
	if err != nil || found == nil {
		return 0
	}
	kilobytes, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		return 0
	}
	return kilobytes * 1024
}
