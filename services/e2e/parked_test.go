package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/rpc"
)

const (
	awaiting = enginev1.RunStatus_RUN_STATUS_AWAITING_APPROVAL
	parked   = "approval.parked"
)

// referencePipeline is the complete reference of the workflow documentation, whose
// approvals are held by people who operate and people who approve.
func referencePipeline(t *testing.T) string {
	t.Helper()
	var def map[string]any
	if err := json.Unmarshal(must[[]byte](t)(os.ReadFile("../../examples/language/complete-reference.json")), &def); err != nil {
		t.Fatal(err)
	}
	meta, ok := def["meta"].(map[string]any)
	if !ok {
		t.Fatal("the reference has no meta")
	}
	meta["approval_mode"] = "ui"
	meta["approval"] = map[string]any{"approvers": map[string]any{"roles": []string{"operator", "approver"}}}
	return string(must[[]byte](t)(json.Marshal(def)))
}

// approvalsAs is a client of a replica of the approval service.
func (w *world) approvalsAs(t testing.TB, replica int, role auth.Role) approvalv1.ApprovalServiceClient {
	t.Helper()
	return approvalv1.NewApprovalServiceClient(w.dial(t, w.approvals[replica], w.tokens[role]))
}

// deploying drives the reference pipeline to where it deploys.
func deploying(t *testing.T, c *caller) string {
	t.Helper()
	id := c.start(t, "complete-reference").GetRunId()
	c.move(t, id, "READY")
	c.moveWith(t, id, "TESTED", `{"test_result": "pass"}`)
	if got := c.move(t, id, "EVALUATE"); got.GetState() != "deploying" {
		t.Fatalf("it is %s", got.GetState())
	}
	return id
}

// TestParkedDeploy: the reference pipeline parks in deploying, survives a restart of
// everything, and completes once a second person approves; the asker's own approval
// is refused (S9.1, S9.3).
func TestParkedDeploy(t *testing.T) {
	t.Parallel()
	s := startSeparate(t)
	w := &world{shape: &s.shape, namespace: "default"}
	operator := w.as(t, auth.Operator)
	operator.register(t, referencePipeline(t))
	id := deploying(t, operator)
	resp := operator.fire(t, id, "DONE", "")
	run := resp.GetRun()
	if resp.GetApprovalId() == "" || run.GetStatus() != awaiting || run.GetState() != "deploying" || !run.GetApproval().GetPending() {
		t.Fatalf("it is not parked: %v", resp)
	}
	if other := operator.fire(t, id, "FAIL", ""); other.GetRejection().GetCode() != enginev1.RejectionCode_REJECTION_CODE_APPROVAL_PENDING {
		t.Errorf("another transition: %v", other)
	}
	operator.checkInput(t, &policyv1.CheckToolCallRequest{RunId: id, Tool: "Bash", Input: []byte(`{"command": "helm status"}`)}, allow, "")
	decide := &approvalv1.DecideApprovalRequest{ApprovalId: resp.GetApprovalId(), Approve: true}
	if _, err := w.approvalsAs(t, 0, auth.Operator).DecideApproval(within(t), decide); fault.ReasonOf(err) != fault.PermissionDenied {
		t.Errorf("the asker's own approval: %v", err)
	}
	if _, err := w.approvalsAs(t, 0, auth.Agent).DecideApproval(within(t), decide); fault.ReasonOf(err) != fault.PermissionDenied {
		t.Errorf("an agent's approval: %v", err)
	}

	s.restartAll(t)
	w = &world{shape: &s.shape, namespace: "default"}
	operator = w.as(t, auth.Operator)
	if run := operator.get(t, id); run.GetStatus() != awaiting || run.GetApproval().GetApprovalId() != resp.GetApprovalId() {
		t.Fatalf("after the restart it is %v", run)
	}
	answer := must[*approvalv1.DecideApprovalResponse](t)(w.approvalsAs(t, 1, auth.Approver).DecideApproval(within(t), decide))
	if answer.GetApproval().GetStatus() != approvalv1.ApprovalStatus_APPROVAL_STATUS_GRANTED &&
		answer.GetApproval().GetStatus() != approvalv1.ApprovalStatus_APPROVAL_STATUS_USED {
		t.Errorf("decided as %v", answer.GetApproval())
	}
	eventually(t, "the pipeline is complete", func() error {
		if run := operator.get(t, id); run.GetStatus() != completed || run.GetState() != "complete" {
			return fmt.Errorf("it is %s in %s", run.GetStatus(), run.GetState())
		}
		return nil
	})
	if n := firedBy(t, operator, id, resp.GetApprovalId()); n != 1 {
		t.Errorf("the transition fired %d times", n)
	}
	if _, err := w.approvalsAs(t, 0, auth.Approver).DecideApproval(within(t), decide); fault.ReasonOf(err) != fault.ApprovalDecided {
		t.Errorf("a second decision: %v", err)
	}
}

// firedBy counts the transitions that an approval has let fire.
func firedBy(t testing.TB, c *caller, run, approval string) (n int) {
	t.Helper()
	history := must[*enginev1.GetRunHistoryResponse](t)(c.runs.GetRunHistory(within(t), &enginev1.GetRunHistoryRequest{RunId: run, PageSize: 1000}))
	for _, e := range history.GetEntries() {
		if e.GetApprovalId() == approval && e.GetType() != enginev1.HistoryType_HISTORY_TYPE_APPROVAL_PARKED {
			n++
		}
	}
	return n
}

// restartAll kills everything, the store and NATS too, and starts it again.
func (s *separate) restartAll(t testing.TB) {
	t.Helper()
	for _, of := range [][]*process{s.engine, s.policy, s.approval, s.state} {
		for _, p := range of {
			p.kill()
		}
	}
	s.redis.Kill()
	s.natsServer.Stop()
	if err := s.redis.Restart(); err != nil {
		t.Fatal(err)
	}
	s.natsServer.Start()
	for i := range replicaCount {
		s.state[i] = s.service(t, "interlock-state-store", append(s.stateArgs(), "--grpc", s.states[i])...)
		s.approval[i] = s.service(t, "interlock-approval", append(s.approvalArgs(), "--grpc", s.approvals[i])...)
		s.engine[i] = s.service(t, "interlock-engine", s.engineArgs(i)...)
		s.policy[i] = s.service(t, "interlock-policy-enforcer", append(s.policyArgs(), "--grpc", s.policies[i])...)
	}
	for _, of := range [][]*process{s.engine, s.policy, s.approval, s.state} {
		for _, p := range of {
			p.serving(t, "grpc")
		}
	}
}

// TestApprovalsSurviveKills approves parked transitions while the approval service,
// the engine and NATS are killed: every one fires, and exactly once. PARKED_RUNS says
// how many there are.
func TestApprovalsSurviveKills(t *testing.T) {
	t.Parallel()
	runs := 24
	if n, err := strconv.Atoi(os.Getenv("PARKED_RUNS")); err == nil {
		runs = n
	}
	s := startSeparate(t)
	w := &world{shape: &s.shape, namespace: "default"}
	agent := w.as(t, auth.Agent)
	w.as(t, auth.Operator).register(t, `{"id": "gate", "initial": "a", "meta": {"approval_mode": "ui"}, "states": {
		"a": {"on": {"GO": {"target": "b", "requires_approval": true}}}, "b": {"type": "final"}}}`)
	ids, asked := make([]string, runs), make([]string, runs)
	for i := range ids {
		ids[i] = agent.start(t, "gate").GetRunId()
		asked[i] = agent.fire(t, ids[i], "GO", "").GetApprovalId()
	}
	random := randtest.New(t, 1)
	done := make(chan struct{})
	var killer sync.WaitGroup
	killer.Go(func() {
		for kill := 0; ; kill++ {
			select {
			case <-done:
				t.Logf("%d kills", kill)
				return
			default:
			}
			s.killSome(t, random)
		}
	})
	conn, err := rpc.Dial(s.approvals[0]+","+s.approvals[1], rpc.ClientConfig{Token: s.tokens[auth.Approver]})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	humans := approvalv1.NewApprovalServiceClient(conn)
	for _, id := range asked {
		eventually(t, "the decision on "+id, func() error {
			_, err := humans.DecideApproval(within(t), &approvalv1.DecideApprovalRequest{ApprovalId: id, Approve: true})
			if fault.ReasonOf(err) == fault.ApprovalDecided {
				return nil // by the attempt before, whose answer was lost
			}
			return err
		})
	}
	close(done)
	killer.Wait()
	agent = w.as(t, auth.Agent)
	for i, id := range ids {
		eventually(t, "run "+id+" continues", func() error {
			resp, err := agent.runs.GetRun(within(t), &enginev1.GetRunRequest{RunId: id})
			if run := resp.GetRun(); err == nil && run.GetStatus() != completed {
				err = fmt.Errorf("it is %s", run.GetStatus())
			}
			return err
		})
		if n := firedBy(t, agent, id, asked[i]); n != 1 {
			t.Errorf("run %s: approval %s has fired %d transitions", id, asked[i], n)
		}
	}
	for _, id := range asked {
		eventually(t, "approval "+id+" is used", func() error {
			resp, err := humans.GetApproval(within(t), &approvalv1.GetApprovalRequest{ApprovalId: id})
			if a := resp.GetApproval(); err == nil && a.GetStatus() != approvalv1.ApprovalStatus_APPROVAL_STATUS_USED {
				err = fmt.Errorf("it is %s", a.GetStatus())
			}
			return err
		})
	}
}

// killSome kills one process between a decision and its consequences, and
// starts it again.
func (s *separate) killSome(t testing.TB, random *rand.Rand) {
	i := random.IntN(replicaCount)
	switch random.IntN(3) {
	case 0:
		s.approval[i].kill()
		s.approval[i] = s.service(t, "interlock-approval", append(s.approvalArgs(), "--grpc", s.approvals[i])...)
		s.approval[i].serving(t, "grpc")
	case 1:
		s.engine[i].kill()
		s.restartEngine(t, i)
	default:
		s.natsServer.Stop()
		s.natsServer.Start()
	}
}
