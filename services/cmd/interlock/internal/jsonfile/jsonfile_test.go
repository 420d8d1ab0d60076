package jsonfile

import (
	"encoding/json"
	"testing"
)

// FuzzJSONFile: reading a file's members and writing them back changes blanks
// only.
func FuzzJSONFile(f *testing.F) {
	f.Add([]byte(`{"a": [1, {"b": "\u00e9"}], "c": {}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := Members(text, '{')
		if err != nil {
			return
		}
		again := Write(all, '{', "  ", 0)
		if !json.Valid(text) || !Same(text, again) {
			t.Errorf("%q became %q", text, again)
		}
	})
}
