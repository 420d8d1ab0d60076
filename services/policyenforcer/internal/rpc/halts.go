package rpc

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/halts"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

// Halts implements HaltService.
type Halts struct {
	identityv1.UnimplementedHaltServiceServer
	Keeper *halts.Keeper
}

var haltKinds = protomap.LowerEnums[halts.Kind, identityv1.HaltKind](identityv1.HaltKind_value, "HALT_KIND_")

// CreateHalt implements HaltService.
func (s *Halts) CreateHalt(ctx context.Context, req *identityv1.CreateHaltRequest) (*identityv1.CreateHaltResponse, error) {
	h, created, err := s.Keeper.Create(ctx, halter(ctx), scopeOf(req.GetScope()), req.GetReason())
	if err != nil {
		return nil, err
	}
	return &identityv1.CreateHaltResponse{Halt: haltProto(h), Created: created}, nil
}

// LiftHalt implements HaltService.
func (s *Halts) LiftHalt(ctx context.Context, req *identityv1.LiftHaltRequest) (*identityv1.LiftHaltResponse, error) {
	h, err := s.Keeper.Lift(ctx, halter(ctx), req.GetId(), req.GetReason())
	if err != nil {
		return nil, err
	}
	return &identityv1.LiftHaltResponse{Halt: haltProto(h)}, nil
}

// ListHalts implements HaltService.
func (s *Halts) ListHalts(ctx context.Context, _ *identityv1.ListHaltsRequest) (*identityv1.ListHaltsResponse, error) {
	all, err := s.Keeper.List(ctx, halter(ctx).Namespace)
	if err != nil {
		return nil, err
	}
	resp := &identityv1.ListHaltsResponse{}
	for i := range all {
		resp.Halts = append(resp.Halts, haltProto(&all[i]))
	}
	return resp, nil
}

// CreateFreeze implements HaltService.
func (s *Halts) CreateFreeze(ctx context.Context, req *identityv1.CreateFreezeRequest) (*identityv1.CreateFreezeResponse, error) {
	h, created, err := s.Keeper.CreateFreeze(ctx, halter(ctx), req.GetWorkflow(), req.GetUntil().AsTime(), req.GetReason())
	if err != nil {
		return nil, err
	}
	return &identityv1.CreateFreezeResponse{Freeze: freezeProto(h), Created: created}, nil
}

// LiftFreeze implements HaltService.
func (s *Halts) LiftFreeze(ctx context.Context, req *identityv1.LiftFreezeRequest) (*identityv1.LiftFreezeResponse, error) {
	h, err := s.Keeper.LiftFreeze(ctx, halter(ctx), req.GetId(), req.GetReason())
	if err != nil {
		return nil, err
	}
	return &identityv1.LiftFreezeResponse{Freeze: freezeProto(h)}, nil
}

// ListFreezes implements HaltService.
func (s *Halts) ListFreezes(ctx context.Context, _ *identityv1.ListFreezesRequest) (*identityv1.ListFreezesResponse, error) {
	all, err := s.Keeper.ListFreezes(ctx, halter(ctx).Namespace)
	if err != nil {
		return nil, err
	}
	resp := &identityv1.ListFreezesResponse{}
	for i := range all {
		resp.Freezes = append(resp.Freezes, freezeProto(&all[i]))
	}
	return resp, nil
}

func freezeProto(h *halts.Halt) *identityv1.Freeze {
	return &identityv1.Freeze{
		Id: h.ID, Workflow: h.Name, Namespace: h.Namespace, Reason: h.Reason, CreatedBy: h.By,
		CreatedAt: timestamppb.New(h.At), Until: timestamppb.New(h.Until), ByRoot: h.ByRoot,
	}
}

func halter(ctx context.Context) halts.Caller {
	c := caller(ctx)
	return halts.Caller{Namespace: c.Namespace, Principal: c.Principal}
}

// scopeOf reads a scope; of a kind that this version does not know it has none, and is refused.
func scopeOf(s *identityv1.HaltScope) halts.Scope {
	for kind, value := range haltKinds {
		if value == s.GetKind() {
			return halts.Scope{Kind: kind, Name: s.GetName()}
		}
	}
	return halts.Scope{Kind: halts.Kind(s.GetKind().String()), Name: s.GetName()}
}

func haltProto(h *halts.Halt) *identityv1.Halt {
	return &identityv1.Halt{
		Id: h.ID, Scope: &identityv1.HaltScope{Kind: haltKinds[h.Kind], Name: h.Name}, Namespace: h.Namespace, Reason: h.Reason,
		CreatedBy: h.By, CreatedAt: timestamppb.New(h.At), ByRoot: h.ByRoot,
	}
}

// HaltChanged announces that work is stopped or frozen, or goes on.
func (Announcer) HaltChanged(namespace, actor string, c *halts.Change, at time.Time) (store.Event, error) {
	event := &eventv1.Event{
		Namespace: namespace, Entity: "halt", EntityId: c.ID, Type: c.Type, Version: c.Revision, Time: timestamppb.New(at), Actor: actor,
		Payload: &eventv1.Event_HaltChanged{HaltChanged: &eventv1.HaltChanged{Kind: string(c.Kind), Name: bus.Clip(c.Name), Reason: c.Reason}},
	}
	if !c.Until.IsZero() {
		event.Entity = "freeze"
		event.Payload = &eventv1.Event_FreezeChanged{FreezeChanged: &eventv1.FreezeChanged{
			Workflow: bus.Clip(c.Name), Reason: c.Reason, Until: timestamppb.New(c.Until),
		}}
	}
	return bus.Encode(event)
}
