//go:build unix

package hookclient

import (
	"strings"
	"testing"
	"time"
)

// A program that fails, does not end or is not there has no output that counts.
func TestOutputOfPrograms(t *testing.T) {
	t.Parallel()
	out, err := outputOf(longestProbe, "/bin/sh", "-c", "echo $0 $#; echo not this >&2; cat", "a b", "c")
	if err != nil || string(out) != "a b 1\n" {
		t.Errorf("%q, %v", out, err)
	}
	for name, test := range map[string]struct {
		limit   time.Duration
		program string
		line    string
	}{
		"fails":              {longestProbe, "/bin/sh", "echo out; exit 3"},
		"is killed":          {longestProbe, "/bin/sh", "echo out; kill -9 $$"},
		"is not there":       {longestProbe, "/nowhere/at/all", ""},
		"does not end":       {1, "/bin/sh", "exec sleep 60"},
		"is silent for long": {1, "/bin/sh", "exec sleep 60 >/dev/null"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if out, err := outputOf(test.limit, test.program, "-c", test.line); err == nil {
				t.Errorf("its output counts: %q", out)
			}
		})
	}
}

// The server must not be able to have answered the question before.
func TestNonces(t *testing.T) {
	t.Parallel()
	first, err := nonce()
	second, other := nonce()
	if err != nil || other != nil || first == second || first == [32]byte{} || strings.Trim(string(first[16:]), "\x00") == "" {
		t.Errorf("%x, %x, %v, %v", first, second, err, other)
	}
}
