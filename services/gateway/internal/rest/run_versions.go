package rest

import (
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// RunVersion is a run as it was after a change.
type RunVersion struct {
	Version int64     `json:"version"`
	At      time.Time `json:"at" doc:"When the change was made."`
	RunLane
	Branches []RunBranch `json:"branches,omitempty" doc:"The branches that had not ended."`
}

// RunBranch is a branch of a run as it was.
type RunBranch struct {
	Branch string `json:"branch" doc:"Path of the branch."`
	RunLane
}

// RunLane is where a run, or a branch of it, stood.
type RunLane struct {
	State           string                    `json:"state"`
	Status          string                    `json:"status"`
	SessionID       string                    `json:"session_id,omitzero" doc:"The session that drove the run."`
	Context         jsontext.Value            `json:"context"`
	AllowedTools    *[]string                 `json:"allowed_tools" doc:"null when the state does not restrict tools."`
	DisallowedTools []string                  `json:"disallowed_tools,omitempty"`
	AllowedCommands *[]string                 `json:"allowed_commands" doc:"null when the state does not restrict commands."`
	Limits          StateLimits               `json:"limits"`
	LegalEvents     []jsonview.LegalEvent     `json:"legal_events"`
	Interrupt       *jsonview.Interruption    `json:"interrupt,omitzero" doc:"Set when the handler of an interrupt was at work."`
	Child           *jsonview.Invocation      `json:"child,omitzero" doc:"Set when it waited for a run that it had invoked."`
	PendingApproval *jsonview.PendingApproval `json:"pending_approval,omitzero" doc:"Set when it waited for humans."`
}

// StateLimits are the limits of a state; absent ones are none.
type StateLimits struct {
	MaxIterations      int64 `json:"max_iterations,omitzero"`
	MaxEditLines       int64 `json:"max_edit_lines,omitzero"`
	MaxFilesPerState   int64 `json:"max_files_per_state,omitzero"`
	ContextBudgetBytes int64 `json:"context_budget_bytes,omitzero"`
}

func (h *runs) versionRoutes(add func(route)) {
	add(route{
		method: http.MethodGet, path: "/v1/runs/{id}/versions/{n}", id: "getRunVersion", summary: "A run as it was",
		about: "The result of its history when it is played again by the version of the workflow that it is pinned to. " +
			"Counts are not in it. 404 when the start of the history is no longer kept.",
		params:  []param{inPath("id", "Id of the run."), {name: "n", in: "path", about: "The version of the run, from 1.", integer: true}},
		answers: answers[RunVersion](http.StatusOK), serve: h.version,
	})
}

func (h *runs) version(c *call) (*answer, error) {
	version, err := c.version("n", c.path("n"))
	if err != nil {
		return nil, err
	}
	resp, err := h.runs.GetRunVersion(c.ctx, &enginev1.GetRunVersionRequest{RunId: c.path("id"), Version: version})
	return shown(resp, err, func(r *enginev1.GetRunVersionResponse) RunVersion {
		run := r.GetRun()
		v := RunVersion{Version: run.GetVersion(), At: jsonview.Time(run.GetUpdatedAt()), RunLane: laneOf(run)}
		for _, b := range r.GetBranches() {
			v.Branches = append(v.Branches, RunBranch{Branch: b.GetBranch(), RunLane: laneOf(b)})
		}
		return v
	})
}

func laneOf(r *enginev1.Run) RunLane {
	run := jsonview.RunOf(r)
	return RunLane{
		State: run.State, Status: run.Status, SessionID: run.SessionID, Context: run.Context,
		AllowedTools: run.AllowedTools, DisallowedTools: run.DisallowedTools, AllowedCommands: run.AllowedCommands,
		Limits: StateLimits{
			MaxIterations: run.MaxIterations, MaxEditLines: run.MaxEditLines, MaxFilesPerState: run.MaxFilesPerState,
			ContextBudgetBytes: run.ContextBudgetBytes,
		},
		LegalEvents: run.LegalEvents, Interrupt: run.Interrupt, Child: run.Child, PendingApproval: run.PendingApproval,
	}
}
