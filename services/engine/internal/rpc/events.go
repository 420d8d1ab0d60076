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
)

// Announcer writes the engine's changes as events of event.v1.
type Announcer struct{}

var _ app.Announcer = Announcer{}

// WorkflowEvent announces a new version of a workflow.
func (Announcer) WorkflowEvent(namespace, actor string, v *app.Version) (store.Event, error) {
	return bus.Encode(&eventv1.Event{
		Namespace: namespace, Entity: "workflow", EntityId: v.Name, Type: "registered",
		Version: v.Number, Time: timestamppb.New(v.CreatedAt), Actor: actor,
		Payload: &eventv1.Event_WorkflowRegistered{WorkflowRegistered: &eventv1.WorkflowRegistered{
			Workflow: v.Name, WorkflowVersion: v.Number, Digest: v.Digest,
		}},
	})
}

// RunEvent announces what happened to a run.
func (Announcer) RunEvent(namespace, actor string, run *workflow.Run, ev *workflow.Event, at time.Time) (store.Event, error) {
	out := &eventv1.Event{
		Namespace: namespace, Entity: "run", EntityId: run.ID, Type: ev.Type,
		Version: run.Version, Time: timestamppb.New(at), Actor: actor,
	}
	if err := setPayload(out, run, ev); err != nil {
		return store.Event{}, err
	}
	if ev.Type == workflow.EventRejected {
		// One version of a run can see many rejections.
		id, err := typeid.New(typeid.Event)
		if err != nil {
			return store.Event{}, err
		}
		out.Id = bus.EventID(out) + "." + id
	}
	return bus.Encode(out)
}

func setPayload(out *eventv1.Event, run *workflow.Run, ev *workflow.Event) error {
	switch ev.Type {
	case workflow.EventStarted:
		out.Payload = &eventv1.Event_RunStarted{RunStarted: &eventv1.RunStarted{
			Workflow: run.Workflow, WorkflowVersion: run.WorkflowVersion, State: run.State, SessionId: run.SessionID,
		}}
	case workflow.EventTransitioned:
		out.Payload = &eventv1.Event_RunTransitioned{RunTransitioned: &eventv1.RunTransitioned{
			Event: ev.Event, From: ev.From, To: ev.To, Rationale: bus.Clip(ev.Rationale),
			SafeNext: ev.SafeNext, Guards: ev.Guards,
		}}
	case workflow.EventRejected:
		out.Payload = &eventv1.Event_RunRejected{RunRejected: &eventv1.RunRejected{
			Event: ev.Event, State: run.State, Code: string(ev.Code), Message: bus.Clip(ev.Message), Guards: ev.Guards,
		}}
	case workflow.EventCompleted, workflow.EventFailed, workflow.EventCancelled:
		out.Payload = &eventv1.Event_RunEnded{RunEnded: &eventv1.RunEnded{
			Status: string(run.Status), State: run.State, Reason: bus.Clip(ev.Reason),
		}}
	case workflow.EventPaused:
		out.Payload = &eventv1.Event_RunPaused{RunPaused: &eventv1.RunPaused{Held: run.Held, Reason: bus.Clip(ev.Reason)}}
	case workflow.EventResumed:
		out.Payload = &eventv1.Event_RunResumed{RunResumed: &eventv1.RunResumed{State: run.State}}
	default:
		return fmt.Errorf("announce run %s: no payload for event type %q", run.ID, ev.Type)
	}
	return nil
}
