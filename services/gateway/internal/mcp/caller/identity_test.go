package caller

import (
	"strings"
	"testing"
)

// TestBindingFromEnv reads the binding of a process from its environment.
func TestBindingFromEnv(t *testing.T) {
	t.Parallel()
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	if b, err := BindingFromEnv(env("INTERLOCK_SESSION", "s", "INTERLOCK_RUN", "run_1")); err != nil || b.RunID != "run_1" {
		t.Errorf("%+v, %v", b, err)
	}
	minted, err := BindingFromEnv(env())
	if err != nil || !strings.HasPrefix(minted.SessionID, "stdio-ses_") {
		t.Errorf("%+v, %v", minted, err)
	}
	if again, _ := BindingFromEnv(env()); again == minted {
		t.Error("two processes share a minted session")
	}
	if _, err := BindingFromEnv(env("INTERLOCK_SESSION", "a\nb")); err == nil {
		t.Error("a session with a line break was accepted")
	}
}
