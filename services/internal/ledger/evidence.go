package ledger

import (
	"encoding/json"
	"fmt"

	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/store"
)

// KindEvidence is what has been observed of a run and of all that it has invoked: see
// evidence.Record. The enforcer writes it, with the decisions and reports that change it,
// and the engine when a run continues after a pause.
const KindEvidence = "evidence"

// EvidenceOf is the key of the evidence of a family of runs, by the outermost of them.
func EvidenceOf(root store.Key) store.Key {
	root.Kind = KindEvidence
	return root
}

// EncodeEvidence writes a record.
func EncodeEvidence(r *evidence.Record) ([]byte, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode evidence: %w", err)
	}
	return data, nil
}

// DecodeEvidence reads what EncodeEvidence wrote; nothing is an empty record.
func DecodeEvidence(data []byte) (evidence.Record, error) {
	var r evidence.Record
	if len(data) == 0 {
		return r, nil
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("decode evidence: %w", err)
	}
	return r, nil
}
