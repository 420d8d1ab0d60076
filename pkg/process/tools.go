package process

import (
	"slices"
	"strings"
)

// safeTools may be used by processes in every case (S7.8).
var safeTools = []string{"memory*", "task*", "process_step"}

// SafeTools returns the default whitelist of tools that are safe in processes. A trailing
// * stands for any rest of the name.
func SafeTools() []string { return slices.Clone(safeTools) }

// intersect lists the tools that entries of both lists admit, in the order of the first.
// Names outside are left out (S7.8).
func intersect(wanted, safe []string) []string {
	both := []string{}
	for _, a := range wanted {
		for _, b := range safe {
			if entry, ok := narrower(a, b); ok && !slices.Contains(both, entry) {
				both = append(both, entry)
			}
		}
	}
	return both
}

// narrower returns the entry that both of two admit: one of them, or none.
func narrower(a, b string) (string, bool) {
	prefixA, wildA := strings.CutSuffix(a, "*")
	prefixB, wildB := strings.CutSuffix(b, "*")
	switch {
	case a == b:
		return a, true
	case wildB && strings.HasPrefix(prefixA, prefixB):
		return a, true
	case wildA && strings.HasPrefix(prefixB, prefixA):
		return b, true
	default:
		return "", false
	}
}
