package stage

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/internal/sessionread"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
)

// Approvals is the approval service, in memory.
type Approvals struct {
	Mu      sync.Mutex
	Asked   []enforcer.Ask
	Status  map[string]consent.Status // by id
	byWhat  map[string]string         // id by digest
	UsedBy  map[string]string
	UsedAt  time.Time
	clock   func() time.Time
	Outcome string
	Down    bool
}

// NewApprovals returns a service without approvals.
func NewApprovals() *Approvals {
	return &Approvals{Status: map[string]consent.Status{}, byWhat: map[string]string{}, UsedBy: map[string]string{}}
}

// Request implements enforcer.Approvals.
func (a *Approvals) Request(_ context.Context, _ string, ask enforcer.Ask) (enforcer.Approval, error) {
	a.Mu.Lock()
	defer a.Mu.Unlock()
	if a.Down {
		return enforcer.Approval{}, ErrDown
	}
	digest := ask.Action.Digest()
	id := a.byWhat[digest]
	if by := a.UsedBy[id]; by != "" && by != ask.SettledUse {
		status := consent.Used
		if by == ask.UsedBy {
			status = consent.Granted
		}
		why := a.whyOf(id)
		return enforcer.Approval{
			ID: id, Status: status, UsedBy: by, UsedAt: a.UsedAt, Policy: why.Policy, PolicyVersion: why.PolicyVersion, Rule: why.Rule,
		}, nil
	}
	created := id == "" || a.UsedBy[id] != ""
	if created {
		a.Asked = append(a.Asked, ask)
		id = fmt.Sprintf("apr_%d", len(a.Asked))
		a.byWhat[digest], a.Status[id] = id, consent.Pending
	}
	why := a.whyOf(id)
	return enforcer.Approval{ID: id, Created: created, Status: a.Status[id], Outcome: a.Outcome, Policy: why.Policy, PolicyVersion: why.PolicyVersion, Rule: why.Rule}, nil
}

// whyOf returns the question of an approval.
func (a *Approvals) whyOf(id string) enforcer.Ask {
	n, _ := strconv.Atoi(strings.TrimPrefix(id, "apr_"))
	return a.Asked[n-1]
}

// Withdraw implements enforcer.Approvals.
func (a *Approvals) Withdraw(_ context.Context, _, id, reason string) error {
	a.Mu.Lock()
	defer a.Mu.Unlock()
	if a.UsedBy[id] == "" && (a.Status[id] == consent.Granted || a.Status[id] == consent.Pending) {
		a.Status[id], a.Outcome = consent.Stale, reason
		delete(a.byWhat, a.whyOf(id).Action.Digest())
	}
	return nil
}

// Consume implements enforcer.Approvals.
func (a *Approvals) Consume(_ context.Context, _, id, digest, usedBy, insteadOf string) error {
	a.Mu.Lock()
	defer a.Mu.Unlock()
	switch {
	case a.byWhat[digest] != id, a.Status[id] != consent.Granted:
		return fault.New(fault.FailedPrecondition, "not granted for this")
	case a.UsedBy[id] != "" && a.UsedBy[id] != usedBy && a.UsedBy[id] != insteadOf:
		return fault.New(fault.FailedPrecondition, "used")
	}
	a.UsedBy[id], a.UsedAt = usedBy, a.clock()
	return nil
}

// Decide decides an approval.
func (a *Approvals) Decide(id string, s consent.Status) {
	a.Mu.Lock()
	defer a.Mu.Unlock()
	a.Status[id] = s
}

// Tree is sessions: the parent of each.
type Tree map[string]string

// Agent implements enforcer.Sessions.
func (t Tree) Agent(_ context.Context, _, name string) (sessionread.Agent, error) {
	return sessionread.Agent{Name: name, Version: 1}, nil
}

// Place implements enforcer.Sessions.
func (t Tree) Place(_ context.Context, _, session, _ string) (*sessionread.Place, error) {
	if session == "unreachable" {
		return nil, ErrDown
	}
	names := []string{session}
	for parent := t[session]; parent != ""; parent = t[parent] {
		names = append([]string{parent}, names...)
	}
	return &sessionread.Place{Names: names, Account: names[0]}, nil
}
