package jailer_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/services/internal/jailer"
	"github.com/interlock-run/interlock/services/internal/jailer/hostproxy"
)

// TestHosts: a command reaches the hosts that its profile names by the proxy, and in no other way.
func TestHosts(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Fatal("this test needs curl: install it, e.g. apt-get install curl")
	}
	serve := func(answer string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) }))
		t.Cleanup(server.Close)
		return server.Listener.Addr().String()
	}
	named, other := serve("the named host"), serve("the other host")
	p := profile(workspace(t), jail.WritesAllow)
	p.Network, p.Hosts = jail.NetworkHosts, []string{"private:" + named}
	const script = `
	curl -sS --noproxy '' http://%[1]s/; echo
	curl -sSp --noproxy '' http://%[1]s/; echo
	curl -sS --noproxy '' --proxy socks5h://${http_proxy#http://} http://%[1]s/; echo
	curl -sS --noproxy '' http://%[2]s/
	curl -sSv http://example.com/ 2>&1 | grep hosts
	for url in http://%[1]s/ http://%[2]s/ http://9.9.9.9/ 'http://[2620:fe::9]/'; do curl -sS --max-time 5 --noproxy '*' $url 2>/dev/null && echo reached $url; done
	curl -sS --max-time 5 --noproxy '*' http://example.com/ 2>&1
	env | grep -i '^[a-z]*_proxy' | wc -l`
	out, w := jailed(t, p, fmt.Sprintf(script, named, other))
	if n := strings.Count(out, "the named host"); n != 3 {
		t.Errorf("the named host has answered %d of 3 times", n)
	}
	for _, want := range []string{
		"The jail refuses " + other + ": no rule names it", `add "private:` + other + `" to "hosts"`, `add "example.com" to "hosts"`,
		"Could not resolve host: example.com", "\n8\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing", want)
		}
	}
	for _, never := range []string{"the other host", "reached"} {
		if strings.Contains(out, never) {
			t.Errorf("%q", never)
		}
	}
	for _, want := range []jail.Asked{{Host: named, Allowed: true}, {Host: other}, {Host: "example.com:80"}} {
		if !slices.ContainsFunc(w.Hosts, func(a jail.Asked) bool { return a.Host == want.Host && a.Allowed == want.Allowed }) {
			t.Errorf("the witness does not have %+v: %+v", want, w.Hosts)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

// TestBadHostsStartNothing: a rule that cannot be read is no reason to do without it.
func TestBadHostsStartNothing(t *testing.T) {
	t.Parallel()
	p := profile(workspace(t), jail.WritesAllow)
	p.Network, p.Hosts = jail.NetworkHosts, []string{"https://example.com/"}
	c := &jailer.Command{Argv: []string{"/bin/true"}, Dir: p.Workspace, Profile: p, Proxy: hostproxy.Open}
	if _, err := jailer.Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), `write "example.com"`) {
		t.Errorf("%v", err)
	}
}

// TestHostsNeedAProxy: a program that has no proxy starts no command whose profile lists hosts.
func TestHostsNeedAProxy(t *testing.T) {
	t.Parallel()
	p := profile(workspace(t), jail.WritesAllow)
	p.Network, p.Hosts = jail.NetworkHosts, []string{"example.com"}
	c := &jailer.Command{Argv: []string{"/bin/true"}, Dir: p.Workspace, Profile: p}
	if w, err := jailer.Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "has no proxy") {
		t.Errorf("%+v %v", w, err)
	}
}

// TestNoNetworkSaysSo: without a network, programs that use a proxy end at once with the rule that would help, and none reaches
// a host or a port of this machine.
func TestNoNetworkSaysSo(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Fatal("this test needs curl: install it, e.g. apt-get install curl")
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the machine answers") }))
	t.Cleanup(server.Close)
	here := server.Listener.Addr().String()
	p := profile(workspace(t), jail.WritesDiscard)
	p.Network = jail.NetworkNone
	const script = `
	curl -sSv https://example.com/ 2>&1
	curl -sS http://example.org/
	curl -sS --noproxy '' http://%[1]s/
	curl -sSp --noproxy '' http://%[1]s/ 2>&1
	curl -sS --noproxy '' --proxy socks5h://${http_proxy#http://} http://%[1]s/ 2>&1
	curl -sS --noproxy '' --proxy socks4a://${http_proxy#http://} http://%[1]s/ 2>&1
	curl -sS --noproxy '*' --max-time 5 http://%[1]s/ 2>&1
	curl -sS --noproxy '' http://169.254.169.254/
	curl -sS --noproxy '' http://localhost:1/`
	out, w := jailed(t, p, fmt.Sprintf(script, here))
	for _, want := range []string{`add "example.com" to "hosts"`, `The jail refuses example.org:80: no rule names it`, "this address is never reached"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if strings.Contains(out, "the machine answers") {
		t.Errorf("a host was reached:\n%s", out)
	}
	for _, host := range []string{"example.com:443", "example.org:80", here} {
		if !slices.ContainsFunc(w.Hosts, func(a jail.Asked) bool { return a.Host == host && !a.Allowed }) {
			t.Errorf("the witness does not have %s: %+v", host, w.Hosts)
		}
	}
	if i := slices.IndexFunc(w.Hosts, func(a jail.Asked) bool { return a.Allowed }); i >= 0 {
		t.Errorf("allowed: %+v", w.Hosts[i])
	}
}
