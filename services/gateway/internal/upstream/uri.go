package upstream

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Rules about resources are about their URIs as they are written. So a URI of which a server could
// take another for the same is not relayed, unless it is the one that the server lists.

// plainURI reports a URI that reads the same to rules and to servers, which may take it for
// the name of a file or a host: file:///a/../b is file:///b to them, and %2e is a dot.
func plainURI(uri string) bool {
	at, err := url.Parse(uri)
	if err != nil || at.Scheme == "" || misleadingURI(uri) || strings.ContainsRune(uri, ' ') {
		return false
	}
	scheme, rest, _ := strings.Cut(uri, ":")
	if scheme != at.Scheme || at.User != nil || strings.Contains(uri, "#") || strings.HasSuffix(uri, "?") {
		return false
	}
	// Of a file, the same as file:///a are file:/a, file://localhost/a and file:///a?b.
	if scheme == "file" && (!strings.HasPrefix(rest, "///") || strings.Contains(rest, "?")) {
		return false
	}
	// Another URI in a path has :// in it.
	inside := insideOf(rest)
	nested := strings.HasPrefix(inside, "/") && strings.HasSuffix(at.Host, ":")
	return (nested || plainHost(at)) && (nested || !strings.HasPrefix(inside, "/")) && !strings.Contains(strings.ReplaceAll(inside, "://", ""), "//")
}

// insideOf returns the path of a URI without its scheme, after the host if it has one.
func insideOf(rest string) string {
	path, _, _ := strings.Cut(rest, "?")
	inside, hasHost := strings.CutPrefix(path, "//")
	if hasHost {
		_, inside, _ = strings.Cut(inside, "/")
	}
	return inside
}

// misleadingURI reports a URI that could be read as one with another path: with . or .. as a part of
// it, or with characters that do not show, or that are escaped and need no escape.
func misleadingURI(uri string) bool {
	if !utf8.ValidString(uri) || strings.ContainsFunc(uri, hidden) || strings.Contains(uri, `\`) {
		return true
	}
	path, _, _ := strings.Cut(uri, "?")
	_, path, _ = strings.Cut(path, ":")
	for part := range strings.SplitSeq(path, "/") {
		plain := norm.NFKC.String(part)
		if end := strings.IndexAny(plain, ";%"); end >= 0 { // parameters of a part, which servers cut off
			plain = plain[:end]
		}
		if plain == "." || plain == ".." {
			return true
		}
	}
	return oddlyEscaped(uri)
}

// hidden reports a character that does not show.
func hidden(r rune) bool { return unicode.Is(unicode.C, r) }

// oddlyEscaped reports an escape that is not valid, in lower case, or of a character that needs none
// or that parts a path.
func oddlyEscaped(uri string) bool {
	plain, err := url.PathUnescape(uri)
	if err != nil || !utf8.ValidString(plain) || strings.ContainsFunc(plain, hidden) {
		return true
	}
	for i := 0; i+2 < len(uri); i++ {
		if uri[i] != '%' {
			continue
		}
		octet, err := strconv.ParseUint(uri[i+1:i+3], 16, 8)
		if err != nil || uri[i+1:i+3] != strings.ToUpper(uri[i+1:i+3]) || plainOctet(byte(octet)) || octet == '%' && escapedTwice(uri[i+3:]) {
			return true
		}
	}
	return false
}

// plainOctet reports an octet that needs no escape, or that parts a path.
func plainOctet(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(`-._~/\`, c) >= 0
}

// escapedTwice reports that the text after an escaped % is such an octet to servers that unescape
// again: 2e after %25.
func escapedTwice(rest string) bool {
	for strings.HasPrefix(rest, "25") {
		rest = rest[2:]
	}
	octet, err := strconv.ParseUint(rest[:min(2, len(rest))], 16, 8)
	return err == nil && len(rest) >= 2 && plainOctet(byte(octet))
}

// ports are those that a URI of a scheme has without a word.
var ports = map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21", "ssh": "22"}

// plainHost reports a host that is written in one way only.
func plainHost(at *url.URL) bool {
	host, port := at.Hostname(), at.Port()
	if at.Host != norm.NFKC.String(strings.ToLower(at.Host)) || strings.HasSuffix(host, ".") || strings.ContainsAny(at.Host, "%。") {
		return false
	}
	if n, err := strconv.ParseUint(port, 10, 16); port != "" && (err != nil || strconv.FormatUint(n, 10) != port || ports[at.Scheme] == port) {
		return false
	}
	written := host
	if strings.Contains(host, ":") {
		written = "[" + host + "]"
	}
	if port != "" {
		written = net.JoinHostPort(host, port)
	}
	if written != at.Host { // such as a : without a port
		return false
	}
	if address, err := netip.ParseAddr(host); err == nil {
		return address.String() == host && !address.Is4In6()
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	_, err := strconv.ParseUint(last, 0, 64) // 127.1, 0x7f000001: programs read addresses
	return err != nil || ports[at.Scheme] == ""
}

// loosely returns a URI as programs may compare it: without case, a query, a fragment, a / at its
// end, and with its escapes written out.
func loosely(uri string) string {
	uri, _, _ = strings.Cut(uri, "#")
	uri, _, _ = strings.Cut(uri, "?")
	if plain, err := url.PathUnescape(uri); err == nil {
		uri = plain
	}
	return strings.TrimRight(norm.NFKC.String(strings.ToLower(uri)), "/")
}
