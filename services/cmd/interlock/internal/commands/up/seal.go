package up

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/interlock-run/interlock/services/internal/allinone"
	"github.com/interlock-run/interlock/services/internal/datadir"
	"github.com/interlock-run/interlock/services/internal/seal"
)

// Values of --seal.
const (
	byPassphrase = "passphrase"
	withoutSeal  = "none"
)

// unseal opens the seal of the data folder, or makes that of a new one; nil for a folder without a seal (S24.10).
func (c *Command) unseal(data datadir.Dir) (*seal.Box, error) {
	info, err := seal.Read(data.Seal())
	switch {
	case errors.Is(err, syscall.ENOTDIR): // the folder cannot be made, and its error says more
		return nil, nil
	case err != nil:
		return nil, err
	case info != nil && c.Seal == withoutSeal:
		return nil, fmt.Errorf("%s is sealed: start without --seal none; or have `interlock data unseal` take the seal away", data)
	case info != nil && c.Presence == withoutPresence:
		return nil, fmt.Errorf("%s is sealed: start without --presence none, whose tokens in the data folder would decide", data)
	case info != nil:
		return c.OpenSeal(data)
	case c.Seal != byPassphrase:
		return nil, allinone.Unsealed(data)
	case c.Presence == withoutPresence:
		return nil, fmt.Errorf("--seal passphrase protects decisions of people, and with --presence none tokens in the data folder decide: leave one of both out")
	}
	if err := allinone.Unsealed(data); err != nil {
		return nil, err
	}
	if used(data.Tokens()) || used(data.Database()) {
		return nil, fmt.Errorf("%s has data that is not sealed: run `interlock data seal`, and start the server then. If the folder was sealed before, another program has removed the seal: restore a backup", data)
	}
	words, err := c.NewPassphrase()
	if err != nil {
		return nil, err
	}
	if err := data.Make(); err != nil {
		return nil, err
	}
	return seal.Make(data.Seal(), words)
}

func used(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
