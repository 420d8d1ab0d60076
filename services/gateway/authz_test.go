package gateway

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/internal/metrics"
)

// enforcer is a policy enforcer that answers every call alike, on a real connection.
type enforcer struct {
	policyv1.UnimplementedPolicyEnforcerServiceServer
	resp *policyv1.CheckToolCallResponse
	err  error
}

func (e *enforcer) CheckToolCall(context.Context, *policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error) {
	return e.resp, e.err
}

// reached is a connection to an enforcer; nil stands for one that is down.
func reached(t *testing.T, e *enforcer) grpc.ClientConnInterface {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if e == nil {
		lis.Close()
	} else {
		server := grpc.NewServer()
		policyv1.RegisterPolicyEnforcerServiceServer(server, e)
		go server.Serve(lis)
		t.Cleanup(server.Stop)
	}
	conn, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// agents is an authenticator that knows one token of an agent.
type agents string

func (a agents) Authenticate(_ context.Context, token string) (auth.Principal, error) {
	if token != string(a) {
		return auth.Principal{}, auth.ErrUnauthenticated
	}
	return auth.Principal{Name: "envoy", Role: auth.Agent}, nil
}

// extAuthz asks a gateway by ext_authz, over a socket.
func extAuthz(t *testing.T, cfg Config) func(*authv3.CheckRequest) *authv3.CheckResponse {
	t.Helper()
	server, err := rpc.NewServer(rpc.Config{Listen: []string{"127.0.0.1:0"}, Authenticator: cfg.Tokens})
	if err != nil {
		t.Fatal(err)
	}
	if err := ExtAuthz(server.GRPC(), cfg); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	conn, err := rpc.Dial(server.Addrs()[0].String(), rpc.ClientConfig{Token: "s3cret"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return func(r *authv3.CheckRequest) *authv3.CheckResponse {
		t.Helper()
		resp, err := authv3.NewAuthorizationClient(conn).Check(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
}

// TestGatewaysFailClosed: whatever the policy enforcer answers that is not an ALLOW on a run,
// and whatever it does not answer, other gateways are told no, in the form that they read.
func TestGatewaysFailClosed(t *testing.T) {
	t.Parallel()
	failing := func(reason fault.Reason) *enforcer {
		return &enforcer{err: fault.New(reason, "for a test").GRPCStatus().Err()}
	}
	answering := func(d policyv1.Decision, run string) *enforcer {
		return &enforcer{resp: &policyv1.CheckToolCallResponse{Decision: d, RunId: run}}
	}
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`
	check := &authv3.CheckRequest{Attributes: &authv3.AttributeContext{
		ContextExtensions: map[string]string{"interlock.server": "github", "interlock.session": "s"},
		Request: &authv3.AttributeContext_Request{Http: &authv3.AttributeContext_HttpRequest{
			Id: "1", Method: "POST", Path: "/x", Body: call, Size: int64(len(call)),
			Headers: map[string]string{"content-type": "application/json", "content-length": strconv.Itoa(len(call))},
		}},
	}}
	for what, row := range map[string]struct {
		enforcer *enforcer
		status   int // of AuthZEN
		code     int // of the JSON-RPC error; 0 where it passes
		counted  bool
	}{
		"an ALLOW":                 {answering(policyv1.Decision_DECISION_ALLOW, "run_1"), 200, 0, false},
		"an ALLOW without a run":   {answering(policyv1.Decision_DECISION_ALLOW, ""), 200, -32001, false},
		"a DENY":                   {answering(policyv1.Decision_DECISION_DENY, "run_1"), 200, -32001, false},
		"an ASK":                   {answering(policyv1.Decision_DECISION_ASK, "run_1"), 200, -32003, false},
		"nothing":                  {answering(policyv1.Decision_DECISION_UNSPECIFIED, "run_1"), 200, -32001, false},
		"a decision of tomorrow":   {answering(policyv1.Decision(99), "run_1"), 200, -32001, false},
		"an enforcer that is down": {nil, 200, -32603, true},
		"its store is down":        {failing(fault.Unavailable), 200, -32603, true},
		"it is too slow":           {failing(fault.DeadlineExceeded), 200, -32603, true},
		"nobody knows":             {failing(fault.CommitUncertain), 200, -32603, true},
		"a bug":                    {failing(fault.Internal), 500, -32603, true},
		"a rolled back store":      {failing(fault.StoreRolledBack), 200, -32603, true},
		"no such run":              {failing(fault.NotFound), 200, -32001, false},
		"a call id used before":    {failing(fault.IdempotencyMismatch), 200, -32001, false},
		"a role that may not":      {failing(fault.PermissionDenied), 403, -32001, false},
		"a token that is unknown":  {failing(fault.Unauthenticated), 401, -32001, false},
		"a bad request":            {failing(fault.InvalidRequest), 400, -32001, false},
		"no such method":           {&enforcer{err: status.Error(codes.Unimplemented, "x")}, 500, -32001, false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			m := metrics.New()
			cfg := Config{
				Engine: &line{}, State: &line{}, Policy: reached(t, row.enforcer), Tokens: agents("s3cret"), Metrics: m, PublicURL: "https://gate.example",
				Authz: AuthzFlags{ExtAuthz: true},
			}
			passes := extAuthz(t, cfg)
			g := open(t, cfg)
			rec := ask(g, "POST", "/access/v1/evaluation", `{"subject":{"type":"session","id":"s"},"action":{"name":"t"},"resource":{"type":"server","id":"github"}}`,
				"Authorization", "Bearer s3cret", "Content-Type", "application/json", "X-Request-ID", "7")
			var answer map[string]any
			_ = json.Unmarshal(rec.Body.Bytes(), &answer) // an error is text
			if rec.Code != row.status || rec.Header().Get("X-Request-ID") != "7" || (answer["decision"] == true) != (row.code == 0) {
				t.Errorf("AuthZEN: %d %s", rec.Code, rec.Body)
			}
			if _, decided := answer["decision"]; decided != (row.status == http.StatusOK) {
				t.Errorf("AuthZEN: %d %s", rec.Code, rec.Body)
			}
			resp := passes(check)
			body := resp.GetDeniedResponse().GetBody()
			if allowed := resp.GetStatus().GetCode() == int32(codes.OK); allowed != (row.code == 0) || row.code != 0 && !strings.Contains(body, `"code":`+strconv.Itoa(row.code)) {
				t.Errorf("ext_authz: %v", resp)
			}
			if strings.Contains(body, "for a test") && row.code == -32603 && row.status == 500 {
				t.Errorf("ext_authz tells of a bug: %s", body)
			}
			counted := slices.Contains(strings.Fields(failClosed(t, m)), "2")
			if counted != row.counted {
				t.Errorf("of calls without a decision, metrics tell %q", failClosed(t, m))
			}
		})
	}
}

// failClosed are the values of the metric that counts calls without a decision.
func failClosed(t *testing.T, m *metrics.Set) string {
	t.Helper()
	families, err := m.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, family := range families {
		if family.GetName() != "interlock_fail_closed_denials_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			values = append(values, strconv.FormatFloat(metric.GetCounter().GetValue(), 'f', -1, 64))
		}
	}
	return strings.Join(values, " ")
}

func TestExtAuthzFlags(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"github", "=/mcp", "github=mcp", "github=", "git__hub=/mcp", "git hub=/mcp"} {
		err := ExtAuthz(grpc.NewServer(), Config{Policy: &line{}, Authz: AuthzFlags{ExtAuthz: true, ExtAuthzServers: []string{spec}}})
		if err == nil || !strings.Contains(err.Error(), "NAME=/PATH") {
			t.Errorf("%q: %v", spec, err)
		}
	}
}
