package document

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/randtest"
)

// drawValue draws a document of few names and values, so that two of them have
// much in common.
func drawValue(t *rapid.T, depth int) Value {
	kinds := 9
	if depth == 0 {
		kinds = 5
	}
	switch rapid.IntRange(0, kinds).Draw(t, "kind") {
	case 0:
		return NullValue()
	case 1:
		return BoolValue(rapid.Bool().Draw(t, "bool"))
	case 2, 3:
		return NumberValue(rapid.SampledFrom([]string{"0", "1", "1.0", "10e-1", "-2", "9007199254740993", "0.10"}).Draw(t, "number"))
	case 4, 5:
		return StringValue(rapid.SampledFrom([]string{"", "x", "é", "\"\n\x01", "a longer text"}).Draw(t, "text"))
	case 6, 7:
		var elements []Value
		for range rapid.IntRange(0, 5).Draw(t, "elements") {
			elements = append(elements, drawValue(t, depth-1))
		}
		return ArrayValue(elements)
	default:
		most := rapid.SampledFrom([]int{3, 5, 14}).Draw(t, "most")
		var members []Member
		for range rapid.IntRange(0, most).Draw(t, "members") {
			members = append(members, Member{drawName(t), drawValue(t, depth-1)})
		}
		return ObjectValue(members)
	}
}

func drawName(t *rapid.T) string {
	return rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "", "0", "1", "-", "a/b", "m~n", "~1", "é", "\""}).Draw(t, "name")
}

// drawEdited draws a document after some edits: parts are
// shared with it, changed, left out, put in or swapped.
func drawEdited(t *rapid.T, v Value) Value {
	if v.Kind() != Array && v.Kind() != Object {
		if rapid.IntRange(0, 3).Draw(t, "change") == 0 {
			return drawValue(t, 1)
		}
		return v
	}
	switch rapid.IntRange(0, 5).Draw(t, "edit") {
	case 0, 1:
		return v
	case 2:
		return drawValue(t, 2)
	}
	var elements []Value
	var members []Member
	insert := func() {
		if rapid.IntRange(0, 5).Draw(t, "insert") == 0 {
			elements = append(elements, drawValue(t, 1))
			members = append(members, Member{drawName(t), drawValue(t, 1)})
		}
	}
	for _, e := range v.Elements() {
		insert()
		if rapid.IntRange(0, 5).Draw(t, "keep") > 0 {
			elements = append(elements, drawEdited(t, e))
		}
	}
	for name, m := range v.Members() {
		if rapid.IntRange(0, 5).Draw(t, "keep") > 0 {
			members = append(members, Member{name, drawEdited(t, m)})
		}
	}
	insert()
	if v.Kind() == Array {
		return ArrayValue(elements)
	}
	if n := len(members); n > 1 && rapid.IntRange(0, 8).Draw(t, "swap") == 0 {
		members[0], members[n-1] = members[n-1], members[0]
	}
	return ObjectValue(members)
}

// TestDiffRestores holds that a diff gives the very text of the later document,
// is no longer than a replacement, survives being written and read, and leaves
// the shared parts alone.
func TestDiffRestores(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		before := drawValue(t, 3)
		after := drawEdited(t, before)
		text := before.String()
		patch := Diff(before, after)
		got, err := patch.Apply(before, PatchLimits{})
		if err != nil {
			t.Fatalf("%s to %s by %s: %v", before, after, patch, err)
		}
		if got.String() != after.String() {
			t.Fatalf("%s by %s: got %s, want %s", before, patch, got, after)
		}
		if before.String() != text {
			t.Fatalf("%s became %s", text, before)
		}
		if whole := len(`[{"op":"replace","path":"","value":}]`) + len(after.String()); len(patch.String()) > whole {
			t.Fatalf("%s has %d bytes, a replacement has %d", patch, len(patch.String()), whole)
		}
		again, problems := ParsePatch([]byte(patch.String()), PatchLimits{})
		if problems != nil || again.String() != patch.String() {
			t.Fatalf("%s is read as %v, %v", patch, again, problems)
		}
		if text == after.String() != (patch.Len() == 0) {
			t.Fatalf("%s to %s has %d operations", text, after, patch.Len())
		}
	})
}

// TestDiff checks the form of the patches.
func TestDiff(t *testing.T) {
	t.Parallel()
	tests := []struct{ before, after, want string }{
		{`{"a":1}`, `{"a":1}`, `[]`},
		{`[]`, `[]`, `[]`},
		{`1`, `1.0`, `[{"op":"replace","path":"","value":1.0}]`},
		{`{"status":"open","n":1,"more":"and more and more"}`, `{"status":"done","n":1,"more":"and more and more"}`, `[{"op":"replace","path":"/status","value":"done"}]`},
		{`{"status":"a longer text than an operation has","n":1}`, `{"status":"a longer text than an operation has","n":1.0}`, `[{"op":"replace","path":"/n","value":1.0}]`},
		{`{"text":"a longer text than an operation has"}`, `{"text":"a longer text than an operation has","b/c":null}`, `[{"op":"add","path":"/b~1c","value":null}]`},
		{`{"b":null,"text":"a longer text than an operation has"}`, `{"text":"a longer text than an operation has"}`, `[{"op":"remove","path":"/b"}]`},
		{`{"b":1,"a":{"c":2,"d":3}}`, `{"b":1,"a":{"d":3,"c":2}}`, `[{"op":"replace","path":"/a","value":{"d":3,"c":2}}]`},
		{`{"b":1,"text":"a longer text than two operations will have, and some more of it"}`, `{"text":"a longer text than two operations will have, and some more of it","b":1}`, `[{"op":"remove","path":"/b"},{"op":"add","path":"/b","value":1}]`},
		{`{"b":1,"a":2}`, `{"a":2,"b":1}`, `[{"op":"replace","path":"","value":{"a":2,"b":1}}]`},
		{`{"b":1,"a":2}`, `{"b":1,"x":0,"a":2}`, `[{"op":"replace","path":"","value":{"b":1,"x":0,"a":2}}]`},
		{`{"text":"a longer text than an operation has","a":{"c":2,"d":3}}`, `{"text":"a longer text than an operation has","a":{"d":3,"c":2}}`, `[{"op":"replace","path":"/a","value":{"d":3,"c":2}}]`},
		{`["one of the tasks","another task","a third","and a last"]`, `["one of the tasks","another task","a third","and a last",5]`, `[{"op":"add","path":"/4","value":5}]`},
		{`["one of the tasks","another task","a third","and a last"]`, `["one of the tasks","another task","and a last"]`, `[{"op":"remove","path":"/2"}]`},
		{`["one of the tasks","another task","a third","and a last"]`, `[0,"one of the tasks","another task","a third","and a last"]`, `[{"op":"add","path":"/0","value":0}]`},
		{`[["one of the tasks","another task"],["a third","and a last one"],1,2,3]`, `[["one of the tasks","another task"],["a third","and a last one"],3]`, `[{"op":"remove","path":"/3"},{"op":"remove","path":"/2"}]`},
		{`[{"name":"one","status":["open"]},{"name":"two"},{"name":"three","status":["open"]}]`, `[{"name":"one","status":["open"]},{"name":"three","status":["open"]}]`, `[{"op":"remove","path":"/1"}]`},
		{`[{"name":"one","status":["open"],"n":1},{"name":"three","status":["open"]}]`, `[{"name":"one","status":["open"],"n":1.0},{"name":"three","status":["open"]},2]`, `[{"op":"replace","path":"/0/n","value":1.0},{"op":"add","path":"/2","value":2}]`},
		{`[["the first list has this",1],["the second list has this",2],3]`, `[["the first list has this",1],["the second list has that",2],3,4]`, `[{"op":"replace","path":"/1/0","value":"the second list has that"},{"op":"add","path":"/3","value":4}]`},
		{`{"tasks":[{"name":"one","status":"open"},{"name":"two","status":"open"}],"n":1}`, `{"tasks":[{"name":"one","status":"done"},{"name":"two","status":"open"}],"n":1}`, `[{"op":"replace","path":"/tasks/0/status","value":"done"}]`},
	}
	for _, tt := range tests {
		if got := Diff(must(t, tt.before), must(t, tt.after)).String(); got != tt.want {
			t.Errorf("%s to %s: got %s, want %s", tt.before, tt.after, got, tt.want)
		}
	}
	if got := Diff(Value{}, must(t, `{}`)).String(); got != `[{"op":"replace","path":"","value":{}}]` {
		t.Errorf("from nothing: %s", got)
	}
}

// TestDiffLarge holds that diffs of large documents stay within the limits of
// patches, in operations, in work and in text.
func TestDiffLarge(t *testing.T) {
	t.Parallel()
	ones, twos := strings.Repeat("1,", 100_000)+"1", strings.Repeat("2,", 100_000)+"2"
	name := strings.Repeat("k", 300_000)
	most := members(20_000)
	wide, narrow := "{"+most+"}", `{"k19999":19999}`
	changed := strings.ReplaceAll(wide, "9,", "9.0,")
	pair := `["a text that is long enough to be worth more than an operation",1],`
	pairs := "[" + strings.Repeat(pair, 11_000) + "1]"
	for i, pair := range [][2]string{
		{pairs, strings.ReplaceAll(pairs, "1]", "2]")},
		{`{"p":` + pairs + `,"q":1}`, strings.ReplaceAll(`{"p":`+pairs+`,"q":2}`, "1]", "1.0]")},
		{"[" + strings.Repeat("3,", 1_000) + ones + "]", "[" + ones + "]"},
		{"[" + ones + "]", "[" + strings.Repeat("3,", 1_000) + ones + "]"},
		{wide, strings.Replace(wide, `"k0":0,`, "", 1)},
		{wide, "{" + most[len(members(1_000))+1:] + "}"},
		{"[" + ones + "]", "[" + twos + "]"},
		{"[" + ones + "]", "[" + strings.Repeat("3,", 9_000) + ones + "]"},
		{"[" + strings.Repeat("3,", 9_000) + ones + "]", "[" + ones + "]"},
		{`{"` + name + `":[` + ones + `]}`, `{"` + name + `":[` + twos + `]}`},
		{wide, narrow},
		{narrow, wide},
		{wide, changed},
		{`{"keep":[` + ones + `],"w":` + wide + `}`, `{"keep":[` + ones + `],"w":` + changed + `}`},
	} {
		before, after := must(t, pair[0]), must(t, pair[1])
		patch := Diff(before, after)
		if patch.Len() > MaxPatchOperations {
			t.Errorf("%d: %d operations", i, patch.Len())
		}
		again, problems := ParsePatch(patch.AppendJSON(nil), PatchLimits{})
		if problems != nil {
			t.Fatalf("%d: %v", i, problems)
		}
		got, err := again.Apply(before, PatchLimits{})
		if err != nil || got.String() != after.String() {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// TestDiffShares holds that a diff does not look into shared parts: it finds
// no difference in a tree that is not even well formed.
func TestDiffShares(t *testing.T) {
	t.Parallel()
	shared := Value{kind: Object, tree: &tree{members: []Member{{"same", Value{}}, {"same", Value{}}}}}
	before := ObjectValue([]Member{{"s", shared}, {"n", NumberValue("1")}})
	after := ObjectValue([]Member{{"s", shared}, {"n", NumberValue("2")}, {"t", StringValue(strings.Repeat("long ", 20))}})
	if got := Diff(before, after); got.Len() != 2 {
		t.Errorf("got %s", got)
	}
}

// TestIndexWidth holds that the sizes of a diff are exact.
func TestIndexWidth(t *testing.T) {
	t.Parallel()
	for _, i := range []int{0, 9, 10, 99, 100, 12345} {
		if got, want := indexWidth(i), len("/"+strconv.Itoa(i)); got != want {
			t.Errorf("%d: got %d, want %d", i, got, want)
		}
	}
	randtest.Check(t, func(t *rapid.T) {
		name := rapid.String().Draw(t, "name")
		if got, want := segmentWidth(name), len(StringValue(Pointer(name)).String())-len(`""`); got != want {
			t.Fatalf("%q: got %d, want %d", name, got, want)
		}
		before := drawValue(t, 3)
		after := drawEdited(t, before)
		var d differ
		d.value(nil, len(`""`), before, after)
		if got, want := d.size+len("[]"), len(Diff(before, after).String()); len(d.changes) > 0 && got != want+1 { // the comma after the last
			t.Fatalf("%s to %s: got %d, want %d", before, after, got, want)
		}
	})
}

func BenchmarkDiff(b *testing.B) {
	for _, n := range []int{5, 500} {
		before, after := tasksState(n), must(b, strings.Replace(tasksState(n).String(), `"assigned_to":null`, `"assigned_to":"writer"`, 1))
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Diff(before, after)
			}
		})
	}
}
