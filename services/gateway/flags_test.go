package gateway

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
)

func TestSplitWords(t *testing.T) {
	t.Parallel()
	for command, want := range map[string][]string{
		"npx fs /tmp":            {"npx", "fs", "/tmp"},
		"  a\t b ":               {"a", "b"},
		`'my server' "a b"c ''`:  {"my server", "a bc", ""},
		`a'b"c'`:                 {`ab"c`},
		`echo $HOME; rm -rf *`:   {"echo", "$HOME;", "rm", "-rf", "*"},
		`C:\tools\server --flag`: {`C:\tools\server`, "--flag"},
	} {
		if got, err := splitWords(command); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", command, got, err)
		}
	}
	for _, command := range []string{"", "  ", "'a", `a "b`} {
		if got, err := splitWords(command); err == nil {
			t.Errorf("%q: %q", command, got)
		}
	}
}

func FuzzSplitWords(f *testing.F) {
	f.Add(`a 'b c' "d"`)
	f.Fuzz(func(t *testing.T, command string) {
		words, err := splitWords(command)
		if (err == nil) != (len(words) > 0) {
			t.Fatalf("%q: %q, %v", command, words, err)
		}
		// Every character but quotes and blanks comes through, in order.
		strip := strings.NewReplacer("'", "", `"`, "", " ", "", "\t", "").Replace
		if valid := strings.ToValidUTF8(command, ""); err == nil && valid == command && strip(strings.Join(words, "")) != strip(command) {
			t.Errorf("%q became %q", command, words)
		}
	})
}

func TestUpstreams(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "servers.json")
	config := `{"mcpServers": {
		"zed": {"url": "https://zed/mcp", "headers": {"A": "b"}, "type": "http"},
		"fs": {"command": "npx", "args": ["fs", "/w"], "env": {"K": "v"}, "cwd": "/w", "needs": {"write": ["out"], "hosts": ["a.example"], "jail": "off"}}
	}}`
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	want := []Upstream{
		{Name: "fs", Command: []string{"npx", "fs", "/w"}, Env: map[string]string{"K": "v"}, Dir: "/w", Needs: &upstream.Needs{Write: []string{"out"}, Hosts: []string{"a.example"}, Jail: upstream.Off}},
		{Name: "zed", URL: "https://zed/mcp", Headers: map[string]string{"A": "b"}},
		{Name: "git", Command: []string{"git server", "-v"}},
		{Name: "web", URL: "http://127.0.0.1:1/mcp"},
	}
	for range 5 { // always in the same order
		got, err := Flags{MCPConfig: file, Upstream: []string{"git='git server' -v", "web=http://127.0.0.1:1/mcp"}}.Upstreams()
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("%v\n%s", err, diff)
		}
	}
	if got, err := (Flags{}).Upstreams(); err != nil || got != nil {
		t.Errorf("none: %v, %v", got, err)
	}
	for name, tc := range map[string]struct {
		flags Flags
		words string
	}{
		"no command":    {Flags{Upstream: []string{"fs"}}, "NAME=COMMAND"},
		"empty command": {Flags{Upstream: []string{"fs="}}, "NAME=COMMAND"},
		"no name":       {Flags{Upstream: []string{"=npx"}}, "NAME=COMMAND"},
		"open quote":    {Flags{Upstream: []string{"fs='npx"}}, "not closed"},
		"blank":         {Flags{Upstream: []string{"fs= "}}, "empty"},
		"no file":       {Flags{MCPConfig: file + ".no"}, "servers.json.no"},
		"folder":        {Flags{MCPConfig: filepath.Dir(file)}, "read the upstream servers"},
		"no JSON":       {Flags{MCPConfig: write(t, "{")}, "JSON"},
		"no servers":    {Flags{MCPConfig: write(t, `{"servers": {}}`)}, "mcpServers"},
		"nothing in it": {Flags{MCPConfig: write(t, `{"mcpServers": {"fs": {"cmd": "a"}}}`)}, `the server "fs" needs either "command" or "url"`},
		"text for list": {Flags{MCPConfig: write(t, `{"mcpServers": {"fs": {"command": "a", "args": "b"}}}`)}, "args must be a list of texts"},
		"a list":        {Flags{MCPConfig: write(t, `[]`)}, "the document must be an object"},
		"needs":         {Flags{MCPConfig: write(t, `{"mcpServers": {"fs": {"command": "a", "needs": {"net": []}}}}`)}, `the server "fs": "needs" has no "net"`},
		"both":          {Flags{MCPConfig: write(t, `{"mcpServers": {"fs": {"command": "a", "url": "http://b"}}}`)}, `"fs"`},
		"twice":         {Flags{MCPConfig: file, Upstream: []string{"fs=npx"}}, `"fs"`},
	} {
		if got, err := tc.flags.Upstreams(); err == nil || !strings.Contains(err.Error(), tc.words) {
			t.Errorf("%s: %v, %v; want an error with %q", name, got, err, tc.words)
		}
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "servers.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
