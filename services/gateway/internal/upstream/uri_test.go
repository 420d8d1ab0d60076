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
		// Other forms of one host.
		"https://example.com:443/a": false, "https://example.com:/a": false, "https://example.com:08443/a": false, "https://example.com./a": false,
		"http://example.com:80": false, "https://example.com:80/a": true, "docs://host:80/a": true, "https://[::1]/a": true, "https://127.0.0.1/a": true,
		"https://127.1/a": false, "https://2130706433/a": false, "https://0x7f000001/a": false, "https://127.0.0.01/a": false, "https://[0:0::1]/a": false,
		"https://[::ffff:127.0.0.1]/a": false, "https://exa%6dple.com/a": false, "https://ex\uff41mple.com/a": false, "https://example\u3002com/a": false,
		"https://exa\u00admple.com/a": false, "users://42/profile": true, "web://https:/a": false,
		// Other forms of one path.
		"docs://a/%C0%AE%C0%AE/b": false, "docs://a/\uff0e\uff0e/b": false, "docs://a/\u2025/b": false, "docs://a/\u200b": false, "docs://a/%E2%80%8B": false,
		"docs://a?": false, "docs://a/b?": false, "docs://a?b": true, "docs://a/%2E%2E": false, "docs://a/%252e": false, "docs://a/%25252E%252e/b": false, "docs://a%252Fb": false, "docs://a%255cb": false,
		"docs://a/100%25": true, "docs://a/100%25%20b": true, "docs://a/%25ab": true, "docs://a/..;/b": false, "docs://a/..;x=1/b": false, "docs://a/.;": false, "docs://a/..%3B/b": false, "docs://a/..%20/b": false,
		"docs://a/\uff0e\uff0e\uff1b/b": false, "docs://a/b;v=1": true, "docs://a/;..": true, "docs://a/%00": false, "docs://a%": false,
		"docs://a/\x80": false,
	} {
		if got := plainURI(uri); got != want {
			t.Errorf("%q: %t, want %t", uri, got, want)
		}
	}
}

// What a server lists is read as it is written, but for what could be the name of another resource.
func TestMisleadingURI(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]bool{
		"file:///a b.txt": false, "postgres://user@host/db/table/schema": false, "repo://Owner/Name": false, "ui://widget#main": false, "notes://x?y#z": false,
		"note": false, "file:///a//b": false, "C:/a": false,
		"file:///public/../secret": true, "file:///public/%2e%2e/secret": true, "docs://public/./secret": true, "docs://public/\uff0e\uff0e/secret": true,
		"docs://public%2Fsecret": true, `docs://public\secret`: true, "docs://p%75blic/a": true, "docs://public\u200b/a": true, "docs://public\n": true, "docs:..": true,
		"docs://public/%252e%252e/secret": true, "docs://public/..;/secret": true, "docs://public/100%25%20b": false,
	} {
		if got := misleadingURI(uri); got != want {
			t.Errorf("%q: %t, want %t", uri, got, want)
		}
	}
}
