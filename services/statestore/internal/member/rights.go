package member

import (
	"cmp"
	"context"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/services/internal/principal"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
)

// Rights decides which caller may do what to a session.
type Rights struct {
	members *Members
	names   *Names
}

// NewRights returns the rights on sessions.
func NewRights(members *Members, names *Names) *Rights {
	return &Rights{members: members, names: names}
}

// May decides about a session, nil for a root that is not there yet.
func (rs *Rights) May(ctx context.Context, caller ports.Caller, subject *Member, decide func(authority.SessionScene) *authority.Refusal) error {
	s := authority.SessionScene{Who: principal.Who(caller.Principal), Subject: subject.authority()}
	// A caller whose token is bound always acts as that session.
	caller.Session = cmp.Or(caller.Principal.Session, caller.Session)
	if caller.Session != "" && subject != nil {
		acting, err := rs.Actor(ctx, caller)
		if err != nil {
			return err
		}
		if s.Below, err = rs.isBelow(ctx, acting, subject); err != nil {
			return err
		}
		s.Acting = acting.authority()
	}
	if refusal := decide(s); refusal != nil {
		return fault.New(fault.Reason(refusal.Code), "%s", refusal.Message)
	}
	return nil
}

// Author returns the caller as the author of changes to a session.
func (rs *Rights) Author(ctx context.Context, caller ports.Caller) (*authority.Author, error) {
	who := principal.Who(caller.Principal)
	by := &authority.Author{Role: who.Role, Name: who.Name}
	if caller.Session = cmp.Or(caller.Principal.Session, caller.Session); caller.Session == "" {
		return by, nil
	}
	acting, err := rs.Actor(ctx, caller)
	if err != nil {
		return nil, err
	}
	by.SessionID = acting.ID
	return by, nil
}

// MayTouch refuses a caller whose session is of another tree than m. A session may always
// be named by its own name.
func (rs *Rights) MayTouch(ctx context.Context, caller ports.Caller, m *Member) error {
	if caller.Session == "" {
		return nil
	}
	acting, err := rs.Actor(ctx, caller)
	if err != nil {
		return err
	}
	s := authority.SessionScene{Acting: acting.authority(), Subject: m.authority()}
	if refusal := s.MayTouch(); refusal != nil {
		return fault.New(fault.Reason(refusal.Code), "%s", refusal.Message)
	}
	return nil
}

// Covers reports that a session is another one, or below it in its tree.
func (rs *Rights) Covers(ctx context.Context, top, m *Member) (bool, error) {
	return rs.isBelow(ctx, top, m)
}

// MayReopen refuses an operation that takes back the end of a session above m, which is
// open again once m is.
func (rs *Rights) MayReopen(ctx context.Context, caller ports.Caller, m *Member) error {
	for m.ParentHome != "" {
		var err error
		if m, err = rs.members.Load(ctx, KeyOf(m.Key.Namespace, m.ParentHome)); err != nil || m.Status != session.Ended {
			return err
		}
		if err := rs.May(ctx, caller, m, authority.SessionScene.MayReopen); err != nil {
			return err
		}
	}
	return nil
}

// isBelow reports that a session is another one, or below it.
func (rs *Rights) isBelow(ctx context.Context, top, m *Member) (bool, error) {
	for at := m; at.Key != top.Key; {
		if at.ParentHome == "" {
			return false, nil
		}
		var err error
		if at, err = rs.members.Cached(ctx, KeyOf(m.Key.Namespace, at.ParentHome)); err != nil {
			return false, err
		}
	}
	return true, nil
}
