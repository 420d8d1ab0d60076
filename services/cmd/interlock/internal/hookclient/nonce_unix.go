//go:build unix

package hookclient

import (
	"fmt"
	"io"
	"os"
)

// nonce returns random bytes of the system. Package crypto/rand imports math/big, which is initialised late.
func nonce() (random [32]byte, err error) {
	source, err := os.Open("/dev/urandom")
	if err != nil {
		return random, fmt.Errorf("the server cannot be asked for a proof without random bytes: %w; give the hook a /dev/urandom", err)
	}
	defer source.Close()
	if _, err := io.ReadFull(source, random[:]); err != nil {
		return random, fmt.Errorf("the server cannot be asked for a proof without random bytes: %w", err)
	}
	return random, nil
}
