package workspace

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/hookclient"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/shellwords"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

// Doctor says what of a workspace's set-up holds: which hooks are in place, whether their
// server can be trusted, and whether the agent's user could undo it (S13.7).
type Doctor struct {
	Dir       string `arg:"" optional:"" help:"The workspace." default:"." type:"path"`
	Data      string `name:"data-dir" help:"Data folder of the server on this machine; by default that of the hooks, or .interlock in the workspace." env:"INTERLOCK_DATA" type:"path" placeholder:"DIR"`
	AgentUser string `help:"User that the agent runs as; by default the one who runs this." placeholder:"NAME"`

	// Ask is how the server is asked to prove itself; nil where that is not possible.
	Ask hookclient.Transport `kong:"-"`
}

// level is how a check ended.
type level string

const (
	fine    level = "ok"
	warning level = "warn" // it holds, and could be undone
	failure level = "FAIL" // it looks enforced, and is not
)

// finding is one line of the report: what was checked, and how to fix it.
type finding struct {
	level     level
	what, fix string
}

// Run prints a line for each check. It returns console.ErrNo when something is not enforced
// that looks enforced.
func (c *Doctor) Run(_ context.Context, io console.Streams) error {
	findings, err := c.examine()
	if err != nil {
		return err
	}
	for _, f := range findings {
		fmt.Fprintf(io.Out, "%-4s  %s\n", f.level, show.Text(f.what))
		if f.fix != "" {
			fmt.Fprintf(io.Out, "      fix: %s\n", show.Text(f.fix))
		}
	}
	if slices.ContainsFunc(findings, func(f finding) bool { return f.level == failure }) {
		return console.ErrNo
	}
	return nil
}

// examine runs all checks.
func (c *Doctor) examine() ([]finding, error) {
	hooks, findings, err := c.hooks()
	if err != nil {
		return nil, err
	}
	data := cmp.Or(c.Data, hooks.data, filepath.Join(c.Dir, datadir.Default))
	folder := datadir.Dir(data)
	findings = append(findings, c.folder(folder, hooks)...)
	findings = append(findings, changedSince(folder, workspaceName(c.Dir), hooks)...)
	asAgent, err := c.agent(folder)
	return append(findings, asAgent...), err
}

// gating is what the settings of a workspace say of hooks.
type gating struct {
	data    string // that the hooks name
	written string // the hooks, to compare
}

const again = "run `interlock init claude-code` again"

// hooks checks that the settings call the hook for each event, and in a way that blocks.
func (c *Doctor) hooks() (gating, []finding, error) {
	var g gating
	var findings []finding
	type settings struct {
		Disabled bool                   `json:"disableAllHooks"`
		Hooks    map[string][]hookGroup `json:"hooks"`
	}
	commands := map[string][]string{}
	for _, name := range []string{"settings.json", "settings.local.json"} {
		file := filepath.Join(c.Dir, ".claude", name)
		text, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue
		}
		var s settings
		if err == nil {
			err = json.Unmarshal(text, &s)
		}
		if err != nil {
			return g, nil, fmt.Errorf("read %s: %w", file, err)
		}
		if s.Disabled {
			findings = append(findings, finding{failure, file + " turns all hooks off (disableAllHooks)", "remove disableAllHooks"})
		}
		for event, groups := range s.Hooks {
			for _, group := range groups {
				if group.Matcher != "" && group.Matcher != "*" {
					continue // it does not see every tool
				}
				for _, h := range group.Hooks {
					if isHook(h.Command) {
						commands[event] = append(commands[event], h.Command)
					}
				}
			}
		}
	}
	if len(commands) == 0 {
		return g, append(findings, finding{failure, "no settings of Claude Code call the hook: nothing is gated", "run `interlock init claude-code`"}), nil
	}
	for _, event := range hookEvents {
		findings = append(findings, c.hook(event.name, event.stop, commands[event.name], &g)...)
	}
	if !slices.ContainsFunc(findings, func(f finding) bool { return f.level == failure }) {
		findings = append(findings, finding{fine, fmt.Sprintf("the hook is called for all %d events", len(hookEvents)), ""})
	}
	return g, findings, nil
}

// hook checks the commands of one event.
func (c *Doctor) hook(event string, stop bool, commands []string, g *gating) []finding {
	if len(commands) == 0 {
		return []finding{{failure, "no hook for " + event, again}}
	}
	var findings []finding
	for _, command := range commands {
		g.written += event + ": " + command + "\n"
		words := shellwords.Split(command)
		call := hookclient.Call{Agent: hookclient.ClaudeCode}
		at := slices.Index(words, "||")
		if at < 0 {
			at = len(words)
			if !stop {
				findings = append(findings, finding{failure, event + ": the hook lacks || exit 2, so a missing program blocks nothing", again})
			}
		}
		if !call.Parse(words[2:at]) {
			findings = append(findings, finding{failure, event + ": the hook's command cannot be read: " + command, again})
			continue
		}
		if program := words[0]; filepath.IsAbs(program) {
			if info, err := os.Stat(program); err != nil || info.Mode()&0o111 == 0 {
				findings = append(findings, finding{failure, event + ": there is no program " + program, again})
			}
		}
		switch {
		case call.Server != "":
		case call.Data == "" || !filepath.IsAbs(call.Data):
			findings = append(findings, finding{failure, event + ": the hook names no absolute --data-dir", again})
		case g.data != "" && g.data != call.Data:
			findings = append(findings, finding{failure, event + ": the hooks name several data folders", again})
		default:
			g.data = call.Data
		}
	}
	return findings
}

// folder checks that nobody else can change the data folder, and that its server answers.
func (c *Doctor) folder(folder datadir.Dir, hooks gating) []finding {
	if err := folder.Guarded(); err != nil {
		return []finding{{failure, err.Error(), "start `interlock up` with that folder, and keep it to its owner (chmod 700)"}}
	}
	var findings []finding
	if hooks.data != "" && c.Data != "" && hooks.data != c.Data {
		findings = append(findings, finding{failure, fmt.Sprintf("the hooks use the data folder %s, and not %s", hooks.data, c.Data), again})
	}
	for _, file := range []string{folder.Tokens(), folder.TokenKey(), folder.Database()} {
		info, err := os.Stat(file)
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			findings = append(findings, finding{failure, fmt.Sprintf("%s has mode %04o", file, info.Mode().Perm()), "run chmod 600 on it"})
		}
	}
	if c.Ask == nil {
		return findings
	}
	call := hookclient.Call{Agent: hookclient.ClaudeCode, Data: string(folder)}
	if err := call.Reach(c.Ask); err != nil {
		return append(findings, finding{failure, err.Error(), "start `interlock up`; until then every call is blocked"})
	}
	return append(findings, finding{fine, "the server of " + string(folder) + " answers, and proves that it knows the token", ""})
}

// changedSince compares the hooks with those that init has written.
func changedSince(folder datadir.Dir, dir string, hooks gating) []finding {
	known, err := folder.Installed(dir)
	switch {
	case err != nil:
		return []finding{{failure, err.Error(), again}}
	case known == "":
		return []finding{{warning, "nothing tells whether the hooks are those that init wrote", again}}
	case known != datadir.Digest(hooks.written):
		return []finding{{failure, "the hooks have changed since `interlock init`", "look at .claude/settings.json, then " + again}}
	}
	return []finding{{fine, "the hooks are unchanged since `interlock init`", ""}}
}

// agent checks whether the agent's user could do what is for people.
func (c *Doctor) agent(folder datadir.Dir) ([]finding, error) {
	const fix = "run the agent as another user or in a container (docs/security.md)"
	info, err := os.Stat(folder.Tokens())
	if err != nil {
		return nil, nil //nolint:nilerr // no folder, which has been said
	}
	who, err := user.Current()
	bad := warning
	if c.AgentUser != "" {
		who, err = user.Lookup(c.AgentUser)
		bad = failure
	}
	if err != nil {
		return nil, fmt.Errorf("find the agent's user: %w; give --agent-user", err)
	}
	if mayRead(info, who) {
		return []finding{{bad, fmt.Sprintf("an agent of user %s could read %s, and so give approvals", who.Username, folder.Tokens()), fix}}, nil
	}
	return []finding{{fine, fmt.Sprintf("an agent of user %s cannot read %s", who.Username, folder.Tokens()), ""}}, nil
}

// mayRead reports whether a user may read a file, by its owner, group and mode. Any doubt
// says yes.
func mayRead(info fs.FileInfo, who *user.User) bool {
	uid, gid, ok := datadir.Owner(info)
	groups, err := who.GroupIds()
	if !ok || err != nil || who.Uid == "0" || who.Uid == strconv.Itoa(uid) || info.Mode().Perm()&0o004 != 0 {
		return true
	}
	return info.Mode().Perm()&0o040 != 0 && slices.Contains(groups, strconv.Itoa(gid))
}

// written are the hooks of settings in the form that is compared.
func written(doc jsontext.Value) string {
	var s struct {
		Hooks map[string][]hookGroup `json:"hooks"`
	}
	if json.Unmarshal(doc, &s) != nil {
		return ""
	}
	var b strings.Builder
	for _, event := range hookEvents {
		for _, group := range s.Hooks[event.name] {
			for _, h := range group.Hooks {
				if isHook(h.Command) && (group.Matcher == "" || group.Matcher == "*") {
					b.WriteString(event.name + ": " + h.Command + "\n")
				}
			}
		}
	}
	return b.String()
}
