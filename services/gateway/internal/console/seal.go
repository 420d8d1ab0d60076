package console

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"

	"github.com/interlock-run/interlock/pkg/auth/sessiontoken"
)

// Key seals data that browsers keep for the console. It is as secret as the tokens in it.
type Key [32]byte

// NewKey returns a key that no other process has.
func NewKey() Key {
	var k Key
	_, _ = rand.Read(k[:]) // it never fails
	return k
}

// ReadKey derives the key from that of session tokens in a file, which every replica has.
func ReadKey(file string) (Key, error) {
	tokens, err := sessiontoken.LoadKey(file)
	if err != nil {
		return Key{}, err
	}
	return tokens.Derive("console")
}

// nonceSize is that of AES-GCM, in bytes.
const nonceSize = 12

var errSeal = errors.New("it was not sealed with this key")

// sealed returns value encrypted. use keeps data that is sealed for one use from being
// taken for another.
func (k Key) sealed(use string, value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	box, err := k.box(use)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(box.Seal(nil, nil, text, []byte(use))), nil
}

// open reads the output of sealed into value, and returns its nonce, which is of it
// alone.
func (k Key) open(use, text string, value any) (nonce [nonceSize]byte, err error) {
	data, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(data) < nonceSize {
		return nonce, errSeal
	}
	box, err := k.box(use)
	if err != nil {
		return nonce, err
	}
	plain, err := box.Open(nil, nil, data, []byte(use))
	if err != nil || json.Unmarshal(plain, value) != nil {
		return nonce, errSeal
	}
	return [nonceSize]byte(data), nil
}

// box puts a random nonce before the sealed data. Its key is of one use.
func (k Key) box(use string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, k[:], nil, "interlock console "+use, len(k))
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
