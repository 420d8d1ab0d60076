package rpc

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
	peerv1 "github.com/interlock-run/interlock/gen/go/interlock/peer/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/protomap"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/pins"
)

// Upstreams serves UpstreamService and UpstreamPeerService.
type Upstreams struct {
	policyv1.UnimplementedUpstreamServiceServer
	peerv1.UnimplementedUpstreamPeerServiceServer
	Pins *pins.Registry
}

// PinUpstreamTools implements UpstreamPeerService.
func (s *Upstreams) PinUpstreamTools(
	ctx context.Context, req *peerv1.PinUpstreamToolsRequest,
) (*peerv1.PinUpstreamToolsResponse, error) {
	seen := make([]pins.Offered, len(req.GetTools()))
	for i, t := range req.GetTools() {
		seen[i] = pins.Offered{Tool: t.GetTool(), Digest: t.GetDigest(), Description: t.GetDescription(), Draft: t.GetDraft(), Others: t.GetOthers()}
	}
	left := map[string]string{}
	for _, t := range req.GetLeftOut() {
		left[t.GetTool()] = t.GetWhy()
	}
	hidden, err := s.Pins.Pin(ctx, caller(ctx), req.GetServer(), seen, left)
	if err != nil {
		return nil, err
	}
	return &peerv1.PinUpstreamToolsResponse{Changed: hidden.Changed, NoRoom: hidden.NoRoom}, nil
}

// ListUpstreamTools implements UpstreamService.
func (s *Upstreams) ListUpstreamTools(ctx context.Context, _ *policyv1.ListUpstreamToolsRequest) (*policyv1.ListUpstreamToolsResponse, error) {
	all, err := s.Pins.List(ctx, rpc.Namespace(ctx))
	if err != nil {
		return nil, err
	}
	return &policyv1.ListUpstreamToolsResponse{Tools: upstreamTools(all)}, nil
}

// AcceptUpstreamTools implements UpstreamService.
func (s *Upstreams) AcceptUpstreamTools(
	ctx context.Context, req *policyv1.AcceptUpstreamToolsRequest,
) (*policyv1.AcceptUpstreamToolsResponse, error) {
	accepted, err := s.Pins.Accept(ctx, caller(ctx), req.GetServer(), req.GetTool(), req.GetDigest())
	if err != nil {
		return nil, err
	}
	return &policyv1.AcceptUpstreamToolsResponse{Tools: upstreamTools([]pins.Tool{*accepted})}, nil
}

// ForgetUpstreamTools implements UpstreamService.
func (s *Upstreams) ForgetUpstreamTools(
	ctx context.Context, req *policyv1.ForgetUpstreamToolsRequest,
) (*policyv1.ForgetUpstreamToolsResponse, error) {
	gone, err := s.Pins.Forget(ctx, caller(ctx), req.GetServer(), req.GetTool())
	if err != nil {
		return nil, err
	}
	return &policyv1.ForgetUpstreamToolsResponse{Tools: upstreamTools(gone)}, nil
}

// DescribeUpstreamTools implements UpstreamService.
func (s *Upstreams) DescribeUpstreamTools(
	ctx context.Context, req *policyv1.DescribeUpstreamToolsRequest,
) (*policyv1.DescribeUpstreamToolsResponse, error) {
	p, err := s.Pins.Propose(ctx, rpc.Namespace(ctx), req.GetServer(), req.GetDescriptions())
	if err != nil {
		return nil, err
	}
	return &policyv1.DescribeUpstreamToolsResponse{
		Descriptions: p.JSON(), Digest: p.Digest, Undescribed: p.Undescribed, Accepted: p.Accepted,
		ReportedByAgents: p.ByAgents, OtherArguments: p.Others,
	}, nil
}

// AcceptUpstreamDescriptions implements UpstreamService.
func (s *Upstreams) AcceptUpstreamDescriptions(
	ctx context.Context, req *policyv1.AcceptUpstreamDescriptionsRequest,
) (*policyv1.AcceptUpstreamDescriptionsResponse, error) {
	names, err := s.Pins.AcceptDescriptions(ctx, caller(ctx), req.GetServer(), req.GetDescriptions(), req.GetDigest())
	if err != nil {
		return nil, err
	}
	return &policyv1.AcceptUpstreamDescriptionsResponse{Tools: names}, nil
}

func upstreamTools(all []pins.Tool) []*policyv1.UpstreamTool {
	out := make([]*policyv1.UpstreamTool, len(all))
	for i, t := range all {
		out[i] = &policyv1.UpstreamTool{
			Server: t.Server, Tool: t.Tool, Changed: t.Changed, Description: t.Description, ReportedBy: t.ReportedBy(), LeftOut: t.LeftOut,
		}
		if n := len(t.Accepted); n > 0 {
			out[i].Accepted = t.Accepted[n-1]
		}
	}
	return out
}

// UpstreamChanged announces a change of a server's tools.
func (Announcer) UpstreamChanged(namespace, actor string, c *pins.Change, at time.Time) (store.Event, error) {
	return bus.Encode(&eventv1.Event{
		Namespace: namespace, Entity: "upstream", EntityId: c.Server, Type: c.Type,
		Version: c.Version, Time: timestamppb.New(at), Actor: actor,
		Payload: &eventv1.Event_UpstreamChanged{UpstreamChanged: &eventv1.UpstreamChanged{Tools: bus.ClipAll(c.Tools)}},
	})
}

// LeaseEvent announces that a lease is used up.
func (Announcer) LeaseEvent(namespace, actor, change string, l *consent.Lease, at time.Time) (store.Event, error) {
	return protomap.LeaseEvent(namespace, actor, change, l, at)
}
