package mcp

import (
	"time"

	"github.com/interlock-run/interlock/pkg/document"
)

// longestApprovalWait is how long one call of wait_approval may wait. It waits for
// longestWait when it does not say: clients that wait longer know that they do.
const longestApprovalWait = 600 * time.Second

// Limits of what goes to the services, as the contracts have them.
const (
	maxApprovalID = 128
	maxAnswer     = 256
	maxNote       = 8192
)

// humanToolTable lists the tools about the questions of processes (S8) and about
// what people approve (S9).
var humanToolTable = []*ownTool{
	{
		name: "process_step", title: "Answer the process", destructive: true, acts: true,
		description: "Answers the question of the process that this session is in; the reply is the next question with its answers, or the end. " +
			"Without answer it repeats the question.",
		params: []param{
			{name: "answer", kind: document.String, maxBytes: maxAnswer, description: "One of the answers, exactly as they are written."},
			{name: "note", kind: document.String, maxBytes: maxNote, description: "Why, for the run's history and for the people who review it."},
		},
		run: (*Server).processStep,
	},
	{
		name: "wait_approval", title: "Wait for an approval", readOnly: true, acts: true, longest: longestApprovalWait,
		description: "Waits until people have decided an approval, and answers what they have decided; after a granted transition also the new state. " +
			"When the time is up it says that the approval is still pending.",
		params: []param{
			{name: "approval_id", kind: document.String, maxBytes: maxApprovalID, description: "The approval; by default the one that this session's run waits for."},
			{
				name: "timeout_seconds", kind: document.Number, max: int64(longestApprovalWait / time.Second),
				description: "How long to wait at most; 55 by default.",
			},
		},
		run: (*Server).waitApproval,
	},
}
