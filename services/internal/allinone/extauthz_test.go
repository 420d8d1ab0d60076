package allinone

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/gateway"
)

// proxy asks a server by ext_authz, as Envoy does: with its own token.
type proxy struct {
	t      *testing.T
	client authv3.AuthorizationClient
}

func proxyOf(t *testing.T, c *Server, token string) proxy {
	t.Helper()
	conn, err := rpc.Dial(c.Endpoints.GRPC, rpc.ClientConfig{Token: token})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return proxy{t, authv3.NewAuthorizationClient(conn)}
}

func (p proxy) check(r *authv3.CheckRequest) verdict {
	p.t.Helper()
	resp, err := p.client.Check(p.t.Context(), r)
	if err != nil {
		p.t.Fatal(err)
	}
	return verdict{resp}
}

// verdict is the answer to a proxy.
type verdict struct{ *authv3.CheckResponse }

func (v verdict) passes() bool { return v.GetStatus().GetCode() == int32(codes.OK) }

// header is one that the answer sets, on the request that passes or on the response.
func (v verdict) header(name string) string {
	for _, h := range append(v.GetOkResponse().GetHeaders(), v.GetDeniedResponse().GetHeaders()...) {
		if h.GetHeader().GetKey() == name {
			return h.GetHeader().GetValue()
		}
	}
	return ""
}

// errors are those of JSON-RPC in the body of a denial.
func (v verdict) errors(t *testing.T) (all []any, batch bool) {
	t.Helper()
	body := []byte(v.GetDeniedResponse().GetBody())
	if batch = bytes.HasPrefix(body, []byte("[")); !batch {
		body = []byte("[" + string(body) + "]")
	}
	if err := json.Unmarshal(body, &all); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return all, batch
}

// recorded are requests as proxies send them, with their results.
type recorded struct {
	Name string
	Want struct {
		Call, Batch bool
		Status      int
		Decision    string
		Errors      []any
	}
	Check json.RawMessage
}

func recordings(t *testing.T) map[string]recorded {
	t.Helper()
	data, err := os.ReadFile("testdata/ext_authz.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []recorded
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	all := map[string]recorded{}
	for _, one := range list {
		all[one.Name] = one
	}
	if len(all) != len(list) || len(all) < 40 {
		t.Fatalf("%d recordings of %d names", len(list), len(all))
	}
	return all
}

func (r recorded) request(t *testing.T) *authv3.CheckRequest {
	t.Helper()
	check := &authv3.CheckRequest{}
	if err := protojson.Unmarshal(r.Check, check); err != nil {
		t.Fatalf("%s: %v", r.Name, err)
	}
	return check
}

// said is a recorded request with another body, and an id of its own.
func (r recorded) said(t *testing.T, id, body string) *authv3.CheckRequest {
	t.Helper()
	check := proto.CloneOf(r.request(t))
	http := check.GetAttributes().GetRequest().GetHttp()
	http.Id, http.Body, http.Size = id, body, int64(len(body))
	http.Headers["content-length"] = fmt.Sprint(len(body))
	return check
}

const allowedCall = "a call that the state allows"

var passing = []string{"GET", "DELETE", "initialize", "notifications/*", "ping", "response", "tools/list"}

// withTickets has a session, agent-7, in a state that allows some tools, of which a policy asks
// people about one.
func withTickets(t *testing.T, flags gateway.AuthzFlags) (c *Server, run string) {
	t.Helper()
	flags.ExtAuthz, flags.ExtAuthzPass = true, passing
	c = start(t, Config{Authz: flags})
	call(t, c, "POST", "/v1/workflows", `{"id":"tickets","initial":"triage","states":{
		"triage":{"allowed_tools":["mcp__github__search_*","mcp__github__create_issue","mcp__files__read_file"],"on":{"PLAN":"done"}},"done":{"type":"final"}}}`)
	run = call(t, c, "POST", "/v1/runs", `{"workflow":"tickets","session_id":"agent-7"}`)["run_id"].(string)
	call(t, c, "POST", "/v1/policies", `{"name":"p","role":"agent","ask":[{"capability":"mcp:github:create_issue"}]}`)
	call(t, c, "PUT", "/v1/policies/p/attachments/role/agent", ``)
	return c, run
}

// TestExtAuthz plays recorded requests.
func TestExtAuthz(t *testing.T) {
	t.Parallel()
	c, _ := withTickets(t, gateway.AuthzFlags{ExtAuthzServers: []string{"files=/mcp/files"}, ExtAuthzSession: "X-Agent-Session"})
	envoy := proxyOf(t, c, tokenOf(t, c, auth.Agent))
	for name, r := range recordings(t) {
		got := envoy.check(r.request(t))
		if r.Want.Status == 0 {
			if !got.passes() || got.GetDeniedResponse() != nil || (got.header("x-interlock-call") != "") != r.Want.Call {
				t.Errorf("%s does not pass: %v", name, got)
			}
			if !strings.Contains(strings.Join(got.GetOkResponse().GetHeadersToRemove(), " "), "x-agent-session") {
				t.Errorf("%s: the server is told the session: %v", name, got)
			}
			continue
		}
		if got.GetStatus().GetCode() != int32(codes.PermissionDenied) || int(got.GetDeniedResponse().GetStatus().GetCode()) != r.Want.Status ||
			got.header("x-interlock-decision") != r.Want.Decision || got.header("content-type") != "application/json" {
			t.Errorf("%s: %v", name, got)
			continue
		}
		errs, batch := got.errors(t)
		if r.Want.Errors != nil && (batch != r.Want.Batch || !has(errs, r.Want.Errors)) {
			t.Errorf("%s: %s", name, got.GetDeniedResponse().GetBody())
		}
		if asks := r.Want.Decision == "ASK"; (got.header("x-interlock-approval") != "") != asks {
			t.Errorf("%s: approval %q", name, got.header("x-interlock-approval"))
		}
	}
}

// The settings for requests that are no calls hold, and not for calls.
func TestExtAuthzSettings(t *testing.T) {
	t.Parallel()
	all := recordings(t)
	c, _ := withTickets(t, gateway.AuthzFlags{ExtAuthzOther: "allow", ExtAuthzDenied: 403})
	envoy := proxyOf(t, c, tokenOf(t, c, auth.Agent))
	for name, passes := range map[string]bool{
		"another path": true, "a path that leads elsewhere": false, "a route of a server that cannot be one": false, "not HTTP": false, "nothing at all": false,
		"a call that the state does not allow": false, allowedCall: true, "garbage": false,
	} {
		got := envoy.check(all[name].request(t))
		if got.passes() != passes || !passes && got.GetDeniedResponse().GetStatus().GetCode() != 403 {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A call is allowed once after people have approved it, and its result can be reported by
// the id that goes along with the request.
func TestExtAuthzApproval(t *testing.T) {
	t.Parallel()
	c, run := withTickets(t, gateway.AuthzFlags{})
	envoy := proxyOf(t, c, tokenOf(t, c, auth.Agent))
	create := recordings(t)["a call that people must approve"]
	body := create.request(t).GetAttributes().GetRequest().GetHttp().GetBody()
	asked := envoy.check(create.said(t, "1", body))
	id := asked.header("x-interlock-approval")
	errs, _ := asked.errors(t)
	if !has(errs, []any{map[string]any{"error": map[string]any{"data": map[string]any{"approval_id": id, "approval_url": gateway.ForBrowsers(c.Endpoints.HTTP) + "/ui/approvals/" + id}}}}) {
		t.Errorf("%v", errs)
	}
	if again := envoy.check(create.said(t, "2", body)); again.passes() || again.header("x-interlock-approval") != id {
		t.Errorf("asked again: %v", again)
	}
	approver := map[string]string{"Authorization": "Bearer " + tokenOf(t, c, auth.Approver), "Content-Type": "application/json"}
	if got := post(t, c.Endpoints.HTTP+"/v1/approvals/"+id+"/approve", `{}`, approver); got.status != 200 {
		t.Fatalf("approve: %d %s", got.status, got.text)
	}
	if other := envoy.check(create.said(t, "3", strings.Replace(body, `"title":"x"`, `"title":"y"`, 1))); other.passes() {
		t.Error("another call passes")
	}
	granted := envoy.check(create.said(t, "4", body))
	if !granted.passes() {
		t.Fatalf("after the approval: %v", granted)
	}
	if more := envoy.check(create.said(t, "5", body)); more.passes() {
		t.Error("it passes twice")
	}
	report := fmt.Sprintf(`{"call_id":%q,"tool":"mcp__github__create_issue","ok":true,"result_bytes":10}`, granted.header("x-interlock-call"))
	if got := call(t, c, "POST", fmt.Sprintf("/v1/runs/%s/report", run), report); got["accounted"] != true {
		t.Errorf("the report: %v", got)
	}
}

// A check that is tried again is counted once, and a client that repeats its message is not:
// with one id of JSON-RPC it makes as many calls as it sends requests.
func TestExtAuthzRepeats(t *testing.T) {
	t.Parallel()
	c := start(t, Config{Authz: gateway.AuthzFlags{ExtAuthz: true, ExtAuthzPass: passing}})
	call(t, c, "POST", "/v1/workflows", `{"id":"w","initial":"a","states":{"a":{"allowed_tools":["mcp__github__search_*"],"max_iterations":3,"on":{"GO":"b"}},"b":{"type":"final"}}}`)
	call(t, c, "POST", "/v1/runs", `{"workflow":"w","session_id":"agent-7"}`)
	envoy := proxyOf(t, c, tokenOf(t, c, auth.Agent))
	all := recordings(t)
	search := all[allowedCall]
	body := search.request(t).GetAttributes().GetRequest().GetHttp().GetBody()
	first := envoy.check(search.said(t, "1", body))
	for range 5 {
		if again := envoy.check(search.said(t, "1", body)); !again.passes() || again.header("x-interlock-call") != first.header("x-interlock-call") {
			t.Fatalf("a repeat of the check: %v", again)
		}
	}
	// Of a batch that does not pass no call was made: its allowed calls are reported so, and
	// a repeat of it is no way to make it.
	batch := all["a batch with a call that is not allowed"]
	for range 2 {
		if got := envoy.check(batch.request(t)); got.passes() {
			t.Fatalf("the batch passes: %v", got)
		}
	}
	errs, _ := envoy.check(batch.request(t)).errors(t)
	if !has(errs[0], map[string]any{"error": map[string]any{"data": map[string]any{"code": string(fault.IdempotencyMismatch)}}}) {
		t.Errorf("a repeat of the batch: %v", errs)
	}
	if got := envoy.check(search.said(t, "2", body)); !got.passes() {
		t.Errorf("the third call: %v", got)
	}
	if got := envoy.check(search.said(t, "3", body)); got.passes() {
		t.Error("a fourth call passes because its message was sent before")
	}
}

// Who asks is a matter of the proxy's token: no role but agents' and operators' asks, and one
// that is bound to a session asks for that alone.
func TestExtAuthzCallers(t *testing.T) {
	t.Parallel()
	c, _ := withTickets(t, gateway.AuthzFlags{})
	all := recordings(t)
	for name, row := range map[string]struct {
		token string
		code  codes.Code
	}{
		"nobody": {"", codes.Unauthenticated}, "somebody": {"wrong", codes.Unauthenticated},
		"an approver": {tokenOf(t, c, auth.Approver), codes.PermissionDenied}, "an observer": {tokenOf(t, c, auth.Observer), codes.PermissionDenied},
	} {
		_, err := proxyOf(t, c, row.token).client.Check(t.Context(), all["tools/list"].request(t))
		if status.Code(err) != row.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	sidecar, other := proxyOf(t, c, boundTo(t, c, "default", "agent-7")), proxyOf(t, c, boundTo(t, c, "default", "agent-8"))
	elsewhere := proxyOf(t, c, boundTo(t, c, "other", "agent-7"))
	for name, row := range map[string]struct {
		proxy  proxy
		check  string
		passes bool
	}{
		"its own session, said":     {sidecar, allowedCall, true},
		"its own session, not said": {sidecar, "no session", true},
		"what the state forbids":    {sidecar, "a call that the state does not allow", false},
		"a sidecar of another":      {other, allowedCall, false},
		"another, not said":         {other, "no session", false}, // policies hold for it, and no workflow
		"another namespace":         {elsewhere, allowedCall, false},
	} {
		if got := row.proxy.check(all[row.check].request(t)); got.passes() != row.passes {
			t.Errorf("%s: %v", name, got)
		}
	}
	// A proxy says the namespace of all that it asks.
	agent := proxyOf(t, c, tokenOf(t, c, auth.Agent))
	for namespace, passes := range map[string]bool{"default": true, "other": false} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), rpc.NamespaceKey, namespace)
		got, err := agent.client.Check(ctx, all[allowedCall].request(t))
		if err != nil || (verdict{got}).passes() != passes {
			t.Errorf("in %s: %v, %v", namespace, got, err)
		}
	}
	// A body that is longer than any message fails, which proxies take for a denial.
	huge := all[allowedCall].said(t, "1", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"`+strings.Repeat("x", 2<<20)+`"}}`)
	if got, err := agent.client.Check(t.Context(), huge); err == nil && (verdict{got}).passes() {
		t.Error("a huge body passes")
	}
}

// Where requests bring their agents' tokens, these count: the proxy does not ask for
// other principals, and the server never sees them.
func TestExtAuthzTokensOfAgents(t *testing.T) {
	t.Parallel()
	c, _ := withTickets(t, gateway.AuthzFlags{ExtAuthzToken: "X-Interlock-Token"})
	envoy := proxyOf(t, c, tokenOf(t, c, auth.Operator))
	all := recordings(t)
	with := func(name, token string) verdict {
		check := all[name].request(t)
		check.GetAttributes().GetRequest().GetHttp().GetHeaders()["x-interlock-token"] = token
		return envoy.check(check)
	}
	own := boundTo(t, c, "default", "agent-7")
	for _, row := range []struct {
		what, check, token string
		passes             bool
	}{
		{"its own", allowedCall, own, true},
		{"with the scheme", "no session", "Bearer " + own, true},
		{"its own, for what is forbidden", "a call that the state does not allow", own, false},
		{"none", allowedCall, "", false},
		{"a wrong one", allowedCall, "wrong", false},
		{"two", allowedCall, own + "," + own, false},
		{"not one word", allowedCall, "Basic a b", false},
		{"another session's", allowedCall, boundTo(t, c, "default", "agent-8"), false},
		{"another namespace's", allowedCall, boundTo(t, c, "other", "agent-7"), false},
		{"an observer's", allowedCall, tokenOf(t, c, auth.Observer), false},
	} {
		got := with(row.check, row.token)
		if got.passes() != row.passes {
			t.Errorf("%s: %v", row.what, got)
		}
		if removed := strings.Join(got.GetOkResponse().GetHeadersToRemove(), " "); row.passes && !strings.Contains(removed, "x-interlock-token") {
			t.Errorf("%s reaches the server: %v", row.what, got)
		}
	}
	// The operator's token asks for no agent: policies of agents hold.
	if got := with("a call that people must approve", own); got.header("x-interlock-decision") != "ASK" {
		t.Errorf("%v", got)
	}
}

// It is served only where it was asked for, and its settings are checked at the start.
func TestExtAuthzIsOff(t *testing.T) {
	t.Parallel()
	c := start(t, Config{})
	_, err := proxyOf(t, c, tokenOf(t, c, auth.Agent)).client.Check(t.Context(), &authv3.CheckRequest{})
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("%v", err)
	}
	if !auth.Known(authv3.Authorization_Check_FullMethodName) {
		t.Error("nobody may call it")
	}
}

// A session that drives no run has no workflow that allows anything. That policies forbid no
// calls is enough only where the operator says so.
func TestGatewaysWithoutAWorkflow(t *testing.T) {
	t.Parallel()
	search := recordings(t)["a session that drives nothing"]
	for _, allow := range []bool{false, true} {
		c := start(t, Config{AllowUnbound: allow, Authz: gateway.AuthzFlags{ExtAuthz: true}})
		agent := tokenOf(t, c, auth.Agent)
		headers := map[string]string{"Authorization": "Bearer " + agent, "Content-Type": "application/json"}
		evaluate := func(tool string) map[string]any {
			return post(t, c.Endpoints.HTTP+"/access/v1/evaluation", fmt.Sprintf(
				`{"subject":{"type":"session","id":"stranger"},"action":{"name":%q},"resource":{"type":"server","id":"github"}}`, tool), headers).object()
		}
		if got := evaluate("search_issues"); !has(got, map[string]any{"decision": false, "context": map[string]any{"code": "NOT_FOUND"}}) {
			t.Errorf("without any policy, %v: %v", allow, got)
		}
		if proxyOf(t, c, agent).check(search.request(t)).passes() {
			t.Errorf("without any policy, %v: it passes", allow)
		}
		call(t, c, "POST", "/v1/policies", `{"name":"p","role":"agent","deny":[{"capability":"mcp:github:delete_*"}]}`)
		call(t, c, "PUT", "/v1/policies/p/attachments/role/agent", ``)
		if got := evaluate("search_issues"); got["decision"] != allow || !allow && !has(got["context"], map[string]any{"code": "NO_WORKFLOW"}) {
			t.Errorf("allowed by a policy alone, %v: %v", allow, got)
		}
		if got := proxyOf(t, c, agent).check(search.request(t)); got.passes() != allow {
			t.Errorf("allowed by a policy alone, %v: %v", allow, got)
		}
		if got := evaluate("delete_repository"); !has(got, map[string]any{"decision": false, "context": map[string]any{"code": "POLICY_DENIED"}}) {
			t.Errorf("denied by a policy, %v: %v", allow, got)
		}
	}
}
