package app

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

// kindSeal is the record of how far a partition of the log is sealed. Its history
// are the seals.
const kindSeal = "decision_seal"

func sealKey(namespace, root string) store.Key {
	return store.Key{Namespace: namespace, Kind: kindSeal, ID: root}
}

// sealed is how far a partition is sealed.
type sealed struct {
	// Through is the last record that is, and Head its hash.
	Through int64  `json:"through"`
	Head    string `json:"head"`

	version int64
}

// seal are the hashes of some records: what they were when they were sealed.
type seal struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
	// Hashes of all of them, one after the other.
	Hashes []byte `json:"hashes"`

	version int64
}

// hash is that of a record which the seal covers.
func (s *seal) hash(sequence int64) (link, bool) {
	var l link
	at := (sequence - s.From) * int64(len(l))
	if sequence < s.From || sequence > s.To || at+int64(len(l)) > int64(len(s.Hashes)) {
		return l, false
	}
	copy(l[:], s.Hashes[at:])
	return l, true
}

// Sealed are records that have become part of their chain.
type Sealed struct {
	Partition string
	// Version counts the seals of the partition.
	Version     int64
	First, Last int64
	// Head is the hex SHA-256 of the chain up to Last.
	Head string
}

// sealPage is how many records one seal covers at most, and sealPages how many seals
// are made at once.
const (
	sealPage  = 1000
	sealPages = 16
)

// sealAll seals what a partition has, and clears its timers when that is all. Any
// number of processes may do so at once.
func (a *App) sealAll(ctx context.Context, decisions store.Key) error {
	for range sealPages {
		done, err := retry.Do(ctx, "the log of decisions", func() (bool, error) { return a.sealNext(ctx, decisions) })
		if done || err != nil {
			return err
		}
	}
	return nil // the timer stays, and the next sweep continues
}

// sealNext makes one seal; done when nothing is left.
func (a *App) sealNext(ctx context.Context, decisions store.Key) (done bool, err error) {
	before, err := a.sealedThrough(ctx, decisions)
	if err != nil {
		return false, err
	}
	entries, err := a.store.History(ctx, decisions, before.Through, sealPage)
	if err != nil {
		return false, err
	}
	last := len(entries) < sealPage
	if len(entries) == 0 {
		_, err := a.store.Commit(ctx, clearSeal(decisions, before.Through))
		return err == nil, err
	}
	next, chain, err := sealOf(decisions, before, entries)
	if err != nil {
		return false, err
	}
	batch, err := a.sealBatch(decisions, before, next, chain)
	if err != nil {
		return false, err
	}
	if a.caches.retention > 0 {
		timer, err := a.forgetTimer(ctx, decisions)
		if err != nil {
			return false, err
		}
		batch.SetTimers = []store.Timer{timer}
	}
	if !last {
		_, err := a.store.Commit(ctx, batch)
		return false, err
	}
	cleared := clearSeal(decisions, next.To)
	batch.Checks, batch.ClearTimers = cleared.Checks, cleared.ClearTimers
	_, err = a.store.Commit(ctx, batch)
	var conflict *store.ConflictError
	if errors.As(err, &conflict) && conflict.Key == decisions {
		// More has come since: its own timer, or this one, fires for that.
		batch.Checks, batch.ClearTimers = nil, nil
		_, err = a.store.Commit(ctx, batch)
	}
	return err == nil, err
}

// clearSeal clears the timers of a partition, if nothing has come after a record.
func clearSeal(decisions store.Key, through int64) store.Batch {
	batch := store.Batch{Checks: []store.Check{{Key: decisions, Version: through}}}
	for _, name := range sealTimers {
		batch.ClearTimers = append(batch.ClearTimers, store.TimerID{Key: decisions, Name: name})
	}
	return batch
}

// sealOf makes the seal of the records that follow what is sealed. It seals no gap:
// a record that is missing must be seen to be.
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

// chain is the hash that the next record is chained to.
func (s *sealed) chain(decisions store.Key) (link, error) {
	if s.Through == 0 {
		return anchor(decisions.Namespace, decisions.ID), nil
	}
	return readLink(s.Head)
}

// sealBatch makes a seal durable, with its event.
func (a *App) sealBatch(decisions store.Key, before *sealed, next *seal, chain link) (store.Batch, error) {
	data, err := json.Marshal(sealed{Through: next.To, Head: chain.String()})
	if err != nil {
		return store.Batch{}, fault.From(fmt.Errorf("encode seal: %w", err))
	}
	history, err := json.Marshal(next)
	if err != nil {
		return store.Batch{}, fault.From(fmt.Errorf("encode seal: %w", err))
	}
	event, err := a.announce.Sealed(decisions.Namespace, Sealed{
		Partition: decisions.ID, Version: before.version + 1, First: next.From, Last: next.To, Head: chain.String(),
	}, a.clock().UTC())
	if err != nil {
		return store.Batch{}, fault.From(err)
	}
	puts := []store.Put{{Key: sealKey(decisions.Namespace, decisions.ID), Expect: before.version, Data: data, History: history}}
	if before.version == store.Absent {
		puts = append(puts, a.registration(decisions))
	}
	return store.Batch{Puts: puts, Events: []store.Event{event}}, nil
}

// sealedThrough is how far a partition is sealed: nothing when it has no seal.
func (a *App) sealedThrough(ctx context.Context, decisions store.Key) (*sealed, error) {
	record, err := a.store.Get(ctx, sealKey(decisions.Namespace, decisions.ID))
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

// sealTimers are the names of the timers of a partition: see sealTimer.
var sealTimers = [...]string{"seal0", "seal1"}

// sealEvery is how long decisions wait for their seal: those of as much time are
// sealed together.
const sealEvery = 2 * time.Second

// sealTimer has a decision that is made at a time sealed soon after. It is part of
// the decision's commit. There are two, for even and odd stretches of time: a
// partition that is never idle sets the one while the other one fires.
func sealTimer(namespace, root string, at time.Time) store.Timer {
	stretch := at.UnixNano() / int64(sealEvery)
	return store.Timer{
		TimerID: store.TimerID{Key: decisionsKey(namespace, root), Name: sealTimers[stretch&1]},
		Due:     time.Unix(0, (stretch+1)*int64(sealEvery)).UTC(),
	}
}

// A partition of the log is a chain of hashes: each is over the one before, the
// record's place and time, and the record as it is stored. So no record can be changed, left
// out or moved without all hashes from there on being others.

// link is one hash of a chain.
type link [sha256.Size]byte

// anchor begins the chain of a partition; no two partitions begin alike.
func anchor(namespace, partition string) link {
	return sha256.Sum256(fmt.Appendf(nil, "interlock decisions\x00%d\x00%s\x00%s", len(namespace), namespace, partition))
}

// next is the hash over this one and the record that follows: its place, its time in
// microseconds unless the text has it, and the text.
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

// readLink reads what String wrote.
func readLink(text string) (link, error) {
	var l link
	sum, err := hex.DecodeString(text)
	if err != nil || len(sum) != len(l) {
		return l, fmt.Errorf("%q is not a hash", text)
	}
	copy(l[:], sum)
	return l, nil
}
