package jail_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/jail"
)

func TestParseHostReadsRules(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string]string{
		"example.com":                 "",
		"EXAMPLE.com.":                "example.com",
		"*.Example.com:8443":          "*.example.com:8443",
		"*":                           "",
		"*:443":                       "",
		"*:*":                         "",
		"example.com:*":               "",
		"bücher.example":              "xn--bcher-kva.example",
		"xn--bcher-kva.example":       "",
		"_dmarc.my_bucket.example":    "",
		"registry":                    "",
		"9.9.9.9":                     "",
		"9.9.9.9:853":                 "",
		"[2620:fe::9]":                "",
		"[2620:FE:0::9]:443":          "[2620:fe::9]:443",
		"private:registry.corp":       "",
		"private:*.corp.example:5000": "",
		"private:localhost:5000":      "",
		"private:127.0.0.1:*":         "",
		"private:10.1.2.3":            "",
		"private:[fd00::7]:8080":      "",
	} {
		host, err := jail.ParseHost(rule)
		if want == "" {
			want = rule
		}
		if err != nil || host.String() != want {
			t.Errorf("ParseHost(%q) = %q, %v; want %q", rule, host, err, want)
		}
		again, err := jail.ParseHost(host.String())
		if err != nil || again != host {
			t.Errorf("ParseHost(%q) = %q, %v: the canonical form is another rule", host, again, err)
		}
	}
}

func TestParseHostSaysHowToWriteARule(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string]string{
		"":                              "it is empty",
		"https://example.com/path":      `write "example.com"`,
		"http://example.com:8080":       `write "example.com:8080"`,
		"private:https://example.com/x": `write "example.com"`,
		"example.com/path":              `write "example.com"`,
		"example.com?x":                 `write "example.com"`,
		"user:pw@example.com":           `write "example.com"`,
		"10.0.0.0/8":                    "ranges",
		"fd00::/8":                      "ranges",
		"2620:fe::9":                    `write "[2620:fe::9]"`,
		"[2620:fe::9":                   "bracket",
		"[9.9.9.9]":                     "only IPv6",
		"[fe80::1%eth0]":                "zone",
		"[::ffff:9.9.9.9]":              `write "9.9.9.9"`,
		"example.com:":                  "no port",
		"example.com:0":                 "no port",
		"example.com:65536":             "no port",
		"example.com:080":               "no port",
		"example.com:+80":               "no port",
		"example.com:https":             `"example.com:*"`,
		"a*.example.com":                `"*.example.com"`,
		"*.*.example.com":               `"*.example.com"`,
		"**":                            `"*.example.com"`,
		"*.9.9.9.9":                     `without "*."`,
		"*.":                            "no host name",
		"private:*":                     "needs a name",
		"localhost":                     `write "private:localhost"`,
		"app.localhost:3000":            `write "private:app.localhost:3000"`,
		"127.0.0.1":                     `write "private:127.0.0.1"`,
		"192.168.1.1:8080":              `write "private:192.168.1.1:8080"`,
		"[::1]:80":                      `write "private:[::1]:80"`,
		"private:169.254.169.254":       "never reached",
		"private:[fd00:ec2::254]":       "never reached",
		"168.63.129.16":                 "never reached",
		"0.0.0.0":                       "never reached",
		"2130706433":                    "four decimal numbers",
		"127.1":                         "four decimal numbers",
		"0x7f.1":                        "four decimal numbers",
		"0x7f000001":                    "four decimal numbers",
		"0177.0.0.1":                    "four decimal numbers",
		"1.2.3.4.5":                     "four decimal numbers",
		"0x":                            "four decimal numbers",
		"exa mple.com":                  "no host name",
		"exa\x00mple.com":               "no host name",
		"exa%6dple.com":                 "no host name",
		"example..com":                  "no host name",
		".example.com":                  "no host name",
		"example.com..":                 "no host name",
		"-a.example":                    "no host name",
		"a-.example":                    "no host name",
		"ｅxample.com":                   "no host name",
		"example。com":                   "no host name",
		"exam\u00adple.com":             "no host name",
		"xn--example-.com":              "", // any error
		strings.Repeat("a", 64) + ".x":  "no host name",
		strings.Repeat("a.", 130):       "too long",
	} {
		host, err := jail.ParseHost(rule)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseHost(%q) = %q, %v; want an error with %q", rule, host, err, want)
		}
	}
}

func TestAllow(t *testing.T) {
	t.Parallel()
	hosts := parse(t, "example.com", "*.wild.example", "api.example.com:8443", "any.example:*", "9.9.9.9", "[2620:fe::9]",
		"private:localhost:5000", "private:10.0.0.7", "bücher.example")
	for _, c := range []struct {
		host  string
		port  int
		allow bool
	}{
		{"example.com", 443, true},
		{"example.com", 80, true},
		{"EXAMPLE.COM.", 443, true},
		{"example.com", 8443, false},
		{"example.com", 0, false},
		{"example.com", -1, false},
		{"example.com", 65536 + 443, false},
		{"example.com..", 443, false},
		{"www.example.com", 443, false},
		{"example.com.evil.test", 443, false},
		{"notexample.com", 443, false},
		{"wild.example", 443, false},
		{"a.wild.example", 443, true},
		{"a.b.wild.example.", 443, true},
		{"awild.example", 443, false},
		{".wild.example", 443, false},
		{"api.example.com", 8443, true},
		{"api.example.com", 443, false},
		{"any.example", 22, true},
		{"any.example", 65535, true},
		{"9.9.9.9", 443, true},
		{"9.9.9.9.", 443, false},
		{"9.9.9.8", 443, false},
		{"0x09.9.9.9", 443, false},
		{"151587081", 443, false}, // 9.9.9.9
		{"9.9.2313", 443, false},
		{"011.9.9.9", 443, false},
		{"::ffff:9.9.9.9", 443, false},
		{"[::ffff:9.9.9.9]", 443, false},
		{"[9.9.9.9]", 443, false},
		{"[2620:fe::9]", 443, true},
		{"2620:fe:0:0::9", 443, true},
		{"[2620:fe::9%25eth0]", 443, false},
		{"[2620:fe::9%eth0]", 443, false},
		{"[2620:fe::9", 443, false},
		{"2620:fe::9]", 443, false},
		{"localhost", 5000, true},
		{"localhost", 443, false},
		{"127.0.0.1", 5000, false},
		{"10.0.0.7", 443, true},
		{"10.0.0.8", 443, false},
		{"xn--bcher-kva.example", 443, true},
		{"XN--BCHER-KVA.example", 443, true},
		{"bücher.example", 443, true},
		{"r3---sn.wild.example", 443, true},
		{"bu\u0308cher.example", 443, false}, // not in its normal form
		{"еxample.com", 443, false},          // Cyrillic
		{"xn--xample-2of.com", 443, false},   // the same
		{"EXAMPLE.COM", 443, true},           // K in the next one is the Kelvin sign
		{"\u212a.wild.example", 443, false},
		{"ｅxample.com", 443, false},
		{"example\u3002com", 443, false},
		{"user@example.com", 443, false},
		{"example.com@evil.test", 443, false},
		{"example.com%00.evil.test", 443, false},
		{"example.com\x00", 443, false},
		{"example.com ", 443, false},
		{" example.com", 443, false},
		{"example.com\r\nX: y", 443, false},
		{"example.com/", 443, false},
		{"example.com:443", 443, false},
		{"example.com#", 443, false},
		{"exam%70le.com", 443, false},
		{"*.wild.example", 443, false},
		{"*", 443, false},
		{"", 443, false},
		{".", 443, false},
		{"169.254.169.254", 80, false},
	} {
		if got := hosts.Allow(c.host, c.port); got != c.allow {
			t.Errorf("Allow(%q, %d) = %t; %s", c.host, c.port, got, hosts.Refusal(c.host, c.port))
		}
	}
}

func TestAnyNameIsNoAddress(t *testing.T) {
	t.Parallel()
	hosts := parse(t, "*:*")
	for host, want := range map[string]bool{
		"example.com": true, "registry": true,
		"9.9.9.9": false, "127.0.0.1": false, "::1": false, "localhost": false, "a.localhost": false, "localhost.localdomain": false,
	} {
		if got := hosts.Allow(host, 443); got != want {
			t.Errorf("Allow(%q) = %t", host, got)
		}
	}
	if none := (jail.Hosts{jail.Host{}}); none.Allow("example.com", 443) || none.Allow("", 443) {
		t.Error("a rule without a name names a host")
	}
}

func TestRefusalNamesTheRule(t *testing.T) {
	t.Parallel()
	hosts := parse(t, "example.com")
	for _, c := range []struct {
		host string
		port int
		rule string
	}{
		{"Evil.test", 443, `"evil.test"`},
		{"evil.test", 8080, `"evil.test:8080"`},
		{"9.9.9.9", 443, `"9.9.9.9"`},
		{"localhost", 5432, `"private:localhost:5432"`},
		{"::1", 80, `"private:[::1]"`},
		{"10.0.0.1", 80, `"private:10.0.0.1"`},
	} {
		why := hosts.Refusal(c.host, c.port)
		if !strings.Contains(why, "add "+c.rule) {
			t.Errorf("Refusal(%q, %d) = %q", c.host, c.port, why)
			continue
		}
		rule := strings.Trim(c.rule, `"`)
		if more := slices.Concat(hosts, parse(t, rule)); !more.Allow(c.host, c.port) {
			t.Errorf("%q does not allow %s:%d", rule, c.host, c.port)
		}
	}
}

func TestReach(t *testing.T) {
	t.Parallel()
	hosts := parse(t, "example.com", "private:registry.corp", "private:localhost", "private:*.localhost", "private:127.0.0.1", "private:10.0.0.7", "9.9.9.9")
	for _, c := range []struct {
		host, addr string
		want       string // part of the reason
	}{
		{"example.com", "93.184.216.34", ""},
		{"example.com", "2606:2800:220:1::1", ""},
		{"example.com", "::ffff:93.184.216.34", ""},
		{"example.com", "64:ff9b::5db8:d822", ""},
		{"example.com", "127.0.0.1", "this machine"},
		{"example.com", "127.9.9.9", "this machine"},
		{"example.com", "::1", "this machine"},
		{"example.com", "::ffff:127.0.0.1", "this machine"},
		{"example.com", "10.0.0.1", `"private:example.com"`},
		{"example.com", "172.31.255.255", "private network"},
		{"example.com", "192.168.0.1", "private network"},
		{"example.com", "100.64.0.1", "private network"},
		{"example.com", "198.18.0.1", "private network"},
		{"example.com", "fd00::1", "private network"},
		{"example.com", "fec0::1", "private network"},
		{"example.com", "::ffff:10.0.0.1", "private network"},
		{"example.com", "64:ff9b::a00:1", "never"},
		{"example.com", "64:ff9b::7f00:1", "never"},
		{"example.com", "64:ff9b:1::a00:1", "never"},
		{"example.com", "2002:a00:1::1", "never"},
		{"example.com", "2002:7f00:1::", "never"},
		{"example.com", "2001:0:7f00:1::", "never"}, // Teredo
		{"example.com", "::10.0.0.1", "never"},
		{"example.com", "::", "never"},
		{"example.com", "0.0.0.0", "never"},
		{"example.com", "0.1.2.3", "never"},
		{"example.com", "169.254.169.254", "never"},
		{"example.com", "fe80::1", "never"},
		{"example.com", "fe80::1%lo", "never"},
		{"example.com", "93.184.216.34", ""},
		{"example.com", "224.0.0.1", "never"},
		{"example.com", "255.255.255.255", "never"},
		{"example.com", "240.0.0.1", "never"},
		{"example.com", "ff02::1", "never"},
		{"example.com", "2001:db8::1", "never"},
		{"example.com", "4000::1", "never"},
		{"registry.corp", "10.0.0.1", ""},
		{"registry.corp", "fd12::1", ""},
		{"registry.corp", "93.184.216.34", ""},
		{"registry.corp", "127.0.0.1", "this machine"},
		{"registry.corp", "169.254.169.254", "never"},
		{"registry.corp", "100.100.100.200", "never"},
		{"registry.corp", "168.63.129.16", "never"},
		{"registry.corp", "fd00:ec2::254", "never"},
		{"registry.corp", "64:ff9b::a00:1", "never"},
		{"localhost", "127.0.0.1", ""},
		{"localhost", "::1", ""},
		{"app.localhost", "127.0.0.1", ""},
		{"127.0.0.1", "127.0.0.1", ""},
		{"127.0.0.1", "127.0.0.2", "do not belong"},
		{"10.0.0.7", "10.0.0.7", ""},
		{"9.9.9.9", "9.9.9.9", ""},
		{"9.9.9.9", "10.0.0.7", "do not belong"},
		{"other.test", "93.184.216.34", "no rule"},
		{"exam ple.com", "93.184.216.34", "do not belong"},
	} {
		why := hosts.Reach(c.host, 443, netip.MustParseAddr(c.addr))
		if (c.want == "") != (why == "") || !strings.Contains(why, c.want) {
			t.Errorf("Reach(%q, %s) = %q; want %q", c.host, c.addr, why, c.want)
		}
	}
	if why := hosts.Reach("example.com", 443, netip.Addr{}); why == "" {
		t.Error("no address is reached")
	}
	if !hosts.Private("registry.corp", 443) || hosts.Private("example.com", 443) || hosts.Private("registry.corp", 22) {
		t.Error("Private does not follow the rules")
	}
}

func parse(t testing.TB, rules ...string) jail.Hosts {
	t.Helper()
	hosts, err := jail.ParseHosts(rules)
	if err != nil {
		t.Fatal(err)
	}
	return hosts
}

// FuzzHost: a rule that parses keeps its meaning in its canonical form, and a host that is allowed by a
// name's rule is that name or below it, byte for byte but for case and the last dot.
func FuzzHost(f *testing.F) {
	for _, seed := range [][2]string{
		{"example.com", "EXAMPLE.com."},
		{"*.a.b:8080", "x.a.b"},
		{"private:10.0.0.1", "0xa.1"},
		{"[::1]", "::1"},
		{"bücher.example", "xn--bcher-kva.example"},
		{"private:localhost:*", "LOCALHOST"},
		{"*", "a b"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, rule, asked string) {
		host, err := jail.ParseHost(rule)
		if err != nil {
			return
		}
		again, err := jail.ParseHost(host.String())
		if err != nil || again != host {
			t.Fatalf("%q is %q, which is %q, %v", rule, host, again, err)
		}
		hosts := jail.Hosts{host}
		if !hosts.Allow(asked, 443) {
			return
		}
		name, addr, err := jail.CanonicalHost(asked)
		if err != nil || strings.ContainsAny(asked, " %@/\\\x00\r\n\t#?*") {
			t.Fatalf("%q allows the odd %q", rule, asked)
		}
		pattern := strings.TrimPrefix(host.String(), "private:")
		switch {
		case addr.IsValid():
			if !strings.Contains(pattern, addr.String()) {
				t.Fatalf("%q allows the address %q", rule, asked)
			}
		case strings.HasPrefix(pattern, "*"):
			if below, _, _ := strings.Cut(pattern[1:], ":"); !strings.HasSuffix(name, below) {
				t.Fatalf("%q allows %q", rule, asked)
			}
		case strings.Split(pattern, ":")[0] != name:
			t.Fatalf("%q allows %q", rule, asked)
		}
	})
}
