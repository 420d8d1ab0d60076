package app_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
	"github.com/interlock-run/interlock/services/statestore/internal/app"
	"github.com/interlock-run/interlock/services/statestore/internal/rpc"
)

// What the test binary is told when it is to be the process that sleeps: where the
// store is, and the state.
const (
	sleeperURL    = "INTERLOCK_TEST_SLEEPER_URL"
	sleeperPrefix = "INTERLOCK_TEST_SLEEPER_PREFIX"
	sleeperState  = "INTERLOCK_TEST_SLEEPER_STATE"
)

// sleep takes the lock on a state and then writes to it for each line that it reads,
// and says what came of it.
func sleep() int {
	ctx := context.Background()
	log := slog.New(slog.DiscardHandler)
	st, err := redisstore.Open(ctx, redisstore.Config{URL: os.Getenv(sleeperURL), Prefix: os.Getenv(sleeperPrefix), Logger: log})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	a, id := app.New(st, rpc.Announcer{}, time.Now, log, app.Config{}), os.Getenv(sleeperState)
	lease, err := a.Lock(ctx, operator, id, "sleeper", time.Second, 0, "")
	fmt.Printf("locked %d %s\n", lease.Token, fault.ReasonOf(err))
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		_, err := a.Update(ctx, operator, app.Update{
			StateID: id, Patch: []byte(`[{"op":"add","path":"/-","value":"` + lines.Text() + `"}]`), Token: lease.Token,
		})
		fmt.Printf("wrote %s\n", fault.ReasonOf(err))
	}
	_ = st.Close()
	return 0
}

// halt stops a process from running, and returns when it has stopped, where the
// system tells.
func halt(t *testing.T, process *os.Process) {
	t.Helper()
	if err := process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); <-poll.C {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process.Pid))
		if err != nil || strings.Contains(string(stat), ") T ") {
			return
		}
	}
	t.Fatal("the process does not stop")
}

// S10.5: a writer that slept past its lock, and wakes up in the belief that it still
// holds the lock, changes nothing. By the server's clock, and in another process.
func TestWriterThatSleptPastItsLock(t *testing.T) {
	t.Parallel()
	prefix := redistest.Prefix()
	r := &rig{T: t}
	st := redisAt(t, prefix, nil)
	r.App, r.store = app.New(st, rpc.Announcer{}, time.Now, slog.New(slog.DiscardHandler), app.Config{}), st
	id := r.state("root", anything, `[]`).Key.ID

	server := redistest.Shared(t)
	child := exec.Command(os.Args[0]) // this very binary
	child.Env = append(os.Environ(), sleeperURL+"="+server.URL(), sleeperPrefix+"="+prefix, sleeperState+"="+id)
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Process.Kill(); _ = child.Wait() })
	said := make(chan string)
	go func() {
		defer close(said)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			said <- lines.Text()
		}
	}()

	if got := receive(r, said); !strings.HasPrefix(got, "locked ") || strings.TrimSpace(got) == "locked 0" {
		t.Fatalf("the sleeper says %q", got)
	}
	_, _ = io.WriteString(in, "awake\n")
	if got := receive(r, said); got != "wrote " {
		t.Fatalf("the sleeper says %q", got)
	}
	halt(t, child.Process)
	_, _ = io.WriteString(in, "late\n") // it is about to write, and sleeps

	var token int64
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for end := time.Now().Add(patience); token == 0; <-poll.C {
		lease, err := r.Lock(t.Context(), operator, id, "other", time.Minute, 0, "")
		if err != nil && (fault.ReasonOf(err) != fault.Locked || time.Now().After(end)) {
			t.Fatal(err)
		}
		token = lease.Token
	}
	r.update(operator, app.Update{StateID: id, Patch: []byte(`[{"op":"add","path":"/-","value":"other"}]`), Token: token})
	if err := child.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if got := receive(r, said); got != "wrote FENCED" {
		t.Errorf("the sleeper says %q", got)
	}
	if err := r.Unlock(t.Context(), operator, id, token); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(in, "later\n") // nobody holds it now
	if got := receive(r, said); got != "wrote FENCED" {
		t.Errorf("the sleeper says %q", got)
	}
	_ = in.Close()
	final, _, err := r.State(t.Context(), operator, id, 0, nil)
	if err != nil || final.Data.String() != `["awake","other"]` {
		t.Errorf("the document is %s, %v", final.Data, err)
	}
}
