package app

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/typeid"
)

// plainName refuses names that people could not distinguish or that are not text.
func plainName(field, name string) error {
	bad := func(why string) error {
		return fault.New(fault.InvalidRequest, "%s %q %s", field, clip(name), why).Violate("/"+field, "NAME", why)
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

// ownSessionName refuses names that only the server may give a session.
func ownSessionName(field, name string) error {
	if err := plainName(field, name); err != nil {
		return err
	}
	if strings.HasPrefix(name, typeid.Session+"_") {
		return fault.New(fault.InvalidRequest, "%s %q: the server creates ids that begin with %s_; leave it out or choose another", field, clip(name), typeid.Session).
			Violate("/"+field, "RESERVED", "must not begin with "+typeid.Session+"_")
	}
	return nil
}

func clip(text string) string {
	if len(text) > 100 {
		text = strings.ToValidUTF8(text[:100], "") + "..."
	}
	return text
}

func plural(n int) string { return strconv.Itoa(n) + " more" }
