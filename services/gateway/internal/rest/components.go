package rest

import (
	"cmp"
	"net/http"
	"net/url"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/listing"
)

const componentDefinition = "A state component: name, slug, schema_definition, and optionally description, tags, persistence and initial_values."

// ComponentList is one page of components, by slug.
type ComponentList struct {
	Components    []jsonview.Component `json:"components"`
	NextPageToken string               `json:"next_page_token" doc:"page_token of the next page; empty at the end."`
}

var slugPath = inPath("slug", "Slug of the component.")

// components serves the routes of state components and their executions.
type components struct {
	components statev1.ComponentServiceClient
}

func (h *components) routes(add func(route)) {
	h.executionRoutes(add)
	const path = "/v1/components/{slug}"
	one := answers[jsonview.Component](http.StatusOK)
	ifMatch := param{name: headerIfMatch, in: "header", about: "ETag of the component: 412 unless it is at this version."}
	add(route{
		method: http.MethodPost, path: "/v1/components", id: "createComponent", summary: "Create a state component",
		about:  "The body is the definition itself, as JSON or YAML; 422 with every problem when it is invalid.",
		params: []param{idempotencyParam, stagedParam}, body: definitionBody, definition: componentDefinition,
		answers: answers[jsonview.Component](http.StatusCreated), serve: h.create,
	})
	add(route{
		method: http.MethodGet, path: "/v1/components", id: "listComponents", summary: "List state components",
		params:  []param{inQuery("tag", "Only components with this tag."), pageSizeParam, pageTokenParam},
		answers: answers[ComponentList](http.StatusOK), serve: h.list,
	})
	add(route{
		method: http.MethodGet, path: path, id: "getComponent", summary: "Get a state component",
		params: []param{slugPath, ifNoneMatchParam}, answers: one, serve: h.get,
	})
	add(route{
		method: http.MethodPut, path: path, id: "updateComponent", summary: "Replace the definition of a state component",
		about:  "Values that are kept must fit it when they are next used.",
		params: []param{slugPath, ifMatch}, body: definitionBody, definition: componentDefinition,
		answers: one, serve: h.update,
	})
	add(route{
		method: http.MethodDelete, path: path, id: "deleteComponent", summary: "Delete a state component",
		params: []param{slugPath, ifMatch}, answers: noContent(), serve: h.delete,
	})
}

// answerComponent returns the component of a response with its version as the entity tag.
func answerComponent[R interface{ GetComponent() *statev1.Component }](resp R, err error) (*answer, error) {
	if err != nil {
		return nil, err
	}
	return ok(jsonview.ComponentOf(resp.GetComponent())).tagged(etag(resp.GetComponent().GetVersion())), nil
}

func (h *components) create(c *call) (*answer, error) {
	text, err := wholeDefinition(c)
	if err != nil {
		return nil, err
	}
	staged, err := c.flag("staged")
	if err != nil {
		return nil, err
	}
	resp, err := h.components.CreateComponent(c.ctx, &statev1.CreateComponentRequest{
		Definition: text, IdempotencyKey: c.header(headerIdempotency), Staged: staged,
	})
	reply, err := answerComponent(resp, err)
	if err != nil {
		return nil, err
	}
	return reply.at("/v1/components/"+url.PathEscape(resp.GetComponent().GetSlug()), true), nil
}

func (h *components) list(c *call) (*answer, error) {
	resp, err := h.components.ListComponents(c.ctx, &statev1.ListComponentsRequest{
		PageSize: c.size, PageToken: c.token, Filter: listing.Filter(listing.Term{Key: "tag", Value: c.query.Get("tag")}),
	})
	if err != nil {
		return nil, err
	}
	return ok(ComponentList{
		Components: jsonview.Each(resp.GetComponents(), jsonview.ComponentOf), NextPageToken: resp.GetNextPageToken(),
	}), nil
}

func (h *components) get(c *call) (*answer, error) {
	return answerComponent(h.components.GetComponent(c.ctx, &statev1.GetComponentRequest{Slug: c.path("slug")}))
}

func (h *components) update(c *call) (*answer, error) {
	text, err := wholeDefinition(c)
	if err != nil {
		return nil, err
	}
	return answerComponent(h.components.UpdateComponent(c.ctx, &statev1.UpdateComponentRequest{
		Slug: c.path("slug"), Definition: text, ExpectedVersion: c.match,
	}))
}

func (h *components) delete(c *call) (*answer, error) {
	return done(h.components.DeleteComponent(c.ctx, &statev1.DeleteComponentRequest{Slug: c.path("slug"), ExpectedVersion: c.match}))
}

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

func (h *components) executionRoutes(add func(route)) {
	execution := answers[jsonview.Execution](http.StatusOK)
	add(route{
		method: http.MethodPost, path: "/v1/components/{slug}/executions", id: "beginExecution", summary: "Begin an execution",
		about:  "Answers the values that it starts with.",
		params: []param{slugPath, sessionParam}, body: optionalJSON, request: reflect.TypeFor[BeginExecutionRequest](),
		fields:  map[string]string{"session": "session"},
		answers: answers[jsonview.Execution](http.StatusCreated), serve: taking(h.begin),
	})
	add(route{
		method: http.MethodPost, path: "/v1/components/{slug}/executions/{execution_id}/commit", id: "commitExecution",
		summary: "End an execution and keep its values",
		about:   "409 when another execution has committed since it began.",
		params:  []param{slugPath, inPath("execution_id", "Id of the execution."), sessionParam},
		body:    optionalJSON, request: reflect.TypeFor[CommitExecutionRequest](), maxBody: maxDocumentBody,
		fields:  map[string]string{"patch": "operations", "merge_patch": "merge"},
		answers: execution, serve: h.commit,
	})
	add(route{
		method: http.MethodGet, path: "/v1/components/{slug}/values", id: "getComponentValues", summary: "The values that the next execution would start with",
		params: []param{
			slugPath, inQuery("session", "The session that would execute, by id or name; by default the one that acts."),
			inQuery("subject", "Whose long-term values; by default the session's."), sessionParam,
		},
		fields:  map[string]string{"session": "session"},
		answers: execution, serve: h.values,
	})
}

// answerExecution returns the execution of a response.
func answerExecution[R interface{ GetExecution() *statev1.Execution }](resp R, err error) (*answer, error) {
	return shown(resp.GetExecution(), err, jsonview.ExecutionOf)
}

func (h *components) begin(c *call, in BeginExecutionRequest) (*answer, error) {
	resp, err := h.components.BeginExecution(c.ctx, &statev1.BeginExecutionRequest{
		Slug: c.path("slug"), Session: cmp.Or(in.Session, c.header(headerSession)), Subject: in.Subject,
	})
	if err != nil {
		return nil, err
	}
	return &answer{status: http.StatusCreated, body: jsonview.ExecutionOf(resp.GetExecution())}, nil
}

func (h *components) commit(c *call) (*answer, error) {
	in, err := decodeAround[CommitExecutionRequest](c.body, aroundOperations)
	if err != nil {
		return nil, err
	}
	req := &statev1.CommitExecutionRequest{ExecutionId: c.path("execution_id"), Session: c.header(headerSession)}
	if err := in.change(req); err != nil {
		return nil, err
	}
	return answerExecution(h.components.CommitExecution(c.ctx, req))
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

func (h *components) values(c *call) (*answer, error) {
	return answerExecution(h.components.GetComponentValues(c.ctx, &statev1.GetComponentValuesRequest{
		Slug: c.path("slug"), Session: cmp.Or(c.query.Get("session"), c.header(headerSession)), Subject: c.query.Get("subject"),
	}))
}
