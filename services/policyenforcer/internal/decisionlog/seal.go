package decisionlog

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// kindSeal is the kind of the record of the last seal of a partition, with all seals as history.
const kindSeal = "decision_seal"

func sealKey(namespace, root string) store.Key {
	return store.Key{Namespace: namespace, Kind: kindSeal, ID: root}
}

// sealed is the sealed part of a partition.
type sealed struct {
	// Through is the last sealed record, and Head its hash.
	Through int64  `json:"through"`
	Head    string `json:"head"`

	version int64
}

// seal has the hashes of consecutive records.
type seal struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
	// Hashes has one hash per record, in order.
	Hashes []byte `json:"hashes"`

	version int64
}

// hash returns the hash of a record in the seal.
func (s *seal) hash(sequence int64) (link, bool) {
	var l link
	at := (sequence - s.From) * int64(len(l))
	if sequence < s.From || sequence > s.To || at+int64(len(l)) > int64(len(s.Hashes)) {
		return l, false
	}
	copy(l[:], s.Hashes[at:])
	return l, true
}

// Sealed describes records that were added to their chain.
type Sealed struct {
	Partition string
	// Version counts the seals of the partition.
	Version     int64
	First, Last int64
	// Head is the hex SHA-256 of the chain up to Last.
	Head string
}

// sealPage bounds the records of a seal, and sealPages the seals of one sweep.
const (
	sealPage  = 1000
	sealPages = 16
)

// sealAll seals the records of a partition and clears its timers. It may run in several processes at once.
func (l *Log) sealAll(ctx context.Context, decisions store.Key) error {
	for range sealPages {
		done, err := retry.Do(ctx, "the log of decisions", func() (bool, error) { return l.sealNext(ctx, decisions) })
		if done || err != nil {
			return err
		}
	}
	return nil // the timer stays, and the next sweep continues
}

// sealNext creates one seal. done is true if all records are sealed.
func (l *Log) sealNext(ctx context.Context, decisions store.Key) (done bool, err error) {
	before, err := l.sealedThrough(ctx, decisions)
	if err != nil {
		return false, err
	}
	entries, err := l.store.History(ctx, decisions, before.Through, sealPage)
	if err != nil {
		return false, err
	}
	last := len(entries) < sealPage
	if len(entries) == 0 {
		_, err := l.store.Commit(ctx, clearSeal(decisions, before.Through))
		return err == nil, err
	}
	next, chain, err := sealOf(decisions, before, entries)
	if err != nil {
		return false, err
	}
	batch, err := l.sealBatch(decisions, before, next, chain)
	if err != nil {
		return false, err
	}
	if l.retention > 0 {
		timer, err := l.forgetTimer(ctx, decisions)
		if err != nil {
			return false, err
		}
		batch.SetTimers = []store.Timer{timer}
	}
	if !last {
		_, err := l.store.Commit(ctx, batch)
		return false, err
	}
	cleared := clearSeal(decisions, next.To)
	batch.Checks, batch.ClearTimers = cleared.Checks, cleared.ClearTimers
	_, err = l.store.Commit(ctx, batch)
	var conflict *store.ConflictError
	if errors.As(err, &conflict) && conflict.Key == decisions {
		// More has come since: its own timer, or this one, fires for that.
		batch.Checks, batch.ClearTimers = nil, nil
		_, err = l.store.Commit(ctx, batch)
	}
	return err == nil, err
}

// clearSeal clears the timers of a partition, if it has no record after the given one.
func clearSeal(decisions store.Key, through int64) store.Batch {
	batch := store.Batch{Checks: []store.Check{{Key: decisions, Version: through}}}
	for _, name := range sealTimers {
		batch.ClearTimers = append(batch.ClearTimers, store.TimerID{Key: decisions, Name: name})
	}
	return batch
}

// sealOf creates the seal of the records after the sealed part. It refuses gaps, so that missing records are
// detected.
func sealOf(decisions store.Key, before *sealed, entries []store.HistoryEntry) (*seal, link, error) {
	chain, err := before.chain(decisions)
	if err != nil {
		return nil, chain, err
	}
	next := &seal{From: before.Through + 1, To: before.Through + int64(len(entries))}
	for i, entry := range entries {
		if want := next.From + int64(i); entry.Version != want {
			return nil, chain, fault.From(fmt.Errorf("record %d of the log of decisions %s is missing", want, decisions))
		}
		chain = chain.next(entry)
		next.Hashes = append(next.Hashes, chain[:]...)
	}
	return next, chain, nil
}

// chain returns the hash that the next record is chained to.
func (s *sealed) chain(decisions store.Key) (link, error) {
	if s.Through == 0 {
		return anchor(decisions.Namespace, decisions.ID), nil
	}
	return readLink(s.Head)
}

// sealBatch returns the batch of a seal with its event.
func (l *Log) sealBatch(decisions store.Key, before *sealed, next *seal, chain link) (store.Batch, error) {
	data, err := json.Marshal(sealed{Through: next.To, Head: chain.String()})
	if err != nil {
		return store.Batch{}, fault.From(fmt.Errorf("encode seal: %w", err))
	}
	history, err := json.Marshal(next)
	if err != nil {
		return store.Batch{}, fault.From(fmt.Errorf("encode seal: %w", err))
	}
	event, err := l.announce.Sealed(decisions.Namespace, Sealed{
		Partition: decisions.ID, Version: before.version + 1, First: next.From, Last: next.To, Head: chain.String(),
	}, l.clock().UTC())
	if err != nil {
		return store.Batch{}, fault.From(err)
	}
	puts := []store.Put{{Key: sealKey(decisions.Namespace, decisions.ID), Expect: before.version, Data: data, History: history}}
	if before.version == store.Absent {
		puts = append(puts, l.registration(decisions))
	}
	return store.Batch{Puts: puts, Events: []store.Event{event}}, nil
}

// sealedThrough reads the sealed part of a partition.
func (l *Log) sealedThrough(ctx context.Context, decisions store.Key) (*sealed, error) {
	record, err := l.store.Get(ctx, sealKey(decisions.Namespace, decisions.ID))
	if errors.Is(err, store.ErrNotFound) {
		return &sealed{version: store.Absent}, nil
	}
	if err != nil {
		return nil, err
	}
	s := &sealed{}
	if err := json.Unmarshal(record.Data, s); err != nil {
		return nil, fmt.Errorf("decode seal of %s: %w", decisions, err)
	}
	s.version = record.Version
	return s, nil
}

func decodeSeal(entry store.HistoryEntry) (*seal, error) {
	s := &seal{version: entry.Version}
	if err := json.Unmarshal(entry.Data, s); err != nil {
		return nil, fmt.Errorf("decode seal %d: %w", entry.Version, err)
	}
	return s, nil
}

// sealTimers has the names of the timers of a partition: see SealTimer.
var sealTimers = [...]string{"seal0", "seal1"}

// sealEvery is the time that decisions wait for a common seal.
const sealEvery = 2 * time.Second

// SealTimer returns the timer that seals a decision soon after a time, for the commit of the decision. There
// are two, for even and odd intervals: a busy partition sets one while the other fires.
func SealTimer(namespace, root string, at time.Time) store.Timer {
	stretch := at.UnixNano() / int64(sealEvery)
	return store.Timer{
		TimerID: store.TimerID{Key: PartitionKey(namespace, root), Name: sealTimers[stretch&1]},
		Due:     time.Unix(0, (stretch+1)*int64(sealEvery)).UTC(),
	}
}

// A partition of the log is a chain of hashes. Each covers the previous hash, the place and time of a record,
// and its stored form. To change, drop or move a record changes all later hashes.

// link is one hash of a chain.
type link [sha256.Size]byte

// anchor returns the first link of the chain of a partition, which is unique.
func anchor(namespace, partition string) link {
	return sha256.Sum256(fmt.Appendf(nil, "interlock decisions\x00%d\x00%s\x00%s", len(namespace), namespace, partition))
}

// next returns the hash over this one and the next record: its place, its text, and its time in microseconds
// unless the text has it.
func (l link) next(entry store.HistoryEntry) link {
	h := sha256.New()
	h.Write(l[:])
	var number [8]byte
	binary.BigEndian.PutUint64(number[:], uint64(entry.Version))
	h.Write(number[:])
	if !ledger.HasOwnTime(entry.Data) {
		binary.BigEndian.PutUint64(number[:], uint64(entry.At.UnixMicro()))
		h.Write(number[:])
	}
	h.Write(entry.Data)
	var sum link
	h.Sum(sum[:0])
	return sum
}

func (l link) String() string { return hex.EncodeToString(l[:]) }

// readLink parses the form of String.
func readLink(text string) (link, error) {
	var l link
	sum, err := hex.DecodeString(text)
	if err != nil || len(sum) != len(l) {
		return l, fmt.Errorf("%q is not a hash", text)
	}
	copy(l[:], sum)
	return l, nil
}
