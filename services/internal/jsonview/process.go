package jsonview

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
)

// Process is one immutable version of a process (S8).
type Process struct {
	ProcessID  string         `json:"process_id,omitzero" doc:"The same in each of its versions. Absent from one from before there were ids."`
	Name       string         `json:"name"`
	Version    int64          `json:"version"`
	Digest     string         `json:"digest" doc:"Hex SHA-256 of the canonical JSON (RFC 8785)."`
	Definition jsontext.Value `json:"definition,omitzero" doc:"The definition as it was written. Not in lists."`
	Tools      []string       `json:"tools" doc:"The tools that its sessions may use at an endpoint for processes."`
	CreatedAt  time.Time      `json:"created_at"`
	UpdatedAt  time.Time      `json:"updated_at" doc:"The same as created_at: a version never changes."`
	CreatedBy  string         `json:"created_by"`
	// LiveVersion and Retired are of the name, as of the answer.
	LiveVersion int64       `json:"live_version,omitzero" doc:"The version that new runs get; absent when none is live yet."`
	Retired     *Retirement `json:"retired,omitzero" doc:"Set when no new runs are started."`
}

// Turn is where a session of a process stands, as its agent is notified.
type Turn struct {
	InitialPrompt string   `json:"initial_prompt,omitzero" doc:"Given before the first turn."`
	Question      string   `json:"question" doc:"Empty when the session has ended."`
	Answers       []string `json:"answers"`
	Status        string   `json:"status" enum:"RUNNING,WAITING,AWAITING_APPROVAL,PAUSED,HELD,COMPLETED,FAILED,BLOCKED,CANCELLED"`
	State         string   `json:"state"`
	Text          string   `json:"text" doc:"The text for the agent: the outcome of its answer, and the next question with its answers, or the end."`
}

// ProcessOf returns the JSON of a process.
func ProcessOf(p *enginev1.Process) Process {
	return Process{
		ProcessID: p.GetProcessId(), Name: p.GetName(), Version: p.GetVersion(), Digest: p.GetDigest(), Definition: rawOf(p.GetDefinition()), Tools: p.GetTools(),
		CreatedAt: Time(p.GetCreatedAt()), UpdatedAt: Time(p.GetCreatedAt()), CreatedBy: p.GetCreatedBy(),
		LiveVersion: p.GetLiveVersion(), Retired: retirementOf(p.GetRetired()),
	}
}

// TurnOf returns the JSON of a turn.
func TurnOf(t *enginev1.Turn) Turn {
	return Turn{
		InitialPrompt: t.GetInitialPrompt(), Question: t.GetQuestion(), Answers: t.GetAnswers(),
		Status: StatusName(t.GetStatus()), State: t.GetState(), Text: t.GetText(),
	}
}
