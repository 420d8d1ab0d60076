package rpc_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
)

func TestDrainLosesNoCall(t *testing.T) {
	t.Parallel()
	const callers = 20
	entered, finish := make(chan struct{}, 2*callers), make(chan struct{})
	h := open(t, &runs{get: func(ctx context.Context, req *enginev1.GetRunRequest) (*enginev1.GetRunResponse, error) {
		entered <- struct{}{}
		<-finish
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return &enginev1.GetRunResponse{Run: &enginev1.Run{RunId: req.GetRunId()}}, nil
	}}, nil)
	network, local := h.dial(t, h.as(auth.Agent)), h.server.Local(h.as(auth.Agent))

	var calls sync.WaitGroup
	for i := range 2 * callers {
		conn := []grpc.ClientConnInterface{network, local}[i%2]
		calls.Go(func() {
			got, err := enginev1.NewRunServiceClient(conn).GetRun(within(t), &enginev1.GetRunRequest{RunId: "run"})
			if err != nil || got.GetRun().GetRunId() != "run" {
				t.Errorf("a call in flight was lost: %v, %v", got, err)
			}
		})
	}
	for range 2 * callers {
		<-entered
	}
	// Clients that watch its health learn of the drain.
	health := h.dial(t, rpc.ClientConfig{})
	watch, err := healthpb.NewHealthClient(health).Watch(within(t), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := watch.Recv(); err != nil || got.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Fatalf("got %v, %v", got, err)
	}

	h.stop()
	for err == nil {
		_, err = watch.Recv()
	}
	wantReason(t, err, fault.Unavailable)
	for {
		_, err := enginev1.NewRunServiceClient(local).ListRuns(within(t), &enginev1.ListRunsRequest{})
		if reason := fault.ReasonOf(err); reason == fault.Unavailable {
			break
		} else if reason != fault.Unimplemented {
			t.Fatalf("a new call is answered by %v", err)
		}
	}
	select {
	case <-h.done:
		t.Fatal("it stopped while calls were in flight")
	default:
	}
	close(finish)
	calls.Wait()
	waitFor(t, "the end of the drain", h.done)
	_, err = enginev1.NewRunServiceClient(local).GetRun(within(t), &enginev1.GetRunRequest{})
	wantReason(t, err, fault.Unavailable)
	_, err = policyv1.NewPolicyEnforcerServiceClient(local).CheckToolCalls(within(t))
	wantReason(t, err, fault.Unavailable)
}

func TestDrainWaitsForCallsWithinTheProcess(t *testing.T) {
	t.Parallel()
	entered, finished := make(chan struct{}), false
	h := open(t, &runs{get: func(ctx context.Context, _ *enginev1.GetRunRequest) (*enginev1.GetRunResponse, error) {
		close(entered)
		<-rpc.Draining(ctx)
		for range 10_000 {
			runtime.Gosched()
		}
		finished = true
		return &enginev1.GetRunResponse{}, nil
	}}, nil)
	var call sync.WaitGroup
	call.Go(func() {
		_, err := enginev1.NewRunServiceClient(h.server.Local(h.as(auth.Agent))).GetRun(within(t), &enginev1.GetRunRequest{})
		wantReason(t, err, "")
	})
	waitFor(t, "the call", entered)
	h.stop()
	waitFor(t, "the end of the drain", h.done)
	if !finished {
		t.Error("the drain ended before the call")
	}
	call.Wait()
}

func TestDrainEndsStreamsThatOnlyTheServerFeeds(t *testing.T) {
	t.Parallel()
	for name, watch := range map[string]func(context.Context) error{
		"that return the context's error": func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		},
		"that return nothing": func(ctx context.Context) error {
			<-ctx.Done()
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, &runs{watch: func(_ *enginev1.WatchRunRequest, stream grpc.ServerStreamingServer[enginev1.WatchRunResponse]) error {
				if err := stream.Send(&enginev1.WatchRunResponse{}); err != nil {
					return err
				}
				return watch(stream.Context())
			}}, nil)
			var streams []grpc.ServerStreamingClient[enginev1.WatchRunResponse]
			for _, conn := range []grpc.ClientConnInterface{h.dial(t, h.as(auth.Agent)), h.server.Local(h.as(auth.Agent))} {
				stream, err := enginev1.NewRunServiceClient(conn).WatchRun(within(t), &enginev1.WatchRunRequest{RunId: "r"})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := stream.Recv(); err != nil {
					t.Fatal(err)
				}
				streams = append(streams, stream)
			}
			h.stop()
			for _, stream := range streams {
				_, err := stream.Recv()
				wantReason(t, err, fault.Unavailable)
			}
			waitFor(t, "the end of the drain", h.done)
		})
	}
}

func TestDrainCutsWhatTakesTooLong(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{})
	h := open(t, &runs{get: func(ctx context.Context, _ *enginev1.GetRunRequest) (*enginev1.GetRunResponse, error) {
		close(entered)
		<-ctx.Done()
		return nil, ctx.Err()
	}}, func(cfg *rpc.Config) { cfg.DrainTimeout = 10 * time.Millisecond })
	failed := make(chan error, 1)
	client := enginev1.NewRunServiceClient(h.dial(t, h.as(auth.Agent)))
	go func() {
		_, err := client.GetRun(within(t), &enginev1.GetRunRequest{})
		failed <- err
	}()
	waitFor(t, "the call", entered)
	h.stop()
	waitFor(t, "the end of the drain", h.done)
	wantReason(t, <-failed, fault.Unavailable)
}

func TestDrainingIsToldToHandlers(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{})
	h := open(t, &runs{get: func(ctx context.Context, _ *enginev1.GetRunRequest) (*enginev1.GetRunResponse, error) {
		close(entered)
		select {
		case <-rpc.Draining(ctx):
			return &enginev1.GetRunResponse{}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}, nil)
	failed := make(chan error, 1)
	client := enginev1.NewRunServiceClient(h.dial(t, h.as(auth.Agent)))
	go func() {
		_, err := client.GetRun(within(t), &enginev1.GetRunRequest{})
		failed <- err
	}()
	waitFor(t, "the call", entered)
	h.stop()
	if err := <-failed; err != nil {
		t.Errorf("the handler was not told: %v", err)
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	h := open(t, &runs{}, nil)
	h.both(t, rpc.ClientConfig{}, func(t *testing.T, conn grpc.ClientConnInterface) {
		client := healthpb.NewHealthClient(conn)
		for _, serving := range []bool{false, true} {
			h.server.SetServing(serving)
			for _, service := range []string{"", "interlock.engine.v1.RunService"} {
				got, err := client.Check(within(t), &healthpb.HealthCheckRequest{Service: service})
				if err != nil || (got.GetStatus() == healthpb.HealthCheckResponse_SERVING) != serving {
					t.Errorf("serving %v: %q is %v, %v", serving, service, got.GetStatus(), err)
				}
			}
		}
		// The server's dependencies decide whether it is ready, and not whether it takes calls.
		for service, want := range map[string]bool{"": false, "interlock.engine.v1.RunService": false, rpc.Accepting: true} {
			h.server.SetReady(false)
			got, err := client.Check(within(t), &healthpb.HealthCheckRequest{Service: service})
			if err != nil || (got.GetStatus() == healthpb.HealthCheckResponse_SERVING) != want {
				t.Errorf("not ready: %q is %v, %v", service, got.GetStatus(), err)
			}
		}
		_, err := client.Check(within(t), &healthpb.HealthCheckRequest{Service: "no.such"})
		wantReason(t, err, fault.NotFound)
	})
}
