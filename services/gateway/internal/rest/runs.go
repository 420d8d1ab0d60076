package rest

import (
	"math"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// StartRunRequest begins a run.
type StartRunRequest struct {
	Workflow  string         `json:"workflow" doc:"Name of a registered workflow."`
	Version   int64          `json:"version,omitzero" doc:"Version of the workflow; 0 or absent for the latest."`
	SessionID string         `json:"session_id,omitzero" doc:"The session that drives the run."`
	Context   jsontext.Value `json:"context,omitzero" doc:"A JSON object that merges over the workflow's context."`
	Workspace string         `json:"workspace,omitzero" doc:"Root that file globs are relative to."`
	Resume    bool           `json:"resume,omitzero" doc:"Resume the newest paused run of this workflow instead, when there is one; then the status is 200."`
}

// TransitionRequest asks a run to move on.
type TransitionRequest struct {
	Event           string         `json:"event"`
	Data            jsontext.Value `json:"data,omitzero" doc:"A JSON object that merges into the context after the transition."`
	ExpectedVersion int64          `json:"expected_version,omitzero" doc:"409 unless the run is at this version; 0 or absent for any. If-Match says the same, with 412."`
}

// TransitionResponse is the answer to a transition, also to a refused one.
type TransitionResponse struct {
	Accepted   bool       `json:"accepted"`
	Run        Run        `json:"run"`
	Rejection  *Rejection `json:"rejection,omitzero"`
	ApprovalID string     `json:"approval_id,omitzero" doc:"Set when the transition waits for an approval."`
}

// ReasonRequest says why.
type ReasonRequest struct {
	Reason string `json:"reason,omitzero" doc:"Kept in the run's history."`
}

// EmptyRequest is an empty object, or nothing.
type EmptyRequest struct{}

// RunList is one page of runs, newest last.
type RunList struct {
	Runs          []Run  `json:"runs"`
	NextPageToken string `json:"next_page_token" doc:"page_token of the next page; empty at the end."`
}

// History is one page of a run's changes, oldest first.
type History struct {
	Entries          []HistoryEntry `json:"entries"`
	NextAfterVersion int64          `json:"next_after_version" doc:"after_version of the next page; 0 at the end."`
}

func (e *edge) runRoutes() {
	id := inPath("id", "Id of the run.")
	run := answers[Run](http.StatusOK)
	e.add(route{
		method: http.MethodPost, path: "/v1/runs", id: "startRun", summary: "Start a run",
		params: []param{idempotencyParam}, body: jsonBody, request: reflect.TypeFor[StartRunRequest](),
		answers: map[int]reflect.Type{http.StatusCreated: reflect.TypeFor[Run](), http.StatusOK: reflect.TypeFor[Run]()},
		serve:   e.startRun,
	})
	e.add(route{
		method: http.MethodGet, path: "/v1/runs", id: "listRuns", summary: "List runs",
		params: []param{
			{name: "status", in: "query", about: "Only runs in this status.", values: jsonview.StatusNames()},
			inQuery("workflow", "Only runs of this workflow."), pageSizeParam, pageTokenParam,
		},
		answers: answers[RunList](http.StatusOK), serve: e.listRuns,
	})
	e.add(route{
		method: http.MethodGet, path: "/v1/runs/{id}", id: "getRun", summary: "Get a run",
		params: []param{id}, answers: run, serve: e.getRun,
	})
	e.add(route{
		method: http.MethodGet, path: "/v1/runs/{id}/history", id: "getRunHistory", summary: "History of a run",
		params:  []param{id, intQuery("after_version", "Only entries with a greater run_version."), pageSizeParam},
		answers: answers[History](http.StatusOK), serve: e.history,
	})
	e.add(route{
		method: http.MethodPost, path: "/v1/runs/{id}/transition", id: "transition", summary: "Ask a run to move on",
		about: "A refusal is a 200 with accepted = false and a rejection that teaches.",
		params: []param{id, idempotencyParam, {
			name: headerIfMatch, in: "header", about: "ETag of the run: 412 unless the run is at this version.",
		}},
		body: jsonBody, request: reflect.TypeFor[TransitionRequest](),
		answers: answers[TransitionResponse](http.StatusOK), serve: e.transition,
	})
	for _, change := range []struct {
		name, summary string
		request       reflect.Type
		serve         func(*call) (*answer, error)
	}{
		{"pause", "Pause a run", reflect.TypeFor[ReasonRequest](), e.pauseRun},
		{"resume", "Resume a paused run", reflect.TypeFor[EmptyRequest](), e.resumeRun},
		{"cancel", "End a run", reflect.TypeFor[ReasonRequest](), e.cancelRun},
	} {
		e.add(route{
			method: http.MethodPost, path: "/v1/runs/{id}/" + change.name, id: change.name + "Run", summary: change.summary,
			params: []param{id, idempotencyParam}, body: optionalJSON, request: change.request, answers: run, serve: change.serve,
		})
	}
}

// answerRun is a run with its version as the entity tag.
func answerRun(r *enginev1.Run) *answer {
	reply := ok(jsonview.RunOf(r))
	reply.etag = etag(r.GetVersion())
	return reply
}

func (e *edge) startRun(c *call) (*answer, error) {
	in, err := decode[StartRunRequest](c.body)
	if err != nil {
		return nil, err
	}
	if err := missing(requirement{"/workflow", in.Workflow != ""}); err != nil {
		return nil, err
	}
	initial, err := object("/context", in.Context)
	if err != nil {
		return nil, err
	}
	resp, err := e.Runs.Start(c.ctx, &enginev1.StartRequest{
		Workflow: in.Workflow, WorkflowVersion: in.Version, SessionId: in.SessionID, Context: initial,
		Workspace: in.Workspace, IdempotencyKey: c.header(headerIdempotency), Resume: in.Resume,
	})
	if err != nil {
		return nil, err
	}
	reply := answerRun(resp.GetRun())
	if !resp.GetResumed() {
		reply.status = http.StatusCreated
		reply.location = "/v1/runs/" + url.PathEscape(resp.GetRun().GetRunId())
	}
	return reply, nil
}

func (e *edge) listRuns(c *call) (*answer, error) {
	status := enginev1.RunStatus_RUN_STATUS_UNSPECIFIED
	if name := c.query.Get("status"); name != "" {
		n, known := enginev1.RunStatus_value["RUN_STATUS_"+name]
		if !known || n == 0 {
			return nil, badParameter("status", "ENUM", "must be one of "+strings.Join(jsonview.StatusNames(), ", "))
		}
		status = enginev1.RunStatus(n)
	}
	size, err := c.number("page_size", 1000)
	if err != nil {
		return nil, err
	}
	resp, err := e.Runs.List(c.ctx, &enginev1.RunServiceListRequest{
		Status: status, Workflow: c.query.Get("workflow"),
		PageSize: int32(size), PageToken: c.query.Get("page_token"), // at most 1000
	})
	if err != nil {
		return nil, err
	}
	list := RunList{Runs: make([]Run, len(resp.GetRuns())), NextPageToken: resp.GetNextPageToken()}
	for i, r := range resp.GetRuns() {
		list.Runs[i] = jsonview.RunOf(r)
	}
	return ok(list), nil
}

func (e *edge) getRun(c *call) (*answer, error) {
	resp, err := e.Runs.Get(c.ctx, &enginev1.RunServiceGetRequest{RunId: c.path("id")})
	if err != nil {
		return nil, err
	}
	return answerRun(resp.GetRun()), nil
}

func (e *edge) history(c *call) (*answer, error) {
	after, err := c.number("after_version", math.MaxInt64)
	if err != nil {
		return nil, err
	}
	size, err := c.number("page_size", 1000)
	if err != nil {
		return nil, err
	}
	resp, err := e.Runs.History(c.ctx, &enginev1.HistoryRequest{
		RunId: c.path("id"), AfterVersion: after, PageSize: int32(size), // at most 1000
	})
	if err != nil {
		return nil, err
	}
	return ok(History{Entries: jsonview.HistoryOf(resp.GetEntries()), NextAfterVersion: resp.GetNextAfterVersion()}), nil
}

func (e *edge) transition(c *call) (*answer, error) {
	in, err := decode[TransitionRequest](c.body)
	if err != nil {
		return nil, err
	}
	if err := missing(requirement{"/event", in.Event != ""}); err != nil {
		return nil, err
	}
	if in.ExpectedVersion < 0 {
		return nil, badParameter("/expected_version", "RANGE", "must not be negative; leave it out for any version")
	}
	data, err := object("/data", in.Data)
	if err != nil {
		return nil, err
	}
	match, err := c.ifMatch()
	if err != nil {
		return nil, err
	}
	if match != 0 && in.ExpectedVersion != 0 && match != in.ExpectedVersion {
		return nil, badParameter(headerIfMatch, "CONFLICT", "If-Match and expected_version name different versions; send one of them")
	}
	resp, err := e.Runs.Transition(c.ctx, &enginev1.TransitionRequest{
		RunId: c.path("id"), Event: in.Event, Data: data, ExpectedVersion: max(match, in.ExpectedVersion),
		IdempotencyKey: c.header(headerIdempotency),
	})
	if err != nil {
		return nil, unmatched(err, match)
	}
	reply := ok(TransitionResponse{
		Accepted: resp.GetAccepted(), Run: jsonview.RunOf(resp.GetRun()),
		Rejection: jsonview.RejectionOf(resp.GetRejection()), ApprovalID: resp.GetApprovalId(),
	})
	reply.etag = etag(resp.GetRun().GetVersion())
	return reply, nil
}

// unmatched makes a version conflict a failed precondition when it was If-Match
// that asked for the version (RFC 9110, section 15.5.13).
func unmatched(err error, match int64) error {
	if match == 0 || fault.ReasonOf(err) != fault.VersionConflict {
		return err
	}
	from := problemOf(err)
	p := newProblem(http.StatusPreconditionFailed, from.Code, from.Detail)
	p.CurrentVersion = from.CurrentVersion
	return p
}

func (e *edge) pauseRun(c *call) (*answer, error) {
	in, err := decode[ReasonRequest](c.body)
	if err != nil {
		return nil, err
	}
	resp, err := e.Runs.Pause(c.ctx, &enginev1.PauseRequest{
		RunId: c.path("id"), Reason: in.Reason, IdempotencyKey: c.header(headerIdempotency),
	})
	if err != nil {
		return nil, err
	}
	return answerRun(resp.GetRun()), nil
}

func (e *edge) resumeRun(c *call) (*answer, error) {
	if _, err := decode[EmptyRequest](c.body); err != nil {
		return nil, err
	}
	resp, err := e.Runs.Resume(c.ctx, &enginev1.ResumeRequest{
		RunId: c.path("id"), IdempotencyKey: c.header(headerIdempotency),
	})
	if err != nil {
		return nil, err
	}
	return answerRun(resp.GetRun()), nil
}

func (e *edge) cancelRun(c *call) (*answer, error) {
	in, err := decode[ReasonRequest](c.body)
	if err != nil {
		return nil, err
	}
	resp, err := e.Runs.Cancel(c.ctx, &enginev1.CancelRequest{
		RunId: c.path("id"), Reason: in.Reason, IdempotencyKey: c.header(headerIdempotency),
	})
	if err != nil {
		return nil, err
	}
	return answerRun(resp.GetRun()), nil
}
