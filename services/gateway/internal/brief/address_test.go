package brief_test

import (
	"testing"

	"github.com/interlock-run/interlock/services/gateway/internal/brief"
)

// Links that people open name the host that passkeys are registered at.
func TestForBrowsers(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]string{
		"http://127.0.0.1:7420": "http://localhost:7420", "http://[::1]:1": "http://localhost:1",
		"http://10.0.0.2:7420": "http://10.0.0.2:7420", "https://gate.example": "https://gate.example", ":": ":", "": "",
	} {
		if got := brief.ForBrowsers(server); got != want {
			t.Errorf("%s: %s, want %s", server, got, want)
		}
	}
}
