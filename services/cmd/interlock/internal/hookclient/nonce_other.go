//go:build !unix

package hookclient

import "crypto/rand"

// nonce returns random bytes of the system.
func nonce() (random [32]byte, err error) {
	_, err = rand.Read(random[:])
	return random, err
}
