package gate

import (
	"strings"
	"testing"
)

// TestEnds: of long output the beginning and the end are kept.
func TestEnds(t *testing.T) {
	t.Parallel()
	for size := range 64 {
		for _, piece := range []int{1, 3, 100} {
			e := &ends{limit: 10}
			text := strings.Repeat("0123456789", 7)[:size]
			for rest := text; rest != ""; {
				n, _ := e.Write([]byte(rest[:min(piece, len(rest))]))
				rest = rest[n:]
			}
			got, left := e.text()
			if size <= 10 && (got != text || left != 0) {
				t.Errorf("%q: %q, %d", text, got, left)
			}
			if size > 10 && (left != size-10 || !strings.HasPrefix(got, text[:5]) || !strings.HasSuffix(got, text[size-5:])) {
				t.Errorf("%q: %q, %d", text, got, left)
			}
		}
	}
}
