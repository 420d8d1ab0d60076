package toolcall_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/toolcall"
)

// One call has one digest, however its input is spelled; two calls never have the same.
func TestInputDigest(t *testing.T) {
	t.Parallel()
	of := func(input string) string { return toolcall.InputDigest("Edit", []byte(input)) }
	plain := of(`{"a":1,"b":["é",true]}`)
	for _, same := range []string{`{ "b": ["\u00e9", true], "a": 1.0 }`, "{\n\t\"a\": 1e0,\n\t\"b\": [\"é\", true]\n}\n"} {
		if of(same) != plain {
			t.Errorf("%s has another digest", same)
		}
	}
	seen := map[string]string{plain: "plain", toolcall.InputDigest("Edi", []byte(`t{"a":1,"b":["é",true]}`)): "name"}
	for _, other := range []string{
		``, `{}`, `null`, `{"a":1}`, `{"a":"1","b":["é",true]}`, `{"a":1,"b":[true,"é"]}`, `{"a":1,"a":1,"b":["é",true]}`, `{"a":1,"b":["é",true]`,
		`{"a":9007199254740993}`, `{"a":9007199254740992}`, "{\"a\":1}\x00", `{"a":"e\u0301"}`, `{"a":"\u00e9"}`,
	} {
		d := of(other)
		if was, is := seen[d]; is {
			t.Errorf("%q and %q have one digest", was, other)
		}
		seen[d] = other
	}
}
