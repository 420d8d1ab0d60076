package mcp

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/gate"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
)

// methods are all requests of a client that could lead to a request to a server behind the gate, and
// the name by which the gate judges them; empty for those that never lead to one.
var methods = []struct {
	method, judged string
	dry            bool // it is judged and not counted
	ask            func(context.Context, *sdk.ClientSession) error
}{
	{"tools/call", "mcp__rich__meta", false, func(ctx context.Context, c *sdk.ClientSession) error {
		res, err := c.CallTool(ctx, &sdk.CallToolParams{Name: "mcp__rich__meta", Arguments: map[string]any{}})
		if err == nil && res.IsError {
			return &jsonrpc.Error{Code: gate.CodeRefused, Message: textOf(res)}
		}
		return err
	}},
	{"prompts/get", "mcp__rich__prompt:review", false, func(ctx context.Context, c *sdk.ClientSession) error {
		_, err := c.GetPrompt(ctx, &sdk.GetPromptParams{Name: "mcp__rich__review", Arguments: map[string]string{"file": "a"}})
		return err
	}},
	{"resources/read", "mcp__rich__resource:config://main", false, func(ctx context.Context, c *sdk.ClientSession) error {
		_, err := c.ReadResource(ctx, &sdk.ReadResourceParams{URI: "config://main"})
		return err
	}},
	{"resources/read", "mcp__rich__resource:users://7/profile", false, func(ctx context.Context, c *sdk.ClientSession) error {
		_, err := c.ReadResource(ctx, &sdk.ReadResourceParams{URI: "users://7/profile"})
		return err
	}},
	{"resources/read", "mcp__rich__resource:nobody://lists/it", false, func(ctx context.Context, c *sdk.ClientSession) error {
		_, err := c.ReadResource(ctx, &sdk.ReadResourceParams{URI: "nobody://lists/it"})
		var protocol *jsonrpc.Error
		if errors.As(err, &protocol) && protocol.Code == jsonrpc.CodeInvalidParams {
			return nil // the server's answer
		}
		return err
	}},
	{"resources/subscribe", "mcp__rich__resource:config://main", false, func(ctx context.Context, c *sdk.ClientSession) error {
		return c.Subscribe(ctx, &sdk.SubscribeParams{URI: "config://main"})
	}},
	{"resources/subscribe", "mcp__rich__resource:users://8/profile", false, func(ctx context.Context, c *sdk.ClientSession) error {
		return c.Subscribe(ctx, &sdk.SubscribeParams{URI: "users://8/profile"})
	}},
	{"completion/complete", "mcp__rich__prompt:review", true, func(ctx context.Context, c *sdk.ClientSession) error {
		_, err := c.Complete(ctx, &sdk.CompleteParams{
			Ref: &sdk.CompleteReference{Type: "ref/prompt", Name: "mcp__rich__review"}, Argument: sdk.CompleteParamsArgument{Name: "file", Value: "a"},
		})
		return err
	}},
	{"completion/complete", "mcp__rich__resource:users://{id}/profile", true, func(ctx context.Context, c *sdk.ClientSession) error {
		_, err := c.Complete(ctx, &sdk.CompleteParams{
			Ref: &sdk.CompleteReference{Type: "ref/resource", URI: "users://{id}/profile"}, Argument: sdk.CompleteParamsArgument{Name: "id", Value: "a"},
		})
		return err
	}},
	{"tools/list", "", false, func(ctx context.Context, c *sdk.ClientSession) error { _, err := c.ListTools(ctx, nil); return err }},
	{"prompts/list", "", false, func(ctx context.Context, c *sdk.ClientSession) error { _, err := c.ListPrompts(ctx, nil); return err }},
	{"resources/list", "", false, func(ctx context.Context, c *sdk.ClientSession) error { _, err := c.ListResources(ctx, nil); return err }},
	{"resources/templates/list", "", false, func(ctx context.Context, c *sdk.ClientSession) error {
		_, err := c.ListResourceTemplates(ctx, nil)
		return err
	}},
	{"resources/unsubscribe", "", false, func(ctx context.Context, c *sdk.ClientSession) error {
		return c.Unsubscribe(ctx, &sdk.UnsubscribeParams{URI: "config://main"})
	}},
}

// listened are the methods that a server hears, after it was connected.
type listened struct {
	mu  sync.Mutex
	all []string
}

func (l *listened) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.all
	l.all = nil
	return all
}

// TestEveryMethodIsJudged: S3.1. Each request that leads to a server is judged by its name, also by
// policies, and does not reach the server when it is refused or no call is allowed.
func TestEveryMethodIsJudged(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		session string
		denies  bool
		says    string
	}{
		"allowed":            {session: "s1"},
		"a policy denies":    {session: "s1", denies: true, says: "policy \"p\" denies it"},
		"no workflow":        {session: "s2", says: "NO_WORKFLOW"},
		"no session, no run": {says: "NOT_BOUND"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, version := range bothEras {
				behind, at := rich(t)
				var heard listened
				behind.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
					return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
						heard.mu.Lock()
						heard.all = append(heard.all, method)
						heard.mu.Unlock()
						return next(ctx, method, req)
					}
				})
				p := newPlane()
				p.states["testing"] = planeState{}
				p.start("s1")
				if tt.denies {
					p.onCheck = func(_ context.Context, in *policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error) {
						p.mu.Lock()
						defer p.mu.Unlock()
						res, err := p.judge(in)
						if err == nil {
							res.Decision, res.Code, res.Message = policyv1.Decision_DECISION_DENY, policyv1.DecisionCode_DECISION_CODE_POLICY_DENIED, `policy "p" denies it`
						}
						return res, err
					}
				}
				s := server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{at} })
				url := endpoint(t, s)
				if tt.session != "" {
					url += "?session=" + tt.session
				}
				client := overHTTP(t, url, version, nil, nil)
				heard.take()
				for _, m := range methods {
					if version == "2026-07-28" && strings.HasSuffix(m.method, "subscribe") {
						continue // it listens there, see TestWatched
					}
					before, _ := p.counts()
					err := m.ask(t.Context(), client)
					reached := slices.Contains(heard.take(), m.method)
					allowed := tt.says == "" || m.judged == ""
					if reached != (allowed && m.judged != "") || (err == nil) != allowed || !allowed && !strings.Contains(err.Error(), tt.says) {
						t.Errorf("%s %s %s: it reaches the server: %t, %v", version, m.method, m.judged, reached, err)
					}
					p.mu.Lock()
					checks := p.checks[before:]
					p.mu.Unlock()
					if m.judged == "" && len(checks) != 0 {
						t.Errorf("%s is judged: %v", m.method, checks)
					}
					if m.judged != "" && tt.session == "s1" && (len(checks) != 1 || checks[0].GetTool() != m.judged || checks[0].GetDryRun() != m.dry) {
						t.Errorf("%s is judged as %v, want %s", m.method, checks, m.judged)
					}
				}
			}
		})
	}
}

// Where people would be asked, the completion is refused, and people are not asked.
func TestCompletionAsksNobody(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.states["testing"] = planeState{}
	p.start("s1")
	p.onCheck = func(_ context.Context, in *policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error) {
		if !in.GetDryRun() {
			t.Errorf("it is asked for good: %v", in)
		}
		return &policyv1.CheckToolCallResponse{
			RunId: "run_1", Decision: policyv1.Decision_DECISION_ASK, Code: policyv1.DecisionCode_DECISION_CODE_APPROVAL_REQUIRED, Message: "a human must approve it",
		}, nil
	}
	_, at := rich(t)
	s := server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{at} })
	client := overHTTP(t, endpoint(t, s)+"?session=s1", "2025-06-18", nil, nil)
	_, err := client.Complete(t.Context(), &sdk.CompleteParams{Ref: &sdk.CompleteReference{Type: "ref/prompt", Name: "mcp__rich__review"}})
	if err == nil || !strings.Contains(err.Error(), "APPROVAL_REQUIRED") {
		t.Errorf("it is completed: %v", err)
	}
}

// S3.1: a resource whose URI could be read as that of another one is neither listed nor read, and one that
// is listed is read by its listed name only.
func TestMisleadingResources(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.states["testing"] = planeState{disallowed: []string{"mcp__rich__resource:docs://secret/*", "mcp__rich__resource:config://main"}}
	p.start("s1")
	behind, at := rich(t)
	read := func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI, Text: "x"}}}, nil
	}
	odd := []string{"docs://public/../secret/a", "docs://public/%2e%2e/secret/a", "docs://x/s%65cret", "docs://x/secret%2Fa"}
	for _, uri := range append(odd, "docs://public/a b") {
		behind.AddResource(&sdk.Resource{Name: uri, URI: uri}, read)
	}
	s := server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{at} })
	client := overHTTP(t, endpoint(t, s)+"?session=s1", "2025-06-18", nil, nil)
	list, err := client.ListResources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list.Resources {
		if slices.Contains(odd, r.URI) {
			t.Errorf("%s is listed", r.URI)
		}
	}
	if _, err := client.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "docs://public/a b"}); err != nil {
		t.Error(err)
	}
	for _, uri := range append(odd, "docs://secret/a", "config://main", "config://main/", "config://main?x", "config://Main", "config://mai%6E", "config://m%61in") {
		if _, err := client.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%s is read", uri)
		}
	}
	_, err = client.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "config://main/"})
	if err == nil || !strings.Contains(err.Error(), `it is listed as "config://main"`) {
		t.Errorf("the refusal does not say how to read it: %v", err)
	}
}
