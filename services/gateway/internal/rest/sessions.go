package rest

import (
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/listing"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

// CreateSessionRequest makes a session. The same request again answers the same
// session.
type CreateSessionRequest struct {
	SessionID         string            `json:"session_id,omitzero" doc:"Minted when absent."`
	SessionName       string            `json:"session_name,omitzero" doc:"Unique in the namespace; the id when absent."`
	ParentSessionName string            `json:"parent_session_name,omitzero" doc:"By name or id; absent for a root."`
	WorkflowStateID   string            `json:"workflow_state_id,omitzero" doc:"The state that it must share: refused when its parent's is another."`
	StateUpdate       string            `json:"state_update,omitzero" doc:"Whether a child must update the state before it is done."`
	AcceptEarlyUpdate bool              `json:"accept_early_update,omitzero" doc:"True when an update before its first stop counts."`
	NoCallback        bool              `json:"no_callback,omitzero" doc:"True when its parent is not called back: it looks for the result itself."`
	Labels            map[string]string `json:"labels,omitzero" doc:"Runners must have these labels to take its tasks."`
	StateRef          string            `json:"state_ref,omitzero" doc:"Component that its executions begin and end with, by slug or id; by default that of its agent."`
	Agent             string            `json:"agent,omitzero" doc:"The agent that it starts from. A runner sets the session up for it."`
	Subject           string            `json:"subject,omitzero" doc:"Whose long-term values of components it uses; by default the root's name."`
	Prompt            string            `json:"prompt,omitzero" doc:"When set, a runner is to start the session's agent with it."`
	Only              jsontext.Value    `json:"only,omitzero" doc:"Entries that all calls of it and of those below it must meet: a list, written as the calls of a state."`
}

// StopSessionRequest says that a session's agent has stopped.
type StopSessionRequest struct {
	End     bool           `json:"end,omitzero" doc:"End the session, with all outstanding work."`
	Error   string         `json:"error,omitzero" doc:"Why the agent failed."`
	InPlace bool           `json:"in_place,omitzero" doc:"The caller resumes the agent itself, with the prompt of the answer: no runner is asked to."`
	Result  jsontext.Value `json:"result,omitzero" doc:"The result of the agent's work: any JSON, at most 64 KiB. Without one, an earlier one stays."`
}

// ResumeSessionRequest says that a session's agent works again.
type ResumeSessionRequest struct {
	Prompt string `json:"prompt,omitzero" doc:"When set, a runner is to resume the agent with it."`
}

// GrantRequest lets a session read a state of another tree.
type GrantRequest struct {
	StateID string `json:"state_id"`
}

// StoppedSession is a session that has stopped.
type StoppedSession struct {
	jsonview.Session
	Prompt string `json:"prompt,omitzero" doc:"The work of the agent before it may stop, with in_place."`
}

// SessionList is one page of sessions, newest first.
type SessionList struct {
	Sessions      []jsonview.Session `json:"sessions"`
	NextPageToken string             `json:"next_page_token" doc:"page_token of the next page; empty at the end."`
}

// sessions serves the routes of sessions.
type sessions struct {
	sessions statev1.SessionServiceClient
	states   *states
}

func (h *sessions) routes(add func(route)) {
	id := inPath("session_id", "Id or name of the session, percent-encoded.")
	session := answers[jsonview.Session](http.StatusOK)
	add(route{
		method: http.MethodPost, path: "/v1/sessions", id: "createSession", summary: "Create a session",
		about:  "201, or 200 when it was there already and is the same.",
		params: []param{sessionParam, forParam}, body: jsonBody, request: reflect.TypeFor[CreateSessionRequest](),
		fields:  map[string]string{"name": "session_name", "parent": "parent_session_name"},
		answers: answers[jsonview.Session](http.StatusCreated, http.StatusOK), serve: taking(h.create),
	})
	add(route{
		method: http.MethodGet, path: "/v1/sessions", id: "listSessions", summary: "List sessions",
		params: []param{
			inQuery("root_session", "Only the tree of this root, by id or name."), inQuery("parent_session", "Only children of this session, by id or name."),
			{name: "status", in: "query", about: "Only sessions in this status.", values: jsonview.SessionStatuses()},
			beforeParam, prefixParam, pageSizeParam, pageTokenParam, sessionParam,
		},
		fields:  map[string]string{"root": "root_session", "parent": "parent_session"},
		answers: answers[SessionList](http.StatusOK), serve: h.list,
	})
	add(route{
		method: http.MethodGet, path: "/v1/sessions/{session_id}", id: "getSession", summary: "Get a session",
		params: []param{id, sessionParam}, answers: session, serve: h.get,
	})
	add(route{
		method: http.MethodDelete, path: "/v1/sessions/{session_id}", id: "deleteSession", summary: "Delete a session that has ended",
		about: "Operators only. Its names are not given again.",
		params: []param{id, {
			name: "cascade", in: "query", about: "Also all sessions below it, and the state that a root has created.", values: []string{"true", "false"},
		}},
		answers: noContent(), serve: h.delete,
	})
	add(route{
		method: http.MethodGet, path: "/v1/sessions/{session_id}/state", id: "getSessionState", summary: "The state that a session shares",
		about:   "404 when it has none.",
		params:  []param{id, pointerParam, sessionParam, ifNoneMatchParam},
		answers: answers[stateOrParts](http.StatusOK), serve: h.state,
	})
	add(route{
		method: http.MethodPost, path: "/v1/sessions/{session_id}/stop", id: "stopSession", summary: "Say that a session's agent has stopped",
		about:  "A child that has not updated the state it shares is asked to; then its parent is called back.",
		params: []param{id, idempotencyParam, sessionParam}, body: optionalJSON, request: reflect.TypeFor[StopSessionRequest](),
		answers: answers[StoppedSession](http.StatusOK), serve: taking(h.stop),
	})
	add(route{
		method: http.MethodGet, path: "/v1/sessions/{session_id}/result", id: "getSessionResult", summary: "The result of a session's work",
		about:  "404 when it has none.",
		params: []param{id, sessionParam}, answers: answers[jsonview.SessionResult](http.StatusOK), serve: h.result,
	})
	add(route{
		method: http.MethodPost, path: "/v1/sessions/{session_id}/resume", id: "resumeSession", summary: "Say that a session's agent works again",
		params: []param{id, idempotencyParam, sessionParam}, body: optionalJSON, request: reflect.TypeFor[ResumeSessionRequest](),
		answers: session, serve: taking(h.resume),
	})
	h.boundRoutes(add, id)
	add(route{
		method: http.MethodPost, path: "/v1/sessions/{session_id}/grants", id: "grantStateAccess", summary: "Let a session read a state of another tree",
		params: []param{id}, body: jsonBody, request: reflect.TypeFor[GrantRequest](), answers: session, serve: taking(h.grant),
	})
	add(route{
		method: http.MethodDelete, path: "/v1/sessions/{session_id}/grants/{state_id}", id: "revokeStateAccess", summary: "Take such a grant back",
		params: []param{id, statePath}, answers: noContent(), serve: h.revoke,
	})
}

// answerSession returns the session of a response.
func answerSession[R interface{ GetSession() *statev1.Session }](resp R, err error) (*answer, error) {
	return shown(resp.GetSession(), err, jsonview.SessionOf)
}

func (h *sessions) create(c *call, in CreateSessionRequest) (*answer, error) {
	update := choice(statev1.StateUpdate_value, "STATE_UPDATE_", in.StateUpdate)
	if update == 0 && in.StateUpdate != "" {
		return nil, badBody(fault.InvalidRequest, inBody("/state_update", document.CodeEnum,
			"must be one of "+strings.Join(jsonview.StateUpdates(), ", ")))
	}
	resp, err := h.sessions.CreateSession(c.ctx, &statev1.CreateSessionRequest{
		SessionId: in.SessionID, Name: in.SessionName, Parent: in.ParentSessionName, WorkflowStateId: in.WorkflowStateID,
		StateUpdate: statev1.StateUpdate(update), AcceptEarlyUpdate: in.AcceptEarlyUpdate, NoCallback: in.NoCallback, Labels: in.Labels,
		StateRef: in.StateRef, Agent: in.Agent, Subject: in.Subject, Prompt: in.Prompt, Only: in.Only, Session: c.header(headerSession),
	})
	if err != nil {
		return nil, err
	}
	return ok(jsonview.SessionOf(resp.GetSession())).at("/v1/sessions/"+url.PathEscape(resp.GetSession().GetSessionId()), resp.GetCreated()), nil
}

func (h *sessions) list(c *call) (*answer, error) {
	status, err := c.choice("status", statev1.SessionStatus_value, "SESSION_STATUS_", jsonview.SessionStatuses())
	if err != nil {
		return nil, err
	}
	resp, err := h.sessions.ListSessions(c.ctx, &statev1.ListSessionsRequest{
		Session: c.header(headerSession), PageSize: c.size, PageToken: c.token,
		Filter: listing.Filter(
			listing.Term{Key: "root", Value: c.query.Get("root_session")},
			listing.Term{Key: "parent", Value: c.query.Get("parent_session")},
			listing.Term{Key: "status", Value: protomap.Word(statev1.SessionStatus(status), "SESSION_STATUS_")}, c.before(), c.prefix(),
		),
	})
	if err != nil {
		return nil, err
	}
	return ok(SessionList{Sessions: jsonview.Each(resp.GetSessions(), jsonview.SessionOf), NextPageToken: resp.GetNextPageToken()}), nil
}

func (h *sessions) get(c *call) (*answer, error) {
	return answerSession(h.sessions.GetSession(c.ctx, &statev1.GetSessionRequest{
		SessionId: c.path("session_id"), Session: c.header(headerSession),
	}))
}

// state serves the state of the session in the path, to the session that
// acts.
func (h *sessions) state(c *call) (*answer, error) {
	resp, err := h.sessions.GetSession(c.ctx, &statev1.GetSessionRequest{
		SessionId: c.path("session_id"), Session: c.header(headerSession),
	})
	if err != nil {
		return nil, err
	}
	id := resp.GetSession().GetWorkflowStateId()
	if id == "" {
		return nil, fault.New(fault.NotFound, "session %s has no workflow state; its root creates one by POST /v1/states",
			resp.GetSession().GetName())
	}
	return h.states.read(c, &statev1.GetStateRequest{StateId: id})
}

func (h *sessions) stop(c *call, in StopSessionRequest) (*answer, error) {
	resp, err := h.sessions.StopSession(c.ctx, &statev1.StopSessionRequest{
		SessionId: c.path("session_id"), Session: c.header(headerSession), IdempotencyKey: c.header(headerIdempotency),
		InPlace: in.InPlace, End: in.End, Error: in.Error, Result: in.Result,
	})
	if err != nil {
		return nil, err
	}
	return ok(StoppedSession{Session: jsonview.SessionOf(resp.GetSession()), Prompt: resp.GetPrompt()}), nil
}

func (h *sessions) delete(c *call) (*answer, error) {
	cascade, err := c.flag("cascade")
	if err != nil {
		return nil, err
	}
	return done(h.sessions.DeleteSession(c.ctx, &statev1.DeleteSessionRequest{SessionId: c.path("session_id"), Cascade: cascade}))
}

func (h *sessions) result(c *call) (*answer, error) {
	resp, err := h.sessions.GetSessionResult(c.ctx, &statev1.GetSessionResultRequest{
		SessionId: c.path("session_id"), Session: c.header(headerSession),
	})
	return shown(resp, err, jsonview.SessionResultOf)
}

func (h *sessions) resume(c *call, in ResumeSessionRequest) (*answer, error) {
	return answerSession(h.sessions.ResumeSession(c.ctx, &statev1.ResumeSessionRequest{
		SessionId: c.path("session_id"), Session: c.header(headerSession), IdempotencyKey: c.header(headerIdempotency), Prompt: in.Prompt,
	}))
}

func (h *sessions) grant(c *call, in GrantRequest) (*answer, error) {
	if err := missing(requirement{"/state_id", in.StateID != ""}); err != nil {
		return nil, err
	}
	return answerSession(h.sessions.GrantStateAccess(c.ctx, &statev1.GrantStateAccessRequest{SessionId: c.path("session_id"), StateId: in.StateID}))
}

func (h *sessions) revoke(c *call) (*answer, error) {
	return done(h.sessions.GrantStateAccess(c.ctx, &statev1.GrantStateAccessRequest{
		SessionId: c.path("session_id"), StateId: c.path("state_id"), Revoke: true,
	}))
}

// TaskList is one page of tasks, those of the newest session first.
type TaskList struct {
	Tasks         []jsonview.Task `json:"tasks"`
	NextPageToken string          `json:"next_page_token" doc:"page_token of the next page; empty at the end."`
}

// tasks serves the tasks of runners, for people: runners take tasks over gRPC.
type tasks struct {
	tasks statev1.TaskServiceClient
}

func (h *tasks) routes(add func(route)) {
	add(route{
		method: http.MethodGet, path: "/v1/tasks", id: "listTasks", summary: "List tasks of runners",
		params: []param{
			inQuery("session", "Only tasks of this session, by id or name."),
			{name: "status", in: "query", about: "Only tasks in this status.", values: jsonview.TaskStatuses()},
			pageSizeParam, pageTokenParam,
		},
		fields:  map[string]string{"session": "session"},
		answers: answers[TaskList](http.StatusOK), serve: h.list,
	})
}

func (h *tasks) list(c *call) (*answer, error) {
	status, err := c.choice("status", statev1.TaskStatus_value, "TASK_STATUS_", jsonview.TaskStatuses())
	if err != nil {
		return nil, err
	}
	resp, err := h.tasks.ListTasks(c.ctx, &statev1.ListTasksRequest{
		PageSize: c.size, PageToken: c.token,
		Filter: listing.Filter(
			listing.Term{Key: "session", Value: c.query.Get("session")},
			listing.Term{Key: "status", Value: protomap.Word(statev1.TaskStatus(status), "TASK_STATUS_")},
		),
	})
	if err != nil {
		return nil, err
	}
	return ok(TaskList{Tasks: jsonview.Each(resp.GetTasks(), jsonview.TaskOf), NextPageToken: resp.GetNextPageToken()}), nil
}
