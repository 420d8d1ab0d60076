package app

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/sessionread"
)

// Sessions reads how sessions stand.
type Sessions interface {
	// Place reads how a session stands now. parent is the one in the caller's token, or empty.
	Place(ctx context.Context, namespace, session, parent string) (*sessionread.Place, error)
}

// placeOf is what the place of a session is known by.
type placeOf struct{ namespace, session, parent string }

// standing is how the sessions of a call stand.
type standing struct {
	sessionread.Place
	// ended names the session that has ended; empty for none.
	ended string
}

// sessionsOf names the sessions that a call is made in: the run's, the one that the request names,
// and the one that the caller's token is bound to.
func sessionsOf(caller Caller, s *snapshotOf, target Target) []string {
	var names []string
	for _, name := range []string{s.run.SessionID, target.SessionID, caller.Principal.Session} {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// standingOf reads how the sessions of a call stand. The answer may be old: its checks tell.
func (a *App) standingOf(ctx context.Context, caller Caller, s *snapshotOf, target Target) (*standing, error) {
	all := &standing{}
	for i, name := range sessionsOf(caller, s, target) {
		p, err := a.place(ctx, caller, name, false)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			all.Account = p.Account
		}
		if p.Ended && all.ended == "" {
			all.ended = name
		}
		all.Names = union(all.Names, p.Names)
		all.Agents = union(all.Agents, p.Agents)
		all.Checks = union(all.Checks, p.Checks)
	}
	return all, nil
}

func union[T comparable](all, more []T) []T {
	for _, one := range more {
		if !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all
}

// place returns how a session stands, from memory unless it must be fresh.
func (a *App) place(ctx context.Context, caller Caller, session string, fresh bool) (*sessionread.Place, error) {
	key := placeOf{namespace: caller.Namespace, session: session}
	if caller.Principal.Session == session {
		key.parent = caller.Principal.Parent
	}
	if p, ok := a.places.Get(key); ok && !fresh {
		return p, nil
	}
	p, err := a.Sessions.Place(ctx, key.namespace, key.session, key.parent)
	if err != nil {
		return nil, err
	}
	a.places.Put(key, p, nil)
	return p, nil
}

// freshen reads anew how the sessions of a call stand.
func (a *App) freshen(ctx context.Context, caller Caller, s *snapshotOf, target Target) error {
	for _, name := range sessionsOf(caller, s, target) {
		if _, err := a.place(ctx, caller, name, true); err != nil {
			return err
		}
	}
	return nil
}

// unmoved reports a conflict when records are not at the versions that were judged by.
func (a *App) unmoved(ctx context.Context, checks ...store.Check) error {
	for _, c := range checks {
		record, err := a.store.Get(ctx, c.Key)
		if errors.Is(err, store.ErrNotFound) {
			record, err = store.Record{Version: store.Absent}, nil
		}
		if err == nil && record.Version != c.Version {
			err = &store.ConflictError{Key: c.Key, Want: c.Version, Have: record.Version}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// verdict is the answer on a call in a session that has ended (S11.6).
func (std *standing) verdict(tool string) (v toolcall.Verdict, ended bool) {
	if std.ended == "" || toolcall.Own(tool) {
		return v, false
	}
	return toolcall.Verdict{Decision: toolcall.Deny, Code: toolcall.CodeRunNotActive, Tool: tool}, true
}

// message says why a call in a session that has ended is denied.
func (std *standing) message(tool string) string {
	return fmt.Sprintf("Tool %s is denied: session %s has ended or was deleted, and no call is allowed in it. "+
		"An operator or a session above can resume a session that has ended; or work in a new session.", document.Quote(tool), document.Quote(std.ended))
}

// heldBySession reports that a session's end, or a policy of an agent that it or one above was
// started from, holds whatever the session does.
func heldBySession(p *sessionread.Place) bool {
	return p.Ended || slices.ContainsFunc(p.Agents, func(a sessionread.Agent) bool { return a.Policy != "" })
}
