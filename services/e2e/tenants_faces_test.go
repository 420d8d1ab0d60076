package e2e

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc/metadata"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
)

// at makes a request of any part of the edge, with more headers.
func (n *tenancy) at(token, method, path, body string, headers ...string) reply {
	n.Helper()
	req := must[*http.Request](n.T)(http.NewRequestWithContext(within(n.T), method, n.http+path, strings.NewReader(body)))
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return n.roundTrip(n.T, req)
}

const namespaceHeader = "X-Interlock-Namespace"

// faceTry is a request of an agent's face, in shop's names.
type faceTry struct{ name, path, body string }

func (n *tenancy) faceTries() []faceTry {
	tool := func(name, arguments string) string {
		return fmt.Sprintf(`{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": %q, "arguments": %s, "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
			"io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"}, "io.modelcontextprotocol/clientCapabilities": {}}}}`, name, arguments)
	}
	hook := func(event, more string) string {
		return fmt.Sprintf(`{"hook_event_name": %q, "session_id": "vault", "cwd": "/", %s}`, event, more)
	}
	run := n.of["run_id"]
	return []faceTry{
		{"MCP reads the run", "/mcp?run=" + run, tool("get_state", `{}`)},
		{"MCP reads by session", "/mcp?session=vault", tool("get_state", `{}`)},
		{"MCP fires", "/mcp?run=" + run, tool("transition", `{"event": "SHIP"}`)},
		{"MCP pauses", "/mcp?run=" + run, tool("pause", `{}`)},
		{"MCP leaves", "/mcp?run=" + run, tool("deactivate", `{}`)},
		{"MCP loads", "/mcp?session=vault", tool("load_workflow", `{"name": "vault-flow"}`)},
		{"MCP takes a branch", "/mcp?session=vault", tool("load_workflow", `{"name": "vault-flow", "branch": "a", "run_id": "`+run+`"}`)},
		{"MCP reads the state", "/mcp?session=vault", tool("state_read", `{}`)},
		{"MCP writes the state", "/mcp?session=vault", tool("state_patch", `{"operations": [{"op": "add", "path": "/secret", "value": "x"}]}`)},
		{"MCP starts a session", "/mcp?session=vault", tool("start_agent_session", `{"name": "vault/below", "prompt": "x"}`)},
		{"MCP answers", "/mcp/process?session=vault-talk", tool("process_step", `{"answer": "yes"}`)},
		{"a hook before a tool", "/v1/hook", hook("PreToolUse", `"tool_name": "Read", "tool_use_id": "u", "tool_input": {"file_path": "a"}`)},
		{"a hook after a tool", "/v1/hook", hook("PostToolUse", `"tool_name": "Read", "tool_use_id": "vault-call", "tool_input": {"file_path": "hush-hash"}, "tool_response": {}`)},
		{"a hook at the start", "/v1/hook", hook("SessionStart", `"source": "startup"`)},
		{"a hook of a prompt", "/v1/hook", hook("UserPromptSubmit", `"prompt": "x"`)},
		{"a hook of a subagent", "/v1/hook", hook("SubagentStart", `"agent_id": "a", "agent_type": "x"`)},
		{"a hook at the end", "/v1/hook", hook("SessionEnd", `"reason": "exit"`)},
		{"AuthZEN", "/access/v1/evaluation", `{"subject": {"type": "session", "id": "vault"}, "action": {"name": "query"}, "resource": {"type": "server", "id": "db"}}`},
		{"AuthZEN of a run", "/access/v1/evaluation", `{"subject": {"type": "session", "id": "vault"}, "action": {"name": "query"}, "resource": {"type": "run", "id": "` + run + `"}}`},
		{"AuthZEN, several", "/access/v1/evaluations", `{"subject": {"type": "session", "id": "vault"}, "evaluations": [{"action": {"name": "query"}, "resource": {"type": "server", "id": "db"}}]}`},
		{"OTLP", "/v1/metrics", `{"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "claude_code.cost.usage", "sum": {"aggregationTemporality": 1, "dataPoints": [{"asDouble": 5, "attributes": [{"key": "session.id", "value": {"stringValue": "vault"}}]}]}}]}]}]}`},
		{"a command's start", "/v1/hook/start", `{"run_id": "` + run + `", "session_id": "vault", "call_id": "vault-call", "command": "bHM=", "level": 1}`},
		{"a command's end", "/v1/hook/finish", `{"run_id": "` + run + `", "session_id": "vault", "call_id": "vault-call", "exit_code": 0}`},
	}
}

// refusesTenant matches the refusal of a caller for its namespace or, before that, for its role.
var refusesTenant = regexp.MustCompile(`bound to the namespaces? |"?PERMISSION_DENIED|role [a-z]+ may not`)

// S22.34: neither does a tenant reach another by MCP, hooks, AuthZEN, OTLP, ext_authz, the console, page tokens or
// idempotency keys. What shop has is the same afterwards.
func TestFacesReachNoOtherTenant(t *testing.T) {
	t.Parallel()
	n := newTenancy(t, "--ext-authz")
	attackers := n.attackers()
	pages := n.pages()
	attempts := n.tryIdempotency(attackers["rival operator"])
	before := n.picture()
	for _, name := range slices.Sorted(maps.Keys(attackers)) {
		token := attackers[name]
		for _, try := range n.faceTries() {
			mcp := []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call"}
			if _, after, found := strings.Cut(try.body, `"params": {"name": "`); found {
				tool, _, _ := strings.Cut(after, `"`)
				mcp = append(mcp, "Mcp-Name", tool)
			}
			n.says(name+", "+try.name, n.at(token, http.MethodPost, try.path, try.body, mcp...).body)
			got := n.at(token, http.MethodPost, try.path, try.body, append(mcp, namespaceHeader, "shop")...)
			if got.status < http.StatusBadRequest && !refusesTenant.MatchString(got.body) && try.name != "a hook at the end" { // which asks nothing
				n.Errorf("%s, naming shop, %s is answered %v", name, try.name, got)
			}
			n.says(name+", naming shop, "+try.name, got.body)
			attempts += 2
		}
		attempts += n.tryExtAuthz(name, token) + n.tryConsole(name, token)
		for path, page := range pages {
			n.says(name+", page "+path, n.ask(token, "", http.MethodGet, path+"?page_size=1&page_token="+url.QueryEscape(page), "").body)
			attempts++
		}
	}
	for path, now := range n.picture() {
		if now != before[path] {
			t.Errorf("%s was %s\nand is %s", path, before[path], now)
		}
	}
	t.Logf("%d attempts", attempts)
	reached := 0
	for _, try := range n.faceTries() { // the control
		got := n.at(n.own["shop agent"], http.MethodPost, try.path, try.body)
		if got.status < http.StatusBadRequest || strings.Contains(got.body, hush) {
			reached++
		}
	}
	if reached < 10 {
		t.Errorf("shop's own agent is let in by %d of these faces: the attempts show nothing", reached)
	}
}

// pages returns a token of the second page of each of shop's lists that has one.
func (n *tenancy) pages() map[string]string {
	n.Helper()
	for i := range 3 {
		n.shop("operator", http.MethodPost, "/v1/sessions", fmt.Sprintf(`{"session_name": "page-%d", "labels": {"note": "hush-hush"}}`, i))
		n.shop("operator", http.MethodPost, "/v1/policies", fmt.Sprintf(`{"name": "page-%d", "role": "agent", "deny": [{"capability": "tool:Write", "message": "hush-hush"}]}`, i))
	}
	found := map[string]string{}
	for _, o := range n.operations() {
		if o.method != http.MethodGet || !slices.Contains(o.query, "page_token") || strings.Contains(o.path, "{") {
			continue
		}
		if page, _ := n.ask(n.own["shop operator"], "", http.MethodGet, o.path+"?page_size=1", "").field("next_page_token").(string); page != "" {
			found[o.path] = page
		}
	}
	if len(found) < 3 {
		n.Errorf("only %d of shop's lists have a second page", len(found))
	}
	return found
}

func (n *tenancy) tryExtAuthz(name, token string) int {
	n.Helper()
	client := authv3.NewAuthorizationClient((&world{shape: n.shape}).dial(n.T, n.engines[0], token))
	ask := &authv3.CheckRequest{Attributes: &authv3.AttributeContext{
		ContextExtensions: map[string]string{"interlock.server": "db", "interlock.session": "vault"},
		Request:           &authv3.AttributeContext_Request{Http: &authv3.AttributeContext_HttpRequest{Method: "POST", Path: "/", Headers: map[string]string{"content-type": "application/json"}, Body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"query","arguments":{}}}`}},
	}}
	resp, err := client.Check(metadata.AppendToOutgoingContext(within(n.T), rpc.NamespaceKey, "shop"), ask)
	if reason := fault.ReasonOf(err); reason != fault.PermissionDenied {
		n.Errorf("%s, naming shop, is answered by ext_authz: %v, %v", name, resp, err)
	}
	resp, err = client.Check(within(n.T), ask)
	n.says(name+", by ext_authz", fmt.Sprint(resp, err))
	return 2
}

// tryConsole logs in to the console, and asks through its page.
func (n *tenancy) tryConsole(name, token string) int {
	n.Helper()
	req := must[*http.Request](n.T)(http.NewRequestWithContext(within(n.T), http.MethodPost, n.http+"/ui/session", strings.NewReader(string(must[[]byte](n.T)(json.Marshal(map[string]string{"token": token, "namespace": "shop"}))))))
	req.Header.Set("Content-Type", "application/json")
	resp := must[*http.Response](n.T)(http.DefaultClient.Do(req))
	defer resp.Body.Close()
	text := must[[]byte](n.T)(io.ReadAll(resp.Body))
	n.says(name+", logging in", string(text))
	tries := 1
	for _, path := range []string{"/runs", "/sessions", "/stats", "/approvals", "/runs/" + n.of["run_id"], "/decisions", "/people", "/halts", "/freezes"} {
		for _, namespace := range []string{"", "shop"} {
			ask := must[*http.Request](n.T)(http.NewRequestWithContext(within(n.T), http.MethodGet, n.http+"/ui/api/v1"+path, http.NoBody))
			for _, cookie := range resp.Cookies() {
				ask.AddCookie(cookie)
			}
			if namespace != "" {
				ask.Header.Set(namespaceHeader, namespace)
			}
			got := n.roundTrip(n.T, ask)
			n.says(name+", by the console "+path, got.body)
			if namespace != "" && got.status < http.StatusBadRequest {
				n.Errorf("%s, naming shop, by the console: %s is answered %v", name, path, got)
			}
			tries++
		}
	}
	return tries
}

// tryIdempotency repeats a request of shop with its key.
func (n *tenancy) tryIdempotency(token string) int {
	n.Helper()
	const flow = `{"id": "same", "initial": "a", "states": {"a": {"on": {"GO": "b"}}, "b": {"type": "final"}}}`
	key := []string{"Idempotency-Key", "one-key"}
	n.shop("operator", http.MethodPost, "/v1/workflows", flow)
	n.at(token, http.MethodPost, "/v1/workflows", flow)
	first := n.at(n.own["shop operator"], http.MethodPost, "/v1/runs", `{"workflow": "same"}`, key...)
	again := n.at(n.own["shop operator"], http.MethodPost, "/v1/runs", `{"workflow": "same"}`, key...)
	other := n.at(token, http.MethodPost, "/v1/runs", `{"workflow": "same"}`, key...)
	if first.field("run_id") != again.field("run_id") || other.status >= http.StatusBadRequest || other.field("run_id") == first.field("run_id") {
		n.Errorf("a key of shop: %v, %v, %v", first, again, other)
	}
	n.at(n.own["shop operator"], http.MethodPost, fmt.Sprintf("/v1/runs/%v/cancel", first.field("run_id")), `{}`)
	return 1
}

// S22.34: no stream of events has one of another tenant, whatever its filter and wherever it begins.
func TestStreamsOfOtherTenants(t *testing.T) {
	t.Parallel()
	n := newTenancy(t)
	state := n.of["state_id"]
	streamers := n.attackers()
	for name, token := range streamers {
		for _, query := range []string{
			"subject=interlock.shop.%3E", "subject=interlock.*.%3E", "subject=interlock.%3E", "subject=interlock.shop.run.*.started&last_event_id=0", "subject=interlock.*.run.%3E&last_event_id=0",
			"subject=interlock.rival.%3E.shop", "subject=..shop.%3E", "state_id=" + state,
		} {
			if got := n.at(token, http.MethodGet, "/v1/events?"+query, ""); got.status < http.StatusBadRequest || strings.Contains(got.body, hush) {
				t.Errorf("%s, %s: %v", name, query, got)
			}
		}
		if got := n.at(token, http.MethodGet, "/v1/states/"+state+"/events?after_version=0", ""); got.status < http.StatusBadRequest {
			t.Errorf("%s: %v", name, got)
		}
		for _, path := range []string{"/v1/ws?namespace=shop&subject=%3E", "/v1/ws?subject=interlock.shop.%3E", "/v1/ws?state_id=" + state} {
			if text := n.socket(token, path, ""); strings.Contains(text, `"subscribed"`) || strings.Contains(text, hush) {
				t.Errorf("%s, %s: %s", name, path, text)
			}
		}
		if text := n.socket(token, "/v1/ws", `{"type":"subscribe","subject":"interlock.shop.>","last_event_id":0}`); strings.Contains(text, `"subscribed"`) {
			t.Errorf("%s: %s", name, text)
		}
	}
	// Those that they may follow have their own from the beginning, and nothing of shop.
	for _, row := range []struct{ name, namespace string }{{"rival observer", ""}, {"rival operator", ""}, {"rival approver", ""}, {"wide observer", "default"}, {"wide observer", "rival"}} {
		for _, subject := range []string{"%3E", "*.*.*", "interlock." + cmp.Or(row.namespace, "rival") + ".%3E"} {
			text := n.events(streamers[row.name], row.namespace, "/v1/events?last_event_id=0&subject="+subject)
			if strings.Contains(text, hush) || strings.Contains(text, `"namespace":"shop"`) || strings.Contains(text, "shopkeeper") {
				t.Errorf("%s in %q follows %s: %.2000s", row.name, row.namespace, subject, text)
			}
		}
	}
	if text := n.events(n.own["shop observer"], "", "/v1/events?last_event_id=0&subject=%3E"); !strings.Contains(text, "shopkeeper") || !strings.Contains(text, n.of["run_id"]) {
		t.Errorf("shop does not follow its own events: %.2000s", text)
	}
}

// events returns a stream of events up to one that is made for this, in the same namespace.
func (n *tenancy) events(token, namespace, path string) string {
	n.Helper()
	ctx, cancel := context.WithTimeout(n.Context(), patience)
	defer cancel()
	req := must[*http.Request](n.T)(http.NewRequestWithContext(ctx, http.MethodGet, n.http+path, http.NoBody))
	req.Header.Set("Authorization", "Bearer "+token)
	if namespace != "" {
		req.Header.Set(namespaceHeader, namespace)
	}
	resp := must[*http.Response](n.T)(http.DefaultClient.Do(req))
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		n.Fatalf("%s: %s", path, resp.Status)
	}
	n.signals++
	signal := fmt.Sprintf("signal-%d", n.signals)
	maker := map[string]string{"shop": n.own["shop operator"], "default": n.tokens["operator"]}[namespace]
	switch {
	case maker != "":
	case token == n.own["shop observer"]:
		maker = n.own["shop operator"]
	default:
		maker = n.own["rival operator"]
	}
	if got := n.at(maker, http.MethodPost, "/v1/sessions", fmt.Sprintf(`{"session_name": %q}`, signal)); got.status != http.StatusCreated {
		n.Fatal(got)
	}
	var all strings.Builder
	for lines := bufio.NewScanner(resp.Body); lines.Scan() && !strings.Contains(lines.Text(), signal); {
		all.WriteString(lines.Text() + "\n")
	}
	if ctx.Err() != nil {
		n.Errorf("%s has no event of %s: %s", path, signal, &all)
	}
	return all.String()
}

// socket returns the first answer on a WebSocket, or why it is refused.
func (n *tenancy) socket(token, path, order string) string {
	n.Helper()
	ctx := within(n.T)
	conn, resp, err := websocket.Dial(ctx, n.http+path, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}})
	if err != nil {
		if resp == nil {
			n.Fatal(err)
		}
		return err.Error()
	}
	defer conn.CloseNow()
	if order != "" {
		if err := conn.Write(ctx, websocket.MessageText, []byte(order)); err != nil {
			n.Fatal(err)
		}
	}
	_, data, err := conn.Read(ctx)
	return string(data) + fmt.Sprint(err)
}
