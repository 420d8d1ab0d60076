package rest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/interlock-run/interlock/services/gateway/internal/access"
	"github.com/interlock-run/interlock/services/gateway/internal/openapi"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// newDocument returns the OpenAPI document without its operations.
func newDocument(version string) *openapi.Document {
	return &openapi.Document{
		OpenAPI: "3.1.0",
		Servers: []openapi.Server{{URL: "/", Description: "The gateway that serves this document."}},
		Tags:    tags,
		Info: openapi.Info{
			Title: "Interlock", Version: cmp.Or(version, "0"),
			Description: "A state-machine enforcement plane for AI agents. Denials and refused transitions are 200 answers with reasons; failures are problem documents (RFC 9457).",
			License:     openapi.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
		},
		Paths: map[string]map[string]*openapi.Operation{},
		Components: openapi.Components{SecuritySchemes: map[string]openapi.SecurityScheme{
			"bearer": {Type: "http", Scheme: "bearer", Description: "A token of one of the roles agent, operator, approver, observer, runtime."},
		}},
	}
}

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
func (rt *route) document(schemas *openapi.Schemas) *openapi.Operation {
	op := &openapi.Operation{
		OperationID: rt.id, Summary: rt.summary, Description: rt.about,
		Tags: []string{rt.tag()}, Responses: map[string]*openapi.Response{},
	}
	if access.Public(rt.path) {
		op.Security = []map[string][]string{{}} // none
	} else {
		op.Security = []map[string][]string{{"bearer": {}}}
		op.Parameters = append(op.Parameters, &openapi.Parameter{
			Name: headerNamespace, In: "header", Description: "Namespace, default when absent.",
			Schema: openapi.Of(openapi.String),
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
	problem := map[string]*openapi.MediaType{
		contentProblem: {Schema: schemas.Of(reflect.TypeFor[Problem]())},
	}
	op.Responses["4XX"] = &openapi.Response{Description: "A problem (RFC 9457) of the request: its code and detail say how to mend it.", Content: problem}
	op.Responses["5XX"] = &openapi.Response{Description: "A problem (RFC 9457) of the server. With Retry-After, the same request may succeed later.", Content: problem}
	return op
}

// tags group the operations, in the order in which people need them.
var tags = []openapi.Tag{
	{Name: "workflows", Description: "State machines: register, validate and read them."},
	{Name: "simulate", Description: "Definitions tried in memory, without a run."},
	{Name: "verify", Description: "Properties of every run of a definition."},
	{Name: "receipts", Description: "The acts of a run, signed, for checks by others."},
	{Name: "runs", Description: "Runs of workflows: start and drive them, ask whether a tool call is allowed, report the outcome."},
	{Name: "processes", Description: "Questions with answers, one after the other."},
	{Name: "schedules", Description: "Runs that start at times."},
	{Name: "breakglass", Description: "Grants for calls while Interlock cannot be reached, and their hand-in."},
	{Name: "exceptions", Description: "Calls that may pass one rule of a policy for a while."},
	{Name: "refusals", Description: "Callers that were refused before there was a decision."},
	{Name: "policies", Description: "Rules by capability, with limits and budgets, and their attachments."},
	{Name: "sets", Description: "Definitions that are applied together, and their owner."},
	{Name: "decisions", Description: "The log of decisions on tool calls."},
	{Name: "audit", Description: "Proof that the log of decisions was not changed."},
	{Name: "approvals", Description: "Questions to humans, and their decisions."},
	{Name: "whoami", Description: "The caller of a request."},
	{Name: "namespaces", Description: "Namespaces that the caller may call in."},
	{Name: "upstreams", Description: "Tools of MCP servers behind the gate, and their changes."},
	{Name: "leases", Description: "Leases of approvers, by which calls pass without another question for a while."},
	{Name: "sessions", Description: "Agents, and the trees that they form."},
	{Name: "halts", Description: "Stops of all work in a scope, until they are lifted."},
	{Name: "freezes", Description: "Stops of some transitions of workflows, for a time."},
	{Name: "people", Description: "People who decide, operate or look on, and their keys."},
	{Name: "login", Description: "Log-ins of people. All but the renewal need no token."},
	{Name: "tasks", Description: "Tasks of runners for sessions."},
	{Name: "schemas", Description: "JSON Schemas of shared states."},
	{Name: "states", Description: "Documents that the sessions of a tree share."},
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
	if access.Public(rt.path) && !strings.HasPrefix(rt.path, "/v1/") {
		return "server"
	}
	tag, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(rt.path, "/v1"), "/"), "/")
	switch tag {
	case "state":
		return "states"
	case "check", "report":
		return "sessions"
	default:
		return tag
	}
}

func (p param) document() *openapi.Parameter {
	schema := openapi.Of(openapi.String)
	if p.integer {
		schema = &openapi.Schema{Type: openapi.Type{openapi.Integer}, Format: "int64"}
	}
	if p.values != nil {
		schema.SetEnum(p.values)
	}
	if p.repeated {
		schema = &openapi.Schema{Type: openapi.Type{openapi.Array}, Items: schema}
	}
	doc := &openapi.Parameter{Name: p.name, In: p.in, Description: p.about, Required: p.in == "path", Schema: schema}
	if p.repeated {
		doc.Style, doc.Explode = "form", true
	}
	return doc
}

func (rt *route) requestBody(schemas *openapi.Schemas) *openapi.RequestBody {
	switch rt.body {
	case noBody:
		return nil
	case definitionBody:
		definition := &openapi.MediaType{Schema: &openapi.Schema{
			Type: openapi.Type{openapi.Object}, AdditionalProperties: true, Description: rt.definition,
		}}
		return &openapi.RequestBody{Required: true, Content: map[string]*openapi.MediaType{
			contentJSON: definition, contentYAML: definition,
		}}
	case patchBody:
		return &openapi.RequestBody{Required: true, Content: map[string]*openapi.MediaType{
			contentJSON:       {Schema: schemas.Of(rt.request)},
			contentPatch:      {Schema: operationsSchema()},
			contentMergePatch: {Schema: &openapi.Schema{Description: "JSON Merge Patch (RFC 7396)."}},
		}}
	default:
		return &openapi.RequestBody{Required: rt.body == jsonBody, Content: map[string]*openapi.MediaType{
			contentJSON: {Schema: schemas.Of(rt.request)},
		}}
	}
}

func (rt *route) response(schemas *openapi.Schemas, status int, body reflect.Type) *openapi.Response {
	resp := &openapi.Response{Description: http.StatusText(status)}
	switch {
	case body != nil:
		resp.Content = map[string]*openapi.MediaType{contentJSON: {Schema: schemas.Of(body)}}
	case rt.stream != nil && status == http.StatusOK:
		resp.Content = map[string]*openapi.MediaType{contentEvents: {Schema: openapi.Of(openapi.String)}}
	}
	if rt.lines != nil && status == http.StatusOK {
		resp.Content[contentLines] = &openapi.MediaType{Schema: &openapi.Schema{Type: openapi.Type{openapi.String}, Description: "One element of the list a line."}}
	}
	if body != nil && tagged[body] {
		resp.Headers = map[string]openapi.Header{"ETag": {
			Description: "The version, for If-Match.", Schema: openapi.Of(openapi.String),
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
func operationsSchema() *openapi.Schema {
	return &openapi.Schema{
		Type: openapi.Type{openapi.Array}, Items: &openapi.Schema{Type: openapi.Type{openapi.Object}, AdditionalProperties: true},
		Description: "JSON Patch (RFC 6902).",
	}
}

// nullable are the only members of schemas that may be null.
var nullable = map[string]bool{
	"Run.allowed_tools": true, "Run.allowed_commands": true, "RunVersion.allowed_tools": true, "RunVersion.allowed_commands": true,
	"RunBranch.allowed_tools": true, "RunBranch.allowed_commands": true, "Decision.allowed_tools": true, "SessionDecision.allowed_tools": true, "TrialRun.allowed_tools": true,
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

// finish corrects the schemas in parts that reflection cannot know.
func finish(schemas map[string]*openapi.Schema) {
	values := enums()
	for name, schema := range schemas {
		if !strings.HasSuffix(name, "Request") {
			// Answers may grow; requests with unknown members are refused.
			schema.AdditionalProperties = true
		}
		for member, s := range schema.Properties {
			at := name + "." + member
			if values[at] != nil {
				s.SetEnum(values[at])
			}
			if objects[at] {
				s.Type = openapi.Type{openapi.Object}
			}
			if nullable[at] {
				s.Type = s.Type.Nullable()
				if len(s.Enum) > 0 {
					s.Enum = append(s.Enum, nil)
				}
			}
			if member == "operations" {
				schema.Properties[member] = operationsSchema()
			}
		}
	}
}

// openAPIText returns the document. It panics when the document cannot be encoded, which
// is a defect of this package.
func openAPIText(doc *openapi.Document) []byte {
	text, err := json.Marshal(doc)
	if err != nil {
		panic(fmt.Errorf("rest: encode the OpenAPI document: %w", err))
	}
	return text
}

// addExamples puts the recorded examples into the document.
func addExamples(doc *openapi.Document) {
	for _, item := range doc.Paths {
		for _, op := range item {
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

func exemplify(content map[string]*openapi.MediaType, text json.RawMessage) {
	if media := content[contentJSON]; media != nil && text != nil {
		media.Example = text
	}
}
