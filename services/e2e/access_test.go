package e2e

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
)

// rights lists the callers of each method, written down here a second time on purpose.
var rights = []struct {
	name string
	may  []auth.Role
	call func(context.Context, *caller) error
}{
	{"Register", drivers, func(ctx context.Context, c *caller) error {
		_, err := c.workflows.RegisterWorkflow(ctx, &enginev1.RegisterWorkflowRequest{Definition: []byte("{")})
		return err
	}},
	{"Get a workflow", everybody, func(ctx context.Context, c *caller) error {
		_, err := c.workflows.GetWorkflow(ctx, &enginev1.GetWorkflowRequest{Name: "none"})
		return err
	}},
	{"List workflows", everybody, func(ctx context.Context, c *caller) error {
		_, err := c.workflows.ListWorkflows(ctx, &enginev1.ListWorkflowsRequest{})
		return err
	}},
	{"Validate", everybody, func(ctx context.Context, c *caller) error {
		_, err := c.workflows.ValidateWorkflow(ctx, &enginev1.ValidateWorkflowRequest{Definition: []byte("{}")})
		return err
	}},
	{"Start", drivers, func(ctx context.Context, c *caller) error {
		_, err := c.runs.StartRun(ctx, &enginev1.StartRunRequest{Workflow: "none"})
		return err
	}},
	{"Get", everybody, func(ctx context.Context, c *caller) error {
		_, err := c.runs.GetRun(ctx, &enginev1.GetRunRequest{RunId: "run_none"})
		return err
	}},
	{"List", everybody, func(ctx context.Context, c *caller) error {
		_, err := c.runs.ListRuns(ctx, &enginev1.ListRunsRequest{})
		return err
	}},
	{"Transition", drivers, func(ctx context.Context, c *caller) error {
		_, err := c.runs.TransitionRun(ctx, &enginev1.TransitionRunRequest{RunId: "run_none", Event: "E"})
		return err
	}},
	{"Pause", drivers, func(ctx context.Context, c *caller) error {
		_, err := c.runs.PauseRun(ctx, &enginev1.PauseRunRequest{RunId: "run_none"})
		return err
	}},
	{"Resume", drivers, func(ctx context.Context, c *caller) error {
		_, err := c.runs.ResumeRun(ctx, &enginev1.ResumeRunRequest{RunId: "run_none"})
		return err
	}},
	{"Cancel", drivers, func(ctx context.Context, c *caller) error {
		_, err := c.runs.CancelRun(ctx, &enginev1.CancelRunRequest{RunId: "run_none"})
		return err
	}},
	{"History", everybody, func(ctx context.Context, c *caller) error {
		_, err := c.runs.GetRunHistory(ctx, &enginev1.GetRunHistoryRequest{RunId: "run_none"})
		return err
	}},
	{"Watch", everybody, func(ctx context.Context, c *caller) error {
		stream, err := c.runs.WatchRun(ctx, &enginev1.WatchRunRequest{RunId: "run_none"})
		if err == nil {
			_, err = stream.Recv()
		}
		return err
	}},
	{"CheckToolCall", drivers, func(ctx context.Context, c *caller) error {
		_, err := c.policy.CheckToolCall(ctx, &policyv1.CheckToolCallRequest{RunId: "run_none", Tool: "T"})
		return err
	}},
	{"CheckToolCalls", drivers, func(ctx context.Context, c *caller) error {
		stream, err := c.policy.CheckToolCalls(ctx)
		if err == nil {
			err = stream.CloseSend()
		}
		if err == nil {
			_, err = stream.Recv()
		}
		return err
	}},
	{"ReportToolCall", drivers, func(ctx context.Context, c *caller) error {
		_, err := c.policy.ReportToolCall(ctx, &policyv1.ReportToolCallRequest{RunId: "run_none", CallId: "c", Tool: "T"})
		return err
	}},
}

var (
	drivers   = []auth.Role{auth.Agent, auth.Operator, auth.Runtime}
	everybody = []auth.Role{auth.Agent, auth.Operator, auth.Approver, auth.Observer, auth.Runtime}
)

func roles(t *testing.T, w *world) {
	for _, role := range auth.Roles() {
		c := w.as(t, role)
		for _, right := range rights {
			reason := fault.ReasonOf(right.call(within(t), c))
			if reason == fault.Unauthenticated {
				t.Errorf("%s: the %s is not known", right.name, role)
			}
			if may := slices.Contains(right.may, role); may == (reason == fault.PermissionDenied) {
				t.Errorf("%s by the %s ends with %q", right.name, role, reason)
			}
		}
	}
}

// credentials: no caller succeeds with a wrong token or none, on any face;
// only the probes are open.
func credentials(t *testing.T, w *world) {
	for _, token := range []string{"", "wrong-token-wrong-token", w.tokens[auth.Agent][1:], w.tokens[auth.Agent] + "x"} {
		for replica := range w.engines {
			c := w.with(t, replica, token)
			for _, right := range rights {
				if reason := fault.ReasonOf(right.call(within(t), c)); reason != fault.Unauthenticated {
					t.Errorf("%s with the token %.12q ends with %q", right.name, token, reason)
				}
			}
		}
		for _, path := range []string{"/v1/runs", "/v1/workflows", "/v1/events", "/v1/runs/run_none"} {
			if got := w.send(t, http.MethodGet, path, token, ""); got.status != http.StatusUnauthorized ||
				got.code() != "UNAUTHENTICATED" || got.header.Get("WWW-Authenticate") == "" {
				t.Errorf("GET %s with the token %.12q answers %v", path, token, got)
			}
		}
		if got := w.send(t, http.MethodPost, "/mcp", token, initialize); got.status != http.StatusUnauthorized {
			t.Errorf("/mcp with the token %.12q answers %v", token, got)
		}
		if got := w.send(t, http.MethodPost, "/v1/hook", token, `{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Edit","tool_input":{}}`); allowsHook(got.body) {
			t.Errorf("the hook with the token %.12q answers %v", token, got)
		}
	}
	for _, path := range []string{"/healthz", "/readyz", "/openapi.json", "/"} {
		if got := w.send(t, http.MethodGet, path, "", ""); got.status != http.StatusOK {
			t.Errorf("GET %s answers %v", path, got)
		}
	}
	for _, target := range slices.Concat(w.engines, w.policies) {
		var conn grpc.ClientConnInterface = w.dial(t, target, "")
		resp := must[*healthpb.HealthCheckResponse](t)(healthpb.NewHealthClient(conn).Check(within(t), &healthpb.HealthCheckRequest{}))
		if resp.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("%s says that it is %v", target, resp.GetStatus())
		}
	}
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":` +
	`{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"e2e","version":"1"}}}`

// allowsHook is true when a hook's answer would let the tool run: no exit code 2
// and no denial in it.
func allowsHook(body string) bool {
	return !strings.Contains(body, `"exit":2`) && !strings.Contains(body, `"exit_code":2`) && !strings.Contains(body, `deny`)
}

// namespaces do not see each other, even by id.
func namespaces(t *testing.T, w *world) {
	elsewhere := &world{shape: w.shape, namespace: "elsewhere"}
	here, there := w.at(t, 0, auth.Operator), elsewhere.at(t, 1, auth.Operator)
	here.register(t, pingPong)
	id := here.begin(t, &enginev1.StartRunRequest{Workflow: "ping-pong", SessionId: "s"}).GetRunId()
	here.expect(t, id, "InA", allow, "")
	ctx := within(t)
	for name, call := range map[string]func() error{
		"start": func() error {
			_, err := there.runs.StartRun(ctx, &enginev1.StartRunRequest{Workflow: "ping-pong"})
			return err
		},
		"get": func() error {
			_, err := there.runs.GetRun(ctx, &enginev1.GetRunRequest{RunId: id})
			return err
		},
		"get by session": func() error {
			_, err := there.runs.GetRun(ctx, &enginev1.GetRunRequest{SessionId: "s"})
			return err
		},
		"transition": func() error {
			_, err := there.runs.TransitionRun(ctx, &enginev1.TransitionRunRequest{RunId: id, Event: "GO"})
			return err
		},
		"cancel": func() error {
			_, err := there.runs.CancelRun(ctx, &enginev1.CancelRunRequest{RunId: id})
			return err
		},
		"history": func() error {
			_, err := there.runs.GetRunHistory(ctx, &enginev1.GetRunHistoryRequest{RunId: id})
			return err
		},
		"check": func() error {
			_, err := there.policy.CheckToolCall(ctx, &policyv1.CheckToolCallRequest{RunId: id, Tool: "InA"})
			return err
		},
		"report": func() error {
			_, err := there.policy.ReportToolCall(ctx, &policyv1.ReportToolCallRequest{RunId: id, CallId: "c", Tool: "InA"})
			return err
		},
	} {
		if reason := fault.ReasonOf(call()); reason != fault.NotFound {
			t.Errorf("%s from another namespace ends with %q", name, reason)
		}
	}
	if list := must[*enginev1.ListRunsResponse](t)(there.runs.ListRuns(ctx, &enginev1.ListRunsRequest{})); len(list.GetRuns()) != 0 {
		t.Errorf("another namespace lists %v", list.GetRuns())
	}
	if v := there.register(t, bugfix); v.GetVersion() != 1 {
		t.Errorf("another namespace's first version is %d", v.GetVersion())
	}
	if got := here.history(t, id); len(got) != 1 {
		t.Errorf("another namespace changed the run: %v", got)
	}
}
