package runner

import (
	"slices"
	"testing"

	"github.com/interlock-run/interlock/pkg/jail"
)

// TestOuterProfile: an agent changes its working folder and its own folders, reads the files that its hooks need, and
// keeps its environment.
func TestOuterProfile(t *testing.T) {
	t.Parallel()
	o := &Jail{Write: []string{"/srv/out"}, Read: []string{"~/.ssh"}}
	p := o.profile("/w", "/state/data", "/state/data/hook.sock", []string{"INTERLOCK_TOKEN=t", "API_KEY=k"})
	switch {
	case p.Workspace != "/w" || p.Writes != jail.WritesAllow || p.Network != jail.NetworkOpen || p.Level != jail.Full || !p.Nest:
		t.Errorf("%s", p.JSON())
	case len(p.DropEnv) > 0 || p.SetEnv["INTERLOCK_TOKEN"] != "t" || len(p.SetEnv) != 1:
		t.Errorf("its environment: %v, %v", p.DropEnv, p.SetEnv)
	}
	for _, path := range []string{"/srv/out", "~/.claude", "~/.codex", "/state/data/witnesses", "/state/data/hook.sock"} {
		if !slices.Contains(p.Write, path) {
			t.Errorf("%s cannot be changed: %v", path, p.Write)
		}
	}
	for _, path := range []string{"/state/data", "~/.claude/settings.json", ".git/hooks", "~/.bashrc"} {
		if !slices.Contains(p.Protect, path) {
			t.Errorf("%s is not protected", path)
		}
	}
	for path, want := range map[string]bool{"~/.aws": true, "~/.ssh": false, "~/.claude/.credentials.json": false, "~/.codex/auth.json": false, "~/.config/gh": true} {
		if slices.Contains(p.Hide, path) != want {
			t.Errorf("%s is hidden: %v", path, !want)
		}
	}
	if p := (&Jail{Hosts: []string{"api.example"}}).profile("/w", "", "", nil); p.Network != jail.NetworkHosts || !slices.Equal(p.Hosts, []string{"api.example"}) {
		t.Errorf("%s", p.JSON())
	}
}
