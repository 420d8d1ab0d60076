package gateway

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/receipt"
)

// ReceiptFlags name the key that signs receipts of runs.
type ReceiptFlags struct {
	ReceiptKey string `help:"Key that receipts of runs are signed with, which interlock receipt keygen creates (PEM, Ed25519)." env:"INTERLOCK_RECEIPT_KEY" type:"path" placeholder:"FILE"`
}

// Signer returns the key of the file; nil without one.
func (f ReceiptFlags) Signer() (receipt.Signer, error) {
	if f.ReceiptKey == "" {
		return nil, nil
	}
	return ReadReceiptKey(f.ReceiptKey)
}

// ReadReceiptKey reads the key of receipts from a file that only its owner can read.
func ReadReceiptKey(file string) (receipt.Signer, error) {
	text, err := auth.ReadSecret(file)
	if err != nil {
		return nil, fmt.Errorf("read the key of receipts: %w", err)
	}
	key, err := receipt.ReadSigner(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return key, nil
}

// MakeReceiptKey makes a key in a new file, durably, with its public part in FILE.pub. A key
// that is there is kept: created is false.
func MakeReceiptKey(file string) (created bool, err error) {
	if _, err := os.Stat(file); err == nil { // a full disk would take no other
		return false, publish(file)
	}
	private, _, err := receipt.NewKey(rand.Reader)
	if err != nil {
		return false, fmt.Errorf("make the key of receipts: %w", err)
	}
	if created, err = auth.WriteSecret(file, private); err != nil {
		return false, fmt.Errorf("write the key of receipts: %w", err)
	}
	return created, publish(file)
}

// SealedFile opens sealed files of a data folder, and makes them.
type SealedFile interface {
	ReadFile(path string) ([]byte, error)
	CreateFile(path string, text []byte) (created bool, err error)
}

// SealedReceiptKey returns the sealed key of a data folder, which is made where there is none.
func SealedReceiptKey(file string, box SealedFile) (receipt.Signer, error) {
	private, _, err := receipt.NewKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of receipts: %w", err)
	}
	if _, err := box.CreateFile(file, private); err != nil {
		return nil, fmt.Errorf("write the key of receipts: %w", err)
	}
	text, err := box.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the key of receipts: %w", err)
	}
	key, err := receipt.ReadSigner(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if err := publishKey(file, key); err != nil && !errors.Is(err, errPublicKey) {
		return nil, err
	}
	return key, nil
}

// publish writes the public part of a key next to it, where it is not there as it must be:
// a machine that lost its power may have lost that file alone.
func publish(file string) error {
	key, err := ReadReceiptKey(file)
	if err != nil {
		return err
	}
	return publishKey(file, key)
}

func publishKey(file string, key receipt.Signer) error {
	public, err := receipt.PublicPEM(key.Public())
	if err != nil {
		return fmt.Errorf("write the public key of receipts: %w", err)
	}
	if there, err := os.ReadFile(file + ".pub"); err == nil && string(there) == string(public) {
		return nil
	}
	if err := os.WriteFile(file+".pub", public, 0o600); err != nil {
		return errors.Join(errPublicKey, err)
	}
	return nil
}

// errPublicKey says that a key is there, and its public part could not be written.
var errPublicKey = errors.New("the public key of receipts could not be written")

// KeptReceiptKey returns the key of a data folder, which is made where there is none. If its
// public part cannot be written, on a full disk, the server still serves.
func KeptReceiptKey(file string) (receipt.Signer, error) {
	if _, err := MakeReceiptKey(file); err != nil && !errors.Is(err, errPublicKey) {
		return nil, err
	}
	return ReadReceiptKey(file)
}
