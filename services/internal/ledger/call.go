package ledger

import (
	"encoding/json"
	"fmt"

	"github.com/interlock-run/interlock/pkg/jsonobject"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// Call is what is kept of a decision, as the answer of its idempotency key: for
// repeats, for the report, and as the proof that the call was allowed.
type Call struct {
	Verdict toolcall.Verdict `json:"verdict"`
	// RunID, Branch, Entry and RunVersion are what was decided on. The run may be
	// one that the key's owner has invoked.
	RunID      string `json:"run_id"`
	Branch     string `json:"branch,omitempty"`
	Entry      int64  `json:"entry"`
	RunVersion int64  `json:"run_version"`
	Message    string `json:"message,omitempty"`
	// Spends are what it has taken of the accounts of policies.
	Spends []Spend `json:"spends,omitempty"`
	// InputDigest tells whether a repeat is of the same call.
	InputDigest string `json:"input_digest,omitempty"`
	// ApprovalID is the approval that has admitted it; empty for none.
	ApprovalID string `json:"approval_id,omitempty"`
}

// NotDecided is what is kept of a call that was given up before it was decided.
func NotDecided() *Call { return &Call{} }

// GivenUp is true for what NotDecided has made.
func (c *Call) GivenUp() bool { return c.Verdict.Decision == "" }

// CallName is the idempotency key of the decision on a call. Its owner is the root
// of the runs that invoke each other, so that a call is found by any of them.
func CallName(callID string) string { return "call/" + callID }

// ReportName is the idempotency key of the report of a call.
func ReportName(callID string) string { return "report/" + callID }

// InterruptName is the idempotency key of the interrupt that a call may fire.
func InterruptName(callID string) string { return "interrupt/" + callID }

// Encode writes a call by hand: it is on the path of every check.
func (c *Call) Encode() []byte {
	v := &c.Verdict
	w := jsonobject.New(224 + len(c.Message) + 192*len(c.Spends))
	w.Open()
	w.Name("verdict")
	w.Open()
	w.Text("decision", string(v.Decision))
	w.OptionalText("code", string(v.Code))
	w.OptionalText("tool", v.Tool)
	w.OptionalText("detail", v.Detail)
	w.OptionalTruth("counted", v.Counted)
	w.OptionalInteger("max_iterations", v.MaxIterations)
	w.OptionalInteger("iterations", v.Iterations)
	w.OptionalInteger("edit_lines", v.EditLines)
	w.OptionalInteger("max_files", v.MaxFiles)
	w.OptionalInteger("files", v.Files)
	w.OptionalInteger("context_budget", v.ContextBudget)
	w.OptionalInteger("context_spent", v.ContextSpent)
	if len(v.Paths) > 0 {
		paths, err := json.Marshal(v.Paths)
		if err != nil {
			panic(err) // strings always encode
		}
		w.Raw("paths", paths)
	}
	w.Close()
	w.Text("run_id", c.RunID)
	w.OptionalText("branch", c.Branch)
	w.Integer("entry", c.Entry)
	w.Integer("run_version", c.RunVersion)
	w.OptionalText("message", c.Message)
	encodeSpends(w, c.Spends)
	w.OptionalText("input_digest", c.InputDigest)
	w.OptionalText("approval_id", c.ApprovalID)
	w.Close()
	return w.Bytes()
}

// DecodeCall reads what Encode wrote.
func DecodeCall(data []byte) (*Call, error) {
	c := &Call{}
	if err := json.Unmarshal(data, c); err != nil {
		return nil, fmt.Errorf("decode call: %w", err)
	}
	return c, nil
}
