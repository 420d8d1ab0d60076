package app

import (
	"cmp"
	"context"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/services/internal/principal"
)

// ownSession returns a request for a session as a bound principal means it: a root
// without a name is its own session.
func ownSession(caller Caller, req NewSession) NewSession {
	if req.Parent == "" && req.ID == "" && req.Name == "" {
		req.Name = caller.Principal.Session
	}
	return req
}

// may decides about a session, nil for a root that is not there yet.
func (a *App) may(ctx context.Context, caller Caller, subject *Member, decide func(authority.SessionScene) *authority.Refusal) error {
	s := authority.SessionScene{Who: principal.Who(caller.Principal), Subject: subject.authority()}
	// A caller whose token is bound always acts as that session.
	caller.Session = cmp.Or(caller.Principal.Session, caller.Session)
	if caller.Session != "" && subject != nil {
		acting, err := a.actor(ctx, caller)
		if err != nil {
			return err
		}
		if s.Below, err = a.isBelow(ctx, acting, subject); err != nil {
			return err
		}
		s.Acting = acting.authority()
	}
	if refusal := decide(s); refusal != nil {
		return fault.New(fault.Reason(refusal.Code), "%s", refusal.Message)
	}
	return nil
}

// author returns the caller as the author of changes to a session.
func (a *App) author(ctx context.Context, caller Caller) (*authority.Author, error) {
	who := principal.Who(caller.Principal)
	by := &authority.Author{Role: who.Role, Name: who.Name}
	if caller.Session = cmp.Or(caller.Principal.Session, caller.Session); caller.Session == "" {
		return by, nil
	}
	acting, err := a.actor(ctx, caller)
	if err != nil {
		return nil, err
	}
	by.SessionID = acting.ID
	return by, nil
}

// authority returns the part of a session that counts for authority; nil of none.
func (m *Member) authority() *authority.Session {
	if m == nil {
		return nil
	}
	return &authority.Session{ID: m.ID, Name: m.Name, RootID: m.RootID, Ended: m.EndedBy}
}

// mayTouch refuses a caller whose session is of another tree than m. A session may always
// be named by its own name.
func (a *App) mayTouch(ctx context.Context, caller Caller, m *Member) error {
	if caller.Session == "" {
		return nil
	}
	acting, err := a.actor(ctx, caller)
	if err != nil {
		return err
	}
	s := authority.SessionScene{Acting: acting.authority(), Subject: m.authority()}
	if refusal := s.MayTouch(); refusal != nil {
		return fault.New(fault.Reason(refusal.Code), "%s", refusal.Message)
	}
	return nil
}

// mayReopen refuses an operation that takes back the end of a session above m, which is
// open again once m is.
func (a *App) mayReopen(ctx context.Context, caller Caller, m *Member) error {
	for m.ParentHome != "" {
		var err error
		if m, err = a.loadMember(ctx, sessionKey(m.Key.Namespace, m.ParentHome)); err != nil || m.Status != session.Ended {
			return err
		}
		if err := a.may(ctx, caller, m, authority.SessionScene.MayReopen); err != nil {
			return err
		}
	}
	return nil
}

// isBelow reports that a session is another one, or below it.
func (a *App) isBelow(ctx context.Context, top, m *Member) (bool, error) {
	for at := m; at.Key != top.Key; {
		if at.ParentHome == "" {
			return false, nil
		}
		var err error
		if at, err = a.cachedMember(ctx, sessionKey(m.Key.Namespace, at.ParentHome)); err != nil {
			return false, err
		}
	}
	return true, nil
}
