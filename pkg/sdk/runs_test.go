package sdk

import (
	"context"
	"errors"
	"reflect"
	"testing"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// fakeRuns returns what a test says, and keeps what it is asked.
type fakeRuns struct {
	enginev1.UnimplementedRunServiceServer
	way    bumpy
	answer func(*enginev1.TransitionRunRequest) (*enginev1.TransitionRunResponse, error)

	started log[*enginev1.StartRunRequest]
	bound   log[*enginev1.BindBranchRequest]
	got     log[*enginev1.GetRunRequest]
	fired   log[*enginev1.TransitionRunRequest]
}

var aRun = &enginev1.Run{
	RunId: "run_1", Workflow: "deploy", WorkflowVersion: 3, Status: enginev1.RunStatus_RUN_STATUS_RUNNING, State: "testing",
	Context: []byte(`{"n":1}`), Version: 7, Rules: &enginev1.StateRules{ToolsRestricted: true, AllowedTools: []string{"Read"}, EnvOverrides: []*enginev1.EnvVar{{Name: "CI", Value: "1"}}, BlockedEnv: []string{"TOKEN"}},

	Interrupt: &enginev1.Interruption{Name: "check", ReturnTo: "coding"},
	Fork: &enginev1.Fork{Branches: []*enginev1.ForkBranch{{
		Name: "lint", Status: enginev1.BranchStatus_BRANCH_STATUS_ACTIVE, State: "lint_run", SessionId: "other",
	}}},
}

func (r *fakeRuns) StartRun(ctx context.Context, req *enginev1.StartRunRequest) (*enginev1.StartRunResponse, error) {
	r.started.add(req)
	return over(ctx, &r.way, func(req *enginev1.StartRunRequest) (*enginev1.StartRunResponse, error) {
		return &enginev1.StartRunResponse{Run: aRun, Resumed: req.GetResume()}, nil
	}, req)
}

func (r *fakeRuns) BindBranch(_ context.Context, req *enginev1.BindBranchRequest) (*enginev1.BindBranchResponse, error) {
	r.bound.add(req)
	return &enginev1.BindBranchResponse{Run: aRun}, nil
}

func (r *fakeRuns) GetRun(_ context.Context, req *enginev1.GetRunRequest) (*enginev1.GetRunResponse, error) {
	r.got.add(req)
	return &enginev1.GetRunResponse{Run: aRun}, nil
}

func (r *fakeRuns) TransitionRun(ctx context.Context, req *enginev1.TransitionRunRequest) (*enginev1.TransitionRunResponse, error) {
	r.fired.add(req)
	return over(ctx, &r.way, r.answer, req)
}

func TestLoad(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		runs := &fakeRuns{way: bumpy{ahead: []trouble{lostAnswer, uncertain}}}
		c := New(connect(t, fakes{runs: runs}), Options{Session: "s"})
		run, err := c.Load(t.Context(), "deploy", LoadOptions{Version: 3, Context: map[string]int{"n": 1}, Workspace: "/repo", Resume: true})
		if err != nil || !run.Resumed {
			t.Fatalf("%+v, %v", run, err)
		}
		started := runs.started.all()
		first := started[0]
		if len(started) != 3 || first.GetIdempotencyKey() == "" || first.GetSessionId() != "s" || string(first.GetContext()) != `{"n":1}` || first.GetWorkspace() != "/repo" {
			t.Errorf("started as %v", started)
		}
		for _, req := range started {
			if req.GetIdempotencyKey() != first.GetIdempotencyKey() {
				t.Error("a repeat has a key of its own")
			}
		}
		if _, err := c.Load(t.Context(), "deploy", LoadOptions{}); err != nil || runs.started.all()[3].GetIdempotencyKey() == first.GetIdempotencyKey() {
			t.Errorf("another request has the same key, or failed: %v", err)
		}
		if _, err := c.ForRun("run_1").Load(t.Context(), "deploy", LoadOptions{}); Reason(err) != fault.InvalidRequest || len(runs.started.all()) != 4 {
			t.Errorf("a client of one run loads another: %v", err)
		}
	})
}

// S5.3: a session takes a branch.
func TestLoadBranch(t *testing.T) {
	t.Parallel()
	runs := &fakeRuns{}
	c := New(connect(t, fakes{runs: runs}), Options{})
	if _, err := c.Load(t.Context(), "deploy", LoadOptions{Branch: "lint"}); Reason(err) != fault.SessionRequired {
		t.Errorf("nobody takes a branch: %v", err)
	}
	if _, err := c.ForSession("s").Load(t.Context(), "deploy", LoadOptions{Branch: "lint", RunID: "run_1"}); err != nil {
		t.Fatal(err)
	}
	if bound := runs.bound.all(); len(bound) != 1 || bound[0].GetSessionId() != "s" || bound[0].GetBranch() != "lint" || bound[0].GetRunId() != "run_1" {
		t.Errorf("bound as %v", bound)
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	runs := &fakeRuns{}
	c := New(connect(t, fakes{runs: runs}), Options{Session: "s"})
	run, err := c.GetRun(t.Context())
	if err != nil || run.ID != "run_1" || run.Status != "RUNNING" || run.Ended() || run.State != "testing" || run.EnvOverrides["CI"] != "1" ||
		run.Interrupt != "check" || run.ReturnTo != "coding" || run.AllowedTools[0] != "Read" ||
		!reflect.DeepEqual(run.Branches, []Branch{{Name: "lint", Status: "ACTIVE", State: "lint_run", SessionID: "other"}}) {
		t.Errorf("%+v, %v", run, err)
	}
	if _, err := c.ForRun("run_2").GetRun(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := runs.got.all()
	if got[0].GetSessionId() != "s" || got[0].GetRunId() != "" || got[1].GetSessionId() != "" || got[1].GetRunId() != "run_2" {
		t.Errorf("asked for %v", got)
	}
}

func TestEnded(t *testing.T) {
	t.Parallel()
	ended := map[string]bool{"COMPLETED": true, "FAILED": true, "BLOCKED": true, "CANCELLED": true}
	for number := range enginev1.RunStatus_name {
		status := RunStatus(word(enginev1.RunStatus(number), "RUN_STATUS_"))
		if got := (&Run{Status: status}).Ended(); got != ended[string(status)] {
			t.Errorf("%q has ended: %t", status, got)
		}
	}
}

// S2.7: a refusal teaches, and is tried once.
func TestTransition(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		runs := &fakeRuns{way: bumpy{ahead: []trouble{lostAnswer}}}
		c := New(connect(t, fakes{runs: runs}), Options{Run: "run_1", Session: "s"})
		runs.answer = func(*enginev1.TransitionRunRequest) (*enginev1.TransitionRunResponse, error) {
			return &enginev1.TransitionRunResponse{Accepted: true, Run: aRun, Note: "already done", ApprovalId: "apr_advisory"}, nil
		}
		run, err := c.Transition(t.Context(), "READY", map[string]string{"rationale": "why"})
		if err != nil || run.State != "testing" || run.Note != "already done" {
			t.Errorf("%+v, %v", run, err)
		}
		fired := runs.fired.all()
		if len(fired) != 2 || fired[0].GetIdempotencyKey() == "" || fired[0].GetIdempotencyKey() != fired[1].GetIdempotencyKey() ||
			fired[0].GetRunId() != "run_1" || fired[0].GetSessionId() != "" || string(fired[0].GetData()) != `{"rationale":"why"}` {
			t.Errorf("fired as %v", fired)
		}

		runs.answer = func(*enginev1.TransitionRunRequest) (*enginev1.TransitionRunResponse, error) {
			return &enginev1.TransitionRunResponse{Run: aRun, Rejection: &enginev1.Rejection{
				Code: enginev1.RejectionCode_REJECTION_CODE_GUARD_FAILED, Message: "no", State: "testing", Status: enginev1.RunStatus_RUN_STATUS_RUNNING,
				Guards:      []*enginev1.GuardResult{{Name: "green", Field: "tests", Operator: enginev1.GuardOperator_GUARD_OPERATOR_EQ, Expected: []byte(`"pass"`)}},
				LegalEvents: []*enginev1.LegalEvent{{Event: "FIX"}},
			}}, nil
		}
		_, err = c.Transition(t.Context(), "READY", nil)
		rejected := (*RejectedError)(nil)
		if !errors.As(err, &rejected) || rejected.Code != "GUARD_FAILED" || rejected.Guards[0].Name != "green" || rejected.Guards[0].Actual != nil ||
			rejected.LegalEvents[0].Event != "FIX" || rejected.Status != "RUNNING" || Reason(err) != "" || len(runs.fired.all()) != 3 {
			t.Errorf("%#v", err)
		}

		runs.answer = func(*enginev1.TransitionRunRequest) (*enginev1.TransitionRunResponse, error) {
			return nil, fault.New(fault.NotFound, "no run")
		}
		if _, err = c.Transition(t.Context(), "READY", nil); Reason(err) != fault.NotFound || len(runs.fired.all()) != 4 {
			t.Error(err)
		}
		if _, err = c.Transition(t.Context(), "READY", func() {}); err == nil || len(runs.fired.all()) != 4 {
			t.Errorf("data that is not valid JSON was sent: %v", err)
		}
	})
}

// S9.1: a parked transition has not been made.
func TestTransitionParked(t *testing.T) {
	t.Parallel()
	parked := &enginev1.Run{RunId: "run_1", Status: enginev1.RunStatus_RUN_STATUS_AWAITING_APPROVAL}
	for _, resp := range []*enginev1.TransitionRunResponse{
		{Accepted: true, Run: parked, ApprovalId: "apr_1"}, {Run: parked, ApprovalId: "apr_1"}, {Run: aRun, ApprovalId: "apr_1"},
	} {
		run, err := moved(resp)
		approval := (*ApprovalRequiredError)(nil)
		if !errors.As(err, &approval) || approval.ApprovalID != "apr_1" || run.ID != "run_1" {
			t.Errorf("%v is %+v, %v", resp, run, err)
		}
	}
	if run, err := moved(&enginev1.TransitionRunResponse{}); err == nil {
		t.Errorf("an empty answer is %+v", run)
	}
}
