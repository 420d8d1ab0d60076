package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/jsonobject"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// Decisions returns the record whose history is the decisions on calls of a root run and
// all that it has invoked: one partition of the log. An entry's version is its place in
// the order. A decision is stored there once: its event and the answer to repeats are
// made of the entry.
func Decisions(root store.Key) store.Key {
	root.Kind = KindDecisions
	return root
}

// KindDecisions is the kind of Decisions.
const KindDecisions = "decisions"

// Decision is one decision as the log keeps it.
type Decision struct {
	// Partition and Sequence say where it is: the root run, and the place in its
	// order, from 1. Hash is that of the chain up to it; empty until it is sealed.
	Partition string `json:"-"`
	Sequence  int64  `json:"-"`
	Hash      string `json:"-"`
	// Raw is the record as it is stored, and At when it was committed.
	Raw []byte    `json:"-"`
	At  time.Time `json:"-"`

	// Time is that by which rolling windows have counted the call: of the commit. The text
	// has it only where windows were counted before, and in records of older releases.
	Time            time.Time         `json:"time"`
	Principal       string            `json:"principal"`
	SessionID       string            `json:"session_id,omitempty"`
	RunID           string            `json:"run_id"`
	RunVersion      int64             `json:"run_version"`
	Workflow        string            `json:"workflow"`
	WorkflowVersion int64             `json:"workflow_version"`
	State           string            `json:"state"`
	Branch          string            `json:"branch,omitempty"`
	CallID          string            `json:"call_id"`
	Tool            string            `json:"tool"`
	Capability      string            `json:"capability,omitempty"`
	Decision        toolcall.Decision `json:"decision"`
	Code            toolcall.Code     `json:"code,omitempty"`
	Message         string            `json:"message,omitempty"`
	// Rule is the deciding rule, such as "/ask/0" of Policy; all empty when the state
	// did.
	Rule          string `json:"rule,omitempty"`
	Policy        string `json:"policy,omitempty"`
	PolicyVersion int64  `json:"policy_version,omitempty"`
	// InputDigest is the hex SHA-256 of the tool's name and input.
	InputDigest string `json:"input_digest"`
	// Input is the masked input; JSON. Empty if it is not kept (S6.9).
	Input json.RawMessage `json:"input,omitempty"`
	// Facts are the values that conditions have looked at, masked: a JSON object.
	Facts json.RawMessage `json:"facts,omitempty"`
	// Exceptions are the IDs of those by which the call has passed rules of policies.
	Exceptions       []string `json:"exceptions,omitempty"`
	EstimatedCostUSD string   `json:"estimated_cost_usd,omitempty"`
	ApprovalID       string   `json:"approval_id,omitempty"`
	// LeaseID is the lease that has admitted the call; empty for none.
	LeaseID string   `json:"lease_id,omitempty"`
	Shadows []Shadow `json:"shadows,omitempty"`
	// Limits are those of which more than 80 percent are used after the call.
	Limits []Limit `json:"limits,omitempty"`
	// JailLevel is the level of the jail that the caller has for the line, 0 for none, and JailDigest that
	// of the profile, where the line was allowed and must run in the jail.
	JailLevel  jail.Level `json:"jail_level,omitempty"`
	JailDigest string     `json:"jail_digest,omitempty"`
	// Identity is who has made the call; nil in records of before.
	Identity *Identity `json:"identity,omitempty"`
	// Grant is the break-glass grant that the call was made by, and MadeAt when, by the clock of its client.
	Grant  string    `json:"grant,omitempty"`
	MadeAt time.Time `json:"made_at,omitzero"`
	Kept   Kept      `json:"kept,omitzero"`
}

// Kept has further facts for the report of a call and for repeats.
type Kept struct {
	// Entry is that of the state that the call was judged in.
	Entry         int64 `json:"entry,omitempty"`
	Counted       bool  `json:"counted,omitempty"`
	MaxIterations int64 `json:"max_iterations,omitempty"`
	Iterations    int64 `json:"iterations,omitempty"`
	EditLines     int64 `json:"edit_lines,omitempty"`
	MaxFiles      int64 `json:"max_files,omitempty"`
	Files         int64 `json:"files,omitempty"`
	ContextBudget int64 `json:"context_budget,omitempty"`
	ContextSpent  int64 `json:"context_spent,omitempty"`
	// Paths are the files that an edit would change.
	Paths []string `json:"paths,omitempty"`
	// Spends are the units that it has taken of the accounts of policies.
	Spends []Spend `json:"spends,omitempty"`
	// Gives is the evidence that its report may give, Edits how many changes of files
	// there were when it was allowed, and Voids that it is one of them: evidence.Record.
	Gives []string `json:"gives,omitempty"`
	Edits int64    `json:"edits,omitempty"`
	Voids bool     `json:"voids,omitempty"`
	// Profile is that of the jail, Line the digest of the line that was judged, Allowed when that
	// was, and Reads as Jail has it; only of lines that must run in a jail.
	Profile json.RawMessage `json:"profile,omitempty"`
	Line    string          `json:"line,omitempty"`
	Allowed time.Time       `json:"allowed,omitzero"`
	Reads   bool            `json:"reads,omitempty"`
}

// KeptOf returns the facts that are kept of a decision.
func KeptOf(v *toolcall.Verdict, entry int64, spends []Spend) Kept {
	return Kept{
		Entry: entry, Counted: v.Counted, MaxIterations: v.MaxIterations, Iterations: v.Iterations, EditLines: v.EditLines,
		MaxFiles: v.MaxFiles, Files: v.Files, ContextBudget: v.ContextBudget, ContextSpent: v.ContextSpent,
		Paths: v.Paths, Spends: spends,
	}
}

func (k *Kept) isZero() bool {
	return k.Entry == 0 && !k.Counted && k.MaxIterations == 0 && k.Iterations == 0 && k.EditLines == 0 && k.MaxFiles == 0 &&
		k.Files == 0 && k.ContextBudget == 0 && k.ContextSpent == 0 && len(k.Paths) == 0 && len(k.Spends) == 0 &&
		len(k.Gives) == 0 && k.Edits == 0 && !k.Voids && len(k.Profile) == 0
}

func (k *Kept) appendTo(w *jsonobject.Writer) {
	w.Open()
	w.OptionalInteger("entry", k.Entry)
	w.OptionalTruth("counted", k.Counted)
	w.OptionalInteger("max_iterations", k.MaxIterations)
	w.OptionalInteger("iterations", k.Iterations)
	w.OptionalInteger("edit_lines", k.EditLines)
	w.OptionalInteger("max_files", k.MaxFiles)
	w.OptionalInteger("files", k.Files)
	w.OptionalInteger("context_budget", k.ContextBudget)
	w.OptionalInteger("context_spent", k.ContextSpent)
	w.OptionalTexts("paths", k.Paths)
	encodeSpends(w, k.Spends)
	w.OptionalTexts("gives", k.Gives)
	w.OptionalInteger("edits", k.Edits)
	w.OptionalTruth("voids", k.Voids)
	if len(k.Profile) > 0 {
		w.Raw("profile", k.Profile)
		w.Text("line", k.Line)
		w.Time("allowed", k.Allowed)
		w.OptionalTruth("reads", k.Reads)
	}
	w.Close()
}

// Shadow is the decision of a shadow (never enforced): that of a policy, or of a
// workflow.
type Shadow struct {
	Policy         string
	PolicyVersion  int64
	Workflow       string
	WorkflowDigest string
	Decision       toolcall.Decision
	Code           toolcall.Code
	Message        string
}

// Encode writes a record by hand: it is on the path of every check.
func (r *Decision) Encode() []byte {
	w := jsonobject.New(640 + len(r.Message) + len(r.Input) + len(r.Facts) + len(r.Kept.Profile))
	w.Open()
	if !r.Time.IsZero() {
		w.Time(ownTime, r.Time) // first, see HasOwnTime
	}
	w.Text("principal", r.Principal)
	w.OptionalText("session_id", r.SessionID)
	w.Text("run_id", r.RunID)
	w.Integer("run_version", r.RunVersion)
	w.Text("workflow", r.Workflow)
	w.Integer("workflow_version", r.WorkflowVersion)
	w.Text("state", r.State)
	w.OptionalText("branch", r.Branch)
	w.Text("call_id", r.CallID)
	w.Text("tool", r.Tool)
	w.OptionalText("capability", r.Capability)
	w.Text("decision", string(r.Decision))
	w.OptionalText("code", string(r.Code))
	w.OptionalText("message", r.Message)
	w.OptionalText("rule", r.Rule)
	w.OptionalText("policy", r.Policy)
	w.OptionalInteger("policy_version", r.PolicyVersion)
	w.Text("input_digest", r.InputDigest)
	if len(r.Input) > 0 {
		w.Raw("input", r.Input)
	}
	if len(r.Facts) > 0 {
		w.Raw("facts", r.Facts)
	}
	if len(r.Exceptions) > 0 {
		ids, _ := json.Marshal(r.Exceptions) // texts always encode
		w.Raw("exceptions", ids)
	}
	w.OptionalText("estimated_cost_usd", r.EstimatedCostUSD)
	w.OptionalText("approval_id", r.ApprovalID)
	w.OptionalText("lease_id", r.LeaseID)
	if len(r.Shadows) > 0 {
		w.Name("shadows")
		w.OpenList()
		for i := range r.Shadows {
			r.Shadows[i].appendTo(w)
		}
		w.CloseList()
	}
	if len(r.Limits) > 0 {
		w.Name("limits")
		w.OpenList()
		for i := range r.Limits {
			r.Limits[i].appendTo(w)
		}
		w.CloseList()
	}
	w.OptionalInteger("jail_level", int64(r.JailLevel))
	w.OptionalText("jail_digest", r.JailDigest)
	if r.Identity != nil {
		w.Name("identity")
		r.Identity.appendTo(w)
	}
	if r.Grant != "" {
		w.Text("grant", r.Grant)
		w.Time("made_at", r.MadeAt)
	}
	if !r.Kept.isZero() {
		w.Name("kept")
		r.Kept.appendTo(w)
	}
	w.Close()
	return w.Bytes()
}

// Limit is how much of a limit is used: of a policy, or of the state when it has no policy
// and the scope entry.
type Limit struct {
	Policy  string    `json:"policy,omitempty"`
	Rule    string    `json:"rule,omitempty"`
	Measure string    `json:"measure"`
	Scope   string    `json:"scope"`
	Subject string    `json:"subject,omitempty"`
	Used    int64     `json:"used"`
	Max     int64     `json:"max"`
	Until   time.Time `json:"until,omitzero"`
}

func (l *Limit) appendTo(w *jsonobject.Writer) {
	w.Open()
	w.OptionalText("policy", l.Policy)
	w.OptionalText("rule", l.Rule)
	w.Text("measure", l.Measure)
	w.Text("scope", l.Scope)
	w.OptionalText("subject", l.Subject)
	w.Integer("used", l.Used)
	w.Integer("max", l.Max)
	if !l.Until.IsZero() {
		w.Time("until", l.Until)
	}
	w.Close()
}

func (s *Shadow) appendTo(w *jsonobject.Writer) {
	w.Open()
	w.OptionalText("policy", s.Policy)
	w.OptionalInteger("policy_version", s.PolicyVersion)
	w.OptionalText("workflow", s.Workflow)
	w.OptionalText("workflow_digest", s.WorkflowDigest)
	w.Text("decision", string(s.Decision))
	w.OptionalText("code", string(s.Code))
	w.OptionalText("message", s.Message)
	w.Close()
}

const ownTime = "time"

// HasOwnTime reports whether the text of a record has its time. Of any other it is the
// time of the commit, which the chain of hashes then covers too.
func HasOwnTime(data []byte) bool { return bytes.HasPrefix(data, []byte(`{"`+ownTime+`":`)) }

// DecodeDecision reads the output of Encode. An unreadable record has its place only.
func DecodeDecision(partition string, entry store.HistoryEntry) (*Decision, error) {
	r := &Decision{Partition: partition, Sequence: entry.Version}
	if err := json.Unmarshal(entry.Data, r); err != nil {
		return &Decision{Partition: partition, Sequence: entry.Version}, fmt.Errorf("decode decision %d of %s: %w", entry.Version, partition, err)
	}
	r.Raw, r.At = entry.Data, entry.At
	if !HasOwnTime(entry.Data) {
		r.Time = entry.At.UTC()
	}
	return r, nil
}

// UnmarshalJSON reads the output of encode.
func (s *Shadow) UnmarshalJSON(data []byte) error {
	var kept struct {
		Policy         string            `json:"policy"`
		PolicyVersion  int64             `json:"policy_version"`
		Workflow       string            `json:"workflow"`
		WorkflowDigest string            `json:"workflow_digest"`
		Decision       toolcall.Decision `json:"decision"`
		Code           toolcall.Code     `json:"code"`
		Message        string            `json:"message"`
	}
	if err := json.Unmarshal(data, &kept); err != nil {
		return err
	}
	*s = Shadow(kept)
	return nil
}
