package client

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/internal/datadir"
	"github.com/interlock-run/interlock/services/internal/seal"
)

// SealFlags say where the passphrase of a seal is.
type SealFlags struct {
	SealPassphraseFile string `help:"File with the passphrase of the seal, such as /dev/fd/3, or a credential of systemd; it is asked at the terminal by default." env:"INTERLOCK_SEAL_PASSPHRASE_FILE" type:"path" placeholder:"FILE"`
}

// OpenSeal opens the seal of a data folder. It returns nil for a folder without one.
func (f SealFlags) OpenSeal(data datadir.Dir) (*seal.Box, error) {
	info, err := seal.Read(data.Seal())
	if err != nil || info == nil {
		return nil, err
	}
	words, err := f.Passphrase("passphrase of the seal of " + string(data) + ": ")
	if err != nil {
		return nil, err
	}
	return seal.Open(data.Seal(), words)
}

// Passphrase returns the passphrase of a seal.
func (f SealFlags) Passphrase(question string) (string, error) {
	if number, ok := strings.CutPrefix(f.SealPassphraseFile, "/dev/fd/"); ok {
		return readDescriptor(number)
	}
	if f.SealPassphraseFile != "" {
		return auth.ReadPassword(f.SealPassphraseFile)
	}
	terminal, err := console.OpenTerminal()
	if err != nil {
		return "", errors.New("the data folder is sealed, and its passphrase is asked at a terminal, which this command does not have: " +
			"give --seal-passphrase-file (docs/security.md)")
	}
	defer func() { _ = terminal.Close() }()
	return console.AskSecret(terminal, question)
}

// NewPassphrase returns a new passphrase of a seal, which a person types twice.
func (f SealFlags) NewPassphrase() (string, error) {
	words, err := f.Passphrase(fmt.Sprintf("a new passphrase for the seal, of at least %d characters: ", seal.MinPassphrase))
	if err != nil || f.SealPassphraseFile != "" {
		return words, err
	}
	again, err := f.Passphrase("once more: ")
	if err == nil && again != words {
		err = errors.New("the two passphrases differ; nothing was changed")
	}
	return words, err
}

// readDescriptor reads a passphrase from an open file of this process: a server whose memory is closed to other programs cannot
// open its own descriptors by name.
func readDescriptor(number string) (string, error) {
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil {
		return "", fmt.Errorf("--seal-passphrase-file /dev/fd/%s: give the number of an open file", number)
	}
	file := os.NewFile(uintptr(n), "the passphrase")
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, mostPassphrase))
	if err != nil {
		return "", fmt.Errorf("--seal-passphrase-file /dev/fd/%s: %w", number, err)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

// mostPassphrase bounds a passphrase, in bytes.
const mostPassphrase = 4 << 10
