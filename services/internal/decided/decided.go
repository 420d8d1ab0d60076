// Package decided makes the events that announce decisions on tool calls. A decision is
// stored once, in its log; its event is made of that when it is read. It must never
// publish inputs, the values that a rule looked at, or what a shadow says.
package decided

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// verbs are the event types of the decisions.
var verbs = map[toolcall.Decision]string{
	toolcall.Allow: "allowed", toolcall.Ask: "asked", toolcall.Deny: "denied",
}

// Head returns the event of a decision in the log of a root run, without its payload: relays make that of the log.
func Head(namespace, root string, d *ledger.Decision) (store.Event, error) {
	ev := outline(namespace, root, d)
	ev.Payload = &eventv1.Event_ToolcallDecided{ToolcallDecided: &eventv1.ToolCallDecided{CallId: d.CallID}} // the id has it
	if d.Decision == toolcall.Ask {
		// A call that was asked about is judged again when it is repeated, and logged again.
		ev.Id = bus.EventID(ev) + "." + typeid.New(typeid.Event)
	}
	return bus.Head(ev)
}

// outline returns the event of a decision without its time, actor and payload.
func outline(namespace, root string, d *ledger.Decision) *eventv1.Event {
	ev := &eventv1.Event{Namespace: namespace, Entity: "toolcall", EntityId: d.RunID, Type: verbs[d.Decision], Version: d.RunVersion}
	if ev.EntityId == "" { // there was no run
		ev.EntityId = root
	}
	return ev
}

// Event returns the event that announces a decision.
func Event(namespace, root string, d *ledger.Decision) *eventv1.Event {
	decided := &eventv1.ToolCallDecided{
		CallId: d.CallID, Tool: d.Tool, Decision: string(d.Decision), Code: string(d.Code),
		Message: bus.Clip(d.Message), State: d.State, RunVersion: d.RunVersion, InputDigest: d.InputDigest,
		Capability: d.Capability, ApprovalId: d.ApprovalID, Policy: d.Policy, PolicyVersion: d.PolicyVersion, Rule: d.Rule,
		JailLevel: int32(d.JailLevel), JailDigest: d.JailDigest, //nolint:gosec // at most 3
		Identity: identityOf(d.Identity),
	}
	for i := range d.Shadows {
		sh := &d.Shadows[i]
		decided.Shadows = append(decided.Shadows, &eventv1.ShadowDecided{
			Policy: sh.Policy, PolicyVersion: sh.PolicyVersion, Workflow: sh.Workflow, Decision: string(sh.Decision), Code: string(sh.Code),
		})
	}
	for i := range d.Limits {
		l := &d.Limits[i]
		limit := &eventv1.LimitUsed{
			Policy: l.Policy, Rule: l.Rule, Measure: l.Measure, Scope: l.Scope, Subject: l.Subject, Used: l.Used, Max: l.Max,
		}
		if !l.Until.IsZero() {
			limit.Until = timestamppb.New(l.Until)
		}
		decided.Limits = append(decided.Limits, limit)
	}
	ev := outline(namespace, root, d)
	ev.Time, ev.Actor = timestamppb.New(d.Time), d.Principal
	ev.Payload = &eventv1.Event_ToolcallDecided{ToolcallDecided: decided}
	return ev
}

// identityOf returns who has made a call; nil in records of before.
func identityOf(id *ledger.Identity) *eventv1.CallIdentity {
	if id == nil {
		return nil
	}
	out := &eventv1.CallIdentity{
		Role: id.Role, Token: id.Token, Via: id.Via, Person: id.Person, Agent: id.Agent, AgentVersion: id.AgentVersion,
		RootSession: id.Root, Lineage: id.Lineage, Attributes: id.Attributes,
	}
	if h := id.Human; h != nil {
		out.Human, out.HumanIssuer, out.HumanSource, out.HumanGroupsKnown = h.Name, h.Issuer, h.Source, h.GroupsKnown
	}
	return out
}

// Outbox returns a store whose outbox has the events of decisions, as relays need it.
func Outbox(st store.Store) store.Store { return &outbox{st} }

type outbox struct{ store.Store }

// Tail returns the outbox, with the events of decisions made of the log, see store.Store.
func (o *outbox) Tail(ctx context.Context, after map[int]int64, limit int, wait time.Duration) ([]store.OutboxEntry, error) {
	entries, err := o.Store.Tail(ctx, after, limit, wait)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		if e := &entries[i]; e.Entry.Kind == ledger.KindDecisions {
			if e.Payload, err = payload(e); err != nil {
				return nil, err
			}
		}
	}
	return entries, nil
}

// payload makes the payload of an event from its entry in the log. If the entry was dropped before, or cannot be
// read, the event has only its place in the log: an event without a payload would hold up all later ones.
func payload(e *store.OutboxEntry) ([]byte, error) {
	d, err := ledger.DecodeDecision(e.Entry.ID, store.HistoryEntry{Version: e.Version, At: e.At, Data: e.Payload})
	if err != nil {
		return lost(e)
	}
	ev := Event(e.Entry.Namespace, e.Entry.ID, d)
	ev.Id = e.ID
	return bus.Payload(ev)
}

// lost returns the payload for an entry that cannot be read.
func lost(e *store.OutboxEntry) ([]byte, error) {
	subject, err := bus.ParseSubject(e.Subject)
	if err != nil {
		return nil, err
	}
	return bus.Payload(&eventv1.Event{
		Id: e.ID, Namespace: subject.Namespace, Entity: subject.Entity, EntityId: subject.ID, Type: subject.Type,
		Payload: &eventv1.Event_ToolcallDecided{ToolcallDecided: &eventv1.ToolCallDecided{
			Message: fmt.Sprintf("decision %d of %s is no longer kept", e.Version, e.Entry.ID),
		}},
	})
}
