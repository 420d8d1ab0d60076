package seal

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/chacha20poly1305"

	"github.com/interlock-run/interlock/pkg/auth"
)

// Costs of Argon2id (RFC 9106, section 4: the second recommendation).
const (
	passes    = 3
	memoryKiB = 64 << 10
	threads   = 4
	saltSize  = 16

	// Another program may have written the costs of a file.
	mostPasses    = 64
	mostMemoryKiB = 1 << 20
)

// MinPassphrase is the fewest characters of a passphrase.
const MinPassphrase = 12

// form is the form of the file of a seal.
const form = 1

// header is the part of the file of a seal that is not secret. The key is bound to it.
type header struct {
	Form int    `json:"form"`
	ID   string `json:"id"`
	// Kind is the kind of secret that opens the seal.
	Kind      string    `json:"kind"`
	KDF       string    `json:"kdf"`
	Salt      []byte    `json:"salt"`
	Passes    uint32    `json:"passes"`
	MemoryKiB uint32    `json:"memory_kib"`
	Threads   uint8     `json:"threads"`
	ChangedAt time.Time `json:"changed_at"`
}

// envelope is the file of a seal.
type envelope struct {
	header

	Key []byte `json:"key"`
}

// Passphrase is the kind of a seal that a passphrase opens.
const Passphrase = "passphrase"

var (
	// ErrWrong refuses a passphrase.
	ErrWrong = errors.New("the passphrase does not open this seal, or another program has changed the file of the seal; no file was written")
	// ErrShort refuses a new passphrase.
	ErrShort = fmt.Errorf("a passphrase of a seal has at least %d characters: with a copy of the file, a program can try many", MinPassphrase)
)

// Info describes a seal. It needs no passphrase.
type Info struct {
	ID, Kind  string
	ChangedAt time.Time
}

// Read describes the seal of a file; nil where there is none.
func Read(file string) (*Info, error) {
	e, err := read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &Info{e.ID, e.Kind, e.ChangedAt}, nil
}

// Make writes the file of a new seal, and returns the seal, open.
func Make(file, passphrase string) (*Box, error) {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // it never fails
	e, err := wrap(rand.Text(), key, passphrase)
	if err != nil {
		return nil, err
	}
	created, err := auth.WriteSecret(file, e.encode())
	if err == nil && !created {
		err = fmt.Errorf("%s: %w", file, fs.ErrExist)
	}
	if err != nil {
		return nil, err
	}
	return newBox(e.ID, key), nil
}

// Open opens the seal of a file.
func Open(file, passphrase string) (*Box, error) {
	e, err := read(file)
	if err != nil {
		return nil, err
	}
	key, err := e.open(passphrase)
	if err != nil {
		return nil, err
	}
	return newBox(e.ID, key), nil
}

// Change has another passphrase open a seal. The keys stay, so an old copy of the file still opens with the old one.
func Change(file, passphrase, next string) error {
	e, err := read(file)
	if err != nil {
		return err
	}
	key, err := e.open(passphrase)
	if err != nil {
		return err
	}
	changed, err := wrap(e.ID, key, next)
	if err != nil {
		return err
	}
	return auth.PutSecret(file, changed.encode())
}

func read(file string) (*envelope, error) {
	data, err := auth.ReadSealed(file)
	if err != nil {
		return nil, err
	}
	var e envelope
	switch err := json.Unmarshal(data, &e); {
	case err != nil:
		return nil, fmt.Errorf("%s is no file of a seal: %w; put it back from a backup", file, err)
	case e.Form != form || e.Kind != Passphrase || e.KDF != "argon2id":
		return nil, fmt.Errorf("%s is of a form that this program does not know; use the release that wrote it", file)
	case e.Passes == 0 || e.Passes > mostPasses || e.MemoryKiB == 0 || e.MemoryKiB > mostMemoryKiB || e.Threads == 0 || len(e.Salt) < saltSize:
		return nil, fmt.Errorf("%s has costs that no seal has: another program may have written it; put it back from a backup", file)
	}
	return &e, nil
}

func wrap(id string, key []byte, passphrase string) (*envelope, error) {
	if utf8.RuneCountInString(passphrase) < MinPassphrase {
		return nil, ErrShort
	}
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // it never fails
	e := &envelope{header: header{
		Form: form, ID: id, Kind: Passphrase, KDF: "argon2id", Salt: salt, Passes: passes, MemoryKiB: memoryKiB, Threads: threads,
		ChangedAt: time.Now().UTC().Truncate(time.Second),
	}}
	aead, err := chacha20poly1305.NewX(e.derive(passphrase))
	if err != nil {
		return nil, err
	}
	// Each key of a passphrase has a salt of its own, and seals one text.
	e.Key = aead.Seal(nil, make([]byte, aead.NonceSize()), key, e.bound())
	return e, nil
}

func (e *envelope) open(passphrase string) ([]byte, error) {
	aead, err := chacha20poly1305.NewX(e.derive(passphrase))
	if err != nil {
		return nil, err
	}
	key, err := aead.Open(nil, make([]byte, aead.NonceSize()), e.Key, e.bound())
	if err != nil || len(key) != keySize {
		return nil, ErrWrong
	}
	return key, nil
}

func (e *envelope) derive(passphrase string) []byte {
	return argon2.IDKey([]byte(passphrase), e.Salt, e.Passes, e.MemoryKiB, e.Threads, keySize)
}

// bound returns the text that the key is bound to.
func (e *envelope) bound() []byte {
	return fmt.Appendf(nil, "interlock seal\n%d\n%s\n%s\n%s\n%s\n%d %d %d\n%d", e.Form, e.ID, e.Kind, e.KDF,
		base64.StdEncoding.EncodeToString(e.Salt), e.Passes, e.MemoryKiB, e.Threads, e.ChangedAt.Unix())
}

func (e *envelope) encode() []byte {
	data, err := json.MarshalIndent(e, "", "  ")
	if err != nil { // texts, numbers and bytes
		panic(err)
	}
	return append(data, '\n')
}

// Sealed reports whether a file has a sealed text.
func Sealed(file string) bool {
	data, err := os.ReadFile(file)
	return err == nil && auth.IsSealed(data)
}
