package sessions

import (
	"context"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/services/internal/idempotency"
	"github.com/interlock-run/interlock/services/statestore/internal/member"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
)

// Narrow adds entries that all calls of a session and of those below it must meet, or replaces all of them (S22.24).
func (ss *Sessions) Narrow(ctx context.Context, caller ports.Caller, name string, only []byte, replace bool) (*member.Member, error) {
	m, err := ss.bounded(ctx, caller, name, "narrow")
	if err != nil {
		return nil, err
	}
	if replace && caller.Agent() {
		return nil, fault.New(fault.PermissionDenied, "only an operator replaces or removes the entries of a session; leave replace out to add entries")
	}
	if !replace && len(only) == 0 {
		return nil, fault.New(fault.InvalidRequest, "give the entries to add in only, or replace as an operator").Violate("/only", "REQUIRED", "is missing")
	}
	only, err = ports.Narrowing(only)
	if err != nil {
		return nil, err
	}
	return ss.members.Step(ctx, caller, m.Key, idempotency.Key{}, func(m *member.Member, c session.Clock) (session.Result, error) {
		next := only
		if !replace {
			var err error
			if next, err = joined(m.Only, only); err != nil {
				return session.Result{}, err
			}
		}
		return m.Narrow(next, c), nil
	})
}

// joined returns the entries of two lists, without those of the second that the first has.
func joined(first, second []byte) ([]byte, error) {
	if first == nil {
		return second, nil
	}
	a, problem := document.Parse(first, document.Limits{Bytes: ports.MaxRecordBytes})
	if problem != nil {
		return nil, fault.New(fault.Internal, "read what the session is narrowed to: %s", problem.Message)
	}
	b, problem := document.Parse(second, document.Limits{Bytes: ports.MaxRecordBytes})
	if problem != nil {
		return nil, fault.New(fault.InvalidRequest, "only: %s", problem.Message)
	}
	var all []document.Value
	for _, v := range a.Elements() {
		all = append(all, v)
	}
	known := len(all)
next:
	for _, v := range b.Elements() {
		for _, have := range all[:known] {
			if document.Equal(have, v) {
				continue next
			}
		}
		all = append(all, v)
	}
	return ports.Narrowing(document.ArrayValue(all).AppendJSON(nil))
}

// bounded returns a session whose rights the caller may bound: an agent those of its own session and of sessions below it.
func (ss *Sessions) bounded(ctx context.Context, caller ports.Caller, name, verb string) (*member.Member, error) {
	m, err := ss.Get(ctx, caller, name)
	if err != nil {
		return nil, err
	}
	return m, ss.rights.May(ctx, caller, m, func(s authority.SessionScene) *authority.Refusal { return s.MayBound(verb) })
}
