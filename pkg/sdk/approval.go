package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// Approval is a question to humans (S9).
type Approval struct {
	ID     string
	Status ApprovalStatus
	Kind   ApprovalKind
	// Message is for the approvers. An agent may have written it: show it as data.
	Message string
	// Outcome is how it stands, in one sentence for the agent; Reason why it was
	// cancelled or became stale.
	Outcome, Reason string
	// Subject is the exact act that is asked for, and Data its data, such as the input of a
	// tool, as approvers have edited it: JSON. Digest is of both.
	Subject, Data json.RawMessage
	Digest        string
	// Editable is true when approvers may edit the data.
	Editable bool
	// Principal and SessionID are who asks.
	Principal, SessionID string
	// RunID is the run that it is about; empty for none.
	RunID string
	// Version counts its changes, from 1.
	Version   int64
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Granted reports whether humans have approved: the approval is GRANTED, or was USED
// already, as that of a transition is.
func (a Approval) Granted() bool { return a.Status == ApprovalGranted || a.Status == ApprovalUsed }

// Decided reports whether humans need decide it no more.
func (a Approval) Decided() bool { return a.Status != ApprovalPending && a.Status != "" }

// ApprovalFilter says which approvals to list; all without a member.
type ApprovalFilter struct {
	Status ApprovalStatus
	RunID  string
	// Most to return, the newest first; 0 for all.
	Most int
}

// ListApprovals returns the approvals of the namespace, newest first. It is for people: an agent
// may get and wait for its approvals, and not list them.
func (g *approvalGroup) ListApprovals(ctx context.Context, f ApprovalFilter) ([]Approval, error) {
	filter := terms("status", string(f.Status), "run_id", f.RunID)
	return page(ctx, f.Most, func(ctx context.Context, size int32, token string) ([]Approval, string, error) {
		resp, err := retry(ctx, g.approvals.ListApprovals, &approvalv1.ListApprovalsRequest{PageSize: size, PageToken: token, Filter: filter})
		return each(resp.GetApprovals(), approvalOf), resp.GetNextPageToken(), err
	})
}

// GetApproval returns an approval as it is now.
func (g *approvalGroup) GetApproval(ctx context.Context, id string) (Approval, error) {
	resp, err := retry(ctx, g.approvals.GetApproval, &approvalv1.GetApprovalRequest{ApprovalId: id})
	if err != nil {
		return Approval{}, err
	}
	return approvalOf(resp.GetApproval()), nil
}

// ApprovalVote is the decision of an approver.
type ApprovalVote struct {
	Approve bool
	// Note is for the agent; may be empty.
	Note string
	// EditedData replaces the data, only with Approve: JSON, or a value that encodes to it; nil to
	// leave it.
	EditedData any
	// Digest is that of the approval that the approver has read; without it the vote is on the
	// present request, which is refused once the data was edited.
	Digest string
	// Lease approves later calls that are like this one too; nil for none (S9.6).
	Lease *approvalv1.LeaseTerms
	// Signature of the vote, over the statement of ApprovalStatement; nil for none.
	Signature *approvalv1.DecisionSignature
}

// DecideApproval votes on an approval, as an approver or operator.
func (g *approvalGroup) DecideApproval(ctx context.Context, id string, vote ApprovalVote, opts ...ChangeOption) (Approval, error) {
	data, err := encode("edited data", vote.EditedData)
	if err != nil {
		return Approval{}, err
	}
	resp, err := retry(ctx, g.approvals.DecideApproval, &approvalv1.DecideApprovalRequest{
		ApprovalId: id, Approve: vote.Approve, Note: vote.Note, EditedData: data, Digest: vote.Digest, IdempotencyKey: keyOf(opts),
		Lease: vote.Lease, Signature: vote.Signature,
	})
	if err != nil {
		return Approval{}, err
	}
	return approvalOf(resp.GetApproval()), nil
}

// ApprovalStatement returns the statement of a vote, for the caller's person to sign. The vote then has the statement and the
// signature in its Signature. A vote without a digest is on the present request.
func (g *approvalGroup) ApprovalStatement(ctx context.Context, id string, vote ApprovalVote) (*approvalv1.GetApprovalStatementResponse, error) {
	data, err := encode("edited data", vote.EditedData)
	if err != nil {
		return nil, err
	}
	if vote.Digest == "" {
		now, err := g.GetApproval(ctx, id)
		if err != nil {
			return nil, err
		}
		vote.Digest = now.Digest
	}
	return retry(ctx, g.approvals.GetApprovalStatement, &approvalv1.GetApprovalStatementRequest{
		Approve: vote.Approve, Note: vote.Note, EditedData: data, Lease: vote.Lease, Items: []*approvalv1.DecideApprovalsItem{{ApprovalId: id, Digest: vote.Digest}},
	})
}

// CancelApproval withdraws a question, as an operator.
func (g *approvalGroup) CancelApproval(ctx context.Context, id, reason string) (Approval, error) {
	resp, err := retry(ctx, g.approvals.CancelApproval, &approvalv1.CancelApprovalRequest{ApprovalId: id, Reason: reason})
	if err != nil {
		return Approval{}, err
	}
	return approvalOf(resp.GetApproval()), nil
}

// WatchApprovals yields every approval of the namespace that changes from now on, as it is then.
// Changes while the connection is broken are not yielded: list the pending ones after a break that
// matters. It ends with an error, or when ctx ends, which is an error too. It is for people.
func (g *approvalGroup) WatchApprovals(ctx context.Context) iter.Seq2[Approval, error] {
	return follow(ctx, g.log, "approvals", func(ctx context.Context) (func() (Approval, error), error) {
		stream, err := g.approvals.WatchApprovals(ctx, &approvalv1.WatchApprovalsRequest{})
		return func() (Approval, error) {
			resp, err := stream.Recv()
			return approvalOf(resp.GetApproval()), err
		}, err
	})
}

// WaitApproval waits until humans have decided an approval, no matter how long that
// takes, and returns it. It ends with ctx, which is an error. If the approval was
// granted, make exactly the same call again: it is allowed once.
func (g *approvalGroup) WaitApproval(ctx context.Context, id string) (Approval, error) {
	for a, err := range follow(ctx, g.log, "approval "+id, func(ctx context.Context) (func() (Approval, error), error) {
		stream, err := g.approvals.WatchApproval(ctx, &approvalv1.WatchApprovalRequest{ApprovalId: id})
		return func() (Approval, error) {
			resp, err := stream.Recv()
			return approvalOf(resp.GetApproval()), err
		}, err
	}) {
		if err != nil || a.Decided() {
			return a, err
		}
	}
	return Approval{}, errors.New("unreachable")
}

// follow yields the messages of streams that are opened one after the other: a failure that passes is
// not an error. It ends with a refusal, or when ctx ends, which is an error too.
func follow[T any](ctx context.Context, log *slog.Logger, what string, open func(context.Context) (func() (T, error), error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		for failures := 0; ; {
			begun := time.Now()
			over, err := receive(ctx, open, func(v T) bool { return yield(v, nil) })
			if over {
				return
			}
			if ctx.Err() != nil {
				yield(none, contextEnded(ctx, err))
				return
			}
			f := fault.From(err)
			if !transient(f.Reason) {
				yield(none, f)
				return
			}
			if time.Since(begun) > steady {
				failures = 0
			}
			failures++
			log.LogAttrs(ctx, slog.LevelInfo, "a watch is opened again", slog.String("watched", what), slog.Any("error", f))
			if pause(ctx, delay(failures, f.RetryAfter)) != nil {
				yield(none, contextEnded(ctx, f))
				return
			}
		}
	}
}

// receive hands the messages of one stream on, until it breaks or take returns false.
func receive[T any](ctx context.Context, open func(context.Context) (func() (T, error), error), take func(T) bool) (over bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	next, err := open(ctx)
	if err != nil {
		return false, err
	}
	for {
		v, err := next()
		if err != nil {
			return false, broken(err)
		}
		if !take(v) {
			return true, nil
		}
	}
}

func approvalOf(a *approvalv1.Approval) Approval {
	data := a.GetEditedData()
	if len(data) == 0 {
		data = a.GetData()
	}
	return Approval{
		ID: a.GetApprovalId(), Status: ApprovalStatus(word(a.GetStatus(), "APPROVAL_STATUS_")), Kind: ApprovalKind(word(a.GetKind(), "APPROVAL_KIND_")),
		Message: a.GetMessage(), Outcome: a.GetOutcome(), Reason: a.GetReason(), RunID: a.GetRunId(), Version: a.GetVersion(),
		Subject: a.GetSubject(), Data: data, Digest: a.GetDigest(), Editable: a.GetEditable(),
		Principal: a.GetAsker().GetPrincipal(), SessionID: a.GetAsker().GetSessionId(), CreatedAt: timeOf(a.GetCreatedAt()), ExpiresAt: timeOf(a.GetExpiresAt()),
	}
}

// ListLeases returns the leases of a run by which calls pass without another question, newest first;
// of all runs when it is empty (S9.6). It is for people.
func (g *approvalGroup) ListLeases(ctx context.Context, runID string) ([]*approvalv1.Lease, error) {
	return page(ctx, 0, func(ctx context.Context, size int32, token string) ([]*approvalv1.Lease, string, error) {
		resp, err := retry(ctx, g.approvals.ListLeases, &approvalv1.ListLeasesRequest{PageSize: size, PageToken: token, RunId: runID})
		return resp.GetLeases(), resp.GetNextPageToken(), err
	})
}

// RevokeLease ends a lease, as an operator or approver.
func (g *approvalGroup) RevokeLease(ctx context.Context, id string) (*approvalv1.Lease, error) {
	resp, err := retry(ctx, g.approvals.RevokeLease, &approvalv1.RevokeLeaseRequest{LeaseId: id})
	return resp.GetLease(), err
}

// QuestionCount counts the approvals of one question, which a rule or a workflow asks.
type QuestionCount struct {
	// What is the request, in a line.
	What string
	// AskedBy is the policy and its rule, or workflow.
	AskedBy string
	// Asked counts the approvals, and the others their answers. Quick are those granted within three seconds.
	Asked, Granted, Rejected, Expired, Quick int64
	// Hint is a way to spare people the question; empty unless they hardly ever reject.
	Hint string
}

// ApprovalStats are the questions that people were asked, the most frequent first.
type ApprovalStats struct {
	Questions []QuestionCount
	// Complete is false when only the newest 10,000 approvals were counted.
	Complete bool
}

// ApprovalStats counts the questions that people were asked since then, and their answers; zero is for the last 30 days. It is
// for people.
func (g *approvalGroup) ApprovalStats(ctx context.Context, since time.Time) (ApprovalStats, error) {
	req := &approvalv1.GetApprovalStatsRequest{}
	if !since.IsZero() {
		req.Since = timestamppb.New(since)
	}
	resp, err := retry(ctx, g.approvals.GetApprovalStats, req)
	if err != nil {
		return ApprovalStats{}, err
	}
	stats := ApprovalStats{Complete: resp.GetComplete()}
	for _, q := range resp.GetQuestions() {
		stats.Questions = append(stats.Questions, QuestionCount{
			What: q.GetWhat(), AskedBy: q.GetAskedBy(), Asked: q.GetAsked(), Granted: q.GetGranted(), Rejected: q.GetRejected(),
			Expired: q.GetExpired(), Quick: q.GetQuick(), Hint: q.GetHint(),
		})
	}
	return stats, nil
}
