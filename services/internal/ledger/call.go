package ledger

import (
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// DecidedCall is a recorded decision on a call, with the parts that its report, its repeats and an interrupt need. It is
// the proof whether the call was allowed. A call that was given up has none: see GivenUp.
type DecidedCall struct {
	Verdict toolcall.Verdict
	// RunID, Branch, Entry and RunVersion identify the object of the decision. The run
	// may be one that the log's root has invoked.
	RunID      string
	Branch     string
	Entry      int64
	RunVersion int64
	// WorkflowVersion is that of the run at the decision. The run may have moved to another one since.
	WorkflowVersion int64
	// Message is the answer to the caller with its secrets masked.
	Message string
	// Spends are the units that it has taken of the accounts of policies.
	Spends []Spend
	// InputDigest distinguishes a repeat from another call with the same ID.
	InputDigest string
	// ApprovalID is the approval that has admitted it; empty for none.
	ApprovalID string
	// Gives, Edits and Voids are as Kept has them.
	Gives []string
	Edits int64
	Voids bool
	// Jail is the jail that its line must run in; nil for none.
	Jail *Jail
}

// NotDecided returns the record of a call that was given up before it was decided.
func NotDecided() []byte { return (&Decision{}).Encode() }

// GivenUp reports whether the record is one of NotDecided.
func (c *DecidedCall) GivenUp() bool { return c.Verdict.Decision == "" }

// CallName returns the idempotency key of the decision on a call. Its owner is the root
// of the runs that invoke each other, so that a call is found by any of them.
func CallName(callID string) string { return "call/" + callID }

// ReportName returns the idempotency key of the report of a call.
func ReportName(callID string) string { return "report/" + callID }

// CorrectionName returns the idempotency key of the observed report of a call after its agent
// had reported it itself.
func CorrectionName(callID string) string { return "observed/" + callID }

// InterruptName returns the idempotency key of the interrupt that a call may fire.
func InterruptName(callID string) string { return "interrupt/" + callID }

// DecodeCall reads the answer of CallName: an entry of the log of a root run, or a record
// of NotDecided.
func DecodeCall(root string, data []byte) (*DecidedCall, error) {
	d, err := DecodeDecision(root, store.HistoryEntry{Data: data})
	if err != nil {
		return nil, err
	}
	c := &DecidedCall{
		Verdict: toolcall.Verdict{
			Decision: d.Decision, Code: d.Code, Tool: d.Tool, Counted: d.Kept.Counted, Paths: d.Kept.Paths, EditLines: d.Kept.EditLines,
			MaxFiles: d.Kept.MaxFiles, Files: d.Kept.Files, MaxIterations: d.Kept.MaxIterations, Iterations: d.Kept.Iterations,
			ContextBudget: d.Kept.ContextBudget, ContextSpent: d.Kept.ContextSpent,
		},
		RunID: d.RunID, Branch: d.Branch, Entry: d.Kept.Entry, RunVersion: d.RunVersion, WorkflowVersion: d.WorkflowVersion, Message: d.Message,
		Spends: d.Kept.Spends, InputDigest: d.InputDigest, ApprovalID: d.ApprovalID,
		Gives: d.Kept.Gives, Edits: d.Kept.Edits, Voids: d.Kept.Voids,
	}
	if len(d.Kept.Profile) > 0 {
		c.Jail = &Jail{Level: d.JailLevel, Digest: d.JailDigest, Profile: d.Kept.Profile, Line: d.Kept.Line, Allowed: d.Kept.Allowed, Reads: d.Kept.Reads}
	}
	if c.RunID == "" { // there was no run: its stand-in is the root
		c.RunID = root
	}
	return c, nil
}
