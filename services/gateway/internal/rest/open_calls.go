package rest

import (
	"net/http"
	"reflect"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// OpenCallList are the calls of a run without a reported outcome, oldest first.
type OpenCallList struct {
	Calls []jsonview.OpenCall `json:"calls"`
}

// SettleRequest says how a call has ended.
type SettleRequest struct {
	Outcome string `json:"outcome" enum:"ok,failed,not_executed" doc:"How the call has ended."`
	Note    string `json:"note,omitempty" doc:"How that is known, for the record."`
}

// SettledCall is a call that is settled.
type SettledCall struct {
	Call    jsonview.OpenCall `json:"call"`
	Outcome string            `json:"outcome" enum:"ok,failed,not_executed"`
}

func (h *toolCalls) openRoutes(add func(route)) {
	add(route{
		method: http.MethodGet, path: "/v1/runs/{id}/calls", id: "listOpenCalls", summary: "List the calls without a reported outcome",
		about:   "Of workflows with effect_deadline, and of the run's whole family. At most 256.",
		params:  []param{inPath("id", "Id of the run.")},
		fields:  map[string]string{"run_id": "id"},
		answers: answers[OpenCallList](http.StatusOK), serve: h.listOpen,
	})
	add(route{
		method: http.MethodPost, path: "/v1/runs/{id}/calls/{call_id}/settle", id: "settleToolCall", summary: "Say how a call has ended",
		about:  "For operators and approvers. 404 when the call does not wait for its outcome.",
		params: []param{inPath("id", "Id of the run."), inPath("call_id", "Id of the call.")},
		body:   jsonBody, request: reflect.TypeFor[SettleRequest](),
		fields: map[string]string{"run_id": "id"}, answers: answers[SettledCall](http.StatusOK), serve: taking(h.settle),
	})
}

func (h *toolCalls) listOpen(c *call) (*answer, error) {
	resp, err := h.policy.ListOpenCalls(c.ctx, &policyv1.ListOpenCallsRequest{RunId: c.path("id")})
	if err != nil {
		return nil, err
	}
	return ok(OpenCallList{Calls: jsonview.Each(resp.GetCalls(), jsonview.OpenCallOf)}), nil
}

func (h *toolCalls) settle(c *call, in SettleRequest) (*answer, error) {
	resp, err := h.policy.SettleToolCall(c.ctx, &policyv1.SettleToolCallRequest{
		RunId: c.path("id"), CallId: c.path("call_id"), Outcome: in.Outcome, Note: in.Note,
	})
	if err != nil {
		return nil, err
	}
	return ok(SettledCall{Call: jsonview.OpenCallOf(resp.GetCall()), Outcome: resp.GetOutcome()}), nil
}
