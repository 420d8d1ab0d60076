package app

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/idempotency"
)

// Vote is a caller's answer to an approval.
type Vote struct {
	Approve bool
	Note    string
	// Edited is JSON that replaces the data; empty leaves it as it is.
	Edited []byte
	// Digest of the action that the caller was shown; see consent.Decision.
	Digest string
	// Key makes the vote happen once; empty does not.
	Key string
	// Lease lets later calls pass that are like this one; nil does not (S9.6).
	Lease *consent.LeaseTerms
	// Signature of the vote; nil for none.
	Signature *Signature
}

// Decide casts the caller's vote. Of all that could make the decision one does, and
// it is durable when it is answered; the others are refused, and shown it (S9.4).
func (a *App) Decide(ctx context.Context, caller Caller, id string, v Vote) (*Record, error) {
	who := caller.Principal
	if err := bound(who); err != nil {
		return nil, err
	}
	d := consent.Decision{Approve: v.Approve, Note: v.Note, Digest: v.Digest}
	if len(v.Edited) > 0 {
		var err error
		if d.Data, err = parse("edited_data", v.Edited, MaxData); err != nil {
			return nil, err
		}
	}
	by := approver(who)
	proof, err := a.verified(ctx, caller, v.Signature, id)
	if err != nil {
		return nil, err
	}
	d.Signed = proof.signed()
	intent := a.intent(caller, v.Approve, v.Note, v.Lease)
	lease, err := a.lease(ctx, caller, id, &v)
	if err != nil {
		return nil, err
	}
	return a.change(ctx, id, command{
		caller: caller, once: v.once(who.Name), lease: lease, acts: v.Approve,
		apply: func(r *Record, now time.Time) consent.Result {
			if refusal := proof.against(r, intent, d.Data); refusal != nil {
				return consent.Result{Approval: r.Approval, Refusal: refusal}
			}
			out := r.Decide(by, d, now)
			if lease != nil && out.Refusal == nil {
				return leased(out, now)
			}
			if out.Refusal == nil && out.Approval.Edit != r.Edit {
				return checkEdit(r, out)
			}
			return out
		},
	})
}

// leased returns a vote that gives a lease: it uses the approval, so that the lease alone
// says which calls pass. A vote that does not grant gives none.
func leased(out consent.Result, now time.Time) consent.Result {
	if out.Approval.Status != consent.Granted {
		return out
	}
	used := out.Approval.Consume(out.Approval.Digest, now)
	used.Events = append(out.Events, used.Events...)
	return used
}

// approver returns a caller as the core knows approvers.
func approver(who auth.Principal) consent.Approver {
	return consent.Approver{Name: who.Name, Role: string(who.Role), Person: who.Person, Relay: who.Relay, Identity: who.Identity}
}

// bound refuses credentials that belong to a session, and a relay without an identity: its name may be on a list
// of approvers.
func bound(who auth.Principal) error {
	if who.Role == auth.Relay {
		return fault.New(fault.PermissionDenied, "a relay makes no decision by itself: give as_identity with the identity of the person who decides")
	}
	if who.Session == "" {
		return nil
	}
	return fault.New(fault.PermissionDenied, "these credentials belong to session %s; only people decide, with their own credentials", document.Quote(who.Session))
}

// checkEdit refuses data that a run could not take (S2.6): who edits learns that now,
// and not when the run continues.
func checkEdit(before *Record, out consent.Result) consent.Result {
	if out.Approval.Action.Kind == consent.ToolCall {
		return out
	}
	if why := workflow.CheckData(out.Approval.Edit.Data); why != "" {
		return consent.Result{Approval: before.Approval, Refusal: &consent.Refusal{
			Code: consent.CodeInvalidEdit, Message: "the transition does not accept the edited data: " + why,
		}}
	}
	return out
}

// once returns the key of a vote: each caller has keys of their own.
func (v *Vote) once(name string) idempotency.Key {
	content := fmt.Sprintf("%t %q %q %q", v.Approve, v.Note, v.Edited, v.Digest)
	if v.Lease != nil {
		content += fmt.Sprintf(" %q %q %d %d", v.Lease.Pattern, v.Lease.Only, v.Lease.Calls, v.Lease.Minutes)
	}
	return idempotency.Of(v.Key, fmt.Sprintf("decide %q", name), content)
}
