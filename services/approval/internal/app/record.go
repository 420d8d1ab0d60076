package app

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
)

// Record is an approval with additional facts of the service. It is immutable.
type Record struct {
	*consent.Approval
	Namespace string
	// RunID is the run that waits for it; empty for none.
	RunID string
	// UsedBy is the act that it was used for, such as a call's id.
	UsedBy string
	// Why is the cause of the question.
	Why Why
	// Facts are what the call does: JSON of facet.Record; nil where it is not known.
	Facts json.RawMessage
	// Secret proves later that a statement of this approval was made here. It is never shown.
	Secret []byte
}

// Why is the cause of a question. It is not part of the question.
type Why struct {
	Policy          string `json:"policy,omitempty"`
	PolicyVersion   int64  `json:"policy_version,omitempty"`
	Rule            string `json:"rule,omitempty"`
	State           string `json:"state,omitempty"`
	Workflow        string `json:"workflow,omitempty"`
	WorkflowVersion int64  `json:"workflow_version,omitempty"`
	Entry           int64  `json:"entry,omitempty"`
}

// Because returns Why, completed from the subject.
func (r *Record) Because() Why {
	why := r.Why
	if why.State == "" {
		why.State = r.subject("state")
	}
	if why.Workflow == "" {
		why.Workflow = r.subject("workflow")
	}
	if why.WorkflowVersion == 0 {
		version, _ := r.Action.Subject.Get("workflow_version")
		why.WorkflowVersion, _ = strconv.ParseInt(string(version.AppendJSON(nil)), 10, 64) // 0 for an invalid one
	}
	return why
}

// subject returns a text of the subject; empty for none.
func (r *Record) subject(name string) string {
	v, _ := r.Action.Subject.Get(name)
	if v.Kind() != document.String {
		return ""
	}
	return v.Str()
}

// What returns the request in words. Parts of it are an agent's: show them as data.
func (r *Record) What() string {
	why := r.Because()
	var b strings.Builder
	switch r.Action.Kind {
	case consent.ToolCall:
		fmt.Fprintf(&b, "call of %s", cmp.Or(r.subject("capability"), r.subject("tool"), "a tool"))
		if why.State != "" {
			fmt.Fprintf(&b, " in state %s", why.State)
		}
	default:
		fmt.Fprintf(&b, "event %s", cmp.Or(r.subject("event"), "without a name"))
		if to := r.subject("to"); to != "" {
			fmt.Fprintf(&b, ", from %s to %s", why.State, to)
		}
	}
	if why.Workflow != "" {
		fmt.Fprintf(&b, ", of %s", why.Workflow)
	}
	return b.String()
}

// Standing returns how an approval stands, in the contract's words.
func (r *Record) Standing() consent.Status {
	if r.Status == consent.Granted && !r.UsedAt.IsZero() {
		return consent.Used
	}
	return r.Status
}

// DecidedBy returns the maker of the decision; empty without one.
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

// of reports whether this is the approval of a question: of this action and asker, on
// these terms, for this run.
func (r *Record) of(req *consent.Request, runID string) bool {
	return r.RunID == runID && r.Question() == req.Question()
}

// with returns the record of another form of its approval.
func (r *Record) with(next *consent.Approval) *Record {
	out := *r
	out.Approval = next
	return &out
}

// at returns the record as it stands at a time, also before that is recorded: an expired
// approval does not look as if it could be granted.
func (r *Record) at(now time.Time) *Record { return r.with(pass(r.Approval, now).Approval) }

func approvalKey(namespace, id string) store.Key {
	return store.Key{Namespace: namespace, Kind: KindApproval, ID: id}
}

func (r *Record) key() store.Key { return approvalKey(r.Namespace, r.ID) }

// timer returns when the approval escalates or expires.
func (r *Record) timer() store.TimerID { return store.TimerID{Key: r.key(), Name: "due"} }

func (r *Record) labels() map[string]string {
	name, value := crowd(r.RunID, r.Asker)
	labels := map[string]string{"status": string(r.Standing()), name: value}
	if r.Status == consent.Granted {
		labels[labelGranted] = r.topic()
	}
	return labels
}

// labelGranted has the object of a granted approval. By it the last approval of the same is
// found, without a look at any other.
const labelGranted = "granted"

// topic returns the object of an approval, regardless of the run and the data: calls of a
// capability, or an event of a workflow.
func (r *Record) topic() string {
	parts := []string{string(r.Action.Kind), r.subject("capability"), r.subject("tool")}
	if r.Action.Kind != consent.ToolCall {
		parts = []string{string(r.Action.Kind), r.subject("workflow"), r.subject("event")}
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return hex.EncodeToString(sum[:16])
}

// stored is the stored form. Fields are only ever added to it.
type stored struct {
	*consent.Approval
	RunID  string          `json:"run_id,omitempty"`
	UsedBy string          `json:"used_by,omitempty"`
	Why    Why             `json:"why,omitzero"`
	Facts  json.RawMessage `json:"facts,omitempty"`
	Secret []byte          `json:"secret,omitempty"`
}

func (r *Record) encode() ([]byte, error) {
	data, err := json.Marshal(stored{r.Approval, r.RunID, r.UsedBy, r.Why, r.Facts, r.Secret})
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
	return &Record{Approval: s.Approval, Namespace: record.Key.Namespace, RunID: s.RunID, UsedBy: s.UsedBy, Why: s.Why, Facts: s.Facts, Secret: s.Secret}, nil
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

// unknown returns the same for an approval that is not there and for one that the caller may not
// see.
func unknown(id string) error {
	return fault.New(fault.NotFound, "there is no approval %s", document.Quote(id)).Wrap(store.ErrNotFound)
}
