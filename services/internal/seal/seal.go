// Package seal keeps the secrets of a data folder from programs that can read it. A passphrase opens one key, which is
// in memory only, and all other keys follow from that. It must never write a secret that is not sealed.
package seal

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/interlock-run/interlock/pkg/auth"
)

// keySize is the size of all keys.
const keySize = 32

// Box is the open seal of a data folder. It is safe for concurrent use.
type Box struct {
	id  string
	key [keySize]byte

	mu sync.Mutex
	// newest is the greatest serial that was read or written, by the name of the file.
	newest map[Name]uint64
	// mark remembers the serials of files beyond this process; nil for nowhere.
	mark *Mark
}

// Name is the digest of the name of a file or a record.
type Name [16]byte

// NameOf returns the name of a file.
func NameOf(file string) Name {
	sum := sha256.Sum256([]byte("file\n" + file))
	return Name(sum[:16])
}

func newBox(id string, key []byte) *Box {
	b := &Box{id: id, newest: map[Name]uint64{}}
	copy(b.key[:], key)
	return b
}

// ID names the seal.
func (b *Box) ID() string { return b.id }

// Key returns the key for a use.
func (b *Box) Key(use string) [keySize]byte {
	derived, err := hkdf.Key(sha256.New, b.key[:], nil, "interlock seal "+use, keySize)
	if err != nil { // the sizes are constant
		panic(err)
	}
	return [keySize]byte(derived)
}

// ErrOpen refuses a text that was not sealed under a name with this seal.
var ErrOpen = errors.New("it was not sealed here, or changed afterwards")

// serialSize is the size of a serial.
const serialSize = 8

// Seal returns a text as a file has it. Name is that of the file, in which alone it counts.
func (b *Box) Seal(name string, text []byte) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	serial := max(uint64(time.Now().UnixNano()), b.newest[NameOf(name)]+1) //nolint:gosec // after 1970
	b.note(NameOf(name), serial)
	key := b.Key("file")
	aead, err := chacha20poly1305.NewX(key[:])
	if err != nil { // the size is constant
		panic(err)
	}
	nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+serialSize+len(text)+aead.Overhead())
	_, _ = rand.Read(nonce) // it never fails
	sealed := aead.Seal(nonce, nonce, append(binary.BigEndian.AppendUint64(nil, serial), text...), []byte(name))
	return []byte(auth.SealedPrefix + base64.StdEncoding.EncodeToString(sealed) + "\n")
}

// Open returns the text of a file. It refuses one that is older than one of this name that was open before.
func (b *Box) Open(name string, file []byte) ([]byte, error) {
	encoded, sealed := strings.CutPrefix(strings.TrimSpace(string(file)), auth.SealedPrefix)
	if !sealed {
		return nil, fmt.Errorf("%s is not sealed: %w; another program may have put it there", name, ErrOpen)
	}
	raw, err := base64.StdEncoding.DecodeString(encoded)
	key := b.Key("file")
	aead, broken := chacha20poly1305.NewX(key[:])
	if err != nil || broken != nil || len(raw) < aead.NonceSize() {
		return nil, fmt.Errorf("%s: %w", name, ErrOpen)
	}
	text, err := aead.Open(nil, raw[:aead.NonceSize()], raw[aead.NonceSize():], []byte(name))
	if err != nil || len(text) < serialSize {
		return nil, fmt.Errorf("%s: %w", name, ErrOpen)
	}
	serial := binary.BigEndian.Uint64(text)
	b.mu.Lock()
	defer b.mu.Unlock()
	if serial < b.newest[NameOf(name)] {
		return nil, fmt.Errorf("%s is older than it was: another program may have put a copy back", name)
	}
	b.note(NameOf(name), serial)
	return text[serialSize:], nil
}

// note remembers a serial. The caller holds the lock.
func (b *Box) note(name Name, serial uint64) {
	if serial == b.newest[name] {
		return
	}
	b.newest[name] = serial
	if b.mark != nil {
		b.mark.File(name, serial)
	}
}

// Remember has the serials of files kept in a mark, and takes those that were kept.
func (b *Box) Remember(mark *Mark) {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := mark.Files()
	for name, serial := range b.newest { // of files that were read before
		if serial > known[name] {
			mark.File(name, serial)
		}
	}
	for name, serial := range known {
		b.newest[name] = max(b.newest[name], serial)
	}
	b.mark = mark
}

// ReadFile reads and opens a file.
func (b *Box) ReadFile(path string) ([]byte, error) {
	data, err := auth.ReadSealed(path)
	if err != nil {
		return nil, err
	}
	return b.Open(filepath.Base(path), data)
}

// WriteFile seals a text into a file, which it replaces atomically.
func (b *Box) WriteFile(path string, text []byte) error {
	return auth.PutSecret(path, b.Seal(filepath.Base(path), text))
}

// CreateFile seals a text into a new file: created is false when there was one.
func (b *Box) CreateFile(path string, text []byte) (created bool, err error) {
	if _, err := os.Lstat(path); err == nil {
		return false, nil
	}
	return auth.WriteSecret(path, b.Seal(filepath.Base(path), text))
}
