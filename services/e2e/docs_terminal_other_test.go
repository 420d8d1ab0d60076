//go:build !linux

package e2e

import (
	"os"
	"testing"
)

// terminal is made on Linux only.
func terminal(t *testing.T) *os.File {
	t.Helper()
	t.Fatal("the examples of the documentation need a terminal, which this test makes on Linux only")
	return nil
}
