package ports

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// PlainName refuses names that people could not distinguish or that are not text.
func PlainName(field, name string) error {
	bad := func(why string) error {
		return fault.New(fault.InvalidRequest, "%s %q %s", field, Clip(name), why).Violate("/"+field, "NAME", why)
	}
	switch {
	case name == "":
		return bad("is empty")
	case !utf8.ValidString(name):
		return bad("is not UTF-8")
	case len(name) > 256:
		return bad("is longer than 256 bytes")
	case strings.TrimSpace(name) != name:
		return bad("begins or ends with a space")
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return bad("has characters that are not printable")
	}
	return nil
}

// Narrowing returns entries that narrow calls (S22.24) as compact JSON, and refuses such that cannot; nil for none.
func Narrowing(only []byte) ([]byte, error) {
	if len(only) == 0 {
		return nil, nil
	}
	_, compact, problems := workflow.ReadNarrowing(only)
	if problems.HasErrors() {
		return nil, Violations(fault.New(fault.InvalidRequest, "only: %s", First(problems)), "/only", problems)
	}
	return compact, nil
}

// OwnSessionName refuses names that only the server may give a session.
func OwnSessionName(field, name string) error {
	if err := PlainName(field, name); err != nil {
		return err
	}
	if strings.HasPrefix(name, typeid.Session+"_") {
		return fault.New(fault.InvalidRequest, "%s %q: the server creates ids that begin with %s_; leave it out or choose another", field, Clip(name), typeid.Session).
			Violate("/"+field, "RESERVED", "must not begin with "+typeid.Session+"_")
	}
	return nil
}

// Clip shortens a text for a message.
func Clip(text string) string {
	if len(text) > 100 {
		text = strings.ToValidUTF8(text[:100], "") + "..."
	}
	return text
}
