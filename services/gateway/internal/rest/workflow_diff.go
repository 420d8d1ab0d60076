package rest

import (
	"net/http"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

func (h *graphs) diffRoutes(add func(route)) {
	add(route{
		method: http.MethodGet, path: "/v1/workflows/{name}/diff", id: "diffWorkflow", summary: "How do two versions of a workflow differ?",
		about: "The gains and losses of each state, and both versions in one picture. Tools and commands are compared by their meaning.",
		params: []param{
			inPath("name", "Name of the workflow, percent-encoded."), intQuery("from", "The earlier version; the one before to when absent."),
			intQuery("to", "The later version; the newest when absent."),
		},
		answers: answers[jsonview.WorkflowDiff](http.StatusOK), serve: h.diff,
	})
}

func (h *graphs) diff(c *call) (*answer, error) {
	from, err := c.version("from", c.query.Get("from"))
	if err != nil {
		return nil, err
	}
	to, err := c.version("to", c.query.Get("to"))
	if err != nil {
		return nil, err
	}
	after, newer, err := h.definitionOf(c, to)
	if err != nil {
		return nil, err
	}
	if from == 0 {
		from = max(newer-1, 1)
	}
	before, older, err := h.definitionOf(c, from)
	if err != nil {
		return nil, err
	}
	return ok(jsonview.WorkflowDiffOf(older, newer, before, after)), nil
}

// definitionOf returns a version of the workflow of the path, 0 for the newest, and its
// number.
func (h *graphs) definitionOf(c *call, version int64) (jsonview.Definition, int64, error) {
	resp, err := h.workflows.GetWorkflow(c.ctx, &enginev1.GetWorkflowRequest{Name: c.path("name"), Version: version})
	if err != nil {
		return jsonview.Definition{}, 0, err
	}
	w := resp.GetWorkflow()
	doc, problem := document.Parse(w.GetDefinition(), document.Limits{})
	if problem != nil {
		return jsonview.Definition{}, 0, unreadable(document.Problems{*problem})
	}
	def, problems := workflow.ParseValue(doc)
	if problems.HasErrors() {
		return jsonview.Definition{}, 0, unreadable(problems)
	}
	return jsonview.Definition{Parsed: def, Document: doc}, w.GetVersion(), nil
}

// versionOr returns a version of the workflow of the path: the one that the query names,
// or the newest.
func (h *activity) versionOr(c *call, name string) (int64, error) {
	version, err := c.version(name, c.query.Get(name))
	if version != 0 || err != nil {
		return version, err
	}
	resp, err := h.workflows.GetWorkflow(c.ctx, &enginev1.GetWorkflowRequest{Name: c.path("name")})
	if err != nil {
		return 0, err
	}
	if resp.GetWorkflow().GetVersion() == 0 {
		return 0, fault.New(fault.Internal, "the newest version has no number")
	}
	return resp.GetWorkflow().GetVersion(), nil
}
