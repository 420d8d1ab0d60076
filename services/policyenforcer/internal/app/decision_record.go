package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/jsonobject"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// kindDecisions is a record whose history is the decisions on calls of a root run
// and all that it has invoked: one partition of the log. An entry's version is its
// place in the order.
const kindDecisions = "decisions"

// DecisionRecord is one decision as the log keeps it.
type DecisionRecord struct {
	// Partition and Sequence say where it is: the root run, and the place in its
	// order, from 1. Hash is that of the chain up to it; empty until it is sealed.
	Partition string `json:"-"`
	Sequence  int64  `json:"-"`
	Hash      string `json:"-"`

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
	// Rule is what decided, such as "/ask/0" of Policy; all empty when the state did.
	Rule          string `json:"rule,omitempty"`
	Policy        string `json:"policy,omitempty"`
	PolicyVersion int64  `json:"policy_version,omitempty"`
	// InputDigest is the hex SHA-256 of the tool's name and input.
	InputDigest string `json:"input_digest"`
	// Input is what Masks.Input has left of the input, where the workflow captures
	// output; JSON.
	Input            json.RawMessage `json:"input,omitempty"`
	EstimatedCostUSD string          `json:"estimated_cost_usd,omitempty"`
	ApprovalID       string          `json:"approval_id,omitempty"`
	Shadows          []Shadow        `json:"shadows,omitempty"`
}

func decisionsKey(namespace, root string) store.Key {
	return store.Key{Namespace: namespace, Kind: kindDecisions, ID: root}
}

// decisionPut appends a record to the log, as part of the commit that the decision
// is. The root is that of the run.
func decisionPut(namespace, root string, rec *DecisionRecord) store.Put {
	return store.Put{Key: decisionsKey(namespace, root), Expect: store.AnyVersion, History: rec.Encode()}
}

// Encode writes a record by hand: it is on the path of every check.
func (r *DecisionRecord) Encode() []byte {
	w := jsonobject.New(512 + len(r.Message) + len(r.Input))
	w.Open()
	if !r.Time.IsZero() {
		w.Time(ownTime, r.Time) // first, see hasOwnTime
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
	w.OptionalText("estimated_cost_usd", r.EstimatedCostUSD)
	w.OptionalText("approval_id", r.ApprovalID)
	if len(r.Shadows) > 0 {
		w.Name("shadows")
		w.OpenList()
		for i := range r.Shadows {
			r.Shadows[i].appendTo(w)
		}
		w.CloseList()
	}
	w.Close()
	return w.Bytes()
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

// hasOwnTime reports whether the text of a record has its time. Of any other it is the
// time of the commit, which the chain of hashes then covers too.
func hasOwnTime(data []byte) bool { return bytes.HasPrefix(data, []byte(`{"`+ownTime+`":`)) }

// decodeDecision reads what Encode wrote. What cannot be read has its place only.
func decodeDecision(partition string, entry store.HistoryEntry) (*DecisionRecord, error) {
	r := &DecisionRecord{Partition: partition, Sequence: entry.Version}
	if err := json.Unmarshal(entry.Data, r); err != nil {
		return &DecisionRecord{Partition: partition, Sequence: entry.Version}, fmt.Errorf("decode decision %d of %s: %w", entry.Version, partition, err)
	}
	if !hasOwnTime(entry.Data) {
		r.Time = entry.At.UTC()
	}
	return r, nil
}

// UnmarshalJSON reads what encode wrote.
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

// told is a decision as others than the caller are told of it: messages quote what was
// called.
func (a *App) told(d *Decision) *Decision {
	if d.Message == "" && len(d.Shadows) == 0 {
		return d
	}
	told := *d
	told.Message = a.Masks.Text(d.Message)
	if len(d.Shadows) > 0 {
		told.Shadows = make([]Shadow, len(d.Shadows))
		for i, sh := range d.Shadows {
			sh.Message = a.Masks.Text(sh.Message)
			told.Shadows[i] = sh
		}
	}
	return &told
}

// decisionRecord is what the log keeps of a decision.
func decisionRecord(q *question, s *snapshotOf, d *Decision, masks Masks) *DecisionRecord {
	rec := &DecisionRecord{
		Principal: q.caller.Principal.Name, SessionID: s.run.SessionID,
		RunID: s.run.ID, RunVersion: s.run.Version, Workflow: s.run.Workflow, WorkflowVersion: s.run.WorkflowVersion,
		State: s.run.State, Branch: s.run.Branch, CallID: d.CallID, Tool: d.Tool, Capability: d.Capability,
		Decision: d.Verdict.Decision, Code: d.Verdict.Code, Message: d.Message, InputDigest: d.InputDigest,
		ApprovalID: d.ApprovalID, Shadows: d.Shadows,
	}
	if d.By != nil {
		rec.Policy, rec.PolicyVersion, rec.Rule = d.By.Policy, d.By.Version, d.By.Pointer()
	}
	if s.unbound {
		rec.RunID, rec.RunVersion, rec.Workflow, rec.State = "", 0, "", ""
	}
	if d.EstimatedCost > 0 {
		rec.EstimatedCostUSD = d.EstimatedCost.String()
	}
	if s.Machine.Meta().CaptureOutput && d.Verdict.Code != toolcall.CodeInvalidInput {
		rec.Input = masks.Input(q.req.Input)
	}
	return rec
}
