package ledger

import (
	"encoding/json"
	"fmt"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/store"
)

// KindLease is of leases (S9.6). The approval service grants and revokes them. The enforcer
// counts the calls that they admit, and ends those that are used up.
const KindLease = "lease"

// LeaseCalls counts the calls that a lease has admitted.
const LeaseCalls = "lease_calls"

// LeaseOf returns the key of a lease.
func LeaseOf(namespace, id string) store.Key {
	return store.Key{Namespace: namespace, Kind: KindLease, ID: id}
}

// LeaseLabels returns by which leases are found: those that were not ended, and those of a
// run. An empty run is any.
func LeaseLabels(runID string, status consent.LeaseStatus) map[string]string {
	labels := map[string]string{"status": string(status)}
	if runID != "" {
		labels["run_id"] = runID
	}
	return labels
}

// PutLease writes a lease, whose version is the next one of its record.
func PutLease(namespace string, l *consent.Lease) (store.Put, error) {
	data, err := json.Marshal(l)
	if err != nil {
		return store.Put{}, fmt.Errorf("encode lease: %w", err)
	}
	return store.Put{Key: LeaseOf(namespace, l.ID), Expect: l.Version - 1, Data: data, Labels: LeaseLabels(l.RunID, l.Status)}, nil
}

// DecodeLease reads the output of PutLease.
func DecodeLease(record store.Record) (*consent.Lease, error) {
	l := &consent.Lease{}
	if err := json.Unmarshal(record.Data, l); err != nil {
		return nil, fmt.Errorf("decode %s: %w", record.Key, err)
	}
	l.Version = record.Version
	return l, nil
}
