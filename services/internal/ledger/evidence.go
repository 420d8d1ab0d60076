package ledger

import (
	"encoding/json"
	"fmt"

	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/store"
)

// KindEvidence has the observations of a run and of its invoked runs: see
// evidence.Record. The enforcer writes it, with the decisions and reports that change it,
// and the engine when a run continues after a pause.
const KindEvidence = "evidence"

// EvidenceOf returns the key of the evidence of a family of runs, by the outermost of
// them.
func EvidenceOf(root store.Key) store.Key {
	root.Kind = KindEvidence
	return root
}

// effectTimerName is the timer of the call that becomes unknown next.
const effectTimerName = "effects"

// EffectTimer returns the timer of the call of a record that becomes unknown next
// (S16.2).
func EffectTimer(root store.Key, record *evidence.Record) store.Timer {
	return store.Timer{TimerID: store.TimerID{Key: EvidenceOf(root), Name: effectTimerName}, Due: record.NextDue()}
}

// EncodeEvidence writes a record.
func EncodeEvidence(r *evidence.Record) ([]byte, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode evidence: %w", err)
	}
	return data, nil
}

// DecodeEvidence reads the output of EncodeEvidence; empty data is an empty record.
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
