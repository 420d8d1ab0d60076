package jail

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/net/idna"
)

// strictNames maps nothing: a name in Unicode must be in its normal form already.
var strictNames = idna.New(idna.ValidateForRegistration(), idna.StrictDomainName(false), idna.CheckHyphens(false), idna.VerifyDNSLength(false))

// CanonicalHost returns the one spelling of a host: a name in lower case, in ASCII, without the last dot;
// or an address. Spellings that programs read in different ways are errors: numbers such as 0x7f.1 and
// 2130706433, IPv4 in IPv6, zones, escapes, users, blanks.
func CanonicalHost(host string) (name string, addr netip.Addr, err error) {
	if len(host) > 1024 {
		return "", netip.Addr{}, errors.New("the name is too long")
	}
	if addr, ok, err := literal(host); ok || err != nil {
		return "", addr, err
	}
	name, err = canonicalName(host)
	return name, netip.Addr{}, err
}

// literal reads an address, which may be in brackets when it is of IPv6.
func literal(host string) (netip.Addr, bool, error) {
	inner, bracket := strings.CutPrefix(host, "[")
	if bracket {
		if inner, bracket = strings.CutSuffix(inner, "]"); !bracket {
			return netip.Addr{}, false, errors.New("a bracket is missing")
		}
	}
	addr, err := netip.ParseAddr(inner)
	switch {
	case err != nil && (bracket || strings.ContainsAny(host, ":[]")):
		return netip.Addr{}, false, errors.New("this is no IPv6 address")
	case err != nil:
		return netip.Addr{}, false, nil
	case bracket && addr.Is4():
		return netip.Addr{}, false, errors.New("only IPv6 addresses are in brackets")
	case addr.Zone() != "":
		return netip.Addr{}, false, errors.New("an address has no zone here")
	case addr.Is4In6():
		return netip.Addr{}, false, fmt.Errorf("this is an IPv4 address in IPv6; write %q", addr.Unmap())
	}
	return addr, true, nil
}

func canonicalName(host string) (string, error) {
	ascii, err := strictNames.ToASCII(lowerASCII(strings.TrimSuffix(host, ".")))
	if err != nil {
		return "", errors.New("this is no host name; write it in lower case, or in its ASCII form that begins with xn--")
	}
	if isASCII(host) && ascii != lowerASCII(strings.TrimSuffix(host, ".")) {
		return "", errors.New("this host name has an xn-- part that stands for plain ASCII")
	}
	if len(ascii) > 253 {
		return "", errors.New("the name is too long")
	}
	last := ""
	for label := range strings.SplitSeq(ascii, ".") {
		if !isLabel(label) {
			return "", errors.New("this is no host name: between its dots are 1 to 63 letters, digits, hyphens or underscores")
		}
		last = label
	}
	if isNumber(last) {
		return "", errors.New("this is a number and no host name; write an IPv4 address with four decimal numbers")
	}
	return ascii, nil
}

func isLabel(label string) bool {
	if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	for i := range len(label) {
		c := label[i]
		if !isDigit(c) && (c < 'a' || c > 'z') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// isNumber reports what some programs read as a part of an IPv4 address.
func isNumber(label string) bool {
	digits, hex := strings.CutPrefix(label, "0x")
	for i := range len(digits) {
		if !isDigit(digits[i]) && (!hex || digits[i] < 'a' || digits[i] > 'f') {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// lowerASCII changes A to Z alone: other letters have lower cases that look like ASCII.
func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// isLocalhost reports the names that always mean this machine.
func isLocalhost(name string) bool {
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || name == "localhost.localdomain"
}
