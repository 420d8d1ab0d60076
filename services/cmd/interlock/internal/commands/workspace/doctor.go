package workspace

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/hookclient"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/offline"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/gateway"
	"github.com/interlock-run/interlock/services/internal/datadir"
	"github.com/interlock-run/interlock/services/internal/hookevent"
)

// Doctor says what of a workspace's set-up holds: which hooks are in place, whether their
// server can be trusted, and whether the agent's user could undo it (S13.7).
type Doctor struct {
	Dir       string `arg:"" optional:"" help:"The workspace." default:"." type:"path"`
	Data      string `name:"data-dir" help:"Data folder of the server on this machine; by default that of the hooks, or else of the workspace." env:"INTERLOCK_DATA" type:"path" placeholder:"DIR"`
	Probe     bool   `help:"Make a call that must be denied through the hook's own command, and look for it in the log."`
	Line      string `help:"With --probe: the command line that must be denied. By default the call reads a secret of the data folder." placeholder:"COMMAND"`
	AgentUser string `help:"User that the agent runs as; by default the one who runs this." placeholder:"NAME"`

	// Ask is how the server is asked to prove itself; nil where that is not possible.
	Ask hookclient.Transport `kong:"-"`
	// Jails finds out the jail of this machine; nil where that is not asked.
	Jails hookclient.Prober `kong:"-"`
	// Managed is the file of Claude Code's managed settings; empty for that of this system.
	Managed string `kong:"-"`
}

// level is how a check ended.
type level string

const (
	fine    level = "ok"
	note    level = "note" // as it is meant to be, and good to know
	warning level = "warn" // it holds, and could be undone
	failure level = "FAIL" // it looks enforced, and is not
)

// finding is one line of the report: the check, and how to fix it.
type finding struct {
	level     level
	what, fix string
}

// Run prints a line for each check. It returns console.ErrNo when something is not enforced
// that looks enforced.
func (c *Doctor) Run(ctx context.Context, io console.Streams) error {
	findings, err := c.examine(ctx, io)
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
func (c *Doctor) examine(ctx context.Context, io console.Streams) ([]finding, error) {
	hooks, findings, err := c.hooks()
	if err != nil {
		return nil, err
	}
	folder, err := folderOf(c.Dir, cmp.Or(c.Data, hooks.data))
	if err != nil {
		return append(findings, finding{failure, err.Error(), ""}), nil //nolint:nilerr // it is a finding
	}
	findings = append(findings, c.folder(folder, hooks)...)
	findings = append(findings, c.server(folder)...)
	findings = append(findings, c.elsewhere(folder)...)
	findings = append(findings, changedSince(folder, workspaceName(c.Dir), hooks)...)
	who, err := c.agentUser()
	if err != nil {
		return nil, err
	}
	if c.AgentUser == "" {
		findings = append(findings, sameUser(folder, who))
	} else {
		findings = append(findings, agent(folder, who)...)
		findings = append(findings, undone(hooks, who)...)
	}
	findings = append(findings, c.jails(folder)...)
	findings = append(findings, inWorkspace(folder, c.Dir)...)
	findings = append(findings, inherited(folder, os.Getenv("INTERLOCK_TOKEN"))...)
	findings = append(findings, leftOut(ctx, io, folder)...)
	findings = append(findings, refused(ctx, folder)...)
	findings = append(findings, loosened(ctx, io, folder)...)
	if standing := StandingOf(ctx, io, folder, hooks.workflow, hooks.observe); !standing.Enforcing && len(hooks.files) > 0 {
		how := note // it may be meant to be so
		if hooks.observe {
			how = warning
		}
		findings = append(findings, finding{how, "NOT enforcing, because " + standing.Why, standing.fix})
	}
	if c.Probe {
		findings = append(findings, c.probe(ctx, io, folder, hooks)...)
	}
	return append(findings, openShell(ctx, io, folder, hooks.workflow)...), nil
}

// folder checks that no other user can change the data folder, and that its server
// answers.
func (c *Doctor) folder(folder datadir.Dir, hooks gating) []finding {
	if err := folder.Guarded(); err != nil {
		return []finding{{failure, err.Error(), "start `interlock up` with that folder, and keep it to its owner (chmod 700)"}}
	}
	var findings []finding
	if hooks.data != "" && c.Data != "" {
		if theirs, err := datadir.At(hooks.data); err != nil || theirs != folder {
			findings = append(findings, finding{failure, fmt.Sprintf("the hooks use the data folder %s, and not %s", hooks.data, folder), again})
		}
	}
	entries, err := os.ReadDir(string(folder))
	if err != nil {
		findings = append(findings, finding{failure, err.Error(), "run doctor as the user of the server"})
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && !entry.IsDir() && info.Mode().Perm()&0o077 != 0 {
			file := filepath.Join(string(folder), entry.Name())
			findings = append(findings, finding{failure, fmt.Sprintf("%s has mode %04o", file, info.Mode().Perm()), "run chmod 600 on it"})
		}
	}
	if c.Ask == nil {
		return findings
	}
	edge := hookclient.Client{Agent: hookevent.ClaudeCode, Data: string(folder)}
	if err := edge.Reach(c.Ask); err != nil {
		return append(findings, finding{failure, err.Error(), "start `interlock up`; until then every call is blocked"})
	}
	return append(findings, finding{fine, "the server of " + string(folder) + " answers, and proves that it knows the token", ""})
}

// elsewhere checks that the data folder of the hooks is of this workspace: a copy of a workspace, and one that was moved, have the
// hooks of the original. Where init has written them here, they are meant so.
func (c *Doctor) elsewhere(folder datadir.Dir) []finding {
	own, known := datadir.In(c.Dir)
	_, err := os.Stat(string(folder))
	uses, anew := Uses(c.Dir), again
	if len(uses) > 0 {
		anew = "run `" + uses[0].Again(workspaceName(c.Dir)) + "`"
	}
	switch of := folder.Workspace(); {
	case known && own != folder && os.IsNotExist(err):
		return []finding{{failure, fmt.Sprintf("the hooks use the data folder %s, which is gone: that of this workspace is %s", folder, own), anew}}
	case of == "" || sameFolder(of, c.Dir) || slices.ContainsFunc(uses, func(u Use) bool { return folder.Wrote(u.File) }):
		return nil
	default:
		if _, err := os.Stat(of); os.IsNotExist(err) {
			return []finding{{
				failure, fmt.Sprintf("the hooks use the data folder %s of %s, which is gone", folder, of),
				"if that workspace was moved to here, run `interlock data move`; then " + anew,
			}}
		}
		return []finding{{
			failure, fmt.Sprintf("the hooks use the data folder %s of %s: an agent that works here acts there", folder, of),
			"this is a copy: remove its file .interlock, then " + anew,
		}}
	}
}

func sameFolder(a, b string) bool { return workspaceName(a) == workspaceName(b) }

// apart is how to keep an agent from changes that its user could make.
const apart = "run the agent as another user or in a container (docs/security.md)"

// agentUser returns the user that the agent runs as.
func (c *Doctor) agentUser() (who *user.User, err error) {
	if who, err = user.Current(); c.AgentUser != "" {
		who, err = user.Lookup(c.AgentUser)
	}
	if err != nil {
		return nil, fmt.Errorf("find the agent's user: %w; give --agent-user", err)
	}
	return who, nil
}

// sameUser notes the level of protection where the agent runs as the user of the server.
func sameUser(folder datadir.Dir, who *user.User) finding {
	if _, err := auth.FileToken(folder.Local(), auth.Operator); err != nil {
		return withPresence(folder, who)
	}
	return finding{
		note, fmt.Sprintf("level of protection: same user, no presence: it stops mistakes. The agent runs as your user %s, so a program that it starts could read "+
			"the tokens of operators and approvers in %s, and change the hooks; start `interlock up` without --presence none, or %s, and check with --agent-user",
			who.Username, folder.Local(), apart), "",
	}
}

// agent checks whether the agent's user could do operations for people.
func agent(folder datadir.Dir, who *user.User) []finding {
	info, err := os.Stat(folder.Local())
	switch {
	case err != nil:
		return nil // no folder, which has been said
	case mayRead(info, who):
		return []finding{{failure, fmt.Sprintf("an agent of user %s could read %s, and so act in any session", who.Username, folder.Local()), apart}}
	}
	return []finding{{fine, fmt.Sprintf("an agent of user %s cannot read %s", who.Username, folder.Local()), ""}}
}

// undone checks whether the agent's user could change the hooks, or the program that they run.
func undone(hooks gating, who *user.User) []finding {
	var within []string
	for _, file := range slices.Compact(slices.Sorted(slices.Values(hooks.files))) {
		if mayChange(file, who) {
			within = append(within, file)
		}
	}
	switch {
	case len(hooks.files) == 0:
		return nil // which has been said
	case len(within) > 0:
		return []finding{{
			failure, fmt.Sprintf("an agent of user %s could change %s, and so turn the hooks off", who.Username, strings.Join(within, ", ")),
			"put the hooks into managed settings that belong to root, and " + apart,
		}}
	}
	return []finding{{fine, fmt.Sprintf("an agent of user %s cannot change the hooks", who.Username), ""}}
}

// server checks that the MCP server of the workspace can be started, and is that of the hooks.
func (c *Doctor) server(folder datadir.Dir) []finding {
	const name = ".mcp.json"
	text, err := os.ReadFile(filepath.Join(c.Dir, name))
	if os.IsNotExist(err) {
		return nil
	}
	var doc struct {
		Servers map[string]struct {
			Command string   `json:"command"`
			Args    []string `json:"args"`
		} `json:"mcpServers"`
	}
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	if err != nil {
		return []finding{{failure, fmt.Sprintf("read %s: %v", name, err), again}}
	}
	ours, ok := doc.Servers["interlock"]
	if !ok || len(ours.Args) == 0 || ours.Args[0] != "mcp" {
		return nil
	}
	var findings []finding
	if err := resolves(ours.Command); err != nil {
		findings = append(findings, finding{failure, name + ": " + err.Error() + ", so the agent has no tool to make transitions", again})
	}
	if at := slices.Index(ours.Args, "--data-dir"); at >= 0 && at+1 < len(ours.Args) {
		if other, err := datadir.At(ours.Args[at+1]); err != nil || other != folder {
			findings = append(findings, finding{failure, fmt.Sprintf("%s: the MCP server uses the data folder %s, and the hooks %s", name, ours.Args[at+1], folder), again})
		}
	}
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(doc.Servers)), func(name string) bool {
		return name == "interlock" || doc.Servers[name].Command == ""
	})
	if len(others) > 0 {
		findings = append(findings, finding{
			note, fmt.Sprintf("%s: these servers run without a jail, because the agent's client starts them: %s", name, strings.Join(others, ", ")),
			"put them behind `interlock mcp --mcp-config FILE`, with \"needs\" (docs/mcp.md)",
		})
	}
	return append(findings, unjailed(c.Dir, ours.Args[1:])...)
}

// unjailed names the servers without a jail behind an interlock mcp with arguments, which clients start in the workspace.
func unjailed(workspace string, args []string) (findings []finding) {
	var flags gateway.Flags
	var mode gateway.JailFlag
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(args[i], "=")
		if !slices.Contains([]string{"--upstream", "--mcp-config", "--jail"}, name) {
			continue
		}
		if !joined {
			if i++; i == len(args) {
				break
			}
			value = args[i]
		}
		switch name {
		case "--upstream":
			flags.Upstream = append(flags.Upstream, value)
		case "--mcp-config":
			if flags.MCPConfig = value; !filepath.IsAbs(value) {
				flags.MCPConfig = filepath.Join(workspace, value)
			}
		case "--jail":
			mode.Jail = gateway.Jails(value)
		}
	}
	servers, err := flags.Upstreams()
	if err != nil {
		return []finding{{failure, ".mcp.json: " + err.Error(), "the MCP server does not start: correct its arguments"}}
	}
	for _, server := range servers {
		if why := server.Unjailed(mode.Jail); why != "" {
			findings = append(findings, finding{
				note, fmt.Sprintf("the server %s behind `interlock mcp` runs without a jail: %s", server.Name, why),
				"list its needs in its entry of --mcp-config: \"needs\": {} is a jail without any needs (docs/mcp.md)",
			})
		}
	}
	return findings
}

// resolves reports that a command of the settings cannot be started.
func resolves(program string) error {
	if !filepath.IsAbs(program) {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("there is no program %s on the PATH", program)
		}
		return nil
	}
	if info, err := os.Stat(program); err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
		return fmt.Errorf("there is no program %s", program)
	}
	return nil
}

// inWorkspace warns of a data folder in the workspace: commands that read all of the workspace
// read its tokens, too.
func inWorkspace(folder datadir.Dir, dir string) []finding {
	if !folder.Inside(dir) {
		return nil
	}
	fix := "start `interlock up` with a --data-dir elsewhere, and run `interlock init` again with that --data-dir"
	if filepath.Base(string(folder)) == datadir.Default {
		fix = "stop the server, and run `interlock data move`"
	}
	return []finding{{
		warning, fmt.Sprintf("the data folder %s is in the workspace: a search of all files, such as grep -r, reads its tokens", folder), fix,
	}}
}

// inherited warns of a person's token in the environment, which programs that are started from
// here have, too.
func inherited(folder datadir.Dir, token string) []finding {
	file, err := auth.ReadFile(folder.Tokens())
	if err != nil || token == "" {
		return nil // no folder, which has been said
	}
	if e, ok := file.Find(token); ok && e.Role != auth.Agent {
		return []finding{{
			warning, fmt.Sprintf("INTERLOCK_TOKEN is that of the role %s: an agent that is started from here has it", e.Role),
			"unset INTERLOCK_TOKEN where agents are started",
		}}
	}
	return nil
}

// openShell looks at the workflow that the hooks put sessions on. A server that cannot say it
// has been notified of already.
func openShell(ctx context.Context, io console.Streams, folder datadir.Dir, name string) []finding {
	if name == "" {
		return nil
	}
	at := client.Connection{Data: string(folder)}
	var definition []byte
	err := at.Do(ctx, io, auth.Agent, func(conn grpc.ClientConnInterface) error {
		resp, err := enginev1.NewWorkflowServiceClient(conn).GetWorkflow(ctx, &enginev1.GetWorkflowRequest{Name: name})
		definition = resp.GetWorkflow().GetDefinition()
		return err
	})
	if fault.ReasonOf(err) == fault.NotFound {
		return []finding{{failure, fmt.Sprintf("the workflow %q of the hooks is not registered", name), "run `interlock workflow register`"}}
	}
	value, problems := document.ParseAll(definition, document.Limits{})
	if err != nil || problems.HasErrors() {
		return nil
	}
	var findings []finding
	_, said := workflow.ParseValue(value)
	for _, p := range append(offline.OpenShells(value), said...) {
		if p.Code == workflow.CodeWhileRunning || p.Code == offline.CodeOpenShell {
			findings = append(findings, finding{warning, fmt.Sprintf("workflow %s, %s: %s", name, p.Pointer, p.Message), ""})
		}
	}
	return findings
}

// leftOut warns of tools of MCP servers that agents cannot use because of how they are described. It is silent for a user
// who may not list them.
func leftOut(ctx context.Context, io console.Streams, folder datadir.Dir) (findings []finding) {
	at := client.Connection{Data: string(folder)}
	_ = at.Do(ctx, io, auth.Observer, func(conn grpc.ClientConnInterface) error {
		resp, err := policyv1.NewUpstreamServiceClient(conn).ListUpstreamTools(ctx, &policyv1.ListUpstreamToolsRequest{})
		for _, t := range resp.GetTools() {
			if t.GetLeftOut() != "" {
				findings = append(findings, finding{
					warning, fmt.Sprintf("the tool %s of the MCP server %s is left out, so that no agent can use it: %s", t.GetTool(), t.GetServer(), t.GetLeftOut()),
					"have the server describe it otherwise",
				})
			}
		}
		return err
	})
	return findings
}

// managed returns where Claude Code has the settings that only administrators change.
func managed() string {
	switch runtime.GOOS {
	case "darwin":
		return "/Library/Application Support/ClaudeCode/managed-settings.json"
	case "windows":
		return `C:\Program Files\ClaudeCode\managed-settings.json`
	default:
		return "/etc/claude-code/managed-settings.json"
	}
}

// mayChange reports whether a user may write a file, or put another in its place.
func mayChange(file string, who *user.User) bool {
	for _, path := range []string{file, filepath.Dir(file)} {
		info, err := os.Stat(path)
		if err != nil || may(info, who, 0o002, 0o020) {
			return true
		}
	}
	return false
}

// mayRead reports whether a user may read a file, by its owner, group and mode. Any doubt
// says yes.
func mayRead(info fs.FileInfo, who *user.User) bool { return may(info, who, 0o004, 0o040) }

func may(info fs.FileInfo, who *user.User, others, group fs.FileMode) bool {
	uid, gid, ok := datadir.Owner(info)
	groups, err := who.GroupIds()
	if !ok || err != nil || who.Uid == "0" || who.Uid == strconv.Itoa(uid) || info.Mode().Perm()&others != 0 {
		return true
	}
	return info.Mode().Perm()&group != 0 && slices.Contains(groups, strconv.Itoa(gid))
}
