package input

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
)

// silent are streams without input.
func silent() (console.Streams, *bytes.Buffer) {
	var told bytes.Buffer
	return console.Streams{In: io.NopCloser(strings.NewReader("")), Out: io.Discard, Err: &told}, &told
}

// fileWith is a file that has a text.
func fileWith(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestJSON(t *testing.T) {
	t.Parallel()
	file := fileWith(t, "a.json", `{"big": 9007199254740993}`)
	yaml := fileWith(t, "b.yaml", "big: 9007199254740993\n")
	for _, tc := range []struct{ arg, want, fails string }{
		{`{"a": 1.0}`, `{"a": 1.0}`, ""},
		{`7`, `7`, ""},
		{` [1] `, ` [1] `, ""},
		{"@" + file, `{"big": 9007199254740993}`, ""},
		{file, `{"big": 9007199254740993}`, ""},
		{yaml, `{"big":9007199254740993}`, ""},
		{`{"a":`, "", "--op is not good JSON"},
		{` {"a":1,"a":2}`, "", "--op is not good JSON"},
		{`"a`, "", "--op is not good JSON"},
		{`[NaN]`, "", "--op is not good JSON"},
		{"nowhere.json", "", "--op is neither JSON nor a file"},
		{"", "", "--op is neither JSON nor a file"},
		{"@nowhere.json", "", "open nowhere.json"},
	} {
		io, _ := silent()
		got, err := JSON("op", tc.arg, io)
		if string(got) != tc.want || (err == nil) != (tc.fails == "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
			t.Errorf("%q: got %q, %v", tc.arg, got, err)
		}
	}
	bad := fileWith(t, "bad.json", `{"a": 1, "a": 2}`)
	io, told := silent()
	if _, err := JSON("op", bad, io); !errors.Is(err, console.ErrNo) || !strings.Contains(told.String(), "bad.json:1:10: error: /a: ") {
		t.Errorf("a bad file: %v, told %q", err, told)
	}
}

// Operations keep their text, however they are given.
func TestOperations(t *testing.T) {
	t.Parallel()
	file := fileWith(t, "ops.json", "[\n {\"op\": \"test\", \"path\": \"\", \"value\": 1.00}, 7\n]")
	for _, tc := range []struct {
		given       []string
		want, fails string
	}{
		{nil, `[]`, ""},
		{[]string{`[]`}, `[]`, ""},
		{[]string{` {"op":"remove"} `}, `[{"op":"remove"}]`, ""},
		{[]string{`{"a":1}`, file, `[{"b":2}]`}, `[{"a":1},{"op": "test", "path": "", "value": 1.00},7,{"b":2}]`, ""},
		{[]string{`7`}, "", "--op must be operations of a JSON Patch"},
		{[]string{`{"a":1}`, `{`}, "", "--op is not good JSON"},
	} {
		io, _ := silent()
		got, err := Operations("op", tc.given, io)
		if string(got) != tc.want || (err == nil) != (tc.fails == "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
			t.Errorf("%q: got %s, %v", tc.given, got, err)
		}
	}
}
