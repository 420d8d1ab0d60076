package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/auth"
)

// mcpGoal is the most that the gate may add to a call of an idle system, in microseconds.
const mcpGoal = 1500

// echoed is the tool of the server behind the gate.
const echoed = "echo"

// gatedWorkflow allows it.
const gatedWorkflow = `{"id": "gated", "initial": "on", "states": {
	"on": {"allowed_tools": ["mcp__behind__*"], "on": {"END": "over"}}, "over": {"type": "final"}}}`

// serveMCP serves a tool that returns its input.
func serveMCP() http.Handler {
	server := mcp.NewServer(&mcp.Implementation{Name: "behind", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: echoed}, func(_ context.Context, _ *mcp.CallToolRequest, in map[string]string) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in["text"]}}}, nil, nil
	})
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
}

// way is one way to the tool.
type way struct {
	name string
	tool string
	// dial makes the connection of a caller.
	dial     func(caller int) (*mcp.ClientSession, error)
	sessions []*mcp.ClientSession
	medians  []float64 // of rounds, in microseconds
	rates    []float64 // calls a second
}

// gateOverMCP measures calls of a tool directly, and behind the gate.
func (b *bencher) gateOverMCP(ctx context.Context) error {
	if b.program == "" {
		return errors.New("it needs the program: -interlock")
	}
	s := &sheet{
		title: "Calls of an MCP tool, directly and behind the gate",
		notes: "The server is reached over HTTP and returns what it is given. Behind the gate each call is judged by a workflow, " +
			"committed to SQLite, made, and its result reported. On stdio, each caller has an `interlock mcp` of its own.",
		header: []string{"callers", "way", "median of a call, us", "adds, us", "calls/s", "ratio to direct min / median / max", goalsColumn},
	}
	for _, callers := range []int{1, 16} {
		if err := b.onStage("sqlite", func(at *stage) error { return b.compareWays(ctx, at, callers, s) }); err != nil {
			return err
		}
	}
	b.print(s)
	return nil
}

func (b *bencher) compareWays(ctx context.Context, at *stage, callers int, s *sheet) (err error) {
	behind, err := at.serve(childConfig{Role: roleMCP})
	if err != nil {
		return err
	}
	url := "http://" + behind.Admin + "/mcp"
	gate, err := at.up(b.program, "--upstream", "behind="+url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, gate.down()) }()
	if err := at.admitCallers(ctx, &gate.child, 2*callers); err != nil {
		return err
	}
	overHTTP := func(endpoint, token string) (*mcp.ClientSession, error) {
		return connectMCP(ctx, &mcp.StreamableClientTransport{Endpoint: endpoint, HTTPClient: &http.Client{Transport: bearer(token)}})
	}
	ways := []*way{
		{name: "direct", tool: echoed, dial: func(int) (*mcp.ClientSession, error) { return overHTTP(url, "") }},
		{name: "gate, HTTP", tool: "mcp__behind__" + echoed, dial: func(caller int) (*mcp.ClientSession, error) {
			return overHTTP(gate.http+"/mcp?session="+sessionOf(caller), at.tokensOf[auth.Agent])
		}},
		{name: "gate, stdio", tool: "mcp__behind__" + echoed, dial: func(caller int) (*mcp.ClientSession, error) {
			cmd := exec.Command(b.program, "mcp", "--data-dir", string(at.data()), "--session", sessionOf(callers+caller), "--upstream", "behind="+url)
			return connectMCP(ctx, &mcp.CommandTransport{Command: cmd})
		}},
	}
	for _, w := range ways {
		defer w.hangUp()
		for caller := range callers {
			session, err := w.dial(caller)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			w.sessions = append(w.sessions, session)
		}
	}
	for round := range b.rounds + 1 {
		for _, w := range ways {
			if err := w.measure(ctx, b.round, round > 0); err != nil { // the first one warms up
				return fmt.Errorf("%s: %w", w.name, err)
			}
		}
	}
	direct := ways[0]
	for _, w := range ways {
		median, rate := spreadOf(w.medians), spreadOf(w.rates)
		row := []string{strconv.Itoa(callers), w.name, median.String(), "", rate.String(), "", ""}
		if w != direct {
			added := make([]float64, len(w.medians))
			for i := range added {
				added[i] = w.medians[i] - direct.medians[i]
			}
			row[3], row[5] = spreadOf(added).String(), spreadOf(ratios(w.rates, direct.rates)).String()
			if callers == 1 {
				row[6] = b.judge(spreadOf(added).median <= mcpGoal, "adds <= %d us", mcpGoal)
			}
		}
		s.add(row...)
	}
	return nil
}

func sessionOf(caller int) string { return "caller-" + strconv.Itoa(caller) }

// admitCallers loads a workflow for the session of each caller.
func (s *stage) admitCallers(ctx context.Context, gate *child, callers int) error {
	conn, err := s.operator(gate, "")
	if err != nil {
		return err
	}
	if _, err := enginev1.NewWorkflowServiceClient(conn).RegisterWorkflow(ctx, &enginev1.RegisterWorkflowRequest{Definition: []byte(gatedWorkflow)}); err != nil {
		return err
	}
	p, err := s.dial(gate, 1)
	if err != nil {
		return err
	}
	for caller := range callers {
		_, err := enginev1.NewRunServiceClient(p[0]).StartRun(ctx, &enginev1.StartRunRequest{Workflow: "gated", SessionId: sessionOf(caller)})
		if err != nil {
			return err
		}
	}
	return nil
}

// bearer adds a token to requests, if there is one.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(r)
}

func connectMCP(ctx context.Context, transport mcp.Transport) (*mcp.ClientSession, error) {
	return mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(ctx, transport, nil)
}

func (w *way) hangUp() {
	for _, session := range w.sessions {
		_ = session.Close() // it is measured
	}
}

// measure has all callers call for some time, and keeps the median if it is to be kept.
func (w *way) measure(ctx context.Context, round time.Duration, keep bool) error {
	took := make([][]float64, len(w.sessions))
	errs := make([]error, len(w.sessions))
	var callers sync.WaitGroup
	begin := time.Now()
	for i, session := range w.sessions {
		callers.Go(func() {
			for time.Since(begin) < round && errs[i] == nil {
				at := time.Now()
				result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: w.tool, Arguments: map[string]string{"text": "hello"}})
				if err == nil && result.IsError {
					err = fmt.Errorf("refused: %v", textOf(result))
				}
				errs[i], took[i] = err, append(took[i], float64(time.Since(at))/1e3)
			}
		})
	}
	callers.Wait()
	elapsed := time.Since(begin)
	all := slices.Concat(took...)
	if keep {
		w.medians = append(w.medians, spreadOf(all).median)
		w.rates = append(w.rates, float64(len(all))/elapsed.Seconds())
	}
	return errors.Join(errs...)
}

func textOf(result *mcp.CallToolResult) string {
	for _, content := range result.Content {
		if text, ok := content.(*mcp.TextContent); ok {
			return text.Text
		}
	}
	return ""
}
