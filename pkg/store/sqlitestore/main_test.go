package sqlitestore_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests, or, in a process that a test has started, the work that the
// test wants to kill.
func TestMain(m *testing.M) {
	if path := os.Getenv(victimVariable); path != "" {
		victim(path)
	}
	if path := os.Getenv(raiserVariable); path != "" {
		raiser(path)
	}
	goleak.VerifyTestMain(m)
}
