package rules

import (
	"strings"
	"unicode"
)

// address is one mailbox. Its domain is in lower case.
type address struct{ local, domain string }

// parseAddress reads name@example.com, alone or as Name <name@example.com>. It
// refuses whatever mail programs may read in two ways: lists, quotes, comments,
// routes.
func parseAddress(text string) (address, bool) {
	if name, rest, named := strings.Cut(text, "<"); named {
		inner, closed := strings.CutSuffix(rest, ">")
		if !closed || strings.ContainsFunc(name, notInName) {
			return address{}, false
		}
		text = inner
	}
	local, domain, ok := strings.Cut(text, "@")
	if !ok || local == "" || strings.ContainsFunc(text, notInMailbox) || strings.Contains(domain, "@") {
		return address{}, false
	}
	if domain == "" || strings.HasPrefix(domain, ".") || strings.HasSuffix(domain, ".") || strings.Contains(domain, "..") {
		return address{}, false
	}
	return address{local, lowerASCII(domain)}, true
}

func notInName(c rune) bool { return !unicode.IsPrint(c) || strings.ContainsRune("@,;:<>()[]\\\"", c) }

func notInMailbox(c rune) bool { return c == ' ' || notInName(c) && c != '@' }

// lowerASCII leaves other letters alone: some of them fold to those of ASCII and
// would make another domain pass for a known one.
func lowerASCII(s string) string {
	return strings.Map(func(c rune) rune {
		if 'A' <= c && c <= 'Z' {
			return c + 'a' - 'A'
		}
		return c
	}, s)
}

// addressList is the addresses that a policy allows. Nil means any.
type addressList []string

// admits reports an address that is on the list. The domain is compared without
// case, the rest exactly, and a * stands for any characters of its side of the @.
func (list addressList) admits(a address) bool {
	for _, entry := range list {
		if entry == "*" {
			return true
		}
		local, domain, _ := strings.Cut(entry, "@")
		if sideMatches(local, a.local) && sideMatches(lowerASCII(domain), a.domain) {
			return true
		}
	}
	return false
}

// sideMatches compares one side of an address. What a * stands for must be plain:
// some mail servers route by % and !, and some programs fold other letters.
func sideMatches(entry, side string) bool {
	if !strings.Contains(entry, "*") {
		return entry == side
	}
	if strings.ContainsFunc(side, notPlain) {
		return false
	}
	parts := strings.Split(entry, "*")
	first, last := parts[0], parts[len(parts)-1]
	rest, ok := strings.CutPrefix(side, first)
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		if _, rest, ok = strings.Cut(rest, part); !ok {
			return false
		}
	}
	return strings.HasSuffix(rest, last)
}

func notPlain(c rune) bool { return c > unicode.MaxASCII || c == '%' || c == '!' }
