package runner

import (
	"context"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/timestamppb"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// patience is how long anything that these tests wait for may take.
const patience = 2 * time.Minute

// settled is an Ack, or a Fail with its error.
type settled struct {
	ack   bool
	task  string
	token int64
	error string
	again bool
}

// fakeTasks is a TaskService that follows a test.
type fakeTasks struct {
	statev1.UnimplementedTaskServiceServer
	asked   chan *statev1.ClaimTasksRequest // the streams that were opened
	give    chan *statev1.Task              // goes to any stream
	cut     chan error                      // ends any stream
	extends chan int64                      // the tokens that were extended
	settled chan settled

	extend func(n int) (*timestamppb.Timestamp, error) // nil: an hour
	settle func(n int) error                           // nil: fine
	refuse error                                       // of every stream

	mu                  sync.Mutex
	extended, settledNo int
}

func (f *fakeTasks) ClaimTasks(req *statev1.ClaimTasksRequest, stream grpc.ServerStreamingServer[statev1.ClaimTasksResponse]) error {
	f.asked <- req
	if f.refuse != nil {
		return f.refuse
	}
	for {
		select {
		case task := <-f.give:
			if err := stream.Send(&statev1.ClaimTasksResponse{Task: task}); err != nil {
				return err
			}
		case err := <-f.cut:
			return err
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

func (f *fakeTasks) ExtendTask(_ context.Context, req *statev1.ExtendTaskRequest) (*statev1.ExtendTaskResponse, error) {
	f.mu.Lock()
	f.extended++
	n := f.extended
	f.mu.Unlock()
	f.extends <- req.GetClaimToken()
	if f.extend == nil {
		return &statev1.ExtendTaskResponse{ClaimExpiresAt: in(time.Hour)}, nil
	}
	expires, err := f.extend(n)
	if err != nil {
		return nil, err
	}
	return &statev1.ExtendTaskResponse{ClaimExpiresAt: expires}, nil
}

func (f *fakeTasks) settles(s settled) error {
	f.mu.Lock()
	f.settledNo++
	n := f.settledNo
	f.mu.Unlock()
	f.settled <- s
	if f.settle == nil {
		return nil
	}
	return f.settle(n)
}

func (f *fakeTasks) CompleteTask(_ context.Context, req *statev1.CompleteTaskRequest) (*statev1.CompleteTaskResponse, error) {
	err := f.settles(settled{ack: true, task: req.GetTaskId(), token: req.GetClaimToken()})
	return &statev1.CompleteTaskResponse{}, err
}

func (f *fakeTasks) FailTask(_ context.Context, req *statev1.FailTaskRequest) (*statev1.FailTaskResponse, error) {
	err := f.settles(settled{task: req.GetTaskId(), token: req.GetClaimToken(), error: req.GetError(), again: req.GetRetry()})
	return &statev1.FailTaskResponse{}, err
}

func in(d time.Duration) *timestamppb.Timestamp { return timestamppb.New(time.Now().Add(d)) }

// because is an error as a service answers it.
func because(reason fault.Reason) error { return fault.New(reason, "because").GRPCStatus().Err() }

// bench is a runner over a fake service, and its output.
type bench struct {
	*fakeTasks
	t    *testing.T
	dir  string
	stop context.CancelFunc

	lines chan string // "session: out line", "session! err line"
	told  chan string
	ended chan error
}

// start starts a runner whose agents run a command in a folder of their own.
func start(t *testing.T, command string, change func(*fakeTasks, *Config)) *bench {
	b := &bench{
		t: t, dir: t.TempDir(), lines: make(chan string, 1000), told: make(chan string, 1000), ended: make(chan error, 1),
		fakeTasks: &fakeTasks{
			asked: make(chan *statev1.ClaimTasksRequest, 100), give: make(chan *statev1.Task), cut: make(chan error),
			extends: make(chan int64, 1000), settled: make(chan settled, 100),
		},
	}
	cfg := Config{
		Name: "bench", Command: command, Dir: b.dir, Environ: []string{"PATH=" + os.Getenv("PATH"), "FOLDER=" + b.dir},
		Grace: patience, KillAfter: patience,
		Out:  func(session, line string) { b.lines <- session + ": " + line },
		Err:  func(session, line string) { b.lines <- session + "! " + line },
		Tell: func(line string) { b.told <- line },
	}
	if change != nil {
		change(b.fakeTasks, &cfg)
	}
	lis := bufconn.Listen(1 << 20)
	server := grpc.NewServer()
	statev1.RegisterTaskServiceServer(server, b.fakeTasks)
	go func() { _ = server.Serve(lis) }()
	conn, err := grpc.NewClient("passthrough:///bench", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Tasks = statev1.NewTaskServiceClient(conn)
	ctx, stop := context.WithCancel(context.Background())
	b.stop = stop
	go func() { b.ended <- Run(ctx, cfg) }()
	t.Cleanup(func() {
		stop()
		conn.Close()
		server.Stop()
	})
	return b
}

// next returns the next item of a channel.
func next[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatalf("waited in vain for %s", what)
		panic("unreachable")
	}
}

// line waits for a line of an agent.
func (b *bench) line(want string) {
	b.t.Helper()
	if got := next(b.t, want, b.lines); got != want {
		b.t.Fatalf("an agent printed %q, want %q", got, want)
	}
}

// tells waits for an event of the runner.
func (b *bench) tells(part string) string {
	b.t.Helper()
	for {
		if line := next(b.t, "a word of "+part, b.told); strings.Contains(line, part) {
			return line
		}
	}
}

// settles waits for the next CompleteTask or FailTask.
func (b *bench) settlement(want settled) {
	b.t.Helper()
	if got := next(b.t, "CompleteTask or FailTask", b.settled); got != want {
		b.t.Fatalf("got %+v, want %+v", got, want)
	}
}

// unsettled fails when there was an Ack or a Fail.
func (b *bench) unsettled() {
	b.t.Helper()
	select {
	case s := <-b.settled:
		b.t.Errorf("settled: %+v", s)
	default:
	}
}

// finish ends the runner, which must not fail.
func (b *bench) finish() {
	b.t.Helper()
	b.stop()
	if err := next(b.t, "the end of the runner", b.ended); err != nil {
		b.t.Error(err)
	}
}

// task is one for a session, claimed for an hour.
func task(session string) *statev1.Task {
	return &statev1.Task{
		TaskId: "task_" + session, Kind: statev1.TaskKind_TASK_KIND_START, SessionId: "ses_" + session, SessionName: session,
		Prompt: "hello " + session, ClaimToken: 7, ClaimExpiresAt: in(time.Hour),
	}
}
