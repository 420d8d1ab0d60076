package app

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/internal/once"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// NewSession is a request for a session.
type NewSession struct {
	ID, Name string
	// Parent by id or name; empty for a root.
	Parent string
	// StateID is the state that the session must share; empty for any.
	StateID     string
	Skip        bool
	AcceptEarly bool
	// NoCallback: its parent is not called back (S15.4).
	NoCallback bool
	Labels     map[string]string
	// StateRef is a component, by slug or id; that of the agent by default.
	StateRef string
	// Agent is the agent that it starts from (S15.10); empty if there is none.
	Agent   string
	Subject string
	Prompt  string
}

// CreateSession makes a session at the root, or under a parent (S11.1). The same
// request again answers the same session and created = false.
func (a *App) CreateSession(ctx context.Context, caller Caller, req NewSession) (m *Member, created bool, err error) {
	req = ownSession(caller, req)
	if err := req.check(); err != nil {
		return nil, false, err
	}
	parent, err := a.parentOf(ctx, caller, req)
	if err != nil {
		return nil, false, err
	}
	if err := a.may(ctx, caller, parent, func(s authority.SessionScene) *authority.Refusal {
		return s.MayCreate(req.ID, req.Name)
	}); err != nil {
		return nil, false, err
	}
	if parent == nil {
		if parent, err = a.above(ctx, caller, req); err != nil {
			return nil, false, err
		}
	}
	in, err := a.newIntent(ctx, caller, req, parent)
	if err != nil {
		return nil, false, err
	}
	err = retry.Run(ctx, "session "+in.Name, func() (err error) {
		m, created, err = a.tryCreate(ctx, caller.Namespace, in)
		return err
	})
	return m, created, err
}

// tryCreate makes the session of an intent, or answers the one that is the same.
func (a *App) tryCreate(ctx context.Context, namespace string, in *intent) (m *Member, created bool, err error) {
	m, err = a.complete(ctx, namespace, in)
	var taken *takenError
	switch {
	case err == nil:
		return m, true, nil
	case fault.ReasonOf(err) == fault.FailedPrecondition:
		return nil, false, errors.Join(err, a.takeBack(ctx, namespace, in))
	case !errors.As(err, &taken):
		return nil, false, err
	case taken.by.Deleted:
		return nil, false, errors.Join(taken.fault(), a.takeBack(ctx, namespace, in))
	}
	m, err = a.settle(ctx, namespace, taken.by)
	switch {
	case fault.ReasonOf(err) == fault.NotFound:
		return nil, false, store.ErrConflict // and the name is free again
	case err != nil:
		return nil, false, err
	case taken.by.same(in):
		m, err = a.loadMember(ctx, m.Key)
		return m, false, err
	default:
		return nil, false, errors.Join(taken.fault(), a.takeBack(ctx, namespace, in))
	}
}

// check refuses names that cannot be.
func (r *NewSession) check() error {
	if r.ID != "" {
		if err := ownSessionName("session_id", r.ID); err != nil {
			return err
		}
	}
	if r.Name != "" {
		if err := ownSessionName("session_name", r.Name); err != nil {
			return err
		}
	}
	if r.Subject != "" {
		return plainName("subject", r.Subject)
	}
	return nil
}

// parentOf returns the parent of a session to be, nil for a root, and refuses a parent
// that the caller may not have.
func (a *App) parentOf(ctx context.Context, caller Caller, req NewSession) (*Member, error) {
	foreign := fault.New(fault.PermissionDenied, "workflow_state_id %q is not the state of the parent session; leave it out to share the parent's state", clip(req.StateID))
	if req.Parent == "" {
		if req.StateID != "" {
			return nil, fault.New(fault.PermissionDenied, "a session without a parent shares no state; set parent_session_name, or create a state for it")
		}
		return nil, nil
	}
	parent, err := a.Member(ctx, caller.Namespace, req.Parent)
	switch {
	case fault.ReasonOf(err) == fault.NotFound:
		return nil, fault.New(fault.NotFound, "the parent session %q does not exist; create it first", clip(req.Parent))
	case err != nil:
		return nil, err
	case req.StateID != "" && req.StateID != parent.StateID:
		return nil, foreign
	case parent.Status == session.Ended:
		return nil, fault.New(fault.SessionEnded, "session %q has ended and cannot have more children; resume it first", clip(parent.Name))
	case parent.Depth >= session.MaxDepth:
		return nil, fault.New(fault.FailedPrecondition, "session %q is %d levels below its root, and a tree has at most %d", clip(parent.Name), parent.Depth, session.MaxDepth)
	}
	return parent, a.mayTouch(ctx, caller, parent)
}

// above returns the parent of a root to be whose caller's token is bound: the one in the token, or
// else the nearest session that is above its name (S7.9). nil for a root, and for a session that
// is there already.
func (a *App) above(ctx context.Context, caller Caller, req NewSession) (*Member, error) {
	own := caller.Principal.Session
	if own == "" {
		return nil, nil
	}
	if _, err := a.Member(ctx, caller.Namespace, own); fault.ReasonOf(err) != fault.NotFound {
		return nil, err
	}
	caller.Session, caller.Principal.Session = "", "" // which is not there yet, and does not touch others
	if req.Parent = caller.Principal.Parent; req.Parent != "" {
		return a.parentOf(ctx, caller, req)
	}
	for name := session.Above(own); name != ""; name = session.Above(name) {
		req.Parent = name
		if m, err := a.parentOf(ctx, caller, req); fault.ReasonOf(err) != fault.NotFound {
			return m, err
		}
	}
	return nil, nil
}

// agentSubject begins the subjects of trees that agents have made, so that none is
// one that an operator has chosen, such as a user's name.
const agentSubject = "session:"

// newIntent chooses the home of a session to be, in the shard of its tree.
func (a *App) newIntent(ctx context.Context, caller Caller, req NewSession, parent *Member) (*intent, error) {
	if caller.agent() && req.Subject != "" {
		return nil, fault.New(fault.PermissionDenied, "only an operator can choose the subject, because it gives access to the subject's long-term values")
	}
	if req.Agent != "" {
		agent, err := a.Agent(ctx, caller.Namespace, req.Agent)
		if err != nil {
			return nil, err
		}
		if err := a.hasPolicy(ctx, caller.Namespace, agent); err != nil {
			return nil, err
		}
		if req.StateRef == "" && len(agent.StateRefs) > 0 {
			req.StateRef = agent.StateRefs[0]
		}
	}
	if req.StateRef != "" {
		component, err := a.Component(ctx, caller.Namespace, req.StateRef)
		if err != nil {
			return nil, err
		}
		req.StateRef = component.Slug
	}
	home, err := typeid.NewWhere(typeid.Session, func(id string) bool {
		shards := a.store.Shards()
		return parent == nil || sessionKey(caller.Namespace, id).Shard(shards) == parent.Key.Shard(shards)
	})
	if err != nil {
		return nil, fault.From(err)
	}
	in := &intent{
		Home: home, ID: home, Name: req.Name, Skip: req.Skip, Early: req.AcceptEarly, NoCallback: req.NoCallback, Labels: req.Labels,
		StateRef: req.StateRef, Agent: req.Agent, Subject: req.Subject, Prompt: req.Prompt, Owner: caller.Principal.Name,
	}
	if req.ID != "" {
		in.ID = req.ID
	}
	if in.Name == "" {
		in.Name = in.ID
	}
	switch {
	case parent != nil:
		in.ParentHome = parent.Key.ID
	case caller.agent():
		in.Subject = agentSubject + in.Name
	}
	return in, nil
}

// Session returns a session that the caller may read.
func (a *App) Session(ctx context.Context, caller Caller, name string) (*Member, error) {
	m, err := a.Member(ctx, caller.Namespace, name)
	if err != nil {
		return nil, err
	}
	return m, a.mayTouch(ctx, caller, m)
}

// SessionQuery selects sessions; empty fields select all.
type SessionQuery struct {
	Root, Parent string
	Status       session.Status
	After        string
	Limit        int
}

// Sessions returns a page of sessions, newest first. An agent sees its own tree.
func (a *App) Sessions(ctx context.Context, caller Caller, q SessionQuery) ([]*Member, string, error) {
	query := store.Query{Namespace: caller.Namespace, Kind: KindSession, Labels: map[string]string{}, Descending: true, After: q.After, Limit: q.Limit}
	acting, err := a.actor(ctx, caller)
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
		m, err := a.Member(ctx, caller.Namespace, name)
		if err != nil {
			return nil, "", err
		}
		if acting != nil && !acting.SameTree(m.RootID) {
			return nil, "", fault.New(fault.PermissionDenied, "session %q belongs to another tree", clip(name))
		}
		query.Labels[label] = m.ID
	}
	if q.Status != "" {
		query.Labels["status"] = string(q.Status)
	}
	page, err := a.store.List(ctx, query)
	if err != nil {
		return nil, "", fault.From(err)
	}
	members := make([]*Member, len(page.Records))
	for i, record := range page.Records {
		if members[i], err = decodeMember(record); err != nil {
			return nil, "", err
		}
	}
	return members, page.Next, nil
}

// StopSession records that a session's agent has stopped, and returns the prompt that it
// must get before it may (S11.2).
func (a *App) StopSession(ctx context.Context, caller Caller, name string, cmd session.Stop, key string) (*Member, string, error) {
	m, err := a.Session(ctx, caller, name)
	if err != nil {
		return nil, "", err
	}
	if err := a.may(ctx, caller, m, func(s authority.SessionScene) *authority.Refusal { return s.MayStop(cmd.End) }); err != nil {
		return nil, "", err
	}
	if cmd.By, err = a.author(ctx, caller); err != nil {
		return nil, "", err
	}
	if cmd.Result, err = resultOf(cmd.Result); err != nil {
		return nil, "", err
	}
	request := once.Of(key, "stop", fmt.Sprint(cmd.InPlace, cmd.End), cmd.Error)
	if cmd.Result != nil {
		request = once.Of(key, "stop", fmt.Sprint(cmd.InPlace, cmd.End), cmd.Error, string(cmd.Result))
	}
	m, err = a.step(ctx, caller, m.Key, request.By(caller.Principal), func(m *Member, c session.Clock) (session.Result, error) {
		if m.Status == session.Ended && cmd.Result != nil {
			return session.Result{}, fault.New(fault.SessionEnded, "session %q has ended, and its result stays as it is; resume it first", clip(m.Name))
		}
		return m.Stop(cmd, c), nil
	})
	if err != nil || m.Asked() == 0 {
		return m, "", err
	}
	prompt, err := a.updatePrompt(ctx, m, m.Asked())
	if fault.ReasonOf(err) == fault.NotFound {
		return m, nothingToUpdate, nil
	}
	return m, prompt, err
}

// resultOf checks the result of a session's work: JSON, as it is written but for blanks.
func resultOf(text []byte) ([]byte, error) {
	if len(text) == 0 {
		return nil, nil
	}
	v, problem := document.Parse(text, document.Limits{Bytes: session.MaxResult})
	if problem != nil {
		return nil, fault.New(fault.InvalidRequest, "result: %s", problem.Message)
	}
	compact := v.AppendJSON(nil)
	if len(compact) > session.MaxResult {
		return nil, fault.New(fault.TooLarge, "the result has more than %d bytes; keep it elsewhere, such as in the state, and give a reference", session.MaxResult)
	}
	return compact, nil
}

// Result returns a session that the caller may read and that has a result (S15.3).
func (a *App) Result(ctx context.Context, caller Caller, name string) (*Member, error) {
	m, err := a.Session(ctx, caller, name)
	if err == nil && m.Result == nil {
		return nil, fault.New(fault.NotFound, "session %q has no result: its agent has given none, and no runner has recorded its final message", clip(m.Name))
	}
	return m, err
}

// ResumeSession records that a session's agent works again, or with a prompt has a runner
// resume it.
func (a *App) ResumeSession(ctx context.Context, caller Caller, name, prompt, key string) (*Member, error) {
	m, err := a.Session(ctx, caller, name)
	if err != nil {
		return nil, err
	}
	if err := a.may(ctx, caller, m, authority.SessionScene.MayResume); err != nil {
		return nil, err
	}
	return a.step(ctx, caller, m.Key, once.Of(key, "resume", prompt).By(caller.Principal), func(m *Member, c session.Clock) (session.Result, error) {
		// Another caller may have ended it since: it is decided on the session that is
		// changed.
		err := a.may(ctx, caller, m, authority.SessionScene.MayResume)
		if err == nil && m.Status == session.Ended {
			err = a.mayReopen(ctx, caller, m)
		}
		if err != nil {
			return session.Result{}, err
		}
		if m.Task.Claimed() || prompt != "" && m.Prompt != "" {
			return session.Result{}, fault.New(fault.SessionBusy, "a runner works for session %q, or will soon; wait until it has stopped", clip(m.Name))
		}
		return m.Resume(prompt, c), nil
	})
}

// mostGrants bounds the states that a session was granted.
const mostGrants = 1000

// Grant lets a session read a state of another tree, or takes that back (S10.9).
func (a *App) Grant(ctx context.Context, caller Caller, name, stateID string, revoke bool) (*Member, error) {
	m, err := a.Member(ctx, caller.Namespace, name)
	if err != nil {
		return nil, err
	}
	if !revoke {
		if _, err := a.loadState(ctx, stateKey(caller.Namespace, stateID)); err != nil {
			return nil, err
		}
	}
	err = a.contest(ctx, m.Key, "session "+name, func() error {
		var err error
		if m, err = a.loadMember(ctx, m.Key); err != nil {
			return err
		}
		m, err = a.tryGrant(ctx, caller, m, stateID, revoke)
		return err
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (a *App) tryGrant(ctx context.Context, caller Caller, m *Member, stateID string, revoke bool) (*Member, error) {
	if slices.Contains(m.Grants, stateID) != revoke {
		return m, nil
	}
	if !revoke && len(m.Grants) >= mostGrants {
		return nil, fault.New(fault.FailedPrecondition, "session %q already has %d grants; revoke some", clip(m.Name), mostGrants)
	}
	t := a.newTree(caller)
	if err := t.apply(ctx, m, m.Granted(stateID, revoke, t.clock)); err != nil {
		return nil, err
	}
	event, err := a.announce.SessionGranted(caller.Namespace, caller.Principal.Name, t.now[0].Session, stateID, revoke)
	if err != nil {
		return nil, fault.From(err)
	}
	t.announce(m.Key, event)
	_, err = t.commit(ctx)
	return t.now[0], err
}
