package rest

import (
	"net/http"
	"net/url"
	"reflect"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// RegisterSchemaRequest stores a JSON Schema under a name.
type RegisterSchemaRequest struct {
	Name        string         `json:"name"`
	JSONSchema  jsontext.Value `json:"json_schema" doc:"JSON Schema, draft-07 to 2020-12; $schema says which, 2020-12 when absent."`
	Description string         `json:"description,omitzero"`
}

// SchemaList is one page of schemas, without json_schema.
type SchemaList struct {
	Schemas       []jsonview.Schema `json:"schemas"`
	NextPageToken string            `json:"next_page_token" doc:"page_token of the next page; empty at the end."`
}

// schemas serves the routes of JSON Schemas.
type schemas struct {
	schemas statev1.SchemaServiceClient
}

func (h *schemas) routes(add func(route)) {
	name := inPath("name", "Name of the schema, percent-encoded.")
	add(route{
		method: http.MethodPost, path: "/v1/schemas", id: "registerSchema", summary: "Register a JSON Schema",
		about:  "201 for a new version, 200 when the live version, or with staged the latest, has this content already; 422 with every problem when it is not a valid schema.",
		params: []param{idempotencyParam, stagedParam}, body: jsonBody, request: reflect.TypeFor[RegisterSchemaRequest](), maxBody: maxDocumentBody,
		answers: answers[jsonview.Schema](http.StatusCreated, http.StatusOK), serve: taking(h.register),
	})
	add(route{
		method: http.MethodGet, path: "/v1/schemas", id: "listSchemas", summary: "List schemas",
		about:   "Each in its live version or else the latest, by name.",
		params:  []param{pageSizeParam, pageTokenParam},
		answers: answers[SchemaList](http.StatusOK), serve: h.list,
	})
	add(route{
		method: http.MethodGet, path: "/v1/schemas/{name}", id: "getSchema", summary: "Get a schema",
		params:  []param{name, intQuery("version", "The version, from 1; the live one when absent.")},
		answers: answers[jsonview.Schema](http.StatusOK), serve: h.get,
	})
	add(route{
		method: http.MethodGet, path: "/v1/schemas/{name}/versions", id: "listSchemaVersions", summary: "Versions of a schema",
		about:   "Oldest first.",
		params:  []param{name, pageSizeParam, pageTokenParam},
		answers: answers[SchemaList](http.StatusOK), serve: h.listVersions,
	})
}

func (h *schemas) register(c *call, in RegisterSchemaRequest) (*answer, error) {
	if err := missing(requirement{"/name", in.Name != ""}, requirement{"/json_schema", len(in.JSONSchema) > 0}); err != nil {
		return nil, err
	}
	staged, err := c.flag("staged")
	if err != nil {
		return nil, err
	}
	resp, err := h.schemas.RegisterSchema(c.ctx, &statev1.RegisterSchemaRequest{
		Name: in.Name, JsonSchema: in.JSONSchema, Description: in.Description, IdempotencyKey: c.header(headerIdempotency), Staged: staged,
	})
	if err != nil {
		return nil, err
	}
	s := resp.GetSchema()
	location := "/v1/schemas/" + url.PathEscape(s.GetName()) + "?version=" + strconv.FormatInt(s.GetVersion(), 10)
	return ok(jsonview.SchemaOf(s)).at(location, resp.GetCreated()), nil
}

func (h *schemas) list(c *call) (*answer, error) {
	return answerSchemas(h.schemas.ListSchemas(c.ctx, &statev1.ListSchemasRequest{PageSize: c.size, PageToken: c.token}))
}

func (h *schemas) get(c *call) (*answer, error) {
	version, err := c.version("version", c.query.Get("version"))
	if err != nil {
		return nil, err
	}
	resp, err := h.schemas.GetSchema(c.ctx, &statev1.GetSchemaRequest{Name: c.path("name"), Version: version})
	return shown(resp.GetSchema(), err, jsonview.SchemaOf)
}

func (h *schemas) listVersions(c *call) (*answer, error) {
	return answerSchemas(h.schemas.ListSchemaVersions(c.ctx, &statev1.ListSchemaVersionsRequest{
		Name: c.path("name"), PageSize: c.size, PageToken: c.token,
	}))
}

// answerSchemas returns a page of schemas of a response.
func answerSchemas[R interface {
	GetSchemas() []*statev1.Schema
	GetNextPageToken() string
}](resp R, err error) (*answer, error) {
	if err != nil {
		return nil, err
	}
	return ok(SchemaList{Schemas: jsonview.Each(resp.GetSchemas(), jsonview.SchemaOf), NextPageToken: resp.GetNextPageToken()}), nil
}
