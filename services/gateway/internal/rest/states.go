package rest

import (
	"cmp"
	"math"
	"net/http"
	"net/url"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/openapi"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/listing"
)

// headerState names a state where the path does not (S10).
const headerState = "X-Workflow-State-Id"

// CreateStateRequest makes a state for a root session: the one of root_session_id or
// session_name, else the one that acts, else a new one. The one that acts can only make
// its own.
type CreateStateRequest struct {
	SchemaName    string         `json:"schema_name"`
	SchemaVersion int64          `json:"schema_version,omitzero" doc:"0 or absent for the live one."`
	InitialData   jsontext.Value `json:"initial_data" doc:"The document. It must conform to the schema."`
	RootSessionID string         `json:"root_session_id,omitzero" doc:"A session that is there, by id or name."`
	SessionName   string         `json:"session_name,omitzero" doc:"A session by name, which is made when there is none."`
}

// StateList is one page of states, newest first, without current_data.
type StateList struct {
	States        []jsonview.State `json:"states"`
	NextPageToken string           `json:"next_page_token" doc:"page_token of the next page; empty at the end."`
}

// StateParts are the parts of a state that were asked for.
type StateParts struct {
	StateID string          `json:"state_id"`
	Version int64           `json:"version"`
	Parts   []jsonview.Part `json:"parts" doc:"In the order of the pointers."`
}

// StateHistory is one page of the changes of a state, oldest first.
type StateHistory struct {
	Versions         []jsonview.StateVersion `json:"versions"`
	NextAfterVersion int64                   `json:"next_after_version" doc:"after_version of the next page; 0 at the end."`
}

// stateOrParts documents an answer that is either.
type stateOrParts struct{}

// Schema implements openapi.Custom.
func (stateOrParts) Schema(all *openapi.Schemas) *openapi.Schema {
	return &openapi.Schema{OneOf: []*openapi.Schema{all.Of(reflect.TypeFor[jsonview.State]()), all.Of(reflect.TypeFor[StateParts]())}}
}

var (
	statePath    = inPath("state_id", "Id of the state.")
	pointerParam = param{
		name: "pointer", in: "query", repeated: true,
		about: "JSON Pointer (RFC 6901) of a part that is wanted; may be repeated. The answer is then {state_id, version, parts}.",
	}
)

// statePlaces are the paths of a state, one of which names it by header.
var statePlaces = []struct {
	path, id string // id ends the ids of its operations
	about    string
	param    param
}{
	{"/v1/states/{state_id}", "State", "", statePath},
	{"/v1/state", "OwnState", "The state that the header names, or else that of the session that acts.", param{
		name: headerState, in: "header", about: "Id of the state.",
	}},
}

// states serves the routes of shared states.
type states struct {
	states statev1.StateServiceClient
}

func (h *states) routes(add func(route)) {
	h.changeRoutes(add)
	h.writerRoutes(add)
	for _, at := range []struct{ path, id, about string }{
		{"/v1/states", "createState", ""}, {"/v1/state", "createOwnState", "The same as under /v1/states."},
	} {
		add(route{
			method: http.MethodPost, path: at.path, id: at.id, summary: "Create a state", about: at.about,
			params: []param{idempotencyParam, sessionParam},
			body:   jsonBody, request: reflect.TypeFor[CreateStateRequest](), maxBody: maxDocumentBody,
			fields:  map[string]string{"data": "initial_data"},
			answers: answers[jsonview.State](http.StatusCreated), serve: taking(h.create),
		})
	}
	add(route{
		method: http.MethodGet, path: "/v1/states", id: "listStates", summary: "List states",
		params: []param{
			inQuery("root_session", "Only states of this root session, by id or name."), inQuery("schema", "Only states of this schema, by name."), beforeParam, prefixParam,
			pageSizeParam, pageTokenParam, sessionParam,
		},
		answers: answers[StateList](http.StatusOK), serve: h.list,
	})
	for _, at := range statePlaces {
		add(route{
			method: http.MethodGet, path: at.path, id: "get" + at.id, summary: "Get a state, or parts of it", about: at.about,
			params:  []param{at.param, pointerParam, sessionParam, ifNoneMatchParam},
			answers: answers[stateOrParts](http.StatusOK), serve: h.get,
		})
	}
	add(route{
		method: http.MethodGet, path: "/v1/states/{state_id}/versions/{n}", id: "getStateVersion",
		summary: "A state as it was at a version",
		params: []param{
			statePath, {name: "n", in: "path", about: "The version, from 1.", integer: true}, pointerParam, sessionParam, ifNoneMatchParam,
		},
		answers: answers[stateOrParts](http.StatusOK), serve: h.get,
	})
	add(route{
		method: http.MethodGet, path: "/v1/states/{state_id}/history", id: "getStateHistory", summary: "History of a state",
		about:   "Every change, oldest first.",
		params:  []param{statePath, intQuery("after_version", "Only changes with a greater version."), pageSizeParam, sessionParam},
		answers: answers[StateHistory](http.StatusOK), serve: h.history,
	})
	add(route{
		method: http.MethodDelete, path: "/v1/states/{state_id}", id: "deleteState", summary: "Delete a state and its history",
		about: "Its root session must have ended.",
		params: []param{
			statePath,
			{name: "force", in: "query", about: "With true, also while its root session continues. Operators only.", values: []string{"true", "false"}},
			stateIfMatch, sessionParam,
		},
		answers: noContent(), serve: h.delete,
	})
}

// answerState returns the state of a response with its version as the entity tag.
func answerState[R interface{ GetState() *statev1.State }](resp R, err error) (*answer, error) {
	if err != nil {
		return nil, err
	}
	reply := ok(jsonview.StateOf(resp.GetState())).tagged(etag(resp.GetState().GetVersion()))
	reply.warning = resp.GetState().GetWarning()
	return reply, nil
}

// stateID returns the state that the path names, or else the header.
func (c *call) stateID() string { return cmp.Or(c.path("state_id"), c.header(headerState)) }

func (h *states) create(c *call, in CreateStateRequest) (*answer, error) {
	if err := missing(requirement{"/schema_name", in.SchemaName != ""}, requirement{"/initial_data", len(in.InitialData) > 0}); err != nil {
		return nil, err
	}
	req := &statev1.CreateStateRequest{
		SchemaName: in.SchemaName, SchemaVersion: in.SchemaVersion, Data: in.InitialData,
		Session: c.header(headerSession), IdempotencyKey: c.header(headerIdempotency),
	}
	switch {
	case in.RootSessionID != "" && in.SessionName != "":
		return nil, badBody(fault.InvalidRequest, inBody("/session_name", "CONFLICT", "names a root session like root_session_id; give one of them"))
	case req.Session != "" && cmp.Or(in.RootSessionID, in.SessionName, req.Session) != req.Session:
		return nil, newProblem(http.StatusForbidden, string(fault.PermissionDenied), "session "+req.Session+
			" acts and can only create its own state; leave the header out or name "+req.Session)
	case in.RootSessionID != "":
		req.Session, req.ExistingSession = in.RootSessionID, true
	case in.SessionName != "":
		req.Session = in.SessionName
	}
	resp, err := h.states.CreateState(c.ctx, req)
	reply, err := answerState(resp, err)
	if err != nil {
		return nil, err
	}
	return reply.at("/v1/states/"+url.PathEscape(resp.GetState().GetStateId()), true), nil
}

func (h *states) list(c *call) (*answer, error) {
	resp, err := h.states.ListStates(c.ctx, &statev1.ListStatesRequest{
		Session: c.header(headerSession), PageSize: c.size, PageToken: c.token,
		Filter: listing.Filter(
			listing.Term{Key: "root_session", Value: c.query.Get("root_session")},
			listing.Term{Key: "schema", Value: c.query.Get("schema")}, c.before(), c.prefix(),
		),
	})
	return shown(resp, err, func(r *statev1.ListStatesResponse) StateList {
		return StateList{States: jsonview.Each(r.GetStates(), jsonview.StateOf), NextPageToken: r.GetNextPageToken()}
	})
}

// get serves the latest version, or the one in the path; the whole of it, or
// the parts that pointers name.
func (h *states) get(c *call) (*answer, error) {
	version, err := c.version("n", c.path("n"))
	if err != nil {
		return nil, err
	}
	return h.read(c, &statev1.GetStateRequest{StateId: c.stateID(), Version: version})
}

// read responds with the state that the request names, or the parts that the query
// asks for.
func (h *states) read(c *call, req *statev1.GetStateRequest) (*answer, error) {
	req.Session, req.Pointers = c.header(headerSession), c.query["pointer"]
	resp, err := h.states.GetState(c.ctx, req)
	reply, err := answerState(resp, err)
	if err == nil && len(req.Pointers) > 0 {
		reply.body = StateParts{
			StateID: resp.GetState().GetStateId(), Version: resp.GetState().GetVersion(),
			Parts: jsonview.Each(resp.GetParts(), jsonview.PartOf),
		}
	}
	return reply, err
}

func (h *states) history(c *call) (*answer, error) {
	after, err := c.number("after_version", math.MaxInt64)
	if err != nil {
		return nil, err
	}
	resp, err := h.states.GetStateHistory(c.ctx, &statev1.GetStateHistoryRequest{
		StateId: c.path("state_id"), Session: c.header(headerSession), AfterVersion: after, PageSize: c.size,
	})
	if err != nil {
		return nil, err
	}
	return ok(StateHistory{
		Versions: jsonview.Each(resp.GetVersions(), jsonview.StateVersionOf), NextAfterVersion: resp.GetNextAfterVersion(),
	}), nil
}

func (h *states) delete(c *call) (*answer, error) {
	force, err := c.flag("force")
	if err != nil {
		return nil, err
	}
	return done(h.states.DeleteState(c.ctx, &statev1.DeleteStateRequest{
		StateId: c.path("state_id"), Session: c.header(headerSession), Force: force, ExpectedVersion: c.match,
	}))
}
