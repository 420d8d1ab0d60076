package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
)

// askInstead requests a new approval in place of one that was granted to another rule. An unused grant is
// withdrawn.
func (c *Service) askInstead(
	ctx context.Context, r Ruling, ask enforcer.Ask, granted enforcer.Approval, moved string,
) (asked enforcer.Approval, insteadOf string, err error) {
	if ask.SettledUse = granted.UsedBy; granted.UsedBy == "" {
		if err := c.Approvals.Withdraw(ctx, r.Caller.Namespace, granted.ID, staleReason+moved); err != nil {
			return asked, "", err
		}
	}
	asked, insteadOf, err = c.request(ctx, r, ask)
	if err == nil && asked.Status == consent.Granted && !ask.SameRule(&asked) {
		err = r.busy()
	}
	return asked, insteadOf, err
}

// staleReason begins the reason of an approval whose values have changed.
const staleReason = "the basis of its decision has changed: "

// mostQuestions bounds the remembered questions of a run. If one is forgotten, the agent is not informed about
// changed values.
const mostQuestions = 16

// remembered is a question with the values that it was asked on last.
type remembered struct {
	// Question is the digest of its action without the values.
	Question   string         `json:"question"`
	ApprovalID string         `json:"approval_id"`
	Reads      *consent.Reads `json:"reads"`
}

// basis has the values of shared states that the approval of a question depends on (S18.5). They are part of the
// action that people approve, so that no grant counts for other values.
type basis struct {
	key   store.Key
	now   remembered
	known []remembered
	// checks are the conditions that the values are unchanged.
	checks []store.Check
	// moved describes the values that have changed since the question was asked last; empty for none.
	moved string
}

// readBasis reads the basis of a question, and adds it to the action. It withdraws an approval of the same question
// on other values. Workflows without approval.reads have an empty basis.
func (c *Service) readBasis(ctx context.Context, r Ruling, action *consent.Action) (*basis, error) {
	s := r.At
	pointers := s.Machine.Meta().ApprovalReads
	if len(pointers) == 0 {
		return &basis{}, nil
	}
	if s.Run.SessionID == "" || c.Shared == nil {
		return nil, fault.New(fault.Unavailable, "the decision rests on the shared state, and the run has no session that shares one")
	}
	reads, err := c.Shared.Reads(ctx, r.Caller.Namespace, s.Run.SessionIn(s.Run.Branch), pointers)
	if err != nil {
		return nil, err
	}
	if reads.StateID == "" {
		return nil, fault.New(fault.Unavailable, "the decision rests on the shared state, and the session shares none yet; its root creates one")
	}
	b := &basis{key: ledger.QuestionsOf(s.Key), now: remembered{Question: action.Digest(), Reads: reads}}
	if b.known, err = c.questions(ctx, b.key); err != nil {
		return nil, err
	}
	action.Subject = document.ObjectValue(append(slices.Collect(membersOf(action.Subject)), reads.Subject()))
	b.checks = []store.Check{{Key: ledger.State(r.Caller.Namespace, reads.StateID), Version: reads.Version}}
	for _, was := range b.known {
		if was.Question != b.now.Question {
			continue
		}
		if b.moved = was.Reads.Moved(reads); b.moved != "" {
			if err := c.Approvals.Withdraw(ctx, r.Caller.Namespace, was.ApprovalID, staleReason+b.moved); err != nil {
				return nil, err
			}
		}
	}
	return b, nil
}

func membersOf(v document.Value) func(func(document.Member) bool) {
	return func(yield func(document.Member) bool) {
		for name, value := range v.Members() {
			if !yield(document.Member{Name: name, Value: value}) {
				return
			}
		}
	}
}

// questions reads the remembered questions of a run.
func (c *Service) questions(ctx context.Context, key store.Key) ([]remembered, error) {
	record, err := c.Store.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var known []remembered
	if err := json.Unmarshal(record.Data, &known); err != nil {
		return nil, fault.From(fmt.Errorf("decode %s: %w", key, err))
	}
	return known, nil
}

// keep stores the basis with the approval of its question. The newest questions of the run are kept.
func (b *basis) keep(ctx context.Context, st store.Store, approvalID string) error {
	if b.now.Reads == nil {
		return nil
	}
	b.now.ApprovalID = approvalID
	if b.moved == "" && slices.ContainsFunc(b.known, func(k remembered) bool {
		return k.Question == b.now.Question && k.ApprovalID == approvalID
	}) {
		return nil // it is stored
	}
	others := slices.DeleteFunc(slices.Clone(b.known), func(k remembered) bool { return k.Question == b.now.Question })
	if len(others) >= mostQuestions {
		others = others[len(others)-mostQuestions+1:]
	}
	data, err := json.Marshal(append(others, b.now))
	if err != nil {
		return fault.From(err)
	}
	_, err = st.Commit(ctx, store.Batch{Puts: []store.Put{{Key: b.key, Expect: store.AnyVersion, Data: data}}})
	return err
}
