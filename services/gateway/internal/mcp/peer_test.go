package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream/upstreamtest"
)

// asking is a server whose tool asks its client for everything that a client can be asked.
func asking(t *testing.T) upstream.Server {
	t.Helper()
	srv := sdk.NewServer(&sdk.Implementation{Name: "asking", Version: "1"}, nil)
	srv.AddTool(&sdk.Tool{Name: "ask", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		roots, err := req.Session.ListRoots(ctx, nil)
		if err != nil {
			return nil, fmt.Errorf("roots: %w", err)
		}
		sampled, err := req.Session.CreateMessage(ctx, &sdk.CreateMessageParams{
			MaxTokens: 10, Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: "2+2"}}},
		})
		if err != nil {
			return nil, fmt.Errorf("sampling: %w", err)
		}
		elicited, err := req.Session.Elicit(ctx, &sdk.ElicitParams{
			Message: "Which one?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"one":{"type":"string"}}}`),
		})
		if err != nil {
			return nil, fmt.Errorf("elicitation: %w", err)
		}
		if err := req.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "warning", Data: "paper is low"}); err != nil {
			return nil, err
		}
		text := fmt.Sprint(len(roots.Roots), " roots, ", sampled.Content.(*sdk.TextContent).Text, " ", elicited.Content["one"])
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
	})
	url := upstreamtest.Serve(t, srv)
	return upstream.Server{Name: "asking", URL: url}
}

// TestServersAskClients: a question of a server reaches the client that calls it, and no other.
func TestServersAskClients(t *testing.T) {
	t.Parallel()
	for _, alone := range []bool{true, false} {
		t.Run(fmt.Sprint("alone ", alone), func(t *testing.T) {
			t.Parallel()
			p := newPlane()
			p.states["testing"] = planeState{}
			p.start("s1")
			at := asking(t)
			s := server(t, p, func(c *Config) {
				c.Upstreams, c.Alone = []upstream.Server{at}, alone
			})
			web := ""
			if !alone {
				web = endpoint(t, s) + "?session=s1"
			}
			client := func(name string) (*sdk.ClientSession, chan string) {
				logged := make(chan string, 10)
				options := &sdk.ClientOptions{
					CreateMessageHandler: func(_ context.Context, req *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) {
						return &sdk.CreateMessageResult{Role: "assistant", Model: name, Content: &sdk.TextContent{Text: "four from " + name}}, nil
					},
					ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
						return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"one": "that of " + name}}, nil
					},
					LoggingMessageHandler: func(_ context.Context, req *sdk.LoggingMessageRequest) { logged <- fmt.Sprint(req.Params.Data) },
					Capabilities:          &sdk.ClientCapabilities{RootsV2: &sdk.RootCapabilities{}},
				}
				if alone {
					return overStdio(t, s, "2025-11-25", options), logged
				}
				return overHTTP(t, web, "2025-11-25", options, nil), logged
			}
			names := []string{"ann"}
			if !alone {
				names = append(names, "bob")
			}
			for _, name := range names {
				session, logged := client(name)
				if err := session.SetLoggingLevel(t.Context(), &sdk.SetLoggingLevelParams{Level: "info"}); err != nil {
					t.Fatal(err)
				}
				result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "mcp__asking__ask", Arguments: map[string]any{}})
				if err == nil && textOf(result) != "0 roots, four from "+name+" that of "+name {
					t.Errorf("%s: %s", name, textOf(result))
				}
				if err != nil {
					t.Fatal(err)
				}
				if got := <-logged; got != "paper is low" {
					t.Errorf("logged %q", got)
				}
			}
		})
	}
}

// TestLogsOfSharedProcess: a process that many clients share sends its log to the client that has
// used it alone, with or without a level, and to no client once another has called.
func TestLogsOfSharedProcess(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.states["testing"] = planeState{}
	p.start("s1")
	p.start("s2")
	at := upstreamtest.Script{
		"tools/list": toolsOf("t"),
		"tools/call": `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"id":725653563933458433}}}` + "\n" +
			`{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}`,
	}.OnStdio(t, "wild")
	s := server(t, p, func(c *Config) { c.Upstreams = []upstream.Server{at} })
	web := endpoint(t, s)
	client := func(session string) (*sdk.ClientSession, chan string) {
		logged := make(chan string, 10)
		return overHTTP(t, web+"?session="+session, "2025-11-25", &sdk.ClientOptions{
			LoggingMessageHandler: func(_ context.Context, req *sdk.LoggingMessageRequest) { logged <- string(req.Params.Level) },
		}, nil), logged
	}
	ann, toAnn := client("s1")
	wantOK(t, call(t, ann, "mcp__wild__t", `{}`))
	if got := <-toAnn; got != "info" {
		t.Error(got)
	}
	again, toAgain := client("s1") // the same session, connected anew
	wantOK(t, call(t, again, "mcp__wild__t", `{}`))
	if got := <-toAgain; got != "info" {
		t.Error(got)
	}
	bob, toBob := client("s2")
	for range 2 {
		wantOK(t, call(t, bob, "mcp__wild__t", `{}`))
		wantOK(t, call(t, ann, "mcp__wild__t", `{}`))
	}
	if len(toAnn)+len(toBob)+len(toAgain) > 0 {
		t.Error("a client was told of another's calls")
	}
}

// TestQuestionWithoutAnswer: the call and the edge end although a client does not answer a
// server's question.
func TestQuestionWithoutAnswer(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.states["testing"] = planeState{}
	p.start("s1")
	at := asking(t)
	s := server(t, p, func(c *Config) { c.Upstreams, c.DrainTimeout = []upstream.Server{at}, 10*time.Millisecond })
	asked := make(chan struct{})
	session := overHTTP(t, endpoint(t, s)+"?session=s1", "2025-11-25", &sdk.ClientOptions{
		CreateMessageHandler: func(ctx context.Context, _ *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) {
			close(asked)
			<-ctx.Done()
			return nil, ctx.Err()
		},
		Capabilities: &sdk.ClientCapabilities{RootsV2: &sdk.RootCapabilities{}},
	}, nil)
	go session.CallTool(t.Context(), &sdk.CallToolParams{Name: "mcp__asking__ask", Arguments: map[string]any{}})
	<-asked
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("the edge waits for the client")
	}
}

// TestLevelWithoutAnswer: a server that does not answer which messages are wanted does not keep
// its client.
func TestLevelWithoutAnswer(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.states["testing"] = planeState{}
	p.start("s1")
	srv := sdk.NewServer(&sdk.Implementation{Name: "slow", Version: "1"}, &sdk.ServerOptions{Capabilities: &sdk.ServerCapabilities{Logging: &sdk.LoggingCapabilities{}}})
	srv.AddTool(&sdk.Tool{Name: "act", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{}, nil
	})
	srv.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if method == "logging/setLevel" {
				<-ctx.Done()
			}
			return next(ctx, method, req)
		}
	})
	url := upstreamtest.Serve(t, srv)
	s := server(t, p, func(c *Config) {
		c.Upstreams, c.CheckTimeout = []upstream.Server{{Name: "slow", URL: url}}, time.Second
	})
	client := overHTTP(t, endpoint(t, s)+"?session=s1", "2025-11-25", nil, nil)
	wantOK(t, call(t, client, "mcp__slow__act", `{}`))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := client.SetLoggingLevel(ctx, &sdk.SetLoggingLevelParams{Level: "info"}); err != nil {
		t.Error(err)
	}
}
