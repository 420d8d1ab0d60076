package allinone

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/auth/sessiontoken"
	"github.com/interlock-run/interlock/services/gateway"
)

// tokenOf is the static token of a role.
func tokenOf(t *testing.T, c *Server, role auth.Role) string {
	t.Helper()
	data, err := os.ReadFile(c.TokensFile)
	if err != nil {
		t.Fatal(err)
	}
	var tokens map[auth.Role]string
	if err := json.Unmarshal(data, &tokens); err != nil {
		t.Fatal(err)
	}
	return tokens[role]
}

// boundTo is a token of an agent that acts in one session only.
func boundTo(t *testing.T, c *Server, namespace, session string) string {
	t.Helper()
	key, err := sessiontoken.LoadKey(c.cfg.Data.TokenKey())
	if err != nil {
		t.Fatal(err)
	}
	token, err := key.Mint(sessiontoken.Claims{
		Session: session, Namespace: namespace, Name: "agent-of-" + session, IssuedAt: time.Now(), Expires: time.Now().Add(time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// reply is an answer over HTTP.
type reply struct {
	status int
	header http.Header
	text   []byte
}

// post posts a body as it is, with headers.
func post(t *testing.T, url, body string, headers map[string]string) reply {
	t.Helper()
	return send(t, http.MethodPost, url, body, headers)
}

func send(t *testing.T, method, url, body string, headers map[string]string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, text}
}

func (r reply) json(t *testing.T) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal(r.text, &out); err != nil {
		t.Fatalf("%d %s: %v", r.status, r.text, err)
	}
	return out
}

// has reports that got contains want.
func has(got, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		for name, value := range want {
			ok = ok && has(object[name], value)
		}
		return ok
	case []any:
		list, ok := got.([]any)
		ok = ok && len(list) == len(want)
		for i := range want {
			ok = ok && has(list[i], want[i])
		}
		return ok
	default:
		return reflect.DeepEqual(got, want)
	}
}

// opened has runs of subjects, each in a state that allows these tools.
func opened(t *testing.T, c *Server, tools map[string]string) {
	t.Helper()
	for subject, allowed := range tools {
		call(t, c, "POST", "/v1/workflows", fmt.Sprintf(
			`{"id":"of-%s","initial":"open","states":{"open":{"allowed_tools":[%s],"on":{"CLOSE":"closed"}},"closed":{"type":"final"}}}`, subject, allowed))
		call(t, c, "POST", "/v1/runs", fmt.Sprintf(`{"workflow":"of-%s","session_id":"user:%s"}`, subject, subject))
	}
}

// TestAuthZEN plays the certification scenario of the Authorization API and the todo
// scenario, as far as they depend on subject, action and resource. TestAuthZENTodo plays those that depend on
// properties of the resource.
func TestAuthZEN(t *testing.T) {
	t.Parallel()
	c := start(t, Config{})
	viewer := `"mcp__todo__can_read_user", "mcp__todo__can_read_todos"`
	editor := viewer + `, "mcp__todo__can_create_todo"`
	opened(t, c, map[string]string{
		"alice": `"mcp__record-1__read", "mcp__record-1__write"`, "bob": `"mcp__record-1__read"`,
		"rick": editor + `, "mcp__todo__can_delete_todo"`, "morty": editor, "summer": editor, "beth": viewer, "jerry": viewer,
	})
	data, err := os.ReadFile("testdata/authzen.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name, Path string
		Request    json.RawMessage
		Status     int
		Answer     map[string]any
	}
	if err := json.Unmarshal(data, &cases); err != nil || len(cases) < 40 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for i, tc := range cases {
		id := fmt.Sprintf("request %d, as any string", i)
		for range 2 { // a repeat is answered alike
			got := post(t, c.Endpoints.HTTP+tc.Path, string(tc.Request), map[string]string{
				"Authorization": "Bearer " + tokenOf(t, c, auth.Agent), "Content-Type": "application/json", "X-Request-ID": id,
			})
			if got.status != tc.Status || got.header.Get("X-Request-ID") != id {
				t.Errorf("%s: %d %s, request id %q", tc.Name, got.status, got.text, got.header.Get("X-Request-ID"))
				continue
			}
			if tc.Answer != nil && (got.header.Get("Content-Type") != "application/json" || !has(got.json(t), tc.Answer)) {
				t.Errorf("%s: %s", tc.Name, got.text)
			}
			if _, decided := got.object()["decision"]; tc.Status != http.StatusOK && decided {
				t.Errorf("%s: an error is a decision: %s", tc.Name, got.text)
			}
		}
	}
}

// object is the answer's object, nil where it is none.
func (r reply) object() (out map[string]any) {
	_ = json.Unmarshal(r.text, &out) // an error is text
	return out
}

// A request that is not of the API gets no decision, from any caller.
func TestAuthZENRefuses(t *testing.T) {
	t.Parallel()
	c := start(t, Config{})
	opened(t, c, map[string]string{"alice": `"mcp__r__read"`, "bob": `"mcp__r__read"`})
	const good = `{"subject":{"type":"user","id":"alice"},"action":{"name":"read"},"resource":{"type":"server","id":"r"}}`
	agent := "Bearer " + tokenOf(t, c, auth.Agent)
	headers := func(changes ...string) map[string]string {
		all := map[string]string{"Authorization": agent, "Content-Type": "application/json", "X-Request-ID": "r-1"}
		for i := 0; i < len(changes); i += 2 {
			all[changes[i]] = changes[i+1]
		}
		return all
	}
	for what, row := range map[string]struct {
		body    string
		headers map[string]string
		status  int
	}{
		"the good one":                   {good, headers(), 200},
		"with a charset":                 {good, headers("Content-Type", "application/json; charset=utf-8"), 200},
		"an operator":                    {good, headers("Authorization", "Bearer "+tokenOf(t, c, auth.Operator)), 200},
		"a token for this session":       {good, headers("Authorization", "Bearer "+boundTo(t, c, "default", "user:alice")), 200},
		"text":                           {"hello", headers(), 400},
		"nothing":                        {"", headers(), 400},
		"truncated":                      {good[:len(good)-1], headers(), 400},
		"two bodies":                     {good + good, headers(), 400},
		"duplicate keys":                 {strings.Replace(good, `"action"`, `"subject":{"type":"user","id":"bob"},"action"`, 1), headers(), 400},
		"duplicate keys, below":          {strings.Replace(good, `"id":"alice"`, `"id":"bob","id":"alice"`, 1), headers(), 400},
		"duplicate keys in the context":  {strings.Replace(good, `"action"`, `"context":{"a":1,"a":2},"action"`, 1), headers(), 400},
		"invalid UTF-8":                  {strings.Replace(good, "alice", "\xff", 1), headers(), 400},
		"a huge body":                    {strings.Replace(good, `"action"`, `"context":{"a":"`+strings.Repeat("x", 2<<20)+`"},"action"`, 1), headers(), 413},
		"another type":                   {good, headers("Content-Type", "text/plain"), 400},
		"no token":                       {good, headers("Authorization", ""), 401},
		"a bad token":                    {good, headers("Authorization", "Bearer wrong"), 401},
		"an approver":                    {good, headers("Authorization", "Bearer "+tokenOf(t, c, auth.Approver)), 403},
		"an observer":                    {good, headers("Authorization", "Bearer "+tokenOf(t, c, auth.Observer)), 403},
		"a token for another session":    {good, headers("Authorization", "Bearer "+boundTo(t, c, "default", "user:bob")), 403},
		"a token for another namespace":  {good, headers("Authorization", "Bearer "+boundTo(t, c, "other", "user:alice"), "X-Interlock-Namespace", "default"), 403},
		"a namespace that cannot be one": {good, headers("X-Interlock-Namespace", "No!"), 400},
		"a page of another origin":       {good, headers("Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"), 403},
	} {
		got := post(t, c.Endpoints.HTTP+"/access/v1/evaluation", row.body, row.headers)
		if got.status != row.status || got.header.Get("X-Request-ID") != "r-1" {
			t.Errorf("%s: %d %s", what, got.status, got.text)
		}
		if allowed := got.object()["decision"] == true; allowed != (row.status == 200) {
			t.Errorf("%s: %s", what, got.text)
		}
		if challenge := got.header.Get("WWW-Authenticate"); (row.status == 401) != strings.HasPrefix(challenge, "Bearer ") {
			t.Errorf("%s: the challenge %q", what, challenge)
		}
	}
	// Another namespace has another alice, who drives no run.
	got := post(t, c.Endpoints.HTTP+"/access/v1/evaluation", good, headers("X-Interlock-Namespace", "other"))
	if !has(got.json(t), map[string]any{"decision": false, "context": map[string]any{"code": "NOT_FOUND"}}) {
		t.Errorf("in another namespace: %d %s", got.status, got.text)
	}
	all := post(t, c.Endpoints.HTTP+"/access/v1/evaluations", `{"evaluations":[`+strings.Repeat(good+",", 64)+good+`]}`, headers())
	if all.status != 400 {
		t.Errorf("65 evaluations: %d %s", all.status, all.text)
	}
}

// The metadata lists the endpoints, without searches.
func TestAuthZENConfiguration(t *testing.T) {
	t.Parallel()
	c := start(t, Config{})
	got := send(t, http.MethodGet, c.Endpoints.HTTP+"/.well-known/authzen-configuration", "", nil)
	want := map[string]any{
		"policy_decision_point":       c.Endpoints.HTTP,
		"access_evaluation_endpoint":  c.Endpoints.HTTP + "/access/v1/evaluation",
		"access_evaluations_endpoint": c.Endpoints.HTTP + "/access/v1/evaluations",
		"access_request_endpoint":     c.Endpoints.HTTP + "/access/v1/requests",
		"capabilities":                []any{"urn:openid:authzen:capability:access-request"},
	}
	if got.status != 200 || got.header.Get("Content-Type") != "application/json" || !reflect.DeepEqual(got.json(t), want) {
		t.Errorf("%d %s", got.status, got.text)
	}
}

// A call that people are asked about is denied, and the answer says where to learn their decision.
// The call is made again then, with its approval, and is allowed once.
func TestAuthZENAccessRequest(t *testing.T) {
	t.Parallel()
	c := start(t, Config{Authz: gateway.AuthzFlags{AuthZENInput: "input"}})
	opened(t, c, map[string]string{"alice": `"mcp__mail__send"`, "bob": `"mcp__mail__send"`})
	call(t, c, "POST", "/v1/policies", `{"name":"p","role":"agent","ask":[{"capability":"mcp:mail:send"}]}`)
	call(t, c, "PUT", "/v1/policies/p/attachments/role/agent", ``)
	headers := map[string]string{"Authorization": "Bearer " + tokenOf(t, c, auth.Agent), "Content-Type": "application/json"}
	question := func(subject, context, more string) string {
		return fmt.Sprintf(`{"subject":{"type":"user","id":%q},"action":{"name":"send"},"resource":{"type":"server","id":"mail"},"context":%s%s}`, subject, context, more)
	}
	evaluate := func(context string) map[string]any {
		return post(t, c.Endpoints.HTTP+"/access/v1/evaluation", question("alice", context, ""), headers).json(t)
	}
	if got := post(t, c.Endpoints.HTTP+"/access/v1/evaluation", question("alice", `{"to":"x"}`, ""), headers); got.status != 400 {
		t.Errorf("a context that does not say what the input is: %d %s", got.status, got.text)
	}

	denied := evaluate(`{"input":{"to":"x"},"time":"now"}`)
	endpoint := c.Endpoints.HTTP + "/access/v1/requests"
	if !has(denied, map[string]any{"decision": false, "context": map[string]any{
		"decision": "ASK", "reason": "approval_required", "access_request": map[string]any{"endpoint": endpoint},
	}}) {
		t.Fatalf("%v", denied)
	}
	details := denied["context"].(map[string]any)
	id, request := details["evaluation_id"].(string), details["access_request"].(map[string]any)
	if until, err := time.Parse(time.RFC3339, request["expires_at"].(string)); err != nil || time.Until(until) <= 0 || id != details["approval_id"] {
		t.Errorf("until %v (%v): %v", until, err, details)
	}

	submit := func(subject, context, id string) reply {
		return post(t, endpoint, question(subject, context, fmt.Sprintf(`,"denial":{"evaluation_id":%q,"expires_at":%q}`, id, request["expires_at"])), headers)
	}
	for what, got := range map[string]reply{
		"another subject":           submit("bob", `{"input":{"to":"x"}}`, id),
		"another input":             submit("alice", `{"input":{"to":"y"}}`, id),
		"no input":                  submit("alice", `{"input":{}}`, id),
		"no denial":                 post(t, endpoint, question("alice", `{"input":{"to":"x"}}`, ""), headers),
		"a denial without anything": submit("alice", `{"input":{"to":"x"}}`, ""),
	} {
		if got.status != 400 || got.json(t)["type"] != "urn:openid:authzen:access-request:error:invalid_denial_binding" {
			t.Errorf("%s: %d %s", what, got.status, got.text)
		}
	}
	if got := submit("alice", `{"input":{"to":"x"}}`, "apr_none"); got.status != 404 {
		t.Errorf("an approval that is not there: %d %s", got.status, got.text)
	}
	submitted := submit("alice", `{"input":{"to":"x"},"justification":"it is due"}`, id)
	pending := map[string]any{"task": map[string]any{"id": id, "status": "pending", "status_endpoint": endpoint + "/" + id}}
	if submitted.status != 202 || !has(submitted.json(t), pending) || submitted.header.Get("Location") != request["status_endpoint"] {
		t.Fatalf("%d %s, at %s", submitted.status, submitted.text, submitted.header.Get("Location"))
	}
	poll := func() map[string]any {
		return send(t, http.MethodGet, submitted.header.Get("Location"), "", headers).json(t)
	}
	if got := poll(); !has(got, pending) || got["result"] != nil {
		t.Errorf("before: %v", got)
	}
	if again := evaluate(`{"input":{"to":"x"}}`); !has(again, map[string]any{"decision": false, "context": map[string]any{"approval_id": id}}) {
		t.Errorf("asked again: %v", again)
	}

	approver := map[string]string{"Authorization": "Bearer " + tokenOf(t, c, auth.Approver), "Content-Type": "application/json"}
	if got := post(t, c.Endpoints.HTTP+"/v1/approvals/"+id+"/approve", `{}`, approver); got.status != 200 {
		t.Fatalf("approve: %d %s", got.status, got.text)
	}
	approved := poll()
	if !has(approved, map[string]any{
		"task":   map[string]any{"status": "approved"},
		"result": map[string]any{"mode": "reevaluate", "approval": map[string]any{"id": id, "approved_until": request["expires_at"]}},
	}) {
		t.Fatalf("after: %v", approved)
	}
	with, err := json.Marshal(map[string]any{"input": map[string]any{"to": "x"}, "approval": approved["result"].(map[string]any)["approval"]})
	if err != nil {
		t.Fatal(err)
	}
	if got := evaluate(string(with)); !has(got, map[string]any{"decision": true, "context": map[string]any{"approval_id": id}}) {
		t.Errorf("with the approval: %v", got)
	}
	if got := evaluate(string(with)); got["decision"] != false {
		t.Errorf("once more: %v", got)
	}
	if got := send(t, http.MethodGet, endpoint+"/apr_none", "", headers); got.status != 404 || got.json(t)["type"] != "urn:openid:authzen:access-request:error:unknown_task" {
		t.Errorf("a task that is not there: %d %s", got.status, got.text)
	}
}

// A call that is named is counted once, a dry run not at all, and a result that is reported
// counts as anywhere else.
func TestAuthZENCounts(t *testing.T) {
	t.Parallel()
	c := start(t, Config{})
	call(t, c, "POST", "/v1/workflows", `{"id":"w","initial":"a","states":{"a":{"max_iterations":2,"context_budget_bytes":100,"on":{"GO":"a","END":"b"}},"b":{"type":"final"}}}`)
	run := call(t, c, "POST", "/v1/runs", `{"workflow":"w","session_id":"s"}`)["run_id"].(string)
	headers := map[string]string{"Authorization": "Bearer " + tokenOf(t, c, auth.Agent), "Content-Type": "application/json"}
	evaluate := func(properties string) map[string]any {
		return post(t, c.Endpoints.HTTP+"/access/v1/evaluation", fmt.Sprintf(
			`{"subject":{"type":"session","id":"s"},"action":{"name":"Read","properties":%s},"resource":{"type":"run","id":%q},"context":{"file_path":"a"}}`, properties, run,
		), headers).json(t)
	}
	for range 3 {
		if got := evaluate(`{"dry_run":true}`); got["decision"] != true {
			t.Fatalf("dry: %v", got)
		}
		if got := evaluate(`{"call_id":"c-1"}`); !has(got, map[string]any{"decision": true, "context": map[string]any{"call_id": "c-1", "run_id": run}}) {
			t.Fatalf("the same call: %v", got)
		}
	}
	call(t, c, "POST", "/v1/runs/"+run+"/report", `{"call_id":"c-1","tool":"Read","ok":true,"result_bytes":100}`)
	if got := evaluate(`{"call_id":"c-2"}`); !has(got, map[string]any{"decision": false, "context": map[string]any{"code": "CONTEXT_BUDGET"}}) {
		t.Errorf("after the report: %v", got)
	}
	call(t, c, "POST", "/v1/runs/"+run+"/transition", `{"event":"GO"}`)
	for i, want := range []bool{true, true, false} {
		if got := evaluate(`{}`); got["decision"] != want {
			t.Errorf("call %d: %v", i, got)
		}
	}
}
