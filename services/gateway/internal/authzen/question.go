package authzen

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/outside"
)

// entity is a subject, an action or a resource.
type entity struct {
	Type       string                    `json:"type"`
	ID         string                    `json:"id"`
	Name       string                    `json:"name"`
	Properties map[string]jsontext.Value `json:"properties"`
}

// question is whether a subject may do something.
type question struct {
	Subject  *entity        `json:"subject"`
	Action   *entity        `json:"action"`
	Resource *entity        `json:"resource"`
	Context  jsontext.Value `json:"context"`
}

// inherit takes over missing members, as wholes.
func (q *question) inherit(defaults question) {
	if q.Subject == nil {
		q.Subject = defaults.Subject
	}
	if q.Action == nil {
		q.Action = defaults.Action
	}
	if q.Resource == nil {
		q.Resource = defaults.Resource
	}
	if q.Context == nil {
		q.Context = defaults.Context
	}
}

// Types of subjects and resources that mean something here.
const (
	typeSession   = "session"
	typeRun       = "run"
	typeServer    = "server"
	typeMCPServer = "mcp_server" // as AuthZEN's binding for MCP calls it
	typeTool      = "tool"

	actionCallTool = "tools/call"
)

// properties of an action that describe the call itself.
const (
	propertyCallID = "call_id"
	propertyBranch = "branch"
	propertyCost   = "estimated_cost_usd"
	propertyDryRun = "dry_run"
	propertyServer = "server" // of a resource that is a tool
)

// call returns a question as the policy enforcer is asked it. unknown is true for a
// resource that has no meaning here, for which the answer is always no.
func (h *Handler) call(q *question) (call *policyv1.CheckToolCallRequest, unknown bool, why *failure) {
	if why := q.complete(); why != nil {
		return nil, false, why
	}
	call = &policyv1.CheckToolCallRequest{}
	if call.Input, why = h.input(q.Context); why != nil {
		return nil, false, why
	}
	if call.Input, why = h.withResource(call.GetInput(), q.Resource); why != nil {
		return nil, false, why
	}
	if why := h.subject(q, call); why != nil {
		return nil, false, why
	}
	if call.Human, why = h.human(q.Subject); why != nil {
		return nil, false, why
	}
	if unknown, why = resource(q, call); why != nil || unknown {
		return nil, unknown, why
	}
	if call.GetRunId() != "" {
		call.SessionId = ""
	}
	return call, false, details(q.Action, call)
}

// complete reports the missing parts of a question.
func (q *question) complete() *failure {
	switch {
	case q.Subject == nil:
		return bad("subject is required")
	case q.Subject.Type == "" || q.Subject.ID == "":
		return bad("subject needs a type and an id")
	case q.Action == nil || q.Action.Name == "":
		return bad("action is required, with its name")
	case q.Resource == nil:
		return bad("resource is required")
	case q.Resource.Type == "" || q.Resource.ID == "":
		return bad("resource needs a type and an id")
	}
	return nil
}

// input returns the tool's input, as it was written.
func (h *Handler) input(given jsontext.Value) ([]byte, *failure) {
	switch given.Kind() {
	case 'n', jsontext.KindInvalid:
		given = nil
	case '{':
	default:
		return nil, bad("context must be an object")
	}
	if h.Input == "" {
		return given, nil
	}
	// A call is never judged by parts of it: the caller states that there is no input.
	var members map[string]jsontext.Value
	if given != nil {
		if why := decode(given, &members); why != nil {
			return nil, why
		}
	}
	input := members[h.Input]
	if input.Kind() != '{' {
		return nil, bad("context.%s must be the tool's input: an object, empty for none", h.Input)
	}
	return input, nil
}

// withResource adds the properties of the resource to the tool's input. The input must not have a
// member of that name, which would be the agent's word.
func (h *Handler) withResource(input []byte, r *entity) ([]byte, *failure) {
	if h.Resource == "" {
		return input, nil
	}
	members := map[string]jsontext.Value{}
	if len(input) > 0 {
		if why := decode(input, &members); why != nil {
			return nil, why
		}
	}
	if _, taken := members[h.Resource]; taken {
		return nil, bad("the input has a member %q, which is for the properties of the resource; leave it out", h.Resource)
	}
	properties := r.Properties
	if properties == nil {
		properties = map[string]jsontext.Value{}
	}
	text, err := json.Marshal(properties, json.Deterministic(true))
	if err == nil {
		members[h.Resource] = text
		text, err = json.Marshal(members, json.Deterministic(true))
	}
	if err != nil {
		return nil, bad("the properties of the resource cannot be read")
	}
	return text, nil
}

// subject sets the session in which a call is judged: the subject's own word, or else one
// that is its own.
func (h *Handler) subject(q *question, call *policyv1.CheckToolCallRequest) (why *failure) {
	s := q.Subject
	if call.RunId, why = s.text("subject", h.RunProperty); why != nil {
		return why
	}
	if s.Type == typeSession {
		call.SessionId = s.ID
		return nil
	}
	if call.SessionId, why = s.text("subject", h.SessionProperty); why != nil {
		return why
	}
	if call.GetSessionId() == "" {
		call.SessionId = s.Type + ":" + s.ID
	}
	return nil
}

// resource describes which tool is meant, and of which run.
func resource(q *question, call *policyv1.CheckToolCallRequest) (unknown bool, why *failure) {
	call.Tool = q.Action.Name
	r := q.Resource
	var server string
	switch r.Type {
	case typeRun:
		if call.GetRunId() != "" && call.GetRunId() != r.ID {
			return false, bad("subject and resource name different runs; keep one")
		}
		call.RunId = r.ID
		return false, nil
	case typeServer, typeMCPServer:
		server = r.ID
	case typeTool:
		if q.Action.Name != actionCallTool {
			return true, nil
		}
		call.Tool = r.ID
		if server, why = r.text("resource", propertyServer); why != nil || server == "" {
			return false, why
		}
	default:
		return true, nil
	}
	if !outside.ValidServer(server) {
		return true, nil
	}
	call.Tool = "mcp__" + server + "__" + call.GetTool()
	return false, nil
}

// details reads the properties of an action that describe the call.
func details(action *entity, call *policyv1.CheckToolCallRequest) (why *failure) {
	if call.CallId, why = action.text("action", propertyCallID); why != nil {
		return why
	}
	if call.Branch, why = action.text("action", propertyBranch); why != nil {
		return why
	}
	cost := action.Properties[propertyCost]
	if cost.Kind() == '0' {
		call.EstimatedCostUsd = string(cost) // as it was written: money is no float
	} else if call.EstimatedCostUsd, why = action.text("action", propertyCost); why != nil {
		return why
	}
	switch action.Properties[propertyDryRun].Kind() {
	case 't':
		call.DryRun = true
	case 'f', 'n', jsontext.KindInvalid:
	default:
		return bad("action.properties.%s must be true or false", propertyDryRun)
	}
	return nil
}

// text returns a property that must be a text; empty for none.
func (e *entity) text(of, name string) (string, *failure) {
	value := e.Properties[name]
	switch value.Kind() {
	case 'n', jsontext.KindInvalid:
		return "", nil
	case '"':
		text, err := jsontext.AppendUnquote(nil, value)
		if err == nil {
			return string(text), nil
		}
	}
	return "", bad("%s.properties.%s must be a string", of, name)
}
