package rpc_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
)

// seen keeps the request that a handler got, in one process with the test.
type seen struct {
	request   proto.Message
	namespace string
	principal auth.Principal
}

// note keeps the arguments of a handler.
func (s *seen) note(ctx context.Context, request proto.Message) {
	p, _ := auth.FromContext(ctx)
	*s = seen{proto.Clone(request), rpc.Namespace(ctx), p}
}

// boundHouse is a server that knows, next to the roles' tokens, those of agents
// which are bound to sessions.
func boundHouse(t *testing.T, service *runs, bound map[string]auth.Principal) *house {
	t.Helper()
	return open(t, service, func(cfg *rpc.Config) {
		all := []auth.Authenticator{cfg.Authenticator}
		for token, p := range bound {
			all = append(all, auth.One(p, token))
		}
		cfg.Authenticator = auth.Chain(all...)
	})
}

func TestSessionBoundCallers(t *testing.T) {
	t.Parallel()
	const session, branch, namespaced = "token-of-a-session", "token-of-a-branch", "token-of-a-namespace"
	agent := auth.Principal{Name: "agent", Role: auth.Agent, Session: "mine"}
	ofBranch, ofNamespace := agent, agent
	ofBranch.Branch, ofNamespace.Namespace = "left", "team"
	got := new(seen)
	h := boundHouse(t, &runs{
		get: func(ctx context.Context, req *enginev1.GetRunRequest) (*enginev1.GetRunResponse, error) {
			got.note(ctx, req)
			return &enginev1.GetRunResponse{}, nil
		},
		start: func(ctx context.Context, req *enginev1.StartRunRequest) (*enginev1.StartRunResponse, error) {
			got.note(ctx, req)
			return &enginev1.StartRunResponse{}, nil
		},
	}, map[string]auth.Principal{session: agent, branch: ofBranch, namespaced: ofNamespace})

	type get = enginev1.GetRunRequest
	for name, tc := range map[string]struct {
		token string
		send  proto.Message
		want  proto.Message // nil when it is refused
		why   string
	}{
		"nothing is said":       {session, &get{}, &get{SessionId: "mine"}, ""},
		"its own is said":       {session, &get{SessionId: "mine"}, &get{SessionId: "mine"}, ""},
		"another's":             {session, &get{SessionId: "other"}, nil, `session "mine"`},
		"a part of its own":     {session, &get{SessionId: "mine/sub"}, nil, `session "mine"`},
		"other case":            {session, &get{SessionId: "Mine"}, nil, `session "mine"`},
		"a run":                 {session, &get{RunId: "run_1"}, &get{RunId: "run_1"}, ""},
		"a run and its own":     {session, &get{RunId: "run_1", SessionId: "mine"}, &get{RunId: "run_1", SessionId: "mine"}, ""},
		"a run and another's":   {session, &get{RunId: "run_1", SessionId: "other"}, nil, `session "mine"`},
		"any branch":            {session, &get{Branch: "right"}, &get{SessionId: "mine", Branch: "right"}, ""},
		"start":                 {session, &enginev1.StartRunRequest{Workflow: "w"}, &enginev1.StartRunRequest{Workflow: "w", SessionId: "mine"}, ""},
		"start for another":     {session, &enginev1.StartRunRequest{Workflow: "w", SessionId: "other"}, nil, `session "mine"`},
		"no branch is said":     {branch, &get{}, &get{SessionId: "mine", Branch: "left"}, ""},
		"its branch":            {branch, &get{Branch: "left"}, &get{SessionId: "mine", Branch: "left"}, ""},
		"another branch":        {branch, &get{Branch: "right"}, nil, `branch "left"`},
		"a branch below":        {branch, &get{Branch: "left/a"}, nil, `branch "left"`},
		"a run in its branch":   {branch, &get{RunId: "run_1"}, &get{RunId: "run_1", Branch: "left"}, ""},
		"unbound":               {h.tokens[auth.Agent], &get{SessionId: "any", Branch: "b"}, &get{SessionId: "any", Branch: "b"}, ""},
		"unbound says nothing":  {h.tokens[auth.Agent], &get{}, &get{}, ""},
		"operator of any":       {h.tokens[auth.Operator], &get{SessionId: "any"}, &get{SessionId: "any"}, ""},
		"bound to a namespace":  {namespaced, &get{}, &get{SessionId: "mine"}, ""},
		"invalid all the same":  {session, &enginev1.StartRunRequest{}, nil, "workflow"},
		"another's and invalid": {session, &enginev1.StartRunRequest{SessionId: "other"}, nil, `session "mine"`},
	} {
		h.both(t, rpc.ClientConfig{Token: tc.token}, func(t *testing.T, conn grpc.ClientConnInterface) {
			*got = seen{}
			sent := proto.Clone(tc.send)
			var err error
			switch req := tc.send.(type) {
			case *get:
				_, err = enginev1.NewRunServiceClient(conn).GetRun(within(t), req)
			case *enginev1.StartRunRequest:
				_, err = enginev1.NewRunServiceClient(conn).StartRun(within(t), req)
			}
			if !proto.Equal(sent, tc.send) {
				t.Errorf("%s: the caller's own message was changed", name)
			}
			if tc.want == nil {
				if err == nil || got.request != nil || !strings.Contains(err.Error(), tc.why) {
					t.Errorf("%s: %v; the handler got %v", name, err, got.request)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got.request, protocmp.Transform()); err != nil || diff != "" {
				t.Errorf("%s: %v\n%s", name, err, diff)
			}
		})
	}
	_, err := enginev1.NewRunServiceClient(h.dial(t, rpc.ClientConfig{Token: session})).GetRun(within(t), &get{SessionId: "other"})
	wantReason(t, err, fault.PermissionDenied)
}

func TestNamespaceBoundCallers(t *testing.T) {
	t.Parallel()
	const token = "token-of-a-namespace"
	got := new(seen)
	h := boundHouse(t, &runs{
		get: func(ctx context.Context, req *enginev1.GetRunRequest) (*enginev1.GetRunResponse, error) {
			got.note(ctx, req)
			return &enginev1.GetRunResponse{}, nil
		},
	}, map[string]auth.Principal{token: {Name: "agent", Role: auth.Agent, Session: "mine", Namespace: "team"}})
	for namespace, ok := range map[string]bool{"": true, "team": true, "default": false, "other": false} {
		h.both(t, rpc.ClientConfig{Token: token, Namespace: namespace}, func(t *testing.T, conn grpc.ClientConnInterface) {
			*got = seen{}
			_, err := enginev1.NewRunServiceClient(conn).GetRun(within(t), &enginev1.GetRunRequest{})
			if !ok {
				wantReason(t, err, fault.PermissionDenied)
			}
			if ok != (err == nil && got.namespace == "team" && got.principal.Session == "mine") || !ok && got.request != nil {
				t.Errorf("%q: %v; the handler saw %+v", namespace, err, got)
			}
		})
	}
}

// In the state-store's requests a session_id is the session to look at.
func TestSessionBoundCallersOfTheStateStore(t *testing.T) {
	t.Parallel()
	got := new(seen)
	server, err := rpc.NewServer(rpc.Config{Authenticator: auth.One(auth.Principal{Name: "agent", Role: auth.Agent, Session: "mine", Branch: "left"}, "token-of-a-session")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	statev1.RegisterSessionServiceServer(server.GRPC(), &sessions{seen: got})
	client := statev1.NewSessionServiceClient(server.Local(rpc.ClientConfig{Token: "token-of-a-session"}))
	for name, tc := range map[string]struct {
		send, want *statev1.GetSessionRequest
	}{
		"a child":      {&statev1.GetSessionRequest{SessionId: "child"}, &statev1.GetSessionRequest{SessionId: "child", Session: "mine"}},
		"as itself":    {&statev1.GetSessionRequest{SessionId: "child", Session: "mine"}, &statev1.GetSessionRequest{SessionId: "child", Session: "mine"}},
		"as the child": {&statev1.GetSessionRequest{SessionId: "child", Session: "child"}, nil},
	} {
		*got = seen{}
		_, err := client.GetSession(within(t), tc.send)
		if tc.want == nil {
			wantReason(t, err, fault.PermissionDenied)
			if got.request != nil {
				t.Errorf("%s: the handler ran", name)
			}
			continue
		}
		if diff := cmp.Diff(proto.Message(tc.want), got.request, protocmp.Transform()); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

type sessions struct {
	statev1.UnimplementedSessionServiceServer
	*seen
}

func (s *sessions) GetSession(ctx context.Context, req *statev1.GetSessionRequest) (*statev1.GetSessionResponse, error) {
	s.note(ctx, req)
	return &statev1.GetSessionResponse{}, nil
}

// Each message of a stream is judged, and each call in it.
func TestSessionBoundStreams(t *testing.T) {
	t.Parallel()
	const token = "token-of-a-session"
	received := make(chan *policyv1.CheckToolCallsRequest, 1)
	server, err := rpc.NewServer(rpc.Config{
		Listen:        []string{"127.0.0.1:0"},
		Authenticator: auth.One(auth.Principal{Name: "agent", Role: auth.Agent, Session: "mine"}, token),
	})
	if err != nil {
		t.Fatal(err)
	}
	policyv1.RegisterPolicyEnforcerServiceServer(server.GRPC(), &batches{received: received})
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	network, err := rpc.Dial(server.Addrs()[0].String(), rpc.ClientConfig{Token: token})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = network.Close() })
	for _, conn := range []grpc.ClientConnInterface{network, server.Local(rpc.ClientConfig{Token: token})} {
		stream, err := policyv1.NewPolicyEnforcerServiceClient(conn).CheckToolCalls(within(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Send(&policyv1.CheckToolCallsRequest{Calls: []*policyv1.CheckToolCallRequest{
			{Tool: "a"}, {Tool: "b", SessionId: "mine"}, {Tool: "c", RunId: "run_1"},
		}}); err != nil {
			t.Fatal(err)
		}
		want := &policyv1.CheckToolCallsRequest{Calls: []*policyv1.CheckToolCallRequest{
			{Tool: "a", SessionId: "mine"}, {Tool: "b", SessionId: "mine"}, {Tool: "c", RunId: "run_1"},
		}}
		if diff := cmp.Diff(want, <-received, protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
		if _, err := stream.Recv(); err != nil {
			t.Fatal(err)
		}
		if err := stream.Send(&policyv1.CheckToolCallsRequest{Calls: []*policyv1.CheckToolCallRequest{
			{Tool: "a", SessionId: "mine"}, {Tool: "b", SessionId: "other"},
		}}); err != nil {
			t.Fatal(err)
		}
		_, err = stream.Recv()
		wantReason(t, err, fault.PermissionDenied)
	}
	if len(received) != 0 {
		t.Errorf("the handler received %v", <-received)
	}
}

type batches struct {
	policyv1.UnimplementedPolicyEnforcerServiceServer
	received chan *policyv1.CheckToolCallsRequest
}

func (b *batches) CheckToolCalls(stream grpc.BidiStreamingServer[policyv1.CheckToolCallsRequest, policyv1.CheckToolCallsResponse]) error {
	for {
		req, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		b.received <- req
		if err := stream.Send(&policyv1.CheckToolCallsResponse{}); err != nil {
			return err
		}
	}
}

// RPCs that agents may call can be called by a bound one too, in packages that the rule
// knows.
func TestEveryRPCOfAgentsKnowsBoundOnes(t *testing.T) {
	t.Parallel()
	const token = "token-of-a-session"
	h := boundHouse(t, &runs{}, map[string]auth.Principal{token: {Name: "agent", Role: auth.Agent, Session: "mine"}})
	conn := h.dial(t, rpc.ClientConfig{Token: token})
	for _, name := range auth.Methods() {
		if !strings.HasPrefix(name, "/interlock.") || !auth.Allowed(name, auth.Agent) {
			continue
		}
		if err := callEmpty(t, conn, name); fault.ReasonOf(err) == fault.PermissionDenied {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// These are the fields by which requests that agents make name a session or a
// branch. Each was looked at: it says who acts (=), or whom it is about (.), which
// is the service's to judge. A new field is decided on here and in bound.go.
func TestFieldsThatNameSessions(t *testing.T) {
	t.Parallel()
	want := []string{
		"engine AnswerQuestion session_id =", "engine BindBranch branch =", "engine BindBranch session_id =",
		"engine ForceState branch =", "engine ForceState session_id =",
		"engine GetRun branch =", "engine GetRun session_id =", "engine StartProcess session_id =",
		"engine StartRun session_id =", "engine TransitionRun branch =", "engine TransitionRun session_id =",
		"policy CheckToolCall branch =", "policy CheckToolCall session_id =",
		"policy CheckToolCalls calls.branch =", "policy CheckToolCalls calls.session_id =",
		"policy GetPolicyUsage session_id =", "policy ReportCost session_id =", "policy ReportToolCall branch =", "policy ReportToolCall session_id =", "policy StartCommand session_id =", "policy WhoAmI session_id =",
		"state BeginExecution session =", "state CommitExecution session =", "state GetComponentValues session =",
		"state CreateSession session =", "state CreateSession session_id .", "state GetSession session =",
		"state GetSession session_id .", "state GetSessionResult session =", "state GetSessionResult session_id .", "state ListSessions session =", "state ResumeSession session =",
		"state ResumeSession session_id .", "state StopSession session =", "state StopSession session_id .",
		"state ListSessionTokens session =", "state ListSessionTokens session_id .", "state MintSessionToken branch .", "state MintSessionToken for_session .",
		"state MintSessionToken session =", "state MintSessionToken session_id .", "state NarrowSession session =", "state NarrowSession session_id .",
		"state RevokeSessionTokens session =", "state RevokeSessionTokens session_id .",
		"state CreateState session =", "state DeleteState session =", "state GetState session =",
		"state GetStateHistory session =", "state GetStateWriters session =", "state ListStates session =",
		"state LockState session =", "state MigrateState session =", "state UnlockState session =",
		"state UpdateState session =", "state WatchState session =",
	}
	acting := map[string][]string{"engine": {"session_id", "branch"}, "policy": {"session_id", "branch"}, "state": {"session"}}
	var got []string
	for _, name := range auth.Methods() {
		if !strings.HasPrefix(name, "/interlock.") || !auth.Allowed(name, auth.Agent) {
			continue
		}
		m := describe(t, name)
		service := strings.Split(string(m.FullName()), ".")[1]
		walk(m.Input(), "", func(path string, fd protoreflect.FieldDescriptor) {
			field := string(fd.Name())
			if fd.Kind() != protoreflect.StringKind || !strings.Contains(field, "session") && !strings.Contains(field, "branch") {
				return
			}
			mark := "."
			if slices.Contains(acting[service], field) {
				mark = "="
			}
			got = append(got, service+" "+string(m.Name())+" "+path+field+" "+mark)
		})
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
		t.Error(diff)
	}
}

func walk(m protoreflect.MessageDescriptor, path string, visit func(path string, fd protoreflect.FieldDescriptor)) {
	for i := range m.Fields().Len() {
		fd := m.Fields().Get(i)
		visit(path, fd)
		if fd.Message() != nil && !fd.IsMap() {
			walk(fd.Message(), path+string(fd.Name())+".", visit)
		}
	}
}
