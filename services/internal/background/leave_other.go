//go:build !linux && !darwin

package background

import (
	"errors"

	"github.com/interlock-run/interlock/services/internal/datadir"
)

// Leave refuses: on this system a server stays at its terminal.
func Leave(datadir.Dir) error {
	return errors.New("a server in the background needs Linux or macOS: start `interlock up` without --detach")
}
