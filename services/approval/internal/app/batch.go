package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/idempotency"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// Bounds of a batch.
const (
	// MaxBatch is how many approvals are decided at once.
	MaxBatch = 100
	// maxBatchBytes is how many bytes their records may have together: a store writes them
	// in one piece.
	maxBatchBytes = 8 << 20
)

// Batch is one vote on several approvals.
type Batch struct {
	Approve bool
	Note    string
	Items   []BatchItem
	// Key makes the vote happen once; empty does not.
	Key string
	// Signature of the votes, over all items in order; nil for none.
	Signature *Signature
}

// BatchItem is an approval, and the digest that the caller was shown.
type BatchItem struct{ ID, Digest string }

// DecideAll casts the caller's vote on approvals that ask for the same thing, in one
// commit: on all of them, or on none when one cannot be decided. The answer has them in the
// order of the batch.
func (a *App) DecideAll(ctx context.Context, caller Caller, b Batch) ([]*Record, error) {
	if err := bound(caller.Principal); err != nil {
		return nil, err
	}
	if err := b.check(); err != nil {
		return nil, err
	}
	proof, err := a.verified(ctx, caller, b.Signature, b.ids()...)
	if err != nil {
		return nil, err
	}
	records, err := retry.Do(ctx, "these approvals", func() ([]*Record, error) { return a.tryBatch(ctx, caller, &b, proof) })
	return records, err
}

func (b *Batch) check() error {
	if len(b.Items) == 0 || len(b.Items) > MaxBatch {
		return fault.New(fault.InvalidRequest, "name 1 to %d approvals, not %d", MaxBatch, len(b.Items)).
			Violate("/items", document.CodeRange, fmt.Sprintf("1 to %d", MaxBatch))
	}
	seen := map[string]bool{}
	for i, item := range b.Items {
		if seen[item.ID] {
			return fault.New(fault.InvalidRequest, "approval %s is named twice", document.Quote(item.ID)).
				Violate(b.at(i)+"/approval_id", "DUPLICATE", "named before")
		}
		seen[item.ID] = true
	}
	return nil
}

func (b *Batch) ids() []string {
	ids := make([]string, len(b.Items))
	for i, item := range b.Items {
		ids[i] = item.ID
	}
	return ids
}

// at returns the place of an item in the request.
func (b *Batch) at(i int) string { return fmt.Sprintf("/items/%d", i) }

// tryBatch returns one attempt.
func (a *App) tryBatch(ctx context.Context, caller Caller, b *Batch, proof *proof) ([]*Record, error) {
	before, err := a.loadBatch(ctx, caller, b)
	if err != nil {
		return nil, err
	}
	now := a.now()
	owner, key := onceBatch(caller, b)
	repeated, err := key.Done(ctx, a.store, owner)
	if err != nil {
		return nil, err
	}
	if repeated {
		for i := range before {
			before[i] = before[i].at(now)
		}
		return before, nil
	}
	if err := b.alike(before); err != nil {
		return nil, err
	}
	all, err := a.judgeBatch(caller, b, proof, before, now)
	if err != nil {
		return nil, err
	}
	whole := store.Batch{Across: true, Idempotency: key.Keep(owner)}
	after := make([]*Record, len(all))
	for i, t := range all {
		if b.Approve {
			check, err := a.unhalted(ctx, t.after)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(whole.Checks, check) {
				whole.Checks = append(whole.Checks, check)
			}
		}
		part, err := t.batch()
		if err != nil {
			return nil, err
		}
		whole.Puts = append(whole.Puts, part.Puts...)
		whole.Events = append(whole.Events, part.Events...)
		whole.SetTimers = append(whole.SetTimers, part.SetTimers...)
		whole.ClearTimers = append(whole.ClearTimers, part.ClearTimers...)
		whole.Counters = append(whole.Counters, part.Counters...)
		after[i] = t.after
	}
	result, err := a.store.Commit(ctx, whole)
	if err != nil {
		return nil, retry.Fault(err)
	}
	if result.Replayed { // the same request, at the same time
		return a.loadBatch(ctx, caller, b)
	}
	a.toldBatch(ctx, all)
	return after, nil
}

func (a *App) loadBatch(ctx context.Context, caller Caller, b *Batch) ([]*Record, error) {
	var missing *fault.Error
	records, size := make([]*Record, len(b.Items)), 0
	for i, item := range b.Items {
		record, err := a.store.Get(ctx, approvalKey(caller.Namespace, item.ID))
		switch {
		case notFound(err):
			if missing == nil {
				missing = fault.From(unknown(item.ID))
			}
			missing = missing.Violate(b.at(i)+"/approval_id", "NOT_FOUND", "there is no such approval")
			continue
		case err != nil:
			return nil, fault.From(err)
		}
		if size += len(record.Data); size > maxBatchBytes {
			return nil, fault.New(fault.TooLarge, "the approvals have more than %d bytes together; decide fewer at once", maxBatchBytes)
		}
		if records[i], err = decode(record); err != nil {
			return nil, err
		}
	}
	if missing != nil {
		return nil, missing
	}
	return records, nil
}

// onceBatch returns the idempotency key of a batch and its owner.
func onceBatch(caller Caller, b *Batch) (store.Key, idempotency.Key) {
	var content strings.Builder
	for _, item := range b.Items {
		fmt.Fprintf(&content, "%q %q ", item.ID, item.Digest)
	}
	key := idempotency.Of(b.Key, fmt.Sprintf("decide all %q", caller.Principal.Name), fmt.Sprintf("%t %q %s", b.Approve, b.Note, content.String()))
	sum := sha256.Sum256([]byte(caller.Principal.Name + "\x00" + b.Key))
	return store.Key{Namespace: caller.Namespace, Kind: "approval_batch", ID: hex.EncodeToString(sum[:])}, key
}

// likeness has the common parts of approvals that are decided together.
type likeness struct {
	kind                         consent.Kind
	tool, capability             string
	policy, rule                 string
	policyVersion                int64
	workflow, state, event, into string
	workflowVersion              int64
	// data is the digest of the action's data, as it would be used.
	data string
}

// likeness returns that of the approval. known is false when the asking rule is unknown: no
// other is like that.
func (r *Record) likeness() (l likeness, known bool) {
	why := r.Because()
	l = likeness{kind: r.Action.Kind, tool: r.subject("tool"), capability: r.subject("capability")}
	if data := r.Bound().Data; !data.IsZero() {
		l.data = document.Digest(data)
	}
	if l.kind == consent.ToolCall {
		l.policy, l.rule, l.policyVersion = why.Policy, why.Rule, why.PolicyVersion
		return l, l.rule != ""
	}
	l.workflow, l.workflowVersion, l.state, l.event, l.into = why.Workflow, why.WorkflowVersion, why.State, r.subject("event"), r.subject("to")
	return l, l.workflow != "" && l.event != ""
}

// alike refuses approvals that do not ask for the same thing, and names those.
func (b *Batch) alike(records []*Record) error {
	if len(records) == 1 {
		return nil
	}
	first, known := records[0].likeness()
	var differing []int
	for i, r := range records {
		if l, k := r.likeness(); !known || !k || l != first {
			differing = append(differing, i)
		}
	}
	if len(differing) == 0 {
		return nil
	}
	message := "approvals that are decided together must be for exactly the same: a call of the same tool with the same input, asked for by the same rule of the same version of a policy, or the same event with the same data, in the same state of the same version of a workflow; decide these apart from the first: "
	if !known {
		message = "it is not known which rule asks for the first of these approvals, so decide each by itself: "
	}
	return b.conflict(fault.FailedPrecondition, message, "DIFFERS", differing)
}

// conflict returns a refusal that names items.
func (b *Batch) conflict(reason fault.Reason, message, code string, items []int) *fault.Error {
	ids := make([]string, len(items))
	for i, at := range items {
		ids[i] = b.Items[at].ID
	}
	e := fault.New(reason, "%s%s", message, strings.Join(ids, ", ")).Meta("code", code).Meta("approval_ids", strings.Join(ids, ","))
	for _, at := range items {
		e = e.Violate(b.at(at), code, b.Items[at].ID)
	}
	return e
}

// judgeBatch casts the vote on each. When one refuses it, none has it, and the refusal names
// all that do: first callers without a right, then decided approvals.
func (a *App) judgeBatch(caller Caller, b *Batch, proof *proof, before []*Record, now time.Time) ([]*transaction, error) {
	by, intent := approver(caller.Principal), a.intent(caller, b.Approve, b.Note, nil)
	all := make([]*transaction, len(before))
	type refusal struct {
		at int
		*consent.Refusal
	}
	var refusals []refusal
	for i, r := range before {
		due := pass(r.Approval, now)
		mid := r.with(due.Approval)
		ruled := mid.Decide(by, consent.Decision{Approve: b.Approve, Note: b.Note, Digest: b.Items[i].Digest, Signed: proof.signed()}, now)
		if refusal := proof.against(mid, intent, document.Value{}); ruled.Refusal == nil && refusal != nil {
			ruled.Refusal = refusal
		}
		if ruled.Refusal == nil && b.Items[i].Digest != mid.Digest { // who rejects has seen it, too
			ruled.Refusal = &consent.Refusal{
				Code: consent.CodeChanged, Message: "approval " + r.ID + " is for a different action than the one that was shown; look at it again",
			}
		}
		if ruled.Refusal != nil {
			refusals = append(refusals, refusal{i, ruled.Refusal})
			continue
		}
		all[i] = &transaction{app: a, before: r, after: mid.with(ruled.Approval), at: now}
		all[i].announce(interlock, due.Events)
		all[i].announce(caller.Principal.Name, ruled.Events)
	}
	if len(refusals) == 0 {
		return all, nil
	}
	worst := refusals[0]
	for _, r := range refusals {
		if reasons[r.Code] == fault.PermissionDenied {
			worst = r
			break
		}
	}
	e := fault.From(refused(before[worst.at].at(now), worst.Refusal))
	if len(refusals) > 1 {
		e.Message += fmt.Sprintf(", and %d more of these cannot be decided", len(refusals)-1)
	}
	e.Message += "; none was decided"
	ids := make([]string, len(refusals))
	for i, r := range refusals {
		ids[i] = before[r.at].ID
		e = e.Violate(b.at(r.at), string(r.Code), r.Message)
	}
	return nil, e.Meta("approval_ids", strings.Join(ids, ","))
}

// settlers is how many runs are notified of at once that their approvals are decided.
const settlers = 16

// toldBatch notifies those that wait for the approvals.
func (a *App) toldBatch(ctx context.Context, all []*transaction) {
	ctx = context.WithoutCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	for part := range slices.Chunk(all, max(1, (len(all)+settlers-1)/settlers)) {
		work.Go(func() {
			for _, t := range part {
				t.committed()
				if t.decided() {
					a.tellEngine(ctx, t.after)
				}
			}
		})
	}
}
