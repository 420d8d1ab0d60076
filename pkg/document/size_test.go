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

// TestSizeIsRemembered holds that a patched document is measured as if it had never been
// measured before, also where a patch copies, moves and changes values.
func TestSizeIsRemembered(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		v := ObjectValue([]Member{{"a", drawValue(t, 3)}, {"b", drawValue(t, 2)}, {"list", ArrayValue([]Value{drawValue(t, 2)})}})
		for range rapid.IntRange(1, 5).Draw(t, "patches") {
			if rapid.Bool().Draw(t, "measured") {
				Size(v, math.MaxInt)
			}
			text := rapid.SampledFrom([]string{
				`[{"op":"replace","path":"/a","value":{"x":[1,{"y":2}]}}]`, `[{"op":"add","path":"/list/-","value":[[]]}]`,
				`[{"op":"copy","from":"/list","path":"/b"},{"op":"add","path":"/b/0","value":"\n"}]`,
				`[{"op":"copy","from":"/list","path":"/list/-"},{"op":"add","path":"/list/0","value":{}}]`,
				`[{"op":"move","from":"/b","path":"/a"},{"op":"add","path":"/b","value":null}]`,
				`[{"op":"remove","path":"/list/0"},{"op":"add","path":"/list/-","value":1}]`,
			}).Draw(t, "patch")
			patch, problems := ParsePatch([]byte(text), PatchLimits{})
			if problems.HasErrors() {
				t.Fatal(problems)
			}
			next, failed := patch.Apply(v, PatchLimits{})
			if failed != nil {
				continue
			}
			v = next
			again, problem := Parse([]byte(v.String()), Limits{})
			if problem != nil {
				t.Fatal(problem)
			}
			if got, want := Size(v, math.MaxInt), Size(again, math.MaxInt); got != want {
				t.Fatalf("%s: got %d, want %d", v, got, want)
			}
		}
	})
}

func BenchmarkSizeOfPatched100KB(b *testing.B) {
	doc := tasksState(500)
	patch, _ := ParsePatch([]byte(`[{"op":"replace","path":"/tasks/250/status","value":"completed"}]`), PatchLimits{})
	Size(doc, math.MaxInt)
	for b.Loop() {
		next, _ := patch.Apply(doc, PatchLimits{})
		Size(next, math.MaxInt)
	}
}
