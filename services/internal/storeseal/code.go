package storeseal

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/seal"
)

// Kinds of sealed data. They are part of its form.
const (
	ofRecord  byte = 'r'
	ofHistory byte = 'h'
	ofAnswer  byte = 'a'
)

const (
	magic = "ilseal1\n"
	// A trailer has the kind, the name, the serial, the version, the code, and the magic.
	headSize    = 1 + len(seal.Name{}) + 8 + 8
	trailerSize = headSize + sha256.Size + len(magic)
)

// trailer is the end of sealed data.
type trailer struct {
	of byte
	// name is that of the record or of the answer.
	name seal.Name
	// serial grows with each put of a record.
	serial uint64
	// version is that of the put; 0 where it was not known before it.
	version int64
}

func (t trailer) head() []byte {
	out := append(make([]byte, 0, headSize), t.of)
	out = append(out, t.name[:]...)
	out = binary.BigEndian.AppendUint64(out, t.serial)
	return binary.BigEndian.AppendUint64(out, uint64(t.version)) //nolint:gosec // not negative
}

// nameOf returns the name of a record in a mark and in codes.
func nameOf(key store.Key) seal.Name {
	text := []byte("record\n")
	for _, part := range []string{key.Namespace, key.Kind, key.ID} {
		text = append(text, sized(part)...)
	}
	sum := sha256.Sum256(text)
	return seal.Name(sum[:])
}

// answerOf returns the name of an answer in codes.
func answerOf(hash []byte) (name seal.Name) {
	copy(name[:], hash)
	return name
}

// sized returns a text after its size, so that no two lists of texts are one.
func sized(text string) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(len(text))), text...)
}

// code returns the code of data under a key.
func (s *Store) code(t trailer, labels map[string]string, data []byte) []byte {
	mac := hmac.New(sha256.New, s.cfg.Key[:])
	mac.Write(t.head())
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		mac.Write(sized(label))
		mac.Write(sized(labels[label]))
	}
	mac.Write([]byte{'\n'})
	mac.Write(data)
	return mac.Sum(nil)
}

// sealed returns data with its trailer.
func (s *Store) sealed(t trailer, labels map[string]string, data []byte) []byte {
	out := make([]byte, 0, len(data)+trailerSize)
	out = append(append(out, data...), t.head()...)
	out = append(out, s.code(t, labels, data)...)
	return append(out, magic...)
}

// split parts data from its trailer. It is not ok for data without one.
func split(data []byte) (text []byte, t trailer, code []byte, ok bool) {
	at := len(data) - trailerSize
	if at < 0 || string(data[len(data)-len(magic):]) != magic {
		return data, t, nil, false
	}
	head := data[at : at+headSize]
	t.of, head = head[0], head[1:]
	t.name, head = seal.Name(head[:len(t.name)]), head[len(t.name):]
	t.serial, t.version = binary.BigEndian.Uint64(head), int64(binary.BigEndian.Uint64(head[8:])) //nolint:gosec // checked by its code
	return data[:at:at], t, data[at+headSize : at+headSize+sha256.Size], true
}

// opened parts data from its trailer, and reports whether its code is right.
func (s *Store) opened(of byte, labels map[string]string, data []byte) (text []byte, t trailer, ok bool) {
	text, t, code, ok := split(data)
	ok = ok && t.of == of && t.version >= 0 && hmac.Equal(code, s.code(t, labels, text))
	return text, t, ok
}

// openEntry takes the trailer from an entry of the history of a record.
func (s *Store) openEntry(key store.Key, version int64, data []byte) (text []byte, ok bool) {
	text, t, ok := s.opened(ofHistory, nil, data)
	return text, ok && t.name == nameOf(key) && (t.version == 0 || t.version == version)
}

// Strip returns data without its trailer, whether it is right or not, for programs that only read.
func Strip(data []byte) []byte {
	text, _, _, _ := split(data)
	return text
}

// Sealed reports whether data has a trailer.
func Sealed(data []byte) bool {
	_, _, _, ok := split(data)
	return ok
}
