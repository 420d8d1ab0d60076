package rest

import (
	"net/http"
	"reflect"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// RetireRequest ends the new runs of a workflow or process.
type RetireRequest struct {
	Reason string `json:"reason,omitzero" doc:"Why, for those whose start is refused."`
}

// liveRoutes adds the routes about the version that new runs get.
func (h *workflows) liveRoutes(add func(route)) {
	const path = "/v1/workflows/{name}"
	name := inPath("name", "Name of the workflow or process, percent-encoded.")
	one := answers[jsonview.Workflow](http.StatusOK)
	add(route{
		method: http.MethodPost, path: path + "/promote", id: "promoteWorkflow", summary: "Make a version live",
		about:  "New runs get it. Those that run go on with theirs.",
		params: []param{name}, body: jsonBody, request: reflect.TypeFor[PromoteRequest](), answers: one, serve: taking(h.promote),
	})
	add(route{
		method: http.MethodPost, path: path + "/retire", id: "retireWorkflow", summary: "Start no more runs of a workflow or process",
		about:  "Those that run go on.",
		params: []param{name}, body: optionalJSON, request: reflect.TypeFor[RetireRequest](), answers: one, serve: taking(h.retire),
	})
	add(route{
		method: http.MethodPost, path: path + "/restore", id: "restoreWorkflow", summary: "End that",
		params: []param{name}, body: optionalJSON, request: reflect.TypeFor[EmptyRequest](), answers: one, serve: taking(h.restore),
	})
}

func answerWorkflow[R interface{ GetWorkflow() *enginev1.Workflow }](resp R, err error) (*answer, error) {
	return shown(resp.GetWorkflow(), err, jsonview.WorkflowOf)
}

func (h *workflows) promote(c *call, in PromoteRequest) (*answer, error) {
	if in.Version < 1 {
		return nil, badBody(fault.InvalidRequest, inBody("/version", document.CodeRange, "must be a version, from 1"))
	}
	return answerWorkflow(h.workflows.PromoteWorkflow(c.ctx, &enginev1.PromoteWorkflowRequest{
		Name: c.path("name"), Version: in.Version, ExpectedVersion: in.ExpectedVersion,
	}))
}

func (h *workflows) retire(c *call, in RetireRequest) (*answer, error) {
	return answerWorkflow(h.workflows.RetireWorkflow(c.ctx, &enginev1.RetireWorkflowRequest{Name: c.path("name"), Reason: in.Reason}))
}

func (h *workflows) restore(c *call, _ EmptyRequest) (*answer, error) {
	return answerWorkflow(h.workflows.RestoreWorkflow(c.ctx, &enginev1.RestoreWorkflowRequest{Name: c.path("name")}))
}
