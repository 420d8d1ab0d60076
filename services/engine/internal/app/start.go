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
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/idempotency"
	"github.com/interlock-run/interlock/services/internal/retry"

	"github.com/interlock-run/interlock/services/engine/internal/registry"
)

// Starts begins runs, and resumes paused ones.
type Starts struct {
	ports    *ports.Ports
	registry *registry.Registry
	runs     *Runs
	views    *Views
	changes  *Changes
}

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
func requestOwner(caller ports.Caller, req Start) *store.Key {
	switch {
	case req.SessionID != "":
		key := bindingKey(caller.Namespace, req.SessionID)
		return &key
	case req.IdempotencyKey != "":
		return &store.Key{Namespace: caller.Namespace, Kind: kindRequest, ID: idempotency.NameBy(caller.Principal, req.IdempotencyKey)}
	default:
		return nil
	}
}

func startDigest(req Start) string {
	return ports.Digest("start", req.Workflow, fmt.Sprint(req.Version), req.SessionID, req.Workspace, string(req.Context), fmt.Sprint(req.Resume))
}

// starting is a Start as it is carried out.
type starting struct {
	Start
	m       definition.Compiled
	context document.Value
	offer   authority.Offer
	// startable is the refusal of a new run of a workflow that is retired; nil for none. A paused one may be resumed.
	startable error
	// scheduled is the schedule that starts it; nil for a caller.
	scheduled *ports.ScheduledStart
}

// Scheduled begins the run of a schedule (S25.22). A conflict says that the run exists, or that something has changed.
func (ss *Starts) Scheduled(ctx context.Context, caller ports.Caller, req ports.ScheduledStart) (*workflow.Run, error) {
	s, err := ss.prepare(ctx, caller, Start{
		Workflow: req.Workflow, Version: req.Version, SessionID: req.SessionID, Context: req.Context, Workspace: req.Workspace,
	})
	if err != nil {
		return nil, err
	}
	s.scheduled = &req
	outcome, err := ss.start(ctx, caller, s)
	if err != nil {
		return nil, err
	}
	return outcome.View.Run, nil
}

// id returns the id of the new run: one that the schedule has chosen, or a new one in the shard of anchor.
func (s *starting) id(namespace string, anchor *store.Key, shards int) (string, error) {
	if s.scheduled != nil {
		return s.scheduled.RunID, nil
	}
	return typeid.NewWhere(typeid.Run, func(id string) bool {
		return anchor == nil || runKey(namespace, id).Shard(shards) == anchor.Shard(shards)
	})
}

// params returns the inputs of the new run.
func (s *starting) params(caller ports.Caller, id, workspace string, claimed bool) workflow.StartParams {
	p := workflow.StartParams{
		ID: id, SessionID: s.SessionID, Workspace: workspace, Claimed: claimed,
		Owner: caller.Principal.Name, Context: s.context, Source: caller.Source(),
	}
	if s.scheduled != nil {
		p.Schedule, p.Cause, p.Reason = s.scheduled.Schedule, &s.scheduled.Cause, s.scheduled.Reason
	}
	return p
}

// Start begins a run, or resumes the newest paused one when that is asked for
// and there is one (S6.2). A session that drives another run pauses it (S6.6).
func (ss *Starts) Start(ctx context.Context, caller ports.Caller, req Start) (view *View, resumed bool, err error) {
	s, err := ss.prepare(ctx, caller, req)
	if err != nil {
		return nil, false, err
	}
	outcome, err := retry.Do(ctx, "session "+s.SessionID, func() (*Outcome, error) {
		var err error
		var outcome *Outcome
		outcome, resumed, err = ss.startOrResume(ctx, caller, s)
		return outcome, err
	})
	if err != nil {
		return nil, false, err
	}
	return outcome.View, resumed, nil
}

// prepare reads a request for a run: the definition to start, and its session.
func (ss *Starts) prepare(ctx context.Context, caller ports.Caller, req Start) (*starting, error) {
	s := &starting{Start: req}
	var err error
	if s.context, err = parseObject("context", req.Context); err != nil {
		return nil, err
	}
	session, refusal := caller.Who().StartIn(req.SessionID)
	if refusal != nil {
		return nil, ports.Refused(refusal)
	}
	s.SessionID = session
	newest, err := ss.registry.Workflow(ctx, caller.Namespace, req.Workflow, 0)
	if err != nil {
		return nil, err
	}
	// The request keeps the version as it was asked for: a repeat of a request for the
	// latest is the same request when there is a newer one since.
	version := req.Version
	if version == 0 {
		version = newest.Number
	}
	if err := ss.registry.Signed(newest, version); err != nil {
		return nil, err
	}
	if s.m, err = ss.registry.Machine(ctx, caller.Namespace, req.Workflow, version); err != nil {
		return nil, err
	}
	if err := ss.registry.HavePolicies(ctx, caller.Namespace, req.Workflow, s.m.Meta().Policies); err != nil {
		return nil, err
	}
	s.startable = registry.Startable(newest)
	s.offer = authority.Offer{
		Workflow: req.Workflow, Version: version, Newest: newest.Number,
		Enforcement: s.m.Enforcement(), Claims: s.m.Claims(s.context),
		Digest: newest.Digest, Workspace: req.Workspace, Vouched: caller.Vouched,
	}
	s.offer.ByAgent, err = ss.registry.OnlyByAgents(ctx, caller.Namespace, newest)
	return s, err
}

func (ss *Starts) startOrResume(ctx context.Context, caller ports.Caller, s *starting) (*Outcome, bool, error) {
	// First, so that a repeat neither resumes another run nor pauses one.
	if outcome, err := ss.startedBefore(ctx, caller, s.Start); outcome != nil || err != nil {
		return outcome, false, err
	}
	if s.Resume {
		outcome, err := ss.resume(ctx, caller, s.Start)
		if outcome != nil || err != nil {
			return outcome, true, err
		}
	}
	outcome, err := ss.start(ctx, caller, s)
	switch fault.ReasonOf(err) {
	case fault.EnforcementKept, fault.RunHeld, fault.FailedPrecondition:
		// It may be refused because of the effects of another try in the meantime.
		if first, again := ss.startedBefore(ctx, caller, s.Start); first != nil || again != nil {
			return first, false, again
		}
	default:
	}
	return outcome, false, err
}

// startedBefore returns the answer to a repeat of a request that started a run, or nil.
func (ss *Starts) startedBefore(ctx context.Context, caller ports.Caller, req Start) (*Outcome, error) {
	if req.IdempotencyKey == "" {
		return nil, nil
	}
	return ss.views.firstAnswer(ctx, *requestOwner(caller, req), ports.RequestKey(caller, req.IdempotencyKey, startDigest(req)))
}

func (ss *Starts) start(ctx context.Context, caller ports.Caller, s *starting) (*Outcome, error) {
	if s.startable != nil {
		return nil, s.startable
	}
	anchor := requestOwner(caller, s.Start) // the run must share its shard
	id, err := s.id(caller.Namespace, anchor, ss.ports.Store.Shards())
	if err != nil {
		return nil, fault.From(err)
	}
	h := ss.changes.newHandover(caller, s.SessionID, "")
	h.Offer = &s.offer
	if s.scheduled != nil {
		if err := h.goesOn(ctx, id); err != nil {
			return nil, err
		}
	}
	if err := h.drive(ctx, authority.Start, authority.Aim{}, id, ""); err != nil {
		return nil, err
	}
	workspace, claimed, refusal := h.Workspace()
	if refusal != nil {
		return nil, ports.Refused(refusal)
	}
	freeze, err := h.freezeOf(ctx, nil, s.Workflow)
	if err != nil {
		return nil, err
	}
	out := s.m.Under(freeze).Start(s.params(caller, id, workspace, claimed), caller.Principal.Name, ss.ports.Clock().UTC())
	switch {
	case out.Rejection != nil && out.Rejection.Code == workflow.RejectFrozen:
		return nil, fault.New(fault.Frozen, "%s", out.Rejection.Message)
	case out.Rejection != nil:
		return nil, fault.New(fault.InvalidRequest, "%s", out.Rejection.Message)
	}
	key := runKey(caller.Namespace, id)
	h.batch.Puts = append(h.batch.Puts, runPut(key, store.Absent, &out))
	started := &step{key: key, m: s.m, out: out}
	set, _ := started.clockTimers(out.Entry.Time)
	h.batch.SetTimers = append(append(h.batch.SetTimers, started.forgetTimer(ss.ports.Retention)...), set...)
	if err := ss.changes.addSilences(ctx, started, out.Entry.Time, &h.batch); err != nil {
		return nil, err
	}
	h.batch.Counters = append(h.batch.Counters, ports.Taken(caller, ports.QuotaRuns, 1, ss.ports.Quotas.Runs))
	if err := ss.changes.addEvents(ctx, &h.batch, caller, key, &out); err != nil {
		return nil, err
	}
	if s.IdempotencyKey != "" {
		h.batch.Idempotency, err = keptAnswer(*anchor, ports.RequestKey(caller, s.IdempotencyKey, startDigest(s.Start)),
			authority.Place{Node: authority.Node{Run: &out.Run}}, &Outcome{Changed: true})
		if err != nil {
			return nil, fault.From(err)
		}
	}
	if s.scheduled != nil {
		if err := s.scheduled.Join(&h.batch); err != nil {
			return nil, err
		}
	}
	result, err := h.commit(ctx)
	switch {
	case err != nil:
		return nil, err
	case result.Replayed && s.scheduled != nil: // the same trigger was faster
		return nil, &store.ConflictError{Key: key}
	case result.Replayed:
		return ss.views.decodeAnswer(ctx, caller.Namespace, result.Answer)
	}
	ss.runs.refresh(caller.Namespace, &out.Run)
	view := newView(out.Run.At(""), s.m)
	view.Freeze = freeze
	return &Outcome{View: view, Changed: true}, ss.views.addEvidence(ctx, caller.Namespace, view, "")
}

// kindRequest owns the idempotency keys of requests that create something.
const kindRequest = "request"
