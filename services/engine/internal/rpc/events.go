package rpc

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/app"
	"github.com/interlock-run/interlock/services/engine/internal/registry"
	"github.com/interlock-run/interlock/services/internal/catalog"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

// Announcer writes the engine's changes as events of event.v1.
type Announcer struct{}

var _ app.Events = Announcer{}

// WorkflowEvent announces a new version of a workflow.
func (Announcer) WorkflowEvent(namespace, actor string, v *registry.Version) (store.Event, error) {
	return bus.Encode(&eventv1.Event{
		Namespace: namespace, Entity: "workflow", EntityId: v.Name, Type: "registered",
		Version: v.Number, Time: timestamppb.New(v.CreatedAt), Actor: actor,
		Payload: &eventv1.Event_WorkflowRegistered{WorkflowRegistered: &eventv1.WorkflowRegistered{
			Workflow: v.Name, WorkflowVersion: v.Number, Digest: v.Digest,
		}},
	})
}

// CatalogChanged announces a change of the live version of a workflow.
func (Announcer) CatalogChanged(namespace, actor string, c *catalog.Change, at time.Time) (store.Event, error) {
	return protomap.CatalogEvent(namespace, actor, c, at)
}

// RunEvent announces a change of a run.
func (Announcer) RunEvent(namespace, actor string, run *workflow.Run, ev *workflow.Event, at time.Time) (store.Event, error) {
	out := &eventv1.Event{
		Namespace: namespace, Entity: "run", EntityId: run.ID, Type: ev.Type,
		Version: run.Version, Time: timestamppb.New(at), Actor: actor,
	}
	if !setPayload(out, run, ev) && !setForkPayload(out, ev) && !setApprovalPayload(out, ev) {
		return store.Event{}, fmt.Errorf("announce run %s: no payload for event type %q", run.ID, ev.Type)
	}
	if ev.Branch != "" && (ev.Type == workflow.EventBranchEnded || ev.Type == workflow.EventJoined) {
		// One change can end branches inside of branches, and join their forks.
		out.Id = bus.EventID(out) + "." + ev.Branch
	}
	if ev.Type == workflow.EventRejected {
		// One version of a run can see many rejections.
		out.Id = bus.EventID(out) + "." + typeid.New(typeid.Event)
	}
	return bus.Encode(out)
}

// setPayload reports whether it knows the type.
func setPayload(out *eventv1.Event, run *workflow.Run, ev *workflow.Event) bool {
	switch ev.Type {
	case workflow.EventStarted:
		started := &eventv1.RunStarted{
			Workflow: run.Workflow, WorkflowVersion: run.WorkflowVersion, State: run.State, SessionId: run.SessionID,
			Schedule: run.Schedule, Cause: causeProto(ev.Cause, out),
		}
		if run.Parent != nil {
			started.ParentRunId = run.Parent.RunID
		}
		out.Payload = &eventv1.Event_RunStarted{RunStarted: started}
	case workflow.EventTransitioned, workflow.EventWarned:
		// A warning is about a transition that was taken, and says the same again, for
		// subscribers to warnings.
		out.Payload = &eventv1.Event_RunTransitioned{RunTransitioned: &eventv1.RunTransitioned{
			Event: ev.Event, From: ev.From, To: ev.To, Rationale: bus.Clip(ev.Rationale),
			SafeNext: ev.SafeNext, Guards: ev.Guards, Branch: ev.Branch, Cause: causeProto(ev.Cause, out),
		}}
		if ev.Cause != nil {
			out.GetRunTransitioned().Reason = bus.Clip(ev.Reason)
		}
	case workflow.EventReminded, workflow.EventSilent, workflow.EventTimerBlocked, workflow.EventTimerRestored:
		out.Payload = &eventv1.Event_RunTimed{RunTimed: &eventv1.RunTimed{
			State: ev.From, Branch: ev.Branch, Reason: bus.Clip(ev.Reason), Event: ev.Event, Cause: causeProto(ev.Cause, out),
		}}
	case workflow.EventRejected:
		out.Payload = &eventv1.Event_RunRejected{RunRejected: &eventv1.RunRejected{
			Event: ev.Event, State: ev.From, Code: string(ev.Code), Message: bus.Clip(ev.Message), Guards: ev.Guards, Branch: ev.Branch,
		}}
	case workflow.EventCompleted, workflow.EventFailed, workflow.EventBlocked, workflow.EventCancelled:
		out.Payload = &eventv1.Event_RunEnded{RunEnded: &eventv1.RunEnded{
			Status: string(run.Status), State: run.State, Reason: bus.Clip(ev.Reason),
		}}
	case workflow.EventPaused, workflow.EventHeld, workflow.EventHoldLifted:
		out.Payload = &eventv1.Event_RunPaused{RunPaused: &eventv1.RunPaused{Reason: bus.Clip(ev.Reason), Cause: causeProto(ev.Cause, out)}}
	case workflow.EventResumed:
		out.Payload = &eventv1.Event_RunResumed{RunResumed: &eventv1.RunResumed{State: run.State}}
	case workflow.EventForced:
		out.Payload = &eventv1.Event_RunForced{RunForced: &eventv1.RunForced{From: ev.From, To: ev.To, Branch: ev.Branch}}
	case workflow.EventMigrated:
		out.Payload = &eventv1.Event_RunMigrated{RunMigrated: &eventv1.RunMigrated{
			From: ev.From, To: ev.To, FromVersion: ev.FromVersion, ToVersion: run.WorkflowVersion, Reason: bus.Clip(ev.Reason),
		}}
	case workflow.EventInterrupted:
		out.Payload = &eventv1.Event_RunInterrupted{RunInterrupted: &eventv1.RunInterrupted{
			Interrupt: ev.Interrupt, From: ev.From, To: ev.To, Files: bus.ClipAll(ev.Files), Branch: ev.Branch,
		}}
	default:
		return false
	}
	return true
}

// causeProto returns the clock that has brought an event about, and how late it was; nil for none.
func causeProto(c *workflow.Cause, of *eventv1.Event) *eventv1.ClockCause {
	if c == nil {
		return nil
	}
	return &eventv1.ClockCause{Kind: string(c.Kind), Due: timestamppb.New(c.Due), LateMs: of.GetTime().AsTime().Sub(c.Due).Milliseconds()}
}

// setForkPayload does the work of setPayload for forks and invokes.
func setForkPayload(out *eventv1.Event, ev *workflow.Event) bool {
	switch ev.Type {
	case workflow.EventForked:
		out.Payload = &eventv1.Event_RunForked{RunForked: &eventv1.RunForked{
			Event: ev.Event, State: ev.From, Branches: ev.Branches, Branch: ev.Branch,
		}}
	case workflow.EventBound:
		out.Payload = &eventv1.Event_RunBranchBound{RunBranchBound: &eventv1.RunBranchBound{
			Branch: ev.Branch, State: ev.From, SessionId: ev.SessionID,
		}}
	case workflow.EventBranchEnded:
		out.Payload = &eventv1.Event_RunBranchEnded{RunBranchEnded: &eventv1.RunBranchEnded{
			Branch: ev.Branch, Status: string(ev.BranchStatus), State: ev.To,
		}}
	case workflow.EventJoined:
		joined := &eventv1.RunJoined{Event: ev.Event, From: ev.From, To: ev.To, Branch: ev.Branch, Reason: bus.Clip(ev.Reason)}
		if j := ev.Join; j != nil {
			joined.Succeeded, joined.Conflicts = j.Succeeded, bus.ClipAll(j.Conflicts)
			for _, b := range j.Branches {
				joined.Branches = append(joined.Branches, &eventv1.JoinedBranch{Name: b.Name, Status: string(b.Status)})
			}
		}
		out.Payload = &eventv1.Event_RunJoined{RunJoined: joined}
	case workflow.EventInvoked:
		out.Payload = &eventv1.Event_RunInvoked{RunInvoked: &eventv1.RunInvoked{
			Event: ev.Event, State: ev.From, ChildRunId: ev.ChildRunID, ChildWorkflow: ev.ChildWorkflow, Branch: ev.Branch,
		}}
	case workflow.EventChildEnded:
		out.Payload = &eventv1.Event_RunChildEnded{RunChildEnded: &eventv1.RunChildEnded{
			Event: ev.Event, From: ev.From, To: ev.To, ChildRunId: ev.ChildRunID,
			ChildWorkflow: ev.ChildWorkflow, ChildStatus: string(ev.ChildStatus), Branch: ev.Branch,
		}}
	default:
		return false
	}
	return true
}

// setApprovalPayload does the work of setPayload for effects of approvals on a run.
func setApprovalPayload(out *eventv1.Event, ev *workflow.Event) bool {
	switch ev.Type {
	case workflow.EventParked, workflow.EventApprovalRejected, workflow.EventApprovalExpired, workflow.EventApprovalCancelled, workflow.EventStale:
		out.Payload = &eventv1.Event_RunApprovalChanged{RunApprovalChanged: &eventv1.RunApprovalChanged{
			ApprovalId: ev.ApprovalID, Event: ev.Event, From: ev.From, To: ev.To, Branch: ev.Branch,
			Reason: bus.Clip(ev.Reason), Guards: ev.Guards,
		}}
		return true
	default:
		return false
	}
}
