package document

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// applyText applies the text of a patch to the text of a document. The error is
// an *InvalidError of the patch, or a *PatchError.
func applyText(t interface {
	Helper()
	Fatal(...any)
}, doc, patch string, limits PatchLimits,
) (Value, error) {
	t.Helper()
	p, problems := ParsePatch([]byte(patch), limits)
	if err := problems.Err(); err != nil {
		return Value{}, err
	}
	v, err := p.Apply(must(t, doc), limits)
	if err != nil {
		return Value{}, err
	}
	return v, nil
}

// ten has more members than an object without an index.
const ten = `{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":10}`

// TestPatchApply holds RFC 6902 and S10.3, S10.4: exact text, order of keys.
func TestPatchApply(t *testing.T) {
	t.Parallel()
	tests := []struct{ doc, patch, want string }{
		// add
		{`{"a":1}`, `[{"op":"add","path":"/b","value":null}]`, `{"a":1,"b":null}`},
		{`{"a":1,"b":2}`, `[{"op":"add","path":"/a","value":3}]`, `{"a":3,"b":2}`},
		{`[]`, `[{"op":"add","path":"/0","value":1}]`, `[1]`},
		{`[1,3]`, `[{"op":"add","path":"/1","value":2}]`, `[1,2,3]`},
		{`[1]`, `[{"op":"add","path":"/1","value":2}]`, `[1,2]`},
		{`[1]`, `[{"op":"add","path":"/-","value":[2,3]}]`, `[1,[2,3]]`},
		{`{"-":1}`, `[{"op":"add","path":"/-","value":2}]`, `{"-":2}`},
		{`{"0":{}}`, `[{"op":"add","path":"/0/00","value":2}]`, `{"0":{"00":2}}`},
		{`{"a":[[]]}`, `[{"op":"add","path":"/a/0/-","value":{}}]`, `{"a":[[{}]]}`},
		{`{}`, `[{"op":"add","path":"/","value":1}]`, `{"":1}`},
		{`{"":{}}`, `[{"op":"add","path":"//","value":1}]`, `{"":{"":1}}`},
		{`{"a":{}}`, `[{"op":"add","path":"/a/","value":1}]`, `{"a":{"":1}}`},
		{`1`, `[{"op":"add","path":"","value":{"a":1}}]`, `{"a":1}`},
		{`{"foo":1}`, `[{"op":"add","path":"/FOO","value":2}]`, `{"foo":1,"FOO":2}`},
		{ten, `[{"op":"add","path":"/k","value":11},{"op":"add","path":"/k","value":12}]`, strings.Replace(ten, `}`, `,"k":12}`, 1)},
		// remove
		{`{"a":1,"b":2,"c":3}`, `[{"op":"remove","path":"/b"}]`, `{"a":1,"c":3}`},
		{`[1,2,3,4]`, `[{"op":"remove","path":"/1"},{"op":"remove","path":"/2"}]`, `[1,3]`},
		{`[[1]]`, `[{"op":"remove","path":"/0/0"}]`, `[[]]`},
		{`{"a":{"b":1}}`, `[{"op":"remove","path":"/a/b"}]`, `{"a":{}}`},
		{ten, `[{"op":"remove","path":"/a"},{"op":"remove","path":"/j"}]`, `{"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9}`},
		{`{"a":1,"b":2}`, `[{"op":"remove","path":"/a"},{"op":"add","path":"/a","value":1}]`, `{"b":2,"a":1}`},
		{`{"a":{"b":1}}`, `[{"op":"remove","path":"/a/b"},{"op":"add","path":"/a/c","value":2}]`, `{"a":{"c":2}}`},
		// replace
		{`{"a":1,"b":2}`, `[{"op":"replace","path":"/a","value":{"x":[]}}]`, `{"a":{"x":[]},"b":2}`},
		{`[1,2]`, `[{"op":"replace","path":"/1","value":null}]`, `[1,null]`},
		{`[1,2]`, `[{"op":"replace","path":"","value":"x"}]`, `"x"`},
		{`{"a":null}`, `[{"op":"replace","path":"/a","value":false}]`, `{"a":false}`},
		{ten, `[{"op":"replace","path":"/e","value":"x"}]`, strings.Replace(ten, `5`, `"x"`, 1)},
		// move
		{`{"a":1,"b":2}`, `[{"op":"move","from":"/a","path":"/c"}]`, `{"b":2,"c":1}`},
		{`{"a":1,"b":2}`, `[{"op":"move","from":"/a","path":"/b"}]`, `{"b":1}`},
		{`{"a":1,"b":2}`, `[{"op":"move","from":"/a","path":"/a"}]`, `{"a":1,"b":2}`},
		{`{"a":1}`, `[{"op":"move","from":"","path":""}]`, `{"a":1}`},
		{`{"a":{"b":{"c":1}},"d":2}`, `[{"op":"move","from":"/a/b","path":"/a"}]`, `{"a":{"c":1},"d":2}`},
		{`{"a":{"b":1}}`, `[{"op":"move","from":"/a","path":""}]`, `{"b":1}`},
		{`{"a":1,"ab":{}}`, `[{"op":"move","from":"/a","path":"/ab/c"}]`, `{"ab":{"c":1}}`},
		{`[1,2,3]`, `[{"op":"move","from":"/0","path":"/2"}]`, `[2,3,1]`},
		{`[1,2,3]`, `[{"op":"move","from":"/0","path":"/-"}]`, `[2,3,1]`},
		{`[1,2,3]`, `[{"op":"move","from":"/2","path":"/0"}]`, `[3,1,2]`},
		{`[[1],2]`, `[{"op":"move","from":"/1","path":"/0/0"}]`, `[[2,1]]`},
		// copy
		{`{"a":[1]}`, `[{"op":"copy","from":"/a","path":"/b"},{"op":"add","path":"/b/-","value":2}]`, `{"a":[1],"b":[1,2]}`},
		{`{"a":[1]}`, `[{"op":"copy","from":"/a","path":"/b"},{"op":"add","path":"/a/-","value":2}]`, `{"a":[1,2],"b":[1]}`},
		{`{"a":[]}`, `[{"op":"add","path":"/a/-","value":1},{"op":"copy","from":"/a","path":"/b"},{"op":"add","path":"/a/-","value":2},{"op":"replace","path":"/b/0","value":3}]`, `{"a":[1,2],"b":[3]}`},
		{`{"a":{}}`, `[{"op":"copy","from":"","path":"/a/b"}]`, `{"a":{"b":{"a":{}}}}`},
		{`{"a":{"b":1}}`, `[{"op":"copy","from":"/a","path":""}]`, `{"b":1}`},
		{`[{"x":1}]`, `[{"op":"copy","from":"/0","path":"/-"},{"op":"remove","path":"/0/x"}]`, `[{},{"x":1}]`},
		// test
		{`{"a":1.0}`, `[{"op":"test","path":"/a","value":1},{"op":"replace","path":"/a","value":2.50}]`, `{"a":2.50}`},
		{`{"a":{"x":1,"y":[2e0]}}`, `[{"op":"test","path":"/a","value":{"y":[2],"x":1}}]`, `{"a":{"x":1,"y":[2e0]}}`},
		{`{"a":null}`, `[{"op":"test","path":"/a","value":null}]`, `{"a":null}`},
		{`{"a":1}`, `[{"op":"test","path":"","value":{"a":1}}]`, `{"a":1}`},
		{`{"1e0":"x"}`, `[{"op":"test","path":"/1e0","value":"x"}]`, `{"1e0":"x"}`},
		{`{"é":"\u00e9"}`, `[{"op":"test","path":"/\u00e9","value":"é"}]`, `{"é":"é"}`},
		// pointers
		{`{"/":9,"~1":10}`, `[{"op":"test","path":"/~01","value":10},{"op":"remove","path":"/~1"}]`, `{"~1":10}`},
		{`{"m~n":1,"a/b":2,"c%d":3}`, `[{"op":"remove","path":"/m~0n"},{"op":"remove","path":"/a~1b"},{"op":"replace","path":"/c%d","value":0}]`, `{"c%d":0}`},
		// the rest
		{`{}`, `[]`, `{}`},
		{`{"a":1}`, `[{"op":"remove","path":"/a","value":1,"xyz":2,"from":3}]`, `{}`},
		{`{"id":9007199254740993,"x":1.10}`, `[{"op":"move","from":"/id","path":"/key"}]`, `{"x":1.10,"key":9007199254740993}`},
		{`{}`, `[{"op":"add","path":"/n","value":18446744073709551616}]`, `{"n":18446744073709551616}`},
		{`{"a":[1,2],"b":{}}`, `[{"op":"add","path":"/a/0","value":0},{"op":"move","from":"/a","path":"/b/c"},{"op":"add","path":"/b/c/-","value":3},{"op":"remove","path":"/b/c/1"}]`, `{"b":{"c":[0,2,3]}}`},
	}
	for _, tt := range tests {
		got, err := applyText(t, tt.doc, tt.patch, PatchLimits{})
		if err != nil || got.String() != tt.want {
			t.Errorf("%s on %s: got %s, %v, want %s", tt.patch, tt.doc, got, err, tt.want)
		}
	}
}

// TestPatchErrors checks the refusals, their places, and that the message teaches.
func TestPatchErrors(t *testing.T) {
	t.Parallel()
	doc := `{"name":"x","none":null,"tasks":[{"status":"open"},2,3],"one":[1],"empty":[],"object":{},"long":"line one\n` + strings.Repeat("x", 100) +
		`","ones":[` + strings.Repeat("1,", 39) + `1],"number":1.` + strings.Repeat("1", 100) + `}`
	tests := []struct{ operation, code, pointer, message string }{
		{`{"op":"replace","path":"/nmae","value":1}`, CodePatchPathMissing, "/0/path", `did you mean "name"?`},
		{`{"op":"remove","path":"/tasks/0/stauts"}`, CodePatchPathMissing, "/0/path", `/tasks/0 has no member "stauts"; did you mean "status"?`},
		{`{"op":"remove","path":"/other"}`, CodePatchPathMissing, "/0/path", `it has "name", "none"`},
		{`{"op":"test","path":"/object/x","value":null}`, CodePatchPathMissing, "/0/path", `/object has no member "x"; it is empty`},
		{`{"op":"add","path":"/a/b","value":1}`, CodePatchPathMissing, "/0/path", `add /a first`},
		{`{"op":"add","path":"/name/b","value":1}`, CodePatchPathMissing, "/0/path", `/name is a string, which has no members`},
		{`{"op":"add","path":"/none/b","value":1}`, CodePatchPathMissing, "/0/path", `/none is null, which has no members`},
		{`{"op":"remove","path":"/name/0"}`, CodePatchPathMissing, "/0/path", `/name is a string`},
		{`{"op":"copy","from":"/a","path":"/b"}`, CodePatchPathMissing, "/0/from", `the document has no member "a"`},
		{`{"op":"move","from":"/a","path":"/a"}`, CodePatchPathMissing, "/0/from", `the document has no member "a"`},
		{`{"op":"add","path":"/tasks/4","value":1}`, CodePatchIndex, "/0/path", `/tasks has 3 elements; use /tasks/- to append`},
		{`{"op":"add","path":"/tasks/01","value":1}`, CodePatchIndex, "/0/path", `without leading zeros`},
		{`{"op":"add","path":"/tasks/03","value":1}`, CodePatchIndex, "/0/path", `without leading zeros`},
		{`{"op":"add","path":"/tasks/x","value":1}`, CodePatchIndex, "/0/path", `"x" is not an index of /tasks, a list of 3 elements; write 0 to 2`},
		{`{"op":"add","path":"/tasks/-1","value":1}`, CodePatchIndex, "/0/path", `not an index`},
		{`{"op":"add","path":"/tasks/+1","value":1}`, CodePatchIndex, "/0/path", `not an index`},
		{`{"op":"add","path":"/tasks/1e0","value":1}`, CodePatchIndex, "/0/path", `not an index`},
		{`{"op":"add","path":"/tasks/","value":1}`, CodePatchIndex, "/0/path", `"" is not an index`},
		{`{"op":"add","path":"/tasks/99999999999999999999","value":1}`, CodePatchIndex, "/0/path", `/tasks`},
		{`{"op":"add","path":"/tasks/-/x","value":1}`, CodePatchIndex, "/0/path", `names the position after the last, which is empty; write 0 to 2`},
		{`{"op":"replace","path":"/tasks/3","value":1}`, CodePatchIndex, "/0/path", `/tasks has 3 elements; write 0 to 2`},
		{`{"op":"replace","path":"/tasks/-","value":1}`, CodePatchIndex, "/0/path", "after the last, which is empty"},
		{`{"op":"remove","path":"/one/-"}`, CodePatchIndex, "/0/path", `/one has 1 element, and - names the position after the last, which is empty; write 0`},
		{`{"op":"remove","path":"/empty/0"}`, CodePatchIndex, "/0/path", `/empty has 0 elements`},
		{`{"op":"test","path":"/one/00","value":1}`, CodePatchIndex, "/0/path", `without leading zeros`},
		{`{"op":"copy","from":"/tasks/-","path":"/a"}`, CodePatchIndex, "/0/from", "after the last, which is empty"},
		{`{"op":"move","from":"/one/0","path":"/one/1"}`, CodePatchIndex, "/0/path", `/one has 0 elements; use /one/- to append`},
		{`{"op":"remove","path":""}`, CodePatchRoot, "/0/path", `replace it`},
		{`{"op":"move","from":"/tasks","path":"/tasks/0"}`, CodePatchMoveIntoSelf, "/0/path", `copy it instead`},
		{`{"op":"move","from":"","path":"/x"}`, CodePatchMoveIntoSelf, "/0/path", `copy it instead`},
		{`{"op":"test","path":"/name","value":"y"}`, CodePatchTestFailed, "/0/value", `the document has "x" there, not "y"`},
		{`{"op":"test","path":"/one","value":["1"]}`, CodePatchTestFailed, "/0/value", `has [1] there, not ["1"]`},
		{`{"op":"test","path":"/one","value":[1,1]}`, CodePatchTestFailed, "/0/value", `has [1] there`},
		{`{"op":"test","path":"/long","value":1}`, CodePatchTestFailed, "/0/value", `has "line one\nxxx`},
		{`{"op":"test","path":"/ones","value":1}`, CodePatchTestFailed, "/0/value", `has a list of 40 elements there, not 1`},
		{`{"op":"test","path":"/number","value":1}`, CodePatchTestFailed, "/0/value", `has 1.11111111111`},
		{`{"op":"test","path":"","value":{}}`, CodePatchTestFailed, "/0/value", `an object of 9`},
	}
	for _, tt := range tests {
		_, err := applyText(t, doc, "["+tt.operation+"]", PatchLimits{})
		var refused *PatchError
		if !errors.As(err, &refused) {
			t.Errorf("%s: got %v, want %s", tt.operation, err, tt.code)
			continue
		}
		problem := refused.Problem()
		if refused.Code != tt.code || problem.Pointer != tt.pointer || !strings.Contains(problem.Message, tt.message) {
			t.Errorf("%s: got %v, want %s at %s with %q", tt.operation, problem, tt.code, tt.pointer, tt.message)
		}
	}
}

// TestPatchNoDocument holds that a patch may make the first document, and
// has no other effect without one.
func TestPatchNoDocument(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[{"op":"add","path":"","value":{"a":1}}]`:   `{"a":1}`,
		`[{"op":"replace","path":"","value":[]}]`:    `[]`,
		`[{"op":"test","path":"","value":null}]`:     CodePatchPathMissing,
		`[{"op":"add","path":"/a","value":null}]`:    CodePatchPathMissing,
		`[{"op":"remove","path":"/a"}]`:              CodePatchPathMissing,
		`[{"op":"copy","from":"","path":""}]`:        CodePatchPathMissing,
		`[{"op":"replace","path":"/a","value":"x"}]`: CodePatchPathMissing,
	} {
		patch, problems := ParsePatch([]byte(text), PatchLimits{})
		if problems != nil {
			t.Fatal(problems)
		}
		got, err := patch.Apply(Value{}, PatchLimits{})
		if err == nil && got.String() != want || err != nil && (err.Code != want || !strings.Contains(err.Message, "no document")) {
			t.Errorf("%s: got %s, %v, want %s", text, got, err, want)
		}
	}
}

// TestPatchErrorNames holds that an error names its operation.
func TestPatchErrorNames(t *testing.T) {
	t.Parallel()
	_, err := applyText(t, `{"a":1}`, `[{"op":"remove","path":"/a"},{"op":"move","from":"/a","path":"/b"}]`, PatchLimits{})
	var refused *PatchError
	if !errors.As(err, &refused) || refused.Operation != 1 || refused.Op != "move" || refused.Path != "/a" {
		t.Fatalf("got %+v", err)
	}
	if p := refused.Problem(); p.Pointer != "/1/from" || p.Severity != SeverityError {
		t.Errorf("got %+v", p)
	}
	if want := `operation 1 (move "/a"): PATCH_PATH_MISSING: `; !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %s, want %s...", err, want)
	}
}

// TestPatchDepth holds that a result nests as deep as it may and no deeper,
// wherever the nesting comes from.
func TestPatchDepth(t *testing.T) {
	t.Parallel()
	limits := PatchLimits{Depth: 3}
	doc := `{"a":{"b":{}},"l":[[1]],"s":1}`
	for operation, fits := range map[string]bool{
		`{"op":"add","path":"/x","value":[[]]}`:            true,
		`{"op":"add","path":"/x","value":[[[]]]}`:          false,
		`{"op":"add","path":"/a/b/x","value":1}`:           true,
		`{"op":"add","path":"/a/b/x","value":{}}`:          false,
		`{"op":"replace","path":"","value":[[[1]]]}`:       true,
		`{"op":"replace","path":"/a","value":[[[1]]]}`:     false,
		`{"op":"replace","path":"","value":[1,[[[1]]]]}`:   false,
		`{"op":"copy","from":"/l","path":"/a/x"}`:          false,
		`{"op":"copy","from":"/l/0","path":"/a/x"}`:        true,
		`{"op":"move","from":"/l","path":"/a/x"}`:          false,
		`{"op":"move","from":"/l/0","path":"/a/x"}`:        true,
		`{"op":"move","from":"/l","path":"/x"}`:            true,
		`{"op":"move","from":"/s","path":"/a/b/x"}`:        true,
		`{"op":"test","path":"/s","value":1}`:              true,
		`{"op":"add","path":"/l/0/-","value":[]}`:          false,
		`{"op":"add","path":"/l/-","value":[{"a":"[[["}]}`: false,
		`{"op":"add","path":"/l/-","value":{"a":"[[["}}`:   true,
	} {
		_, err := applyText(t, doc, "["+operation+"]", limits)
		var refused *PatchError
		if errors.As(err, &refused) && refused.Code != CodeTooDeep {
			t.Errorf("%s: %v", operation, err)
		}
		if (err == nil) != fits {
			t.Errorf("%s: got %v, should fit: %v", operation, err, fits)
		}
	}
}

// TestPatchBytes holds that the written bytes are bounded, exactly.
func TestPatchBytes(t *testing.T) {
	t.Parallel()
	for operations, fits := range map[string]bool{
		`{"op":"add","path":"/x","value":"123456"}`:                                              true, // 8 bytes
		`{"op":"add","path":"/x","value":"1234567"}`:                                             false,
		`{"op":"replace","path":"/a","value":[1,2,34]}`:                                          true,
		`{"op":"replace","path":"","value":{"b":123}}`:                                           false,
		`{"op":"add","path":"/x","value":[1,2]},{"op":"remove","path":"/x"}`:                     true,
		`{"op":"add","path":"/x","value":[1,2]},{"op":"add","path":"/x","value":[1]}`:            true,
		`{"op":"add","path":"/x","value":[1,2]},{"op":"add","path":"/x","value":[12]}`:           false,
		`{"op":"copy","from":"/a","path":"/b"},{"op":"copy","from":"/a","path":"/c"}`:            true, // 4 bytes each
		`{"op":"copy","from":"/a","path":"/b"},{"op":"copy","from":"/b","path":"/a/-"}`:          true,
		`{"op":"copy","from":"/a","path":"/a/-"},{"op":"copy","from":"/a","path":"/c"}`:          false,
		`{"op":"move","from":"/l","path":"/b"},{"op":"test","path":"/b","value":"long enough"}`:  true,
		`{"op":"copy","from":"/l","path":"/b"}`:                                                  false,
		`{"op":"test","path":"/a","value":[11]},{"op":"test","path":"/l","value":"long enough"}`: true,
	} {
		_, err := applyText(t, `{"a":[11],"l":"long enough"}`, "["+operations+"]", PatchLimits{Bytes: 8, Text: 1000})
		var refused *PatchError
		if errors.As(err, &refused) && refused.Code != CodePatchTooLarge {
			t.Errorf("%s: %v", operations, err)
		}
		if (err == nil) != fits {
			t.Errorf("%s: got %v, should fit: %v", operations, err, fits)
		}
	}
}

// TestPatchBombs holds that small texts cannot do large work.
func TestPatchBombs(t *testing.T) {
	t.Parallel()
	list := "[" + strings.Repeat("1,", 100_000) + "1]"
	wide := "{" + members(20_000) + "}"
	many := func(operation string) string { return "[" + strings.Repeat(operation+",", 9_999) + operation + "]" }
	tests := map[string]struct{ doc, patch, code string }{
		"doubling": {
			`{"a":["` + strings.Repeat("x", 1000) + `"]}`,
			"[" + strings.Repeat(`{"op":"copy","from":"/a","path":"/a/-"},`, 99) + `{"op":"copy","from":"/a","path":"/a/-"}]`, CodePatchTooLarge,
		},
		"doubling of nothing":         {`{"a":[]}`, many(`{"op":"copy","from":"/a","path":"/a/-"}`), CodePatchTooLarge},
		"inserts at the front":        {list, many(`{"op":"add","path":"/0","value":1}`), CodePatchTooCostly},
		"removals at the front":       {list, many(`{"op":"remove","path":"/0"}`), CodePatchTooCostly},
		"moves from front to end":     {list, many(`{"op":"move","from":"/0","path":"/-"}`), CodePatchTooCostly},
		"reads of the whole":          {list, many(`{"op":"test","path":"","value":` + "1" + `}`), CodePatchTestFailed},
		"members that come and go":    {wide, many(`{"op":"remove","path":"/k19999"},{"op":"add","path":"/k19999","value":1}`), CodeTooMany},
		"copies of an edited list":    {`{"l":` + list + `}`, many(`{"op":"copy","from":"/l/0","path":"/l/0"}`), CodePatchTooCostly},
		"lists that nest and move on": {`{"a":{"l":` + list + `},"b":{"c":{}}}`, "[" + strings.Repeat(`{"op":"move","from":"/a/l","path":"/b/c/l"},{"op":"move","from":"/b/c/l","path":"/a/l"},`, 4_999) + `{"op":"remove","path":"/a"}]`, CodePatchTooCostly},
		"copies into a wide object":   {`{"s":{},"w":` + wide + `}`, "[" + strings.Repeat(`{"op":"add","path":"/s/x","value":1},{"op":"copy","from":"/s","path":"/w/k1"},{"op":"add","path":"/s/x","value":2},{"op":"copy","from":"/s","path":"/w/k1"},`, 2_499) + `{"op":"remove","path":"/s"}]`, CodePatchTooCostly},
		"long numbers read again":     {"[" + strings.Repeat("1."+strings.Repeat("0", 1_000)+",", 49) + "1]", many(`{"op":"test","path":"","value":[` + strings.Repeat("1,", 49) + `1]}`), CodePatchTooCostly},
		"a wide object, last to go":   {wide, "[" + strings.Repeat(`{"op":"remove","path":"/k19999"},{"op":"add","path":"/k19999","value":1},`, 4_999) + `{"op":"remove","path":"/k1"}]`, CodePatchTooCostly},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := applyText(t, tt.doc, tt.patch, PatchLimits{Work: 1 << 22})
			var refused *PatchError
			var invalid *InvalidError
			switch {
			case errors.As(err, &refused) && refused.Code == tt.code:
			case errors.As(err, &invalid) && invalid.Problems[0].Code == tt.code:
			default:
				t.Errorf("got %v, want %s", err, tt.code)
			}
		})
	}
}

func members(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"k%d":%d`, i, i)
	}
	return b.String()
}

// TestPatchMany holds that thousands of operations on one list or object, as an
// agent may send them, are within the limits.
func TestPatchMany(t *testing.T) {
	t.Parallel()
	list, object := must(t, `[]`), must(t, `{`+members(2_000)+`}`)
	var appends, changes []string
	for i := range 2_000 {
		appends = append(appends, `{"op":"add","path":"/0","value":1},{"op":"add","path":"/-","value":2}`)
		changes = append(changes, fmt.Sprintf(`{"op":"remove","path":"/k%d"},{"op":"add","path":"/n%d","value":1}`, i, i))
	}
	for doc, operations := range map[Value][]string{list: appends, object: changes} {
		patch, problems := ParsePatch([]byte("["+strings.Join(operations, ",")+"]"), PatchLimits{})
		if problems != nil {
			t.Fatal(problems)
		}
		got, err := patch.Apply(doc, PatchLimits{})
		if err != nil {
			t.Fatal(err)
		}
		if got.Len() != doc.Len()+4_000 && got.Len() != doc.Len() {
			t.Errorf("%d became %d", doc.Len(), got.Len())
		}
		if doc.Kind() == Object {
			if one, ok := got.Get("n1999"); !ok || one.Number() != "1" || got.tree.index == nil {
				t.Error("the index is not that of the members")
			}
		}
	}
}
