package condition_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/condition"
)

// TestReadURL reads URLs that every program reads in one way, as scheme, host, port and path (S21.5).
func TestReadURL(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ text, want string }{
		{"http://example.com", "http example.com 80 /"},
		{"http://example.com/", "http example.com 80 /"},
		{"https://example.com/a/b", "https example.com 443 /a/b"},
		{"https://example.com/a?b=c#d", "https example.com 443 /a"},
		{"https://example.com?b=c", "https example.com 443 /"},
		{"https://example.com#d", "https example.com 443 /"},
		{"https://example.com?a/b", "https example.com 443 /"},
		{"https://example.com#?", "https example.com 443 /"},
		{"https://example.com/?#", "https example.com 443 /"},
		{"HTTPS://EXAMPLE.COM/A", "https example.com 443 /A"},
		{"hTTp://ExAmple.Com", "http example.com 80 /"},
		{"https://example.com./a", "https example.com 443 /a"},
		{"https://localhost/", "https localhost 443 /"},
		{"https://localhost./", "https localhost 443 /"},
		{"https://a-b.example.com/", "https a-b.example.com 443 /"},
		{"https://a_b.example.com/", "https a_b.example.com 443 /"},
		{"https://1.example.com/", "https 1.example.com 443 /"},
		{"https://1a/", "https 1a 443 /"},
		{"https://0xzz/", "https 0xzz 443 /"},
		{"https://127.0.0.1.example.com/", "https 127.0.0.1.example.com 443 /"},
		{"https://xn--mnchen-3ya.example/", "https xn--mnchen-3ya.example 443 /"},
		{"https://example.com:443/", "https example.com 443 /"},
		{"https://example.com:80/", "https example.com 80 /"},
		{"http://example.com:8080", "http example.com 8080 /"},
		{"http://example.com:1", "http example.com 1 /"},
		{"http://example.com:65535/x", "http example.com 65535 /x"},
		{"http://example.com.:8080/", "http example.com 8080 /"},
		{"ws://example.com/s", "ws example.com 80 /s"},
		{"wss://example.com/s", "wss example.com 443 /s"},
		{"git://example.com/r.git", "git example.com 9418 /r.git"},
		{"ssh://example.com/r.git", "ssh example.com 22 /r.git"},
		{"ssh://git@example.com/r.git", "ssh example.com 22 /r.git"},
		{"ssh://git@example.com:2222/r.git", "ssh example.com 2222 /r.git"},
		{"ssh://a-b_c@example.com/", "ssh example.com 22 /"},
		{"http://127.0.0.1/", "http 127.0.0.1 80 /"},
		{"http://127.0.0.1:8080/x", "http 127.0.0.1 8080 /x"},
		{"http://0.0.0.0/", "http 0.0.0.0 80 /"},
		{"http://255.255.255.255/", "http 255.255.255.255 80 /"},
		{"http://[::1]/", "http ::1 80 /"},
		{"http://[::1]:8080/", "http ::1 8080 /"},
		{"http://[0:0:0:0:0:0:0:1]/", "http ::1 80 /"},
		{"http://[FE80::1]/", "http fe80::1 80 /"},
		{"http://[::ffff:10.0.0.1]/", "http ::ffff:10.0.0.1 80 /"},
		{"http://[::ffff:a00:1]/", "http ::ffff:10.0.0.1 80 /"},
		{"http://[64:ff9b::a00:1]/", "http 64:ff9b::a00:1 80 /"},
		{"http://example.com/a@b", "http example.com 80 /a@b"},
		{"http://example.com/@", "http example.com 80 /@"},
		{"http://example.com/?@", "http example.com 80 /"},
		{"http://example.com/a:b", "http example.com 80 /a:b"},
		{"http://example.com//evil.org/", "http example.com 80 //evil.org/"},
		{"http://example.com/..//evil", "http example.com 80 /..//evil"},
		{"http://example.com/%2e%2e/", "http example.com 80 /%2e%2e/"},
		{"http://example.com/ä", "http example.com 80 /ä"},
		{"http://example.com/http://evil.org", "http example.com 80 /http://evil.org"},
		{"http://example.com/" + strings.Repeat("a", 8000), "http example.com 80 /" + strings.Repeat("a", 8000)},
		{"http://" + strings.Repeat("a", 63) + ".example/", "http " + strings.Repeat("a", 63) + ".example 80 /"},
	} {
		u, ok, why := condition.ReadURL(row.text)
		if got := fmt.Sprintf("%s %s %d %s", u.Scheme, u.Host, u.Port, u.Path); !ok || got != row.want || why != "" {
			t.Errorf("%s: %s, %v, %s; want %s", row.text, got, ok, why, row.want)
		}
	}
}

// oddURLs are URLs about whose host programs disagree, or that have none.
var oddURLs = strings.Split(strings.TrimSpace(`
https://evil.org\@example.com/|https://example.com\@evil.org/|https://example.com\evil.org|https:\\example.com\|https:/\example.com/|https://example.com\
http://0x7f.1/|http://0x7f000001/|http://2130706433/|http://127.1/|http://127.0.1/|http://0177.0.0.1/|http://017700000001/|http://127.0.0.01/|http://127.0.0.1./
http://127.0.0.256/|http://127.0.0.1.2/|http://1.2.3/|http://1/|http://0/|http://0x/|http://0x0/|http://a.0x7f/|http://a.1/|http://a.0x/|http://1.2.3.4.5./|http://00.0.0.0/
http://①②⑦.0.0.1/|http://１２７.0.0.1/|http://127。0。0。1/|http://example。com/|http://ｅxample.com/|http://exаmple.com/|http://ﬀ.example/|http://ß.example/|http://ö.example/
https:example.com/|https:/example.com/|https:///example.com/|https:////example.com/|//example.com/|/example.com|example.com|example.com/a|example.com:443|www.example.com
http://ex%61mple.com/|http://example%2ecom/|http://%65xample.com/|http://example.com%00.evil.org/|http://example.com%23@evil.org/|http://example.com%2f@evil.org/|http://127%2e0.0.1/
http://user@example.com/|http://user:pass@example.com/|http://@example.com/|http://:@example.com/|http://evil.org@example.com/|http://example.com@evil.org/|http://a@b@example.com/
http://example.com:80@evil.org/|http://example.com#@evil.org/|http://example.com?@evil.org/|http://example.com#a@evil.org|http://example.com?a#b@evil.org
http://example.com:/|http://example.com:0/|http://example.com:00/|http://example.com:080/|http://example.com:65536/|http://example.com:99999999999/|http://example.com:-1/|http://example.com:+80/
http://example.com:8_0/|http://example.com:80:80/|http://example.com:a/|http://example.com:０/|http://:80/|http://:/|http:///|http://|http://?|http://#|http:///x|http://./|http://../
http://.example.com/|http://example..com/|http://example.com../|http://-example.com/|http://example-.com/|http://a.-b.com/|http://example.com-/|http://xn--/|http://xn--.com/
http://example.com,evil.org/|http://example.com;evil.org/|http://example.com&evil.org/|http://example.com$/|http://example.com!/|http://example.com'/|http://(example.com)/|http://*.example.com/
http://example.com"/|http://<example.com>/|http://{example.com}/|http://exam^ple.com/|http://exam%ple.com/|http://a+b.com/|http://a=b.com/|http://~/|http://$HOST/
http://[::1/|http://::1/|http://[::1]x/|http://x[::1]/|http://[::1%25eth0]/|http://[::1%eth0]/|http://[127.0.0.1]/|http://[example.com]/|http://[]/|http://[::1]:/|http://[::1]:0/|http://[::1]80/
http://[::1].example.com/|http://[::1]@evil.org/|http://[:::1]/|http://[1:2:3:4:5:6:7:8:9]/|http://[v1.x]/|http://[[::1]]/|http://[::ffff:0177.0.0.1]/|http://[::01.2.3.4]/
ftp://example.com/|file:///etc/passwd|file://example.com/x|javascript://example.com/|data:text/plain,x|mailto:a@example.com|gopher://example.com/|ldap://example.com/|blob:https://example.com/x
view-source:https://example.com/|jar:https://example.com!/|git+ssh://example.com/|http+unix://x/|httpx://example.com/|h%74tp://example.com/|http ://example.com/|:// |://example.com/|http//example.com
ssh://git:pw@example.com/|ssh://@example.com/|ssh://a@b@example.com/|ssh://-oProxyCommand=x/|ssh://-oProxyCommand@example.com/|ssh://git@-oProxyCommand/|ssh://a.b@example.com/|git://u@example.com/
git@example.com:r.git|ssh:git@example.com|example.com:r.git|ext::sh -c x|C:\x|\\example.com\x|wss://u@example.com/|ws://127.1/`), "|")

// TestOddURLs refuses them, with the reason (S21.5).
func TestOddURLs(t *testing.T) {
	t.Parallel()
	var all []string
	for _, text := range oddURLs {
		all = append(all, strings.Split(text, "\n")...)
	}
	for c := range '!' { // controls and blanks
		for _, form := range []string{"http://exam%cple.com/", "http://example.com%c/", "%chttp://example.com/", "ht%ctp://example.com/", "http:%c//example.com/", "http://example.com/%c"} {
			all = append(all, fmt.Sprintf(form, c))
		}
	}
	all = append(all, "http://example.com\x7f/", "http://example.com/\u0085", "http://exam\u00adple.com/", "http://exam\u200bple.com/", "http://example.com\ufeff/", "\ufeffhttp://example.com/",
		"http://example.com\u2028/", "http://example.com\u3000/", "\u3000http://example.com/", "http://"+strings.Repeat("a", 64)+".example/", "http://"+strings.Repeat("a.", 130)+"example/",
		"http://example.com/"+strings.Repeat("a", 8192), "http://example.com\u2024org/", "http://example.com\u2215evil.org/", "http://example.com\uff0fevil.org/", "http://example.com\uff20evil.org/",
		"http://\u202eexample.com/", "http://example.com\xff/", "http://example.com|http/", "")
	if len(all) < 150 {
		t.Errorf("%d URLs", len(all))
	}
	for _, text := range all {
		if u, ok, why := condition.ReadURL(text); ok || why == "" || strings.HasSuffix(why, ".") || u != (condition.URL{}) {
			t.Errorf("%q: %+v, %v, %s", text, u, ok, why)
		}
	}
}

// TestReadHost reads hosts in their plain form, and no others (S21.5).
func TestReadHost(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"example.com": "example.com", "EXAMPLE.com.": "example.com", "localhost": "localhost", "10.0.0.1": "10.0.0.1", "::1": "::1", "fe80::1": "fe80::1", "1a.b1": "1a.b1",
		"": "", ".": "", "10.0.0.1.": "", "10.0.0.01": "", "10.1": "", "0xa.0.0.1": "", "0:0::1": "", "::1%eth0": "", "[::1]": "", "a b": "", "a..b": "", "a.b..": "", "ä.com": "", "a/b": "", "a:80": "", "1": "", "a.0x1f": "", "::ffff:a00:1": "", "::FFFF:10.0.0.1": "::ffff:10.0.0.1",
	} {
		host, ok := condition.ReadHost(text)
		if ok != (want != "") || ok && host != want {
			t.Errorf("%q: %q, %v", text, host, ok)
		}
	}
}

// TestReadings: an IPv6 address that a network may translate is also its IPv4 address (S21.3).
func TestReadings(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"::ffff:10.0.0.1": "10.0.0.1", "::a00:1": "10.0.0.1", "64:ff9b::a00:1": "10.0.0.1", "2002:a00:1::1": "10.0.0.1", "2002:7f00:1::": "127.0.0.1",
		"64:ff9b::a9fe:a9fe": "169.254.169.254", "fe80::1": "", "2001:db8::1": "", "10.0.0.1": "", "example.com": "", "64:ff9b:1::a00:1": "10.0.0.1",
	} {
		e := condition.HostElement(host)
		got := ""
		for _, other := range e.Also {
			got += other.Str()
		}
		if got != want || e.Value.Str() != host {
			t.Errorf("%s: %s, want %s", host, got, want)
		}
		_, isAddress := condition.AddressElement(host)
		if _, err := netip.ParseAddr(host); isAddress != (err == nil) {
			t.Errorf("%s: an address %v", host, isAddress)
		}
		if want == "" {
			continue
		}
		facets := map[condition.Facet]condition.Set{condition.IP: {Known: true, Values: []condition.Element{e}}}
		judgeAll(t, []on{
			{`{"ip": {"within": "` + want + `/32"}}`, `{}`, yes, no},
			{`{"ip": {"within": ["` + want + `", "` + host + `"]}}`, `{}`, yes, yes},
			{`{"ip": {"within": "8.0.0.0/8"}}`, `{}`, no, no},
		}, facets)
	}
}
