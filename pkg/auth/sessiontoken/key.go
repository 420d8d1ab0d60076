package sessiontoken

import (
	"bytes"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"

	"github.com/interlock-run/interlock/pkg/auth"
)

// minKey is the fewest bytes of a key: as many as its signatures have.
const minKey = 32

// Key signs and checks tokens. All services of an installation share it, and
// its holder can create a token for any session.
type Key struct{ secret []byte }

// CreateKey makes a key file that only its owner can read, unless there is one.
func CreateKey(file string) error {
	_, err := auth.WriteSecret(file, NewKeyFile())
	return err
}

// NewKeyFile makes a key, as the content of its file.
func NewKeyFile() []byte {
	var secret [minKey]byte
	// crypto/rand.Read never fails: it ends the program when it cannot continue.
	_, _ = rand.Read(secret[:])
	return []byte(base64.StdEncoding.EncodeToString(secret[:]) + "\n")
}

// LoadKey reads a key file: base64 of at least 32 random bytes. It refuses one
// that others can read.
func LoadKey(file string) (Key, error) {
	data, err := auth.ReadSecret(file)
	if err != nil {
		return Key{}, err
	}
	return ParseKey(file, data)
}

// ParseKey reads the text of a key's file.
func ParseKey(file string, data []byte) (Key, error) {
	secret, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(data)))
	if err != nil || len(secret) < minKey {
		// The decoder's error quotes its input: a secret. Drop it.
		return Key{}, fmt.Errorf("%s is not a valid key for session tokens: "+
			"make one with `openssl rand -base64 %d > FILE`, and run chmod 600 on it", file, minKey)
	}
	return Key{secret}, nil
}

// Derive returns a key for another use, of 32 bytes. It does not reveal this one.
func (k Key) Derive(use string) ([32]byte, error) {
	derived, err := hkdf.Key(sha256.New, k.secret, nil, "interlock "+use, sha256.Size)
	if err != nil {
		return [32]byte{}, fmt.Errorf("derive a key: %w", err)
	}
	return [32]byte(derived), nil
}
