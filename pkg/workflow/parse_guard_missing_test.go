package workflow_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/workflow"
)

// S2.5: "not" of a comparison with a field that may be missing is warned of, with the fix.
func TestNotOfMissing(t *testing.T) {
	t.Parallel()
	const f, eq, exists, missing = `{"field":"env","op":"exists"}`, `{"field":"env","op":"eq","value":"prod"}`, `{"field":"env","op":"exists"}`, `{"field":"env","op":"not_exists"}`
	for guard, at := range map[string]string{
		`{"not":` + eq + `}`: "/guards/g/not",
		`{"not":{"field":"env","op":"neq","value":"dev"}}`:                                          "/guards/g/not",
		`{"not":{"field":"n","op":"gt","value":3}}`:                                                 "/guards/g/not",
		`{"not":{"field":"env","op":"in","value":["prod"]}}`:                                        "/guards/g/not",
		`{"not":{"field":"a.b","op":"eq","value":1}}`:                                               "/guards/g/not",
		`{"any":[{"not":` + eq + `},` + exists + `]}`:                                               "/guards/g/any/0/not",
		`{"all":[{"not":` + eq + `},{"field":"other","op":"exists"}]}`:                              "/guards/g/all/0/not",
		`{"not":{"any":[` + eq + `,{"field":"x","op":"exists"}]}}`:                                  "/guards/g/not/any/0",
		`{"not":{"all":[` + eq + `,` + exists + `]}}`:                                               "/guards/g/not/all/0",
		`{"not":{"not":{"not":` + eq + `}}}`:                                                        "/guards/g/not/not/not",
		`{"all":[{"not":` + exists + `},{"not":` + eq + `}]}`:                                       "/guards/g/all/1/not",
		`{"all":[` + exists + `,{"not":` + eq + `}]}`:                                               "",
		`{"all":[{"not":` + eq + `},` + exists + `]}`:                                               "",
		`{"all":[{"not":` + eq + `},{"field":"env","op":"in","value":["a"]}]}`:                      "",
		`{"all":[{"all":[` + exists + `]},{"any":[{"not":` + eq + `}]}]}`:                           "",
		`{"not":{"any":[` + missing + `,` + eq + `]}}`:                                              "",
		`{"not":` + exists + `}`:                                                                    "",
		`{"not":` + missing + `}`:                                                                   "",
		`{"not":{"not":` + eq + `}}`:                                                                "",
		`{"not":{"field":"declared","op":"eq","value":1}}`:                                          "",
		`{"not":{"field":"declared.b","op":"eq","value":1}}`:                                        "/guards/g/not",
		`{"field":"env","op":"neq","value":"prod"}`:                                                 "",
		`{"all":[` + f + `,{"not":{"all":[` + eq + `,{"field":"env","op":"eq","value":"x"}]}}]}`:    "",
		`{"all":[{"not":{"not":` + exists + `}},{"not":{"field":"env","op":"eq","value":"prod"}}]}`: "",
	} {
		_, problems := workflow.Parse(fmt.Appendf(nil, `{"id":"w","initial":"a","context":{"declared":{"b":2}},
			"states":{"a":{"on":{"GO":{"target":"z","guard":"g"}}},"z":{"type":"final"}},"guards":{"g":%s}}`, guard))
		if problems.HasErrors() {
			t.Errorf("%s: %v", guard, problems.Err())
			continue
		}
		var found []string
		for _, p := range problems {
			if p.Code == workflow.CodeNotOfMissing {
				found = append(found, p.Pointer)
				if !strings.Contains(p.Message, `"op": "exists"`) {
					t.Errorf("%s: no fix in %s", guard, p.Message)
				}
			}
		}
		if got := strings.Join(found, " "); got != at {
			t.Errorf("%s: warned of at %q, not %q", guard, got, at)
		}
	}
}
