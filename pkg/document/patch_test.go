package document

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/randtest"
)

// TestParsePatch checks texts that are no patches, and that every problem is reported.
func TestParsePatch(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{ // text to pointer and code of each problem
		`{"op":"remove","path":"/a"}`:                                          {" TYPE"},
		`null`:                                                                 {" TYPE"},
		`[1,{"op":"remove","path":"/a"},null]`:                                 {"/0 TYPE", "/2 TYPE"},
		`[{"path":"/a"}]`:                                                      {"/0/op REQUIRED"},
		`[{"op":null,"path":"/a"}]`:                                            {"/0/op TYPE"},
		`[{"op":"Add","path":"/a","value":1}]`:                                 {"/0/op ENUM"},
		`[{"op":"add","value":1}]`:                                             {"/0/path REQUIRED"},
		`[{"op":"add","path":null,"value":1}]`:                                 {"/0/path TYPE"},
		`[{"op":"add","path":"a","value":1}]`:                                  {"/0/path POINTER"},
		`[{"op":"add","path":"#/a","value":1}]`:                                {"/0/path POINTER"},
		`[{"op":"add","path":"/a~","value":1}]`:                                {"/0/path POINTER"},
		`[{"op":"add","path":"/a~2","value":1}]`:                               {"/0/path POINTER"},
		`[{"op":"add","path":"/a"}]`:                                           {"/0/value REQUIRED"},
		`[{"op":"replace","path":"/a"}]`:                                       {"/0/value REQUIRED"},
		`[{"op":"test","path":"/a"}]`:                                          {"/0/value REQUIRED"},
		`[{"op":"test","path":"/a","Value":1}]`:                                {"/0/value REQUIRED"},
		`[{"op":"move","path":"/a"}]`:                                          {"/0/from REQUIRED"},
		`[{"op":"copy","path":"a","from":7}]`:                                  {"/0/from TYPE", "/0/path POINTER"},
		`[{"op":"copy","path":"/a","from":"b"}]`:                               {"/0/from POINTER"},
		`[{"op":"remove","path":"/a"},{"op":"x"},{"op":"move"}]`:               {"/1/op ENUM", "/2/from REQUIRED", "/2/path REQUIRED"},
		`[{"op":"add","op":"remove","path":"/a"}]`:                             {"/0/op DUPLICATE_KEY", "/0/value REQUIRED"},
		`[{"op":"remove","path":"/a","path":"/b"}]`:                            {"/0/path DUPLICATE_KEY"},
		`[{"op":"add","path":"/a","value":{"x":1,"x":2}}]`:                     {"/0/value/x DUPLICATE_KEY"},
		`[{"op":"add","path":"/a","value":1e999}]`:                             {"/0/value NUMBER"},
		`[{"op":"remove","path":"/a"}] x`:                                      {" JSON_SYNTAX"},
		``:                                                                     {" JSON_SYNTAX"},
		`[` + strings.Repeat(`{"op":"remove","path":"/a"},`, 10_000) + `null]`: {" TOO_MANY"},
	}
	for text, want := range tests {
		patch, problems := ParsePatch([]byte(text), PatchLimits{})
		var got []string
		for _, p := range problems {
			got = append(got, p.Pointer+" "+p.Code)
		}
		if patch != nil || !slices.Equal(got, want) {
			t.Errorf("%.60s: got %q, want %q", text, got, want)
		}
	}
	if _, problems := ParsePatch([]byte(`[{"op":"Replace","path":"/a","value":1}]`), PatchLimits{}); !strings.Contains(problems[0].Message, `did you mean "replace"?`) {
		t.Errorf("got %s", problems[0].Message)
	}
}

// TestParsePatchLimits holds that a patch may carry a value as deep as the
// document may be, and the bounds.
func TestParsePatchLimits(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", DefaultDepth) + strings.Repeat("]", DefaultDepth)
	if got, err := applyText(t, `{}`, `[{"op":"replace","path":"","value":`+deep+`}]`, PatchLimits{}); err != nil || got.String() != deep {
		t.Errorf("a value of the deepest: %v", err)
	}
	for text, limits := range map[string]PatchLimits{
		`[{"op":"remove","path":"/a"}]`:                             {Text: 28},
		`[{"op":"remove","path":"/a"},{"op":"remove","path":"/b"}]`: {Operations: 1},
		`[{"op":"test","path":"/a","value":[[]]}]`:                  {Depth: 1},
	} {
		if _, problems := ParsePatch([]byte(text), limits); !problems.HasErrors() {
			t.Errorf("%s should be beyond %+v", text, limits)
		}
	}
	full := `[` + strings.Repeat(`{"op":"test","path":"","value":1},`, 9_999) + `{"op":"test","path":"","value":1}]`
	if patch, problems := ParsePatch([]byte(full), PatchLimits{}); problems != nil || patch.Len() != 10_000 {
		t.Errorf("ten thousand operations: %v", problems)
	}
}

// TestPatchText holds that a patch is written without superfluous members,
// with values as they were (S10.4).
func TestPatchText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[]`: `[]`,
		`[ { "value" : 1.0 , "path" : "\u002fa" , "op" : "add" , "note" : "x" } ]`:   `[{"op":"add","path":"/a","value":1.0}]`,
		`[{"path":"/b","from":"/a","op":"move","value":1}]`:                          `[{"op":"move","from":"/a","path":"/b"}]`,
		`[{"path":"/\"\n","from":"/a~1b","op":"copy"}]`:                              `[{"op":"copy","from":"/a~1b","path":"/\"\n"}]`,
		`[{"op":"remove","path":"/a","value":1,"from":"/b"}]`:                        `[{"op":"remove","path":"/a"}]`,
		`[{"op":"test","path":"","value":{"b":9007199254740993,"a":null}}]`:          `[{"op":"test","path":"","value":{"b":9007199254740993,"a":null}}]`,
		`[{"op":"replace","path":"/a","value":"\u00e9"},{"op":"remove","path":"/"}]`: `[{"op":"replace","path":"/a","value":"é"},{"op":"remove","path":"/"}]`,
	} {
		patch, problems := ParsePatch([]byte(text), PatchLimits{})
		if problems != nil {
			t.Fatalf("%s: %v", text, problems)
		}
		if got := patch.String(); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
		read, problems := PatchOf(must(t, text))
		if written, err := read.MarshalJSON(); problems != nil || err != nil || string(written) != want {
			t.Errorf("%s as a value: got %s, %v, want %s", text, written, problems, want)
		}
	}
	if patch, problems := PatchOf(Value{}); patch != nil || len(problems) != 1 || problems[0].Code != CodeType {
		t.Errorf("no value: got %v", problems)
	}
}

func TestPatchTouched(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`[]`:                                    nil,
		`[{"op":"test","path":"/a","value":1}]`: nil,
		`[{"op":"add","path":"/b","value":1},{"op":"remove","path":"/a"},{"op":"remove","path":"/b"}]`:         {"/b", "/a"},
		`[{"op":"move","from":"/a","path":"/b"},{"op":"copy","from":"/c","path":"/d"}]`:                        {"/a", "/b", "/d"},
		`[{"op":"remove","path":"/a/b/c"},{"op":"remove","path":"/a/b"},{"op":"remove","path":"/a"}]`:          {"/a"},
		`[{"op":"remove","path":"/a"},{"op":"remove","path":"/a/b"},{"op":"remove","path":"/ab"}]`:             {"/a", "/ab"},
		`[{"op":"remove","path":"/a/b"},{"op":"remove","path":"/a!"},{"op":"remove","path":"/a"}]`:             {"/a!", "/a"},
		`[{"op":"remove","path":"/a~1b"},{"op":"remove","path":"/a"},{"op":"add","path":"/a~1b/-","value":1}]`: {"/a~1b", "/a"},
		`[{"op":"remove","path":"/x"},{"op":"replace","path":"","value":1}]`:                                   {""},
		`[{"op":"remove","path":"//a"},{"op":"remove","path":"/"}]`:                                            {"/"},
	} {
		patch, problems := ParsePatch([]byte(text), PatchLimits{})
		if problems != nil {
			t.Fatalf("%s: %v", text, problems)
		}
		if got := patch.Touched(); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// drawPatch draws operations whose pointers mostly lead somewhere in v.
func drawPatch(t *rapid.T, v Value, most int) string {
	var operations []string
	for range rapid.IntRange(1, most).Draw(t, "operations") {
		path, from := quotePointer(drawPointer(t, v)), quotePointer(drawPointer(t, v))
		value := drawValue(t, 2).String()
		if found, ok := Lookup(v, strings.Trim(path, `"`)); ok && rapid.Bool().Draw(t, "same") {
			value = found.String()
		}
		op := rapid.SampledFrom([]string{"add", "add", "remove", "replace", "replace", "move", "copy", "test"}).Draw(t, "op")
		operations = append(operations, fmt.Sprintf(`{"op":%q,"path":%s,"from":%s,"value":%s}`, op, path, from, value))
	}
	return "[" + strings.Join(operations, ",") + "]"
}

func quotePointer(pointer string) string { return StringValue(pointer).String() }

func drawPointer(t *rapid.T, v Value) string {
	pointer := ""
	for range 4 {
		if rapid.IntRange(0, 3).Draw(t, "stop") == 0 {
			break
		}
		var names []string
		for name := range v.Members() {
			names = append(names, name)
		}
		for i := range v.Elements() {
			names = append(names, fmt.Sprint(i))
		}
		if len(names) == 0 || rapid.IntRange(0, 4).Draw(t, "elsewhere") == 0 {
			return pointer + Pointer(rapid.SampledFrom([]string{"new", "-", "0", "01", "a", ""}).Draw(t, "name"))
		}
		pointer += Pointer(rapid.SampledFrom(names).Draw(t, "name"))
		v, _ = Lookup(v, "/"+pointer[strings.LastIndex(pointer, "/")+1:])
	}
	return pointer
}

// TestPatchAtomic holds that a patch leaves its document alone, that it can be
// applied again, and that a failure in the middle gives no result.
func TestPatchAtomic(t *testing.T) {
	t.Parallel()
	applied, refused := 0, 0
	randtest.Check(t, func(t *rapid.T) {
		doc := drawValue(t, 3)
		text := drawPatch(t, doc, 4)
		before := snapshot(doc)
		patch, problems := ParsePatch([]byte(text), PatchLimits{})
		if problems != nil {
			t.Fatalf("%s: %v", text, problems)
		}
		first, err := patch.Apply(doc, PatchLimits{})
		if before != snapshot(doc) {
			t.Fatalf("%s changed its document from %s to %s", text, before, snapshot(doc))
		}
		second, again := patch.Apply(doc, PatchLimits{})
		if (err == nil) != (again == nil) || first.String() != second.String() {
			t.Fatalf("%s on %s: first %s, %v, then %s, %v", text, doc, first, err, second, again)
		}
		if err != nil {
			refused++
			if !first.IsZero() {
				t.Fatalf("%s failed and gave %s", text, first)
			}
			return
		}
		applied++
		checkTrees(t, first)
		checkAgainstParts(t, doc, patch, first)
	})
	if applied == 0 || refused == 0 {
		t.Errorf("%d patches were applied, %d refused: both should be drawn", applied, refused)
	}
}

// snapshot is a text of everything in a document, its indexes included.
func snapshot(v Value) string {
	text := v.String()
	walk(v, func(v Value) {
		if v.tree != nil {
			text += fmt.Sprint(" ", v.Len(), v.tree.index) // maps are printed in order
		}
	})
	return text
}

func walk(v Value, visit func(Value)) {
	visit(v)
	for _, e := range v.Elements() {
		walk(e, visit)
	}
	for _, m := range v.Members() {
		walk(m, visit)
	}
}

// checkTrees checks a document against the promises of the constructors.
func checkTrees(t *rapid.T, v Value) {
	walk(v, func(v Value) {
		if v.tree == nil {
			return
		}
		rebuilt := ObjectValue(v.tree.members)
		if v.Kind() == Array {
			rebuilt = ArrayValue(v.tree.elements)
		}
		if v.Len() == 0 || rebuilt.Len() != v.Len() || v.tree.index != nil && !maps.Equal(rebuilt.tree.index, v.tree.index) ||
			v.tree.index == nil && len(v.tree.members) >= indexFrom {
			t.Fatalf("%s is held as %d members, index %v", v, v.Len(), v.tree.index)
		}
	})
}

// checkAgainstParts holds that a patch is its operations, one after the other.
func checkAgainstParts(t *rapid.T, doc Value, patch *Patch, want Value) {
	for i := range patch.operations {
		one := &Patch{operations: patch.operations[i : i+1]}
		next, err := one.Apply(doc, PatchLimits{})
		if err != nil {
			t.Fatalf("%s alone on %s: %v", one, doc, err)
		}
		doc = next
	}
	if doc.String() != want.String() {
		t.Fatalf("%s gave %s at once and %s in parts", patch, want, doc)
	}
}

// TestPatchShares holds that every tree which no operation wrote into is the
// very tree of the document, and the index of names too where only a value
// changed.
func TestPatchShares(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		doc := ObjectValue([]Member{{"a", drawValue(t, 3)}, {"b", drawValue(t, 3)}, {"c", drawValue(t, 3)}})
		patch, _ := ParsePatch([]byte(drawPatch(t, doc, 3)), PatchLimits{})
		got, err := patch.Apply(doc, PatchLimits{})
		if err != nil {
			return
		}
		for _, name := range []string{"a", "b", "c"} {
			if slices.ContainsFunc(patch.Touched(), func(p string) bool { return p == "" || p == "/"+name || strings.HasPrefix(p, "/"+name+"/") }) {
				continue
			}
			before, _ := doc.Get(name)
			if after, _ := got.Get(name); before != after {
				t.Fatalf("%s on %s made another %q", patch, doc, name)
			}
		}
	})
	doc := must(t, `{"list":[{"x":1},{"y":[2]},{"z":3}],"wide":`+ten+`,"s":"x"}`)
	got, err := applyValue(t, doc, `[{"op":"replace","path":"/list/1/y/0","value":5},{"op":"replace","path":"/wide/e","value":0},{"op":"replace","path":"/s","value":"x"}]`)
	if err != nil {
		t.Fatal(err)
	}
	if part(doc, "/list").Index(0) != part(got, "/list").Index(0) || part(doc, "/list").Index(2) != part(got, "/list").Index(2) {
		t.Error("the elements next to a change should be shared")
	}
	if part(doc, "/list").Index(1) == part(got, "/list").Index(1) || part(doc, "/wide") == part(got, "/wide") {
		t.Error("what changed must not be shared")
	}
	if a, b := part(doc, "/wide").tree, part(got, "/wide").tree; fmt.Sprintf("%p", a.index) != fmt.Sprintf("%p", b.index) || a.index == nil {
		t.Error("the index should be shared")
	}
	same, err := applyValue(t, doc, `[{"op":"replace","path":"/list/0/x","value":1},{"op":"move","from":"/s","path":"/s"},{"op":"test","path":"/s","value":"x"}]`)
	if err != nil || same != doc {
		t.Errorf("nothing changed, so the document should be the very same: %v", err)
	}
}

func applyValue(t *testing.T, doc Value, text string) (Value, error) {
	t.Helper()
	patch, problems := ParsePatch([]byte(text), PatchLimits{})
	if problems != nil {
		t.Fatal(problems)
	}
	got, err := patch.Apply(doc, PatchLimits{})
	if err != nil {
		return Value{}, err
	}
	return got, nil
}

// TestPatchConcurrent holds that one patch and one document serve many callers.
func TestPatchConcurrent(t *testing.T) {
	t.Parallel()
	doc := must(t, `{"wide":`+ten+`,"list":[]}`)
	text := `[{"op":"add","path":"/wide/k","value":{"n":1}},{"op":"add","path":"/wide/k/m","value":2},{"op":"remove","path":"/wide/a"},{"op":"copy","from":"/wide","path":"/list/-"},{"op":"add","path":"/list/-","value":3}]`
	patch, problems := ParsePatch([]byte(text), PatchLimits{})
	if problems != nil {
		t.Fatal(problems)
	}
	answers := make(chan string)
	for range 8 {
		go func() {
			got, err := patch.Apply(doc, PatchLimits{})
			answers <- fmt.Sprint(got, err == nil)
		}()
	}
	want := <-answers
	for range 7 {
		if got := <-answers; got != want {
			t.Errorf("got %s and %s", want, got)
		}
	}
}

func part(v Value, pointer string) Value {
	found, _ := Lookup(v, pointer)
	return found
}
