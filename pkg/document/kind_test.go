package document

import "testing"

// A text with rules and no states is a policy that is not written as one: it is judged as a policy.
func TestKindOfRules(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"name": "p", "rules": []}`: "policy", `{"id": "p", "rules": []}`: "policy", `{"id": "w", "states": {}, "rules": []}`: "workflow",
		`{"id": "w"}`: "workflow", `{"role": "agent"}`: "policy",
	} {
		value, problem := Parse([]byte(text), Limits{})
		if problem != nil {
			t.Fatal(problem)
		}
		if got := KindOf(value); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
