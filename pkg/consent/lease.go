package consent

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// LeaseTerms describe the calls that an approver lets pass besides the one that was asked
// about (S9.6).
type LeaseTerms struct {
	// Pattern must match the command of a call, and Only, a condition as JSON, the call. One of them is given.
	Pattern string
	Only    string
	// Calls and Minutes bound it; 0 for as much as LeaseBounds let it have. One of them must
	// be given.
	Calls, Minutes int64
}

// LeaseBounds are the most that any lease may have.
type LeaseBounds struct {
	Calls int64
	For   time.Duration
}

// The longest pattern and condition of a lease, in bytes.
const (
	MaxPattern = 1024
	MaxOnly    = 8 << 10
)

// Within returns the terms with every bound set. An error describes the problem with
// them.
func (t LeaseTerms) Within(most LeaseBounds) (LeaseTerms, error) {
	minutes := int64(most.For / time.Minute)
	switch {
	case t.Pattern == "" && t.Only == "":
		return t, errors.New("a lease needs a condition, or for a command line a pattern")
	case len(t.Only) > MaxOnly:
		return t, fmt.Errorf("the condition has %d bytes, the limit is %d; shorten it", len(t.Only), MaxOnly)
	case len(t.Pattern) > MaxPattern:
		return t, fmt.Errorf("the pattern has %d bytes, the limit is %d; shorten it", len(t.Pattern), MaxPattern)
	case t.Calls < 0 || t.Minutes < 0:
		return t, errors.New("a lease has no negative number of calls or minutes")
	case t.Calls == 0 && t.Minutes == 0:
		return t, errors.New("a lease needs a number of calls or of minutes")
	case t.Calls > most.Calls:
		return t, fmt.Errorf("a lease admits at most %d calls, not %d", most.Calls, t.Calls)
	case t.Minutes > minutes:
		return t, fmt.Errorf("a lease lasts at most %d minutes, not %d", minutes, t.Minutes)
	}
	if t.Calls == 0 {
		t.Calls = most.Calls
	}
	if t.Minutes == 0 {
		t.Minutes = minutes
	}
	return t, nil
}

// LeaseStatus says how a lease stands.
type LeaseStatus string

// The statuses. Time, and a run that has moved on, end a lease without another status.
const (
	LeaseActive  LeaseStatus = "ACTIVE"
	LeaseRevoked LeaseStatus = "REVOKED"
	LeaseUsedUp  LeaseStatus = "USED_UP"
)

// Types of events about a lease.
const (
	EventLeaseGranted = "granted"
	EventLeaseRevoked = "revoked"
	EventLeaseUsedUp  = "used_up"
)

// Scope is where a lease holds: all of it must be the same for a call. No field may be
// empty but Branch and RootSession, which are empty where there is none.
type Scope struct {
	// RunID is the run, Branch the branch of it, and Entry that of State.
	RunID  string `json:"run_id"`
	Branch string `json:"branch,omitempty"`
	Entry  int64  `json:"entry"`
	State  string `json:"state"`
	// RootSession is the name of the root of the session's tree.
	RootSession string `json:"root_id,omitempty"`
	// Policy, PolicyVersion and Rule identify the rule that asks.
	Policy        string `json:"policy"`
	PolicyVersion int64  `json:"policy_version"`
	Rule          string `json:"rule"`
	Capability    string `json:"capability"`
}

// known reports whether a scope names the rule that asks, and where.
func (s Scope) known() bool {
	return s.RunID != "" && s.Entry > 0 && s.State != "" && s.Policy != "" && s.PolicyVersion > 0 && s.Rule != "" && s.Capability != ""
}

// Lease admits calls like one that was approved, without another question (S9.6). The JSON
// form is stored; fields are only ever added to it. How many calls it has admitted is counted
// elsewhere.
type Lease struct {
	ID         string `json:"id"`
	ApprovalID string `json:"approval_id"`
	Scope
	// Terms is the digest of those of the approval: a call under others is asked about.
	Terms     string `json:"terms"`
	SessionID string `json:"session_id,omitempty"`
	// Pattern is of commands, and Only a condition. Rest is the digest of what the condition does not look at in the
	// input that was asked about.
	Pattern   string      `json:"pattern,omitempty"`
	Only      string      `json:"only,omitempty"`
	Rest      string      `json:"rest,omitempty"`
	Calls     int64       `json:"calls"`
	ExpiresAt time.Time   `json:"expires_at"`
	GrantedBy string      `json:"granted_by"`
	GrantedAt time.Time   `json:"granted_at"`
	Status    LeaseStatus `json:"status"`
	// Version is that of the record, and not part of it.
	Version int64 `json:"-"`
}

// Lets reports that the lease holds for calls of a scope at a time. Whether the call matches
// the pattern and the condition, its terms are the same, and any calls are left, is for others to say.
func (l *Lease) Lets(at Scope, now time.Time) bool {
	return l.Lasts(now) && at.known() && l.Scope == at
}

// Lasts reports that the lease was not ended, and that its time is not over.
func (l *Lease) Lasts(now time.Time) bool { return l.Status == LeaseActive && now.Before(l.ExpiresAt) }

// Ended returns the lease with another status. It answers false for one that was ended
// before.
func (l *Lease) Ended(status LeaseStatus) (*Lease, bool) {
	if l.Status != LeaseActive {
		return l, false
	}
	next := *l
	next.Status = status
	next.Version++
	return &next, true
}

// Lease returns the lease that the grant of an approval gives. An error says why that
// cannot be: only one person's answer to a policy about a tool call can be one (S9.6).
func (a *Approval) Lease(id string, terms LeaseTerms, at Scope, by string, now time.Time) (*Lease, error) {
	switch {
	case a.Action.Kind != ToolCall:
		return nil, fmt.Errorf("only the approval of a tool call can be given with a lease; this is of a %s", a.Action.Kind)
	case a.Terms.Required > 1:
		return nil, fmt.Errorf("this approval needs %d people, and one of them cannot give a lease for all", a.Terms.Required)
	case slices.ContainsFunc(a.Terms.Also, func(c Circle) bool { return !c.Eligible.nobody() }):
		return nil, errors.New("this approval needs the approval of further people by its terms, and no lease is given for those; approve without one")
	case !at.known():
		return nil, errors.New("it is not known which rule asks, and in which entry of a state, so no lease can be given; approve without one")
	}
	return &Lease{
		ID: id, ApprovalID: a.ID, Scope: at, Terms: a.Terms.Digest(), SessionID: a.Asker.SessionID,
		Pattern: terms.Pattern, Only: terms.Only, Calls: terms.Calls,
		ExpiresAt: now.Add(time.Duration(terms.Minutes) * time.Minute), GrantedBy: by, GrantedAt: now, Status: LeaseActive, Version: 1,
	}, nil
}
