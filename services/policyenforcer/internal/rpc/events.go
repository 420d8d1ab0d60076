package rpc

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/decided"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/outcome"
)

// Announcer writes decisions and reports as events of event.v1.
type Announcer struct{}

var _ app.Announcer = Announcer{}

// Decided returns the head of the event of a decision. The log has its payload.
func (Announcer) Decided(namespace, root string, d *ledger.Decision) (store.Event, error) {
	return decided.Head(namespace, root, d)
}

// Reported announces the result of a call.
func (Announcer) Reported(namespace, actor string, r *outcome.Reported, at time.Time) (store.Event, error) {
	verb := "reported"
	if !r.Accounted {
		verb = "unaccounted"
	}
	ev := &eventv1.Event{
		Namespace: namespace, Entity: "toolcall", EntityId: r.RunID, Type: verb,
		Version: r.RunVersion, Time: timestamppb.New(at), Actor: actor,
		Payload: &eventv1.Event_ToolcallReported{ToolcallReported: &eventv1.ToolCallReported{
			CallId: r.CallID, Tool: r.Tool, Ok: r.OK, ResultBytes: r.ResultBytes,
			FilesChanged: bus.ClipAll(r.FilesChanged), CostUsd: r.CostUSD, Unaccounted: !r.Accounted, Witnessed: r.Witnessed(),
		}},
	}
	if r.Witnessed() { // the client reports the call as well
		ev.Id = bus.EventID(ev) + ".witnessed"
	}
	return bus.Encode(ev)
}

// Unknown announces a call without a report of its outcome.
func (Announcer) Unknown(namespace string, c *evidence.OpenCall, at time.Time) (store.Event, error) {
	return outcomeEvent(namespace, "unknown", "interlock", c, "unknown", "", at)
}

// Settled announces how such a call has ended.
func (Announcer) Settled(namespace string, s *outcome.Settled, at time.Time) (store.Event, error) {
	return outcomeEvent(namespace, "settled", s.By, &s.OpenCall, s.Outcome, s.Note, at)
}

func outcomeEvent(namespace, verb, actor string, c *evidence.OpenCall, outcome, note string, at time.Time) (store.Event, error) {
	return bus.Encode(&eventv1.Event{
		Namespace: namespace, Entity: "toolcall", EntityId: c.RunID, Type: verb, Time: timestamppb.New(at), Actor: actor,
		Payload: &eventv1.Event_ToolcallOutcome{ToolcallOutcome: &eventv1.ToolCallOutcome{
			CallId: c.ID, Tool: c.Tool, What: c.What, MadeBy: c.By, Outcome: outcome, Note: bus.Clip(note),
		}},
	})
}

// Sealed announces that decisions are part of their hash chain.
func (Announcer) Sealed(namespace string, s decisionlog.Sealed, at time.Time) (store.Event, error) {
	return bus.Encode(&eventv1.Event{
		Namespace: namespace, Entity: "audit", EntityId: s.Partition, Type: "sealed",
		Version: s.Version, Time: timestamppb.New(at), Actor: "interlock",
		Payload: &eventv1.Event_DecisionsSealed{DecisionsSealed: &eventv1.DecisionsSealed{First: s.First, Last: s.Last, Head: s.Head}},
	})
}
