package jsonview

import (
	"time"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
)

// OpenCall is an allowed call whose end is not reported: it may change files, or its workflow keeps
// account of effects.
type OpenCall struct {
	CallID    string    `json:"call_id"`
	RunID     string    `json:"run_id"`
	Tool      string    `json:"tool"`
	What      string    `json:"what,omitempty" doc:"The act: a file or a command line, shortened and masked."`
	MadeBy    string    `json:"made_by"`
	AllowedAt time.Time `json:"allowed_at"`
	DueAt     time.Time `json:"due_at,omitzero" doc:"When it becomes unknown, or has become so, where the workflow keeps account of effects."`
	Unknown   bool      `json:"unknown" doc:"True once it was not reported in time, or its end could not be determined."`
}

// OpenCallOf converts a call.
func OpenCallOf(c *policyv1.OpenCall) OpenCall {
	open := OpenCall{
		CallID: c.GetCallId(), RunID: c.GetRunId(), Tool: c.GetTool(), What: c.GetWhat(), MadeBy: c.GetMadeBy(),
		AllowedAt: c.GetAllowedAt().AsTime(), Unknown: c.GetUnknown(),
	}
	if c.GetDueAt() != nil {
		open.DueAt = c.GetDueAt().AsTime()
	}
	return open
}
