package forward_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/emptypb"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/forward"
)

// serve answers a client of a server in memory.
func serve(t *testing.T, s *grpc.Server) *grpc.ClientConn {
	t.Helper()
	lis := bufconn.Listen(1 << 16)
	go func() { _ = s.Serve(lis) }()
	t.Cleanup(s.Stop)
	conn, err := grpc.NewClient("passthrough:///memory", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// upstream answers everything with one empty message, and keeps what was called
// by whom.
type upstream struct {
	mu     sync.Mutex
	called map[string]string // method to token
}

func (u *upstream) handle(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	md, _ := metadata.FromIncomingContext(stream.Context())
	u.mu.Lock()
	u.called[method] = ""
	if token := md.Get("authorization"); len(token) == 1 {
		u.called[method] = token[0]
	}
	u.mu.Unlock()
	for {
		switch err := stream.RecvMsg(new(emptypb.Empty)); {
		case errors.Is(err, io.EOF):
			return stream.SendMsg(new(emptypb.Empty))
		case err != nil:
			return err
		}
	}
}

func (u *upstream) token(method string) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.called[method]
}

// TestEveryRPCIsForwarded: a new RPC is not forgotten here, and the caller's own
// credentials go along.
func TestEveryRPCIsForwarded(t *testing.T) {
	t.Parallel()
	up := &upstream{called: map[string]string{}}
	behind := serve(t, grpc.NewServer(grpc.UnknownServiceHandler(up.handle)))
	edge := grpc.NewServer()
	forward.Register(edge, behind, behind, behind, behind)
	conn := serve(t, edge)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer mine")
	calls := 0
	for _, file := range []protoreflect.FileDescriptor{
		enginev1.File_interlock_engine_v1_workflow_service_proto, enginev1.File_interlock_engine_v1_run_service_proto,
		enginev1.File_interlock_engine_v1_process_service_proto,
		policyv1.File_interlock_policy_v1_policy_enforcer_service_proto, policyv1.File_interlock_policy_v1_policy_service_proto,
		policyv1.File_interlock_policy_v1_decision_service_proto,
		statev1.File_interlock_state_v1_schema_service_proto, statev1.File_interlock_state_v1_state_service_proto,
		statev1.File_interlock_state_v1_session_service_proto, statev1.File_interlock_state_v1_task_service_proto,
		statev1.File_interlock_state_v1_component_service_proto, approvalv1.File_interlock_approval_v1_approval_service_proto,
	} {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				m := service.Methods().Get(j)
				name := "/" + string(service.FullName()) + "/" + string(m.Name())
				calls++
				if err := call(ctx, conn, m, name); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if got := up.token(name); got != "Bearer mine" {
					t.Errorf("%s arrived with %q", name, got)
				}
			}
		}
	}
	if calls < 75 {
		t.Errorf("only %d RPCs were looked at", calls)
	}
}

// call makes an RPC with an empty message and takes one answer.
func call(ctx context.Context, conn *grpc.ClientConn, m protoreflect.MethodDescriptor, name string) error {
	desc := &grpc.StreamDesc{ClientStreams: m.IsStreamingClient(), ServerStreams: m.IsStreamingServer()}
	stream, err := conn.NewStream(ctx, desc, name)
	if err != nil {
		return err
	}
	if err := stream.SendMsg(new(emptypb.Empty)); err != nil {
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	return stream.RecvMsg(new(emptypb.Empty))
}
