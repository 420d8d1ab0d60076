package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	peerv1 "github.com/interlock-run/interlock/gen/go/interlock/peer/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is for expected events; no test waits that long unless it fails.
const patience = 20 * time.Second

// runs is a RunService whose behaviour is the test's.
type runs struct {
	enginev1.UnimplementedRunServiceServer
	get   func(context.Context, *enginev1.GetRunRequest) (*enginev1.GetRunResponse, error)
	start func(context.Context, *enginev1.StartRunRequest) (*enginev1.StartRunResponse, error)
	watch func(*enginev1.WatchRunRequest, grpc.ServerStreamingServer[enginev1.WatchRunResponse]) error
}

func (r *runs) GetRun(ctx context.Context, req *enginev1.GetRunRequest) (*enginev1.GetRunResponse, error) {
	if r.get == nil {
		return &enginev1.GetRunResponse{}, nil
	}
	return r.get(ctx, req)
}

func (r *runs) StartRun(ctx context.Context, req *enginev1.StartRunRequest) (*enginev1.StartRunResponse, error) {
	if r.start == nil {
		return &enginev1.StartRunResponse{}, nil
	}
	return r.start(ctx, req)
}

func (r *runs) WatchRun(req *enginev1.WatchRunRequest, stream grpc.ServerStreamingServer[enginev1.WatchRunResponse]) error {
	if r.watch == nil {
		return nil
	}
	return r.watch(req, stream)
}

// checks echoes: its answer has the request's correlation id and call ids, and an
// error where a call is invalid.
type checks struct {
	policyv1.UnimplementedPolicyEnforcerServiceServer
}

func (checks) CheckToolCalls(stream grpc.BidiStreamingServer[policyv1.CheckToolCallsRequest, policyv1.CheckToolCallsResponse]) error {
	for {
		req, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		answer := &policyv1.CheckToolCallsResponse{CorrelationId: req.GetCorrelationId()}
		for _, call := range req.GetCalls() {
			result := &policyv1.CheckToolCallsResult{Result: &policyv1.CheckToolCallsResult_Decision{
				Decision: &policyv1.CheckToolCallResponse{CallId: call.GetCallId()},
			}}
			if err := rpc.Validate(call); err != nil {
				result.Result = &policyv1.CheckToolCallsResult_Error{Error: fault.From(err).GRPCStatus().Proto()}
			}
			answer.Results = append(answer.Results, result)
		}
		if err := stream.Send(answer); err != nil {
			return err
		}
	}
}

// lockedBuffer is a log that tests read while servers write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// house is a server with its clients.
type house struct {
	server  *rpc.Server
	address string
	tokens  map[auth.Role]string
	log     *lockedBuffer
	// stop begins the drain; done is closed when Serve has returned.
	stop context.CancelFunc
	done chan struct{}
}

// open starts a server on a port of its own.
func open(t *testing.T, service *runs, change func(*rpc.Config)) *house {
	t.Helper()
	h := &house{tokens: auth.Generate(), log: new(lockedBuffer), done: make(chan struct{})}
	h.tokens[auth.Service] = auth.Mint()
	cfg := rpc.Config{
		Listen:        []string{"127.0.0.1:0"},
		Authenticator: tokensOf(t, h.tokens),
		Logger:        slog.New(slog.NewTextHandler(h.log, nil)),
	}
	if change != nil {
		change(&cfg)
	}
	server, err := rpc.NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	h.server, h.address = server, server.Addrs()[0].String()
	enginev1.RegisterRunServiceServer(server.GRPC(), service)
	enginev1.RegisterWorkflowServiceServer(server.GRPC(), enginev1.UnimplementedWorkflowServiceServer{})
	enginev1.RegisterProcessServiceServer(server.GRPC(), enginev1.UnimplementedProcessServiceServer{})
	policyv1.RegisterSetServiceServer(server.GRPC(), policyv1.UnimplementedSetServiceServer{})
	enginev1.RegisterScheduleServiceServer(server.GRPC(), enginev1.UnimplementedScheduleServiceServer{})
	policyv1.RegisterPolicyEnforcerServiceServer(server.GRPC(), checks{})
	policyv1.RegisterPolicyServiceServer(server.GRPC(), policyv1.UnimplementedPolicyServiceServer{})
	policyv1.RegisterDecisionServiceServer(server.GRPC(), policyv1.UnimplementedDecisionServiceServer{})
	policyv1.RegisterUpstreamServiceServer(server.GRPC(), policyv1.UnimplementedUpstreamServiceServer{})
	approvalv1.RegisterApprovalServiceServer(server.GRPC(), approvalv1.UnimplementedApprovalServiceServer{})
	peerv1.RegisterRunPeerServiceServer(server.GRPC(), peerv1.UnimplementedRunPeerServiceServer{})
	peerv1.RegisterUpstreamPeerServiceServer(server.GRPC(), peerv1.UnimplementedUpstreamPeerServiceServer{})
	peerv1.RegisterApprovalPeerServiceServer(server.GRPC(), peerv1.UnimplementedApprovalPeerServiceServer{})
	identityv1.RegisterPersonServiceServer(server.GRPC(), identityv1.UnimplementedPersonServiceServer{})
	identityv1.RegisterLoginServiceServer(server.GRPC(), identityv1.UnimplementedLoginServiceServer{})
	identityv1.RegisterHaltServiceServer(server.GRPC(), identityv1.UnimplementedHaltServiceServer{})
	policyv1.RegisterBreakGlassServiceServer(server.GRPC(), policyv1.UnimplementedBreakGlassServiceServer{})
	identityv1.RegisterNamespaceServiceServer(server.GRPC(), identityv1.UnimplementedNamespaceServiceServer{})
	statev1.RegisterSchemaServiceServer(server.GRPC(), statev1.UnimplementedSchemaServiceServer{})
	statev1.RegisterStateServiceServer(server.GRPC(), statev1.UnimplementedStateServiceServer{})
	statev1.RegisterSessionServiceServer(server.GRPC(), statev1.UnimplementedSessionServiceServer{})
	statev1.RegisterTaskServiceServer(server.GRPC(), statev1.UnimplementedTaskServiceServer{})
	statev1.RegisterComponentServiceServer(server.GRPC(), statev1.UnimplementedComponentServiceServer{})
	statev1.RegisterAgentServiceServer(server.GRPC(), statev1.UnimplementedAgentServiceServer{})
	server.SetServing(true)
	ctx, cancel := context.WithCancel(context.Background())
	h.stop = cancel
	go func() {
		defer close(h.done)
		if err := server.Serve(ctx); err != nil {
			t.Errorf("serve: %v", err)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-h.done
	})
	return h
}

func tokensOf(t *testing.T, minted map[auth.Role]string) *auth.Tokens {
	t.Helper()
	entries := make([]string, 0, len(minted))
	for role, token := range minted {
		entries = append(entries, fmt.Sprintf(`{"name":%q,"role":%q,"token":%q}`, role, role, token))
	}
	tokens, err := auth.ParseTokens([]byte(`{"tokens":[` + strings.Join(entries, ",") + "]}"))
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

// dial connects over the network, or within the process.
func (h *house) dial(t *testing.T, cfg rpc.ClientConfig) *grpc.ClientConn {
	t.Helper()
	conn, err := rpc.Dial(h.address, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// both runs a test over the network and within the process: they must not differ.
func (h *house) both(t *testing.T, cfg rpc.ClientConfig, test func(t *testing.T, conn grpc.ClientConnInterface)) {
	t.Helper()
	t.Run("network", func(t *testing.T) { test(t, h.dial(t, cfg)) })
	t.Run("local", func(t *testing.T) { test(t, h.server.Local(cfg)) })
}

func (h *house) as(role auth.Role) rpc.ClientConfig {
	return rpc.ClientConfig{Token: h.tokens[role]}
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// with is a context that sends exactly these pairs.
func with(ctx context.Context, pairs ...string) context.Context {
	return metadata.NewOutgoingContext(ctx, metadata.Pairs(pairs...))
}

func wantReason(t *testing.T, err error, want fault.Reason) *fault.Error {
	t.Helper()
	if got := fault.ReasonOf(err); got != want {
		t.Errorf("got %q (%v), want %q", got, err, want)
	}
	if err == nil {
		return &fault.Error{}
	}
	return fault.From(err)
}

func waitFor(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Fatalf("it never came: %s", what)
	}
}

func rawDial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(within(t), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return conn
}
