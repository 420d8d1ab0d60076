package rpc

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/approval/internal/app"
)

// Announcer writes changes of approvals as events of event.v1.
type Announcer struct{}

var _ app.Announcer = Announcer{}

// ApprovalEvent implements app.Announcer.
func (Announcer) ApprovalEvent(namespace, actor string, r *app.Record, ev *consent.Event, at time.Time) (store.Event, error) {
	changed := &eventv1.ApprovalChanged{
		Kind: string(r.Action.Kind), RunId: r.RunID, Status: string(r.Standing()), AskedBy: bus.Clip(r.Asker.Principal),
		Message: bus.Clip(r.Message), Roles: bus.ClipAll(ev.Eligible.Roles), Names: bus.ClipAll(ev.Eligible.Names),
		By: bus.Clip(ev.By), Reason: bus.Clip(ev.Reason), ExpiresAt: timestamppb.New(r.ExpiresAt), Digest: r.Digest,
	}
	for _, c := range r.Terms.Also {
		changed.Terms = append(changed.Terms, bus.Clip(c.Term))
	}
	if v := ev.Vote; v != nil {
		changed.By, changed.Approve, changed.Note = bus.Clip(v.Name), v.Approve, bus.Clip(v.Note)
		changed.Relay, changed.Identity = bus.Clip(v.Relay), bus.Clip(v.Identity)
	}
	return bus.Encode(&eventv1.Event{
		Namespace: namespace, Entity: app.KindApproval, EntityId: r.ID, Type: ev.Type,
		Version: r.Version, Time: timestamppb.New(at), Actor: actor,
		Payload: &eventv1.Event_ApprovalChanged{ApprovalChanged: changed},
	})
}
