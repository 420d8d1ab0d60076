package rest

import (
	"net/http"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// Registration is the answer to registering a definition.
type Registration struct {
	jsonview.Workflow
	Created  bool      `json:"created" doc:"False when exactly this content was there already."`
	Warnings []Finding `json:"warnings"`
}

// Finding is one finding of the validator (S1.2).
type Finding struct {
	Pointer  string `json:"pointer" doc:"JSON Pointer (RFC 6901) into the definition."`
	Code     string `json:"code"`
	Severity string `json:"severity" enum:"error,warning"`
	Message  string `json:"message"`
}

// Validation is the validator's report.
type Validation struct {
	OK       bool      `json:"ok"`
	Problems []Finding `json:"problems"`
}

// WorkflowList is one page of workflows, each in its live version or else the latest, by name.
type WorkflowList struct {
	Workflows     []jsonview.Workflow `json:"workflows"`
	NextPageToken string              `json:"next_page_token" doc:"page_token of the next page; empty at the end."`
}

const workflowDefinition = "A workflow definition; /workflow-schema.json is its schema."

// workflows serves the routes of workflows, their shadows and their migrations.
type workflows struct {
	workflows enginev1.WorkflowServiceClient
	policies  policyv1.PolicyServiceClient
}

func (h *workflows) routes(add func(route)) {
	h.shadowRoutes(add)
	h.migrationRoutes(add)
	h.liveRoutes(add)
	name := inPath("name", "Name of the workflow, percent-encoded.")
	one := answers[jsonview.Workflow](http.StatusOK)
	add(route{
		method: http.MethodPost, path: "/v1/workflows", id: "registerWorkflow", summary: "Register a definition",
		about:  "The body is the definition itself, as JSON or YAML. 201 for a new version, 200 when this content was there already; 422 with every problem when it is invalid.",
		params: registrationParams(), byDigest: true, body: definitionBody, definition: workflowDefinition,
		answers: answers[Registration](http.StatusCreated, http.StatusOK), serve: h.register,
	})
	add(route{
		method: http.MethodPost, path: "/v1/workflows/validate", id: "validateWorkflow", summary: "Validate a definition",
		about:  "Reports every problem and stores nothing.",
		params: []param{{name: "strict", in: "query", about: "Make every warning an error.", values: []string{"true", "false"}}},
		body:   definitionBody, definition: workflowDefinition, answers: answers[Validation](http.StatusOK),
		serve: h.validate,
	})
	add(route{
		method: http.MethodGet, path: "/v1/workflows", id: "listWorkflows", summary: "List workflows",
		params:  []param{pageSizeParam, pageTokenParam},
		answers: answers[WorkflowList](http.StatusOK), serve: h.list,
	})
	add(route{
		method: http.MethodGet, path: "/v1/workflows/{name}", id: "getWorkflow", summary: "Live version of a workflow",
		params: []param{name}, answers: one, serve: h.get,
	})
	add(route{
		method: http.MethodGet, path: "/v1/workflows/{name}/versions/{n}", id: "getWorkflowVersion",
		summary: "One version of a workflow",
		params:  []param{name, {name: "n", in: "path", about: "The version, from 1.", integer: true}},
		answers: one, serve: h.get,
	})
}

// definition returns the body as the services take it: JSON. JSON goes to the validator
// as it is; YAML that cannot be JSON is reported here.
func definition(c *call) ([]byte, document.Problems) {
	if c.media == contentJSON {
		return c.body, nil
	}
	v, problems := document.FromYAML(c.body)
	if problems.HasErrors() {
		return nil, problems
	}
	text := v.AppendJSON(nil)
	if len(text) > maxBody {
		return nil, document.Problems{{
			Code: document.CodeTooLarge, Severity: document.SeverityError,
			Message: "the definition is larger than 1 MiB as JSON; make it smaller",
		}}
	}
	return text, nil
}

// wholeDefinition returns a definition that is there and is JSON, or was made of YAML
// that can be.
func wholeDefinition(c *call) ([]byte, error) {
	text, problems := definition(c)
	if len(problems) > 0 {
		return nil, badText(problems)
	}
	if len(text) == 0 {
		return nil, badBody(fault.InvalidJSON, inBody("", document.CodeJSONSyntax, "the body is empty; send the definition"))
	}
	return text, nil
}

func (h *workflows) register(c *call) (*answer, error) {
	text, err := wholeDefinition(c)
	if err != nil {
		return nil, err
	}
	on, err := c.registration()
	if err != nil {
		return nil, err
	}
	resp, err := h.workflows.RegisterWorkflow(c.ctx, &enginev1.RegisterWorkflowRequest{
		Definition: text, IdempotencyKey: c.header(headerIdempotency),
		ExpectedVersion: on.version, ExpectedDigest: on.digest, Staged: on.staged, DryRun: on.dryRun,
	})
	if err != nil {
		return nil, on.refused(h.allProblems(c, text, err))
	}
	w := resp.GetWorkflow()
	return ok(Registration{Workflow: jsonview.WorkflowOf(w), Created: resp.GetCreated(), Warnings: findings(resp.GetWarnings())}).
		at(versionPath("/v1/workflows", w.GetName(), w.GetVersion()), resp.GetCreated() && !on.dryRun), nil
}

// allProblems completes a refusal whose problems did not all fit into a gRPC
// status, by asking the validator.
func (h *workflows) allProblems(c *call, definition []byte, err error) error {
	f := fault.From(err)
	if f.Metadata["violations_omitted"] == "" {
		return err
	}
	report, verr := h.workflows.ValidateWorkflow(c.ctx, &enginev1.ValidateWorkflowRequest{Definition: definition})
	if verr != nil || report.GetOk() {
		return err
	}
	whole := fault.New(f.Reason, "%s", f.Message)
	for _, p := range report.GetProblems() {
		if p.GetSeverity() != enginev1.Severity_SEVERITY_WARNING {
			whole = whole.Violate(p.GetPointer(), p.GetCode(), p.GetMessage())
		}
	}
	return whole
}

func (h *workflows) validate(c *call) (*answer, error) {
	strict, err := c.flag("strict")
	if err != nil {
		return nil, err
	}
	text, problems := definition(c)
	if len(problems) > 0 {
		return ok(Validation{Problems: jsonview.Each(problems, func(p document.Problem) Finding {
			return Finding{Pointer: p.Pointer, Code: p.Code, Severity: string(p.Severity), Message: p.Message}
		})}), nil
	}
	resp, err := h.workflows.ValidateWorkflow(c.ctx, &enginev1.ValidateWorkflowRequest{Definition: text, Strict: strict})
	return shown(resp, err, func(r *enginev1.ValidateWorkflowResponse) Validation {
		return Validation{OK: r.GetOk(), Problems: findings(r.GetProblems())}
	})
}

func (h *workflows) list(c *call) (*answer, error) {
	resp, err := h.workflows.ListWorkflows(c.ctx, &enginev1.ListWorkflowsRequest{PageSize: c.size, PageToken: c.token})
	return shown(resp, err, func(r *enginev1.ListWorkflowsResponse) WorkflowList {
		return WorkflowList{Workflows: jsonview.Each(r.GetWorkflows(), jsonview.WorkflowOf), NextPageToken: r.GetNextPageToken()}
	})
}

// get serves the latest version, or the one in the path.
func (h *workflows) get(c *call) (*answer, error) {
	version, err := c.version("n", c.path("n"))
	if err != nil {
		return nil, err
	}
	resp, err := h.workflows.GetWorkflow(c.ctx, &enginev1.GetWorkflowRequest{Name: c.path("name"), Version: version})
	if err != nil {
		return nil, err
	}
	return ok(jsonview.WorkflowOf(resp.GetWorkflow())).tagged(`"` + resp.GetWorkflow().GetDigest() + `"`), nil
}

func findings(problems []*enginev1.Problem) []Finding {
	return jsonview.Each(problems, func(p *enginev1.Problem) Finding {
		severity := document.SeverityError
		if p.GetSeverity() == enginev1.Severity_SEVERITY_WARNING {
			severity = document.SeverityWarning
		}
		return Finding{Pointer: p.GetPointer(), Code: p.GetCode(), Severity: string(severity), Message: p.GetMessage()}
	})
}

// WorkflowShadow is a definition that is judged alongside the live one.
type WorkflowShadow struct {
	Workflow string `json:"workflow"`
	Digest   string `json:"digest" doc:"Hex SHA-256 of the shadow's canonical definition."`
}

func (h *workflows) shadowRoutes(add func(route)) {
	const path = "/v1/workflows/{name}/shadow"
	name := inPath("name", "Name of the workflow, percent-encoded.")
	add(route{
		method: http.MethodPut, path: path, id: "shadowWorkflow", summary: "Judge tool calls by another definition too",
		about: "The body is the definition itself, as JSON or YAML. Its different decisions are in the log of decisions; " +
			"it is not enforced.",
		params: []param{name}, body: definitionBody, definition: workflowDefinition, fields: map[string]string{"workflow": "name"},
		answers: answers[WorkflowShadow](http.StatusOK), serve: h.shadow,
	})
	add(route{
		method: http.MethodDelete, path: path, id: "endWorkflowShadow", summary: "End that",
		params: []param{name}, fields: map[string]string{"workflow": "name"},
		answers: noContent(), serve: h.endShadow,
	})
}

func (h *workflows) shadow(c *call) (*answer, error) {
	text, err := wholeDefinition(c)
	if err != nil {
		return nil, err
	}
	resp, err := h.policies.ShadowWorkflow(c.ctx, &policyv1.ShadowWorkflowRequest{Workflow: c.path("name"), Definition: text})
	if err != nil {
		return nil, err
	}
	return ok(WorkflowShadow{Workflow: c.path("name"), Digest: resp.GetDigest()}), nil
}

func (h *workflows) endShadow(c *call) (*answer, error) {
	return done(h.policies.ShadowWorkflow(c.ctx, &policyv1.ShadowWorkflowRequest{Workflow: c.path("name")}))
}
