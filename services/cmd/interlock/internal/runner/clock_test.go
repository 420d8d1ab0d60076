//go:build unix

package runner

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// fakeRuns is a RunService whose runs a test changes.
type fakeRuns struct {
	enginev1.UnimplementedRunServiceServer
	watched chan string // the runs whose streams were opened
	change  chan *enginev1.Run
	entry   *enginev1.HistoryEntry // of the end

	mu   sync.Mutex
	runs map[string]*enginev1.Run // by the names of sessions
}

func (f *fakeRuns) drive(session string, run *enginev1.Run) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runs[session] = run
}

func (f *fakeRuns) GetRun(_ context.Context, req *enginev1.GetRunRequest) (*enginev1.GetRunResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	run := f.runs[req.GetSessionId()]
	if run == nil {
		return nil, status.Error(codes.NotFound, "it drives no run")
	}
	return &enginev1.GetRunResponse{Run: run, AskedRunId: run.GetRunId()}, nil
}

func (f *fakeRuns) WatchRun(req *enginev1.WatchRunRequest, stream grpc.ServerStreamingServer[enginev1.WatchRunResponse]) error {
	f.watched <- req.GetRunId()
	for {
		select {
		case run := <-f.change:
			if err := stream.Send(&enginev1.WatchRunResponse{Run: run}); err != nil {
				return err
			}
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

func (f *fakeRuns) GetRunHistory(context.Context, *enginev1.GetRunHistoryRequest) (*enginev1.GetRunHistoryResponse, error) {
	return &enginev1.GetRunHistoryResponse{Entries: []*enginev1.HistoryEntry{f.entry}}, nil
}

// startTimed starts a runner whose agent runs a command while its session drives run_1.
func startTimed(t *testing.T, command string, entry *enginev1.HistoryEntry, grace time.Duration) (*bench, *fakeRuns) {
	f := &fakeRuns{watched: make(chan string, 100), change: make(chan *enginev1.Run), entry: entry, runs: map[string]*enginev1.Run{}}
	f.drive("child", &enginev1.Run{RunId: "run_1", Status: enginev1.RunStatus_RUN_STATUS_RUNNING, Version: 3, Dues: []*enginev1.Due{
		{Kind: "after", At: timestamppb.New(noon.Add(90 * time.Minute)), Targets: []string{"stuck"}},
	}})
	lis := bufconn.Listen(1 << 20)
	server := grpc.NewServer()
	enginev1.RegisterRunServiceServer(server, f)
	go func() { _ = server.Serve(lis) }()
	conn, err := grpc.NewClient("passthrough:///runs", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	b := start(t, command, func(_ *fakeTasks, cfg *Config) {
		cfg.Runs, cfg.DeadlineGrace = enginev1.NewRunServiceClient(conn), grace
	})
	t.Cleanup(func() {
		b.stop()
		conn.Close()
		server.Stop()
	})
	return b, f
}

var (
	byClock = &enginev1.HistoryEntry{Event: "$deadline", Reason: "the run has taken 8h, its deadline", Cause: &enginev1.Cause{Kind: "deadline"}}
	failed  = &enginev1.Run{RunId: "run_1", Status: enginev1.RunStatus_RUN_STATUS_FAILED, Version: 4}
)

// S25.8: an agent reads when a clock ends or moves its run, and is stopped when one has ended it.
func TestRunIsEndedByItsClock(t *testing.T) {
	t.Parallel()
	// Sleeps are short: one that the shell has just forked may miss the signal, and then holds the output open. The shell tells
	// stderr that the signal has ended one.
	b, f := startTimed(t, `exec 2>/dev/null; trap 'echo stopping; exit 0' TERM; echo "until $INTERLOCK_DEADLINE"; while :; do sleep 0.1; done`, byClock, patience)
	b.give <- task("child")
	b.line("child: until 2026-01-02T13:30:00Z")
	if id := next(t, "WatchRun", f.watched); id != "run_1" {
		t.Errorf("it watches %q", id)
	}
	f.change <- failed
	b.line("child: stopping")
	b.settlement(settled{task: "task_child", token: 7, error: "deadline: the run has taken 8h, its deadline"})
	b.tells("failed: deadline: the run has taken 8h, its deadline")
	b.finish()
}

// An agent that does not obey is killed after the grace, with all that it has started.
func TestClockKillsWhatDoesNotObey(t *testing.T) {
	t.Parallel()
	b, f := startTimed(t, `trap '' TERM; `+forever, byClock, time.Millisecond)
	b.give <- task("child")
	pids := b.processes("child")
	next(t, "WatchRun", f.watched)
	f.change <- failed
	b.settlement(settled{task: "task_child", token: 7, error: "deadline: the run has taken 8h, its deadline"})
	for _, pid := range pids {
		b.vanished(pid)
	}
	b.finish()
}

// An agent goes on where its run has ended otherwise, and where its session drives another run by then.
func TestOtherEndsOfRunsStopNoAgent(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		entry *enginev1.HistoryEntry
		now   string
	}{
		"ended by the agent": {&enginev1.HistoryEntry{Event: "DONE"}, "run_1"},
		"another run":        {byClock, "run_2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, f := startTimed(t, `echo $$; read -r line < "$FOLDER/go"; echo "$line"`, tc.entry, patience)
			fifo(t, b.dir+"/go")
			b.give <- task("child")
			b.pid("child")
			next(t, "WatchRun", f.watched)
			f.drive("child", &enginev1.Run{RunId: tc.now, Status: enginev1.RunStatus_RUN_STATUS_RUNNING})
			f.change <- failed
			if tc.now == "run_2" {
				if id := next(t, "WatchRun", f.watched); id != "run_2" {
					t.Errorf("it watches %q", id)
				}
			}
			write(t, b.dir+"/go", "done by myself\n")
			b.line("child: done by myself")
			b.settlement(settled{ack: true, task: "task_child", token: 7})
			b.finish()
		})
	}
}

// The deadline is of the first clock that ends or moves the run, or one that has invoked it; reminders, clocks that stand still
// and those of other branches are none.
func TestDeadlineOfTheAgent(t *testing.T) {
	t.Parallel()
	due := func(hours int, branch string, targets ...string) *enginev1.Due {
		return &enginev1.Due{At: timestamppb.New(noon.Add(time.Duration(hours) * time.Hour)), Branch: branch, Targets: targets}
	}
	outer := &enginev1.Run{RunId: "run_1", Dues: []*enginev1.Due{due(7, "", "expired")}}
	for name, tc := range map[string]struct {
		d    driven
		want string
	}{
		"no run":                   {driven{}, ""},
		"no clocks":                {driven{whole: &enginev1.Run{}, inner: &enginev1.Run{}}, ""},
		"a reminder":               {driven{whole: outer, inner: &enginev1.Run{Dues: []*enginev1.Due{due(1, "")}}}, "19:00"},
		"a clock that stands":      {driven{whole: outer, inner: &enginev1.Run{Dues: []*enginev1.Due{{Targets: []string{"a"}}}}}, "19:00"},
		"the inner run":            {driven{whole: outer, inner: &enginev1.Run{Dues: []*enginev1.Due{due(9, "", "z"), due(2, "", "a")}}}, "14:00"},
		"another branch":           {driven{whole: outer, inner: &enginev1.Run{Branch: "ci", Dues: []*enginev1.Due{due(2, "docs", "a")}}}, "19:00"},
		"its branch":               {driven{whole: outer, inner: &enginev1.Run{Branch: "ci", Dues: []*enginev1.Due{due(2, "ci", "a")}}}, "14:00"},
		"the run that has invoked": {driven{whole: outer, inner: &enginev1.Run{}}, "19:00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := ""
			if tc.want != "" {
				want = "INTERLOCK_DEADLINE=2026-01-02T" + tc.want + ":00Z"
			}
			if got := strings.Join(tc.d.hints(), " "); got != want {
				t.Errorf("hints are %q, want %q", got, want)
			}
		})
	}
}
