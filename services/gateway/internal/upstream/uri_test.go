package upstream

import "testing"

func TestPlainURI(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]bool{
		"file:///a/b.txt": true, "docs://public/a%20b": true, "https://example.com/a?b=../c": true, "urn:a:b": true, "config://main": true,
		"demo://resource/dynamic/text/1": true, "users://ä/profile": true, "file:///a/..b/c.": true, "x://%C3%A4": true,
		"file:///a/../b": false, "file:///a/./b": false, "file:///a/%2e%2e/b": false, "file:///a%2fb": false, "file:///a%5Cb": false,
		`file:///a\..\b`: false, "FILE:///a": false, "https://EXAMPLE.com/a": false, "docs://public/%61": false, "docs:..": false,
		"web://https://example.com/a": true, "docs://a/": true, "https://example.com:8443/a?b#": false, "docs://a/b#c": false,
		"file:////a": false, "file:///a//b": false, "docs:////a/b": false, "docs://a//b": false, "file:/a": false, "docs:/a": false,
		"file://localhost/a": false, "file://a/b": false, "file:a": false, "file:///a?b": false, "https://user@example.com/a": false,
		"x://%c3%a4": false,
		"no scheme":  false, "": false, "docs://a\n": false, "docs://a%0a": false, "docs://a%zz": false, "file:..": false, "file:a/..": false,
	} {
		if got := plainURI(uri); got != want {
			t.Errorf("%q: %t, want %t", uri, got, want)
		}
	}
}
