package rest

import (
	"net/http"
	"reflect"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
)

// WorkflowShadow is a definition that is judged beside the live one.
type WorkflowShadow struct {
	Workflow string `json:"workflow"`
	Digest   string `json:"digest" doc:"Hex SHA-256 of the shadow's canonical definition."`
}

func (e *edge) shadowRoutes() {
	const path = "/v1/workflows/{name}/shadow"
	name := inPath("name", "Name of the workflow, percent-encoded.")
	e.add(route{
		method: http.MethodPut, path: path, id: "shadowWorkflow", summary: "Judge tool calls by another definition too",
		about: "The body is the definition itself, as JSON or YAML. What it would decide otherwise is in the log of decisions; " +
			"nothing of it is enforced.",
		params: []param{name}, body: definitionBody, definition: workflowDefinition, fields: map[string]string{"workflow": "name"},
		answers: answers[WorkflowShadow](http.StatusOK), serve: e.shadowWorkflow,
	})
	e.add(route{
		method: http.MethodDelete, path: path, id: "endWorkflowShadow", summary: "End that",
		params: []param{name}, fields: map[string]string{"workflow": "name"},
		answers: map[int]reflect.Type{http.StatusNoContent: nil}, serve: e.endWorkflowShadow,
	})
}

func (e *edge) shadowWorkflow(c *call) (*answer, error) {
	text, err := wholeDefinition(c)
	if err != nil {
		return nil, err
	}
	resp, err := e.Policies.ShadowWorkflow(c.ctx, &policyv1.ShadowWorkflowRequest{Workflow: c.path("name"), Definition: text})
	if err != nil {
		return nil, err
	}
	return ok(WorkflowShadow{Workflow: c.path("name"), Digest: resp.GetDigest()}), nil
}

func (e *edge) endWorkflowShadow(c *call) (*answer, error) {
	if _, err := e.Policies.ShadowWorkflow(c.ctx, &policyv1.ShadowWorkflowRequest{Workflow: c.path("name")}); err != nil {
		return nil, err
	}
	return done(), nil
}
