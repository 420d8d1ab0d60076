// Package needtest is for tests that need a machine with jails.
package needtest

import (
	"os"
	"testing"
)

// Missing ends a test on a machine without the jail that it needs: it fails with the missing part, and is
// skipped where INTERLOCK_NO_JAIL=1 says that this is known.
func Missing(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("INTERLOCK_NO_JAIL") == "1" {
		t.Skip("this machine has no such jail: ", why)
	}
	t.Fatalf("this machine has no such jail: %s\nINTERLOCK_NO_JAIL=1 leaves the tests of jails out", why)
}
