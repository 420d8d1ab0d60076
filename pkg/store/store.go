// Package store is the contract of Interlock's durable storage: versioned
// records with labels and history, counters with limits, an outbox of events,
// timers, leases with fencing tokens and idempotency keys, all changed by one
// atomic Commit.
//
// The contract is small on purpose. Two backends keep it, redisstore and sqlitestore, and
// both pass storetest.Run. This package does no I/O, and no caller may depend on the
// backend behind it.
package store

import (
	"context"
	"time"
)

// Versions that a precondition may name besides a record's own.
const (
	// Absent requires that the record does not exist.
	Absent int64 = 0
	// AnyVersion admits every version.
	AnyVersion int64 = -1
)

// NoLimit is the Limit of a counter that may grow without bound.
const NoLimit int64 = -1

// Unheld is the Token of a Fence that requires that the lease is not held. No lease is
// ever given with it. A service that takes a token from a client must refuse this one: it
// is not a proof of a lease.
const Unheld int64 = 0

// Store keeps the promises below. All methods are safe for concurrent use by
// any number of goroutines and, on a shared backend, of processes.
//
// Durability: when Commit returns nil, the batch survives a crash or power loss of any
// process at once. Consistency: Get, Counters, Answer and GetLease see every change that
// was acknowledged before they were called, by any replica; List, History and Tail do
// too.
//
// Errors are those of this package, tested with errors.Is and errors.As: ErrNotFound,
// *ConflictError, *LimitError, *ReplayMismatchError, *FencedError, *HeldError and
// ErrCrossShard. After ErrUnavailable the batch was not applied; ErrTurned and
// *RolledBackError are ErrUnavailable too. After ErrUncertain it may have been applied:
// read before trying again, or repeat with the same idempotency key. A cancelled or
// expired context is ErrUncertain for writes that were under way, and the context's error
// otherwise.
type Store interface {
	// Shards is the number of shards, fixed when the store was first opened.
	Shards() int

	// Get returns one record, or ErrNotFound.
	Get(ctx context.Context, key Key) (Record, error)

	// List returns the records of one kind by id, ascending or Descending, a page at a
	// time. A record that exists while all pages are read and keeps its labels is in one
	// page exactly. One that is put or deleted while a caller pages may be in a page or
	// not; one whose id is behind the caller's place is in none. A caller that pages
	// newest first, by time-ordered ids, so never sees later records.
	List(ctx context.Context, query Query) (Page, error)

	// History returns the history entries of a record whose version is greater
	// than after, by ascending version, at most limit. It outlives the record, until
	// Batch.Forget drops it.
	History(ctx context.Context, key Key, after int64, limit int) ([]HistoryEntry, error)

	// Counters returns the plain (not windowed) counters that owner has.
	Counters(ctx context.Context, owner Key) (map[string]int64, error)

	// Answer returns the bytes stored with an idempotency key, or ErrNotFound.
	Answer(ctx context.Context, owner Key, name string) ([]byte, error)
	// AnswerVersion returns the version of the history entry that an idempotency key names
	// (Idempotency.Entry), also when that was forgotten, and 0 for a key that names none;
	// ErrNotFound as Answer.
	AnswerVersion(ctx context.Context, owner Key, name string) (int64, error)

	// Commit applies a batch: all of it or none, isolated from every other commit. It
	// evaluates, in this order: the idempotency key, the fence, the preconditions of Checks,
	// Puts, Deletes and Unchanged, the counters' limits; the first that fails is the error and the store
	// is not changed. All is judged by the state before the batch, except that counters see
	// Reset and the counters before them. A batch names each record to put, append to or
	// delete, each timer and each owner to reset once; Forget may name a record that is put
	// or deleted too.
	Commit(ctx context.Context, batch Batch) (Result, error)
	// Probe judges a batch as Commit would at this moment, and applies nothing. It returns the error of
	// Commit, and nil for a batch that Commit would apply or has applied.
	Probe(ctx context.Context, batch Batch) error

	// GetLease returns the lease that is held now, with its token, or ErrNotFound when it
	// is not held.
	GetLease(ctx context.Context, key Key) (Lease, error)
	// AcquireLease takes a lease, free or lapsed, for holder; the holder itself
	// gets a new token. *HeldError when another holds it. Tokens of one lease
	// only grow, forever, also when the store's history has gone back.
	AcquireLease(ctx context.Context, key Key, holder string, ttl time.Duration) (Lease, error)
	// RenewLease extends a lease that is still held with this token, else
	// ErrFenced. The token stays.
	RenewLease(ctx context.Context, lease Lease, ttl time.Duration) (Lease, error)
	// ReleaseLease frees a lease that is still held with this token; otherwise it has no
	// effect.
	ReleaseLease(ctx context.Context, lease Lease) error

	// Tail returns outbox entries whose Seq is greater than after[shard], for the shards
	// that after names, at most limit in all (and at least one when there is any), per
	// shard by ascending Seq without gaps in the commits. When there are none it waits up
	// to wait for some and then returns an empty slice and nil.
	Tail(ctx context.Context, after map[int]int64, limit int, wait time.Duration) ([]OutboxEntry, error)
	// Trim forgets a shard's outbox entries with Seq <= through. Sequence
	// numbers are never used again.
	Trim(ctx context.Context, shard int, through int64) error

	// Due returns timers of records of these kinds that are due at now, oldest first: of
	// each shard and kind the oldest, at most limit, so that none fills the page of
	// another. A timer stays until a Commit clears, sets or postpones it, so firing is at
	// least once. When some shards cannot be read it returns those of the others, with
	// the error.
	Due(ctx context.Context, now time.Time, limit int, kinds ...string) ([]Timer, error)

	// Timers returns the timers of these names that are set, due or not, in the order of the names.
	Timers(ctx context.Context, names ...TimerID) ([]Timer, error)

	// Backlog counts the waiting entries and timers, by the ends and the sizes of indexes
	// alone: it reads no record, no entry and no timer.
	Backlog(ctx context.Context, kinds ...string) (Backlog, error)

	// Gate is where work enters that must not continue when the history of the store
	// may have gone back. Every method fails with *RolledBackError when it has, until
	// an operator accepts that. Nil is the gate of a store that never goes back.
	Gate() *Gate

	// Ping returns nil when the store can be reached.
	Ping(ctx context.Context) error

	// Close releases the store. Commits under way finish first.
	Close() error
}

// Sized is a store that knows how much room it takes. Both stores do; wrappers need not.
type Sized interface {
	// Bytes is the size of the store's files, or of the server's memory that its data is in.
	Bytes(ctx context.Context) (int64, error)
}

// Roomy is a store that knows how much more fits into it.
type Roomy interface {
	// Room returns the bytes that are left. They are not known where the store has no bound.
	Room(ctx context.Context) (room int64, known bool, err error)
}

// Witnessed is a store of which something outside of it keeps a mark, so that processes that start
// together with it notice that it is empty, or an older copy.
type Witnessed interface {
	// Mark returns the state of the store as this process has seen it; it is empty while
	// the store is refused.
	Mark() (string, error)
	// Compare refuses the store, as one that has gone back in time, when it lacks commits
	// that a mark contains.
	Compare(ctx context.Context, mark string) error
	// Vouched returns whether the store has ever been compared with the place of its mark. A
	// new store has not, nor has one that was emptied.
	Vouched(ctx context.Context) (bool, error)
	// Vouch records that the store was compared, and its mark kept.
	Vouch(ctx context.Context) error
}

// Key names a record. Records of one namespace and id, of any kind, are in one shard: see
// Batch. Ids are ordered by their bytes, and have at most MaxIDBytes of them.
type Key struct {
	Namespace string
	// Kind is a lower-case noun: "run", "workflow", "session".
	Kind string
	ID   string
}

// Record is one versioned value.
type Record struct {
	Key Key
	// Version is 1 for the first put and grows by one with each, or by
	// 1+len(Earlier). It outlives a delete: a record that is created again continues
	// with the next version, so that no version means two things.
	Version int64
	Data    []byte
	// Labels can be listed by.
	Labels map[string]string
	// UpdatedAt is the time of the last put. For a record that was never put it is the
	// time of the last append, or zero when Forget has dropped that entry.
	UpdatedAt time.Time
}

// Query selects records of one namespace and kind.
type Query struct {
	Namespace string
	Kind      string
	// Labels that a record must have, all of them, with these values.
	Labels map[string]string
	// Descending lists by descending id: newest first when ids are ordered by time.
	Descending bool
	// After is the id to begin after, in the order of the list; empty for the first
	// page.
	After string
	// Limit is the page size, 1 to 1000.
	Limit int
}

// Page is one page of a list. Next is the After of the next page, and empty when
// there is none.
type Page struct {
	Records []Record
	Next    string
}

// HistoryEntry is the entry that a put or an append has recorded for one version of its
// record, at the time of its commit.
type HistoryEntry struct {
	Version int64
	At      time.Time
	Data    []byte
}

// Batch is the set of changes of one Commit. All keys must be in one shard, else
// ErrCrossShard; those of Checks and Counters may be in any. An
// empty slice or nil pointer makes no change.
type Batch struct {
	// Across says that Puts, Events, SetTimers and ClearTimers may be in any shard too:
	// for a change of several records that share none. The events of such a
	// batch name no Entry.
	Across      bool
	Idempotency *Idempotency
	Fence       *Fence
	Checks      []Check
	Puts        []Put
	// Appends are applied after Puts.
	Appends []Append
	Deletes []Check
	// Unchanged requires that timers are as Due answered them.
	Unchanged []Timer
	// Forget is applied after Puts and Deletes, to the result.
	Forget []Forget
	// Counters are applied in order, after Reset.
	Counters []Counter
	// Reset drops every counter of these owners first.
	Reset       []Key
	Events      []Event
	SetTimers   []Timer
	ClearTimers []TimerID
	Postpone    []Postpone
}

// Check requires that a record is at a version (or Absent, or AnyVersion).
type Check struct {
	Key     Key
	Version int64
}

// Put writes a record and bumps its version, by one and by one more for each of
// Earlier. Its labels replace the old ones.
type Put struct {
	Key Key
	// Expect is the version that is replaced: Absent to create, AnyVersion to
	// write in any case.
	Expect int64
	Data   []byte
	Labels map[string]string
	// History, when not nil, is kept next to the new version until Batch.Forget
	// drops it.
	History []byte
	// Earlier are the history entries of versions between the one that is replaced
	// and the new one, so that many small changes share a commit and each has its
	// version: Earlier[i] is kept next to the version before, which may be that of
	// a deleted record, plus 1+i. At most MaxEarlier, and only with History.
	Earlier [][]byte
}

// Append adds an entry to the history of a record, which is a log: its version grows by
// one, and its data and labels stay. A record that is not there is created, without data
// and labels.
type Append struct {
	Key   Key
	Entry []byte
}

// Forget drops the history entries of a record, whether it exists or not, up to and
// including the version Through. This includes entries that the batch itself puts. The
// record and the count of its versions stay.
type Forget struct {
	Key     Key
	Through int64
}

// Counter adds Delta to a counter of an owner. Names are unique per owner and a
// name is always either plain or windowed.
//
// Plain (Window 0): refused when the sum would exceed Limit; never falls below 0.
// Windowed: Delta units are admitted now; refused when the units admitted in any
// half-open window of this length, (t-Window, t], would exceed Limit. A negative Delta
// gives back units that were Admitted then, and is never refused. The oldest units in the
// window that ends now go: the rest leaves it no sooner than it should, so no window ever
// has more than Limit units that were not given back. When the units that were Admitted
// then have left the window, none go, since they are free already.
type Counter struct {
	Owner  Key
	Name   string
	Delta  int64
	Limit  int64
	Window time.Duration
	// Admitted is when the units that a windowed counter gives back were: the
	// Result.Admitted of their commit, or the UpdatedAt of a record that it put.
	Admitted time.Time
}

// Event is one outbox entry to be.
type Event struct {
	// Key is the entity; events of one entity are relayed in commit order.
	Key Key
	// ID is globally unique and deterministic.
	ID      string
	Subject string
	Payload []byte
	// Entry, when it is a key, is that of an Append of the batch, whose entry is the
	// payload: it is stored once, and Payload is empty.
	Entry Key
	// Trace is the W3C traceparent of the trace in which the event was decided; empty for
	// none.
	Trace string
}

// OutboxEntry is an event that was committed and waits to be relayed.
type OutboxEntry struct {
	Shard int
	// Seq grows within a shard in commit order.
	Seq int64
	// Era changes whenever the store's history may have gone back: the same ID in
	// another era may be another event.
	Era     string
	ID      string
	Subject string
	Payload []byte
	// Trace is that of the event.
	Trace string
	// Entry, Version and At are the history entry that Payload is, of an event that names
	// one; Payload is empty when it was forgotten.
	Entry   Key
	Version int64
	At      time.Time
}

// TimerID names a timer of a record.
type TimerID struct {
	Key  Key
	Name string
}

// Timer is durable: it is due from Due on, until it is cleared or set again.
type Timer struct {
	TimerID
	Due  time.Time
	Data []byte
}

// Backlog counts the waiting entries and timers of a store.
type Backlog struct {
	// Last is the Seq of the newest outbox entry, by shard. It may be 0 for a shard whose
	// entries were all trimmed.
	Last []int64
	// Timers counts the timers of records of each kind that was asked for, due or not.
	Timers map[string]int64
}

// Postpone makes a timer due at Until instead, if it is as Due answered it. One that
// was cleared or set again since is left alone.
type Postpone struct {
	Timer Timer
	Until time.Time
}

// Idempotency makes a commit happen once. The first commit with this owner and name
// stores Answer for TTL; a later one with the same Digest makes no change and gets that
// answer with Result.Replayed; with another Digest it fails with
// *ReplayMismatchError.
type Idempotency struct {
	Owner  Key
	Name   string
	Digest string
	Answer []byte
	// Entry, when it is a key, is that of an Append of the batch, whose entry is the
	// answer: it is stored once, and Answer is empty. The answer is empty too once that
	// entry is forgotten.
	Entry Key
	TTL   time.Duration
}

// Fence requires that a lease is held, now, with this token, or with Unheld that
// it is free, released or lapsed; else *FencedError.
type Fence struct {
	Key   Key
	Token int64
}

// Lease is an exclusive claim that lapses unless it is renewed. Time is the
// backend's; the lease is held while that is before Expires.
type Lease struct {
	Key     Key
	Holder  string
	Token   int64
	Expires time.Time
}

// Result of a commit.
type Result struct {
	// Versions after the commit, by the order of Batch.Puts: of each the last.
	Versions []int64
	// Appended are the versions after the commit, by the order of Batch.Appends.
	Appended []int64
	// Counters' values after the commit, by the order of Batch.Counters; for a
	// windowed counter the units in the window that ends now.
	Counters []int64
	// Admitted is when the units of windowed counters were, by the store's clock;
	// zero when the batch has none.
	Admitted time.Time
	// Replayed is true when the idempotency key was known; Answer is then the first
	// answer, and no other field is set.
	Replayed bool
	Answer   []byte
}
