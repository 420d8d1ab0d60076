package outcome

import (
	"fmt"
	"testing"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/snapshot"
)

// S3.10: the agent reads the refusals of the jail, and the changes that would allow them.
func TestNoticeOfAJail(t *testing.T) {
	t.Parallel()
	discard := &jail.Profile{Writes: jail.WritesDiscard, Protect: []string{".envrc", "~/.bashrc"}}
	for want, w := range map[string]*testimony{
		"": {Witness: &jail.Witness{Written: []string{"x"}, Hosts: []jail.Asked{{Host: "h:443", Allowed: true}}}, profile: discard},
		`State "plan" only reads, so these changes were discarded: "dist/a", "b". To keep changes of the workspace, move to a state that edits; the author of the workflow can keep a folder in a copy for later commands: "jail": {"caches": ["dist"]}.`: {
			Witness: &jail.Witness{Tried: []string{"dist/a", "b"}}, profile: discard,
		},
		`State "plan" only reads, so these changes were discarded: "b", "py/.pytest_cache/x". To keep changes of the workspace, move to a state that edits; the author of the workflow can keep a folder in a copy for later commands: "jail": {"caches": ["py/.pytest_cache"]}.`: {
			Witness: &jail.Witness{Tried: []string{".git/index", "/home/u/.config/go/telemetry/x", "b", "py/.pytest_cache/x"}}, profile: discard,
		},
		`State "plan" only reads, so these changes were discarded: "/home/u/.bashrc", "src/a". To keep changes of the workspace, move to a state that edits.`: {
			Witness: &jail.Witness{Tried: []string{"/home/u/.bashrc", "/home/u/.bashrc2", "src/a"}}, profile: discard,
		},
		`The jail kept these files as they were: "/home/u/shared.git/refs/heads/main". The author of the workflow can let commands change files outside of the workspace: "jail": {"write": [...]}.`: {
			Witness: &jail.Witness{Tried: []string{"/home/u/shared.git/refs/heads/main"}}, profile: discard,
		},
		`The jail kept these files as they were: ".envrc".`: {Witness: &jail.Witness{Tried: []string{".envrc", "/home/u/.npm/_logs/x"}}, profile: &jail.Profile{Writes: jail.WritesAllow}},
		`The jail kept these files as they were: ".git/config". Git obeys programs that ".git/config" names, so only people change it: ` +
			"`git push -u` has pushed, and `git branch -d` has deleted, without it. " + `The author of the workflow can let commands change it: "jail": {"write": [".git/config"]}.`: {
			Witness: &jail.Witness{Tried: []string{".git/config"}}, profile: &jail.Profile{Writes: jail.WritesAllow},
		},
		`Programs end with their command line, so the jail ended "node", "sh\x1b". Start, use and stop a program in one line, or run the line in the background; the author of the workflow can let programs of state "plan" run on: "jail": {"background": true}.`: {
			Witness: &jail.Witness{Left: []string{"node", "sh\x1b"}}, profile: discard,
		},
		`The jail ended the command: wall_seconds. The author of the workflow can raise that in "jail": {"limits": {...}}.`: {
			Witness: &jail.Witness{Left: []string{"node"}, Stopped: "wall_seconds"}, profile: discard,
		},
		`The jail refused connections to "a.b:443". The author of the workflow can allow them in state "plan": "jail": {"hosts": ["a.b:443"]}.`: {
			Witness: &jail.Witness{Hosts: []jail.Asked{{Host: "a.b:443"}, {Host: "ok:1", Allowed: true}}}, profile: discard,
		},
		`The jail refused connections to "a.b:443", although "hosts" names it: its address 10.0.0.1 is private.`: {
			Witness: &jail.Witness{Hosts: []jail.Asked{{Host: "a.b:443", Why: "its address 10.0.0.1 is private"}}}, profile: &jail.Profile{Hosts: []string{"a.b"}},
		},
	} {
		if got := w.notice("plan", w.kept()); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// S3.10: the agent reads once for each file and state that a change was discarded.
func TestNoticeOfAFileOnce(t *testing.T) {
	t.Parallel()
	o := &Service{noticed: snapshot.New[noticedFile, string](4096)}
	run, other := ledger.Run("default", "run_1"), ledger.Run("default", "run_2")
	for i, c := range []struct {
		run               store.Key
		state, call, want string
		writes            jail.Writes
		tried             []string
	}{
		{run, "plan", "a", "[x y]", jail.WritesDiscard, []string{"x", "y"}},
		{run, "plan", "a", "[x y]", jail.WritesDiscard, []string{"x", "y"}}, // the commit of the same call is tried again
		{run, "plan", "b", "[z]", jail.WritesDiscard, []string{"x", "y", "z"}},
		{run, "test", "c", "[x]", jail.WritesDiscard, []string{"x"}},
		{other, "plan", "d", "[x]", jail.WritesDiscard, []string{"x"}},
		{run, "edit", "e", "[.envrc]", jail.WritesAllow, []string{".envrc"}},
		{run, "edit", "f", "[.envrc]", jail.WritesAllow, []string{".envrc"}},
	} {
		w := &testimony{Witness: &jail.Witness{CallID: c.call, Tried: c.tried}, profile: &jail.Profile{Writes: c.writes}}
		if got := fmt.Sprint(o.news(c.run, c.state, w)); got != c.want {
			t.Errorf("%d: %s, want %s", i, got, c.want)
		}
	}
}
