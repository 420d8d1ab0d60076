package auth

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// ValidName reports whether a name has 1 to 256 bytes of printable UTF-8 that neither
// begin nor end with a space: texts that history, approvals and terminals can show
// unchanged.
func ValidName(name string) bool {
	if name == "" || len(name) > maxName || !utf8.ValidString(name) || strings.TrimSpace(name) != name {
		return false
	}
	for _, r := range name {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// Reserved returns whose name it is when a tokens file has given it, in either case, or
// when it is that of a role, of callers without credentials or of Interlock itself. No
// other source of identities may give it to a principal of another role: policies,
// approvals and history know people by their names alone.
func (t *Tokens) Reserved(name string) (Role, bool) {
	name = folded(name)
	if t != nil {
		if role, ok := t.known().byName[name]; ok {
			return role, true
		}
	}
	switch role := Role(name); {
	case role.Valid():
		return role, true
	case name == AnonymousName:
		return Operator, true
	case name == OwnName:
		return Service, true
	default:
		return "", false
	}
}

// Elsewhere reports whether a tokens file gives a name to agents of other namespaces only. The name of a role is of no one agent.
func (t *Tokens) Elsewhere(name, namespace string) bool {
	if t == nil || Role(name).Valid() {
		return false
	}
	entries := t.known().agents[folded(name)]
	return len(entries) > 0 && !slices.ContainsFunc(entries, func(p Principal) bool { return p.MayCallIn(namespace) })
}

const (
	// AnonymousName is that of callers without credentials, where they may call.
	AnonymousName = "anonymous"
	// OwnName is that of the services of one process, when they call each other.
	OwnName = "interlock"
)

// folded returns one text of all names that a reader may take for one person's.
func folded(name string) string { return strings.ToLower(norm.NFKC.String(name)) }

// take notes a name. Of names that differ in their case only, the one that an
// agent may not have counts.
func (t callers) take(name string, role Role) {
	name = folded(name)
	if before, taken := t.byName[name]; !taken || before == Agent {
		t.byName[name] = role
	}
}
