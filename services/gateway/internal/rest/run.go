package rest

import (
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// The shapes of the answers, which the command line and MCP share.
type (
	Run          = jsonview.Run
	LegalEvent   = jsonview.LegalEvent
	GuardResult  = jsonview.GuardResult
	Rejection    = jsonview.Rejection
	HistoryEntry = jsonview.HistoryEntry
	Workflow     = jsonview.Workflow
	// CheckResponse is the decision on a tool call.
	CheckResponse = jsonview.Decision
)
