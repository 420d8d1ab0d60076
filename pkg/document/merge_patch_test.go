package document

import (
	"math"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/randtest"
)

// TestMergePatch runs the examples of RFC 7396 (section 3, appendix A), and
// holds the order of keys and the text of numbers (S10.3, S10.4).
func TestMergePatch(t *testing.T) {
	t.Parallel()
	tests := []struct{ doc, patch, want string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"a":"foo"}`, `null`, `null`},
		{`{"a":"foo"}`, `"bar"`, `"bar"`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		{
			`{"title":"Goodbye!","author":{"givenName":"John","familyName":"Doe"},"tags":["example","sample"],"content":"This will be unchanged"}`,
			`{"title":"Hello!","phoneNumber":"+01-123-456-7890","author":{"familyName":null},"tags":["example"]}`,
			`{"title":"Hello!","author":{"givenName":"John"},"tags":["example"],"content":"This will be unchanged","phoneNumber":"+01-123-456-7890"}`,
		},
		{`{"a":[null,{"b":null}]}`, `{"c":[null,{"b":null}]}`, `{"a":[null,{"b":null}],"c":[null,{"b":null}]}`},
		{`{"b":1,"a":2}`, `{"a":3,"c":4,"b":1.0}`, `{"b":1.0,"a":3,"c":4}`},
		{`{"id":9007199254740993,"x":1}`, `{"x":1e2}`, `{"id":9007199254740993,"x":1e2}`},
		{`1`, `{}`, `{}`},
		{`{"a":1}`, `{"a":{}}`, `{"a":{}}`},
		{ten, `{"c":null,"k":11,"a":0}`, `{"a":0,"b":2,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":10,"k":11}`},
		{`{"":1,"/":2}`, `{"":null,"/":3}`, `{"/":3}`},
	}
	for _, tt := range tests {
		doc, patch := must(t, tt.doc), must(t, tt.patch)
		got, problem := MergePatch(doc, patch, PatchLimits{})
		if problem != nil || got.String() != tt.want {
			t.Errorf("%s with %s: got %s, %v, want %s", tt.doc, tt.patch, got, problem, tt.want)
		}
		if doc.String() != tt.doc || patch.String() != tt.patch {
			t.Errorf("an argument changed: %s, %s", doc, patch)
		}
	}
}

func TestMergePatchLimits(t *testing.T) {
	t.Parallel()
	tests := []struct{ doc, patch, code, pointer string }{
		{`{}`, `{"a":[[]]}`, "", ""},
		{`{}`, `{"a":[[[]]]}`, CodeTooDeep, "/a"},
		{`{}`, `{"a":{"b":{}}}`, "", ""},
		{`{}`, `{"a":{"b/c":{"d":{}}}}`, CodeTooDeep, "/a/b~1c/d"},
		{`{"a":{"b":1}}`, `{"a":{"b":[[]]}}`, CodeTooDeep, "/a/b"},
		{`{}`, `[[[[]]]]`, CodeTooDeep, ""},
		{`{}`, `{"a":"` + strings.Repeat("x", 92) + `"}`, "", ""},
		{`{}`, `{"a":"` + strings.Repeat("x", 93) + `"}`, CodePatchTooLarge, ""},
		{`{"large":"` + strings.Repeat("x", 200) + `"}`, `{"a":1}`, "", ""},
	}
	for _, tt := range tests {
		_, problem := MergePatch(must(t, tt.doc), must(t, tt.patch), PatchLimits{Depth: 3, Bytes: 100})
		switch {
		case tt.code == "" && problem != nil:
			t.Errorf("%s with %s: %v", tt.doc, tt.patch, problem)
		case tt.code != "" && (problem == nil || problem.Code != tt.code || problem.Pointer != tt.pointer || !strings.Contains(problem.Message, "; ")):
			t.Errorf("%s with %s: got %v, want %s at %s", tt.doc, tt.patch, problem, tt.code, tt.pointer)
		}
	}
}

// TestMergePatchShares holds that values which the patch does not name are the same objects
// in the result, and that a patch without changes returns the same document.
func TestMergePatchShares(t *testing.T) {
	t.Parallel()
	doc := must(t, `{"a":{"x":[1]},"wide":`+ten+`,"n":1}`)
	got, _ := MergePatch(doc, must(t, `{"wide":{"e":0},"n":2}`), PatchLimits{})
	if part(got, "/a") != part(doc, "/a") {
		t.Error("/a should be shared")
	}
	if wide := part(got, "/wide"); wide == part(doc, "/wide") || part(wide, "/e").Number() != "0" {
		t.Errorf("got %s", wide)
	}
	if same, _ := MergePatch(doc, must(t, `{"n":1,"wide":{"a":1,"x":null},"a":{},"none":null}`), PatchLimits{}); same != doc {
		t.Error("nothing changed, so the document should be the very same")
	}
}

// TestMergePatchRestores holds the rules of RFC 7396 section 2 as the peer
// (evanphx) has them, and that the trees are sound. The peer is not asked where
// it goes wrong: it keeps null within objects that are new or take the place of
// something else, drops null from lists, and refuses a document or a patch that
// is not an object.
func TestMergePatchRestores(t *testing.T) {
	t.Parallel()
	asked := 0
	randtest.Check(t, func(t *rapid.T) {
		doc := drawValue(t, 3)
		patch := drawEdited(t, doc)
		got, problem := MergePatch(doc, patch, PatchLimits{})
		if problem != nil {
			t.Fatal(problem)
		}
		checkTrees(t, got)
		if want := mergedByTheBook(doc, patch); got.String() != want.String() {
			t.Fatalf("%s with %s: got %s, want %s", doc, patch, got, want)
		}
		if doc.Kind() != Object || patch.Kind() != Object || oddNull(doc, patch) {
			return
		}
		asked++
		peer, err := jsonpatch.MergePatch(doc.AppendJSON(nil), patch.AppendJSON(nil))
		if err != nil {
			t.Fatalf("%s with %s: %v", doc, patch, err)
		}
		if want := must(t, string(peer)); !Equal(got, want) {
			t.Fatalf("%s with %s: got %s, the peer has %s", doc, patch, got, want)
		}
	})
	if asked == 0 {
		t.Error("the peer was never asked")
	}
}

// oddNull reports null in patch elsewhere than where it removes from doc.
func oddNull(doc, patch Value) bool {
	for name, change := range patch.Members() {
		held, _ := doc.Get(name)
		switch {
		case change.Kind() == Null:
		case change.Kind() == Object && held.Kind() == Object:
			if oddNull(held, change) {
				return true
			}
		case hasNull(change):
			return true
		}
	}
	return false
}

func hasNull(v Value) bool {
	found := false
	walk(v, func(v Value) { found = found || v.Kind() == Null })
	return found
}

// mergedByTheBook is the pseudocode of RFC 7396 section 2.
func mergedByTheBook(target, patch Value) Value {
	if patch.Kind() != Object {
		return patch
	}
	var members []Member
	for name, v := range target.Members() {
		change, named := patch.Get(name)
		switch {
		case !named:
			members = append(members, Member{name, v})
		case change.Kind() != Null:
			members = append(members, Member{name, mergedByTheBook(v, change)})
		}
	}
	for name, change := range patch.Members() {
		if _, had := target.Get(name); !had && change.Kind() != Null {
			members = append(members, Member{name, mergedByTheBook(Value{}, change)})
		}
	}
	return ObjectValue(members)
}

func TestMergePatchDeepValue(t *testing.T) {
	t.Parallel()
	v := NullValue()
	for range 200 {
		v = ObjectValue([]Member{{"a", v}})
	}
	if _, problem := MergePatch(Value{}, v, PatchLimits{Bytes: math.MaxInt32}); problem == nil || problem.Code != CodeTooDeep {
		t.Errorf("got %v", problem)
	}
}
