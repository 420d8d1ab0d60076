// Package consent is the life of one approval: who may decide it, when enough people
// have, the exact action they have agreed to, and that it is used once (S9).
//
// It is pure: an approval, a command and the time in, the next approval and the events to
// announce out. It must never do I/O, look at the clock or make up an id. A case of doubt
// does not become a consent.
package consent

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/signature"
)

// Status says how an approval stands.
type Status string

// The statuses. All but Pending are final; the one change that a final approval
// can still see is from Granted to Stale, before it was used.
const (
	Pending   Status = "PENDING"
	Granted   Status = "GRANTED"
	Rejected  Status = "REJECTED"
	Expired   Status = "EXPIRED"
	Cancelled Status = "CANCELLED"
	// Stale: it was granted, and the action had become impossible in between
	// (S9.1).
	Stale Status = "STALE"
	// Used is how a granted approval is shown once it was used. No approval has it as its
	// status.
	Used Status = "USED"
)

// Final reports that no decision is possible any more (S9.4).
func (s Status) Final() bool { return s != Pending }

// Approval is one question to humans. It is immutable: commands answer a new one. The
// JSON form is stored; fields are only ever added to it.
type Approval struct {
	ID string `json:"id"`
	// Action is the requested one; an edit of it is in Edit.
	Action Action `json:"action"`
	// Digest binds the approval to one action: the one that was asked for, or the
	// edited one. Only that can be done with it.
	Digest string `json:"digest"`
	// Editable: an approver may replace the action's data (S9.4).
	Editable bool  `json:"editable,omitempty"`
	Asker    Asker `json:"asker"`
	// Message is for the approvers. An agent may have written it: show it as data.
	Message string `json:"message,omitempty"`
	Terms   Terms  `json:"terms"`

	Status Status `json:"status"`
	// Votes in the order in which they were cast, one for each approver.
	Votes []Vote `json:"votes,omitempty"`
	Edit  *Edit  `json:"edit,omitempty"`
	// Escalated: it was announced again, to the fallback approvers.
	Escalated bool `json:"escalated,omitempty"`
	// Reason why it was cancelled or has become stale, and By whom; of a pending one, why it
	// is asked again.
	Reason string `json:"reason,omitempty"`
	By     string `json:"by,omitempty"`
	// RestoredOf is the time of the backup that it was restored from while it was pending.
	RestoredOf time.Time `json:"restored_of,omitzero"`

	CreatedAt   time.Time `json:"created_at"`
	ExpiresAt   time.Time `json:"expires_at"`
	EscalatesAt time.Time `json:"escalates_at,omitzero"`
	// DecidedAt is when the status became final.
	DecidedAt time.Time `json:"decided_at,omitzero"`
	// UsedAt is when a granted approval was used, which happens once.
	UsedAt time.Time `json:"used_at,omitzero"`
	// Version is that of the record, and not part of it.
	Version int64 `json:"-"`
}

// Asker is who wants something done. Neither it nor any session of its tree can
// decide (S9.3).
type Asker struct {
	Principal string `json:"principal"`
	// Person is the registered person that the principal is; empty for none.
	Person string `json:"person,omitempty"`
	// SessionID is its session, and RootSession the name of the root of that one's tree; empty when
	// there is none.
	SessionID   string `json:"session_id,omitempty"`
	RootSession string `json:"root_id,omitempty"`
}

// Vote is the answer of one approver.
type Vote struct {
	// Name is that of the person or, where nobody is registered, of the principal.
	Name    string    `json:"name"`
	Role    string    `json:"role"`
	Approve bool      `json:"approve"`
	Note    string    `json:"note,omitempty"`
	At      time.Time `json:"at"`
	// Person reports that Name is a registered person, and Principal is the name of the token
	// where it is another one.
	Person    bool   `json:"person,omitempty"`
	Principal string `json:"principal,omitempty"`
	// Relay passed the vote on, and knows the person as Identity.
	Relay    string `json:"relay,omitempty"`
	Identity string `json:"identity,omitempty"`
	// Signed is the signature of the vote; nil for one without.
	Signed *Signed `json:"signed,omitempty"`
}

// Signed is a checked signature of a vote.
type Signed struct {
	signature.Signed
	// Present reports that it shows that the person was there.
	Present bool `json:"present,omitempty"`
}

// Request holds the inputs of a new approval. See Question for when two are the same.
type Request struct {
	ID       string
	Action   Action
	Editable bool
	Asker    Asker
	Message  string
	Terms    Terms
}

// Open asks. An error describes the problem with the request; a request that could never
// be granted is wrong.
func Open(req Request, now time.Time) (Result, error) {
	switch {
	case req.ID == "":
		return Result{}, errors.New("an approval needs an id")
	case !slices.Contains(kinds, req.Action.Kind):
		return Result{}, fmt.Errorf("an approval has no kind %q; use one of %q", req.Action.Kind, kinds)
	case req.Asker.Principal == "":
		return Result{}, errors.New("an approval needs the name of who asks, who must not decide it")
	}
	if err := req.Terms.Check(req.Asker); err != nil {
		return Result{}, err
	}
	terms := req.Terms.withDefaults()
	a := &Approval{
		ID: req.ID, Action: req.Action, Digest: req.Action.Digest(), Editable: req.Editable, Asker: req.Asker,
		Message: req.Message, Terms: terms, Status: Pending, CreatedAt: now, ExpiresAt: now.Add(terms.TTL),
	}
	if terms.Escalation.After > 0 {
		a.EscalatesAt = now.Add(terms.Escalation.After)
	}
	r := &Result{Approval: a, Changed: true}
	r.announce(Event{Type: EventRequested, Eligible: a.Asked(false)})
	return *r, nil
}

// count returns the number of people who approved, or who rejected.
func (a *Approval) count(approve bool) int {
	n := 0
	for i := range a.Votes {
		if a.Votes[i].Approve == approve {
			n++
		}
	}
	return n
}

// clone returns a copy whose votes can be added to.
func (a *Approval) clone() *Approval {
	next := *a
	next.Votes = slices.Clone(a.Votes)
	return &next
}
