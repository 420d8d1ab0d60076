//go:build !linux

package console

import (
	"errors"
	"os"
)

// AskSecret refuses: this system has no hidden input.
func AskSecret(*os.File, string) (string, error) {
	return "", errors.New("passphrases are asked on Linux only; use --ssh, or the console; and --seal-passphrase-file for a seal")
}
