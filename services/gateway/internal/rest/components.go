package rest

import (
	"net/http"
	"net/url"
	"reflect"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

const componentDefinition = "A state component: name, slug, schema_definition, and optionally description, tags, persistence and initial_values."

// ComponentList is one page of components, by slug.
type ComponentList struct {
	Components    []Component `json:"components"`
	NextPageToken string      `json:"next_page_token" doc:"page_token of the next page; empty at the end."`
}

var slugPath = inPath("slug", "Slug of the component.")

func (e *edge) componentRoutes() {
	const path = "/v1/components/{slug}"
	one := answers[Component](http.StatusOK)
	ifMatch := param{name: headerIfMatch, in: "header", about: "ETag of the component: 412 unless it is at this version."}
	e.add(route{
		method: http.MethodPost, path: "/v1/components", id: "createComponent", summary: "Create a state component",
		about:  "The body is the definition itself, as JSON or YAML; 422 with every problem when it is invalid.",
		params: []param{idempotencyParam}, body: definitionBody, definition: componentDefinition,
		answers: answers[Component](http.StatusCreated), serve: e.createComponent,
	})
	e.add(route{
		method: http.MethodGet, path: "/v1/components", id: "listComponents", summary: "List state components",
		params:  []param{inQuery("tag", "Only components with this tag."), pageSizeParam, pageTokenParam},
		answers: answers[ComponentList](http.StatusOK), serve: e.listComponents,
	})
	e.add(route{
		method: http.MethodGet, path: path, id: "getComponent", summary: "Get a state component",
		params: []param{slugPath, ifNoneMatchParam}, answers: one, serve: e.getComponent,
	})
	e.add(route{
		method: http.MethodPut, path: path, id: "replaceComponent", summary: "Replace the definition of a state component",
		about:  "Values that are kept must fit it when they are next used.",
		params: []param{slugPath, ifMatch}, body: definitionBody, definition: componentDefinition,
		answers: one, serve: e.replaceComponent,
	})
	e.add(route{
		method: http.MethodDelete, path: path, id: "deleteComponent", summary: "Delete a state component",
		params: []param{slugPath, ifMatch}, answers: map[int]reflect.Type{http.StatusNoContent: nil}, serve: e.deleteComponent,
	})
}

// answerComponent is a component with its version as the entity tag.
func answerComponent(c *statev1.Component) *answer {
	reply := ok(jsonview.ComponentOf(c))
	reply.etag = etag(c.GetVersion())
	return reply
}

func (e *edge) createComponent(c *call) (*answer, error) {
	text, err := wholeDefinition(c)
	if err != nil {
		return nil, err
	}
	resp, err := e.Components.CreateComponent(c.ctx, &statev1.CreateComponentRequest{
		Definition: text, IdempotencyKey: c.header(headerIdempotency),
	})
	if err != nil {
		return nil, err
	}
	reply := answerComponent(resp.GetComponent())
	reply.status = http.StatusCreated
	reply.location = "/v1/components/" + url.PathEscape(resp.GetComponent().GetSlug())
	return reply, nil
}

func (e *edge) listComponents(c *call) (*answer, error) {
	size, token, err := c.page()
	if err != nil {
		return nil, err
	}
	resp, err := e.Components.ListComponents(c.ctx, &statev1.ListComponentsRequest{
		Tag: c.query.Get("tag"), PageSize: size, PageToken: token,
	})
	if err != nil {
		return nil, err
	}
	return ok(ComponentList{
		Components: each(resp.GetComponents(), jsonview.ComponentOf), NextPageToken: resp.GetNextPageToken(),
	}), nil
}

func (e *edge) getComponent(c *call) (*answer, error) {
	resp, err := e.Components.GetComponent(c.ctx, &statev1.GetComponentRequest{Slug: c.path("slug")})
	if err != nil {
		return nil, err
	}
	return answerComponent(resp.GetComponent()), nil
}

func (e *edge) replaceComponent(c *call) (*answer, error) {
	text, err := wholeDefinition(c)
	if err != nil {
		return nil, err
	}
	match, err := c.ifMatch()
	if err != nil {
		return nil, err
	}
	resp, err := e.Components.UpdateComponent(c.ctx, &statev1.UpdateComponentRequest{
		Slug: c.path("slug"), Definition: text, ExpectedVersion: match,
	})
	if err != nil {
		return nil, unmatched(err, match)
	}
	return answerComponent(resp.GetComponent()), nil
}

func (e *edge) deleteComponent(c *call) (*answer, error) {
	match, err := c.ifMatch()
	if err != nil {
		return nil, err
	}
	_, err = e.Components.DeleteComponent(c.ctx, &statev1.DeleteComponentRequest{Slug: c.path("slug"), ExpectedVersion: match})
	if err != nil {
		return nil, unmatched(err, match)
	}
	return done(), nil
}
