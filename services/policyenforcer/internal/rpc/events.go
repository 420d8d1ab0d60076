package rpc

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
)

// Announcer writes decisions and reports as events of event.v1.
type Announcer struct{}

var _ app.Announcer = Announcer{}

// verbs are the event types of the decisions.
var verbs = map[toolcall.Decision]string{
	toolcall.Allow: "allowed", toolcall.Ask: "asked", toolcall.Deny: "denied",
}

// Decided announces a decision.
func (Announcer) Decided(namespace, actor string, d *app.Decision, at time.Time) (store.Event, error) {
	verb := verbs[d.Verdict.Decision]
	decided := &eventv1.ToolCallDecided{
		CallId: d.CallID, Tool: d.Tool, Decision: string(d.Verdict.Decision), Code: string(d.Verdict.Code),
		Message: bus.Clip(d.Message), State: d.Run.State, RunVersion: d.Run.Version, InputDigest: d.InputDigest,
		Capability: d.Capability, ApprovalId: d.ApprovalID,
	}
	if d.By != nil {
		decided.Policy, decided.PolicyVersion, decided.Rule = d.By.Policy, d.By.Version, d.By.Pointer()
	}
	for _, sh := range d.Shadows {
		decided.Shadows = append(decided.Shadows, &eventv1.ShadowDecided{
			Policy: sh.Policy, PolicyVersion: sh.PolicyVersion, Workflow: sh.Workflow, Decision: string(sh.Decision), Code: string(sh.Code),
		})
	}
	return bus.Encode(&eventv1.Event{
		Namespace: namespace, Entity: "toolcall", EntityId: d.Run.ID, Type: verb,
		Version: d.Run.Version, Time: timestamppb.New(at), Actor: actor,
		Payload: &eventv1.Event_ToolcallDecided{ToolcallDecided: decided},
	})
}

// Reported announces the result of a call.
func (Announcer) Reported(namespace, actor string, r *app.Reported, at time.Time) (store.Event, error) {
	verb := "reported"
	if !r.Accounted {
		verb = "unaccounted"
	}
	return bus.Encode(&eventv1.Event{
		Namespace: namespace, Entity: "toolcall", EntityId: r.RunID, Type: verb,
		Version: r.RunVersion, Time: timestamppb.New(at), Actor: actor,
		Payload: &eventv1.Event_ToolcallReported{ToolcallReported: &eventv1.ToolCallReported{
			CallId: r.CallID, Tool: r.Tool, Ok: r.OK, ResultBytes: r.ResultBytes,
			FilesChanged: bus.ClipAll(r.FilesChanged), CostUsd: r.CostUSD, Unaccounted: !r.Accounted,
		}},
	})
}

// Sealed announces that decisions are part of their hash chain.
func (Announcer) Sealed(namespace string, s app.Sealed, at time.Time) (store.Event, error) {
	return bus.Encode(&eventv1.Event{
		Namespace: namespace, Entity: "audit", EntityId: s.Partition, Type: "sealed",
		Version: s.Version, Time: timestamppb.New(at), Actor: "interlock",
		Payload: &eventv1.Event_DecisionsSealed{DecisionsSealed: &eventv1.DecisionsSealed{First: s.First, Last: s.Last, Head: s.Head}},
	})
}
