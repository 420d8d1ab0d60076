package rpc

import (
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/engine/internal/runcodec"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

func entryProto(e *runcodec.Entry) *enginev1.HistoryEntry {
	out := &enginev1.HistoryEntry{
		RunVersion: e.RunVersion, Time: timestamppb.New(e.Time), Actor: e.Actor, Type: protomap.HistoryType(e.Type),
		Event: e.Event, From: e.From, To: e.To, Data: e.Data, Rationale: e.Rationale,
		Guards: guardsProto(e.Guards), WorkflowVersion: e.WorkflowVersion,
		Status: statuses[e.Status], Reason: e.Reason, SafeNext: e.SafeNext, Warned: e.Warned,
		Branch: e.Branch, Interrupt: e.Interrupt, Files: e.Files, ChildRunId: e.ChildRunID, SessionId: e.SessionID,
		ApprovalId: e.ApprovalID, ChildStatus: statuses[e.ChildStatus],
	}
	if c := e.Cause; c != nil {
		out.Cause = &enginev1.Cause{Kind: string(c.Kind), After: durationpb.New(c.After), Due: timestamppb.New(c.Due)}
	}
	for _, cause := range e.HoldCauses {
		out.HoldCauses = append(out.HoldCauses, holdCauses[cause])
	}
	for _, j := range e.Joins {
		join := &enginev1.Join{Event: j.Event, To: j.To, Succeeded: j.Succeeded, Conflicts: j.Conflicts}
		for _, b := range j.Branches {
			join.Branches = append(join.Branches, &enginev1.BranchOutcome{Name: b.Name, Status: branchStatuses[b.Status]})
		}
		out.Joins = append(out.Joins, join)
	}
	if r := e.Result; r != nil {
		out.ToolResult = &enginev1.ToolResult{
			CallId: r.CallID, Tool: r.Tool, Ok: r.OK, Output: r.Output, Truncated: r.Truncated, Number: r.Number, Evidence: r.Evidence,
			Tree: r.Tree, Witness: r.Witness,
		}
	}
	return out
}
