package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/sessionread"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
)

// placeOf identifies the place of a session.
type placeOf struct{ namespace, session, parent string }

// Status is the status of the sessions of a call.
type Status struct {
	sessionread.Place
	// Ended names a session that has ended, or is empty.
	Ended string
}

// sessionsOf returns the names of the sessions of a call: those of the run, the request and the caller's
// token.
func sessionsOf(caller enforcer.Caller, s *Snapshot, target enforcer.Target) []string {
	var names []string
	for _, name := range []string{s.Run.SessionID, target.SessionID, caller.Principal.Session} {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// StatusOf returns the status of the sessions of a call. It may be old, so the commit must have its checks.
func (r *Reader) StatusOf(ctx context.Context, caller enforcer.Caller, s *Snapshot, target enforcer.Target) (*Status, error) {
	all := &Status{}
	for i, name := range sessionsOf(caller, s, target) {
		p, err := r.Place(ctx, caller, name, false)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			all.Account, all.Depth = p.Account, p.Depth
		}
		if p.Depth < 0 || all.Depth >= 0 && p.Depth > all.Depth {
			all.Depth = p.Depth
		}
		if p.Ended && all.Ended == "" {
			all.Ended = name
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

// Place returns the status of a session, from memory unless it must be fresh.
func (r *Reader) Place(ctx context.Context, caller enforcer.Caller, session string, fresh bool) (*sessionread.Place, error) {
	key := placeOf{namespace: caller.Namespace, session: session}
	if caller.Principal.Session == session {
		key.parent = caller.Principal.Parent
	}
	if p, ok := r.places.Get(key); ok && !fresh {
		return p, nil
	}
	p, err := r.sessions.Place(ctx, key.namespace, key.session, key.parent)
	if err != nil {
		return nil, err
	}
	r.places.Put(key, p, nil)
	return p, nil
}

// Freshen reads the status of the sessions of a call again.
func (r *Reader) Freshen(ctx context.Context, caller enforcer.Caller, s *Snapshot, target enforcer.Target) error {
	for _, name := range sessionsOf(caller, s, target) {
		if _, err := r.Place(ctx, caller, name, true); err != nil {
			return err
		}
	}
	return nil
}

// Verdict returns the denial of a call in a session that has ended (S11.6).
func (std *Status) Verdict(tool string) (v toolcall.Verdict, ended bool) {
	if std.Ended == "" || toolcall.Own(tool) {
		return v, false
	}
	return toolcall.Verdict{Decision: toolcall.Deny, Code: toolcall.CodeRunNotActive, Tool: tool}, true
}

// Message explains the denial of a call in a session that has ended.
func (std *Status) Message(tool string) string {
	return fmt.Sprintf("Tool %s is denied: session %s has ended or was deleted, and no call is allowed in it. "+
		"An operator or a session above can resume a session that has ended; or work in a new session.", document.Quote(tool), document.Quote(std.Ended))
}

// HeldBySession reports whether a session has ended, or it or a session above it was started from an agent
// with a policy. Both apply without a run.
func HeldBySession(p *sessionread.Place) bool {
	return p.Ended || slices.ContainsFunc(p.Agents, func(a sessionread.Agent) bool { return a.Policy != "" })
}

// CheckUnchanged returns a conflict if a record is not at the version of its check.
func CheckUnchanged(ctx context.Context, st store.Store, checks ...store.Check) error {
	for _, c := range checks {
		record, err := st.Get(ctx, c.Key)
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
