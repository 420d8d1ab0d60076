package decisionlog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// Report is the result of the verification of a partition.
type Report struct {
	Partition string
	// Sealed and Unsealed count records; Head is the hash of the last sealed one.
	Sealed, Unsealed int64
	Head             string
	// Problem describes the first problem, or is empty. Sequence is its record.
	Problem  string
	Sequence int64
}

// OK reports whether the partition has no problem.
func (r *Report) OK() bool { return r.Problem == "" }

// verifyPage bounds the partitions of one call, and verifyRecords the records after which it begins no other
// partition.
const (
	verifyPage    = 100
	verifyRecords = 100_000
)

// Verify recomputes the chains of the log: of one partition, or a page of all by their ids and then of the
// registers. Only heads that are kept elsewhere detect a complete rewrite of records, hashes and seals.
func (l *Log) Verify(ctx context.Context, namespace, partition, after string) (reports []*Report, next string, err error) {
	if partition != "" {
		decisions := PartitionKey(namespace, partition)
		report, err := l.verifyPartition(ctx, decisions)
		if err == nil {
			report, err = l.verifyRegistered(ctx, decisions, report)
		}
		if err != nil {
			return nil, "", fault.From(err)
		}
		if report == nil {
			return nil, "", fault.New(fault.NotFound, "no decision of run %q is logged; name the outermost of runs that invoke each other", partition)
		}
		return []*Report{report}, "", nil
	}
	if strings.HasPrefix(after, registersAfter) {
		reports, next, err = l.verifyRegister(ctx, namespace, after)
		if err != nil {
			return nil, "", fault.From(err)
		}
		return reports, next, nil
	}
	ids, next, err := l.partitions(ctx, namespace, after)
	if err != nil {
		return nil, "", fault.From(err)
	}
	var records int64
	for i, id := range ids {
		if records > verifyRecords {
			return reports, ids[i-1], nil
		}
		report, err := l.verifyPartition(ctx, PartitionKey(namespace, id))
		if err != nil {
			return nil, "", fault.From(err)
		}
		if report == nil {
			continue // forgotten in the meantime
		}
		reports = append(reports, report)
		records += report.Sealed + report.Unsealed
	}
	if next == "" {
		next = registersAfter
	}
	return reports, next, nil
}

// partitions returns the next partitions that have records or a seal. The seal remains if all records were
// removed.
func (l *Log) partitions(ctx context.Context, namespace, after string) (ids []string, next string, err error) {
	var pages [2]store.Page
	for i, kind := range []string{ledger.KindDecisions, kindSeal} {
		pages[i], err = l.store.List(ctx, store.Query{Namespace: namespace, Kind: kind, After: after, Limit: verifyPage})
		if err != nil {
			return nil, "", err
		}
	}
	logged, sealed := pages[0].Records, pages[1].Records
	for len(ids) < verifyPage && len(logged)+len(sealed) > 0 {
		switch {
		case len(sealed) == 0 || len(logged) > 0 && logged[0].Key.ID < sealed[0].Key.ID:
			ids, logged = append(ids, logged[0].Key.ID), logged[1:]
		case len(logged) == 0 || sealed[0].Key.ID < logged[0].Key.ID:
			ids, sealed = append(ids, sealed[0].Key.ID), sealed[1:]
		default:
			ids, logged, sealed = append(ids, logged[0].Key.ID), logged[1:], sealed[1:]
		}
	}
	if len(ids) > 0 && (len(logged)+len(sealed) > 0 || pages[0].Next != "" || pages[1].Next != "") {
		next = ids[len(ids)-1]
	}
	return ids, next, nil
}

// verifyPartition verifies one partition, and returns nil if it does not exist. It starts again if records
// were dropped in the meantime.
func (l *Log) verifyPartition(ctx context.Context, decisions store.Key) (*Report, error) {
	for {
		before, err := l.forgottenOf(ctx, decisions)
		if err != nil && fault.ReasonOf(err) != fault.Internal {
			return nil, err
		}
		if err != nil {
			return &Report{Partition: decisions.ID, Problem: "the record of deletions cannot be read"}, nil
		}
		report, err := l.verifyAfter(ctx, decisions, before)
		if err != nil || report == nil || report.OK() {
			return report, err
		}
		if now, err := l.forgottenOf(ctx, decisions); err != nil || now.version == before.version {
			return report, err
		}
	}
}

// verifyAfter verifies the records after the dropped ones.
func (l *Log) verifyAfter(ctx context.Context, decisions store.Key, before *forgotten) (*Report, error) {
	began := l.clock() // before the seals are read: what is old then has one
	chain, err := readLink(before.Hash)
	if err != nil {
		return &Report{Partition: decisions.ID, Problem: "the record of deletions has no hash"}, nil
	}
	through, err := l.sealedThrough(ctx, decisions)
	if err != nil && fault.ReasonOf(err) != fault.Internal {
		return nil, err
	}
	if err != nil {
		return &Report{Partition: decisions.ID, Problem: "the record of its seals cannot be read"}, nil
	}
	logged, err := l.store.Get(ctx, decisions)
	switch {
	case errors.Is(err, store.ErrNotFound) && through.version == store.Absent:
		return nil, nil
	case errors.Is(err, store.ErrNotFound):
		logged.Version = store.Absent
	case err != nil:
		return nil, err
	}
	v := verification{
		log: l, decisions: decisions, before: before, through: through, chain: chain, head: chain, version: before.Seals,
		report: &Report{Partition: decisions.ID, Head: through.Head}, began: began,
	}
	err = v.verifyThrough(ctx, logged.Version)
	var wrong *chainError
	if errors.As(err, &wrong) {
		v.report.Sequence, v.report.Problem = wrong.sequence, wrong.problem
		err = nil
	}
	return v.report, err
}

// chainError is a problem of a chain.
type chainError struct {
	sequence int64
	problem  string
}

func (e *chainError) Error() string { return fmt.Sprintf("record %d: %s", e.sequence, e.problem) }

func wrong(sequence int64, format string, args ...any) error {
	return &chainError{sequence, fmt.Sprintf(format, args...)}
}

// verification walks a partition, its records next to its seals.
type verification struct {
	log       *Log
	decisions store.Key
	before    *forgotten
	through   *sealed
	report    *Report
	began     time.Time

	// chain is the hash of the last verified record, and head that of the last sealed one.
	chain, head link
	// seals has the seals that were read and are still needed. version is the last one that was read.
	seals   []*seal
	version int64
}

// verifyThrough verifies the records up to the last, which is the version of the record of the partition.
func (v *verification) verifyThrough(ctx context.Context, last int64) error {
	at := v.before.Through
	if at > last || at > v.through.Through {
		return wrong(at, "records up to %d were deleted, and the log says that %d were made and %d sealed", at, last, v.through.Through)
	}
	for at < last {
		entries, err := v.log.store.History(ctx, v.decisions, at, int(min(sealPage, last-at)))
		if err != nil {
			return err
		}
		for _, entry := range entries {
			if at++; entry.Version != at {
				return wrong(at, "the record is missing")
			}
			if err := v.record(ctx, entry); err != nil {
				return err
			}
		}
		if len(entries) == 0 {
			return wrong(at+1, "the record is missing, and all that follow up to %d", last)
		}
	}
	if at < v.through.Through {
		return wrong(at+1, "the record is missing: %d are sealed, and %d remain", v.through.Through, at)
	}
	return v.end(ctx, last)
}

// record verifies one record by its seal, if it has one.
func (v *verification) record(ctx context.Context, entry store.HistoryEntry) error {
	if _, err := ledger.DecodeDecision(v.decisions.ID, entry); err != nil {
		return wrong(entry.Version, "the record cannot be read")
	}
	v.chain = v.chain.next(entry)
	if entry.Version > v.through.Through {
		v.report.Unsealed++
		return v.unsealed(entry)
	}
	s, err := v.sealFor(ctx, entry.Version)
	if err != nil {
		return err
	}
	if hash, _ := s.hash(entry.Version); hash != v.chain {
		return wrong(entry.Version, "the record is not the one that was sealed in its place")
	}
	v.report.Sealed++
	v.head = v.chain
	return nil
}

// sealWithin bounds the age of a record without a seal.
const sealWithin = time.Minute

// unsealed returns an error for an old record without a seal. The age is that of the commit, since the author
// wrote the time in the record.
func (v *verification) unsealed(entry store.HistoryEntry) error {
	if v.log.still {
		return nil
	}
	switch age := v.began.Sub(entry.At); {
	case age > sealWithin:
		return wrong(entry.Version, "the record is not sealed, although it was made at %s; running services seal records within seconds",
			entry.At.UTC().Format(time.RFC3339))
	case entry.At.Sub(v.log.clock()) > sealWithin: // it may be younger than the walk
		return wrong(entry.Version, "the record is not sealed, and its time is in the future: %s", entry.At.UTC().Format(time.RFC3339))
	default:
		return nil
	}
}

// sealFor returns the seal of the next record.
func (v *verification) sealFor(ctx context.Context, sequence int64) (*seal, error) {
	if len(v.seals) > 0 && sequence <= v.seals[0].To {
		return v.seals[0], nil
	}
	if len(v.seals) > 0 {
		v.seals = v.seals[1:]
	}
	if len(v.seals) == 0 {
		if err := v.readSeals(ctx, sequence); err != nil {
			return nil, err
		}
	}
	s := v.seals[0]
	switch {
	case s.From != sequence || s.To < s.From:
		return nil, wrong(sequence, "seal %d covers records %d to %d, and does not follow the one before", s.version, s.From, s.To)
	case int64(len(s.Hashes)) != (s.To-s.From+1)*int64(len(v.chain)):
		return nil, wrong(sequence, "seal %d has not one hash for each of its records", s.version)
	}
	return s, nil
}

func (v *verification) readSeals(ctx context.Context, sequence int64) error {
	entries, err := v.log.store.History(ctx, sealKey(v.decisions.Namespace, v.decisions.ID), v.version, 100)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		v.version++
		s, err := decodeSeal(entry)
		if err != nil || entry.Version != v.version {
			return wrong(sequence, "seal %d is missing, or cannot be read", v.version)
		}
		v.seals = append(v.seals, s)
	}
	if len(entries) == 0 {
		return wrong(sequence, "its seal is missing: the record of the seals says that %d records are sealed", v.through.Through)
	}
	return nil
}

// end compares the seals with their record, and looks for history beyond the ends.
func (v *verification) end(ctx context.Context, last int64) error {
	through := v.through.Through
	if through > 0 {
		s := &seal{To: v.before.Through, version: v.before.Seals}
		if len(v.seals) > 0 {
			s = v.seals[0]
		}
		if s.To != through || s.version != v.through.version {
			return wrong(through, "seal %d covers records up to %d, and the record of the seals says seal %d and record %d",
				s.version, s.To, v.through.version, through)
		}
		if v.report.Head != v.head.String() {
			return wrong(through, "the head in the record of the seals is not the hash of the last sealed record")
		}
	}
	if err := v.beyond(ctx, v.decisions, last, "the record lies beyond the last that the log knows of"); err != nil {
		return err
	}
	return v.beyond(ctx, sealKey(v.decisions.Namespace, v.decisions.ID), v.through.version, "it was sealed, and the record of the seals does not say so")
}

// beyond returns an error for history after the last version of a record, unless the record has changed in
// the meantime.
func (v *verification) beyond(ctx context.Context, key store.Key, last int64, problem string) error {
	entries, err := v.log.store.History(ctx, key, last, 1)
	if err != nil || len(entries) == 0 {
		return err
	}
	switch record, err := v.log.store.Get(ctx, key); {
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return err
	case record.Version > last:
		return nil
	case key == v.decisions:
		return wrong(entries[0].Version, "%s", problem)
	default:
		return wrong(v.through.Through+1, "%s", problem)
	}
}
