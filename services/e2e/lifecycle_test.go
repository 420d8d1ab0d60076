package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
)

// watchRun watches through one replica the changes through the other, until the
// run's end ends the stream.
func watchRun(t *testing.T, w *world) {
	mover, watcher := w.at(t, 0, auth.Agent), w.at(t, 1, auth.Observer)
	mover.register(t, pingPong)
	id := mover.start(t, "ping-pong").GetRunId()
	stream := must[enginev1.RunService_WatchRunClient](t)(watcher.runs.WatchRun(within(t), &enginev1.WatchRunRequest{RunId: id}))
	version := int64(0)
	until := func(want int64) {
		t.Helper()
		for version < want {
			run := must[*enginev1.WatchRunResponse](t)(stream.Recv()).GetRun()
			if run.GetVersion() <= version {
				t.Fatalf("version %d is shown after %d", run.GetVersion(), version)
			}
			version = run.GetVersion()
		}
	}
	until(1)
	for range 5 {
		until(mover.move(t, id, "GO").GetVersion())
	}
	until(mover.move(t, id, "END").GetVersion())
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("after the run's end the stream ends with %v", err)
	}
	none := must[enginev1.RunService_WatchRunClient](t)(watcher.runs.WatchRun(within(t), &enginev1.WatchRunRequest{RunId: "run_none"}))
	_, err := none.Recv()
	refused(t, err, fault.NotFound)
}

// pauseAndResume: an agent's own pause opens the tools, an operator's holds the
// run until an operator resumes it (S6.2).
func pauseAndResume(t *testing.T, w *world) {
	agent, operator := w.at(t, 0, auth.Agent), w.at(t, 1, auth.Operator)
	agent.register(t, lax(bugfix))
	id := agent.start(t, "bugfix").GetRunId()
	agent.moveWith(t, id, "READY", `{"kept":true}`)
	agent.expect(t, id, "Edit", allow, "")

	run := must[*enginev1.PauseRunResponse](t)(agent.runs.PauseRun(within(t), &enginev1.PauseRunRequest{RunId: id})).GetRun()
	if run.GetStatus() != paused {
		t.Errorf("paused as %v", run)
	}
	operator.expect(t, id, "Bash", allow, "NOT_ENFORCED")
	if got := agent.fire(t, id, "DONE", "").GetRejection(); got.GetCode() != enginev1.RejectionCode_REJECTION_CODE_RUN_NOT_RUNNING {
		t.Errorf("a paused run moves on: %v", got)
	}
	run = must[*enginev1.ResumeRunResponse](t)(agent.runs.ResumeRun(within(t), &enginev1.ResumeRunRequest{RunId: id})).GetRun()
	if run.GetStatus() != running || run.GetState() != "implementing" || run.GetUsage().GetIterations() != 0 || run.GetTransitionCount() != 1 {
		t.Errorf("resumed as %v", run)
	}
	agent.expect(t, id, "Bash", deny, "TOOL_NOT_ALLOWED")

	run = must[*enginev1.PauseRunResponse](t)(operator.runs.PauseRun(within(t), &enginev1.PauseRunRequest{RunId: id, Reason: "review"})).GetRun()
	if run.GetStatus() != heldNow {
		t.Errorf("an operator's pause does not hold: %v", run)
	}
	agent.expect(t, id, "Edit", deny, "RUN_NOT_ACTIVE")
	_, err := agent.runs.ResumeRun(within(t), &enginev1.ResumeRunRequest{RunId: id})
	refused(t, err, fault.RunHeld)
	must[*enginev1.ResumeRunResponse](t)(operator.runs.ResumeRun(within(t), &enginev1.ResumeRunRequest{RunId: id}))
	agent.expect(t, id, "Edit", allow, "")
	_, err = agent.runs.ResumeRun(within(t), &enginev1.ResumeRunRequest{RunId: id})
	refused(t, err, fault.FailedPrecondition)
}

func cancelRun(t *testing.T, w *world) {
	one, other := w.at(t, 0, auth.Agent), w.at(t, 1, auth.Agent)
	one.register(t, pingPong)
	id := one.begin(t, &enginev1.StartRunRequest{Workflow: "ping-pong", SessionId: "s"}).GetRunId()
	run := must[*enginev1.CancelRunResponse](t)(other.runs.CancelRun(within(t), &enginev1.CancelRunRequest{RunId: id, Reason: "enough"})).GetRun()
	if run.GetStatus() != cancelled {
		t.Errorf("cancelled as %v", run)
	}
	if got := one.fire(t, id, "GO", "").GetRejection(); got.GetCode() != enginev1.RejectionCode_REJECTION_CODE_RUN_NOT_RUNNING {
		t.Errorf("a cancelled run moves on: %v", got)
	}
	_, err := one.runs.CancelRun(within(t), &enginev1.CancelRunRequest{RunId: id})
	refused(t, err, fault.FailedPrecondition)
	_, err = other.runs.GetRun(within(t), &enginev1.GetRunRequest{SessionId: "s"})
	refused(t, err, fault.NotFound)
	history := other.history(t, id)
	if last := history[len(history)-1]; last.GetType() != enginev1.HistoryType_HISTORY_TYPE_CANCELLED || last.GetReason() != "enough" || last.GetActor() != "agent" {
		t.Errorf("the history ends with %v", last)
	}
}

// oneSessionOneRun: loading another workflow pauses the first, and the session's
// calls are judged by the run that it drives now (S6.6).
func oneSessionOneRun(t *testing.T, w *world) {
	one, other := w.at(t, 0, auth.Agent), w.at(t, 1, auth.Agent)
	one.register(t, pingPong)
	one.register(t, lax(bugfix))
	judged := func(c *caller, tool string, want policyv1.Decision) {
		t.Helper()
		d := must[*policyv1.CheckToolCallResponse](t)(c.policy.CheckToolCall(within(t),
			&policyv1.CheckToolCallRequest{SessionId: "ses", Tool: tool}))
		if d.GetDecision() != want {
			t.Fatalf("%s is %v (%s), want %v", tool, d.GetDecision(), d.GetMessage(), want)
		}
	}
	first := one.begin(t, &enginev1.StartRunRequest{Workflow: "ping-pong", SessionId: "ses"})
	judged(other, "InA", allow)
	judged(other, "Read", deny)
	second := other.begin(t, &enginev1.StartRunRequest{Workflow: "bugfix", SessionId: "ses"})
	judged(one, "InA", deny)
	judged(one, "Read", allow)
	if got := one.get(t, first.GetRunId()); got.GetStatus() != paused {
		t.Errorf("the run that was left is %v", got.GetStatus())
	}
	back := must[*enginev1.StartRunResponse](t)(one.runs.StartRun(within(t),
		&enginev1.StartRunRequest{Workflow: "ping-pong", SessionId: "ses", Resume: true}))
	if !back.GetResumed() || back.GetRun().GetRunId() != first.GetRunId() || back.GetRun().GetStatus() != running {
		t.Errorf("resumed %v", back)
	}
	judged(other, "InA", allow)
	if got := other.get(t, second.GetRunId()); got.GetStatus() != paused {
		t.Errorf("the second run is %v after the first was resumed", got.GetStatus())
	}
	// Without a paused run, resume starts fresh and says so.
	fresh := must[*enginev1.StartRunResponse](t)(other.runs.StartRun(within(t),
		&enginev1.StartRunRequest{Workflow: "ping-pong", SessionId: "another", Resume: true}))
	if fresh.GetResumed() {
		t.Errorf("a run that nobody paused is resumed: %v", fresh)
	}
}

// concurrentStarts begin runs in one session from all sides: one continues.
func concurrentStarts(t *testing.T, w *world) {
	callers := []*caller{w.at(t, 0, auth.Agent), w.at(t, 1, auth.Agent)}
	callers[0].register(t, pingPong)
	ctx := within(t)
	const n = 8
	all(t, n, func(i int) error {
		for {
			_, err := callers[i%2].runs.StartRun(ctx, &enginev1.StartRunRequest{Workflow: "ping-pong", SessionId: "s"})
			if fault.ReasonOf(err) != fault.VersionConflict {
				return err
			}
		}
	})
	drives := must[*enginev1.GetRunResponse](t)(callers[1].runs.GetRun(ctx, &enginev1.GetRunRequest{SessionId: "s"})).GetRun()
	list := must[*enginev1.ListRunsResponse](t)(callers[0].runs.ListRuns(ctx, &enginev1.ListRunsRequest{})).GetRuns()
	if len(list) != n {
		t.Errorf("%d runs were started, %d are listed", n, len(list))
	}
	for _, run := range list {
		want := paused
		if run.GetRunId() == drives.GetRunId() {
			want = running
		}
		if run.GetStatus() != want {
			t.Errorf("run %s is %v, want %v", run.GetRunId(), run.GetStatus(), want)
		}
	}
}

// pinnedVersions: a run continues with the version that it started on (S1.6).
func pinnedVersions(t *testing.T, w *world) {
	one, other := w.at(t, 0, auth.Agent), w.at(t, 1, auth.Agent)
	definition := func(event string) string {
		return fmt.Sprintf(`{"id":"v","initial":"a","states":{"a":{"on":{%q:"z"}},"z":{"type":"final"}}}`, event)
	}
	one.register(t, definition("OLD"))
	old := one.start(t, "v").GetRunId()
	if v := other.register(t, definition("NEW")); v.GetVersion() != 2 {
		t.Errorf("the change is version %d", v.GetVersion())
	}
	same := must[*enginev1.RegisterWorkflowResponse](t)(one.workflows.RegisterWorkflow(within(t),
		&enginev1.RegisterWorkflowRequest{Definition: []byte(" " + definition("NEW"))}))
	if same.GetCreated() || same.GetWorkflow().GetVersion() != 2 {
		t.Errorf("the same content again is %v", same)
	}
	run := one.start(t, "v")
	if run.GetWorkflowVersion() != 2 || run.GetRules().GetLegalEvents()[0].GetEvent() != "NEW" {
		t.Errorf("a new run is %v", run)
	}
	if got := other.fire(t, old, "NEW", ""); got.GetAccepted() {
		t.Error("an old run knows the new version's event")
	}
	if got := other.move(t, old, "OLD"); got.GetWorkflowVersion() != 1 {
		t.Errorf("an old run is on version %d", got.GetWorkflowVersion())
	}
	if pinned := w.at(t, 1, auth.Operator).begin(t, &enginev1.StartRunRequest{Workflow: "v", WorkflowVersion: 1}); pinned.GetWorkflowVersion() != 1 {
		t.Errorf("version 1 was asked for: %v", pinned)
	}
	_, err := one.runs.StartRun(within(t), &enginev1.StartRunRequest{Workflow: "v", WorkflowVersion: 1})
	refused(t, err, fault.PermissionDenied) // an agent starts the newest (S6.8)
	_, err = one.runs.StartRun(within(t), &enginev1.StartRunRequest{Workflow: "v", WorkflowVersion: 3})
	refused(t, err, fault.NotFound)
	racingRegistrations(t, w)
}

// racingRegistrations register different content under one name at once: the
// versions are 1 to n.
func racingRegistrations(t *testing.T, w *world) {
	t.Helper()
	callers := []*caller{w.at(t, 0, auth.Agent), w.at(t, 1, auth.Agent)}
	ctx := within(t)
	const n = 10
	versions := make([]int64, n)
	all(t, n, func(i int) error {
		definition := fmt.Sprintf(`{"id":"race","initial":"a","states":{"a":{"on":{"E%d":"z"}},"z":{"type":"final"}}}`, i)
		resp, err := register(ctx, callers[i%2], definition)
		versions[i] = resp.GetWorkflow().GetVersion()
		return err
	})
	given := map[int64]bool{}
	for _, v := range versions {
		given[v] = true
	}
	for v := int64(1); v <= n; v++ {
		if !given[v] {
			t.Errorf("no registration got version %d: %v", v, versions)
		}
	}
}

// register registers until no race is lost.
func register(ctx context.Context, c *caller, definition string) (*enginev1.RegisterWorkflowResponse, error) {
	for {
		resp, err := c.workflows.RegisterWorkflow(ctx, &enginev1.RegisterWorkflowRequest{Definition: []byte(definition)})
		if fault.ReasonOf(err) != fault.VersionConflict {
			return resp, err
		}
	}
}

// noReplacement: an agent may not change an operator's registration (S6.7).
func noReplacement(t *testing.T, w *world) {
	agent, operator := w.at(t, 0, auth.Agent), w.at(t, 1, auth.Operator)
	operator.register(t, bugfix)
	loosened := `{"id":"bugfix","initial":"a","states":{"a":{"on":{"E":"z"}},"z":{"type":"final"}}}`
	_, err := agent.workflows.RegisterWorkflow(within(t), &enginev1.RegisterWorkflowRequest{Definition: []byte(loosened)})
	refused(t, err, fault.NameTaken)
	if v := must[*enginev1.GetWorkflowResponse](t)(agent.workflows.GetWorkflow(within(t),
		&enginev1.GetWorkflowRequest{Name: "bugfix"})).GetWorkflow(); v.GetVersion() != 1 || string(v.GetDefinition()) != bugfix {
		t.Errorf("the workflow is now %v", v)
	}
	agent.register(t, pingPong)
	agent.register(t, `{"id":"ping-pong","initial":"a","states":{"a":{"on":{"E":"z"}},"z":{"type":"final"}}}`)
	if v := operator.register(t, pingPong); v.GetVersion() != 3 {
		t.Errorf("an operator's change of an agent's workflow is version %d", v.GetVersion())
	}
}
