package rpc

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

// AddException implements PolicyService.
func (s *Policies) AddException(ctx context.Context, req *policyv1.AddExceptionRequest) (*policyv1.AddExceptionResponse, error) {
	scope := req.GetScope()
	e, err := s.Store.AddException(ctx, caller(ctx), policystore.Exception{
		Policy: req.GetPolicy(), Rule: req.GetRule(), Until: since(req.GetUntil()), Reason: req.GetReason(), ExceptionScope: policystore.ExceptionScope{
			Principal: scope.GetPrincipal(), Human: scope.GetHuman(), Group: scope.GetGroup(), Session: scope.GetSessionId(), When: scope.GetWhen(),
		},
	})
	if err != nil {
		return nil, err
	}
	return &policyv1.AddExceptionResponse{Exception: exceptionProto(e)}, nil
}

// ListExceptions implements PolicyService.
func (s *Policies) ListExceptions(ctx context.Context, req *policyv1.ListExceptionsRequest) (*policyv1.ListExceptionsResponse, error) {
	all, err := s.exceptions(ctx, req.GetPolicy())
	if err != nil {
		return nil, err
	}
	return &policyv1.ListExceptionsResponse{Exceptions: all}, nil
}

func (s *Policies) exceptions(ctx context.Context, policy string) (out []*policyv1.Exception, _ error) {
	all, err := s.Store.Exceptions(ctx, rpc.Namespace(ctx), policy)
	if err != nil {
		return nil, err
	}
	for i := range all {
		out = append(out, exceptionProto(&all[i]))
	}
	return out, nil
}

// ConfirmException implements PolicyService.
func (s *Policies) ConfirmException(ctx context.Context, req *policyv1.ConfirmExceptionRequest) (*policyv1.ConfirmExceptionResponse, error) {
	e, err := s.Store.ConfirmException(ctx, caller(ctx), req.GetExceptionId())
	if err != nil {
		return nil, err
	}
	return &policyv1.ConfirmExceptionResponse{Exception: exceptionProto(e)}, nil
}

// EndException implements PolicyService.
func (s *Policies) EndException(ctx context.Context, req *policyv1.EndExceptionRequest) (*policyv1.EndExceptionResponse, error) {
	return &policyv1.EndExceptionResponse{}, s.Store.EndException(ctx, caller(ctx), req.GetExceptionId())
}

func exceptionProto(e *policystore.Exception) *policyv1.Exception {
	return &policyv1.Exception{
		ExceptionId: e.ID, Policy: e.Policy, Rule: e.Rule, Until: timestamppb.New(e.Until), Reason: e.Reason, CreatedBy: e.By, CreatedAt: timestamppb.New(e.At),
		Pending: e.Pending, ConfirmedBy: e.ConfirmedBy,
		Scope: &policyv1.ExceptionScope{Principal: e.Principal, Human: e.Human, Group: e.Group, SessionId: e.Session, When: e.When},
	}
}

// exceptionChanged announces a change of an exception.
func exceptionChanged(namespace, actor string, c *policystore.Change, at time.Time) (store.Event, error) {
	e := c.Exception
	event := &eventv1.Event{
		Namespace: namespace, Entity: "exception", EntityId: e.ID, Type: c.Type, Version: c.IndexVersion, Time: timestamppb.New(at), Actor: actor,
		Payload: &eventv1.Event_ExceptionChanged{ExceptionChanged: &eventv1.ExceptionChanged{
			Policy: c.Name, Rule: e.Rule, Principal: e.Principal, Human: e.Human, Group: e.Group, SessionId: e.Session, Until: timestamppb.New(e.Until),
			Reason: e.Reason, Pending: e.Pending,
		}},
	}
	return encodeNth(event, c.Nth)
}

// encodeNth encodes an event of a commit with several: these have one version.
func encodeNth(event *eventv1.Event, nth int) (store.Event, error) {
	if nth > 0 {
		event.Id = fmt.Sprintf("%s.%d", bus.EventID(event), nth)
	}
	return bus.Encode(event)
}
