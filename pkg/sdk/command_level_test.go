package sdk

import "testing"

// TestLevelOf: what cannot be read is no jail.
func TestLevelOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`{"level": 3}`: 3, `{"level": 2, "missing": "x"}`: 2, `{"level": 9}`: 3, `{"level": -1}`: 0, `{"level": "3"}`: 0, `no`: 0, "": 0,
	} {
		if got := levelOf([]byte(text)); got != want {
			t.Errorf("%s: %d", text, got)
		}
	}
}
