package document

import (
	"slices"
	"strings"
	"testing"
)

// TestSelect holds reading parts of a document (S10.4).
func TestSelect(t *testing.T) {
	t.Parallel()
	doc := must(t, `{"tasks":[{"status":"open"},7.0],"a/b":null,"":1,"name":"x"}`)
	pointers := []string{"/tasks/0/status", "/tasks/1", "/a~1b", "/", "", "/tasks/2", "/tasks/-", "/tsaks/0", "/name/x", "tasks", "/a~b"}
	want := []string{`"open"`, `7.0`, `null`, `1`, doc.String()}
	values, problems := Select(doc, pointers)
	if len(values) != len(pointers) {
		t.Fatalf("%d values for %d pointers", len(values), len(pointers))
	}
	for i, v := range values {
		if i < len(want) && v.String() != want[i] || v.IsZero() != (i >= len(want)) {
			t.Errorf("%s: got %s", pointers[i], v)
		}
	}
	messages := map[string]string{
		"/tasks/2": "PATH_MISSING: /tasks has 2 elements; write 0 to 1",
		"/tasks/-": "PATH_MISSING: /tasks has 2 elements, and - names the position after the last, which is empty; write 0 to 1",
		"/tsaks/0": `PATH_MISSING: the document has no member "tsaks"; did you mean "tasks"?`,
		"/name/x":  "PATH_MISSING: /name is a string, which has no members; make it an object or a list first",
		"tasks":    `POINTER: is "tasks", which is not a pointer; begin it with /, or write "" for the whole document`,
		"/a~b":     `POINTER: is "/a~b", which is not a pointer; write ~ as ~0, and / within a name as ~1`,
	}
	for _, p := range problems {
		if got := p.Code + ": " + p.Message; got != messages[p.Pointer] || p.Severity != SeverityError {
			t.Errorf("%s: got %s, want %s", p.Pointer, got, messages[p.Pointer])
		}
	}
	if len(problems) != len(messages) {
		t.Errorf("got %d problems, want %d", len(problems), len(messages))
	}
}

// TestSelectManyMissing holds that wrong pointers cost little, however many and
// however long they are, and that messages stay short and printable.
func TestSelectManyMissing(t *testing.T) {
	t.Parallel()
	doc := must(t, `{`+members(5_000)+`}`)
	pointers := slices.Repeat([]string{"/k4999x", "/" + strings.Repeat("x", 10_000) + "\n"}, 100)
	_, problems := Select(doc, pointers)
	if len(problems) != len(pointers) {
		t.Fatalf("got %d problems", len(problems))
	}
	for _, p := range problems {
		if len(p.Message) > 1000 || strings.ContainsFunc(p.Message, func(c rune) bool { return c < ' ' }) {
			t.Fatalf("got %q", p.Message)
		}
	}
}

func TestReadPointer(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"": nil, "/": {""}, "//": {"", ""}, "/a": {"a"}, "/a/": {"a", ""}, "/a~1b/m~0n": {"a/b", "m~n"}, "/~01": {"~1"}, "/~10": {"/0"},
	} {
		got, malformed := readPointer(text)
		if malformed != "" || !slices.Equal(got.segments, want) || got.text != text || Pointer(got.segments...) != text {
			t.Errorf("%q: got %q %s, want %q", text, got.segments, malformed, want)
		}
	}
	for _, text := range []string{"a", "#/a", " /a", "/~", "/~2", "/a/~x/b", "~0"} {
		if got, malformed := readPointer(text); malformed == "" {
			t.Errorf("%q should not be a pointer, got %q", text, got.segments)
		}
	}
}
