package app

import (
	"context"
	"fmt"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/once"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// Start is a request for a run.
type Start struct {
	Workflow       string
	Version        int64
	SessionID      string
	Context        []byte
	Workspace      string
	IdempotencyKey string
	Resume         bool
}

// requestOwner returns the owner of the idempotency key of a request for a run: the
// session's binding when it has one. It is nil when there is neither.
func requestOwner(caller Caller, req Start) *store.Key {
	switch {
	case req.SessionID != "":
		key := bindingKey(caller.Namespace, req.SessionID)
		return &key
	case req.IdempotencyKey != "":
		return &store.Key{Namespace: caller.Namespace, Kind: kindRequest, ID: once.NameBy(caller.Principal, req.IdempotencyKey)}
	default:
		return nil
	}
}

func startDigest(req Start) string {
	return digest("start", req.Workflow, fmt.Sprint(req.Version), req.SessionID, req.Workspace, string(req.Context), fmt.Sprint(req.Resume))
}

// starting is a Start as it is carried out.
type starting struct {
	Start
	m       definition.Compiled
	context document.Value
	offer   authority.Offer
}

// Start begins a run, or resumes the newest paused one when that is asked for
// and there is one (S6.2). A session that drives another run pauses it (S6.6).
func (a *App) Start(ctx context.Context, caller Caller, req Start) (view *View, resumed bool, err error) {
	s, err := a.prepare(ctx, caller, req)
	if err != nil {
		return nil, false, err
	}
	outcome, err := retry.Do(ctx, "session "+s.SessionID, func() (*Outcome, error) {
		var err error
		var outcome *Outcome
		outcome, resumed, err = a.startOrResume(ctx, caller, s)
		return outcome, err
	})
	if err != nil {
		return nil, false, err
	}
	return outcome.View, resumed, nil
}

// prepare reads a request for a run: the definition to start, and its session.
func (a *App) prepare(ctx context.Context, caller Caller, req Start) (*starting, error) {
	s := &starting{Start: req}
	var err error
	if s.context, err = parseObject("context", req.Context); err != nil {
		return nil, err
	}
	session, refusal := caller.who().StartIn(req.SessionID)
	if refusal != nil {
		return nil, refused(refusal)
	}
	s.SessionID = session
	newest, err := a.Workflow(ctx, caller.Namespace, req.Workflow, 0)
	if err != nil {
		return nil, err
	}
	// The request keeps the version as it was asked for: a repeat of a request for the
	// latest is the same request when there is a newer one since.
	version := req.Version
	if version == 0 {
		version = newest.Number
	}
	if s.m, err = a.machine(ctx, caller.Namespace, req.Workflow, version); err != nil {
		return nil, err
	}
	if err := a.havePolicies(ctx, caller.Namespace, req.Workflow, s.m.Meta().Policies); err != nil {
		return nil, err
	}
	s.offer = authority.Offer{
		Workflow: req.Workflow, Version: version, Newest: newest.Number,
		Enforcement: s.m.Enforcement(), Claims: s.m.Claims(s.context),
		Digest: newest.Digest, Workspace: req.Workspace, Vouched: caller.Vouched,
	}
	s.offer.ByAgent, err = a.onlyByAgents(ctx, caller.Namespace, newest)
	return s, err
}

func (a *App) startOrResume(ctx context.Context, caller Caller, s *starting) (*Outcome, bool, error) {
	// First, so that a repeat neither resumes another run nor pauses one.
	if outcome, err := a.startedBefore(ctx, caller, s.Start); outcome != nil || err != nil {
		return outcome, false, err
	}
	if s.Resume {
		outcome, err := a.resume(ctx, caller, s.Start)
		if outcome != nil || err != nil {
			return outcome, true, err
		}
	}
	outcome, err := a.start(ctx, caller, s)
	switch fault.ReasonOf(err) {
	case fault.EnforcementKept, fault.RunHeld, fault.FailedPrecondition:
		// It may be refused because of the effects of another try in the meantime.
		if first, again := a.startedBefore(ctx, caller, s.Start); first != nil || again != nil {
			return first, false, again
		}
	default:
	}
	return outcome, false, err
}

// startedBefore returns the answer to a repeat of a request that started a run, or nil.
func (a *App) startedBefore(ctx context.Context, caller Caller, req Start) (*Outcome, error) {
	if req.IdempotencyKey == "" {
		return nil, nil
	}
	return a.firstAnswer(ctx, *requestOwner(caller, req), requestKey(caller, req.IdempotencyKey, startDigest(req)))
}

func (a *App) start(ctx context.Context, caller Caller, s *starting) (*Outcome, error) {
	anchor := requestOwner(caller, s.Start) // the run must share its shard
	id, err := typeid.NewWhere(typeid.Run, func(id string) bool {
		shards := a.store.Shards()
		return anchor == nil || runKey(caller.Namespace, id).Shard(shards) == anchor.Shard(shards)
	})
	if err != nil {
		return nil, fault.From(err)
	}
	h := a.newHandover(caller, s.SessionID, "")
	h.Offer = &s.offer
	if err := h.drive(ctx, authority.Start, authority.Aim{}, id, ""); err != nil {
		return nil, err
	}
	workspace, claimed, refusal := h.Workspace()
	if refusal != nil {
		return nil, refused(refusal)
	}
	out := s.m.Start(workflow.StartParams{
		ID: id, SessionID: s.SessionID, Workspace: workspace, Claimed: claimed,
		Owner: caller.Principal.Name, Context: s.context, Source: caller.source(),
	}, caller.Principal.Name, a.clock().UTC())
	if out.Rejection != nil {
		return nil, fault.New(fault.InvalidRequest, "%s", out.Rejection.Message)
	}
	key := runKey(caller.Namespace, id)
	h.batch.Puts = append(h.batch.Puts, runPut(key, store.Absent, &out))
	h.batch.SetTimers = append(h.batch.SetTimers, (&step{key: key, out: out}).forgetTimer(a.Retention)...)
	h.batch.Counters = append(h.batch.Counters, taken(caller, quotaRuns, 1, a.Quotas.Runs))
	if err := a.addEvents(&h.batch, caller, key, &out); err != nil {
		return nil, err
	}
	if s.IdempotencyKey != "" {
		h.batch.Idempotency, err = keptAnswer(*anchor, requestKey(caller, s.IdempotencyKey, startDigest(s.Start)),
			authority.Place{Node: authority.Node{Run: &out.Run}}, &Outcome{Changed: true})
		if err != nil {
			return nil, fault.From(err)
		}
	}
	result, err := h.commit(ctx)
	switch {
	case err != nil:
		return nil, err
	case result.Replayed:
		return a.decodeAnswer(ctx, caller.Namespace, result.Answer)
	}
	a.refresh(caller.Namespace, &out.Run)
	view := newView(out.Run.At(""), s.m)
	return &Outcome{View: view, Changed: true}, a.addEvidence(ctx, caller.Namespace, view, "")
}
