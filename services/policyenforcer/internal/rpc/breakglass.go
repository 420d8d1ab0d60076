package rpc

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/receipt"
	grants "github.com/interlock-run/interlock/pkg/sdk/breakglass"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/receipts"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/breakglass"
)

// BreakGlass implements BreakGlassService.
type BreakGlass struct {
	policyv1.UnimplementedBreakGlassServiceServer
	Keeper *breakglass.Keeper
	// Key signs grants; nil where another service has it.
	Key receipt.Signer
}

// CreateBreakGlassGrant implements BreakGlassService.
func (s *BreakGlass) CreateBreakGlassGrant(ctx context.Context, req *policyv1.CreateBreakGlassGrantRequest) (*policyv1.CreateBreakGlassGrantResponse, error) {
	g, err := s.Keeper.Create(ctx, caller(ctx), breakglass.Grant{Grant: grants.Grant{
		Principal: req.GetPrincipal(), Tools: req.GetTools(), Commands: req.GetCommands(), Expires: req.GetUntil().GetSeconds(), Reason: req.GetReason(),
	}})
	if err != nil {
		return nil, err
	}
	signed, err := s.signed(ctx, g)
	return &policyv1.CreateBreakGlassGrantResponse{Grant: signed}, err
}

// ListBreakGlassGrants implements BreakGlassService.
func (s *BreakGlass) ListBreakGlassGrants(ctx context.Context, _ *policyv1.ListBreakGlassGrantsRequest) (*policyv1.ListBreakGlassGrantsResponse, error) {
	all, err := s.Keeper.List(ctx, caller(ctx).Namespace)
	if err != nil {
		return nil, err
	}
	resp := &policyv1.ListBreakGlassGrantsResponse{}
	for i := range all {
		resp.Grants = append(resp.Grants, glassProto(&all[i]))
	}
	return resp, nil
}

// GetBreakGlassGrant implements BreakGlassService.
func (s *BreakGlass) GetBreakGlassGrant(ctx context.Context, req *policyv1.GetBreakGlassGrantRequest) (*policyv1.GetBreakGlassGrantResponse, error) {
	g, err := s.Keeper.Get(ctx, caller(ctx).Namespace, req.GetGrantId())
	if err != nil {
		return nil, err
	}
	signed, err := s.signed(ctx, g)
	return &policyv1.GetBreakGlassGrantResponse{Grant: signed}, err
}

// ConfirmBreakGlassGrant implements BreakGlassService.
func (s *BreakGlass) ConfirmBreakGlassGrant(ctx context.Context, req *policyv1.ConfirmBreakGlassGrantRequest) (*policyv1.ConfirmBreakGlassGrantResponse, error) {
	g, err := s.Keeper.Confirm(ctx, caller(ctx), req.GetGrantId())
	if err != nil {
		return nil, err
	}
	signed, err := s.signed(ctx, g)
	return &policyv1.ConfirmBreakGlassGrantResponse{Grant: signed}, err
}

// RevokeBreakGlassGrant implements BreakGlassService.
func (s *BreakGlass) RevokeBreakGlassGrant(ctx context.Context, req *policyv1.RevokeBreakGlassGrantRequest) (*policyv1.RevokeBreakGlassGrantResponse, error) {
	g, err := s.Keeper.Revoke(ctx, caller(ctx), req.GetGrantId())
	if err != nil {
		return nil, err
	}
	return &policyv1.RevokeBreakGlassGrantResponse{Grant: glassProto(g)}, nil
}

// HandInBreakGlass implements BreakGlassService.
func (s *BreakGlass) HandInBreakGlass(ctx context.Context, req *policyv1.HandInBreakGlassRequest) (*policyv1.HandInBreakGlassResponse, error) {
	in, err := s.Keeper.HandIn(ctx, caller(ctx), req.GetGrantId(), req.GetLines())
	if err != nil {
		return nil, err
	}
	return &policyv1.HandInBreakGlassResponse{Recorded: int32(in.Recorded), Known: int32(in.Known), Altered: in.Altered}, nil //nolint:gosec // at most 4,000
}

// signed returns a grant with its token, if it counts and there is a key.
func (s *BreakGlass) signed(ctx context.Context, g *breakglass.Grant) (*policyv1.BreakGlassGrant, error) {
	out := glassProto(g)
	if s.Key == nil || g.Pending || g.RevokedBy != "" {
		return out, nil
	}
	public, err := receipt.PublicPEM(s.Key.Public())
	if err != nil {
		return nil, fault.From(err)
	}
	if out.Token, err = receipts.BreakGlassToken(out, caller(ctx).Namespace, s.Key); err != nil {
		return nil, fault.From(err)
	}
	out.PublicKey = string(public)
	return out, nil
}

func glassProto(g *breakglass.Grant) *policyv1.BreakGlassGrant {
	out := &policyv1.BreakGlassGrant{
		GrantId: g.ID, Principal: g.Principal, Tools: g.Tools, Commands: g.Commands, CreatedAt: timestamppb.New(g.CreatedAt()), Until: timestamppb.New(g.Until()),
		Reason: g.Reason, CreatedBy: g.By, Pending: g.Pending, ConfirmedBy: g.ConfirmedBy, RevokedBy: g.RevokedBy, Calls: g.Calls, Altered: g.Altered,
	}
	if g.RevokedBy != "" {
		out.RevokedAt = timestamppb.New(g.RevokedAt)
	}
	return out
}

// BreakGlassChanged announces a change of a break-glass grant, and calls that were handed in.
func (Announcer) BreakGlassChanged(namespace, actor string, c *breakglass.Change, at time.Time) (store.Event, error) {
	return bus.Encode(&eventv1.Event{
		Namespace: namespace, Entity: "breakglass", EntityId: c.ID, Type: c.Type, Version: c.Version, Time: timestamppb.New(at), Actor: actor,
		Payload: &eventv1.Event_BreakGlassChanged{BreakGlassChanged: &eventv1.BreakGlassChanged{
			Principal: bus.Clip(c.Principal), Tools: bus.ClipAll(c.Tools), Commands: bus.ClipAll(c.Commands), Until: timestamppb.New(c.Until()), Reason: c.Reason,
			Pending: c.Pending, Calls: c.Recorded, Altered: c.Why,
		}},
	})
}
