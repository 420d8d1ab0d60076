package input

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/document"
)

// A reader who gives the wrong file gets one message, and not ten that it is no definition.
func TestReject(t *testing.T) {
	problems := document.Problems{{Pointer: "/id", Code: "REQUIRED", Message: "\"id\" is missing; add it"}}
	for _, tc := range []struct{ name, text, out, hint string }{
		{"scenarios", "workflow: a.json\ncases: []\n", "", "looks like a scenario file"},
		{"a workflow", "initial: a\nstates: {}\n", "REQUIRED", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			source := Source{Name: "a.yaml", Text: []byte(tc.text), Wanted: "workflow"}
			var out, hints strings.Builder
			source.Reject(problems, &out, &hints)
			if !strings.Contains(out.String(), tc.out) || tc.out == "" && out.Len() > 0 {
				t.Errorf("problems: %q, want %q", out.String(), tc.out)
			}
			if !strings.Contains(hints.String(), tc.hint) || tc.hint == "" && hints.Len() > 0 {
				t.Errorf("hint: %q, want %q", hints.String(), tc.hint)
			}
		})
	}
}
