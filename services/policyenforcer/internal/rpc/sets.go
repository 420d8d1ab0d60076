package rpc

import (
	"context"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/internal/catalog"
	"github.com/interlock-run/interlock/services/internal/protomap"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

// Sets serves SetService.
type Sets struct {
	policyv1.UnimplementedSetServiceServer
	Store *policystore.Store
}

var definitionKinds = protomap.LowerEnums[catalog.Kind, policyv1.DefinitionKind](policyv1.DefinitionKind_value, "DEFINITION_KIND_")

// ApplySet implements SetService.
func (s *Sets) ApplySet(ctx context.Context, req *policyv1.ApplySetRequest) (*policyv1.ApplySetResponse, error) {
	application := &policystore.Application{
		Name: req.GetName(), Expected: req.GetExpectedVersion(), Repo: req.GetRepo(), Commit: req.GetCommit(), DryRun: req.GetDryRun(),
		Bundle: req.GetBundle(), Shadow: req.GetShadow().AsDuration(), Now: req.GetNow(),
	}
	for _, c := range req.GetChanges() {
		application.Changes = append(application.Changes, policystore.SetChange{
			Object: catalog.Object{Kind: kindOf(c.GetKind()), Name: c.GetName()}, Expected: c.GetExpectedVersion(), Version: c.GetVersion(), Take: c.GetTake(),
			Attached: c.GetOwnsAttachments(), Was: attachments(c.GetExpectedAttachments()), Attachments: attachments(c.GetAttachments()),
		})
	}
	set, changed, err := s.Store.Apply(ctx, caller(ctx), application)
	if err != nil {
		return nil, err
	}
	return &policyv1.ApplySetResponse{Set: setProto(req.GetName(), &set), Changed: changed}, nil
}

// GetSet implements SetService.
func (s *Sets) GetSet(ctx context.Context, req *policyv1.GetSetRequest) (*policyv1.GetSetResponse, error) {
	set, err := s.Store.AppliedSet(ctx, rpc.Namespace(ctx), req.GetName())
	if err != nil {
		return nil, err
	}
	return &policyv1.GetSetResponse{Set: setProto(req.GetName(), &set)}, nil
}

// ListSets implements SetService.
func (s *Sets) ListSets(ctx context.Context, req *policyv1.ListSetsRequest) (*policyv1.ListSetsResponse, error) {
	if req.GetKind() != 0 {
		return s.origin(ctx, req)
	}
	sets, err := s.Store.Sets(ctx, rpc.Namespace(ctx))
	if err != nil {
		return nil, err
	}
	resp := &policyv1.ListSetsResponse{}
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		set := sets[name]
		resp.Sets = append(resp.Sets, setProto(name, &set))
	}
	return resp, nil
}

// origin returns the set that has made a version live.
func (s *Sets) origin(ctx context.Context, req *policyv1.ListSetsRequest) (*policyv1.ListSetsResponse, error) {
	if req.GetName() == "" || req.GetVersion() == 0 {
		return nil, fault.New(fault.InvalidRequest, "with a kind, give the name and the version of the definition too")
	}
	name, set, ok, err := s.Store.Origin(ctx, rpc.Namespace(ctx), catalog.Object{Kind: kindOf(req.GetKind()), Name: req.GetName()}, req.GetVersion())
	if err != nil || !ok {
		return &policyv1.ListSetsResponse{}, err
	}
	return &policyv1.ListSetsResponse{Sets: []*policyv1.DefinitionSet{setProto(name, &set)}}, nil
}

// kindOf returns a kind that the contract has; validation has refused others.
func kindOf(k policyv1.DefinitionKind) catalog.Kind {
	for kind, value := range definitionKinds {
		if value == k {
			return kind
		}
	}
	return ""
}

func byName(a, b catalog.Object) int { return strings.Compare(a.String(), b.String()) }

func setShadowProto(s *catalog.Shadow) *policyv1.SetShadow {
	if s == nil {
		return nil
	}
	out := &policyv1.SetShadow{StartedAt: timestamppb.New(s.At), Until: timestamppb.New(s.Until), StartedBy: s.By, Repo: s.Repo, Commit: s.Commit}
	for _, o := range slices.SortedFunc(maps.Keys(s.Objects), byName) {
		change := s.Objects[o]
		object := &policyv1.ShadowedObject{
			Kind: definitionKinds[o.Kind], Name: o.Name, Version: change.Version, Digest: change.Digest, LiveVersion: change.Live,
			OwnsAttachments: change.Attached, Judged: change.Judged,
		}
		for _, to := range policystore.AttachmentsOf(change) {
			object.Attachments = append(object.Attachments, &policyv1.Attachment{Kind: kinds[to.Kind], Id: to.ID})
		}
		out.Objects = append(out.Objects, object)
	}
	return out
}

func setProto(name string, s *catalog.Set) *policyv1.DefinitionSet {
	out := &policyv1.DefinitionSet{Name: name, Version: s.Version, Repo: s.Repo, Commit: s.Commit, AppliedBy: s.By, Serial: s.Serial, BundleDigest: s.Bundle}
	if !s.At.IsZero() {
		out.AppliedAt = timestamppb.New(s.At)
	}
	out.Shadow = setShadowProto(s.Shadow)
	for _, o := range slices.SortedFunc(maps.Keys(s.Objects), byName) {
		status := s.Objects[o]
		out.Objects = append(out.Objects, &policyv1.SetObject{
			Kind: definitionKinds[o.Kind], Name: o.Name, Version: status.Version, Digest: status.Digest, OwnsAttachments: status.Attachments,
		})
	}
	return out
}
