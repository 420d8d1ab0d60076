package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
)

// worker is an agent that does one kind of work in a session of its own, through both replicas.
type worker struct {
	session string
	does    func(ctx context.Context, n int) error
}

// workers are agents with the tokens that tokenOf gives for a session.
func (w *world) workers(t *testing.T, prefix string, tokenOf func(session string) string) []worker {
	t.Helper()
	operator := w.sessions(t, w.tokens[auth.Operator])
	w.as(t, auth.Operator).register(t, pingPong)
	must[*statev1.RegisterSchemaResponse](t)(statev1.NewSchemaServiceClient(w.dial(t, w.states[0], w.tokens[auth.Operator])).RegisterSchema(within(t), &statev1.RegisterSchemaRequest{
		Name: "counted", JsonSchema: []byte(`{"type": "object", "properties": {"n": {"type": "integer"}}}`),
	}))
	at := func(kind string) (session string, agents []*caller, states []statev1.StateServiceClient) {
		session = prefix + kind
		must[*statev1.CreateSessionResponse](t)(operator.CreateSession(within(t), &statev1.CreateSessionRequest{Name: session}))
		token := tokenOf(session)
		for r := range 2 {
			agents = append(agents, w.with(t, r, token))
			states = append(states, statev1.NewStateServiceClient(w.dial(t, w.states[r%len(w.states)], token)))
		}
		return session, agents, states
	}
	var all []worker
	checks, agents, _ := at("checks")
	agents[0].begin(t, &enginev1.StartRunRequest{Workflow: "ping-pong", SessionId: checks})
	all = append(all, worker{checks, func(ctx context.Context, n int) error {
		resp, err := agents[n%2].policy.CheckToolCall(ctx, &policyv1.CheckToolCallRequest{SessionId: checks, Tool: "InA", CallId: fmt.Sprint("c", n)})
		if err == nil && resp.GetDecision() != allow {
			return fault.New(fault.PermissionDenied, "%s", resp.GetMessage())
		}
		return err
	}})
	moves, movers, _ := at("moves")
	run := movers[0].begin(t, &enginev1.StartRunRequest{Workflow: "ping-pong", SessionId: moves}).GetRunId()
	all = append(all, worker{moves, func(ctx context.Context, n int) error {
		_, err := movers[n%2].runs.TransitionRun(ctx, &enginev1.TransitionRunRequest{RunId: run, Event: "GO"})
		return err
	}})
	starts, starters, _ := at("starts")
	all = append(all, worker{starts, func(ctx context.Context, n int) error {
		resp, err := starters[n%2].runs.StartRun(ctx, &enginev1.StartRunRequest{Workflow: "ping-pong", SessionId: starts})
		if err == nil {
			_, _ = starters[n%2].runs.CancelRun(ctx, &enginev1.CancelRunRequest{RunId: resp.GetRun().GetRunId(), Reason: "room for others"}) // its session may be over
		}
		return err
	}})
	writes, _, writers := at("writes")
	state := must[*statev1.CreateStateResponse](t)(writers[0].CreateState(within(t), &statev1.CreateStateRequest{SchemaName: "counted", Data: []byte(`{"n": 0}`), Session: writes})).GetState().GetStateId()
	return append(all, worker{writes, func(ctx context.Context, n int) error {
		_, err := writers[n%2].UpdateState(ctx, &statev1.UpdateStateRequest{
			StateId: state, Session: writes, Change: &statev1.UpdateStateRequest_Patch{Patch: fmt.Appendf(nil, `[{"op": "add", "path": "/n", "value": %d}]`, n)},
		})
		return err
	}})
}

// nothingAfter lets all work while stop is called for each session, and fails if something passes that began after its answer.
func nothingAfter(t *testing.T, workers []worker, stop func(session string) error) {
	t.Helper()
	const mostAfter = 25
	ctx := within(t)
	answered, before := make([]atomic.Bool, len(workers)), make([]atomic.Int64, len(workers))
	all(t, 2*len(workers), func(i int) error {
		at := workers[i/2]
		if i%2 == 1 {
			for before[i/2].Load() < 3 && ctx.Err() == nil { // it works before
				runtime.Gosched()
			}
			err := stop(at.session)
			answered[i/2].Store(true)
			return err
		}
		for n, after := 0, 0; after < mostAfter; n++ {
			began := answered[i/2].Load()
			err := at.does(ctx, n)
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case began && err == nil:
				return fmt.Errorf("work %d in %s passed after the answer", n, at.session)
			case began:
				after++
			case err == nil:
				before[i/2].Add(1)
			case before[i/2].Load() == 0 && fault.ReasonOf(err) != fault.VersionConflict:
				return fmt.Errorf("work in %s: %w", at.session, err)
			}
		}
		return nil
	})
}

// endsHold ends sessions while their agents work through both replicas: nothing begins after the answer (S22.36).
func endsHold(t *testing.T, w *world) {
	operator := w.sessions(t, w.tokens[auth.Operator])
	nothingAfter(t, w.workers(t, "end-", func(string) string { return w.tokens[auth.Agent] }), func(session string) error {
		_, err := operator.StopSession(within(t), &statev1.StopSessionRequest{SessionId: session, End: true})
		return err
	})
}

// S22.36: when the revocation of a token is answered, nothing that its holder begins passes; nor after the end of its session.
func TestNothingBeginsAfterRevocation(t *testing.T) {
	t.Parallel()
	u := startUp(t)
	for name, stop := range map[string]func(statev1.SessionServiceClient, string, string) error{
		"all of the session": func(c statev1.SessionServiceClient, session, _ string) error {
			_, err := c.RevokeSessionTokens(within(t), &statev1.RevokeSessionTokensRequest{SessionId: session})
			return err
		},
		"one": func(c statev1.SessionServiceClient, session, id string) error {
			_, err := c.RevokeSessionTokens(within(t), &statev1.RevokeSessionTokensRequest{SessionId: session, TokenId: id})
			return err
		},
		"the end": func(c statev1.SessionServiceClient, session, _ string) error {
			_, err := c.StopSession(within(t), &statev1.StopSessionRequest{SessionId: session, End: true})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{shape: &u.shape, namespace: strings.ReplaceAll(name, " ", "-")}
			operator := w.sessions(t, w.tokens[auth.Operator])
			ids := map[string]string{}
			all := w.workers(t, "bound-", func(session string) string {
				minted := must[*statev1.MintSessionTokenResponse](t)(operator.MintSessionToken(within(t), &statev1.MintSessionTokenRequest{SessionId: session}))
				ids[session] = minted.GetToken().GetTokenId()
				return minted.GetSecret()
			})
			nothingAfter(t, all, func(session string) error { return stop(operator, session, ids[session]) })
		})
	}
}

// S22.35: with --require-sessions no run begins in a session that was not created, by any face; those that were created work.
func TestRunsNeedTheirSession(t *testing.T) {
	t.Parallel()
	u := startUp(t, "--require-sessions")
	w := &world{shape: &u.shape, namespace: "default"}
	i := &isolation{t, w, u}
	w.as(t, auth.Operator).register(t, pingPong)
	i.post(auth.Operator, "/v1/sessions", `{"session_name": "there"}`)
	for _, who := range []string{w.tokens[auth.Agent], w.tokens[auth.Operator], w.tokens[auth.Runtime], string(i.mint("--session", "never"))} {
		w.refuses(t, "somebody", opStart, ask{token: who, session: "never", workflow: "ping-pong"}, fault.NotFound)
	}
	for _, f := range faces {
		w.allows(t, "an agent", f, opStart, ask{token: w.tokens[auth.Agent], session: "there", workflow: "ping-pong", resume: true})
	}
	if got := i.do(auth.Agent, http.MethodPost, "/v1/runs", `{"workflow": "ping-pong"}`); got.status != http.StatusCreated {
		t.Errorf("without a session: %v", got)
	}
	i.post(auth.Operator, "/v1/sessions/there/stop", `{"end": true}`)
	i.do(auth.Operator, http.MethodDelete, "/v1/sessions/there?cascade=true", "")
	w.refuses(t, "after its end", opStart, ask{token: w.tokens[auth.Agent], session: "there", workflow: "ping-pong"}, fault.NotFound, fault.SessionEnded)
}

// S22.24: what a session or its token is narrowed to holds on every face.
func TestNarrowingOnEveryFace(t *testing.T) {
	t.Parallel()
	i, lead := newBounds(t, "--ext-authz", "--ext-authz-session-header", "x-agent-session")
	i.post(auth.Operator, "/v1/sessions", `{"session_name": "free"}`)
	i.post(auth.Operator, "/v1/runs", `{"workflow": "w", "session_id": "free"}`)
	i.post(auth.Operator, "/v1/sessions/lead/narrow", `{"only": [{"tools": ["Read", "mcp__db__query"]}]}`)
	narrow, _ := i.mintAt(auth.Operator, "free", `{"only": [{"tools": ["Read", "mcp__db__query"]}]}`)
	for name, at := range map[string]struct {
		token   auth.Role
		session string
	}{"a narrowed session": {lead, "lead"}, "its name, by any agent": {auth.Agent, "lead"}, "a narrowed token": {narrow, "free"}} {
		for face, passes := range i.faces(at.token, at.session) {
			if passes("db", "query") != true {
				t.Errorf("%s, over %s: what it may call is denied", name, face)
			}
			if passes("db", "drop") != false {
				t.Errorf("%s, over %s: another tool passes", name, face)
			}
		}
	}
	for face, passes := range i.faces(auth.Agent, "free") {
		if !passes("db", "drop") { // the control
			t.Errorf("over %s: a session that is not narrowed is denied", face)
		}
	}
}

// faces returns whether a call of a tool passes, by each way to ask.
func (i *isolation) faces(token auth.Role, session string) map[string]func(server, tool string) bool {
	i.Helper()
	c := i.with(i.T, 0, i.token(token))
	request := func(server, tool string) *policyv1.CheckToolCallRequest {
		return &policyv1.CheckToolCallRequest{SessionId: session, Tool: "mcp__" + server + "__" + tool}
	}
	var list struct {
		Runs []struct {
			RunID string `json:"run_id"`
		}
	}
	if err := json.Unmarshal([]byte(i.do(auth.Operator, http.MethodGet, "/v1/runs?session_id="+session, "").body), &list); err != nil || len(list.Runs) != 1 {
		i.Fatalf("%v: %v", err, list)
	}
	says := func(got reply, word string) bool {
		i.Helper()
		if got.status != http.StatusOK {
			i.Errorf("%v", got)
		}
		return strings.Contains(strings.ReplaceAll(got.body, " ", ""), word)
	}
	return map[string]func(server, tool string) bool{
		"gRPC": func(server, tool string) bool {
			return must[*policyv1.CheckToolCallResponse](i.T)(c.policy.CheckToolCall(within(i.T), request(server, tool))).GetDecision() == allow
		},
		"a stream": func(server, tool string) bool {
			stream := must[policyv1.PolicyEnforcerService_CheckToolCallsClient](i.T)(c.policy.CheckToolCalls(within(i.T)))
			if err := stream.Send(&policyv1.CheckToolCallsRequest{CorrelationId: 1, Calls: []*policyv1.CheckToolCallRequest{request(server, tool)}}); err != nil {
				i.Fatal(err)
			}
			return must[*policyv1.CheckToolCallsResponse](i.T)(stream.Recv()).GetResults()[0].GetDecision().GetDecision() == allow
		},
		"REST": func(server, tool string) bool {
			return says(i.do(token, http.MethodPost, "/v1/runs/"+list.Runs[0].RunID+"/check", fmt.Sprintf(`{"tool": "mcp__%s__%s"}`, server, tool)), `"decision":"ALLOW"`)
		},
		"a hook": func(server, tool string) bool {
			return !says(i.do(token, http.MethodPost, "/v1/hook", fmt.Sprintf(`{"hook_event_name": "PreToolUse", "session_id": %q, "tool_name": "mcp__%s__%s", "tool_use_id": %q, "tool_input": {}}`, session, server, tool, tool+string(token[:4]))), "deny")
		},
		"AuthZEN": func(server, tool string) bool {
			return says(i.do(token, http.MethodPost, "/access/v1/evaluation", fmt.Sprintf(`{"subject": {"type": "session", "id": %q}, "action": {"name": %q}, "resource": {"type": "server", "id": %q}}`, session, tool, server)), `"decision":true`)
		},
		"ext_authz": func(server, tool string) bool {
			resp := must[*authv3.CheckResponse](i.T)(authv3.NewAuthorizationClient(i.dial(i.T, i.engines[0], i.token(token))).Check(within(i.T), &authv3.CheckRequest{Attributes: &authv3.AttributeContext{
				ContextExtensions: map[string]string{"interlock.server": server},
				Request: &authv3.AttributeContext_Request{Http: &authv3.AttributeContext_HttpRequest{
					Method: "POST", Path: "/", Headers: map[string]string{"x-agent-session": session, "content-type": "application/json"},
					Body: fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, tool),
				}},
			}}))
			return resp.GetStatus().GetCode() == 0
		},
	}
}
