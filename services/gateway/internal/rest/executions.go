package rest

import (
	"cmp"
	"net/http"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// BeginExecutionRequest begins to use a component's values.
type BeginExecutionRequest struct {
	Session string `json:"session,omitzero" doc:"The session that executes, by id or name; by default the one that acts."`
	Subject string `json:"subject,omitzero" doc:"Whose long-term values; by default the session's."`
}

// CommitExecutionRequest ends an execution. It has at most one member: without
// any the values stay as they were.
type CommitExecutionRequest struct {
	Values     jsontext.Value `json:"values,omitzero" doc:"The values: a JSON object."`
	Operations jsontext.Value `json:"operations,omitzero" doc:"JSON Patch (RFC 6902) of the values that the execution began with."`
	Merge      jsontext.Value `json:"merge,omitzero" doc:"JSON Merge Patch (RFC 7396) of them."`
}

func (e *edge) executionRoutes() {
	execution := answers[Execution](http.StatusOK)
	e.add(route{
		method: http.MethodPost, path: "/v1/components/{slug}/executions", id: "beginExecution", summary: "Begin an execution",
		about:  "Answers the values that it starts with.",
		params: []param{slugPath, sessionParam}, body: optionalJSON, request: reflect.TypeFor[BeginExecutionRequest](),
		fields:  map[string]string{"session": "session"},
		answers: answers[Execution](http.StatusCreated), serve: e.beginExecution,
	})
	e.add(route{
		method: http.MethodPost, path: "/v1/components/{slug}/executions/{execution_id}/commit", id: "commitExecution",
		summary: "End an execution and keep its values",
		about:   "409 when another execution has committed since it began.",
		params:  []param{slugPath, inPath("execution_id", "Id of the execution."), sessionParam},
		body:    optionalJSON, request: reflect.TypeFor[CommitExecutionRequest](), maxBody: maxDocumentBody,
		fields:  map[string]string{"patch": "operations", "merge_patch": "merge"},
		answers: execution, serve: e.commitExecution,
	})
	e.add(route{
		method: http.MethodGet, path: "/v1/components/{slug}/values", id: "readValues", summary: "The values that the next execution would start with",
		params: []param{
			slugPath, inQuery("session", "The session that would execute, by id or name; by default the one that acts."),
			inQuery("subject", "Whose long-term values; by default the session's."), sessionParam,
		},
		fields:  map[string]string{"session": "session"},
		answers: execution, serve: e.readValues,
	})
}

func (e *edge) beginExecution(c *call) (*answer, error) {
	in, err := decode[BeginExecutionRequest](c.body)
	if err != nil {
		return nil, err
	}
	resp, err := e.Components.BeginExecution(c.ctx, &statev1.BeginExecutionRequest{
		Slug: c.path("slug"), Session: cmp.Or(in.Session, c.header(headerSession)), Subject: in.Subject,
	})
	if err != nil {
		return nil, err
	}
	return &answer{status: http.StatusCreated, body: jsonview.ExecutionOf(resp.GetExecution())}, nil
}

func (e *edge) commitExecution(c *call) (*answer, error) {
	in, err := decodeAround[CommitExecutionRequest](c.body, aroundOperations)
	if err != nil {
		return nil, err
	}
	req := &statev1.CommitExecutionRequest{ExecutionId: c.path("execution_id"), Session: c.header(headerSession)}
	if err := in.change(req); err != nil {
		return nil, err
	}
	resp, err := e.Components.CommitExecution(c.ctx, req)
	if err != nil {
		return nil, err
	}
	return ok(jsonview.ExecutionOf(resp.GetExecution())), nil
}

// change puts the one member that is there into the request.
func (in CommitExecutionRequest) change(req *statev1.CommitExecutionRequest) error {
	given := 0
	for _, member := range []jsontext.Value{in.Values, in.Operations, in.Merge} {
		if len(member) > 0 {
			given++
		}
	}
	if given > 1 {
		return badBody(fault.InvalidRequest, inBody("", document.CodeConflict, "give one of values, operations and merge"))
	}
	switch {
	case len(in.Values) > 0:
		if in.Values.Kind() != '{' {
			return badBody(fault.InvalidRequest, inBody("/values", document.CodeType, "must be a JSON object, not "+kindName(in.Values.Kind())))
		}
		req.Change = &statev1.CommitExecutionRequest_Values{Values: in.Values}
	case len(in.Operations) > 0:
		patch, err := array("/operations", in.Operations)
		if err != nil {
			return err
		}
		req.Change = &statev1.CommitExecutionRequest_Patch{Patch: patch}
	case len(in.Merge) > 0:
		req.Change = &statev1.CommitExecutionRequest_MergePatch{MergePatch: in.Merge}
	}
	return nil
}

func (e *edge) readValues(c *call) (*answer, error) {
	resp, err := e.Components.GetComponentValues(c.ctx, &statev1.GetComponentValuesRequest{
		Slug: c.path("slug"), Session: cmp.Or(c.query.Get("session"), c.header(headerSession)), Subject: c.query.Get("subject"),
	})
	if err != nil {
		return nil, err
	}
	return ok(jsonview.ExecutionOf(resp.GetExecution())), nil
}
