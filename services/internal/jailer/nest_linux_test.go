package jailer_test

import (
	"os"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/jail"
)

// TestNest: only a profile that nests, of a user who is not root, lets a command make namespaces, and read-only paths stay so in them.
func TestNest(t *testing.T) {
	t.Parallel()
	made := "made"
	if os.Geteuid() == 0 {
		made = "refused"
	}
	dir := workspace(t, "a", "x")
	for nest, want := range map[bool]string{false: "refused", true: made} {
		p := profile(dir, jail.WritesDeny)
		p.Nest = nest
		out, _ := jailed(t, p, "unshare -Urm true && echo made || echo refused; unshare -Urm sh -c 'mount -o remount,rw,bind "+dir+"; umount -l "+dir+"; echo y > "+dir+"/b' ; ls "+dir)
		if !strings.Contains(out, want) || strings.Contains(out, "b\n") {
			t.Errorf("%v: %s", nest, out)
		}
	}
}
