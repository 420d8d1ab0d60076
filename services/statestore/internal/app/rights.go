package app

import (
	"cmp"
	"context"
	"strings"

	"github.com/interlock-run/interlock/pkg/fault"
)

// A principal whose token is bound to a session makes, stops and resumes that session
// and those below it, and no others. Names are what tokens are bound to, so it makes
// none that another's token may be bound to: its own, and those that begin with it and
// a slash.

// ownSession is a request for a session as a bound principal means it: a root without a
// name is its own session.
func ownSession(caller Caller, req NewSession) NewSession {
	if req.Parent == "" && req.ID == "" && req.Name == "" {
		req.Name = caller.Principal.Session
	}
	return req
}

// mayCreate refuses a bound principal sessions that are not its own to make.
func (a *App) mayCreate(ctx context.Context, caller Caller, req NewSession, parent *Member) error {
	own := caller.Principal.Session
	switch {
	case own == "" || cmp.Or(req.Name, req.ID) == own && (req.ID == "" || req.ID == own):
		return nil // under a parent only where it is there already, see mayTouch
	case parent == nil:
		return fault.New(fault.PermissionDenied,
			"this token is bound to session %q, and makes no other root; name parent_session_name %q to make a session below it", clip(own), clip(own))
	}
	acting, err := a.acting(ctx, caller)
	if err != nil {
		return err
	}
	below, err := a.isBelow(ctx, acting, parent)
	switch {
	case err != nil:
		return err
	case !below:
		return fault.New(fault.PermissionDenied,
			"this token is bound to session %q, and makes sessions below that one, not below %q", clip(own), clip(parent.Name))
	}
	for _, name := range []string{req.Name, req.ID} {
		if name != "" && !beginsWith(name, own, acting.Name, acting.ID) {
			return fault.New(fault.PermissionDenied,
				"this token is bound to session %q, so what it calls a session below must begin with %q, as %q does not; or leave the name out", clip(own), clip(acting.Name)+"/", clip(name))
		}
	}
	return nil
}

// beginsWith reports that a name is below one of those of a session.
func beginsWith(name string, of ...string) bool {
	for _, above := range of {
		if strings.HasPrefix(name, above+"/") {
			return true
		}
	}
	return false
}

// mayStop refuses a session that would end another than itself or one below it, and
// with a token that is bound to it one that would stop another.
func (a *App) mayStop(ctx context.Context, caller Caller, m *Member, end bool) error {
	if !end && caller.Principal.Session == "" {
		return nil
	}
	return a.mayCommand(ctx, caller, m, "stop")
}

// mayResume refuses a bound principal the resumption of another session than its own
// or one below it.
func (a *App) mayResume(ctx context.Context, caller Caller, m *Member) error {
	if caller.Principal.Session == "" {
		return nil
	}
	return a.mayCommand(ctx, caller, m, "resume")
}

func (a *App) mayCommand(ctx context.Context, caller Caller, m *Member, verb string) error {
	acting, err := a.acting(ctx, caller)
	if err != nil || acting == nil {
		return err
	}
	below, err := a.isBelow(ctx, acting, m)
	if err == nil && !below {
		return fault.New(fault.PermissionDenied, "session %q can %s itself and those below it, not %q", clip(acting.Name), verb, clip(m.Name))
	}
	return err
}

// acting is the session that acts, for a bound principal always its own; nil where an
// unbound one has named none.
func (a *App) acting(ctx context.Context, caller Caller) (*Member, error) {
	if caller.Session = cmp.Or(caller.Principal.Session, caller.Session); caller.Session == "" {
		return nil, nil
	}
	return a.actor(ctx, caller)
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
