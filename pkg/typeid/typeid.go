// Package typeid mints identifiers: a prefix that names the type, an underscore,
// and a UUIDv7 (RFC 9562) in 26 characters of lower-case Crockford base32, as
// the TypeID specification v0.3 has it. Ids of one prefix sort by the time they
// were minted.
package typeid

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/gofrs/uuid/v5"
)

// Prefixes in use.
const (
	Run       = "run"
	Session   = "ses"
	Call      = "call"
	Event     = "evt"
	State     = "wfstate"
	Schema    = "schema"
	Task      = "task"
	Execution = "exec"
	Approval  = "apr"
	Lease     = "lse"
	Exception = "exc"
	Component = "comp"
	Agent     = "agent"
	Process   = "proc"
	// Token is of session tokens, and ListedToken of those that their session's record lists (S22.20).
	Token       = "tok"
	ListedToken = "stok"
	Halt        = "halt"
	Freeze      = "frz"
	BreakGlass  = "bg"
	Schedule    = "sched"
)

// Alphabet has the characters of an id after its prefix, and Length is their number.
const (
	Alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
	Length   = 26
)

// New mints an id, e.g. "run_01jd3k0c7qf3ta3bfa1m2y8x9n".
func New(prefix string) string {
	// It fails only without randomness, and crypto/rand ends the program then.
	return prefix + "_" + encode(uuid.Must(uuid.NewV7()))
}

// At returns the id of a moment that follows from random, which has 10 bytes at least.
func At(prefix string, at time.Time, random []byte) string {
	var id uuid.UUID
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(max(0, at.UnixMilli()))) //nolint:gosec // not negative
	copy(id[:6], ms[2:])
	copy(id[6:], random[:10])
	id.SetVersion(uuid.V7)
	id.SetVariant(uuid.VariantRFC9562)
	return prefix + "_" + encode(id)
}

// NewWhere mints ids until one satisfies accept, so that a record can be placed
// in a wanted shard. It gives up after a million tries, which with 64 shards has
// a chance of e^-15000.
func NewWhere(prefix string, accept func(id string) bool) (string, error) {
	for range 1_000_000 {
		if id := New(prefix); accept(id) {
			return id, nil
		}
	}
	return "", fmt.Errorf("mint id: no %s id was accepted", prefix)
}

// Time returns when an id was made, to the millisecond; zero for any other text.
func Time(id string) time.Time {
	text := id[strings.LastIndexByte(id, '_')+1:]
	if len(text) != Length {
		return time.Time{}
	}
	// The first 48 bits are milliseconds since 1970; two zero bits stand before them.
	var ms int64
	for _, c := range []byte(text[:10]) {
		digit := strings.IndexByte(Alphabet, c)
		if digit < 0 {
			return time.Time{}
		}
		ms = ms<<5 | int64(digit)
	}
	return time.UnixMilli(ms).UTC()
}

// encode writes 128 bits as 26 characters, two zero bits first.
func encode(u uuid.UUID) string {
	var out [Length]byte
	var acc uint32
	bits, n := 2, 0 // 130 bits in all: the first character holds 3
	for _, b := range u {
		acc = acc<<8 | uint32(b)
		bits += 8
		for bits >= 5 {
			bits -= 5
			out[n] = Alphabet[acc>>bits&31]
			n++
		}
	}
	return string(out[:])
}
