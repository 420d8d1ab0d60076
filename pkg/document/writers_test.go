package document_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/randtest"
)

// writersOf plays patches on a document, which version 1 wrote, and asks who wrote each
// value of the result.
func writersOf(t fataler, doc string, patches ...string) (final document.Value, writers map[string]int) {
	t.Helper()
	final = parsed(t, doc)
	replay := document.NewReplay(final)
	var trails []document.Trail
	for _, text := range patches {
		patch, problems := document.ParsePatch([]byte(text), document.PatchLimits{})
		if problems.HasErrors() {
			t.Fatalf("%s: %v", text, problems)
		}
		next, failed := patch.Apply(final, document.PatchLimits{})
		if failed != nil {
			t.Fatalf("%s: %v", text, failed)
		}
		trail, err := replay.Do(patch)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		final, trails = next, append(trails, trail)
	}
	writers = map[string]int{}
	w, partial := document.NewWriters(final, nil, 1000)
	if partial {
		t.Fatalf("too many values")
	}
	for i, trail := range slices.Backward(trails) {
		for _, pointer := range w.Undo(trail) {
			writers[pointer] = i + 2
		}
	}
	pointers, _ := w.Pointers()
	for _, pointer := range pointers {
		writers[pointer] = 1
	}
	return final, writers
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func parsed(t fataler, text string) document.Value {
	t.Helper()
	v, problem := document.Parse([]byte(text), document.Limits{})
	if problem != nil {
		t.Fatalf("%s: %v", text, problem)
	}
	return v
}

func TestWriters(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		doc     string
		patches []string
		want    string // pointer=version, sorted
	}{
		"nothing changes":     {`{"a": 1, "b": [1, {}]}`, nil, "/a=1 /b/0=1 /b/1=1"},
		"replace":             {`{"a": 1, "b": 2}`, []string{`[{"op":"replace","path":"/a","value":[3]}]`}, "/a/0=2 /b=1"},
		"add to an object":    {`{"a": 1}`, []string{`[{"op":"add","path":"/b","value":{"x":1,"y":[]}}]`}, "/a=1 /b/x=2 /b/y=2"},
		"add over":            {`{"a": 1}`, []string{`[{"op":"add","path":"/a","value":2}]`}, "/a=2"},
		"insert shifts":       {`[1, 2, 3]`, []string{`[{"op":"add","path":"/1","value":9}]`}, "/0=1 /1=2 /2=1 /3=1"},
		"append":              {`[1]`, []string{`[{"op":"add","path":"/-","value":9}]`, `[{"op":"add","path":"/-","value":8}]`}, "/0=1 /1=2 /2=3"},
		"remove shifts":       {`[1, 2, 3]`, []string{`[{"op":"replace","path":"/2","value":9}]`, `[{"op":"remove","path":"/0"}]`}, "/0=1 /1=2"},
		"removed to nothing":  {`{"a": [1]}`, []string{`[{"op":"remove","path":"/a/0"}]`}, "/a=2"},
		"digits as names":     {`{"0": 1, "1": 2}`, []string{`[{"op":"remove","path":"/0"}]`}, "/1=1"},
		"move keeps":          {`{"a": {"x": 1}, "b": {}}`, []string{`[{"op":"replace","path":"/a/x","value":2}]`, `[{"op":"move","from":"/a/x","path":"/b/y"}]`}, "/a=3 /b/y=2"},
		"move in a list":      {`[1, 2, 3]`, []string{`[{"op":"replace","path":"/0","value":9}]`, `[{"op":"move","from":"/0","path":"/2"}]`}, "/0=1 /1=1 /2=2"},
		"move to itself":      {`[1, 2]`, []string{`[{"op":"move","from":"/0","path":"/0"}]`}, "/0=1 /1=1"},
		"move to the end":     {`[1, 2]`, []string{`[{"op":"add","path":"/0","value":0},{"op":"move","from":"/0","path":"/-"}]`}, "/0=1 /1=1 /2=2"},
		"copy writes":         {`{"a": {"x": 1}}`, []string{`[{"op":"copy","from":"/a","path":"/b"}]`}, "/a/x=1 /b/x=2"},
		"test writes nothing": {`{"a": 1}`, []string{`[{"op":"test","path":"/a","value":1}]`}, "/a=1"},
		"the whole":           {`{"a": 1}`, []string{`[{"op":"replace","path":"","value":{"a":1}}]`}, "/a=2"},
		"one value":           {`1`, nil, "=1"},
		"escaped names":       {`{"a/b": {"~": 1}}`, []string{`[{"op":"replace","path":"/a~1b/~0","value":2}]`}, "/a~1b/~0=2"},
	} {
		_, writers := writersOf(t, tc.doc, tc.patches...)
		var got []string
		for _, pointer := range slices.Sorted(maps.Keys(writers)) {
			got = append(got, fmt.Sprintf("%s=%d", pointer, writers[pointer]))
		}
		if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestWritersOfSome(t *testing.T) {
	t.Parallel()
	doc := parsed(t, `{"a": [1, 2], "b": {"c": 3, "d": 4}}`)
	for want, pointers := range map[string][]string{
		"/a/0 /a/1 /b/c /b/d": nil, "/b/c /b/d": {"/b"}, "/a/1 /b/d": {"/a/1", "/b/d", "/nowhere", "bad"}, "/b/c": {"/b/c", "/b/c"},
	} {
		w, partial := document.NewWriters(doc, pointers, 100)
		if got, _ := w.Pointers(); strings.Join(got, " ") != want || partial {
			t.Errorf("%q has %q, partial %t", pointers, got, partial)
		}
	}
	if w, partial := document.NewWriters(doc, nil, 3); w.Len() != 3 || !partial {
		t.Errorf("%d values, partial %t", w.Len(), partial)
	}
}

// node is a document in which each value knows its writer: the naive model.
type node struct {
	members map[string]*node
	list    []*node
	isList  bool
	writer  int
}

func written(v document.Value, version int) *node {
	n := &node{writer: version}
	switch v.Kind() {
	case document.Object:
		n.members = map[string]*node{}
		for name, member := range v.Members() {
			n.members[name] = written(member, version)
		}
	case document.Array:
		n.isList, n.list = true, []*node{}
		for _, element := range v.Elements() {
			n.list = append(n.list, written(element, version))
		}
	default:
	}
	return n
}

func (n *node) at(segments []string) *node {
	for _, s := range segments {
		if n.isList {
			i, _ := strconv.Atoi(s)
			n = n.list[i]
		} else {
			n = n.members[s]
		}
	}
	return n
}

func (n *node) leaves(at string, found map[string]int) {
	switch {
	case len(n.members) > 0:
		for name, m := range n.members {
			m.leaves(at+"/"+document.EscapeSegment(name), found)
		}
	case len(n.list) > 0:
		for i, e := range n.list {
			e.leaves(at+"/"+strconv.Itoa(i), found)
		}
	default:
		found[at] = n.writer
	}
}

// put and take change the model as RFC 6902 says.
func (n *node) put(segments []string, v *node) *node {
	if len(segments) == 0 {
		return v
	}
	holder, last := n.at(segments[:len(segments)-1]), segments[len(segments)-1]
	if !holder.isList {
		holder.members[last] = v
		return n
	}
	i, err := strconv.Atoi(last)
	if err != nil {
		i = len(holder.list)
	}
	holder.list = slices.Insert(holder.list, i, v)
	return n
}

func (n *node) take(segments []string, version int) *node {
	holder, last := n.at(segments[:len(segments)-1]), segments[len(segments)-1]
	var taken *node
	if holder.isList {
		i, _ := strconv.Atoi(last)
		taken = holder.list[i]
		holder.list = slices.Delete(holder.list, i, i+1)
	} else {
		taken = holder.members[last]
		delete(holder.members, last)
	}
	if len(holder.list)+len(holder.members) == 0 {
		holder.writer = version
	}
	return taken
}

// TestWritersAgreeWithAModel: for random additions, moves, copies and removals.
func TestWritersAgreeWithAModel(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		const start = `{"a": [1, {"b": []}, [2, 3]], "0": {"x": 1, "y": {"z": null}}, "e": {}}`
		doc := parsed(t, start)
		model := written(doc, 1)
		var patches []string
		for version := 2; version < 2+rapid.IntRange(1, 8).Draw(t, "versions"); version++ {
			var operations []string
			for range rapid.IntRange(1, 4).Draw(t, "operations") {
				if op := drawOperation(t, doc, &model, version); op != "" {
					patch, _ := document.ParsePatch([]byte("["+op+"]"), document.PatchLimits{})
					next, failed := patch.Apply(doc, document.PatchLimits{})
					if failed != nil {
						t.Fatalf("%s on %s: %v", op, doc, failed)
					}
					doc = next
					operations = append(operations, op)
				}
			}
			patches = append(patches, "["+strings.Join(operations, ",")+"]")
		}
		final, got := writersOf(t, start, patches...)
		want := map[string]int{}
		model.leaves("", want)
		if diff := cmp.Diff(want, got); diff != "" || !document.Equal(final, doc) {
			t.Fatalf("%s\n%s\n%s", strings.Join(patches, "\n"), doc, diff)
		}
	})
}

// drawOperation draws one that can be done, and does it in the model.
func drawOperation(t *rapid.T, doc document.Value, model **node, version int) string {
	places := placesOf(doc, nil)
	from := rapid.SampledFrom(places).Draw(t, "from")
	holder := rapid.SampledFrom(places).Draw(t, "holder")
	value := rapid.SampledFrom([]string{`1`, `[]`, `{"n": [7]}`, `[4, {"m": 5}]`}).Draw(t, "value")
	target := func(doc document.Value) []string {
		v, found := document.Lookup(doc, document.Pointer(holder...))
		switch {
		case !found:
			return nil
		case v.Kind() == document.Object:
			return append(slices.Clip(holder), rapid.SampledFrom([]string{"a", "0", "n", "new/~"}).Draw(t, "name"))
		case v.Kind() == document.Array:
			at := strconv.Itoa(rapid.IntRange(0, v.Len()).Draw(t, "index"))
			if rapid.IntRange(0, 3).Draw(t, "end") == 0 {
				at = "-"
			}
			return append(slices.Clip(holder), at)
		default:
			return nil
		}
	}
	kind := rapid.SampledFrom([]string{"add", "remove", "replace", "move", "copy"}).Draw(t, "op")
	if kind == "remove" || kind == "move" {
		if len(from) == 0 {
			return ""
		}
	}
	switch kind {
	case "add":
		to := target(doc)
		if to == nil {
			return ""
		}
		*model = (*model).put(to, written(parsed(t, value), version))
		return fmt.Sprintf(`{"op":"add","path":%q,"value":%s}`, document.Pointer(to...), value)
	case "remove":
		(*model).take(from, version)
		return fmt.Sprintf(`{"op":"remove","path":%q}`, document.Pointer(from...))
	case "replace":
		*(*model).at(from) = *written(parsed(t, value), version)
		return fmt.Sprintf(`{"op":"replace","path":%q,"value":%s}`, document.Pointer(from...), value)
	case "copy":
		to := target(doc)
		v, _ := document.Lookup(doc, document.Pointer(from...))
		if to == nil {
			return ""
		}
		*model = (*model).put(to, written(v, version))
		return fmt.Sprintf(`{"op":"copy","from":%q,"path":%q}`, document.Pointer(from...), document.Pointer(to...))
	default:
		if len(holder) >= len(from) && slices.Equal(holder[:len(from)], from) {
			return "" // into itself
		}
		patch, _ := document.ParsePatch(fmt.Appendf(nil, `[{"op":"remove","path":%q}]`, document.Pointer(from...)), document.PatchLimits{})
		rest, failed := patch.Apply(doc, document.PatchLimits{})
		if failed != nil {
			t.Fatal(failed)
		}
		to := target(rest)
		if to == nil || slices.Equal(to, from) {
			return ""
		}
		taken := (*model).take(from, version)
		*model = (*model).put(to, taken)
		return fmt.Sprintf(`{"op":"move","from":%q,"path":%q}`, document.Pointer(from...), document.Pointer(to...))
	}
}

// placesOf are the places of all values, those that hold others too.
func placesOf(v document.Value, at []string) [][]string {
	places := [][]string{at}
	for name, m := range v.Members() {
		places = append(places, placesOf(m, append(slices.Clip(at), name))...)
	}
	for i, e := range v.Elements() {
		places = append(places, placesOf(e, append(slices.Clip(at), strconv.Itoa(i)))...)
	}
	return places
}
