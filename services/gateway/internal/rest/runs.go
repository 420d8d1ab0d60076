package rest

import (
	"cmp"
	"math"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/types/known/durationpb"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/pulse"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/listing"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

// StartRunRequest begins a run, or gives a branch of one to a session.
type StartRunRequest struct {
	Workflow  string         `json:"workflow,omitzero" doc:"Name of a registered workflow. Required, but with branch and run_id."`
	Version   int64          `json:"version,omitzero" doc:"Version of the workflow; 0 or absent for the latest."`
	SessionID string         `json:"session_id,omitzero" doc:"The session that drives the run."`
	Context   jsontext.Value `json:"context,omitzero" doc:"A JSON object that merges over the workflow's context."`
	Workspace string         `json:"workspace,omitzero" doc:"Root that file globs are relative to."`
	Resume    bool           `json:"resume,omitzero" doc:"Resume the newest paused run of this workflow instead, when there is one; then the status is 200."`
	Branch    string         `json:"branch,omitzero" doc:"Start nothing, and give this branch of a run's fork to the session, with status 200: later acts of the session are judged in that branch alone."`
	RunID     string         `json:"run_id,omitzero" doc:"The run that has the branch; or else the caller's only run of the workflow that has it."`
}

// TransitionRequest asks a run to move on.
type TransitionRequest struct {
	Event           string         `json:"event"`
	Data            jsontext.Value `json:"data,omitzero" doc:"A JSON object that merges into the context after the transition."`
	ExpectedVersion int64          `json:"expected_version,omitzero" doc:"409 unless the run is at this version; 0 or absent for any. If-Match says the same, with 412."`
	Branch          string         `json:"branch,omitzero" doc:"The branch of the run's fork that the event is for; by default the one that unbound callers work in."`
	DryRun          bool           `json:"dry_run,omitzero" doc:"Only decide: the run of the answer is as it would be, and stays as it is. approval_id is dry_run where humans would be asked."`
	Tree            string         `json:"tree,omitzero" maxLength:"128" doc:"Digest of the workspace's files now, from a caller that observes; from any other it is ignored."`
}

// ForceStateRequest jumps to any state.
type ForceStateRequest struct {
	State           string         `json:"state"`
	Context         jsontext.Value `json:"context,omitzero" doc:"A JSON object that merges over the run's context."`
	ExpectedVersion int64          `json:"expected_version,omitzero" doc:"409 unless the run is at this version; 0 or absent for any. If-Match says the same, with 412."`
	Branch          string         `json:"branch,omitzero" doc:"The branch of the run's fork that jumps; by default the one that unbound callers work in."`
}

// TransitionResponse is the answer to a transition or a force-state, also to a
// refused one.
type TransitionResponse struct {
	Accepted   bool                `json:"accepted"`
	Run        jsonview.Run        `json:"run" doc:"The run whose rules are in force now: after an invoke the child, after the child's end the run that continues."`
	Rejection  *jsonview.Rejection `json:"rejection,omitzero"`
	ApprovalID string              `json:"approval_id,omitzero" doc:"Set when the transition waits for an approval."`
	Note       string              `json:"note,omitzero" doc:"Why an accepted event has had no effect."`
}

// ReasonRequest says why.
type ReasonRequest struct {
	Reason string `json:"reason,omitzero" doc:"Kept in the run's history."`
}

// EmptyRequest is an empty object, or an empty body.
type EmptyRequest struct{}

// RunList is one page of runs, newest first.
type RunList struct {
	Runs          []jsonview.Run `json:"runs"`
	NextPageToken string         `json:"next_page_token" doc:"page_token of the next page; empty at the end."`
}

// runs serves the routes of runs.
type runs struct {
	runs   enginev1.RunServiceClient
	leases *leases
	boards *boards
	now    func() time.Time
}

func (h *runs) routes(add func(route)) {
	h.versionRoutes(add)
	h.migrationRoutes(add)
	id := inPath("id", "Id of the run.")
	run := answers[jsonview.Run](http.StatusOK)
	add(route{
		method: http.MethodPost, path: "/v1/runs", id: "startRun", summary: "Start a run, or give a branch of one to a session",
		params: []param{idempotencyParam}, body: jsonBody, request: reflect.TypeFor[StartRunRequest](),
		fields:  map[string]string{"workflow_version": "version"},
		answers: answers[jsonview.Run](http.StatusCreated, http.StatusOK), serve: taking(h.start),
	})
	add(route{
		method: http.MethodGet, path: "/v1/runs", id: "listRuns", summary: "List runs",
		params: []param{
			{name: "status", in: "query", about: "Only runs in this status.", values: jsonview.StatusNames()},
			inQuery("workflow", "Only runs of this workflow."), inQuery("session_id", "Only runs that this session drives."),
			inQuery("schedule", "Only runs that this schedule has started."),
			inQuery("text", "Only runs with this text in the workflow, the state, the session or the id, in either case."),
			{name: "not_status", in: "query", about: "No runs in this status; several by commas, or by repeating it.", repeated: true},
			{name: "not_workflow", in: "query", about: "No runs of this workflow; several by commas, or by repeating it.", repeated: true},
			{
				name: "denied", in: "query", values: []string{"true", "false"},
				about: "With true, only runs of which a tool call was denied in the last hour, as far as the latest events show. For observers and above.",
			},
			inQuery("updated_after", "Only runs that have changed at this time or later: RFC 3339, or how long ago, e.g. 24h."),
			inQuery("updated_before", "Only runs that have changed last before this time: RFC 3339, or how long ago."),
			inQuery("stale_for", "Only active runs that have made no progress for so long, e.g. 10m: the most silent first, in one page."),
			beforeParam, prefixParam, pageSizeParam, pageTokenParam,
		},
		about: "Newest first. status, workflow, session_id and schedule have an index. With the other filters at most 2,000 runs are looked at for " +
			"one page: it may hold less, or none, and next_page_token continues.",
		answers: answers[RunList](http.StatusOK), serve: h.list,
	})
	add(route{
		method: http.MethodGet, path: "/v1/runs/{id}", id: "getRun", summary: "Get a run",
		params: []param{
			id, inQuery("branch", "The branch to see the run in; by default the one that unbound callers work in."),
			{
				name: "active", in: "query", values: []string{"true", "false"},
				about: "With true, the run whose rules are in force instead: the innermost that this one has invoked and waits for.",
			},
		},
		answers: run, serve: h.get,
	})
	add(route{
		method: http.MethodGet, path: "/v1/runs/{id}/history", id: "getRunHistory", summary: "History of a run",
		about: "Every change, oldest first. Tool results come after the change that made the version they came at.",
		params: []param{
			id, intQuery("after", "Only changes with a greater run_version."), intQuery("after_version", "The same as after."),
			intQuery("after_result", "Only tool results with a greater number."), pageSizeParam,
		},
		answers: answers[History](http.StatusOK), serve: h.history,
	})
	ifMatch := param{name: headerIfMatch, in: "header", about: "ETag of the run: 412 unless the run is at this version."}
	add(route{
		method: http.MethodPost, path: "/v1/runs/{id}/transition", id: "transitionRun", summary: "Ask a run to move on",
		about:  "A refusal is a 200 with accepted = false and a rejection that teaches.",
		params: []param{id, idempotencyParam, ifMatch}, body: jsonBody, request: reflect.TypeFor[TransitionRequest](),
		answers: answers[TransitionResponse](http.StatusOK), serve: taking(h.transition),
	})
	add(route{
		method: http.MethodPost, path: "/v1/runs/{id}/force-state", id: "forceState", summary: "Jump to any state",
		about: "Only of workflows with meta.debug: past guards, counters and approvals. Agents can where meta.debug is " +
			"true and meta.enforcement is \"while_running\". " +
			"A refusal is a 200 with accepted = false and a rejection that teaches.",
		params: []param{id, idempotencyParam, ifMatch}, body: jsonBody, request: reflect.TypeFor[ForceStateRequest](),
		answers: answers[TransitionResponse](http.StatusOK), serve: taking(h.forceState),
	})
	for _, change := range []struct {
		name, summary string
		request       reflect.Type
		serve         func(*call) (*answer, error)
	}{
		{"pause", "Pause a run", reflect.TypeFor[ReasonRequest](), taking(h.pause)},
		{"resume", "Resume a paused run", reflect.TypeFor[EmptyRequest](), taking(h.resume)},
		{"cancel", "End a run", reflect.TypeFor[ReasonRequest](), taking(h.cancel)},
	} {
		add(route{
			method: http.MethodPost, path: "/v1/runs/{id}/" + change.name, id: change.name + "Run", summary: change.summary,
			params: []param{id, idempotencyParam}, body: optionalJSON, request: change.request, answers: run, serve: change.serve,
		})
	}
}

// answerRun returns the run of a response with its version as the entity tag.
func answerRun[R interface{ GetRun() *enginev1.Run }](resp R, err error) (*answer, error) {
	if err != nil {
		return nil, err
	}
	return ok(jsonview.RunOf(resp.GetRun())).tagged(etag(resp.GetRun().GetVersion())), nil
}

// tagOf returns the entity tag of the run that the path names; none when the answer shows
// another, one that it has invoked or that waits for it.
func (c *call) tagOf(r *enginev1.Run) string {
	if r.GetRunId() != c.path("id") {
		return ""
	}
	return etag(r.GetVersion())
}

func (h *runs) start(c *call, in StartRunRequest) (*answer, error) {
	if in.Branch != "" {
		return h.bindBranch(c, &in)
	}
	if err := missing(requirement{"/workflow", in.Workflow != ""}); err != nil {
		return nil, err
	}
	if in.RunID != "" {
		return nil, badBody(fault.InvalidRequest, inBody("/run_id", "CONFLICT", "is for a branch of a run; give branch too, or leave it out"))
	}
	initial, err := object("/context", in.Context)
	if err != nil {
		return nil, err
	}
	resp, err := h.runs.StartRun(c.ctx, &enginev1.StartRunRequest{
		Workflow: in.Workflow, WorkflowVersion: in.Version, SessionId: in.SessionID, Context: initial,
		Workspace: in.Workspace, IdempotencyKey: c.header(headerIdempotency), Resume: in.Resume,
	})
	reply, err := answerRun(resp, err)
	if err == nil && !resp.GetResumed() {
		reply = reply.at("/v1/runs/"+url.PathEscape(resp.GetRun().GetRunId()), true)
	}
	return reply, err
}

// bindBranch gives a branch to a session instead of starting a run.
func (h *runs) bindBranch(c *call, in *StartRunRequest) (*answer, error) {
	if err := missing(requirement{"/session_id", in.SessionID != ""},
		requirement{"/workflow", in.Workflow != "" || in.RunID != ""}); err != nil {
		return nil, err
	}
	if in.Version != 0 || len(in.Context) > 0 && in.Context.Kind() != 'n' || in.Workspace != "" || in.Resume {
		return nil, badBody(fault.InvalidRequest, inBody("/branch", "CONFLICT",
			"the run of a branch is started already; leave out version, context, workspace and resume"))
	}
	return answerRun(h.runs.BindBranch(c.ctx, &enginev1.BindBranchRequest{
		RunId: in.RunID, Workflow: in.Workflow, Branch: in.Branch, SessionId: in.SessionID,
	}))
}

func (h *runs) list(c *call) (*answer, error) {
	req, err := c.runsRequest(h.now())
	if err != nil {
		return nil, err
	}
	denied, err := c.flag("denied")
	if err != nil {
		return nil, err
	}
	if !denied {
		resp, err := h.runs.ListRuns(c.ctx, req)
		return shown(resp, err, runList)
	}
	var ids []string
	if _, err = h.boards.look(c, func(b *pulse.Board, now time.Time) { ids = b.Denied(now) }); err != nil {
		return nil, err
	}
	return h.listThese(c, req, ids)
}

func runList(r *enginev1.ListRunsResponse) RunList {
	return RunList{Runs: jsonview.Each(r.GetRuns(), jsonview.RunOf), NextPageToken: r.GetNextPageToken()}
}

// mostStale is the longest silence that a list asks for.
const mostStale = 366 * 24 * time.Hour

// mostIDs is how many runs one request may name.
const mostIDs = 1000

// listThese returns a page of those of some runs that a request asks for; they are newest
// first.
func (h *runs) listThese(c *call, req *enginev1.ListRunsRequest, ids []string) (*answer, error) {
	ids = slices.DeleteFunc(ids, func(id string) bool { return c.token != "" && id >= c.token })
	more := ""
	if len(ids) > mostIDs {
		more, ids = ids[mostIDs-1], ids[:mostIDs]
	}
	if len(ids) == 0 {
		return ok(RunList{Runs: []jsonview.Run{}}), nil
	}
	req.RunIds = ids
	resp, err := h.runs.ListRuns(c.ctx, req)
	return shown(resp, err, func(r *enginev1.ListRunsResponse) RunList {
		list := runList(r)
		list.NextPageToken = cmp.Or(list.NextPageToken, more)
		return list
	})
}

// runsRequest returns the list that the query asks for.
func (c *call) runsRequest(now time.Time) (*enginev1.ListRunsRequest, error) {
	status, err := c.upperChoice("status", enginev1.RunStatus_value, "RUN_STATUS_", jsonview.StatusNames())
	if err != nil {
		return nil, err
	}
	others := c.several("not_status")
	for _, other := range others {
		if enginev1.RunStatus_value["RUN_STATUS_"+other] == 0 {
			return nil, notOneOf("not_status", jsonview.StatusNames())
		}
	}
	after, err := c.momentTerm("updated_after", now)
	if err != nil {
		return nil, err
	}
	before, err := c.momentTerm("updated_before", now)
	if err != nil {
		return nil, err
	}
	stale, err := c.duration("stale_for", mostStale)
	if err != nil {
		return nil, err
	}
	var silent *durationpb.Duration
	if stale > 0 {
		silent = durationpb.New(max(stale, time.Second))
	}
	return &enginev1.ListRunsRequest{
		StaleFor: silent, PageSize: c.size, PageToken: c.token, View: enginev1.RunView_RUN_VIEW_FULL,
		Filter: listing.Filter(
			listing.Term{Key: "status", Value: protomap.Word(enginev1.RunStatus(status), "RUN_STATUS_")},
			listing.Term{Key: "workflow", Value: c.query.Get("workflow")}, listing.Term{Key: "session_id", Value: c.query.Get("session_id")},
			listing.Term{Key: "schedule", Value: c.query.Get("schedule")},
			listing.Term{Key: "text", Value: c.query.Get("text")}, listing.Term{Key: "not_status", Value: listing.List(others...)},
			listing.Term{Key: "not_workflow", Value: listing.List(c.several("not_workflow")...)}, after, before, c.before(), c.prefix(),
		),
	}, nil
}

func (h *runs) get(c *call) (*answer, error) {
	active, err := c.flag("active")
	if err != nil {
		return nil, err
	}
	resp, err := h.runs.GetRun(c.ctx, &enginev1.GetRunRequest{
		RunId: c.path("id"), Branch: c.query.Get("branch"), Active: active,
	})
	if err != nil {
		return nil, err
	}
	view := jsonview.RunOf(resp.GetRun())
	view.Leases = h.leases.of(c.ctx, view.RunID)
	return ok(view).tagged(c.tagOf(resp.GetRun())), nil
}

func (h *runs) pause(c *call, in ReasonRequest) (*answer, error) {
	return answerRun(h.runs.PauseRun(c.ctx, &enginev1.PauseRunRequest{
		RunId: c.path("id"), Reason: in.Reason, IdempotencyKey: c.header(headerIdempotency),
	}))
}

func (h *runs) resume(c *call, _ EmptyRequest) (*answer, error) {
	return answerRun(h.runs.ResumeRun(c.ctx, &enginev1.ResumeRunRequest{
		RunId: c.path("id"), IdempotencyKey: c.header(headerIdempotency),
	}))
}

func (h *runs) cancel(c *call, in ReasonRequest) (*answer, error) {
	return answerRun(h.runs.CancelRun(c.ctx, &enginev1.CancelRunRequest{
		RunId: c.path("id"), Reason: in.Reason, IdempotencyKey: c.header(headerIdempotency),
	}))
}

// History is one page of the changes of a run, oldest first.
type History struct {
	Entries          []jsonview.HistoryEntry `json:"entries"`
	NextAfterVersion int64                   `json:"next_after_version" doc:"after of the next page; 0 with next_after_result at the end."`
	NextAfterResult  int64                   `json:"next_after_result" doc:"after_result of the next page; 0 with next_after_version at the end."`
}

func (h *runs) history(c *call) (*answer, error) {
	if c.query.Has("after") && c.query.Has("after_version") {
		return nil, badParameter("after_version", "CONFLICT", "says the same as after; give one of them")
	}
	name := "after"
	if c.query.Has("after_version") {
		name = "after_version"
	}
	version, err := c.number(name, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	result, err := c.number("after_result", math.MaxInt64)
	if err != nil {
		return nil, err
	}
	resp, err := h.runs.GetRunHistory(c.ctx, &enginev1.GetRunHistoryRequest{
		RunId: c.path("id"), AfterVersion: version, AfterResult: result, PageSize: c.size,
	})
	if err != nil {
		return nil, err
	}
	return ok(History{
		Entries:          jsonview.HistoryOf(resp.GetEntries()),
		NextAfterVersion: resp.GetNextAfterVersion(), NextAfterResult: resp.GetNextAfterResult(),
	}), nil
}
