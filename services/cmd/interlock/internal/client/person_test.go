package client

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
)

// S13.5: without a terminal, only an explicit token counts for acts of people.
func TestPersonCredentials(t *testing.T) {
	t.Parallel()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { null.Close() })
	for name, in := range map[string]io.ReadCloser{"a pipe": io.NopCloser(strings.NewReader("y\n")), "nothing": null} {
		streams := console.Streams{In: in}
		err := (&Connection{Data: t.TempDir()}).PersonCredentials(streams, "deciding an approval")
		if err == nil || !strings.Contains(err.Error(), "INTERLOCK_TOKEN") {
			t.Errorf("%s: %v", name, err)
		}
		if err := (&Connection{Token: "ilk_x"}).PersonCredentials(streams, "deciding an approval"); err != nil {
			t.Errorf("%s, with a token: %v", name, err)
		}
	}
}
