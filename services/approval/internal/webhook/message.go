package webhook

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/services/approval/internal/app"
	"github.com/interlock-run/interlock/services/internal/runnotice"
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
	// Text is ready to show: without markup and without secrets.
	Text string `json:"text"`
	// Approval as it stands when this is sent: more may have happened since the event.
	Approval *approval `json:"approval,omitempty"`
	// Run as it stood after the event.
	Run *run `json:"run,omitempty"`
}

// run is one without its context.
type run struct {
	RunID           string    `json:"run_id"`
	Version         int64     `json:"version"`
	Workflow        string    `json:"workflow"`
	WorkflowVersion int64     `json:"workflow_version"`
	Status          string    `json:"status"`
	State           string    `json:"state"`
	Branch          string    `json:"branch,omitempty"`
	SessionID       string    `json:"session_id,omitempty"`
	Owner           string    `json:"owner"`
	Reason          string    `json:"reason,omitempty"`
	Cause           string    `json:"cause,omitempty"`
	Due             time.Time `json:"due,omitzero"`
	Schedule        string    `json:"schedule,omitempty"`
	Links           *links    `json:"links,omitempty"`
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
	By      string `json:"by"`
	Approve bool   `json:"approve"`
	Note    string `json:"note,omitempty"`
	// Relay has passed the vote on, and knows the voter as Identity.
	Relay    string    `json:"relay,omitempty"`
	Identity string    `json:"identity,omitempty"`
	Time     time.Time `json:"time"`
}

type links struct {
	// Self is the page where people decide, or see the run. It identifies and does not authorise.
	Self string `json:"self"`
}

func (r *Receivers) message(n app.Notice) ([]byte, error) {
	m := message{ID: n.ID, Time: n.At, Namespace: n.Namespace, Text: r.text(n).String()}
	if n.Run != nil {
		m.Type, m.Run = runPrefix+n.Type, r.runOf(n.Run)
	} else {
		m.Type, m.Approval = app.KindApproval+"."+n.Type, r.approvalOf(n.Record)
	}
	body, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode message: %w", err)
	}
	return body, nil
}

func (r *Receivers) runOf(n *runnotice.Notice) *run {
	out := &run{
		RunID: n.RunID, Version: n.Version, Workflow: n.Workflow, WorkflowVersion: n.WorkflowVersion, Status: string(n.Status), State: n.State,
		Branch: n.Branch, SessionID: n.SessionID, Owner: n.Owner, Reason: r.masks.Text(n.Reason), Cause: string(n.Cause), Due: n.Due, Schedule: n.Schedule,
	}
	if link := r.link("runs", n.RunID); link != "" {
		out.Links = &links{Self: link}
	}
	return out
}

func (r *Receivers) approvalOf(a *app.Record) *approval {
	out := &approval{
		ApprovalID: a.ID, Kind: string(a.Action.Kind), Status: string(a.Standing()), Version: a.Version, RunID: a.RunID,
		Subject: a.Action.Subject.AppendJSON(nil), Digest: a.Digest, Message: a.Message,
		Asker:    asker{a.Asker.Principal, a.Asker.SessionID},
		Required: a.Terms.Required, Eligible: whoDecides(a), Escalated: a.Escalated, Votes: []vote{},
		Reason: a.Reason, By: a.DecidedBy(), CreatedAt: a.CreatedAt, ExpiresAt: a.ExpiresAt, DecidedAt: a.DecidedAt,
	}
	for _, v := range a.Votes {
		out.Votes = append(out.Votes, vote{By: v.Name, Approve: v.Approve, Note: v.Note, Relay: v.Relay, Identity: v.Identity, Time: v.At})
	}
	if link := r.link("approvals", a.ID); link != "" {
		out.Links = &links{Self: link}
	}
	return out
}

func whoDecides(a *app.Record) approvers {
	who := a.Asked(a.Escalated)
	return approvers{Roles: append([]string{}, who.Roles...), Names: append([]string{}, who.Names...)}
}
