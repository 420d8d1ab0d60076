package workspace

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/hookclient"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/jsonfile"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/shellwords"
	"github.com/interlock-run/interlock/services/internal/datadir"
	"github.com/interlock-run/interlock/services/internal/hookevent"
)

// gating has the hooks in the settings of a workspace.
type gating struct {
	data     string   // that the hooks name
	workflow string   // that they put sessions on
	observe  bool     // they record, and enforce no workflow
	before   []string // the command for a call of a tool
	written  string   // the hooks in the workspace, to compare
	files    []string // the settings with hooks, and the programs that they run
}

const again = "run `interlock init claude-code` again"

// hooks checks that the settings call the hook for each event, and in a way that blocks.
func (c *Doctor) hooks() (gating, []finding, error) {
	var g gating
	var findings []finding
	calls := map[string][]jsontext.Value{}
	own := map[string]string{}
	administered := cmp.Or(c.Managed, managed())
	for _, file := range []string{
		filepath.Join(c.Dir, ".claude", "settings.json"), filepath.Join(c.Dir, ".claude", "settings.local.json"), administered,
	} {
		text, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue
		}
		var s claudeSettings
		if err == nil {
			err = json.Unmarshal(text, &s)
		}
		if err != nil {
			return g, nil, fmt.Errorf("read %s: %w", file, err)
		}
		if s.Disabled {
			findings = append(findings, finding{failure, file + " turns all hooks off (disableAllHooks)", "remove disableAllHooks"})
		}
		for event := range s.Hooks {
			for _, entry := range s.ours(event) {
				calls[event] = append(calls[event], entry)
				g.files = append(g.files, file)
				if file != administered { // which init does not write
					own[event] += line(event, entry)
				}
			}
		}
	}
	if others := c.others(&g); len(calls) == 0 && len(others) > 0 {
		return g, append(findings, others...), nil
	}
	if len(calls) == 0 {
		return g, append(findings, finding{failure, "no settings of Claude Code call the hook: no call is gated", "run `interlock init claude-code`"}), nil
	}
	for _, event := range hookEvents {
		g.written += own[event.name]
		findings = append(findings, c.hook(event.name, event.passes, calls[event.name], &g)...)
	}
	if !slices.ContainsFunc(findings, func(f finding) bool { return f.level == failure }) {
		findings = append(findings, finding{fine, fmt.Sprintf("the hook is called for all %d events", len(hookEvents)), ""})
	}
	return g, findings, nil
}

// others warns of the hooks of other agents, which are not checked. Their server and their
// workflow are.
func (c *Doctor) others(g *gating) []finding {
	var findings []finding
	for _, agent := range []struct{ name, file string }{
		{"Codex", ".codex/hooks.json"},
		{"Cursor", ".cursor/hooks.json"},
		{"Gemini CLI", ".gemini/settings.json"},
		{"Copilot CLI", ".github/hooks/interlock.json"},
	} {
		var settings struct {
			Hooks any `json:"hooks"`
		}
		text, err := os.ReadFile(filepath.Join(c.Dir, agent.file))
		if err != nil || json.Unmarshal(text, &settings) != nil {
			continue
		}
		if commands := hooksIn(settings.Hooks); len(commands) > 0 {
			var use Use
			use.read(text)
			g.data, g.workflow, g.observe = cmp.Or(g.data, use.Data), cmp.Or(g.workflow, use.Workflow), g.observe || use.Observe
			g.files = append(g.files, filepath.Join(c.Dir, agent.file))
			findings = append(findings, finding{
				note, fmt.Sprintf("%s calls the hook (%s), and only hooks of Claude Code are checked", agent.name, agent.file), "",
			})
		}
	}
	return findings
}

// hooksIn returns the words of commands of ours anywhere in a value.
func hooksIn(value any) (commands [][]string) {
	switch v := value.(type) {
	case string:
		if words := shellwords.Split(v); isHook(words) {
			return [][]string{words}
		}
	case []any:
		for _, element := range v {
			commands = append(commands, hooksIn(element)...)
		}
	case map[string]any:
		if program, ok := v["command"].(string); ok && v["args"] != nil {
			if words := append([]string{program}, texts(v["args"])...); isHook(words) {
				return [][]string{words}
			}
		}
		for _, member := range v {
			commands = append(commands, hooksIn(member)...)
		}
	}
	return commands
}

// texts returns the texts of a list.
func texts(value any) (all []string) {
	list, _ := value.([]any)
	for _, element := range list {
		text, _ := element.(string)
		all = append(all, text)
	}
	return all
}

// hook checks the entries of one event.
func (c *Doctor) hook(event string, passes bool, entries []jsontext.Value, g *gating) []finding {
	if len(entries) == 0 {
		return []finding{{failure, "no hook for " + event, again}}
	}
	var findings []finding
	for _, entry := range entries {
		if why := lacks(entry); why != "" && !passes {
			findings = append(findings, finding{failure, event + ": " + why, again})
		}
		words := wordsOf(entry)
		for i, word := range words {
			words[i] = inProject(word, c.Dir)
		}
		client := hookclient.Client{Agent: hookevent.ClaudeCode}
		if !isHook(words) || !client.Parse(words[2:]) { // the words around it may pass
			findings = append(findings, finding{failure, event + ": the hook's command cannot be read: " + shellwords.Join(words), again})
			continue
		}
		if err := resolves(words[0]); err != nil {
			findings = append(findings, finding{failure, event + ": " + err.Error(), again})
		}
		if filepath.IsAbs(words[0]) {
			g.files = append(g.files, words[0])
		}
		g.workflow, g.observe = cmp.Or(client.Workflow, g.workflow), g.observe || client.Observe
		if hookevent.Of(hookevent.ClaudeCode, event) == hookevent.Before && event != hookevent.SkillCommand {
			g.before = words
		}
		switch {
		case client.Server != "":
		case client.Data == "" || !filepath.IsAbs(client.Data):
			findings = append(findings, finding{failure, event + ": the hook names no absolute --data-dir", again})
		case g.data != "" && g.data != client.Data:
			findings = append(findings, finding{failure, event + ": the hooks name several data folders", again})
		default:
			g.data = client.Data
		}
	}
	return findings
}

// lacks returns why an entry of Claude Code's settings may not block when its program fails; empty
// when it does. A member that is not known here, such as async, may keep it from blocking.
func lacks(entry jsontext.Value) string {
	members, err := jsonfile.Members(entry, jsontext.KindBeginObject)
	if err != nil {
		return err.Error()
	}
	for _, m := range members {
		if !slices.Contains([]string{"type", "command", "args", "timeout", "onFailure", "statusMessage"}, m.Name) {
			return fmt.Sprintf("the hook has %q, which may keep it from blocking", m.Name)
		}
	}
	var e hookEntry
	switch err := json.Unmarshal(entry, &e); {
	case err != nil:
		return "the hook cannot be read: " + err.Error()
	case e.Args == nil:
		return `the hook has no "args", so a shell stands around it and may end otherwise`
	case e.OnFailure != block:
		return `the hook lacks "onFailure": "block", so a hook that is killed or missing does not block`
	}
	return ""
}

// inProject returns a word of a command with the folder that Claude Code puts in.
func inProject(word, dir string) string {
	for _, variable := range []string{"${CLAUDE_PROJECT_DIR}", "$CLAUDE_PROJECT_DIR"} {
		word = strings.ReplaceAll(word, variable, workspaceName(dir))
	}
	return word
}

// claudeSettings are the parts of Claude Code's settings that doctor looks at.
type claudeSettings struct {
	Disabled bool `json:"disableAllHooks"`
	Hooks    map[string][]struct {
		Matcher string           `json:"matcher"`
		Hooks   []jsontext.Value `json:"hooks"`
	} `json:"hooks"`
}

// ours returns our entries for an event that see every tool.
func (s *claudeSettings) ours(event string) (entries []jsontext.Value) {
	for _, group := range s.Hooks[event] {
		for _, entry := range group.Hooks {
			if isHook(wordsOf(entry)) && (group.Matcher == "" || group.Matcher == "*") {
				entries = append(entries, entry)
			}
		}
	}
	return entries
}

// line returns an entry in the form that is compared: all of it, and not how it is laid
// out.
func line(event string, entry jsontext.Value) string {
	text := slices.Clone(entry)
	if text.Canonicalize() != nil {
		return event + ": not JSON\n"
	}
	return event + ": " + string(text) + "\n"
}

// written returns the hooks of settings in the form that is compared.
func written(doc jsontext.Value) string {
	var s claudeSettings
	if json.Unmarshal(doc, &s) != nil {
		return ""
	}
	var b strings.Builder
	for _, event := range hookEvents {
		for _, entry := range s.ours(event.name) {
			b.WriteString(line(event.name, entry))
		}
	}
	return b.String()
}

// changedSince compares the hooks with those that init has written.
func changedSince(folder datadir.Dir, dir string, hooks gating) []finding {
	known, err := folder.Installed(dir)
	switch {
	case hooks.written == "" && len(hooks.files) > 0:
		return nil // managed settings are not init's
	case err != nil:
		return []finding{{failure, err.Error(), again}}
	case known == "":
		return []finding{{warning, "no record shows whether the hooks are those that init wrote", again}}
	case known != datadir.Digest(hooks.written):
		return []finding{{failure, "the hooks have changed since `interlock init`", "look at .claude/settings.local.json and .claude/settings.json, then " + again}}
	}
	return []finding{{fine, "the hooks are unchanged since `interlock init`", ""}}
}
