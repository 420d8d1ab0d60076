package workspace

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/hookclient"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/shellwords"
	"github.com/interlock-run/interlock/services/internal/datadir"
	"github.com/interlock-run/interlock/services/internal/hookevent"
)

// settingsFiles are the files that init writes in a workspace, and the agents that they are of.
var settingsFiles = []struct{ path, agent string }{
	{localSettings, "claude-code"},
	{sharedSettings, "claude-code"},
	{".mcp.json", "claude-code"},
	{".codex/hooks.json", "codex"},
	{".cursor/hooks.json", "cursor"},
	{".cursor/mcp.json", "cursor"},
	{".gemini/settings.json", "gemini"},
	{".github/hooks/interlock.json", "copilot"},
}

// Use is a file of a workspace that calls Interlock, with its settings.
type Use struct {
	File     string // absolute
	Data     string // the data folder that it names; empty for none
	Workflow string // that its hooks put sessions on; empty for none
	Observe  bool   // its hooks record, and enforce no workflow

	agent  string
	shared bool
}

// Uses returns the files of a workspace with hooks or a server of ours.
func Uses(dir string) (all []Use) {
	dir = workspaceName(dir)
	for _, file := range settingsFiles {
		use := Use{File: filepath.Join(dir, filepath.FromSlash(file.path)), agent: file.agent, shared: file.path == sharedSettings}
		text, err := os.ReadFile(use.File)
		if err != nil || !setUp(text) {
			continue
		}
		use.read(text)
		all = append(all, use)
	}
	return all
}

// read takes the settings of a file over.
func (u *Use) read(text []byte) {
	var doc struct {
		Hooks   any `json:"hooks"`
		Servers map[string]struct {
			Args []string `json:"args"`
		} `json:"mcpServers"`
	}
	if json.Unmarshal(text, &doc) != nil {
		return
	}
	args := doc.Servers["interlock"].Args
	if at := slices.Index(args, "--data-dir"); at >= 0 && at+1 < len(args) {
		u.Data = args[at+1]
	}
	for _, words := range hooksIn(doc.Hooks) {
		words = words[2:]
		if at := slices.Index(words, "||"); at >= 0 {
			words = words[:at]
		}
		client := hookclient.Client{Agent: hookevent.ClaudeCode}
		if client.Parse(words) {
			u.Data, u.Workflow, u.Observe = client.Data, client.Workflow, client.Observe
		}
	}
}

// Leads reports that a file leads to a data folder. One that names none finds it by itself.
func (u *Use) Leads(to datadir.Dir) bool {
	if !filepath.IsAbs(u.Data) {
		return true
	}
	at, err := datadir.At(u.Data)
	return err == nil && at == to
}

// Again returns the command that writes a file anew.
func (u *Use) Again(dir string) string {
	words := []string{"interlock", "init", u.agent}
	if u.shared {
		words = append(words, "--shared")
	}
	if u.Workflow != "" {
		words = append(words, "--workflow", u.Workflow)
	}
	if u.Observe {
		words = append(words, "--observe")
	}
	return shellwords.Join(append(words, dir))
}

// above returns the nearest folder above a workspace that is set up, too, and a file that shows it; both empty for none.
func above(dir string) (folder, file string) {
	for folder = filepath.Dir(dir); folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
		if uses := Uses(folder); len(uses) > 0 {
			return folder, uses[0].File
		}
	}
	return "", ""
}
