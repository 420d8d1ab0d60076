package sdk

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

const claimTTL = 30 * time.Second

// fakeTasks gives tasks to runners as its contract says: at most max_in_flight to
// a stream, again when a claim lapses (S11.5).
type fakeTasks struct {
	statev1.UnimplementedTaskServiceServer
	// breaks are how many tasks each stream carries before it breaks; those after
	// the last one do not.
	breaks []int
	// refuse, when set, is what every stream ends with.
	refuse error
	// once: a task that was given is not given again.
	once  bool
	way   bumpy      // of CompleteTask and FailTask
	lost  bumpy      // of Extend
	asked log[int32] // max_in_flight of each stream

	mu    sync.Mutex
	tasks []*givenTask
	acked []string
	fails []*statev1.FailTaskRequest
}

type givenTask struct {
	id      string
	token   int64
	given   int
	expires time.Time // zero when nobody has it
	over    bool
}

func (t *givenTask) held(token int64) bool {
	return !t.over && t.token == token && t.expires.After(time.Now())
}

func tasksNamed(ids ...string) *fakeTasks {
	f := &fakeTasks{}
	for _, id := range ids {
		f.tasks = append(f.tasks, &givenTask{id: id})
	}
	return f
}

func (f *fakeTasks) ClaimTasks(req *statev1.ClaimTasksRequest, stream grpc.ServerStreamingServer[statev1.ClaimTasksResponse]) error {
	f.asked.add(req.GetMaxInFlight())
	if f.refuse != nil {
		return f.refuse
	}
	f.mu.Lock()
	most := 1 << 30
	if len(f.breaks) > 0 {
		most, f.breaks = f.breaks[0], f.breaks[1:]
	}
	f.mu.Unlock()
	held := map[*givenTask]int64{}
	for sent := 0; ; {
		for _, task := range f.give(held, int(req.GetMaxInFlight()), most-sent) {
			if err := stream.Send(&statev1.ClaimTasksResponse{Task: task}); err != nil {
				return err
			}
			sent++
		}
		if sent >= most {
			return fault.New(fault.Unavailable, "this server is shutting down")
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

// give claims what is ready to a stream, so that it has at most inFlight.
func (f *fakeTasks) give(held map[*givenTask]int64, inFlight, most int) []*statev1.Task {
	f.mu.Lock()
	defer f.mu.Unlock()
	for task, token := range held {
		if !task.held(token) {
			delete(held, task)
		}
	}
	var out []*statev1.Task
	for _, task := range f.tasks {
		if len(held) >= inFlight || len(out) >= most {
			break
		}
		if task.over || task.expires.After(time.Now()) || f.once && task.given > 0 {
			continue
		}
		task.token++
		task.given++
		task.expires = time.Now().Add(claimTTL)
		held[task] = task.token
		out = append(out, &statev1.Task{
			TaskId: task.id, SessionId: "ses_" + task.id, Kind: statev1.TaskKind_TASK_KIND_CALLBACK, Prompt: "continue", Given: int32(task.given),
			ClaimToken: task.token, ClaimExpiresAt: timestamppb.New(task.expires),
			Callbacks: []*statev1.Callback{{CallbackId: "cb", StateUpdateStatus: statev1.StateUpdateStatus_STATE_UPDATE_STATUS_COMPLETED}},
			Execution: &statev1.Execution{ExecutionId: "exec_1", Values: []byte(`{"n":1}`)},
		})
	}
	return out
}

func (f *fakeTasks) ExtendTask(ctx context.Context, req *statev1.ExtendTaskRequest) (*statev1.ExtendTaskResponse, error) {
	return over(ctx, &f.lost, func(req *statev1.ExtendTaskRequest) (*statev1.ExtendTaskResponse, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		task, err := f.holder(req.GetTaskId(), req.GetClaimToken())
		if err != nil {
			return nil, err
		}
		task.expires = time.Now().Add(claimTTL)
		return &statev1.ExtendTaskResponse{ClaimExpiresAt: timestamppb.New(task.expires)}, nil
	}, req)
}

func (f *fakeTasks) CompleteTask(ctx context.Context, req *statev1.CompleteTaskRequest) (*statev1.CompleteTaskResponse, error) {
	return over(ctx, &f.way, func(req *statev1.CompleteTaskRequest) (*statev1.CompleteTaskResponse, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.named(req.GetTaskId()).over {
			return &statev1.CompleteTaskResponse{}, nil // a repeat
		}
		task, err := f.holder(req.GetTaskId(), req.GetClaimToken())
		if err != nil {
			return nil, err
		}
		task.over = true
		f.acked = append(f.acked, task.id)
		return &statev1.CompleteTaskResponse{}, nil
	}, req)
}

func (f *fakeTasks) FailTask(ctx context.Context, req *statev1.FailTaskRequest) (*statev1.FailTaskResponse, error) {
	return over(ctx, &f.way, func(req *statev1.FailTaskRequest) (*statev1.FailTaskResponse, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		task, err := f.holder(req.GetTaskId(), req.GetClaimToken())
		if err != nil {
			return nil, err
		}
		f.fails = append(f.fails, req)
		if task.expires = (time.Time{}); !req.GetRetry() {
			task.over = true
		}
		return &statev1.FailTaskResponse{}, nil
	}, req)
}

func (f *fakeTasks) named(id string) *givenTask {
	for _, task := range f.tasks {
		if task.id == id {
			return task
		}
	}
	return &givenTask{}
}

func (f *fakeTasks) holder(id string, token int64) (*givenTask, error) {
	task := f.named(id)
	if !task.held(token) {
		return nil, fault.New(fault.Fenced, "the claim on task %s is not held with this token any more", id)
	}
	return task, nil
}

// outcome is what was said of the tasks.
func (f *fakeTasks) outcome() (acked []string, fails []*statev1.FailTaskRequest) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.acked...), append([]*statev1.FailTaskRequest(nil), f.fails...)
}

// left is how many tasks are not over.
func (f *fakeTasks) left() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, task := range f.tasks {
		if !task.over {
			n++
		}
	}
	return n
}
