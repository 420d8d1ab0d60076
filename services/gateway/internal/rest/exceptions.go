package rest

import (
	"net/http"
	"reflect"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/types/known/timestamppb"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// ExceptionRequest makes an exception. At least one of principal, human, group, session_id and when is given.
type ExceptionRequest struct {
	Policy    string         `json:"policy"`
	Rule      string         `json:"rule" doc:"A JSON Pointer into the policy, such as /deny/1. The rule must have \"exceptable\": true."`
	Principal string         `json:"principal,omitzero" doc:"Only calls of this principal."`
	Human     string         `json:"human,omitzero" doc:"Only calls on behalf of this human, as an issuer or operator vouches for."`
	Group     string         `json:"group,omitzero" doc:"Only calls on behalf of humans of this group."`
	SessionID string         `json:"session_id,omitzero" doc:"Only calls of this session and all below it."`
	When      jsontext.Value `json:"when,omitzero" doc:"Only calls for which this condition is true."`
	Until     string         `json:"until" doc:"Its end, at most 7 days from now: RFC 3339, or how long from now, e.g. 6h."`
	Reason    string         `json:"reason"`
}

// ExceptionList has the exceptions that have not ended.
type ExceptionList struct {
	Exceptions []jsonview.Exception `json:"exceptions"`
}

// exceptionRoutes serves the routes of exceptions.
func (h *policies) exceptionRoutes(add func(route)) {
	const path = "/v1/exceptions/{exception_id}"
	id := inPath("exception_id", "Id of the exception.")
	add(route{
		method: http.MethodPost, path: "/v1/exceptions", id: "addException", summary: "Let calls pass one rule of a policy for a while",
		about: "It counts only for calls that fit for certain. Where the policy has exception_terms with four_eyes, another operator confirms it first.",
		body:  jsonBody, request: reflect.TypeFor[ExceptionRequest](), fields: map[string]string{"scope": ""},
		answers: answers[jsonview.Exception](http.StatusCreated), serve: taking(h.addException),
	})
	add(route{
		method: http.MethodGet, path: "/v1/exceptions", id: "listExceptions", summary: "Exceptions that have not ended",
		params: []param{inQuery("policy", "Only those from rules of this policy.")}, answers: answers[ExceptionList](http.StatusOK), serve: h.listExceptions,
	})
	add(route{
		method: http.MethodPost, path: path + "/confirm", id: "confirmException", summary: "Confirm another operator's exception",
		params: []param{id}, answers: answers[jsonview.Exception](http.StatusOK), serve: h.confirmException,
	})
	add(route{
		method: http.MethodDelete, path: path, id: "endException", summary: "End an exception before its time",
		params: []param{id}, answers: noContent(), serve: h.endException,
	})
}

func (h *policies) addException(c *call, in ExceptionRequest) (*answer, error) {
	until, err := endOf(in.Until, h.now())
	if err != nil {
		return nil, err
	}
	resp, err := h.policies.AddException(c.ctx, &policyv1.AddExceptionRequest{
		Policy: in.Policy, Rule: in.Rule, Until: timestamppb.New(until), Reason: in.Reason,
		Scope: &policyv1.ExceptionScope{Principal: in.Principal, Human: in.Human, Group: in.Group, SessionId: in.SessionID, When: in.When},
	})
	if err != nil {
		return nil, err
	}
	made := jsonview.ExceptionOf(resp.GetException())
	return ok(made).at("/v1/exceptions/"+made.ExceptionID, true), nil
}

// endOf reads a moment, or how long from now it is.
func endOf(text string, now time.Time) (time.Time, error) {
	if ahead, err := document.ParseDuration(text); err == nil && ahead > 0 {
		return now.Add(ahead), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, badBody(fault.InvalidRequest, inBody("/until", "INVALID", "must be a time such as 2026-01-31T08:00:00Z, or how long from now, such as 6h"))
	}
	return at, nil
}

func (h *policies) listExceptions(c *call) (*answer, error) {
	resp, err := h.policies.ListExceptions(c.ctx, &policyv1.ListExceptionsRequest{Policy: c.query.Get("policy")})
	return shown(resp, err, func(r *policyv1.ListExceptionsResponse) ExceptionList {
		return ExceptionList{Exceptions: jsonview.Each(r.GetExceptions(), jsonview.ExceptionOf)}
	})
}

func (h *policies) confirmException(c *call) (*answer, error) {
	resp, err := h.policies.ConfirmException(c.ctx, &policyv1.ConfirmExceptionRequest{ExceptionId: c.path("exception_id")})
	return shown(resp.GetException(), err, jsonview.ExceptionOf)
}

func (h *policies) endException(c *call) (*answer, error) {
	return done(h.policies.EndException(c.ctx, &policyv1.EndExceptionRequest{ExceptionId: c.path("exception_id")}))
}
