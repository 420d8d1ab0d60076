package gateway

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/interlock-run/interlock/pkg/receipt"
)

// ReceiptFlags say what receipts of runs are signed with.
type ReceiptFlags struct {
	ReceiptKey string `help:"Key that receipts of runs are signed with, which interlock receipt keygen creates (PEM, Ed25519)." env:"INTERLOCK_RECEIPT_KEY" type:"path" placeholder:"FILE"`
}

// Signer is the key of the file; nil without one.
func (f ReceiptFlags) Signer() (receipt.Signer, error) {
	if f.ReceiptKey == "" {
		return nil, nil
	}
	return ReadReceiptKey(f.ReceiptKey)
}

// ReadReceiptKey reads the key of receipts from a file.
func ReadReceiptKey(file string) (receipt.Signer, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the key of receipts: %w", err)
	}
	key, err := receipt.ReadSigner(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return key, nil
}

// MakeReceiptKey makes a key in two new files, FILE and FILE.pub; where there is one it is
// kept.
func MakeReceiptKey(file string) error {
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	private, public, err := receipt.NewKey(rand.Reader)
	if err != nil {
		return fmt.Errorf("make the key of receipts: %w", err)
	}
	if err := os.WriteFile(file+".pub", public, 0o600); err != nil {
		return fmt.Errorf("write the public key of receipts: %w", err)
	}
	if err := os.WriteFile(file+".new", private, 0o600); err != nil {
		return fmt.Errorf("write the key of receipts: %w", err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		return fmt.Errorf("write the key of receipts: %w", err)
	}
	return nil
}
