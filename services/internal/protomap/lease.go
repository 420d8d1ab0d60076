package protomap

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/store"
)

// LeaseEvent announces a change of a lease: one of consent's types of events about leases.
func LeaseEvent(namespace, actor, change string, l *consent.Lease, at time.Time) (store.Event, error) {
	return bus.Encode(&eventv1.Event{
		Namespace: namespace, Entity: "lease", EntityId: l.ID, Type: change,
		Version: l.Version, Time: timestamppb.New(at), Actor: actor,
		Payload: &eventv1.Event_LeaseChanged{LeaseChanged: &eventv1.LeaseChanged{
			ApprovalId: l.ApprovalID, RunId: l.RunID, State: bus.Clip(l.State), Policy: bus.Clip(l.Policy), PolicyVersion: l.PolicyVersion,
			Rule: bus.Clip(l.Rule), Capability: bus.Clip(l.Capability), Pattern: bus.Clip(l.Pattern), Calls: l.Calls,
			Only:      bus.Clip(l.Only),
			ExpiresAt: timestamppb.New(l.ExpiresAt), GrantedBy: bus.Clip(l.GrantedBy),
		}},
	})
}
