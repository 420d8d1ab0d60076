package rest

import (
	"net/http"
	"net/url"
	"reflect"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// ProcessRegistration is the answer to registering a process.
type ProcessRegistration struct {
	jsonview.Process
	Created  bool      `json:"created" doc:"False when exactly this content was there already."`
	Warnings []Finding `json:"warnings"`
}

// ProcessList is one page of processes, each in its latest version, by name.
type ProcessList struct {
	Processes     []jsonview.Process `json:"processes"`
	NextPageToken string             `json:"next_page_token" doc:"page_token of the next page; empty at the end."`
}

// StartProcessRequest begins a run of a process.
type StartProcessRequest struct {
	SessionID string `json:"session_id,omitzero" doc:"The session that answers."`
	Version   int64  `json:"version,omitzero" doc:"Version of the process; 0 or absent for the latest."`
	Workspace string `json:"workspace,omitzero" doc:"Root that file globs are relative to."`
}

// StartedProcess is the run and its first question.
type StartedProcess struct {
	Run  jsonview.Run  `json:"run"`
	Turn jsonview.Turn `json:"turn"`
}

// AnswerRequest is an answer to the present question of a process.
type AnswerRequest struct {
	Answer          string `json:"answer,omitzero" doc:"One of the answers of the question; empty or absent to get the question again."`
	Note            string `json:"note,omitzero" doc:"Why; kept in the run's history."`
	ExpectedVersion int64  `json:"expected_version,omitzero" doc:"409 unless the run is at this version; 0 or absent for any. If-Match says the same, with 412."`
}

// AnswerResponse is the outcome of an answer, also of a refused one.
type AnswerResponse struct {
	Accepted   bool                `json:"accepted"`
	Run        jsonview.Run        `json:"run"`
	Turn       jsonview.Turn       `json:"turn" doc:"The next question, or the present one again."`
	Rejection  *jsonview.Rejection `json:"rejection,omitzero"`
	ApprovalID string              `json:"approval_id,omitzero" doc:"Set when a human is asked first."`
}

const processDefinition = "A process: name, initial_prompt and states with questions and answers."

// processes serves the routes of processes.
type processes struct {
	processes enginev1.ProcessServiceClient
}

func (h *processes) routes(add func(route)) {
	const path = "/v1/processes/{name}"
	name := inPath("name", "Name of the process.")
	one := answers[jsonview.Process](http.StatusOK)
	add(route{
		method: http.MethodPost, path: "/v1/processes", id: "registerProcess", summary: "Register a process",
		about: "The body is the definition itself, as JSON or YAML. 201 for a new version, 200 when this content was there already; " +
			"422 with every problem when it is invalid. Workflows and processes share one set of names.",
		params: registrationParams(), byDigest: true, body: definitionBody, definition: processDefinition,
		answers: answers[ProcessRegistration](http.StatusCreated, http.StatusOK), serve: h.register,
	})
	add(route{
		method: http.MethodGet, path: "/v1/processes", id: "listProcesses", summary: "List processes",
		params: []param{pageSizeParam, pageTokenParam}, answers: answers[ProcessList](http.StatusOK), serve: h.list,
	})
	add(route{
		method: http.MethodGet, path: path, id: "getProcess", summary: "Live version of a process",
		params: []param{name}, answers: one, serve: h.get,
	})
	add(route{
		method: http.MethodGet, path: path + "/versions/{n}", id: "getProcessVersion", summary: "One version of a process",
		params:  []param{name, {name: "n", in: "path", about: "The version, from 1.", integer: true}},
		answers: one, serve: h.get,
	})
	add(route{
		method: http.MethodPost, path: path + "/start", id: "startProcess", summary: "Start a process",
		about:  "Answers the run and its first question, after the initial prompt.",
		params: []param{name, idempotencyParam}, body: optionalJSON, request: reflect.TypeFor[StartProcessRequest](),
		fields:  map[string]string{"process": "name"},
		answers: answers[StartedProcess](http.StatusCreated), serve: taking(h.start),
	})
	add(route{
		method: http.MethodPost, path: "/v1/runs/{id}/answer", id: "answerQuestion", summary: "Answer the present question of a process",
		about: "A refusal is a 200 with accepted = false and a rejection that lists the valid answers.",
		params: []param{
			inPath("id", "Id of the run."), idempotencyParam,
			{name: headerIfMatch, in: "header", about: "ETag of the run: 412 unless the run is at this version."},
		},
		body: jsonBody, request: reflect.TypeFor[AnswerRequest](), answers: answers[AnswerResponse](http.StatusOK), serve: taking(h.answer),
	})
}

func (h *processes) register(c *call) (*answer, error) {
	text, err := wholeDefinition(c)
	if err != nil {
		return nil, err
	}
	on, err := c.registration()
	if err != nil {
		return nil, err
	}
	resp, err := h.processes.RegisterProcess(c.ctx, &enginev1.RegisterProcessRequest{
		Definition: text, IdempotencyKey: c.header(headerIdempotency),
		ExpectedVersion: on.version, ExpectedDigest: on.digest, Staged: on.staged, DryRun: on.dryRun,
	})
	if err != nil {
		return nil, on.refused(err)
	}
	p := resp.GetProcess()
	return ok(ProcessRegistration{
		Process: jsonview.ProcessOf(p), Created: resp.GetCreated(), Warnings: findings(resp.GetWarnings()),
	}).at(versionPath("/v1/processes", p.GetName(), p.GetVersion()), resp.GetCreated() && !on.dryRun), nil
}

func (h *processes) list(c *call) (*answer, error) {
	resp, err := h.processes.ListProcesses(c.ctx, &enginev1.ListProcessesRequest{PageSize: c.size, PageToken: c.token})
	return shown(resp, err, func(r *enginev1.ListProcessesResponse) ProcessList {
		return ProcessList{Processes: jsonview.Each(r.GetProcesses(), jsonview.ProcessOf), NextPageToken: r.GetNextPageToken()}
	})
}

// get serves the latest version, or the one in the path.
func (h *processes) get(c *call) (*answer, error) {
	version, err := c.version("n", c.path("n"))
	if err != nil {
		return nil, err
	}
	resp, err := h.processes.GetProcess(c.ctx, &enginev1.GetProcessRequest{Name: c.path("name"), Version: version})
	if err != nil {
		return nil, err
	}
	return ok(jsonview.ProcessOf(resp.GetProcess())).tagged(`"` + resp.GetProcess().GetDigest() + `"`), nil
}

func (h *processes) start(c *call, in StartProcessRequest) (*answer, error) {
	resp, err := h.processes.StartProcess(c.ctx, &enginev1.StartProcessRequest{
		Process: c.path("name"), Version: in.Version, SessionId: in.SessionID, Workspace: in.Workspace,
		IdempotencyKey: c.header(headerIdempotency),
	})
	if err != nil {
		return nil, err
	}
	return ok(StartedProcess{Run: jsonview.RunOf(resp.GetRun()), Turn: jsonview.TurnOf(resp.GetTurn())}).
		tagged(etag(resp.GetRun().GetVersion())).at("/v1/runs/"+url.PathEscape(resp.GetRun().GetRunId()), true), nil
}

func (h *processes) answer(c *call, in AnswerRequest) (*answer, error) {
	version, err := c.expected(in.ExpectedVersion)
	if err != nil {
		return nil, err
	}
	resp, err := h.processes.AnswerQuestion(c.ctx, &enginev1.AnswerQuestionRequest{
		RunId: c.path("id"), Answer: in.Answer, Note: in.Note, ExpectedVersion: version, IdempotencyKey: c.header(headerIdempotency),
	})
	if err != nil {
		return nil, err
	}
	return ok(AnswerResponse{
		Accepted: resp.GetAccepted(), Run: jsonview.RunOf(resp.GetRun()), Turn: jsonview.TurnOf(resp.GetTurn()),
		Rejection: jsonview.RejectionOf(resp.GetRejection()), ApprovalID: resp.GetApprovalId(),
	}).tagged(c.tagOf(resp.GetRun())), nil
}
