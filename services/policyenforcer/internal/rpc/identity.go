package rpc

import (
	"context"
	"encoding/json"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
)

// WhoAmI implements PolicyEnforcerService.
func (s *Enforcer) WhoAmI(ctx context.Context, req *policyv1.WhoAmIRequest) (*policyv1.WhoAmIResponse, error) {
	who, err := callerFor(ctx)
	if err != nil {
		return nil, err
	}
	w, err := s.checks.Who(ctx, who, req.GetSessionId())
	if err != nil {
		return nil, err
	}
	p := w.Principal
	resp := &policyv1.WhoAmIResponse{
		Principal: p.Name, Role: string(p.Title()), Token: string(check.KindOf(p)), TokenId: p.TokenID, Namespace: w.Namespace, Namespaces: p.NamespaceList(),
		SessionId: w.Session, Branch: p.Branch, Person: p.Person, Presence: string(p.Presence), Relay: p.Relay, Via: w.Via, Expires: stampOf(p.Expires),
		Human: humanProto(ledger.HumanOf(w.Human)), Agent: w.Agent.Name, Lineage: w.Lineage, May: p.May(),
	}
	if p.Role.Drives() && resp.Human != nil { // as in decisions: an agent does not learn what rules look at
		resp.Human.Groups, resp.Human.Attributes = nil, nil
	}
	return resp, nil
}

// identityProto returns who has made a call; nil in records of before.
func identityProto(r *ledger.Decision) *policyv1.Identity {
	id := r.Identity
	if id == nil {
		return nil
	}
	return &policyv1.Identity{
		Principal: r.Principal, Role: id.Role, Token: id.Token, Via: id.Via, Person: id.Person, Human: humanProto(id.Human),
		Agent: id.Agent, AgentVersion: id.AgentVersion, RootSession: id.Root, Lineage: id.Lineage, Attributes: id.Attributes,
	}
}

// humanProto returns a human in the contract's form; nil for none.
func humanProto(h *ledger.Human) *policyv1.Human {
	if h == nil {
		return nil
	}
	return &policyv1.Human{
		Name: h.Name, Issuer: h.Issuer, Source: h.Source, GroupsKnown: h.GroupsKnown, Groups: h.Groups,
		Attributes: h.AttributesJSON(), AuthenticatedAt: stampOf(h.AuthenticatedAt), Expires: stampOf(h.Expires),
	}
}

// namedBy returns the person whom a caller names, by its own word alone; nil for none.
func namedBy(p auth.Principal, named *policyv1.Human) (*auth.Human, error) {
	if named == nil {
		return nil, nil
	}
	source := auth.Claimed
	if p.SpeaksFor {
		source = auth.Gateway
	}
	return humanOf(named, source)
}

// tried returns the caller of a dry run that an operator makes as another one.
func tried(who enforcer.Caller, req *policyv1.CheckToolCallRequest) (enforcer.Caller, error) {
	as := req.GetAs()
	switch {
	case as == nil:
		return who, nil
	case !req.GetDryRun():
		return who, fault.New(fault.InvalidRequest, "a call is tried as another caller in a dry run only; set dry_run").Violate("/as", "CONFLICT", "needs dry_run")
	case who.Principal.Role != auth.Operator:
		return who, fault.New(fault.PermissionDenied, "only an operator tries calls as another caller; leave out as")
	}
	of := enforcer.As{Agent: as.GetAgent()}
	if as.GetHuman() != nil {
		var err error
		if of.Human, err = humanOf(as.GetHuman(), auth.Registered); err != nil {
			return who, err
		}
		if of.Human.Issuer != "" {
			of.Human.Source = auth.Issuer
		}
	}
	return who.Try(as.GetPrincipal(), of), nil
}

// humanOf reads a human, whose facts have a source.
func humanOf(from *policyv1.Human, source auth.Source) (*auth.Human, error) {
	if !auth.ValidName(from.GetName()) {
		return nil, fault.New(fault.InvalidRequest, "the name of the human must be 1 to 256 bytes of printable text, without a blank at an end").
			Violate("/human/name", "NAME", "is no name")
	}
	h := &auth.Human{
		Name: from.GetName(), Issuer: from.GetIssuer(), Source: source, GroupsKnown: from.GetGroupsKnown(), Groups: from.GetGroups(),
	}
	if at := from.GetAuthenticatedAt(); at != nil {
		h.AuthenticatedAt = at.AsTime()
	}
	if at := from.GetExpires(); at != nil {
		h.Expires = at.AsTime()
	}
	if len(from.GetAttributes()) > 0 {
		if err := json.Unmarshal(from.GetAttributes(), &h.Attributes); err != nil {
			return nil, fault.New(fault.InvalidRequest, "the attributes of the human must be a JSON object").Violate("/human/attributes", "TYPE", "is no object")
		}
	}
	return h, nil
}

// stampOf returns a time in the contract's form; nil for none.
func stampOf(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}
