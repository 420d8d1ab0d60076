package ledger

import (
	"encoding/json"
	"fmt"
	"time"
)

// MostOutput is how much of a tool's output is kept (S6.4).
const MostOutput = 64 << 10

// Result is the answer of a tool, kept where meta.capture_output says so.
type Result struct {
	// Number counts the results of a run, from 1: the version of its record.
	Number     int64     `json:"-"`
	RunVersion int64     `json:"run_version"`
	Branch     string    `json:"branch,omitempty"`
	State      string    `json:"state"`
	Time       time.Time `json:"time"`
	Actor      string    `json:"actor"`
	CallID     string    `json:"call_id"`
	Tool       string    `json:"tool"`
	OK         bool      `json:"ok"`
	Output     []byte    `json:"output,omitempty"`
	Truncated  bool      `json:"truncated,omitempty"`
	// Evidence are the names of that which the result has given (S14.4).
	Evidence []string `json:"evidence,omitempty"`
	// Tree is the digest of the files that the command ran on, and Witness that of its jail's
	// observations; empty for none.
	Tree    string `json:"tree,omitempty"`
	Witness string `json:"witness,omitempty"`
}

// Encode writes a result.
func (r *Result) Encode() ([]byte, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode tool result: %w", err)
	}
	return data, nil
}

// DecodeResult reads the output of Encode.
func DecodeResult(data []byte, number int64) (*Result, error) {
	r := &Result{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("decode tool result: %w", err)
	}
	r.Number = number
	return r, nil
}
