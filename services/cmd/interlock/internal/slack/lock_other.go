//go:build !unix

package slack

import "os"

// lockFile opens a file; there is no lock here.
func lockFile(file string) (*os.File, error) { return os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600) }
