// Package backup is the form of a store in a file: its contents, independent of the
// database that it is kept in.
//
// A file is a header, items and a trailer, in blocks that have a checksum each. The trailer
// has the number of items and the SHA-256 of all before it. It is written and read as a
// stream: neither needs more memory than a block and the largest item.
//
// The package must never open a database, and never interpret the data of services.
package backup

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

// Item is one thing that a store keeps. A file may have it more than once, when it changed
// while the file was made: then the last counts.
type Item interface{ kind() Kind }

// Kind is that of an item.
type Kind byte

// The kinds of items. They are part of the format of a file.
const (
	KindRecord   Kind = 'r'
	KindHistory  Kind = 'h'
	KindCounters Kind = 'c'
	KindAnswer   Kind = 'k'
	KindTimer    Kind = 't'
	KindEvent    Kind = 'o'
	KindShard    Kind = 's'
)

// Kinds are all of them, with their names in counts.
var Kinds = map[Kind]string{
	KindRecord: "records", KindHistory: "entries", KindCounters: "counters", KindAnswer: "idempotency_keys",
	KindTimer: "timers", KindEvent: "events", KindShard: "shards",
}

// Record is a record, or the remains of a deleted one.
type Record struct {
	Key     store.Key
	Version int64
	Data    []byte
	Labels  map[string]string
	// Updated is when the record was put last; zero for one that was only appended to.
	Updated time.Time
	// Deleted records have only their last version.
	Deleted bool
}

// History are entries of a record, by ascending version.
type History struct {
	Key store.Key
	// First is the version of the first entry that the record still has: earlier ones
	// were deleted. 0 means unknown.
	First   int64
	Entries []store.HistoryEntry
}

// Counters are all counters of an owner.
type Counters struct {
	Owner   store.Key
	Plain   map[string]int64
	Windows []Window
}

// Window is a windowed counter.
type Window struct {
	Name string
	// Span is how long units count at the longest, 0 when that is not known.
	Span time.Duration
	// Units by the time of their admission, ascending.
	Units []Units
}

// Units were admitted at a time.
type Units struct {
	At time.Time
	N  int64
}

// Answer is stored with an idempotency key.
type Answer struct {
	// Owner and Name of the key, or where they are not known its Hash, see HashOf.
	Owner store.Key
	Name  string
	Hash  []byte

	Digest string
	Answer []byte
	// Entry and Version are the history entry that the answer is, if it is one.
	Entry   store.Key
	Version int64
	// Expires is when the key is forgotten. It is zero for one that is there no more.
	Expires time.Time
}

// HashOf returns the hash of an idempotency key: so much of it that no two are alike.
func HashOf(owner store.Key, name string) []byte {
	const separator = "\x1f"
	of := owner.Namespace + separator + owner.Kind + separator + owner.ID
	text := binary.AppendUvarint(make([]byte, 0, 256), uint64(len(of)))
	sum := sha256.Sum256(append(append(text, of...), name...))
	return sum[:16]
}

// Timer is a timer. Cleared timers are there no more.
type Timer struct {
	store.Timer
	Cleared bool
}

// Event is an entry of the outbox. Of one that names a history entry, the payload and the
// time are empty.
type Event struct{ store.OutboxEntry }

// Shard is how many events a shard has had.
type Shard struct {
	Shard int
	Seq   int64
}

func (*Record) kind() Kind   { return KindRecord }
func (*History) kind() Kind  { return KindHistory }
func (*Counters) kind() Kind { return KindCounters }
func (*Answer) kind() Kind   { return KindAnswer }
func (*Timer) kind() Kind    { return KindTimer }
func (*Event) kind() Kind    { return KindEvent }
func (*Shard) kind() Kind    { return KindShard }
