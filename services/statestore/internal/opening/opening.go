// Package opening creates sessions at the root or under a parent (S11.1).
package opening

import (
	"context"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/statestore/internal/member"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"

	"github.com/interlock-run/interlock/services/statestore/internal/agents"
	"github.com/interlock-run/interlock/services/statestore/internal/components"
)

// Opener creates sessions.
type Opener struct {
	ports    *ports.Ports
	names    *member.Names
	rights   *member.Rights
	registry *components.Registry
	agents   *agents.Agents
}

// New returns an opener of sessions.
func New(p *ports.Ports, names *member.Names, rights *member.Rights, registry *components.Registry, agents *agents.Agents) *Opener {
	return &Opener{ports: p, names: names, rights: rights, registry: registry, agents: agents}
}

// Request is a request for a session.
type Request struct {
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
	// Only narrows its calls (S22.24), as JSON; empty for nothing.
	Only []byte
}

// check refuses names that cannot be.
func (r *Request) check() error {
	if r.ID != "" {
		if err := ports.OwnSessionName("session_id", r.ID); err != nil {
			return err
		}
	}
	if r.Name != "" {
		if err := ports.OwnSessionName("session_name", r.Name); err != nil {
			return err
		}
	}
	if r.Subject != "" {
		if err := ports.PlainName("subject", r.Subject); err != nil {
			return err
		}
	}
	var err error
	r.Only, err = ports.Narrowing(r.Only)
	return err
}

// ownSession returns a request for a session as a bound principal means it: a root
// without a name is its own session.
func ownSession(caller ports.Caller, req Request) Request {
	if req.Parent == "" && req.ID == "" && req.Name == "" {
		req.Name = caller.Principal.Session
	}
	return req
}

// Create makes a session at the root, or under a parent (S11.1). The same
// request again answers the same session and created = false.
func (o *Opener) Create(ctx context.Context, caller ports.Caller, req Request) (m *member.Member, created bool, err error) {
	req = ownSession(caller, req)
	if err := req.check(); err != nil {
		return nil, false, err
	}
	parent, err := o.parentOf(ctx, caller, req)
	if err != nil {
		return nil, false, err
	}
	if err := o.rights.May(ctx, caller, parent, func(s authority.SessionScene) *authority.Refusal {
		return s.MayCreate(req.ID, req.Name)
	}); err != nil {
		return nil, false, err
	}
	if parent == nil {
		if parent, err = o.above(ctx, caller, req); err != nil {
			return nil, false, err
		}
	}
	in, err := o.newIntent(ctx, caller, req, parent)
	if err != nil {
		return nil, false, err
	}
	err = retry.Run(ctx, "session "+in.Name, func() (err error) {
		m, created, err = o.names.Create(ctx, caller.Namespace, in.By(caller.Principal))
		return err
	})
	return m, created, err
}

// parentOf returns the parent of a session to be, nil for a root, and refuses a parent
// that the caller may not have.
func (o *Opener) parentOf(ctx context.Context, caller ports.Caller, req Request) (*member.Member, error) {
	foreign := fault.New(fault.PermissionDenied, "workflow_state_id %q is not the state of the parent session; leave it out to share the parent's state", ports.Clip(req.StateID))
	if req.Parent == "" {
		if req.StateID != "" {
			return nil, fault.New(fault.PermissionDenied, "a session without a parent shares no state; set parent_session_name, or create a state for it")
		}
		return nil, nil
	}
	parent, err := o.names.Find(ctx, caller.Namespace, req.Parent)
	switch {
	case fault.ReasonOf(err) == fault.NotFound:
		return nil, fault.New(fault.NotFound, "the parent session %q does not exist; create it first", ports.Clip(req.Parent))
	case err != nil:
		return nil, err
	case req.StateID != "" && req.StateID != parent.StateID:
		return nil, foreign
	case parent.Status == session.Ended:
		return nil, fault.New(fault.SessionEnded, "session %q has ended and cannot have more children; resume it first", ports.Clip(parent.Name))
	case parent.Depth >= session.MaxDepth:
		return nil, fault.New(fault.FailedPrecondition, "session %q is %d levels below its root, and a tree has at most %d", ports.Clip(parent.Name), parent.Depth, session.MaxDepth)
	}
	return parent, o.rights.MayTouch(ctx, caller, parent)
}

// above returns the parent of a root to be whose caller's token is bound: the one in the token, or
// else the nearest session that is above its name (S7.9). nil for a root, and for a session that
// is there already.
func (o *Opener) above(ctx context.Context, caller ports.Caller, req Request) (*member.Member, error) {
	own := caller.Principal.Session
	if own == "" {
		return nil, nil
	}
	if _, err := o.names.Find(ctx, caller.Namespace, own); fault.ReasonOf(err) != fault.NotFound {
		return nil, err
	}
	caller.Session, caller.Principal.Session = "", "" // which is not there yet, and does not touch others
	if req.Parent = caller.Principal.Parent; req.Parent != "" {
		return o.parentOf(ctx, caller, req)
	}
	for name := session.Above(own); name != ""; name = session.Above(name) {
		req.Parent = name
		if m, err := o.parentOf(ctx, caller, req); fault.ReasonOf(err) != fault.NotFound {
			return m, err
		}
	}
	return nil, nil
}

// humanOf returns on whose behalf a session is to work: the person whose token the caller has sent along, or that the caller
// acts for. It is nil for that of the parent, which no child replaces (S22.3).
func humanOf(caller ports.Caller, parent *member.Member) (*ledger.Human, error) {
	h, of := ledger.HumanOf(caller.For), parent.OnBehalfOf()
	if h == nil && (of == nil || caller.Agent()) {
		h = ledger.HumanOf(caller.Principal.Human)
	}
	if of != nil && h != nil && !of.Same(h) {
		return nil, fault.New(fault.FailedPrecondition,
			"session %q works for another person than the one whose token you have sent; leave that out, or begin a session without a parent", ports.Clip(parent.Name))
	}
	return h, nil
}

// agentSubject begins the subjects of trees that agents have made, so that none is
// one that an operator has chosen, such as a user's name.
const agentSubject = "session:"

// newIntent chooses the home of a session to be, in the shard of its tree.
func (o *Opener) newIntent(ctx context.Context, caller ports.Caller, req Request, parent *member.Member) (*member.Intent, error) {
	if caller.Agent() && req.Subject != "" {
		return nil, fault.New(fault.PermissionDenied, "only an operator can choose the subject, because it gives access to the subject's long-term values")
	}
	if req.Agent != "" {
		agent, err := o.agents.Get(ctx, caller.Namespace, req.Agent)
		if err != nil {
			return nil, err
		}
		if err := o.agents.HasPolicy(ctx, caller.Namespace, agent); err != nil {
			return nil, err
		}
		if req.StateRef == "" && len(agent.StateRefs) > 0 {
			req.StateRef = agent.StateRefs[0]
		}
	}
	if req.StateRef != "" {
		component, err := o.registry.Get(ctx, caller.Namespace, req.StateRef)
		if err != nil {
			return nil, err
		}
		req.StateRef = component.Slug
	}
	home, err := typeid.NewWhere(typeid.Session, func(id string) bool {
		shards := o.ports.Store.Shards()
		return parent == nil || member.KeyOf(caller.Namespace, id).Shard(shards) == parent.Key.Shard(shards)
	})
	if err != nil {
		return nil, fault.From(err)
	}
	in := &member.Intent{
		Home: home, ID: home, Name: req.Name, Skip: req.Skip, Early: req.AcceptEarly, NoCallback: req.NoCallback, Labels: req.Labels, LabelsCount: !caller.Agent(),
		StateRef: req.StateRef, Agent: req.Agent, Subject: req.Subject, Prompt: req.Prompt, Only: req.Only, Owner: caller.Principal.Name,
	}
	if req.ID != "" {
		in.ID = req.ID
	}
	if in.Name == "" {
		in.Name = in.ID
	}
	if in.Human, err = humanOf(caller, parent); err != nil {
		return nil, err
	}
	switch {
	case parent != nil:
		in.ParentHome = parent.Key.ID
	case caller.Agent():
		in.Subject = agentSubject + in.Name
	}
	return in, nil
}
