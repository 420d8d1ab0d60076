package session

import (
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Alike returns one text for all names that a reader may take for the same session's: it folds
// case and Unicode forms, and drops empty parts between slashes. Sessions keep apart by their
// exact names; the policies, limits and budgets of a session hold for all names alike (S7.9).
func Alike(name string) string {
	parts := strings.FieldsFunc(strings.ToLower(norm.NFKC.String(name)), func(r rune) bool { return r == '/' })
	if len(parts) == 0 {
		return name
	}
	return strings.Join(parts, "/")
}

// Above returns the name of the session that a name is below, or "": "alice" of "alice/x",
// which covers it whether or not either was created (S7.9).
func Above(name string) string {
	at := strings.LastIndexByte(name, '/')
	return strings.TrimRight(name[:max(at, 0)], "/")
}
