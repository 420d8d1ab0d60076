package toolname

import (
	"strings"
	"testing"
)

// A tool's name alone is no capability, and the one that is meant is suggested.
func TestCapabilityThatIsMeant(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"read": `did you mean "tool:Read"?`, "Read": `did you mean "tool:Read"?`, "EDIT": `did you mean "tool:Edit"?`, "Wrte": `did you mean "tool:Write"?`,
		"Bash": `did you mean "bash"?`, "filesystem:write": "begin with bash", "quux": "begin with bash",
	} {
		got := CapabilityFix(pattern)
		if !strings.Contains(got, want) || strings.Contains(want, "begin") && strings.Contains(got, "did you mean") {
			t.Errorf("%s: %s", pattern, got)
		}
	}
}
