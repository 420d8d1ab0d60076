package jsonview

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
)

// Exception lets calls pass one rule of a policy until it ends.
type Exception struct {
	ExceptionID string         `json:"exception_id"`
	Policy      string         `json:"policy"`
	Rule        string         `json:"rule" doc:"A JSON Pointer into the policy, such as /deny/1."`
	Principal   string         `json:"principal,omitzero" doc:"Only calls of this principal."`
	Human       string         `json:"human,omitzero" doc:"Only calls on behalf of this human."`
	Group       string         `json:"group,omitzero" doc:"Only calls on behalf of humans of this group."`
	SessionID   string         `json:"session_id,omitzero" doc:"Only calls of this session and all below it."`
	When        jsontext.Value `json:"when,omitzero" doc:"Only calls for which this condition is true."`
	Until       time.Time      `json:"until"`
	Reason      string         `json:"reason"`
	Pending     bool           `json:"pending" doc:"True until a second operator confirms it. It does not count before."`
	ConfirmedBy string         `json:"confirmed_by,omitzero"`
	CreatedBy   string         `json:"created_by"`
	CreatedAt   time.Time      `json:"created_at"`
}

// ExceptionOf returns the JSON of an exception.
func ExceptionOf(e *policyv1.Exception) Exception {
	scope := e.GetScope()
	return Exception{
		ExceptionID: e.GetExceptionId(), Policy: e.GetPolicy(), Rule: e.GetRule(), Principal: scope.GetPrincipal(), Human: scope.GetHuman(), Group: scope.GetGroup(),
		SessionID: scope.GetSessionId(), When: rawOf(scope.GetWhen()), Until: Time(e.GetUntil()), Reason: e.GetReason(), Pending: e.GetPending(),
		ConfirmedBy: e.GetConfirmedBy(), CreatedBy: e.GetCreatedBy(), CreatedAt: Time(e.GetCreatedAt()),
	}
}
