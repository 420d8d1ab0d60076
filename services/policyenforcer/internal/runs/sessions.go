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
		if name == caller.Principal.Session {
			if p, err = r.stand(ctx, caller, p, all); err != nil {
				return nil, err
			}
		}
		for _, n := range p.Narrowed {
			if !slices.ContainsFunc(all.Narrowed, func(known toolcall.Narrowed) bool { return known.Of == n.Of }) {
				all.Narrowed = append(all.Narrowed, n)
			}
		}
		if i == 0 {
			all.Account, all.Depth, all.Lineage, all.Own, all.Labels = p.Account, p.Depth, p.Lineage, p.Own, p.Labels
		}
		if all.Human == nil {
			all.Human = p.Human
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
	if of := caller.As; of != nil && of.Agent != "" {
		agent, err := r.sessions.Agent(ctx, caller.Namespace, of.Agent)
		if err != nil {
			return nil, err
		}
		all.Own, all.Agents = agent, union(all.Agents, []sessionread.Agent{agent})
	}
	return all, nil
}

// stand adds what narrows the caller's own token, and refuses one that was revoked (S22.21). The place may be old, and
// the token newer: then it is read again.
func (r *Reader) stand(ctx context.Context, caller enforcer.Caller, p *sessionread.Place, all *Status) (*sessionread.Place, error) {
	only, err := p.Standing(caller.Principal)
	if err != nil {
		if p, err = r.Place(ctx, caller, caller.Principal.Session, true); err != nil {
			return nil, err
		}
		only, err = p.Standing(caller.Principal)
	}
	all.Narrowed = append(all.Narrowed, only...)
	return p, err
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

// EndedVerdict returns the denial of a call in a session that has ended (S11.6).
func (st *Status) EndedVerdict(tool string) (v toolcall.Verdict, ended bool) {
	if st.Ended == "" || toolcall.Own(tool) {
		return v, false
	}
	return toolcall.Verdict{Decision: toolcall.Deny, Code: toolcall.CodeRunNotActive, Tool: tool}, true
}

// EndedMessage explains the denial of a call in a session that has ended.
func (st *Status) EndedMessage(tool string) string {
	return fmt.Sprintf("Tool %s is denied: session %s has ended or was deleted, and no call is allowed in it. "+
		"An operator or a session above can resume a session that has ended; or work in a new session.", document.Quote(tool), document.Quote(st.Ended))
}

// JudgedBySession reports whether a session has ended, or it or a session above it is narrowed, or was started from an
// agent with a policy. All of that applies without a run.
func JudgedBySession(p *sessionread.Place) bool {
	return p.Ended || len(p.Narrowed) > 0 || slices.ContainsFunc(p.Agents, func(a sessionread.Agent) bool { return a.Policy != "" })
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
