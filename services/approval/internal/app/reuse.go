package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// asked is the record of a question: the approval that asked it last. It is stored before
// that approval, which may live in another shard: a caller that finds none yet makes it.
type asked struct {
	ApprovalID string `json:"approval_id"`
}

// askKey returns where it is found which approval a question has, for a run.
func askKey(namespace, runID, question string) store.Key {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q", question, runID))
	return store.Key{Namespace: namespace, Kind: kindAsk, ID: hex.EncodeToString(sum[:])}
}

// reuse returns the approval that a question has, or asks anew when there is none that
// says anything any more (S7.6). Callers that ask at once all get the same.
func (a *App) reuse(ctx context.Context, caller Caller, req consent.Request, q *Question) (r *Record, created bool, err error) {
	if req.ID != "" {
		r, err := a.same(ctx, caller, req, q.RunID)
		if fault.ReasonOf(err) != fault.NotFound {
			return r, false, err
		}
	}
	key := askKey(caller.Namespace, q.RunID, req.Question())
	err = retry.Run(ctx, "the approval of this action", func() (err error) {
		r, created, err = a.tryReuse(ctx, caller, key, req, q)
		return err
	})
	return r, created, err
}

func (a *App) tryReuse(ctx context.Context, caller Caller, key store.Key, req consent.Request, q *Question) (*Record, bool, error) {
	last, version, err := a.asked(ctx, key)
	if err != nil {
		return nil, false, err
	}
	if last != "" {
		r, err := a.load(ctx, approvalKey(caller.Namespace, last))
		if fault.ReasonOf(err) == fault.NotFound { // the caller that named it got no further, or is at it
			req.ID = last
			return a.open(ctx, caller, req, q)
		}
		if err != nil {
			return nil, false, err
		}
		now := a.now()
		// Who named the id before it was made may have been overtaken by another question.
		if r = r.at(now); r.of(&req, q.RunID) && r.speaks(now, q) {
			return r, false, nil
		}
	}
	if err := a.room(ctx, caller.Namespace, q.RunID, req.Asker); err != nil {
		return nil, false, err
	}
	if req.ID == "" {
		req.ID = typeid.New(typeid.Approval)
	}
	data, err := json.Marshal(asked{req.ID})
	if err != nil {
		return nil, false, fault.From(err)
	}
	if _, err = a.store.Commit(ctx, store.Batch{Puts: []store.Put{{Key: key, Expect: version, Data: data}}}); err != nil {
		return nil, false, retry.Fault(err)
	}
	return a.open(ctx, caller, req, q)
}

// repeatable is how long a use can be repeated, or taken over when it failed. It is shorter
// than decisions on calls are known by their ids: one that was made is not made again.
const repeatable = time.Hour

func (r *Record) useCanBeRepeated(now time.Time) bool { return now.Before(r.UsedAt.Add(repeatable)) }

// speaks reports whether an approval answers whether its action may be done, or that is
// about to.
func (r *Record) speaks(now time.Time, q *Question) bool {
	switch r.Standing() {
	case consent.Pending, consent.Rejected:
		return true
	case consent.Granted:
		return !r.Lapsed(now)
	case consent.Used:
		return q.UsedBy != "" && r.UsedBy != q.SettledUse && r.useCanBeRepeated(now)
	default:
		return false
	}
}

// asked returns the approval that a question has, empty for none, and the version of
// the record that says so.
func (a *App) asked(ctx context.Context, key store.Key) (id string, version int64, err error) {
	record, err := a.store.Get(ctx, key)
	switch {
	case notFound(err):
		return "", store.Absent, nil
	case err != nil:
		return "", 0, fault.From(err)
	}
	var last asked
	if err := json.Unmarshal(record.Data, &last); err != nil {
		return "", 0, fault.From(fmt.Errorf("decode %s: %w", key, err))
	}
	return last.ApprovalID, record.Version, nil
}
