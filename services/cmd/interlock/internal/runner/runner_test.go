//go:build unix

package runner

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// forever is an agent of two processes that say that they run, with their ids, and
// end only on a signal.
const forever = `echo $$; sh -c 'echo $$; exec sleep 1000' & wait`

// vanished waits until there is no such process any more.
func (b *bench) vanished(pid string) {
	b.t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		b.t.Fatal(err)
	}
	deadline := time.After(patience)
	for syscall.Kill(n, 0) == nil && !zombie(pid) {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-deadline:
			b.t.Fatalf("process %s is still there", pid)
		}
	}
}

// zombie is true for a process that has ended without a wait for it: here
// the process that adopts orphans may not.
func zombie(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// pid waits for an agent to print the id of a process.
func (b *bench) pid(session string) string {
	b.t.Helper()
	line := next(b.t, "the id of a process", b.lines)
	pid, ok := strings.CutPrefix(line, session+": ")
	if !ok {
		b.t.Fatalf("printed %q", line)
	}
	return pid
}

// processes waits for forever to run.
func (b *bench) processes(session string) []string {
	b.t.Helper()
	return []string{b.pid(session), b.pid(session)}
}

func TestTaskIsDone(t *testing.T) {
	t.Parallel()
	b := start(t, `cat; echo; echo "$WORKFLOW_STATE_ID $INTERLOCK_SESSION $INTERLOCK_TASK_KIND" >&2; printf 'no end'`, nil)
	given := task("child")
	given.Kind, given.WorkflowStateId = statev1.TaskKind_TASK_KIND_STATE_UPDATE, "wfstate_1"
	b.give <- given
	b.settlement(settled{ack: true, task: "task_child", token: 7})
	want := map[string]bool{"child: hello child": true, "child! wfstate_1 child state_update": true, "child: no end": true}
	for range len(want) {
		line := next(t, "output", b.lines)
		if !want[line] {
			t.Errorf("printed %q", line)
		}
		delete(want, line)
	}
	b.tells("session child, state_update (task_child): done")
	b.finish()
}

func TestTaskHasFailed(t *testing.T) {
	t.Parallel()
	b := start(t, `echo first >&2; echo last >&2; exit 3`, nil)
	b.give <- task("child")
	b.settlement(settled{task: "task_child", token: 7, error: "exit status 3: first\nlast"})
	b.tells("failed: exit status 3")
	b.finish()
}

func TestAgentThatCanNotBeStarted(t *testing.T) {
	t.Parallel()
	b := start(t, `true`, func(_ *fakeTasks, cfg *Config) { cfg.Dir = filepath.Join(cfg.Dir, "nowhere") })
	b.give <- task("child")
	got := next(t, "Fail", b.settled)
	if got.ack || !got.again || !strings.HasPrefix(got.error, "the agent cannot be started: ") || !strings.Contains(got.error, "nowhere") {
		t.Errorf("%+v", got)
	}
	b.finish()
}

// A prompt that the agent does not read is no failure.
func TestPromptThatNobodyReads(t *testing.T) {
	t.Parallel()
	b := start(t, `exit 0`, nil)
	given := task("child")
	given.Prompt = strings.Repeat("x", 256<<10)
	b.give <- given
	b.settlement(settled{ack: true, task: "task_child", token: 7})
	b.finish()
}

// Programs that an agent leaves running end with it.
func TestNothingIsLeftBehind(t *testing.T) {
	t.Parallel()
	b := start(t, `sleep 1000 >/dev/null 2>&1 & echo $!`, nil)
	b.give <- task("child")
	b.settlement(settled{ack: true, task: "task_child", token: 7})
	b.vanished(b.pid("child"))
	b.finish()
}

// A program that holds the agent's output open does not hold the task.
func TestOutputThatIsHeldOpen(t *testing.T) {
	t.Parallel()
	// Into a file: of its output as little may be read as the agent waits.
	b := start(t, `sleep 1000 & echo $! > pid`, func(_ *fakeTasks, cfg *Config) { cfg.KillAfter = time.Millisecond })
	b.give <- task("child")
	b.settlement(settled{ack: true, task: "task_child", token: 7})
	pid, err := os.ReadFile(filepath.Join(b.dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	b.vanished(strings.TrimSpace(string(pid)))
	b.finish()
}

// fifo makes a named pipe.
func fifo(t *testing.T, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}

// write writes into a named pipe.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0); err != nil {
		t.Fatal(err)
	}
}

func TestClaimIsExtended(t *testing.T) {
	t.Parallel()
	b := start(t, `read -r _ < go`, func(f *fakeTasks, _ *Config) {
		f.extend = func(int) (*timestamppb.Timestamp, error) { return in(3 * time.Second), nil }
	})
	fifo(t, filepath.Join(b.dir, "go"))
	given := task("child")
	given.ClaimExpiresAt = in(3 * time.Second)
	b.give <- given
	for range 2 {
		if token := next(t, "Extend", b.extends); token != 7 {
			t.Errorf("extended with token %d", token)
		}
	}
	write(t, filepath.Join(b.dir, "go"), "\n")
	b.settlement(settled{ack: true, task: "task_child", token: 7})
	b.finish()
}

// S11.3: an agent without a claim is stopped, with all that it has started, and
// its task is not reported.
func TestClaimIsLost(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		extend func(int) (*timestamppb.Timestamp, error)
		want   string
	}{
		"fenced":  {func(int) (*timestamppb.Timestamp, error) { return nil, because(fault.Fenced) }, errGone.Error()},
		"dropped": {func(int) (*timestamppb.Timestamp, error) { return nil, because(fault.NotFound) }, errGone.Error()},
		"lapsed":  {func(int) (*timestamppb.Timestamp, error) { return nil, because(fault.Unavailable) }, errLapsed.Error()},
		"after one that was extended": {func(n int) (*timestamppb.Timestamp, error) {
			if n == 1 {
				return in(0), nil
			}
			return nil, because(fault.Fenced)
		}, errGone.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t, forever, func(f *fakeTasks, _ *Config) { f.extend = tc.extend })
			given := task("child")
			given.ClaimExpiresAt = in(time.Second)
			b.give <- given
			pids := b.processes("child")
			b.tells("stopped: " + tc.want)
			for _, pid := range pids {
				b.vanished(pid)
			}
			b.finish()
			b.unsettled()
		})
	}
}

func TestAgentThatDoesNotObey(t *testing.T) {
	t.Parallel()
	b := start(t, `trap '' TERM; `+forever, func(f *fakeTasks, cfg *Config) {
		cfg.KillAfter = time.Millisecond
		f.extend = func(int) (*timestamppb.Timestamp, error) { return nil, because(fault.Fenced) }
	})
	given := task("child")
	given.ClaimExpiresAt = in(time.Second)
	b.give <- given
	pids := b.processes("child")
	b.tells("stopped: ")
	for _, pid := range pids {
		b.vanished(pid)
	}
	b.finish()
}

// An answer that did not arrive may have been given.
func TestUncertainAck(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answers []error
		want    string
	}{
		"again":             {[]error{because(fault.Unavailable), because(fault.CommitUncertain), status.Error(codes.Unavailable, "gone"), nil}, ": done"},
		"was carried out":   {[]error{because(fault.Unavailable), because(fault.NotFound)}, ": done"},
		"was fenced later":  {[]error{because(fault.CommitUncertain), because(fault.Fenced)}, ": done"},
		"was fenced before": {[]error{because(fault.Fenced)}, ": done; but the server was not notified: the claim is lost: the server has given"},
		"may not":           {[]error{because(fault.PermissionDenied)}, ": done; but the server was not notified: because"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t, "true", func(f *fakeTasks, _ *Config) { f.settle = func(n int) error { return tc.answers[n-1] } })
			b.give <- task("child")
			for range tc.answers {
				b.settlement(settled{ack: true, task: "task_child", token: 7})
			}
			if line := b.tells(": done"); !strings.Contains(line, tc.want) || len(tc.want) == len(": done") && strings.Contains(line, ";") {
				t.Errorf("told %q", line)
			}
			b.finish()
			b.unsettled()
		})
	}
}

// The runner does not wait for an answer without a claim to answer for.
func TestAckUntilTheClaimIsGone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		extend error
		want   string
	}{
		"lapsed":                {because(fault.Unavailable), "done; but the server was not notified: " + errLapsed.Error()},
		"gone, so it was taken": {because(fault.NotFound), ": done"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t, "true", func(f *fakeTasks, _ *Config) {
				f.settle = func(int) error { return because(fault.Unavailable) }
				f.extend = func(int) (*timestamppb.Timestamp, error) { return nil, tc.extend }
			})
			given := task("child")
			given.ClaimExpiresAt = in(time.Second)
			b.give <- given
			if line := b.tells(": done"); !strings.HasSuffix(line, tc.want) {
				t.Errorf("told %q", line)
			}
			b.finish()
		})
	}
}

// Agents that run count, for every stream of their tasks.
func TestStreamsThatBreak(t *testing.T) {
	t.Parallel()
	b := start(t, forever, func(_ *fakeTasks, cfg *Config) {
		cfg.Max, cfg.Labels, cfg.Command = 3, map[string]string{"os": "linux"}, `echo here; read -r _ < "$INTERLOCK_SESSION"`
	})
	for _, name := range []string{"a", "b"} {
		if err := syscall.Mkfifo(filepath.Join(b.dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	end := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(b.dir, name), []byte("\n"), 0); err != nil {
			t.Fatal(err)
		}
		b.settlement(settled{ack: true, task: "task_" + name, token: 7})
	}
	stream := func(slots int32) {
		t.Helper()
		req := next(t, "a stream", b.asked)
		if req.GetMaxInFlight() != slots || req.GetRunner() != "bench" || req.GetLabels()["os"] != "linux" {
			t.Fatalf("asked for %v, want %d in flight", req, slots)
		}
	}
	stream(3)
	b.give <- task("a")
	b.line("a: here")
	b.cut <- because(fault.Unavailable)
	b.tells("trying again in ")
	stream(2) // a is at work
	b.give <- task("b")
	b.line("b: here")
	end("a")
	stream(1) // in its place
	b.cut <- errors.New("one of them")
	b.cut <- errors.New("and the other")
	end("b")
	for slots := int32(0); slots < 3; { // as many streams as it takes
		slots += next(t, "a stream", b.asked).GetMaxInFlight()
	}
	b.finish()
}

// An agent that is at work when the runner is stopped may finish.
func TestStopLetsAgentsFinish(t *testing.T) {
	t.Parallel()
	b := start(t, `echo here; read -r _ < go`, nil)
	fifo(t, filepath.Join(b.dir, "go"))
	b.give <- task("child")
	b.line("child: here")
	b.stop()
	b.tells("stopping: 1 at work may continue for " + patience.String())
	write(t, filepath.Join(b.dir, "go"), "\n")
	b.settlement(settled{ack: true, task: "task_child", token: 7})
	b.finish()
}

// One that takes too long is stopped, and its task is for another runner, regardless of
// it says.
func TestStopAfterTheGrace(t *testing.T) {
	t.Parallel()
	b := start(t, `trap 'exit 0' TERM; `+forever, func(_ *fakeTasks, cfg *Config) { cfg.Grace = 0 })
	b.give <- task("child")
	pids := b.processes("child")
	b.stop()
	b.settlement(settled{task: "task_child", token: 7, error: "the runner was stopped", again: true})
	b.finish()
	for _, pid := range pids {
		b.vanished(pid)
	}
}

func TestRunnerThatIsRefused(t *testing.T) {
	t.Parallel()
	for _, reason := range []fault.Reason{fault.PermissionDenied, fault.Unauthenticated, fault.InvalidRequest} {
		b := start(t, "true", func(f *fakeTasks, _ *Config) { f.refuse = because(reason) })
		if err := next(t, "the end of the runner", b.ended); fault.ReasonOf(err) != reason {
			t.Errorf("ended with %v, want %s", err, reason)
		}
	}
}

// S11.4: a session's agent never runs twice at once, also when its task is given
// again to the same runner.
func TestTaskThatIsGivenAgain(t *testing.T) {
	t.Parallel()
	b := start(t, `trap 'echo ended; exit 1' TERM; echo "$INTERLOCK_TASK_ID"; test -e once && exit 0; : > once; `+forever, func(_ *fakeTasks, cfg *Config) {
		cfg.Max = 2
	})
	b.give <- task("child")
	b.line("child: task_child")
	pids := b.processes("child")
	again := task("child")
	again.ClaimToken = 8
	b.give <- again
	b.line("child: ended")
	b.line("child: task_child")
	b.settlement(settled{ack: true, task: "task_child", token: 8})
	b.vanished(pids[1])
	b.finish()
	b.unsettled()
}
