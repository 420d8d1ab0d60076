package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/store"
)

func TestEveryReasonReachesTheClient(t *testing.T) {
	t.Parallel()
	h := open(t, &runs{
		get: func(_ context.Context, req *enginev1.GetRunRequest) (*enginev1.GetRunResponse, error) {
			f := fault.New(fault.Reason(req.GetRunId()), "fix it").Meta("k", "v").Violate("/a", "B", "c")
			return nil, fmt.Errorf("use case: %w", f.Wrap(errors.New("secret")))
		},
		watch: func(req *enginev1.WatchRunRequest, _ grpc.ServerStreamingServer[enginev1.WatchRunResponse]) error {
			return fault.New(fault.Reason(req.GetRunId()), "fix it").Meta("k", "v").Violate("/a", "B", "c")
		},
	}, nil)
	h.both(t, h.as(auth.Agent), func(t *testing.T, conn grpc.ClientConnInterface) {
		client := enginev1.NewRunServiceClient(conn)
		for _, reason := range fault.Reasons() {
			_, err := client.GetRun(within(t), &enginev1.GetRunRequest{RunId: string(reason)})
			got := wantReason(t, err, reason)
			if status.Code(err) != reason.Code() {
				t.Errorf("%s has the code %v", reason, status.Code(err))
			}
			if got.Metadata["k"] != "v" || len(got.Violations) != 1 || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s arrives as %+v", reason, got)
			}
			if internal := reason == fault.Internal; internal == (got.Message == "fix it") {
				t.Errorf("%s has the message %q", reason, got.Message)
			}

			stream, err := client.WatchRun(within(t), &enginev1.WatchRunRequest{RunId: string(reason)})
			if err == nil {
				_, err = stream.Recv()
			}
			if got := wantReason(t, err, reason); got.Metadata["k"] != "v" || len(got.Violations) != 1 {
				t.Errorf("%s arrives by stream as %+v", reason, got)
			}
		}
	})
}

func TestCallers(t *testing.T) {
	t.Parallel()
	var seen atomic.Pointer[auth.Principal]
	h := open(t, &runs{get: func(ctx context.Context, _ *enginev1.GetRunRequest) (*enginev1.GetRunResponse, error) {
		p, _ := auth.FromContext(ctx)
		seen.Store(&p)
		return &enginev1.GetRunResponse{}, nil
	}}, nil)
	agent := h.tokens[auth.Agent]
	h.both(t, rpc.ClientConfig{}, func(t *testing.T, conn grpc.ClientConnInterface) {
		for name, tc := range map[string]struct {
			metadata []string
			want     fault.Reason
		}{
			"agent":              {[]string{"authorization", "Bearer " + agent}, ""},
			"scheme in any case": {[]string{"authorization", "bearer " + agent}, ""},
			"nobody":             {nil, fault.Unauthenticated},
			"empty":              {[]string{"authorization", ""}, fault.Unauthenticated},
			"no scheme":          {[]string{"authorization", agent}, fault.Unauthenticated},
			"other scheme":       {[]string{"authorization", "Basic " + agent}, fault.Unauthenticated},
			"wrong token":        {[]string{"authorization", "Bearer " + agent[:40] + "xyz"}, fault.Unauthenticated},
			"cut token":          {[]string{"authorization", "Bearer " + agent[:20]}, fault.Unauthenticated},
			"two tokens":         {[]string{"authorization", "Bearer " + agent, "authorization", "Bearer " + h.tokens[auth.Operator]}, fault.Unauthenticated},
			"token is no role":   {[]string{"authorization", "Bearer agent"}, fault.Unauthenticated},
		} {
			seen.Store(nil)
			_, err := enginev1.NewRunServiceClient(conn).GetRun(with(within(t), tc.metadata...), &enginev1.GetRunRequest{})
			wantReason(t, err, tc.want)
			got := seen.Load()
			if tc.want != "" && got != nil {
				t.Errorf("%s: the handler ran", name)
			}
			if tc.want == "" && (got == nil || got.Name != "agent" || got.Role != auth.Agent || got.Kind != auth.Static) {
				t.Errorf("%s: the handler saw %+v", name, got)
			}
		}
	})
}

func TestRolesAreEnforcedForEveryRPC(t *testing.T) {
	t.Parallel()
	h := open(t, &runs{}, nil)
	for _, role := range append(auth.Roles(), auth.Service) {
		h.both(t, h.as(role), func(t *testing.T, conn grpc.ClientConnInterface) {
			for _, name := range auth.Methods() {
				if !strings.HasPrefix(name, "/interlock.") {
					continue
				}
				// An empty message decodes as any request; the RPC's answer to it
				// does not matter, as long as it is not a refusal of the role.
				err := callEmpty(t, conn, name)
				if denied := status.Code(err) == codes.PermissionDenied; denied == auth.Allowed(name, role) {
					t.Errorf("%s calls %s: %v", role, name, err)
				}
			}
		})
	}
}

// S23.16, S23.18: a read-only token calls the RPCs that change nothing, and no other.
func TestReadOnlyTokens(t *testing.T) {
	t.Parallel()
	const token = "token-of-a-person-who-reads"
	h := open(t, &runs{}, func(cfg *rpc.Config) {
		cfg.Authenticator = auth.One(auth.Principal{Name: "ann", Role: auth.Operator, ReadOnly: true}, token)
	})
	h.both(t, rpc.ClientConfig{Token: token}, func(t *testing.T, conn grpc.ClientConnInterface) {
		for _, name := range auth.Methods() {
			if !strings.HasPrefix(name, "/interlock.") || !auth.Allowed(name, auth.Operator) {
				continue
			}
			err := callEmpty(t, conn, name)
			if refused := status.Code(err) == codes.Unauthenticated; refused == auth.Reads(name) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// callEmpty calls any RPC with an empty message.
func callEmpty(t *testing.T, conn grpc.ClientConnInterface, name string) error {
	t.Helper()
	m := describe(t, name)
	if !m.IsStreamingClient() && !m.IsStreamingServer() {
		return conn.Invoke(within(t), name, &enginev1.GetRunRequest{}, &enginev1.GetRunResponse{})
	}
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, name)
	if err != nil {
		return err
	}
	_ = stream.SendMsg(&enginev1.WatchRunRequest{})
	_ = stream.CloseSend()
	return stream.RecvMsg(&enginev1.WatchRunResponse{})
}

// describe finds an RPC by its full name.
func describe(t *testing.T, name string) protoreflect.MethodDescriptor {
	t.Helper()
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(strings.ReplaceAll(name[1:], "/", ".")))
	if err != nil {
		t.Fatal(err)
	}
	return d.(protoreflect.MethodDescriptor)
}

func TestAnonymousCallers(t *testing.T) {
	t.Parallel()
	h := open(t, &runs{}, func(cfg *rpc.Config) { cfg.AllowAnonymous = true })
	h.both(t, rpc.ClientConfig{}, func(t *testing.T, conn grpc.ClientConnInterface) {
		client := enginev1.NewRunServiceClient(conn)
		_, err := client.StartRun(within(t), &enginev1.StartRunRequest{Workflow: "w"})
		wantReason(t, err, "")
		_, err = client.StartRun(with(within(t), "authorization", "Bearer wrong-wrong-wrong-wrong"), &enginev1.StartRunRequest{Workflow: "w"})
		wantReason(t, err, fault.Unauthenticated)
	})
	if _, err := rpc.NewServer(rpc.Config{}); err == nil {
		t.Error("a server that can authenticate nobody starts")
	}
}

// brokenAuthenticator cannot decide.
type brokenAuthenticator struct{}

func (brokenAuthenticator) Authenticate(context.Context, string) (auth.Principal, error) {
	return auth.Principal{Name: "root", Role: auth.Operator}, errors.New("secret host is down")
}

func TestAuthenticatorThatFailsDenies(t *testing.T) {
	t.Parallel()
	h := open(t, &runs{}, func(cfg *rpc.Config) { cfg.Authenticator = brokenAuthenticator{} })
	h.both(t, h.as(auth.Agent), func(t *testing.T, conn grpc.ClientConnInterface) {
		_, err := enginev1.NewRunServiceClient(conn).GetRun(within(t), &enginev1.GetRunRequest{})
		wantReason(t, err, fault.Unavailable)
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("internals are shown: %v", err)
		}
	})
}

type refusingAuthenticator struct{}

func (refusingAuthenticator) Authenticate(context.Context, string) (auth.Principal, error) {
	return auth.Principal{}, auth.Refused("it has expired")
}

// A caller with an old token gets the reason.
func TestRefusalsAreTold(t *testing.T) {
	t.Parallel()
	h := open(t, &runs{}, func(cfg *rpc.Config) { cfg.Authenticator = refusingAuthenticator{} })
	h.both(t, h.as(auth.Agent), func(t *testing.T, conn grpc.ClientConnInterface) {
		_, err := enginev1.NewRunServiceClient(conn).GetRun(within(t), &enginev1.GetRunRequest{})
		if f := wantReason(t, err, fault.Unauthenticated); f.Message != "the token is refused: it has expired" {
			t.Errorf("got %q", f.Message)
		}
	})
}

func TestNamespaceAndRequestID(t *testing.T) {
	t.Parallel()
	h := open(t, &runs{get: func(ctx context.Context, _ *enginev1.GetRunRequest) (*enginev1.GetRunResponse, error) {
		return &enginev1.GetRunResponse{Run: &enginev1.Run{State: rpc.Namespace(ctx), RunId: rpc.RequestID(ctx)}}, nil
	}}, nil)
	h.both(t, h.as(auth.Observer), func(t *testing.T, conn grpc.ClientConnInterface) {
		client := enginev1.NewRunServiceClient(conn)
		for given, want := range map[string]string{
			"": "default", "a": "a", "team-1": "team-1", "0": "0",
			strings.Repeat("x", 63): strings.Repeat("x", 63),
		} {
			ctx := within(t)
			if given != "" {
				ctx = with(ctx, rpc.NamespaceKey, given)
			}
			got, err := client.GetRun(ctx, &enginev1.GetRunRequest{})
			if err != nil || got.GetRun().GetState() != want {
				t.Errorf("%q: got %v, %v", given, got, err)
			}
		}
		for _, given := range []string{"-a", "A", "a.b", "a b", "a*", "a_b", "ä", strings.Repeat("x", 64)} {
			_, err := client.GetRun(with(within(t), rpc.NamespaceKey, given), &enginev1.GetRunRequest{})
			if reason := fault.ReasonOf(err); reason != fault.InvalidRequest && given != "ä" || err == nil {
				t.Errorf("%q: %v", given, err)
			}
		}
		_, err := client.GetRun(with(within(t), rpc.NamespaceKey, "a", rpc.NamespaceKey, "b"), &enginev1.GetRunRequest{})
		wantReason(t, err, fault.InvalidRequest)

		got, err := client.GetRun(with(within(t), rpc.RequestIDKey, "req_abc-1"), &enginev1.GetRunRequest{})
		if err != nil || got.GetRun().GetRunId() != "req_abc-1" {
			t.Errorf("request id: got %v, %v", got, err)
		}
		for _, given := range []string{"", "a\tb", strings.Repeat("x", 65)} {
			got, err := client.GetRun(with(within(t), rpc.RequestIDKey, given), &enginev1.GetRunRequest{})
			if id := got.GetRun().GetRunId(); err == nil && (id == given || !strings.HasPrefix(id, "req_")) {
				t.Errorf("request id %q: got %q", given, id)
			}
		}
	})
}

func TestPanicsAreInternalAndLogged(t *testing.T) {
	t.Parallel()
	h := open(t, &runs{
		get: func(context.Context, *enginev1.GetRunRequest) (*enginev1.GetRunResponse, error) {
			panic("the user's payload")
		},
		watch: func(*enginev1.WatchRunRequest, grpc.ServerStreamingServer[enginev1.WatchRunResponse]) error {
			var none []error
			return none[len(rpc.DefaultNamespace)]
		},
	}, nil)
	h.both(t, h.as(auth.Agent), func(t *testing.T, conn grpc.ClientConnInterface) {
		client := enginev1.NewRunServiceClient(conn)
		id := "req-" + strings.ReplaceAll(t.Name(), "/", "-")
		_, err := client.GetRun(metadata.AppendToOutgoingContext(within(t), rpc.RequestIDKey, id), &enginev1.GetRunRequest{})
		if got := wantReason(t, err, fault.Internal); got.Metadata["request_id"] != id {
			t.Errorf("the client cannot name its request: %+v", got)
		}
		log := h.log.String()
		for _, want := range []string{id, "chain_test.go", "/interlock.engine.v1.RunService/GetRun", "type string"} {
			if !strings.Contains(log, want) {
				t.Errorf("the log lacks %q", want)
			}
		}
		if strings.Contains(log, "payload") || strings.Contains(err.Error(), "payload") {
			t.Error("the payload got out")
		}
		stream, err := client.WatchRun(within(t), &enginev1.WatchRunRequest{RunId: "r"})
		if err == nil {
			_, err = stream.Recv()
		}
		wantReason(t, err, fault.Internal)
		if !strings.Contains(h.log.String(), "index out of range") {
			t.Error("the log lacks the runtime's words")
		}
	})
}

func TestFaultsThatCallsShareStayAsTheyAre(t *testing.T) {
	t.Parallel()
	shared := fault.New(fault.Internal, "x").Meta("k", "v").Wrap(errors.New("cause"))
	h := open(t, &runs{get: func(context.Context, *enginev1.GetRunRequest) (*enginev1.GetRunResponse, error) {
		return nil, shared
	}}, nil)
	h.both(t, h.as(auth.Agent), func(t *testing.T, conn grpc.ClientConnInterface) {
		_, err := enginev1.NewRunServiceClient(conn).GetRun(within(t), &enginev1.GetRunRequest{})
		if got := wantReason(t, err, fault.Internal); got.Metadata["request_id"] == "" || got.Metadata["k"] != "v" {
			t.Errorf("got %v", got.Metadata)
		}
		if diff := cmp.Diff(map[string]string{"k": "v"}, shared.Metadata); diff != "" {
			t.Error(diff)
		}
	})
}

func TestRequestsAreValidated(t *testing.T) {
	t.Parallel()
	var ran atomic.Int64
	h := open(t, &runs{
		start: func(context.Context, *enginev1.StartRunRequest) (*enginev1.StartRunResponse, error) {
			ran.Add(1)
			return &enginev1.StartRunResponse{}, nil
		},
		watch: func(*enginev1.WatchRunRequest, grpc.ServerStreamingServer[enginev1.WatchRunResponse]) error {
			ran.Add(1)
			return nil
		},
	}, nil)
	h.both(t, h.as(auth.Agent), func(t *testing.T, conn grpc.ClientConnInterface) {
		client := enginev1.NewRunServiceClient(conn)
		_, err := client.StartRun(within(t), &enginev1.StartRunRequest{WorkflowVersion: -1})
		got := wantReason(t, err, fault.InvalidRequest)
		want := []fault.Violation{{Pointer: "/workflow", Code: "STRING_MIN_LEN"}, {Pointer: "/workflow_version", Code: "INT64_GTE"}}
		for i := range got.Violations {
			if got.Violations[i].Message == "" {
				t.Errorf("violation %d does not say what is wrong", i)
			}
			got.Violations[i].Message = ""
		}
		if diff := cmp.Diff(want, got.Violations); diff != "" {
			t.Error(diff)
		}
		stream, err := client.WatchRun(within(t), &enginev1.WatchRunRequest{})
		if err == nil {
			_, err = stream.Recv()
		}
		wantReason(t, err, fault.InvalidRequest)
		if ran.Load() != 0 {
			t.Error("a handler saw an invalid request")
		}
	})
}

func TestStreamsThatClientsFeed(t *testing.T) {
	t.Parallel()
	h := open(t, &runs{}, nil)
	h.both(t, h.as(auth.Agent), func(t *testing.T, conn grpc.ClientConnInterface) {
		stream, err := policyv1.NewPolicyEnforcerServiceClient(conn).CheckToolCalls(within(t))
		if err != nil {
			t.Fatal(err)
		}
		for id := uint64(1); id <= 50; id++ {
			req := &policyv1.CheckToolCallsRequest{CorrelationId: id, Calls: []*policyv1.CheckToolCallRequest{
				{Tool: "Edit", CallId: fmt.Sprint(id)}, {Tool: ""},
			}}
			if err := stream.Send(req); err != nil {
				t.Fatal(err)
			}
			got, err := stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			if got.GetCorrelationId() != id || got.GetResults()[0].GetDecision().GetCallId() != fmt.Sprint(id) {
				t.Fatalf("%d is answered by %v", id, got)
			}
			if bad := got.GetResults()[1].GetError(); fault.ReasonOf(status.ErrorProto(bad)) != fault.InvalidRequest {
				t.Fatalf("an invalid call is answered by %v", got)
			}
		}
		// A message that is too large ends the stream, with the reason.
		if err := stream.Send(&policyv1.CheckToolCallsRequest{Calls: []*policyv1.CheckToolCallRequest{
			{Tool: "Edit"}, {Tool: "Edit", Input: make([]byte, rpc.MaxDocument+1)},
		}}); err != nil {
			t.Fatal(err)
		}
		_, err = stream.Recv()
		if got := wantReason(t, err, fault.TooLarge); len(got.Violations) != 1 || got.Violations[0].Pointer != "/calls/1/input" {
			t.Errorf("got %+v", got)
		}
	})
}

func TestSizes(t *testing.T) {
	t.Parallel()
	h := open(t, &runs{}, nil)
	h.both(t, h.as(auth.Agent), func(t *testing.T, conn grpc.ClientConnInterface) {
		client := enginev1.NewRunServiceClient(conn)
		for name, tc := range map[string]struct {
			size    int
			want    fault.Reason
			pointer string
		}{
			"largest document":   {rpc.MaxDocument, "", ""},
			"one byte more":      {rpc.MaxDocument + 1, fault.TooLarge, "/context"},
			"more than accepted": {2 * rpc.MaxDocument, fault.TooLarge, "/context"},
			"more than is read":  {8 * rpc.MaxDocument, fault.TooLarge, ""},
		} {
			_, err := client.StartRun(within(t), &enginev1.StartRunRequest{Workflow: "w", Context: make([]byte, tc.size)})
			got := wantReason(t, err, tc.want)
			if tc.pointer != "" && (len(got.Violations) != 1 || got.Violations[0].Pointer != tc.pointer) {
				t.Errorf("%s: got %+v", name, got)
			}
			if tc.want != "" && status.Code(err) != codes.ResourceExhausted {
				t.Errorf("%s: code %v", name, status.Code(err))
			}
		}
	})
}

// raw sends bytes as they are.
type raw struct{}

func (raw) Marshal(any) ([]byte, error)     { return []byte{0x0a, 0xff, 0xff}, nil }
func (raw) Unmarshal(_ []byte, _ any) error { return nil }
func (raw) Name() string                    { return "proto" }

func TestMalformedMessagesAreTheCallersFault(t *testing.T) {
	t.Parallel()
	h := open(t, &runs{}, nil)
	conn := h.dial(t, h.as(auth.Agent))
	err := conn.Invoke(within(t), enginev1.RunService_StartRun_FullMethodName, nil, nil, grpc.ForceCodec(raw{}))
	wantReason(t, err, fault.InvalidRequest)
	stream, err := conn.NewStream(within(t), &grpc.StreamDesc{ServerStreams: true}, enginev1.RunService_WatchRun_FullMethodName, grpc.ForceCodec(raw{}))
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.SendMsg(nil); err != nil {
		t.Fatal(err)
	}
	wantReason(t, stream.RecvMsg(nil), fault.InvalidRequest)
	if strings.Contains(h.log.String(), "call failed") {
		t.Error("a caller's fault is logged as a failure")
	}
}

func TestUnknownRPCs(t *testing.T) {
	t.Parallel()
	h := open(t, &runs{}, nil)
	for _, name := range []string{"/no.such.Service/Call", "/interlock.engine.v1.RunService/NoSuch"} {
		h.both(t, h.as(auth.Operator), func(t *testing.T, conn grpc.ClientConnInterface) {
			err := conn.Invoke(within(t), name, &enginev1.StartRunRequest{}, &enginev1.StartRunResponse{})
			wantReason(t, err, fault.Unimplemented)
		})
		h.both(t, rpc.ClientConfig{}, func(t *testing.T, conn grpc.ClientConnInterface) {
			err := conn.Invoke(within(t), name, &enginev1.StartRunRequest{}, &enginev1.StartRunResponse{})
			wantReason(t, err, fault.Unauthenticated)
		})
	}
}

func TestDeadlines(t *testing.T) {
	t.Parallel()
	left := make(chan time.Duration, 1)
	h := open(t, &runs{
		get: func(ctx context.Context, _ *enginev1.GetRunRequest) (*enginev1.GetRunResponse, error) {
			deadline, _ := ctx.Deadline()
			left <- time.Until(deadline)
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}, func(cfg *rpc.Config) { cfg.DefaultDeadline = 50 * time.Millisecond })
	h.both(t, h.as(auth.Agent), func(t *testing.T, conn grpc.ClientConnInterface) {
		client := enginev1.NewRunServiceClient(conn)

		_, err := client.GetRun(t.Context(), &enginev1.GetRunRequest{})
		wantReason(t, err, fault.DeadlineExceeded)
		if d := <-left; d > 50*time.Millisecond {
			t.Errorf("the default deadline was %v away", d)
		}

		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, err = client.GetRun(ctx, &enginev1.GetRunRequest{})
		wantReason(t, err, fault.DeadlineExceeded)
		if d := <-left; d <= 50*time.Millisecond {
			t.Errorf("the caller's deadline was not respected: %v", d)
		}

		ctx, stop := context.WithCancel(within(t))
		go func() {
			<-left
			stop()
		}()
		_, err = client.GetRun(ctx, &enginev1.GetRunRequest{})
		wantReason(t, err, fault.Cancelled)
	})
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	service := &runs{get: func(_ context.Context, req *enginev1.GetRunRequest) (*enginev1.GetRunResponse, error) {
		if req.GetRunId() == "no" {
			return nil, fault.New(fault.NotFound, "no such run")
		}
		return &enginev1.GetRunResponse{}, nil
	}}
	use := func(cfg *rpc.Config) { cfg.Registerer = registry }
	// Two servers of a process share their metrics.
	for _, h := range []*house{open(t, service, use), open(t, service, use)} {
		h.both(t, h.as(auth.Agent), func(t *testing.T, conn grpc.ClientConnInterface) {
			client := enginev1.NewRunServiceClient(conn)
			for _, id := range []string{"a", "b", "no"} {
				if _, err := client.GetRun(within(t), &enginev1.GetRunRequest{RunId: id}); err != nil && id != "no" {
					t.Fatal(err)
				}
			}
		})
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]float64)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			key := family.GetName()
			for _, label := range m.GetLabel() {
				key += " " + label.GetValue()
			}
			got[key] += m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	for key, want := range map[string]float64{
		"grpc_server_handled_total OK GetRun interlock.engine.v1.RunService":       8,
		"grpc_server_handled_total NotFound GetRun interlock.engine.v1.RunService": 4,
		"grpc_server_handling_seconds GetRun interlock.engine.v1.RunService":       12,
		"interlock_rpc_faults_total NOT_FOUND":                                     4,
	} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
}

// The end of an era of the store ends the calls that have begun in it, and the client
// is asked to try again.
func TestCallsEndWithTheEraOfTheStore(t *testing.T) {
	t.Parallel()
	gate := store.NewGate()
	began := make(chan struct{}, 2)
	wait := func(ctx context.Context) error {
		began <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
	h := open(t, &runs{
		get: func(ctx context.Context, _ *enginev1.GetRunRequest) (*enginev1.GetRunResponse, error) {
			return nil, wait(ctx)
		},
		watch: func(_ *enginev1.WatchRunRequest, s grpc.ServerStreamingServer[enginev1.WatchRunResponse]) error {
			return wait(s.Context())
		},
	}, func(cfg *rpc.Config) { cfg.Gate = gate })
	client := enginev1.NewRunServiceClient(h.dial(t, h.as(auth.Agent)))
	ended := make(chan error, 2)
	go func() {
		_, err := client.GetRun(t.Context(), &enginev1.GetRunRequest{RunId: "r"})
		ended <- err
	}()
	go func() {
		stream, err := client.WatchRun(t.Context(), &enginev1.WatchRunRequest{RunId: "r"})
		if err == nil {
			_, err = stream.Recv()
		}
		ended <- err
	}()
	<-began
	<-began
	open, err := gate.Turn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	open()
	for range 2 {
		if err := <-ended; fault.ReasonOf(err) != fault.Unavailable {
			t.Errorf("a call of before: %v", err)
		}
	}
}
