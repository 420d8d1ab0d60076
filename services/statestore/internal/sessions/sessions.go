// Package sessions carries out the requests about sessions that exist: stop, resume, grants and
// deletion.
package sessions

import (
	"context"
	"fmt"
	"slices"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/idempotency"
	"github.com/interlock-run/interlock/services/statestore/internal/member"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
	"github.com/interlock-run/interlock/services/statestore/internal/prompts"

	"github.com/interlock-run/interlock/services/statestore/internal/states"
	"github.com/interlock-run/interlock/services/statestore/internal/writes"
)

// Announcer turns a grant into the event that is committed with it.
type Announcer interface {
	SessionGranted(namespace, actor string, s *session.Session, stateID string, revoked bool) (store.Event, error)
}

// Sessions reads, stops, resumes, grants and deletes sessions.
type Sessions struct {
	ports    *ports.Ports
	announce Announcer
	members  *member.Members
	names    *member.Names
	rights   *member.Rights
	states   *states.States
	remover  *writes.Remover
	prompts  *prompts.Prompts
}

// New returns the sessions of a store.
func New(
	p *ports.Ports, announce Announcer, members *member.Members, names *member.Names, rights *member.Rights,
	states *states.States, remover *writes.Remover, prompts *prompts.Prompts,
) *Sessions {
	return &Sessions{ports: p, announce: announce, members: members, names: names, rights: rights, states: states, remover: remover, prompts: prompts}
}

// Get returns a session that the caller may read.
func (ss *Sessions) Get(ctx context.Context, caller ports.Caller, name string) (*member.Member, error) {
	m, err := ss.names.Find(ctx, caller.Namespace, name)
	if err != nil {
		return nil, err
	}
	return m, ss.rights.MayTouch(ctx, caller, m)
}

// Query selects sessions; empty fields select all.
type Query struct {
	Root, Parent string
	Status       session.Status
	After        string
	Limit        int
}

// List returns a page of sessions, newest first. An agent sees its own tree.
func (ss *Sessions) List(ctx context.Context, caller ports.Caller, q Query) ([]*member.Member, string, error) {
	query := store.Query{Namespace: caller.Namespace, Kind: member.Kind, Labels: map[string]string{}, Descending: true, After: q.After, Limit: q.Limit}
	acting, err := ss.rights.Actor(ctx, caller)
	if err != nil {
		return nil, "", err
	}
	if acting != nil {
		query.Labels["root"] = acting.RootID
	}
	for label, name := range map[string]string{"root": q.Root, "parent": q.Parent} {
		if name == "" {
			continue
		}
		m, err := ss.names.Find(ctx, caller.Namespace, name)
		if err != nil {
			return nil, "", err
		}
		if acting != nil && !acting.SameTree(m.RootID) {
			return nil, "", fault.New(fault.PermissionDenied, "session %q belongs to another tree", ports.Clip(name))
		}
		query.Labels[label] = m.ID
	}
	if q.Status != "" {
		query.Labels["status"] = string(q.Status)
	}
	page, err := ss.ports.Store.List(ctx, query)
	if err != nil {
		return nil, "", fault.From(err)
	}
	members := make([]*member.Member, len(page.Records))
	for i, record := range page.Records {
		if members[i], err = member.Decode(record); err != nil {
			return nil, "", err
		}
	}
	return members, page.Next, nil
}

// Stop records that a session's agent has stopped, and returns the prompt that it
// must get before it may (S11.2).
func (ss *Sessions) Stop(ctx context.Context, caller ports.Caller, name string, cmd session.Stop, key string) (*member.Member, string, error) {
	m, err := ss.Get(ctx, caller, name)
	if err != nil {
		return nil, "", err
	}
	if err := ss.rights.May(ctx, caller, m, func(s authority.SessionScene) *authority.Refusal { return s.MayStop(cmd.End) }); err != nil {
		return nil, "", err
	}
	if cmd.By, err = ss.rights.Author(ctx, caller); err != nil {
		return nil, "", err
	}
	if cmd.Result, err = member.ResultOf(cmd.Result); err != nil {
		return nil, "", err
	}
	request := idempotency.Of(key, "stop", fmt.Sprint(cmd.InPlace, cmd.End), cmd.Error)
	if cmd.Result != nil {
		request = idempotency.Of(key, "stop", fmt.Sprint(cmd.InPlace, cmd.End), cmd.Error, string(cmd.Result))
	}
	m, err = ss.members.Step(ctx, caller, m.Key, request.By(caller.Principal), func(m *member.Member, c session.Clock) (session.Result, error) {
		if m.Status == session.Ended && cmd.Result != nil {
			return session.Result{}, fault.New(fault.SessionEnded, "session %q has ended, and its result stays as it is; resume it first", ports.Clip(m.Name))
		}
		return m.Stop(cmd, c), nil
	})
	if err != nil || m.Asked() == 0 {
		return m, "", err
	}
	prompt, err := ss.prompts.Update(ctx, m, m.Asked())
	if fault.ReasonOf(err) == fault.NotFound {
		return m, prompts.NothingToUpdate, nil
	}
	return m, prompt, err
}

// Result returns a session that the caller may read and that has a result (S15.3).
func (ss *Sessions) Result(ctx context.Context, caller ports.Caller, name string) (*member.Member, error) {
	m, err := ss.Get(ctx, caller, name)
	if err == nil && m.Result == nil {
		return nil, fault.New(fault.NotFound, "session %q has no result: its agent has given none, and no runner has recorded its final message", ports.Clip(m.Name))
	}
	return m, err
}

// Resume records that a session's agent works again, or with a prompt has a runner
// resume it.
func (ss *Sessions) Resume(ctx context.Context, caller ports.Caller, name, prompt, key string) (*member.Member, error) {
	m, err := ss.Get(ctx, caller, name)
	if err != nil {
		return nil, err
	}
	if err := ss.rights.May(ctx, caller, m, authority.SessionScene.MayResume); err != nil {
		return nil, err
	}
	return ss.members.Step(ctx, caller, m.Key, idempotency.Of(key, "resume", prompt).By(caller.Principal), func(m *member.Member, c session.Clock) (session.Result, error) {
		// Another caller may have ended it since: it is decided on the session that is
		// changed.
		err := ss.rights.May(ctx, caller, m, authority.SessionScene.MayResume)
		if err == nil && m.Status == session.Ended {
			err = ss.rights.MayReopen(ctx, caller, m)
		}
		if err != nil {
			return session.Result{}, err
		}
		if m.Task.Claimed() || prompt != "" && m.Prompt != "" {
			return session.Result{}, fault.New(fault.SessionBusy, "a runner works for session %q, or will soon; wait until it has stopped", ports.Clip(m.Name))
		}
		return m.Resume(prompt, c), nil
	})
}

// mostGrants bounds the states that a session was granted.
const mostGrants = 1000

// Grant lets a session read a state of another tree, or takes that back (S10.9).
func (ss *Sessions) Grant(ctx context.Context, caller ports.Caller, name, stateID string, revoke bool) (*member.Member, error) {
	m, err := ss.names.Find(ctx, caller.Namespace, name)
	if err != nil {
		return nil, err
	}
	if !revoke {
		if _, err := ss.states.Load(ctx, ports.StateKey(caller.Namespace, stateID)); err != nil {
			return nil, err
		}
	}
	err = ss.members.Contest(ctx, m.Key, "session "+name, func() error {
		var err error
		if m, err = ss.members.Load(ctx, m.Key); err != nil {
			return err
		}
		m, err = ss.tryGrant(ctx, caller, m, stateID, revoke)
		return err
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (ss *Sessions) tryGrant(ctx context.Context, caller ports.Caller, m *member.Member, stateID string, revoke bool) (*member.Member, error) {
	if slices.Contains(m.Grants, stateID) != revoke {
		return m, nil
	}
	if !revoke && len(m.Grants) >= mostGrants {
		return nil, fault.New(fault.FailedPrecondition, "session %q already has %d grants; revoke some", ports.Clip(m.Name), mostGrants)
	}
	t := ss.members.NewTree(caller)
	if err := t.Apply(ctx, m, m.Granted(stateID, revoke, t.Clock)); err != nil {
		return nil, err
	}
	event, err := ss.announce.SessionGranted(caller.Namespace, caller.Principal.Name, t.Now[0].Session, stateID, revoke)
	if err != nil {
		return nil, fault.From(err)
	}
	t.Announce(m.Key, event)
	_, err = t.Commit(ctx)
	return t.Now[0], err
}
