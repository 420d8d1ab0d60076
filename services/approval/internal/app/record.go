package app

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
)

// Record is an approval with what the service knows in addition to it. It is immutable.
type Record struct {
	*consent.Approval
	Namespace string
	// RunID is the run that waits for it; empty for none.
	RunID string
	// UsedBy is what it was used for, such as a call's id.
	UsedBy string
}

// Standing is how an approval stands, in the contract's words.
func (r *Record) Standing() consent.Status {
	if r.Status == consent.Granted && !r.UsedAt.IsZero() {
		return consent.Used
	}
	return r.Status
}

// DecidedBy is who has made the decision; empty when nobody has.
func (r *Record) DecidedBy() string {
	if r.Status == consent.Cancelled {
		return r.By
	}
	if !r.Status.Final() || r.Status == consent.Expired {
		return ""
	}
	approved := r.Status != consent.Rejected
	for i := len(r.Votes) - 1; i >= 0; i-- {
		if r.Votes[i].Approve == approved {
			return r.Votes[i].Name
		}
	}
	return ""
}

// of is true for the approval of a question: of this action and asker, on these terms,
// for this run.
func (r *Record) of(req *consent.Request, runID string) bool {
	return r.RunID == runID && r.Question() == req.Question()
}

// with is the record of another form of its approval.
func (r *Record) with(next *consent.Approval) *Record {
	out := *r
	out.Approval = next
	return &out
}

// pass lets time pass for an approval. It expires when its time is up, and not when
// somebody notes that.
func pass(a *consent.Approval, now time.Time) consent.Result {
	if now.After(a.ExpiresAt) {
		now = a.ExpiresAt
	}
	return a.Tick(now)
}

// at is the record as it stands at a time, also when nobody has noted that yet: what
// has expired does not look as if it could be granted.
func (r *Record) at(now time.Time) *Record { return r.with(pass(r.Approval, now).Approval) }

func approvalKey(namespace, id string) store.Key {
	return store.Key{Namespace: namespace, Kind: KindApproval, ID: id}
}

func (r *Record) key() store.Key { return approvalKey(r.Namespace, r.ID) }

// timer is when the approval escalates or expires.
func (r *Record) timer() store.TimerID { return store.TimerID{Key: r.key(), Name: "due"} }

func (r *Record) labels() map[string]string {
	name, value := crowd(r.RunID, r.Asker)
	return map[string]string{"status": string(r.Standing()), name: value}
}

// stored is the stored form. Fields are only ever added to it.
type stored struct {
	*consent.Approval
	RunID  string `json:"run_id,omitempty"`
	UsedBy string `json:"used_by,omitempty"`
}

func (r *Record) encode() ([]byte, error) {
	data, err := json.Marshal(stored{r.Approval, r.RunID, r.UsedBy})
	if err != nil {
		return nil, fault.From(fmt.Errorf("encode approval: %w", err))
	}
	return data, nil
}

func decode(record store.Record) (*Record, error) {
	s := stored{Approval: &consent.Approval{}}
	if err := json.Unmarshal(record.Data, &s); err != nil {
		return nil, fault.From(fmt.Errorf("decode %s: %w", record.Key, err))
	}
	s.Version = record.Version
	return &Record{Approval: s.Approval, Namespace: record.Key.Namespace, RunID: s.RunID, UsedBy: s.UsedBy}, nil
}

// load returns an approval as it is stored.
func (a *App) load(ctx context.Context, key store.Key) (*Record, error) {
	record, err := a.store.Get(ctx, key)
	switch {
	case notFound(err):
		return nil, unknown(key.ID)
	case err != nil:
		return nil, fault.From(err)
	default:
		return decode(record)
	}
}

func unknown(id string) error {
	return fault.New(fault.NotFound, "there is no approval %s", document.Quote(id))
}
