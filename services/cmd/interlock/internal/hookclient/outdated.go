package hookclient

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/interlock-run/interlock/services/internal/hookevent"
)

// failsClosed is the first version of Claude Code that blocks when a hook fails (onFailure).
var failsClosed = []int{2, 1, 295}

// outdated refuses versions of Claude Code that make a call when its hook was killed or stopped:
// calls that such a hook would have denied are made (S13.10). A version that cannot be read is not
// refused.
func (c *Client) outdated() error {
	version := claudeVersion(c.Program)
	if c.Agent != hookevent.ClaudeCode || version == nil || slices.Compare(version, failsClosed) >= 0 {
		return nil
	}
	return fmt.Errorf("version %s of Claude Code makes a call when the hook for it is killed or stopped, so Interlock could not hold it: update it to %s or later",
		dotted(version), dotted(failsClosed))
}

// claudeVersion reads the version from the name that Claude Code gives itself, such as
// claude-code_2-1-332_harness; nil where it gives none.
func claudeVersion(client string) []int {
	rest, ok := strings.CutPrefix(client, "claude-code")
	if !ok || rest == "" || !strings.ContainsRune("_/", rune(rest[0])) {
		return nil
	}
	text := rest[1:]
	if end := strings.IndexAny(text, "_/"); end >= 0 {
		text = text[:end]
	}
	var version []int
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == '-' || r == '.' }) {
		n, err := strconv.Atoi(part)
		if err != nil {
			break
		}
		version = append(version, n)
	}
	return version
}

func dotted(version []int) string {
	var parts []string
	for _, n := range version {
		parts = append(parts, strconv.Itoa(n))
	}
	return strings.Join(parts, ".")
}
