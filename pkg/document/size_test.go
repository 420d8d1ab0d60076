package document

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/randtest"
)

// TestSize holds that the size is that of the text, and beyond a bound only
// more than that.
func TestSize(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		v := drawValue(t, 3)
		if rapid.Bool().Draw(t, "any text") {
			v = ObjectValue([]Member{{rapid.String().Draw(t, "name"), v}, {"t", StringValue(rapid.String().Draw(t, "text"))}})
		}
		want := len(v.String())
		if got := Size(v, math.MaxInt); got != want {
			t.Fatalf("%s: got %d, want %d", v, got, want)
		}
		most := rapid.IntRange(0, want+2).Draw(t, "most")
		if got := Size(v, most); want <= most && got != want || want > most && got <= most {
			t.Fatalf("%s has %d bytes; up to %d got %d", v, want, most, got)
		}
	})
	if got, want := Size(Value{}, 10), len("null"); got != want {
		t.Errorf("missing: got %d, want %d", got, want)
	}
}

// TestSizeEscapes holds every character that is written in another length.
func TestSizeEscapes(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for c := range rune(0x300) {
		all.WriteRune(c)
	}
	all.WriteString("\u2028\u2029\ufffd\U0001f600")
	v := StringValue(all.String())
	if got, want := Size(v, math.MaxInt), len(v.String()); got != want {
		t.Errorf("got %d, want %d", got, want)
	}
}

// TestSizeGivesUp holds that the work is bounded by the bound: a tree that is
// its own child many times over, exponentially large, is measured in no time.
func TestSizeGivesUp(t *testing.T) {
	t.Parallel()
	v := NumberValue("1")
	for range 200 {
		v = ArrayValue([]Value{v, v})
	}
	if got := Size(v, 1000); got <= 1000 {
		t.Errorf("got %d", got)
	}
}
