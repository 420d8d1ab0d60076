package upstream

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/services/internal/jailer"
)

// TestNeeds: needs are read, and a mistake in one says how to fix it.
func TestNeeds(t *testing.T) {
	t.Parallel()
	for text, wrong := range map[string]string{
		`{}`: "",
		`{"read": ["~/.ssh"], "write": ["out", "/srv/x"], "hosts": ["*.example.com:8443", "[::1]:80"], "lend": ["A_KEY"], "jail": 3}`: "",
		`{"hosts": ["*"], "jail": 1}`:         "",
		`{"jail": "off"}`:                     "",
		`{"wirte": ["x"]}`:                    `"needs" has no "wirte"`,
		`{"jail": 4}`:                         `must be 1, 2, 3 or "off"`,
		`{"jail": true}`:                      `must be 1, 2, 3 or "off"`,
		`{"write": "x"}`:                      `"write" of "needs" must be a list`,
		`[]`:                                  `must be an object`,
		`{"write": ["/"]}`:                    "name the folders",
		`{"write": [""]}`:                     "write a path",
		`{"hosts": ["https://example.com"]}`:  "without a scheme",
		`{"hosts": ["example.com/a"]}`:        "without a scheme",
		`{"hosts": ["a b"]}`:                  "without a scheme",
		`{"hosts": ["a.example"], "jail": 2}`: "only level 3",
		`{"lend": ["A=b"]}`:                   "name of a variable",
		`{"lend": ["INTERLOCK_TOKEN"]}`:       "lent to no server",
	} {
		var n Needs
		err := json.Unmarshal([]byte(text), &n)
		if err == nil {
			err = Server{Name: "x", Command: []string{"x"}, Needs: &n}.validate(JailsAuto)
		}
		if (err == nil) != (wrong == "") || err != nil && !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v, want %q", text, err, wrong)
		}
	}
	for _, server := range []Server{{Name: "x", URL: "https://x", Needs: &Needs{}}, {Name: "x", Command: []string{"x"}, Needs: &Needs{Jail: Off}}} {
		if err := server.validate(JailsRequired); err == nil {
			t.Errorf("%v is valid", server)
		}
	}
}

// TestJailed: with needs, and with --jail required, a process is jailed.
func TestJailed(t *testing.T) {
	t.Parallel()
	process := []string{"x"}
	for _, row := range []struct {
		server Server
		mode   Jails
		want   bool
	}{
		{Server{Command: process}, JailsAuto, false},
		{Server{Command: process}, JailsRequired, true},
		{Server{Command: process, Needs: &Needs{}}, JailsAuto, true},
		{Server{Command: process, Needs: &Needs{}}, JailsOff, false},
		{Server{Command: process, Needs: &Needs{Jail: Off}}, JailsAuto, false},
		{Server{URL: "https://x"}, JailsRequired, false},
	} {
		if needs, why := row.server.jailed(row.mode); (needs != nil) != row.want || (why == "") != row.want {
			t.Errorf("%v with %s: %v, %q", row.server, row.mode, needs, why)
		}
	}
}

// TestProfileOfNeeds: what is not named is not allowed.
func TestProfileOfNeeds(t *testing.T) {
	t.Parallel()
	none := (&Needs{}).profile("/w", "/w/sub")
	if none.Writes != jail.WritesDeny || none.Network != jail.NetworkNone || len(none.Write) > 0 || none.Level != jail.Scoped || none.Workspace != "/w" || none.Folder != "/w/sub" {
		t.Errorf("without needs: %s", none.JSON())
	}
	some := (&Needs{Write: []string{"out", "~/x", "/srv/../srv/y"}, Hosts: []string{"a.example"}}).profile("/w", "/w/sub")
	if some.Writes != jail.WritesDeny || some.Network != jail.NetworkHosts || some.Level != jail.Full ||
		!slices.Contains(some.Write, "/w/sub/out") || !slices.Contains(some.Write, "~/x") || !slices.Contains(some.Write, "/srv/y") {
		t.Errorf("with some: %s", some.JSON())
	}
	if all := (&Needs{Write: []string{".."}}).profile("/w", "/w/sub"); all.Writes != jail.WritesAllow || all.Network != jail.NetworkNone {
		t.Errorf("with the workspace: %s", all.JSON())
	}
	for _, p := range []*jail.Profile{none, some} {
		if len(p.DropEnv) > 0 || p.Background || p.Limits.WallSeconds != 0 || p.Limits.CPUSeconds != 0 {
			t.Errorf("a server lasts, in the environment that it is given: %s", p.JSON())
		}
	}
}

// TestEnvironmentOfNeeds: a server in a jail has the harmless variables, those that are lent, and
// those of its entry.
func TestEnvironmentOfNeeds(t *testing.T) {
	t.Parallel()
	ours := []string{"PATH=/bin", "HOME=/h", "LC_ALL=C", "AWS_SECRET_ACCESS_KEY=s", "GH_TOKEN=t", "SSH_AUTH_SOCK=/a", "MODE=x", "INTERLOCK_TOKEN=i"}
	server := Server{Command: []string{"x"}, Env: map[string]string{"OWN": "o"}, Needs: &Needs{Lend: []string{"GH_TOKEN"}}}
	if got := strings.Join(server.environment(JailsAuto, ours, nil), " "); got != "GH_TOKEN=t HOME=/h LC_ALL=C OWN=o PATH=/bin" {
		t.Error(got)
	}
	if got := strings.Join(server.environment(JailsAuto, ours, &Environment{Blocked: []string{"GH_TOKEN"}}), " "); got != "HOME=/h LC_ALL=C OWN=o PATH=/bin" {
		t.Error("the state has blocked one: ", got)
	}
	if got := server.environment(JailsOff, ours, nil); !slices.Contains(got, "MODE=x") {
		t.Error("without a jail: ", got)
	}
}

// TestLacks: last words and the witness of a jail point to entries of the needs.
func TestLacks(t *testing.T) {
	t.Parallel()
	ours := []string{"GH_TOKEN=t", "INTERLOCK_TOKEN=i"}
	for _, row := range []struct {
		words   string
		witness *jail.Witness
		want    string
	}{
		{"", nil, ""},
		{"SyntaxError: unexpected token", nil, ""},
		{"Error: EROFS: read-only file system, open '/w/out/x.db'", nil, `"write": ["/w/out/x.db"]`},
		{"open /h/.aws/config: permission denied", nil, `"read": ["~/.aws"]`},
		{"cannot write: Permission denied", nil, `"write": ["PATH"]`},
		{"getaddrinfo EAI_AGAIN api.example.com", nil, `"hosts": ["HOST"]`},
		{"x", &jail.Witness{Hosts: []jail.Asked{{Host: "api.example.com:443"}, {Host: "ok:443", Allowed: true}}}, `"hosts": ["api.example.com"]`},
		{"x", &jail.Witness{Tried: []string{"out/x"}}, `"write": ["out/x"]`},
		{"set GH_TOKEN, or INTERLOCK_TOKEN, or OTHER_TOKEN", nil, `"lend": ["GH_TOKEN"]`},
	} {
		if got := strings.Join((&Needs{}).lacks(row.words, ours, []string{"~/.aws"}, "/h", row.witness), ", "); got != row.want {
			t.Errorf("%q: %s, want %s", row.words, got, row.want)
		}
	}
}

// TestLevelOfNeeds: a machine that can do less than the needs demand starts nothing.
func TestLevelOfNeeds(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		needs Needs
		has   jail.Level
		want  bool
	}{
		{Needs{}, jail.Files, false},
		{Needs{}, jail.Scoped, true},
		{Needs{Jail: 1}, jail.Files, true},
		{Needs{Jail: 1}, jail.None, false},
		{Needs{Hosts: []string{"a"}}, jail.Scoped, false},
		{Needs{Hosts: []string{"*"}}, jail.Scoped, true},
		{Needs{Hosts: []string{"a"}}, jail.Full, true},
	} {
		j := Jailer{Probe: func() jailer.Support { return jailer.Support{Level: row.has, Missing: "namespaces"} }}
		err := j.enough(&row.needs)
		if (err == nil) != row.want || err != nil && !strings.Contains(err.Error(), "namespaces") {
			t.Errorf("%+v on level %d: %v", row.needs, row.has, err)
		}
	}
}
