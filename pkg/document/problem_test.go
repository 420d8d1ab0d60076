package document

import "testing"

func TestProblemString(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]Problem{
		"/a/b: TYPE: must be text": {Pointer: "/a/b", Code: CodeType, Message: "must be text"},
		"JSON_SYNTAX: no end":      {Code: CodeJSONSyntax, Message: "no end"}, // of the whole document
	} {
		if got := p.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
