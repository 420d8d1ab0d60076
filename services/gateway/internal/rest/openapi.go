package rest

import (
	"cmp"
	"encoding/json" // for an interface of huma's document
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/services/gateway/internal/access"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

const schemaPrefix = "#/components/schemas/"

// openAPIConfig returns a huma configuration that serves no routes by itself: no
// documents, no schemas, no content negotiation.
func openAPIConfig(version string) huma.Config {
	schemas := huma.NewMapRegistry(schemaPrefix, huma.DefaultSchemaNamer)
	schemas.RegisterTypeAlias(reflect.TypeFor[jsontext.Value](), reflect.TypeFor[anyJSON]())
	cfg := huma.Config{OpenAPI: &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Servers: []*huma.Server{{URL: "/", Description: "The gateway that serves this document."}},
		Tags:    tags,
		Info: &huma.Info{
			Title: "Interlock", Version: cmp.Or(version, "0"),
			Description: "A state-machine enforcement plane for AI agents. Denials and refused transitions are 200 answers with reasons; failures are problem documents (RFC 9457).",
			License:     &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
		},
		Components: &huma.Components{
			Schemas: schemas,
			SecuritySchemes: map[string]*huma.SecurityScheme{
				"bearer": {Type: "http", Scheme: "bearer", Description: "A token of one of the roles agent, operator, approver, observer, runtime."},
			},
		},
	}}
	cfg.Formats = map[string]huma.Format{contentJSON: huma.DefaultJSONFormat}
	cfg.DefaultFormat = contentJSON
	return cfg
}

// anyJSON documents raw JSON.
type anyJSON struct{}

// Schema admits any JSON value.
func (anyJSON) Schema(huma.Registry) *huma.Schema { return &huma.Schema{} }

// answers returns the usual case: one type, under each of the statuses.
func answers[T any](statuses ...int) map[int]reflect.Type {
	types := make(map[int]reflect.Type, len(statuses))
	for _, status := range statuses {
		types[status] = reflect.TypeFor[T]()
	}
	return types
}

// noContent returns the answers of routes that answer 204.
func noContent() map[int]reflect.Type { return map[int]reflect.Type{http.StatusNoContent: nil} }

// document returns the route as an OpenAPI operation.
func (rt *route) document(schemas huma.Registry) *huma.Operation {
	op := &huma.Operation{
		Method: rt.method, Path: rt.path, OperationID: rt.id, Summary: rt.summary, Description: rt.about,
		Tags: []string{rt.tag()}, Responses: map[string]*huma.Response{},
	}
	if access.Public(rt.path) {
		op.Security = []map[string][]string{{}} // none
	} else {
		op.Security = []map[string][]string{{"bearer": {}}}
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: headerNamespace, In: "header", Description: "Namespace, default when absent.",
			Schema: &huma.Schema{Type: huma.TypeString},
		})
	}
	for _, p := range rt.params {
		if p.name != headerNamespace {
			op.Parameters = append(op.Parameters, p.document())
		}
	}
	op.RequestBody = rt.requestBody(schemas)
	for status, body := range rt.answers {
		op.Responses[strconv.Itoa(status)] = rt.response(schemas, status, body)
	}
	if rt.conditional() {
		op.Responses[strconv.Itoa(http.StatusNotModified)] = rt.response(schemas, http.StatusNotModified, nil)
	}
	problem := map[string]*huma.MediaType{
		contentProblem: {Schema: schemas.Schema(reflect.TypeFor[Problem](), true, "Problem")},
	}
	op.Responses["4XX"] = &huma.Response{Description: "A problem (RFC 9457) of the request: its code and detail say how to mend it.", Content: problem}
	op.Responses["5XX"] = &huma.Response{Description: "A problem (RFC 9457) of the server. With Retry-After, the same request may succeed later.", Content: problem}
	return op
}

// tags group the operations, in the order in which people need them.
var tags = []*huma.Tag{
	{Name: "workflows", Description: "State machines: register, validate and read them."},
	{Name: "simulate", Description: "Definitions tried in memory, without a run."},
	{Name: "verify", Description: "Properties of every run of a definition."},
	{Name: "receipts", Description: "The acts of a run, signed, for checks by others."},
	{Name: "runs", Description: "Runs of workflows: start and drive them, ask whether a tool call is allowed, report the outcome."},
	{Name: "processes", Description: "Questions with answers, one after the other."},
	{Name: "policies", Description: "Rules by capability, with limits and budgets, and their attachments."},
	{Name: "decisions", Description: "The log of decisions on tool calls."},
	{Name: "audit", Description: "Proof that the log of decisions was not changed."},
	{Name: "approvals", Description: "Questions to humans, and their decisions."},
	{Name: "upstreams", Description: "Tools of MCP servers behind the gate, and their changes."},
	{Name: "leases", Description: "Leases of approvers, by which calls pass without another question for a while."},
	{Name: "sessions", Description: "Agents, and the trees that they form."},
	{Name: "tasks", Description: "Tasks of runners for sessions."},
	{Name: "workflow-schemas", Description: "JSON Schemas of shared states."},
	{Name: "workflow-states", Description: "Documents that the sessions of a tree share."},
	{Name: "components", Description: "Typed values of an execution, a session or a subject."},
	{Name: "agents", Description: "Agents that sessions start from: model, instructions, workflow, policy and components."},
	{Name: "events", Description: "Live events."},
	{Name: "ws", Description: "The same over a WebSocket."},
	{Name: "stats", Description: "Present activity, and open questions to humans."},
	{Name: "principals", Description: "Acts by principal."},
	{Name: "system", Description: "How the server is, for people who look."},
	{Name: "server", Description: "The server itself. These need no token."},
}

// tag groups operations by their object.
func (rt *route) tag() string {
	if access.Public(rt.path) {
		return "server"
	}
	tag, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(rt.path, "/v1"), "/"), "/")
	if tag == "workflow-state" {
		return "workflow-states"
	}
	return tag
}

func (p param) document() *huma.Param {
	schema := &huma.Schema{Type: huma.TypeString}
	if p.integer {
		schema.Type, schema.Format = huma.TypeInteger, "int64"
	}
	for _, v := range p.values {
		schema.Enum = append(schema.Enum, v)
	}
	if p.repeated {
		schema = &huma.Schema{Type: huma.TypeArray, Items: schema}
	}
	doc := &huma.Param{Name: p.name, In: p.in, Description: p.about, Required: p.in == "path", Schema: schema}
	if p.repeated {
		doc.Style, doc.Explode = "form", &p.repeated
	}
	return doc
}

func (rt *route) requestBody(schemas huma.Registry) *huma.RequestBody {
	switch rt.body {
	case noBody:
		return nil
	case definitionBody:
		definition := &huma.MediaType{Schema: &huma.Schema{
			Type: huma.TypeObject, AdditionalProperties: true, Description: rt.definition,
		}}
		return &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			contentJSON: definition, contentYAML: definition,
		}}
	case patchBody:
		return &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			contentJSON:       {Schema: schemas.Schema(rt.request, true, rt.id)},
			contentPatch:      {Schema: operationsSchema()},
			contentMergePatch: {Schema: &huma.Schema{Description: "JSON Merge Patch (RFC 7396)."}},
		}}
	default:
		return &huma.RequestBody{Required: rt.body == jsonBody, Content: map[string]*huma.MediaType{
			contentJSON: {Schema: schemas.Schema(rt.request, true, rt.id)},
		}}
	}
}

func (rt *route) response(schemas huma.Registry, status int, body reflect.Type) *huma.Response {
	resp := &huma.Response{Description: http.StatusText(status)}
	switch {
	case body != nil:
		resp.Content = map[string]*huma.MediaType{contentJSON: {Schema: schemas.Schema(body, true, rt.id)}}
	case rt.stream != nil && status == http.StatusOK:
		resp.Content = map[string]*huma.MediaType{contentEvents: {Schema: &huma.Schema{Type: huma.TypeString}}}
	}
	if rt.lines != nil && status == http.StatusOK {
		resp.Content[contentLines] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Description: "One element a line."}}
	}
	if body != nil && tagged[body] {
		resp.Headers = map[string]*huma.Param{"ETag": {
			Description: "The version, for If-Match.", Schema: &huma.Schema{Type: huma.TypeString},
		}}
	}
	return resp
}

// tagged are the bodies whose version is the ETag.
var tagged = map[reflect.Type]bool{
	reflect.TypeFor[jsonview.Run](): true, reflect.TypeFor[TransitionResponse](): true,
	reflect.TypeFor[StartedProcess](): true, reflect.TypeFor[AnswerResponse](): true,
	reflect.TypeFor[jsonview.State](): true, reflect.TypeFor[stateOrParts](): true, reflect.TypeFor[jsonview.Component](): true,
}

// operationsSchema documents a JSON Patch, the operations of which the
// state-store judges.
func operationsSchema() *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true},
		Description: "JSON Patch (RFC 6902).",
	}
}

// nullable are the only members of schemas that may be null.
var nullable = map[string]bool{
	"Run.allowed_tools": true, "Run.allowed_commands": true, "RunVersion.allowed_tools": true, "RunVersion.allowed_commands": true,
	"RunBranch.allowed_tools": true, "RunBranch.allowed_commands": true, "Decision.allowed_tools": true, "TrialRun.allowed_tools": true,
	"Session.parent_session_id": true, "Session.parent_session_name": true, "Session.workflow_state_id": true,
	"Session.state_update_status": true, "Callback.state_update_status": true,
	"StoppedSession.parent_session_id": true, "StoppedSession.parent_session_name": true,
	"StoppedSession.workflow_state_id": true, "StoppedSession.state_update_status": true,
}

// objects are the raw members that are always JSON objects.
var objects = map[string]bool{
	"Run.context": true, "RunVersion.context": true, "RunBranch.context": true, "Execution.values": true, "Component.schema_definition": true, "Component.initial_values": true,
	"Approval.subject": true, "TrialRun.context": true, "SimulateRequest.definition": true,
}

// finishOpenAPI corrects parts that reflection cannot know.
func finishOpenAPI(api huma.API) {
	for name, schema := range api.OpenAPI().Components.Schemas.Map() {
		request := strings.HasSuffix(name, "Request")
		if !request {
			// Answers may grow; requests with unknown members are refused.
			schema.AdditionalProperties = true
		}
		for member, s := range schema.Properties {
			at := name + "." + member
			s.Nullable = nullable[at]
			if s.Nullable && len(s.Enum) > 0 {
				s.Enum = append(s.Enum, nil)
			}
			if objects[at] {
				s.Type = huma.TypeObject
			}
			if member == "operations" {
				schema.Properties[member] = operationsSchema()
			}
		}
	}
}

// openAPIText returns the document. It panics when the document cannot be encoded, which
// is a defect of this package.
func openAPIText(api huma.API) []byte {
	addExamples(api.OpenAPI())
	text, err := json.Marshal(api.OpenAPI())
	if err != nil {
		panic(fmt.Errorf("rest: encode the OpenAPI document: %w", err))
	}
	return text
}

// addExamples puts the recorded examples into the document.
func addExamples(doc *huma.OpenAPI) {
	for _, item := range doc.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Put, item.Post, item.Delete, item.Patch} {
			if op == nil {
				continue
			}
			recorded := examples()[op.OperationID]
			if op.RequestBody != nil {
				exemplify(op.RequestBody.Content, recorded.Request)
			}
			for status, answer := range op.Responses {
				if strings.HasPrefix(status, "2") {
					exemplify(answer.Content, recorded.Response)
				}
			}
		}
	}
}

func exemplify(content map[string]*huma.MediaType, text json.RawMessage) {
	if media := content[contentJSON]; media != nil && text != nil {
		media.Example = text
	}
}
