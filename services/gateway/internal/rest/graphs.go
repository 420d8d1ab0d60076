package rest

import (
	"net/http"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/diagram"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// graphs serves pictures of definitions, and of their differences.
type graphs struct {
	workflows enginev1.WorkflowServiceClient
	processes enginev1.ProcessServiceClient
}

func (h *graphs) routes(add func(route)) {
	h.diffRoutes(add)
	const about = "The same picture as that of `interlock viz`, with a place for everything."
	number := param{name: "n", in: "path", about: "The version, from 1.", integer: true}
	add(route{
		method: http.MethodGet, path: "/v1/workflows/{name}/versions/{n}/graph", id: "getWorkflowGraph", summary: "Draw a workflow",
		about: about, params: []param{inPath("name", "Name of the workflow, percent-encoded."), number},
		answers: answers[diagram.Graph](http.StatusOK), serve: h.workflow,
	})
	add(route{
		method: http.MethodGet, path: "/v1/processes/{name}/versions/{n}/graph", id: "getProcessGraph", summary: "Draw a process",
		about: about, params: []param{inPath("name", "Name of the process, percent-encoded."), number},
		answers: answers[diagram.Graph](http.StatusOK), serve: h.process,
	})
	add(route{
		method: http.MethodPost, path: "/v1/workflows/graph", id: "drawWorkflow", summary: "Draw a definition that is not registered",
		about: about, body: definitionBody, definition: workflowDefinition,
		answers: answers[diagram.Graph](http.StatusOK), serve: h.draw,
	})
}

func (h *graphs) workflow(c *call) (*answer, error) {
	version, err := c.version("n", c.path("n"))
	if err != nil {
		return nil, err
	}
	resp, err := h.workflows.GetWorkflow(c.ctx, &enginev1.GetWorkflowRequest{Name: c.path("name"), Version: version})
	if err != nil {
		return nil, err
	}
	return graphOf(resp.GetWorkflow().GetDefinition())
}

func (h *graphs) process(c *call) (*answer, error) {
	version, err := c.version("n", c.path("n"))
	if err != nil {
		return nil, err
	}
	resp, err := h.processes.GetProcess(c.ctx, &enginev1.GetProcessRequest{Name: c.path("name"), Version: version})
	if err != nil {
		return nil, err
	}
	def, problems := process.Parse(resp.GetProcess().GetDefinition())
	if problems.HasErrors() {
		return nil, unreadable(problems)
	}
	return ok(diagram.Process(def).Graph()), nil
}

// draw draws the body, when the validator finds no error in it.
func (h *graphs) draw(c *call) (*answer, error) {
	text, err := wholeDefinition(c)
	if err != nil {
		return nil, err
	}
	// The engine says who may ask, as for validation.
	if _, err := h.workflows.ValidateWorkflow(c.ctx, &enginev1.ValidateWorkflowRequest{Definition: text}); err != nil {
		return nil, err
	}
	def, problems := workflow.Parse(text)
	if problems.HasErrors() {
		return nil, badText(problems)
	}
	return ok(diagram.Workflow(def).Graph()), nil
}

func graphOf(definition []byte) (*answer, error) {
	def, problems := workflow.Parse(definition)
	if problems.HasErrors() {
		return nil, unreadable(problems)
	}
	return ok(diagram.Workflow(def).Graph()), nil
}

// unreadable returns a registered definition that this program does not understand.
func unreadable(problems document.Problems) error {
	return fault.New(fault.Internal, "the registered definition cannot be read: %s", problems[0].Message)
}
