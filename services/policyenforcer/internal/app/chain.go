package app

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// A partition of the log is a chain of hashes: each is over the one before, the
// record's place, and the record as it is stored. So no record can be changed, left
// out or moved without all hashes from there on being others.

// link is one hash of a chain.
type link [sha256.Size]byte

// anchor begins the chain of a partition; no two partitions begin alike.
func anchor(namespace, partition string) link {
	return sha256.Sum256(fmt.Appendf(nil, "interlock decisions\x00%d\x00%s\x00%s", len(namespace), namespace, partition))
}

// next is the hash over this one and the record that follows.
func (l link) next(sequence int64, data []byte) link {
	h := sha256.New()
	h.Write(l[:])
	var place [8]byte
	binary.BigEndian.PutUint64(place[:], uint64(sequence))
	h.Write(place[:])
	h.Write(data)
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
