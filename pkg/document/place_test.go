package document_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/document"
)

const placed = `{
  "id": "x", "é": 1,
  "states": {
    "a": {"on": {"GO": "bb"}, "tools": ["Read",
      "Wirte"]},
    "a": {}
  }
}`

const placedYAML = `id: x
states:
  a:
    on: {GO: bb}
    tools:
      - Read
      - "Wirte"
  a: {}
`

func TestPlaces(t *testing.T) {
	for _, test := range []struct {
		code, pointer, inJSON, inYAML string // line:column:width
	}{
		{document.CodeName, "/id", "2:9:3", "1:5:1"},
		{document.CodeRequired, "/initial", "1:1:1", "1:1:1"},
		{document.CodeRequired, "/states/a/on/X", "4:11:4", "4:5:2"},
		{"UNKNOWN_STATE", "/states/a/on/GO", "4:24:4", "4:14:2"},
		{document.CodeUnknownField, "/states/a/on/GO", "4:18:4", "4:10:2"},
		{document.CodeType, "/states", "3:3:8", "2:1:6"},
		{"UNKNOWN_TOOL", "/states/a/tools/1", "5:7:7", "7:9:5"},
		{document.CodeDuplicateKey, "/states/a", "6:5:3", "8:3:1"},
		{document.CodeType, "", "1:1:1", "1:1:1"},
	} {
		for source, want := range map[string]string{placed: test.inJSON, placedYAML: test.inYAML} {
			problems := document.Problems{{Code: test.code, Pointer: test.pointer}}
			at := document.Places([]byte(source), source == placedYAML, problems)[0]
			if got := fmt.Sprintf("%d:%d:%d", at.Line, at.Column, at.Width); got != want {
				t.Errorf("%s %q stands at %s, want %s, in\n%s", test.code, test.pointer, got, want, source)
			}
		}
	}
}

// TestHabits checks habits from other languages: the messages, and their places.
func TestHabits(t *testing.T) {
	for _, test := range []struct{ text, at, says string }{
		{"{\n  \"a\": 1,\n}", "2:9", "no comma may stand before the closing bracket"},
		{"[1,\n]", "1:3", "no comma may stand before the closing bracket"},
		{"{\"a\": 1, \"a\": 2,}", "1:16", "no comma may stand before the closing bracket"},
		{"{\"a\": [1,, 2]}", "1:10", "remove the comma"},
		{"{\n  // hi\n  \"a\": 1}", "2:3", "JSON has no comments"},
		{"{ /* hi */ }", "1:3", "JSON has no comments"},
		{"{\"a\": 1 # hi\n}", "1:9", "JSON has no comments"},
		{"{'a': 1}", "1:2", `plain double quotes only; write "..."`},
		{"{“a”: 1}", "1:2", `plain double quotes only; write "..."`},
		{`{"ääää": 'x'}`, "1:10", `plain double quotes only; write "..."`},
		{"{a: 1}", "1:2", `put the key "a" in double quotes`},
		{"{1: 1}", "1:2", "in double quotes"},
		{"{\"a\": True}", "1:7", "JSON has no True; write true"},
		{"{\"a\": NaN}", "1:7", "JSON has no NaN; write a number"},
		{"{\"a\": 1\n \"b\": 2}", "2:2", "a comma is missing before this"},
		{`{"a" 1}`, "1:6", "a colon is missing before this"},
		{"{\"a\": \"x\ny\"}", "1:9", `write \n`},
		{`{"a": "\q"}`, "1:8", `\\ for a backslash`},
		{`{"a": [1}`, "1:9", "close the last object or array"},
		{`{"a": 1.}`, "1:9", "complete the text before it"},
		{"id: x\nstates: {}", "1:1", "looks like YAML"},
		{"# mine\n- a\n- b", "1:1", "looks like YAML"},
		{"{}\n{}\n", "2:1", "text after the end of the document"},
		{"{\"a\": {\n\"b\": 1}\n", "2:8", "the text ends before the document does"},
		{`{"a": "b}`, "1:10", "the text ends before the document does"},
		{"\ufeff{}", "1:1", "without one"},
		{" \n", "1:1", "the text is empty"},
	} {
		_, problems := document.ParseAll([]byte(test.text), document.Limits{})
		problems = slices.DeleteFunc(problems, func(p document.Problem) bool { return p.Code != document.CodeJSONSyntax })
		if len(problems) != 1 || !strings.Contains(problems[0].Message, test.says) {
			t.Errorf("%q: %v, want %q", test.text, problems, test.says)
			continue
		}
		at := document.Places([]byte(test.text), false, problems)[0]
		if got := fmt.Sprintf("%d:%d", at.Line, at.Column); got != test.at {
			t.Errorf("%q ends to be JSON at %s, want %s", test.text, got, test.at)
		}
	}
}

// FuzzPlaces: every text gets an answer, and the found places are in the text.
func FuzzPlaces(f *testing.F) {
	f.Add([]byte(placed), "/states/a", true)
	f.Add([]byte(placedYAML), "/states/a", true)
	f.Fuzz(func(t *testing.T, src []byte, pointer string, isYAML bool) {
		lines := strings.Split(string(src), "\n")
		problems := document.Problems{{Pointer: pointer}, {Code: document.CodeJSONSyntax}}
		for _, at := range document.Places(src, isYAML, problems) {
			if at != (document.Place{}) && (at.Line < 1 || at.Line > len(lines) || at.Column < 1 || at.Width < 1) {
				t.Errorf("%+v in a text of %d lines", at, len(lines))
			}
		}
	})
}
