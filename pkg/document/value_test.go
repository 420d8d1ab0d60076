package document

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/randtest"
)

// must parses a text of a test.
func must(t interface {
	Helper()
	Fatal(...any)
}, text string,
) Value {
	t.Helper()
	v, problem := Parse([]byte(text), Limits{})
	if problem != nil {
		t.Fatal(text, problem)
	}
	return v
}

// TestEqual holds the JSON equality of S2.5.
func TestEqual(t *testing.T) {
	t.Parallel()
	same := [][2]string{
		{`1`, `1.0`},
		{`{"a":1,"b":[2.0]}`, `{"b":[2],"a":1e0}`},
		{`[]`, `[]`},
		{`{}`, `{}`},
		{`"é"`, `"\u00e9"`},
		{`null`, `null`},
	}
	for _, pair := range same {
		if !Equal(must(t, pair[0]), must(t, pair[1])) {
			t.Errorf("%s should equal %s", pair[0], pair[1])
		}
	}
	differ := [][2]string{
		{`1`, `"1"`},
		{`0`, `false`},
		{`null`, `false`},
		{`[]`, `{}`},
		{`[1,2]`, `[2,1]`},
		{`[1]`, `[1,1]`},
		{`{"a":1}`, `{"A":1}`},
		{`{"a":null}`, `{"b":null}`},
		{`{"a":null}`, `{}`},
		{`9007199254740992`, `9007199254740993`},
	}
	for _, pair := range differ {
		if Equal(must(t, pair[0]), must(t, pair[1])) {
			t.Errorf("%s should not equal %s", pair[0], pair[1])
		}
	}
	if !Equal(Value{}, Value{}) || Equal(Value{}, NullValue()) {
		t.Error("missing equals missing and nothing else")
	}
}

// TestMergeTop holds S2.3: shallow, at the top level, order kept, inputs
// unchanged.
func TestMergeTop(t *testing.T) {
	t.Parallel()
	big := `{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":10}`
	tests := []struct{ base, patch, want string }{
		{`{}`, `{}`, `{}`},
		{`{"a":1}`, `{}`, `{"a":1}`},
		{`{}`, `{"a":1}`, `{"a":1}`},
		{`{"a":{"x":1},"b":2}`, `{"a":{"y":2}}`, `{"a":{"y":2},"b":2}`},
		{`{"a":1}`, `{"a":null}`, `{"a":null}`},
		{`{"b":1,"a":2}`, `{"c":3,"b":4}`, `{"b":4,"a":2,"c":3}`},
		{big, `{"e":0,"z":1}`, `{"a":1,"b":2,"c":3,"d":4,"e":0,"f":6,"g":7,"h":8,"i":9,"j":10,"z":1}`},
	}
	for _, tt := range tests {
		base, patch := must(t, tt.base), must(t, tt.patch)
		if got := MergeTop(base, patch).String(); got != tt.want {
			t.Errorf("%s with %s: got %s, want %s", tt.base, tt.patch, got, tt.want)
		}
		if base.String() != tt.base || patch.String() != tt.patch {
			t.Errorf("an argument changed: %s, %s", base, patch)
		}
	}
	if got := MergeTop(Value{}, Value{}).String(); got != `{}` {
		t.Errorf("missing with missing: %s", got)
	}
}

func TestObjectValue(t *testing.T) {
	t.Parallel()
	names := strings.Split("a b c d e f g h i j k l", " ")
	var members []Member
	for _, n := range names {
		members = append(members, Member{n, StringValue(n)})
	}
	for size := range len(names) + 1 {
		v := ObjectValue(slices.Clone(members[:size]))
		if v.Len() != size {
			t.Errorf("Len %d, want %d", v.Len(), size)
		}
		for i, n := range names {
			got, ok := v.Get(n)
			if ok != (i < size) || ok && got.Str() != n {
				t.Errorf("size %d: Get(%s) = %s, %v", size, n, got, ok)
			}
		}
		repeated := ObjectValue(append(slices.Clone(members[:size]), Member{"a", StringValue("again")}))
		if first, _ := repeated.Get("a"); size > 0 && first.Str() != "a" {
			t.Errorf("size %d: the first of repeated members must count, got %s", size, repeated)
		}
	}
}

func TestAccessors(t *testing.T) {
	t.Parallel()
	v := must(t, `[null,true,1.5,"x",[1],{"k":2}]`)
	kinds := []Kind{Null, Bool, Number, String, Array, Object}
	for i, e := range v.Elements() {
		if e.Kind() != kinds[i] {
			t.Errorf("element %d is %v", i, e.Kind())
		}
	}
	if v.Index(1).Bool() != true || v.Index(2).Number() != "1.5" || v.Index(3).Str() != "x" || v.Index(4).Len() != 1 {
		t.Errorf("wrong values in %s", v)
	}
	for _, missing := range []Value{v.Index(-1), v.Index(6), v.Index(0).Index(0), {}} {
		if !missing.IsZero() || missing.Str() != "" || missing.Number() != "" || missing.Bool() || missing.Len() != 0 {
			t.Errorf("%v should be missing", missing)
		}
	}
	if _, ok := v.Get("k"); ok {
		t.Error("a list has no members")
	}
}

// TestLookup runs the examples of RFC 6901 section 5 and texts that are no pointers.
func TestLookup(t *testing.T) {
	t.Parallel()
	v := must(t, `{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8,"~1":9}`)
	tests := map[string]string{
		"": v.String(), "/foo": `["bar","baz"]`, "/foo/0": `"bar"`, "/": `0`, "/a~1b": `1`, "/c%d": `2`, "/e^f": `3`,
		"/g|h": `4`, "/i\\j": `5`, "/k\"l": `6`, "/m~0n": `8`, "/~01": `9`,
	}
	tests["/"+" "] = `7`
	for pointer, want := range tests {
		if got, ok := Lookup(v, pointer); !ok || got.String() != want {
			t.Errorf("%q: got %s %v, want %s", pointer, got, ok, want)
		}
	}
	for _, pointer := range []string{"foo", "/foo/2", "/foo/-", "/foo/00", "/foo/01", "/foo/+1", "/foo/0/x", "/nope", "/m~n", "/m~2n", "/foo/99999999999", "#/foo"} {
		if got, ok := Lookup(v, pointer); ok {
			t.Errorf("%q should name nothing, got %s", pointer, got)
		}
	}
}

func TestPointerRoundTrip(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(rapid.String(), 0, 5).Draw(t, "keys")
		v := StringValue("found")
		for _, k := range slices.Backward(keys) {
			v = ObjectValue([]Member{{k, v}})
		}
		if got, ok := Lookup(v, Pointer(keys...)); !ok || got.Str() != "found" {
			t.Fatalf("%q finds %s", Pointer(keys...), got)
		}
		var path *Path
		for _, k := range keys {
			path = path.Key(k)
		}
		if path.String() != Pointer(keys...) {
			t.Fatalf("path %q, pointer %q", path, Pointer(keys...))
		}
	})
}

// TestCanonical holds RFC 8785 and the one deviation from it.
func TestCanonical(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		`{"b":1,"a":2}`: `{"a":2,"b":1}`,
		// The example of RFC 8785 section 3.2.2.
		`{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`: `{"literals":[null,true,false],"numbers":[33333333333333329e-8,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		// Section 3.2.3: sorted by UTF-16 code units.
		`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`: "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}",
		`[1.0,-0,0.0,100,1e2]`:                                `[1,0,0,100,100]`,
		`[9007199254740993,9007199254740993.0]`:               `[9007199254740993,9007199254740993]`,
		`[0.1,0.10,0.1000000000000000055]`:                    `[0.1,0.1,1000000000000000055e-19]`,
		`[{"z":{"b":[],"a":{}}}]`:                             `[{"z":{"a":{},"b":[]}}]`,
		`[1e-400]`:                                            `[1e-400]`,
		`["\u007f\u2028<>&"]`:                                 "[\"\u007f\u2028<>&\"]",
		`[18446744073709551615,-9223372036854775808]`:         `[18446744073709551615,-9223372036854775808]`,
		`[1000000000000000000000000000000000000000000000001]`: `[1000000000000000000000000000000000000000000000001]`,
	}
	for src, want := range tests {
		if got := string(Canonical(must(t, src))); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
	a, b := must(t, `{"id":9007199254740993}`), must(t, `{"id":9007199254740992}`)
	if Digest(a) == Digest(b) {
		t.Error("two 64-bit ids have one digest")
	}
	if Digest(must(t, `{"a":1,"b":2}`)) != Digest(must(t, ` { "b":2.0, "a":1 } `)) {
		t.Error("one document has two digests")
	}
}

func TestProblemsSort(t *testing.T) {
	t.Parallel()
	var ps Problems
	for _, p := range []string{"/b", "/a/10", "/a/9", "", "/a", "/a/9/x", "/ab"} {
		ps = append(ps, Problem{Pointer: p})
	}
	ps.Sort()
	var got []string
	for _, p := range ps {
		got = append(got, p.Pointer)
	}
	want := []string{"", "/a", "/a/9", "/a/9/x", "/a/10", "/ab", "/b"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestProblemsErr(t *testing.T) {
	t.Parallel()
	warning := Problems{{Code: CodeNoEffect, Severity: SeverityWarning}}
	if warning.HasErrors() || warning.Err() != nil {
		t.Error("a warning is not an error")
	}
	if !warning.Strict().HasErrors() || warning[0].Severity != SeverityWarning {
		t.Error("strict makes a warning an error, in a copy")
	}
	unclear := Problems{{Pointer: "/x", Code: CodeType, Message: "m"}}
	if !unclear.HasErrors() || !strings.Contains(unclear.Err().Error(), "/x: TYPE: m") {
		t.Errorf("what is not a warning is an error, got %v", unclear.Err())
	}
}

func TestNearField(t *testing.T) {
	t.Parallel()
	known := []string{"allowed_tools", "guards", "deny", "on", "env", "max_iterations"}
	near := map[string]string{
		"alllowed_tools": "allowed_tools", "allowedTools": "allowed_tools", "Allowed_Tools": "allowed_tools", "allowed-tools": "allowed_tools",
		"gaurds": "guards", "guard": "guards", "denys": "deny", "ON": "on", "Env": "env", "max_iteration": "max_iterations",
		"allowed_tool_s": "allowed_tools", "allow_tools": "allowed_tools",
	}
	for name, want := range near {
		if got, ok := NearField(name, known); !ok || got != want {
			t.Errorf("%s: got %q %v, want %q", name, got, ok, want)
		}
	}
	for _, name := range []string{"", "model", "version", "description", "one", "end", "no", "thinking_level", "tags", "denied_by", strings.Repeat("x", 500)} {
		if got, ok := NearField(name, known); ok {
			t.Errorf("%s should not be near %s", name, got)
		}
	}
}
