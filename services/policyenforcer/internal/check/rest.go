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
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// askedBy is the rule that asks, of this version of its policy.
func askedBy(d *Decision) string {
	if d.By == nil {
		return ""
	}
	return fmt.Sprintf("%s@%d%s", d.By.Policy, d.By.Version, d.By.Pointer())
}

// askInstead asks anew where an approval was granted to what another rule had asked. One
// that was used already is left to what has used it.
func (c *Service) askInstead(
	ctx context.Context, q *question, s *runs.Snapshot, ask enforcer.Ask, granted enforcer.Approval, moved string,
) (asked enforcer.Approval, insteadOf string, err error) {
	if ask.SettledUse = granted.UsedBy; granted.UsedBy == "" {
		if err := c.Approvals.Withdraw(ctx, q.caller.Namespace, granted.ID, "what it was decided on has moved: "+moved); err != nil {
			return asked, "", err
		}
	}
	asked, insteadOf, err = c.request(ctx, q, s, ask)
	if err == nil && asked.Status == consent.Granted && !ask.SameRule(&asked) {
		err = &store.ConflictError{Key: s.Key, Want: s.Run.Version, Have: s.Run.Version}
	}
	return asked, insteadOf, err
}

// mostQuestions is of how many questions about a run it is remembered what they rest on.
// Forgetting one loses only what the agent would be told.
const mostQuestions = 16

// remembered is what a question rested on when it was asked last.
type remembered struct {
	// Question is the digest of its action without that.
	Question   string         `json:"question"`
	ApprovalID string         `json:"approval_id"`
	Reads      *consent.Reads `json:"reads"`
}

// resting is what a question rests on now. Its values are part of the action that people
// agree to, so that no grant counts for others.
type resting struct {
	key   store.Key
	now   remembered
	known []remembered
	// moved is what is another value since the question was asked last; empty for nothing.
	moved string
}

// restOn adds to an action what the decision on it rests on (S18.5), and withdraws the
// approval of the same call that rested on other values. nil for a workflow that names
// nothing.
func (c *Service) restOn(ctx context.Context, q *question, s *runs.Snapshot, action *consent.Action) (*resting, error) {
	q.rests = nil
	pointers := s.Machine.Meta().ApprovalReads
	if len(pointers) == 0 {
		return &resting{}, nil
	}
	if s.Run.SessionID == "" || c.Shared == nil {
		return nil, fault.New(fault.Unavailable, "the decision rests on the shared state, and the run has no session that shares one")
	}
	reads, err := c.Shared.Reads(ctx, q.caller.Namespace, s.Run.SessionIn(s.Run.Branch), pointers)
	if err != nil {
		return nil, err
	}
	if reads.StateID == "" {
		return nil, fault.New(fault.Unavailable, "the decision rests on the shared state, and the session shares none yet; its root creates one")
	}
	r := &resting{key: ledger.QuestionsOf(s.Key), now: remembered{Question: action.Digest(), Reads: reads}}
	if r.known, err = c.questions(ctx, r.key); err != nil {
		return nil, err
	}
	action.Subject = document.ObjectValue(append(slices.Collect(membersOf(action.Subject)), reads.Subject()))
	q.rests = []store.Check{{Key: ledger.State(q.caller.Namespace, reads.StateID), Version: reads.Version}}
	for _, was := range r.known {
		if was.Question != r.now.Question {
			continue
		}
		if r.moved = was.Reads.Moved(reads); r.moved != "" {
			if err := c.Approvals.Withdraw(ctx, q.caller.Namespace, was.ApprovalID, "what it was decided on has moved: "+r.moved); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
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

// questions reads what is remembered of a run's questions.
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

// keep remembers which approval the question has, for what it rests on.
func (r *resting) keep(ctx context.Context, st store.Store, approvalID string) error {
	if r.now.Reads == nil {
		return nil
	}
	r.now.ApprovalID = approvalID
	rest := slices.DeleteFunc(slices.Clone(r.known), func(k remembered) bool { return k.Question == r.now.Question })
	if len(rest) < len(r.known) && r.moved == "" && slices.ContainsFunc(r.known, func(k remembered) bool {
		return k.Question == r.now.Question && k.ApprovalID == approvalID
	}) {
		return nil // it is known
	}
	if len(rest) >= mostQuestions {
		rest = rest[len(rest)-mostQuestions+1:]
	}
	data, err := json.Marshal(append(rest, r.now))
	if err != nil {
		return fault.From(err)
	}
	_, err = st.Commit(ctx, store.Batch{Puts: []store.Put{{Key: r.key, Expect: store.AnyVersion, Data: data}}})
	return err
}

// restsWithin are the conditions that a commit of a run can have on what the question rests
// on. In a store that does not span shards, those of other shards were read just now.
func (q *question) restsWithin(st store.Store, run store.Key) []store.Check {
	if st.Spans() {
		return q.rests
	}
	shards := st.Shards()
	return slices.DeleteFunc(slices.Clone(q.rests), func(c store.Check) bool { return c.Key.Shard(shards) != run.Shard(shards) })
}
