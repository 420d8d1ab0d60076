package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

// patience is how long the server may take to start, and to end.
const patience = 60 * time.Second

// server is a running `interlock up`.
type server struct {
	cmd    *exec.Cmd
	data   datadir.Dir
	grpc   string
	tokens map[auth.Role]string
	exited chan struct{}
	log    *output
}

// output is the output of a process.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

func startUp(ctx context.Context, interlock string, more ...string) (_ *server, err error) {
	folder, err := os.MkdirTemp("", "interlock-sdkhost-")
	if err != nil {
		return nil, err
	}
	s := &server{data: datadir.Dir(folder), exited: make(chan struct{}), log: &output{}}
	args := []string{"up", "--presence", "none", "--data-dir", folder, "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--nats", "127.0.0.1:0"}
	s.cmd = exec.Command(interlock, append(args, more...)...)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		_ = os.RemoveAll(folder)
		return nil, fmt.Errorf("start interlock up: %w", err)
	}
	go func() {
		defer close(s.exited)
		_ = s.cmd.Wait()
	}()
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		at, err := s.data.ReadEndpoints()
		if err == nil && at.PID == s.cmd.Process.Pid {
			s.grpc = at.GRPC
			break
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("interlock up does not serve: %w\n%s", ctx.Err(), s.log)
		case <-s.exited:
			return nil, fmt.Errorf("interlock up has ended\n%s", s.log)
		case <-time.After(20 * time.Millisecond):
		}
	}
	s.tokens = map[auth.Role]string{}
	for _, role := range auth.Roles() {
		if s.tokens[role], err = auth.FileToken(s.data.Local(), role); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// stop ends the server and removes its data.
func (s *server) stop() {
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGTERM)
	select {
	case <-s.exited:
	case <-time.After(patience):
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		<-s.exited
	}
	_ = os.RemoveAll(string(s.data))
}
