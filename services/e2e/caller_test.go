package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/workflow"
)

const (
	allow = policyv1.Decision_DECISION_ALLOW
	deny  = policyv1.Decision_DECISION_DENY

	running   = enginev1.RunStatus_RUN_STATUS_RUNNING
	paused    = enginev1.RunStatus_RUN_STATUS_PAUSED
	heldNow   = enginev1.RunStatus_RUN_STATUS_HELD
	completed = enginev1.RunStatus_RUN_STATUS_COMPLETED
	cancelled = enginev1.RunStatus_RUN_STATUS_CANCELLED
)

// world is a running Interlock and a namespace that one test has for itself.
type world struct {
	*shape
	namespace string
}

// caller calls one replica of each service.
type caller struct {
	workflows enginev1.WorkflowServiceClient
	runs      enginev1.RunServiceClient
	policy    policyv1.PolicyEnforcerServiceClient
}

// as is a caller of the first replicas with a role's token.
func (w *world) as(t testing.TB, role auth.Role) *caller { return w.at(t, 0, role) }

// at is a caller of one replica of each service.
func (w *world) at(t testing.TB, replica int, role auth.Role) *caller {
	t.Helper()
	return w.with(t, replica, w.tokens[role])
}

func (w *world) with(t testing.TB, replica int, token string) *caller {
	t.Helper()
	engine := w.dial(t, w.engines[replica], token)
	return &caller{
		workflows: enginev1.NewWorkflowServiceClient(engine), runs: enginev1.NewRunServiceClient(engine),
		policy: policyv1.NewPolicyEnforcerServiceClient(w.dial(t, w.policies[replica], token)),
	}
}

func (w *world) dial(t testing.TB, target, token string) *grpc.ClientConn {
	t.Helper()
	conn, err := rpc.Dial(target, rpc.ClientConfig{Token: token, Namespace: w.namespace, TLS: w.tls})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// within bounds one call.
func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// must is the value of a call that has to succeed.
func must[T any](t testing.TB) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func (c *caller) register(t testing.TB, definition string) *enginev1.Workflow {
	t.Helper()
	resp := must[*enginev1.RegisterWorkflowResponse](t)(c.workflows.RegisterWorkflow(within(t), &enginev1.RegisterWorkflowRequest{Definition: []byte(definition)}))
	return resp.GetWorkflow()
}

func (c *caller) start(t testing.TB, workflow string) *enginev1.Run {
	t.Helper()
	return c.begin(t, &enginev1.StartRunRequest{Workflow: workflow})
}

func (c *caller) begin(t testing.TB, req *enginev1.StartRunRequest) *enginev1.Run {
	t.Helper()
	return must[*enginev1.StartRunResponse](t)(c.runs.StartRun(within(t), req)).GetRun()
}

func (c *caller) get(t testing.TB, run string) *enginev1.Run {
	t.Helper()
	return must[*enginev1.GetRunResponse](t)(c.runs.GetRun(within(t), &enginev1.GetRunRequest{RunId: run})).GetRun()
}

// move fires an event that has to be accepted.
func (c *caller) move(t testing.TB, run, event string) *enginev1.Run {
	t.Helper()
	return c.moveWith(t, run, event, "")
}

func (c *caller) moveWith(t testing.TB, run, event, data string) *enginev1.Run {
	t.Helper()
	resp := c.fire(t, run, event, data)
	if !resp.GetAccepted() {
		t.Fatalf("%s is rejected: %s", event, resp.GetRejection().GetMessage())
	}
	return resp.GetRun()
}

func (c *caller) fire(t testing.TB, run, event, data string) *enginev1.TransitionRunResponse {
	t.Helper()
	return must[*enginev1.TransitionRunResponse](t)(c.runs.TransitionRun(within(t),
		&enginev1.TransitionRunRequest{RunId: run, Event: event, Data: []byte(data)}))
}

func (c *caller) check(t testing.TB, run, tool string) *policyv1.CheckToolCallResponse {
	t.Helper()
	return must[*policyv1.CheckToolCallResponse](t)(c.policy.CheckToolCall(within(t), &policyv1.CheckToolCallRequest{RunId: run, Tool: tool}))
}

// expect checks a tool call and its consequences.
func (c *caller) expect(t testing.TB, run, tool string, decision policyv1.Decision, code string) *policyv1.CheckToolCallResponse {
	t.Helper()
	d := c.check(t, run, tool)
	if d.GetDecision() != decision || codeOf(d) != code {
		t.Fatalf("%s: %v %s (%s), want %v %s", tool, d.GetDecision(), codeOf(d), d.GetMessage(), decision, code)
	}
	return d
}

// codeOf is a decision's code without its prefix, empty for none.
func codeOf(d *policyv1.CheckToolCallResponse) string {
	if d.GetCode() == policyv1.DecisionCode_DECISION_CODE_UNSPECIFIED {
		return ""
	}
	return d.GetCode().String()[len("DECISION_CODE_"):]
}

// history is every change of a run, read in small pages.
func (c *caller) history(t testing.TB, run string) []*enginev1.HistoryEntry {
	t.Helper()
	var all []*enginev1.HistoryEntry
	after := int64(0)
	for {
		page := must[*enginev1.GetRunHistoryResponse](t)(c.runs.GetRunHistory(within(t),
			&enginev1.GetRunHistoryRequest{RunId: run, AfterVersion: after, PageSize: 37}))
		all = append(all, page.GetEntries()...)
		if after = page.GetNextAfterVersion(); after == 0 {
			return all
		}
	}
}

// contiguous fails unless the versions of a history are 1, 2, 3, ...
func contiguous(t testing.TB, run string, history []*enginev1.HistoryEntry) {
	t.Helper()
	for i, entry := range history {
		if entry.GetRunVersion() != int64(i)+1 {
			t.Fatalf("run %s: entry %d of the history has version %d", run, i, entry.GetRunVersion())
		}
	}
}

// refused fails unless err is a fault with that reason.
func refused(t testing.TB, err error, reason fault.Reason) *fault.Error {
	t.Helper()
	f := fault.From(err)
	if err == nil || f.Reason != reason {
		t.Fatalf("got %v, want %s", err, reason)
	}
	return f
}

// all runs n functions at once and fails with the first errors.
func all(t testing.TB, n int, work func(i int) error) {
	t.Helper()
	errs := make(chan error, n)
	begin := make(chan struct{})
	for i := range n {
		go func() {
			<-begin
			if err := work(i); err != nil {
				err = fmt.Errorf("%d: %w", i, err)
				errs <- err
				return
			}
			errs <- nil
		}()
	}
	close(begin)
	var failed []error
	late := time.After(patience)
	for range n {
		select {
		case err := <-errs:
			failed = append(failed, err)
		case <-late:
			t.Fatalf("%d functions did not end within %s", n, patience)
		}
	}
	if err := errors.Join(failed...); err != nil {
		t.Fatal(err)
	}
}

// lax names enforcement "while_running" in a definition that names none: its agents pause and
// cancel their runs, and its approvals are advisory.
func lax(definition string) string { return string(workflow.WhileRunning.Write([]byte(definition))) }
