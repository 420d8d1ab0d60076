package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"github.com/go-json-experiment/json"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/structpb"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// behalf is a server that knows an issuer of people.
type behalf struct {
	*isolation
	idp *idp
}

func newBehalf(t *testing.T, args ...string) *behalf {
	t.Helper()
	idp := newIDP(t)
	u := startUp(t, append(idp.flags(), args...)...)
	return &behalf{&isolation{t, &world{shape: &u.shape, namespace: "default"}, u}, idp}
}

// forHuman sends a request on behalf of the person of a token; empty for nobody. more are names and values of headers.
func (b *behalf) forHuman(as auth.Role, token, path, body string, more ...string) reply {
	b.Helper()
	req := must[*http.Request](b.T)(http.NewRequestWithContext(within(b.T), http.MethodPost, b.http+path, strings.NewReader(body)))
	req.Header.Set("Authorization", "Bearer "+b.token(as))
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("X-Interlock-For", "Bearer "+token)
	}
	for pair := range slices.Chunk(more, 2) {
		req.Header.Set(pair[0], pair[1])
	}
	resp := must[*http.Response](b.T)(http.DefaultClient.Do(req))
	defer resp.Body.Close()
	return reply{status: resp.StatusCode, body: string(must[[]byte](b.T)(io.ReadAll(resp.Body)))}
}

// addToken adds a token of an agent to the tokens file.
func (b *behalf) addToken(args ...string) auth.Role {
	b.Helper()
	cmd := exec.CommandContext(within(b.T), binary(b.T, "interlock"), append([]string{"token", "add", "agent", "--tokens", b.up.data.Tokens()}, args...)...)
	out := must[[]byte](b.T)(cmd.Output())
	token := auth.Role(strings.TrimSpace(string(out)))
	eventually(b.T, "the token counts", func() error {
		if got := b.do(token, http.MethodGet, "/v1/whoami", ""); got.status != http.StatusOK {
			return fmt.Errorf("%v", got)
		}
		return nil
	})
	return token
}

// humanOf returns the human in the record of a call.
func (b *behalf) humanOf(call string) string {
	b.Helper()
	got := b.do(auth.Operator, http.MethodGet, "/v1/decisions", "")
	var list struct {
		Decisions []jsonview.DecisionRecord `json:"decisions"`
	}
	if err := json.Unmarshal([]byte(got.body), &list); err != nil {
		b.Fatal(err)
	}
	for _, r := range list.Decisions {
		if r.CallID == call && r.Identity != nil {
			if h := r.Identity.Human; h != nil {
				return strings.TrimSpace(h.Source + " " + h.Name)
			}
			return ""
		}
	}
	b.Fatalf("no call %s in %v", call, got)
	return ""
}

// S22.3: a session that was never created keeps on whose behalf its first run is started, over REST, MCP and a hook. No later
// request changes that.
func TestSessionsKeepTheHumanOfTheirFirstRun(t *testing.T) {
	t.Parallel()
	b := newBehalf(t)
	b.as(t, auth.Operator).register(t, pingPong)
	ann, bob := b.idp.token(t, "ann", nil), b.idp.token(t, "bob", nil)
	starts := map[string]func(session, human string){
		"rest": func(session, human string) {
			b.forHuman(auth.Agent, human, "/v1/runs", fmt.Sprintf(`{"workflow": "ping-pong", "session_id": %q}`, session))
		},
		"mcp": func(session, human string) {
			b.ownTool(t, ask{token: b.token(auth.Agent), human: human}, "?session="+session, "load_workflow", map[string]any{"name": "ping-pong"})
		},
		"hook": func(session, human string) {
			b.forHuman(auth.Agent, human, "/v1/hook", fmt.Sprintf(`{"hook_event_name": "UserPromptSubmit", "session_id": %q, "prompt": "go"}`, session),
				"X-Interlock-Workflow", "ping-pong")
		},
	}
	for face, start := range starts {
		for _, row := range []struct{ session, first, second, want string }{{"for-ann-" + face, ann, bob, "issuer ann"}, {"for-nobody-" + face, "", "", ""}} {
			start(row.session, row.first)
			start(row.session, row.second)
			call := "in-" + row.session
			got := b.do(auth.Agent, http.MethodPost, "/v1/check", fmt.Sprintf(`{"session": %q, "tool": "InA", "call_id": %q}`, row.session, call))
			if got.status != http.StatusOK {
				t.Fatalf("%s drives no run: %v", row.session, got)
			}
			if human := b.humanOf(call); human != row.want {
				t.Errorf("%s works for %q, want %q", row.session, human, row.want)
			}
		}
	}
}

// S22.41: on every face a limit per human counts the calls of one person together, whoever makes them.
func TestLimitsPerHumanOverEveryFace(t *testing.T) {
	t.Parallel()
	b := newBehalf(t, "--ext-authz", "--ext-authz-for-header", "x-user", "--allow-unbound")
	b.post(auth.Operator, "/v1/policies?name=fair", `{"role": "agent", "name": "fair", "allow": [
		{"capability": "mcp:pay:send", "rate_limit": {"max_calls": 5, "window_seconds": 3600, "scope": "human"}}]}`)
	b.post(auth.Operator, "/v1/policies/fair/attachments", `{"to": [{"kind": "everyone", "id": ""}]}`)
	ann, bob := b.idp.token(t, "ann", nil), b.idp.token(t, "bob", nil)
	one, two := b.mint("--session", "one"), b.mint("--session", "two", "--name", "other-agent")
	faces := map[string]func(as auth.Role, session, human, call string) string{
		"rest": func(as auth.Role, session, human, call string) string {
			return b.forHuman(as, human, "/v1/check", fmt.Sprintf(`{"session": %q, "tool": "mcp__pay__send", "call_id": %q}`, session, call)).body
		},
		"hook": func(as auth.Role, session, human, call string) string {
			return b.forHuman(as, human, "/v1/hook",
				fmt.Sprintf(`{"hook_event_name": "PreToolUse", "session_id": %q, "tool_name": "mcp__pay__send", "tool_use_id": %q, "tool_input": {}}`, session, call)).body
		},
		"authzen": func(as auth.Role, session, human, call string) string {
			return b.forHuman(as, human, "/access/v1/evaluation", fmt.Sprintf(`{"subject": {"type": "session", "id": %q}, "action": {"name": "send", "properties": {"call_id": %q}},
				"resource": {"type": "server", "id": "pay"}}`, session, call)).body
		},
		"stream": func(as auth.Role, session, human, call string) string {
			ctx := within(t)
			if human != "" {
				ctx = metadata.AppendToOutgoingContext(ctx, "interlock-for", "Bearer "+human)
			}
			stream := must[grpc.BidiStreamingClient[policyv1.CheckToolCallsRequest, policyv1.CheckToolCallsResponse]](t)(b.with(t, 0, b.token(as)).policy.CheckToolCalls(ctx))
			if err := stream.Send(&policyv1.CheckToolCallsRequest{Calls: []*policyv1.CheckToolCallRequest{{SessionId: session, Tool: "mcp__pay__send", CallId: call}}}); err != nil {
				t.Fatal(err)
			}
			got := must[*policyv1.CheckToolCallsResponse](t)(stream.Recv()).GetResults()[0].GetDecision()
			return fmt.Sprintf("%q", strings.TrimPrefix(got.GetDecision().String(), "DECISION_"))
		},
		"ext_authz": func(as auth.Role, session, human, _ string) string {
			return b.extAuthz(as, map[string]string{"interlock.server": "pay", "interlock.session": session}, nil, human)
		},
	}
	allowed := func(answer string) bool {
		return strings.Contains(answer, `"ALLOW"`) || answer == "passes" || strings.Contains(answer, `"exit":0`) && !strings.Contains(answer, "deny")
	}
	for face, ask := range faces {
		if answer := ask(one, "one", "", "nobody-"+face); allowed(answer) {
			t.Errorf("%s: for nobody: %s", face, answer)
		}
	}
	n := 0
	for face, ask := range faces {
		as, session := one, "one"
		if n++; n%2 == 0 {
			as, session = two, "two"
		}
		if answer := ask(as, session, ann, "ann-"+face); !allowed(answer) {
			t.Errorf("%s: call %d of ann: %s", face, n, answer)
		}
	}
	for face, ask := range faces {
		if answer := ask(one, "one", ann, "more-"+face); allowed(answer) {
			t.Errorf("%s: one call of ann too many: %s", face, answer)
		}
		if answer := ask(two, "two", bob, "bob-"+face); !allowed(answer) {
			t.Errorf("%s: bob has his own: %s", face, answer)
		}
	}
	if got := b.humanOf("ann-rest"); got != "issuer ann" {
		t.Errorf("the record names %q", got)
	}
}

// extAuthz asks as a proxy whose filters have found metadata, and returns passes or the denial.
func (b *behalf) extAuthz(as auth.Role, route map[string]string, found map[string]any, human string) string {
	b.Helper()
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"send","arguments":{}}}`
	check := &authv3.CheckRequest{Attributes: &authv3.AttributeContext{
		ContextExtensions: route,
		Request: &authv3.AttributeContext_Request{Http: &authv3.AttributeContext_HttpRequest{
			Method: "POST", Path: "/x", Body: call, Size: int64(len(call)),
			Headers: map[string]string{"content-type": "application/json", "content-length": fmt.Sprint(len(call))},
		}},
	}}
	if human != "" {
		check.Attributes.Request.Http.Headers["x-user"] = "Bearer " + human
	}
	if found != nil {
		check.Attributes.MetadataContext = &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{"interlock": must[*structpb.Struct](b.T)(structpb.NewStruct(found))}}
	}
	resp, err := authv3.NewAuthorizationClient(b.dial(b.T, b.policies[0], b.token(as))).Check(within(b.T), check)
	switch {
	case err != nil:
		return err.Error()
	case resp.GetStatus().GetCode() == 0:
		return "passes"
	default:
		return resp.GetDeniedResponse().GetBody()
	}
}

// S22.42: other gateways name the human. Their word counts as a gateway's with a token that may speak for people, as a claim of any
// other, and never for more: neither makes a rule about people known.
func TestOtherGatewaysNameTheHuman(t *testing.T) {
	t.Parallel()
	b := newBehalf(t, "--ext-authz", "--allow-unbound", "--authzen-human-type", "user", "--authzen-groups-property", "groups", "--authzen-attributes", "dept")
	b.post(auth.Operator, "/v1/policies?name=staff", `{"role": "agent", "name": "staff", "deny": [{"capability": "mcp:pay:send", "unless": {"human.groups": ["staff"]}}]}`)
	b.post(auth.Operator, "/v1/policies?name=no-eve", `{"role": "agent", "name": "no-eve", "deny": [{"capability": "mcp:pay"}]}`)
	b.post(auth.Operator, "/v1/policies/no-eve/attachments", `{"to": [{"kind": "human", "id": "eve"}]}`)
	gate, agent := b.addToken("--name", "gate", "--speaks-for"), b.addToken("--name", "plain")
	b.post(auth.Operator, "/v1/policies?name=any", `{"role": "agent", "name": "any", "deny": [{"capability": "bash"}]}`)
	b.post(auth.Operator, "/v1/policies/any/attachments", `{"to": [{"kind": "everyone", "id": ""}]}`)
	ask := func(as auth.Role, name, call string) string {
		return b.do(as, http.MethodPost, "/access/v1/evaluation", fmt.Sprintf(`{"subject": {"type": "user", "id": %q, "properties": {"groups": ["staff"], "dept": "sales"}},
			"action": {"name": "send", "properties": {"call_id": %q}}, "resource": {"type": "server", "id": "pay"}}`, name, call)).body
	}
	for _, row := range []struct {
		as    auth.Role
		name  string
		human string
		pass  bool
	}{
		{gate, "ann", "gateway ann", true},
		{gate, "eve", "gateway eve", false},
		{agent, "ann", "claimed ann", false}, // who claims not to be eve may be eve
		{agent, "eve", "claimed eve", false},
	} {
		call := strings.ReplaceAll(row.human, " ", "-")
		answer := ask(row.as, row.name, call)
		if strings.Contains(answer, `"decision":true`) != row.pass {
			t.Errorf("%s by AuthZEN: %s", row.human, answer)
		}
		if got := b.humanOf(call); got != row.human {
			t.Errorf("the record of %s names %q", row.human, got)
		}
		answer = b.extAuthz(row.as, map[string]string{"interlock.server": "pay", "interlock.session": "e"}, map[string]any{"human": row.name, "groups": []any{"staff"}}, "")
		if (answer == "passes") != row.pass {
			t.Errorf("%s by ext_authz: %s", row.human, answer)
		}
	}
	b.post(auth.Operator, "/v1/policies/staff/attachments", `{"to": [{"kind": "everyone", "id": ""}]}`)
	if answer := ask(gate, "ann", "strict"); !strings.Contains(answer, "CALL_UNCLEAR") {
		t.Errorf("a gateway's word on groups: %s", answer)
	}
}

// S22.43: conditions look at labels that others than agents have set when they created the session or one above it.
func TestConditionsSeeLabels(t *testing.T) {
	t.Parallel()
	i := newIsolation(t)
	i.post(auth.Operator, "/v1/policies?name=gold", `{"role": "agent", "name": "gold", "deny": [{"capability": "tool:Read", "unless": {"session.labels.tier": "gold"}}]}`)
	i.post(auth.Operator, "/v1/policies/gold/attachments", `{"to": [{"kind": "everyone", "id": ""}]}`)
	i.post(auth.Operator, "/v1/sessions", `{"session_name": "rich", "labels": {"tier": "gold"}}`)
	i.post(auth.Operator, "/v1/sessions", `{"session_name": "poor", "labels": {"tier": "iron"}}`)
	i.post(auth.Operator, "/v1/sessions", `{"session_name": "plain"}`)
	rich, plain := i.mint("--session", "rich"), i.mint("--session", "plain")
	i.post(rich, "/v1/sessions", `{"session_name": "rich/kid", "parent_session_name": "rich", "labels": {"tier": "iron"}}`)
	i.post(plain, "/v1/sessions", `{"session_name": "plain/kid", "parent_session_name": "plain", "labels": {"tier": "gold"}}`)
	own := i.mint("--session", "own")
	i.post(own, "/v1/sessions", `{"session_name": "own", "labels": {"tier": "gold"}}`)
	for session, want := range map[string]string{
		"rich": "", "poor": "POLICY_DENIED", "plain": "CALL_UNCLEAR", "rich/kid": "", "plain/kid": "CALL_UNCLEAR", "own": "CALL_UNCLEAR", "none": "CALL_UNCLEAR",
	} {
		if code, message := i.decides(i.mint("--session", session), session, "Read", `{}`); code != want {
			t.Errorf("%s: %s %s, want %q", session, code, message, want)
		}
	}
}

// S22.44: an operator tries a call as another principal, human and agent; nobody else does, and no call is made so.
func TestOperatorsTryCallsAsOthers(t *testing.T) {
	t.Parallel()
	i := newIsolation(t)
	i.post(auth.Operator, "/v1/agents", `{"name": "fixer", "model_ref": "m", "instructions": "Fix."}`)
	i.post(auth.Operator, "/v1/policies?name=rules", `{"role": "agent", "name": "rules", "meta": {"tools": ["Pay", "Refund", "Deploy"]}, "deny": [
		{"capability": "tool:Refund", "unless": {"human.groups": ["finance"]}}, {"capability": "tool:Deploy", "unless": {"agent.name": "fixer", "caller.name": "bot"}}],
		"allow": [{"capability": "tool:Pay", "rate_limit": {"max_calls": 1, "window_seconds": 60, "scope": "human"}}]}`)
	i.post(auth.Operator, "/v1/policies/rules/attachments", `{"to": [{"kind": "everyone", "id": ""}]}`)
	i.post(auth.Operator, "/v1/policies?name=of-eve", `{"role": "agent", "name": "of-eve", "deny": [{"capability": "tool:Read"}]}`)
	i.post(auth.Operator, "/v1/policies/of-eve/attachments", `{"to": [{"kind": "human", "id": "eve"}]}`)
	for _, row := range []struct{ tool, as, want string }{
		{"Refund", `{"principal": "bot", "human": {"name": "ann", "groups": ["finance"]}}`, `"ALLOW"`},
		{"Refund", `{"principal": "bot", "human": {"name": "ann", "groups": []}}`, "POLICY_DENIED"},
		{"Refund", `{"principal": "bot", "human": {"name": "ann"}}`, "CALL_UNCLEAR"},
		{"Refund", `{"principal": "bot"}`, "CALL_UNCLEAR"},
		{"Pay", `{"principal": "bot", "human": {"name": "ann", "issuer": "https://idp"}}`, `"ALLOW"`},
		{"Pay", `{"principal": "bot"}`, "CALL_UNCLEAR"},
		{"Deploy", `{"principal": "bot", "agent": "fixer"}`, `"ALLOW"`},
		{"Deploy", `{"principal": "other", "agent": "fixer"}`, "POLICY_DENIED"},
		{"Deploy", `{"principal": "bot"}`, "CALL_UNCLEAR"},
		{"Read", `{"principal": "bot", "human": {"name": "eve"}}`, "POLICY_DENIED"},
		{"Read", `{"principal": "bot", "human": {"name": "ann"}}`, `"ALLOW"`},
		{"Read", `{"principal": "bot"}`, "POLICY_DENIED"},
	} {
		got := i.do(auth.Operator, http.MethodPost, "/v1/check", fmt.Sprintf(`{"session": "s", "tool": %q, "dry_run": true, "as": %s}`, row.tool, row.as))
		if !strings.Contains(got.body, row.want) {
			t.Errorf("%s as %s: %v, want %s", row.tool, row.as, got, row.want)
		}
	}
	i.refuses(auth.Operator, http.MethodPost, "/v1/check", `{"session": "s", "tool": "Read", "as": {"principal": "bot"}}`, "dry_run")
	i.refuses(auth.Agent, http.MethodPost, "/v1/check", `{"session": "s", "tool": "Read", "dry_run": true, "as": {"human": {"name": "ann"}}}`, "only an operator")
	if got := i.do(auth.Operator, http.MethodGet, "/v1/decisions?session_id=s", ""); !strings.Contains(got.body, `"decisions":[]`) {
		t.Errorf("trials are recorded: %v", got)
	}
}

// S22.45: a token carries its human: by the key's holder, by an operator, or by the person's own token; an agent names nobody, and no token
// is minted for another than the human of its session or of the token that it is minted with.
func TestTokensThatHaveAHuman(t *testing.T) {
	t.Parallel()
	b := newBehalf(t)
	b.post(auth.Operator, "/v1/policies?name=fair", `{"role": "agent", "name": "fair", "meta": {"tools": ["Pay"]}, "allow": [
		{"capability": "tool:Pay", "rate_limit": {"max_calls": 100, "window_seconds": 3600, "scope": "human"}}]}`)
	b.post(auth.Operator, "/v1/policies/fair/attachments", `{"to": [{"kind": "everyone", "id": ""}]}`)
	pays := func(as auth.Role, session, call, want string) {
		t.Helper()
		got := b.do(as, http.MethodPost, "/v1/check", fmt.Sprintf(`{"session": %q, "tool": "Pay", "call_id": %q}`, session, call))
		if allowed := strings.Contains(got.body, `"ALLOW"`); allowed != (want != "") {
			t.Errorf("%s: %v, want %q", call, got, want)
		}
		if human := b.humanOf(call); want != "" && human != want {
			t.Errorf("%s is recorded for %q, want %q", call, human, want)
		}
	}
	off := b.mint("--session", "off", "--human", "ann")
	pays(off, "off", "offline", "operator ann")
	pays(b.mint("--session", "nobody"), "nobody", "nobody", "")
	b.post(off, "/v1/sessions", `{"session_name": "off"}`)
	pays(b.mint("--session", "off", "--name", "other"), "off", "stored", "operator ann") // it is the session's now
	kid, _ := b.mintAt(off, "off", `{"session": "off/kid"}`)
	pays(kid, "off/kid", "inherited", "operator ann")

	b.post(auth.Operator, "/v1/sessions", `{"session_name": "lead"}`)
	named, _ := b.mintAt(auth.Operator, "lead", `{"human": "bob"}`)
	pays(named, "lead", "named", "operator bob")
	got := b.forHuman(auth.Operator, b.idp.token(t, "carol", nil), "/v1/sessions/lead/tokens", `{}`)
	sent, _ := got.field("token").(string)
	if got.status != http.StatusCreated || !strings.Contains(got.body, `"source":"issuer"`) {
		t.Fatalf("with the person's own token: %v", got)
	}
	pays(auth.Role(sent), "lead", "sent", "issuer carol")
	b.refuses(named, http.MethodPost, "/v1/sessions/lead/tokens", `{"human": "eve"}`, "only an operator")
	b.refuses(auth.Operator, http.MethodPost, "/v1/sessions/off/tokens", `{"human": "eve"}`, "another person")
	if got := b.forHuman(named, b.idp.token(t, "carol", nil), "/v1/sessions/lead/tokens", `{}`); got.status != http.StatusForbidden {
		t.Errorf("a token of bob's for carol: %v", got)
	}
	pays(b.mint("--session", "off", "--human", "eve"), "off", "another", "") // two people
}
