package jsonview

import (
	"encoding/base64"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

// HistoryEntry is one change of a run, or the result of a tool call (S6.4).
type HistoryEntry struct {
	RunVersion      int64          `json:"run_version" doc:"Version of the run after this change; of a tool result, the version that it came at."`
	Time            time.Time      `json:"time"`
	Actor           string         `json:"actor"`
	Type            string         `json:"type" doc:"started, transitioned, interrupt.fired, fork.started, fork.branch_bound, invoke.started, invoke.ended, forced, paused, held, hold.lifted, resumed, cancelled, approval.parked, approval.rejected, approval.expired, approval.cancelled, approval.stale, reminded, stale, timer.blocked, or tool_result."`
	Event           string         `json:"event,omitzero"`
	From            string         `json:"from,omitzero"`
	To              string         `json:"to,omitzero"`
	Data            jsontext.Value `json:"data,omitzero" doc:"A JSON object, as the caller wrote it; of an invoked run that has ended its context."`
	Rationale       string         `json:"rationale,omitzero"`
	Guards          []GuardResult  `json:"guards,omitempty"`
	WorkflowVersion int64          `json:"workflow_version,omitzero" doc:"Not of tool results."`
	Status          string         `json:"status,omitzero" doc:"Of the run after this change. Not of tool results."`
	Reason          string         `json:"reason,omitzero"`
	SafeNext        bool           `json:"safe_next,omitzero" doc:"True when the state's safe_next was taken."`
	Warned          bool           `json:"warned,omitzero" doc:"True when the answer that was given warns."`

	Branch      string      `json:"branch,omitzero" doc:"The branch that it happened in."`
	Joins       []Join      `json:"joins,omitempty" doc:"Forks that the change has joined, from inside out."`
	Interrupt   string      `json:"interrupt,omitzero" doc:"The interrupt that fired."`
	Files       []string    `json:"files,omitempty" doc:"The changed files that fired it."`
	ChildRunID  string      `json:"child_run_id,omitzero" doc:"The invoked run that was started or has ended."`
	SessionID   string      `json:"session_id,omitzero" doc:"The session that a branch was given to, or that drives the run from this change on."`
	ApprovalID  string      `json:"approval_id,omitzero" doc:"The approval that a transition was parked for, or that let it fire."`
	ChildStatus string      `json:"child_status,omitzero" doc:"How the invoked run has ended, whose context is the data."`
	HoldCauses  []string    `json:"hold_causes,omitempty" doc:"Causes of the holds that were placed or lifted: operator, session_end, stale."`
	Cause       *Cause      `json:"cause,omitzero" doc:"The clock that has brought it about."`
	ToolResult  *ToolResult `json:"tool_result,omitzero" doc:"Set in a tool_result."`
}

// Join is the end of a fork (S5.4).
type Join struct {
	Event     string          `json:"event" doc:"The event that forked."`
	To        string          `json:"to"`
	Succeeded bool            `json:"succeeded"`
	Branches  []BranchOutcome `json:"branches"`
	Conflicts []string        `json:"conflicts,omitempty" doc:"Keys of the context that branches have changed to different values: the last branch wins."`
}

// BranchOutcome is how a branch ended.
type BranchOutcome struct {
	Name   string `json:"name"`
	Status string `json:"status" enum:"ACTIVE,SUCCEEDED,FAILED,CANCELLED"`
}

// ToolResult is the answer of a tool, where meta.capture_output keeps it (S6.4).
type ToolResult struct {
	CallID    string `json:"call_id"`
	Tool      string `json:"tool"`
	OK        bool   `json:"ok"`
	Output    string `json:"output" doc:"At most 64 KiB of it."`
	Encoding  string `json:"encoding,omitzero" enum:"base64" doc:"base64 when the output is not valid UTF-8; absent for text."`
	Truncated bool   `json:"truncated,omitzero"`
	Number    int64  `json:"number" doc:"Counts the results of a run, from 1."`
	// Evidence is absent where it has given none.
	Evidence []string `json:"evidence,omitempty" doc:"Names of the evidence that the result has given."`
	Tree     string   `json:"tree,omitzero" doc:"Digest of the files that the command ran on."`
	Witness  string   `json:"witness,omitzero" doc:"Digest of the jail's observations of the command."`
}

// HistoryOf returns the JSON of history entries.
func HistoryOf(entries []*enginev1.HistoryEntry) []HistoryEntry {
	return Each(entries, func(h *enginev1.HistoryEntry) HistoryEntry {
		return HistoryEntry{
			RunVersion: h.GetRunVersion(), Time: Time(h.GetTime()), Actor: h.GetActor(), Type: protomap.HistoryWord(h.GetType()),
			Event: h.GetEvent(), From: h.GetFrom(), To: h.GetTo(), Data: rawOf(h.GetData()), Rationale: h.GetRationale(),
			Guards: GuardResults(h.GetGuards()), WorkflowVersion: h.GetWorkflowVersion(),
			Status: protomap.Word(h.GetStatus(), runStatusPrefix), Reason: h.GetReason(), SafeNext: h.GetSafeNext(), Warned: h.GetWarned(),
			Branch: h.GetBranch(), Joins: joinsOf(h.GetJoins()), Interrupt: h.GetInterrupt(), Files: h.GetFiles(),
			ChildRunID: h.GetChildRunId(), SessionID: h.GetSessionId(), ApprovalID: h.GetApprovalId(), ToolResult: toolResultOf(h.GetToolResult()),
			ChildStatus: protomap.Word(h.GetChildStatus(), runStatusPrefix), HoldCauses: causesOf(h.GetHoldCauses()), Cause: causeOf(h.GetCause()),
		}
	})
}

func causesOf(causes []enginev1.HoldCause) []string {
	if len(causes) == 0 {
		return nil
	}
	return Each(causes, func(c enginev1.HoldCause) string { return protomap.LowerWord(c, "HOLD_CAUSE_") })
}

func joinsOf(joins []*enginev1.Join) []Join {
	if len(joins) == 0 {
		return nil
	}
	return Each(joins, func(j *enginev1.Join) Join {
		return Join{
			Event: j.GetEvent(), To: j.GetTo(), Succeeded: j.GetSucceeded(), Conflicts: j.GetConflicts(),
			Branches: Each(j.GetBranches(), func(b *enginev1.BranchOutcome) BranchOutcome {
				return BranchOutcome{Name: b.GetName(), Status: branchStatus(b.GetStatus())}
			}),
		}
	})
}

func toolResultOf(r *enginev1.ToolResult) *ToolResult {
	if r == nil {
		return nil
	}
	out := &ToolResult{
		CallID: r.GetCallId(), Tool: r.GetTool(), OK: r.GetOk(), Truncated: r.GetTruncated(), Number: r.GetNumber(), Evidence: r.GetEvidence(),
		Tree: r.GetTree(), Witness: r.GetWitness(),
	}
	text := r.GetOutput()
	if r.GetTruncated() {
		text = wholeRunes(text)
	}
	if utf8.Valid(text) {
		out.Output = string(text)
	} else {
		out.Output, out.Encoding = base64.StdEncoding.EncodeToString(r.GetOutput()), "base64"
	}
	return out
}

// wholeRunes returns text without the part of a character that a cut has left at its end.
func wholeRunes(text []byte) []byte {
	for i := len(text) - 1; i >= 0 && i >= len(text)-utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRune(text[i:]) {
				return text[:i]
			}
			break
		}
	}
	return text
}
