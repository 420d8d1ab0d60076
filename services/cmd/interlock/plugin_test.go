package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/shellwords"
)

// TestPlugin: the plugin of Claude Code is in the marketplace of the repository, enforces no rule itself, and names commands that
// exist.
func TestPlugin(t *testing.T) {
	t.Parallel()
	const root = "../../.."
	read := func(name string, into any) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(root, name))
		if err == nil && into != nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var marketplace struct {
		Plugins []struct{ Name, Source string }
	}
	var plugin struct{ Name, Version string }
	read(".claude-plugin/marketplace.json", &marketplace)
	if len(marketplace.Plugins) != 1 {
		t.Fatalf("the marketplace has %v", marketplace.Plugins)
	}
	folder := marketplace.Plugins[0].Source
	read(folder+"/.claude-plugin/plugin.json", &plugin)
	if plugin.Name != marketplace.Plugins[0].Name || plugin.Version == "" {
		t.Errorf("the plugin is %+v, and the marketplace has %+v", plugin, marketplace.Plugins[0])
	}
	for _, enforcing := range []string{"hooks", ".mcp.json"} {
		if _, err := os.Stat(filepath.Join(root, folder, enforcing)); err == nil {
			t.Errorf("the plugin has %s: the settings of the workspace enforce", enforcing)
		}
	}
	named := regexp.MustCompile("`(interlock [^`]+)`")
	for _, page := range []string{"commands/setup.md", "skills/interlock/SKILL.md"} {
		text := read(folder+"/"+page, nil)
		if !strings.HasPrefix(text, "---\n") || !strings.Contains(text, "\ndescription: ") {
			t.Errorf("%s has no description", page)
		}
		found := named.FindAllStringSubmatch(text, -1)
		if len(found) == 0 {
			t.Errorf("%s names no command", page)
		}
		for _, match := range found {
			words := shellwords.Split(strings.ReplaceAll(match[1], "\n", " "))[1:]
			if _, err := grammar(t, words).Parse(words); err != nil {
				t.Errorf("%s: `%s`: %v", page, match[1], err)
			}
		}
	}
}
