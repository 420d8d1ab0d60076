package webhook

import (
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/interlock-run/interlock/services/approval/internal/app"
)

// message is the body for a receiver. Text of an agent, which the message to the
// approvers and the subject may be, is data: show it as such.
type message struct {
	// ID is the event's, by which receivers drop duplicates.
	ID string `json:"id"`
	// Type is the kind of event, such as approval.requested.
	Type string `json:"type"`
	// Time is when.
	Time      time.Time `json:"time"`
	Namespace string    `json:"namespace"`
	// Approval as it stands when this is sent: more may have happened since the event.
	Approval approval `json:"approval"`
}

// approval is one without the data that go with the action.
type approval struct {
	ApprovalID string          `json:"approval_id"`
	Kind       string          `json:"kind"`
	Status     string          `json:"status"`
	Version    int64           `json:"version"`
	RunID      string          `json:"run_id,omitempty"`
	Subject    json.RawMessage `json:"subject"`
	Digest     string          `json:"digest"`
	Message    string          `json:"message"`
	Asker      asker           `json:"asker"`
	Required   int             `json:"required"`
	Eligible   approvers       `json:"eligible"`
	Escalated  bool            `json:"escalated"`
	Votes      []vote          `json:"votes"`
	Reason     string          `json:"reason,omitempty"`
	By         string          `json:"by,omitempty"`
	CreatedAt  time.Time       `json:"created_at"`
	ExpiresAt  time.Time       `json:"expires_at"`
	DecidedAt  time.Time       `json:"decided_at,omitzero"`
	Links      *links          `json:"links,omitempty"`
}

type asker struct {
	Principal string `json:"principal"`
	SessionID string `json:"session_id,omitempty"`
}

// approvers are people who may decide now.
type approvers struct {
	Roles []string `json:"roles"`
	Names []string `json:"names"`
}

type vote struct {
	By      string    `json:"by"`
	Approve bool      `json:"approve"`
	Note    string    `json:"note,omitempty"`
	Time    time.Time `json:"time"`
}

type links struct {
	// Self is the page where people decide. It identifies and does not authorise.
	Self string `json:"self"`
}

func (r *Receivers) message(n app.Notice) ([]byte, error) {
	a := n.Record
	m := message{ID: n.ID, Type: app.KindApproval + "." + n.Type, Time: n.At, Namespace: a.Namespace, Approval: approval{
		ApprovalID: a.ID, Kind: string(a.Action.Kind), Status: string(a.Standing()), Version: a.Version, RunID: a.RunID,
		Subject: a.Action.Subject.AppendJSON(nil), Digest: a.Digest, Message: a.Message,
		Asker:    asker{a.Asker.Principal, a.Asker.SessionID},
		Required: a.Terms.Required, Eligible: whoDecides(a), Escalated: a.Escalated, Votes: []vote{},
		Reason: a.Reason, By: a.DecidedBy(), CreatedAt: a.CreatedAt, ExpiresAt: a.ExpiresAt, DecidedAt: a.DecidedAt,
	}}
	for _, v := range a.Votes {
		m.Approval.Votes = append(m.Approval.Votes, vote{v.Name, v.Approve, v.Note, v.At})
	}
	if r.public != "" {
		m.Approval.Links = &links{Self: r.public + "/ui/approvals/" + url.PathEscape(a.ID)}
	}
	body, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode message: %w", err)
	}
	return body, nil
}

func whoDecides(a *app.Record) approvers {
	who := a.Asked(a.Escalated)
	return approvers{Roles: append([]string{}, who.Roles...), Names: append([]string{}, who.Names...)}
}
