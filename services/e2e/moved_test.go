package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
)

// statesAs is a client of a replica of the state-store.
func (w *world) statesAs(t testing.TB, replica int, role auth.Role) statev1.StateServiceClient {
	t.Helper()
	return statev1.NewStateServiceClient(w.dial(t, w.states[replica], w.tokens[role]))
}

// shares creates a state for a session that is made for it.
func (w *world) shares(t testing.TB, session, schema, data string) {
	t.Helper()
	must[*statev1.CreateStateResponse](t)(w.statesAs(t, 0, auth.Operator).CreateState(within(t), &statev1.CreateStateRequest{
		SchemaName: schema, Session: session, Data: []byte(data),
	}))
}

func replacing(session, path, value string) *statev1.UpdateStateRequest {
	return &statev1.UpdateStateRequest{Session: session, Change: &statev1.UpdateStateRequest_Patch{
		Patch: fmt.Appendf(nil, `[{"op":"replace","path":%q,"value":%s}]`, path, value),
	}}
}

const reviewed = `{"id": "reviewed", "initial": "coding", "states": {
	"coding": {"on": {"REVIEW": "reviewing"}}, "reviewing": {"on": {"CODE": "coding", "DONE": "over"}}, "over": {"type": "final"}}}`

// whoMayWrite: a value is written by its writers over gRPC, REST and MCP, and by no one
// else; the state of the run is the engine's (S18.2, S18.3).
func whoMayWrite(t *testing.T, w *world) {
	w.stateStore(t).register(t, "verdicts", `{"properties":{
		"verdict":{"type":"integer","x-interlock-writers":["state:reviewing"]},"by_hand":{"x-interlock-writers":["source:human"]}}}`)
	w.shares(t, "top", "verdicts", `{"verdict":0,"by_hand":0}`)
	agent := w.as(t, auth.Agent)
	agent.register(t, reviewed)
	run := agent.begin(t, &enginev1.StartRunRequest{Workflow: "reviewed", SessionId: "top"}).GetRunId()

	faces := map[string]func(path, value string) string{
		"gRPC": func(path, value string) string {
			_, err := w.statesAs(t, len(w.states)-1, auth.Agent).UpdateState(within(t), replacing("top", path, value))
			return string(fault.ReasonOf(err))
		},
		"REST": func(path, value string) string {
			body := fmt.Sprintf(`{"operations":[{"op":"replace","path":%q,"value":%s}]}`, path, value)
			req := must[*http.Request](t)(http.NewRequestWithContext(within(t), http.MethodPatch, w.http+"/v1/state", strings.NewReader(body)))
			for name, value := range map[string]string{
				"Authorization": "Bearer " + w.tokens[auth.Agent], "Content-Type": "application/json",
				"X-Interlock-Namespace": w.namespace, "X-Interlock-Session": "top",
			} {
				req.Header.Set(name, value)
			}
			return w.roundTrip(t, req).code()
		},
		"MCP": func(path, value string) string {
			return w.ownTool(t, ask{token: w.tokens[auth.Agent]}, "?session=top", "state_patch", map[string]any{
				"operations": []any{map[string]any{"op": "replace", "path": path, "value": json.RawMessage(value)}},
			}).code
		},
	}
	wants := func(path, code string) {
		t.Helper()
		for face, write := range faces {
			if got := write(path, "1"); got != code {
				t.Errorf("%s over %s: %q, want %q", path, face, got, code)
			}
		}
	}
	wants("/verdict", "NOT_A_WRITER")
	wants("/by_hand", "NOT_A_WRITER")
	agent.move(t, run, "REVIEW")
	wants("/verdict", "")
	agent.move(t, run, "CODE")
	wants("/verdict", "NOT_A_WRITER")
	must[*statev1.UpdateStateResponse](t)(w.statesAs(t, 0, auth.Operator).UpdateState(within(t), replacing("top", "/by_hand", "2")))
}

const rollout = `{"id": "rollout", "initial": "ready", "meta": {"approval_mode": "ui", "approval": {"reads": ["/plan"]}},
	"states": {"ready": {"on": {"GO": {"target": "out", "requires_approval": true}}}, "out": {"type": "final"}}}`

// movedInAStorm grants and patches at the same time. Each run ends in one of the two
// consistent ways: it has fired, and the approval is used; or it has not, and the approval
// is stale with the difference. One that is stale is asked and granted again (S18.6).
func movedInAStorm(t *testing.T, w *world) {
	w.stateStore(t).register(t, "plans", `{"properties":{"plan":{"type":"integer"},"log":{"type":"integer"}}}`)
	agent := w.as(t, auth.Agent)
	agent.register(t, rollout)
	const rounds, patches = 20, 4
	all(t, rounds, func(i int) error {
		session := fmt.Sprint("roller", i)
		w.shares(t, session, "plans", `{"plan":0,"log":0}`)
		run := agent.begin(t, &enginev1.StartRunRequest{Workflow: "rollout", SessionId: session}).GetRunId()
		asked := agent.fire(t, run, "GO", "").GetApprovalId()
		states := w.statesAs(t, i%len(w.states), auth.Agent)
		people := w.approvalsAs(t, i%len(w.approvals), auth.Approver)
		all(t, 2, func(part int) error {
			if part == 0 {
				_, err := people.DecideApproval(within(t), &approvalv1.DecideApprovalRequest{ApprovalId: asked, Approve: true})
				return err
			}
			for n := range patches {
				path := []string{"/log", "/plan"}[n%2]
				if _, err := states.UpdateState(within(t), replacing(session, path, fmt.Sprint(n+1))); err != nil {
					return err
				}
			}
			return nil
		})
		for again := 0; ; again++ {
			var end *enginev1.Run
			var a *approvalv1.Approval
			eventually(t, "it is settled", func() error {
				end = agent.get(t, run)
				a = must[*approvalv1.GetApprovalResponse](t)(people.GetApproval(within(t), &approvalv1.GetApprovalRequest{ApprovalId: asked})).GetApproval()
				if end.GetStatus() == awaiting || a.GetStatus() == approvalv1.ApprovalStatus_APPROVAL_STATUS_GRANTED {
					return fmt.Errorf("it is %s, %s", end.GetStatus(), a.GetStatus())
				}
				return nil
			})
			switch {
			case end.GetStatus() == completed && a.GetStatus() == approvalv1.ApprovalStatus_APPROVAL_STATUS_USED:
				return nil
			case again == 0 && end.GetState() == "ready" && a.GetStatus() == approvalv1.ApprovalStatus_APPROVAL_STATUS_STALE &&
				strings.Contains(a.GetReason(), "has changed: /plan: 0 -> "):
			default:
				return fmt.Errorf("the run is %s in %s, and the approval %s: %s", end.GetStatus(), end.GetState(), a.GetStatus(), a.GetReason())
			}
			asked = agent.fire(t, run, "GO", "").GetApprovalId()
			if _, err := people.DecideApproval(within(t), &approvalv1.DecideApprovalRequest{ApprovalId: asked, Approve: true}); err != nil {
				return err
			}
		}
	})
}
