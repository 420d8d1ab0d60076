package main

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/alecthomas/kong"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/agent"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/apply"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/approval"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/attack"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/audit"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/backup"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/breakglass"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/call"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/check"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/completion"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/component"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/config"
	contexts "github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/context"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/data"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/decisions"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/demo"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/env"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/events"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/exception"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/freeze"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/halt"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/hook"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/jail"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/lease"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/login"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/mcp"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/migrate"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/names"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/namespace"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/notify"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/pack"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/pages"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/person"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/policy"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/process"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/receipt"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/replay"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/report"
	runs "github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/run"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/runner"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/schedule"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/schema"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/session"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/setup"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/slack"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/state"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/store"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/suggest"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/tail"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/task"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/token"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/tools"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/up"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/upstream"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/verify"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/whoami"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/workflow"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/workspace"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/hookclient"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/jailclient"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/offline"
)

// The sections of the help.
const (
	start   = "Start:"
	define  = "Define:"
	inRun   = "Run:"
	decide  = "Decide:"
	watch   = "Watch:"
	operate = "Operate:"
)

// section returns the section of a command.
func section(name string) *kong.Group {
	title := commands[slices.IndexFunc(commands, func(c command) bool { return c.name == name })].section
	return &kong.Group{Key: title, Title: title}
}

// command is one word that may follow `interlock`. Its grammar is the struct that
// the parser fills in and runs.
type command struct {
	section, name, help string
	grammar             func() any
	tags                []string
}

func of[G any]() any { return new(G) }

// hidden is the tag of a command that is for programs.
const hidden = `hidden:""`

// caller sets the role by which a command calls a server.
func caller(role string) []string { return []string{`set:"caller=` + role + `"`} }

// commands lists all commands, in the order of the help.
var commands = []command{
	{start, "setup", "Set a workspace up step by step: what `interlock` alone does at a terminal.", of[setup.Command], nil},
	{start, "up", "Run everything in one process.", of[up.Command], nil},
	{start, "demo", "Walk an MCP client through a gated workflow, with a server of its own.", of[demo.Command], nil},
	{start, "init", "Write the hooks and the MCP server of a coding agent into a workspace.", of[workspace.Init], nil},
	{start, "status", "Show the server of a workspace, its agents, and whether rules are enforced on them.", of[workspace.Status], nil},
	{start, "stop", "Stop the server of a workspace.", of[up.Stop], nil},
	{start, "doctor", "Check a workspace's set-up: hooks, server, and changes that the agent's user could make.", func() any { return &workspace.Doctor{Ask: hook.OverHTTP, Jails: jailclient.Machine{}} }, nil},
	{start, "console", "Print a link to the console, the pages where people see and decide.", of[pages.Command], nil},
	{start, "env", "Print the variables of a server and a role, for a shell to read.", of[env.Command], nil},
	{start, "whoami", "Show who you are to a server, and what you may do.", of[whoami.Command], nil},
	{start, "context", "Keep servers and tokens by name, and choose one.", of[contexts.Command], nil},
	{start, "version", "Show the version.", of[versionCommand], nil},
	{start, completion.Name, "Print a completion script for a shell.", of[completion.Command], nil},
	{define, "validate", "Validate workflows, processes, policies and components.", of[offline.Validate], nil},
	{define, "fmt", "Format definitions written in JSON.", of[offline.Fmt], nil},
	{define, "test", "Test workflows by scenario files, without a server.", of[offline.Test], nil},
	{define, "verify", "Prove properties of every run of a workflow, or check a recorded run.", of[verify.Command], nil},
	{define, "plan", "Show what applying a folder of definitions would do.", of[apply.PlanCommand], nil},
	{define, "apply", "Apply a folder of definitions, in one commit.", of[apply.Command], nil},
	{define, "set", "List the sets of definitions that were applied, and show what has changed since.", of[apply.SetCommand], nil},
	{define, "bundle", "Sign folders of definitions, and check such signatures.", of[apply.BundleCommand], nil},
	{define, "attack", "Attack a workflow with a hostile agent, and report violations of its properties.", of[attack.Command], nil},
	{define, "viz", "Draw the state graph of a workflow or a process.", of[offline.Viz], nil},
	{define, "pack", "Start from a pack: a workflow and policies for common work, with tests.", of[pack.Command], nil},
	{define, "workflow", "Register and read workflows.", of[workflow.Command], nil},
	{define, "policy", "Store policies, attach them, and try them on recorded calls.", of[policy.Command], nil},
	{define, "process", "Register processes, start them, and answer their questions.", of[process.Command], nil},
	{define, "schema", "Register and read the schemas of shared states.", of[schema.Command], nil},
	{define, "component", "Define state components, and use their values.", of[component.Command], nil},
	{define, "suggest", "Propose the tightest workflow under which recorded runs would have gone the same way.", of[suggest.Command], nil},
	{define, "replay", "Drive recorded runs through a candidate workflow, and show the differences.", of[replay.Command], nil},
	{define, "migrate", "Move running runs to another version of their workflow, and prove that they get no new rights.", of[migrate.Command], nil},
	{inRun, "run", "Start, drive and watch runs.", of[runs.Command], nil},
	{inRun, "check", "Ask whether a tool call is allowed. An allowed one counts.", of[check.Command], nil},
	{inRun, "report", "Record the result of a tool call.", of[report.Command], nil},
	{inRun, "call", "List calls without a reported outcome, and settle them.", of[call.Command], nil},
	{inRun, "schedule", "Start runs at times.", of[schedule.Command], nil},
	{inRun, "session", "Create, stop and watch over sessions.", of[session.Command], nil},
	{inRun, "agent", "Keep agents, which sessions start from.", of[agent.Command], nil},
	{inRun, "runner", "Run the agents of sessions: start them, and resume them when they are due.", of[runner.Command], nil},
	{inRun, "task", "List pending tasks.", of[task.Command], nil},
	{inRun, "state", "Create, read and change the states that sessions share.", of[state.Command], nil},
	{inRun, "mcp", "Speak MCP on stdio: Interlock's tools, and other servers behind the gate.", of[mcp.Command], caller("agent")},
	{inRun, "hook", "Answer one hook event of a coding agent (stdin, stdout, exit 2 blocks).", func() any { return &hook.Command{Jail: hookclient.Self{}} }, nil},
	{inRun, "jail", "Run a command line in its jail, and explain jails.", of[jail.Command], nil},
	{decide, "approval", "List approvals, and decide them.", of[approval.Command], nil},
	{decide, "login", "Log in at this terminal, for its commands.", of[login.Command], nil},
	{decide, "logout", "Log out at this terminal.", of[login.Logout], nil},
	{decide, "person", "Keep people: who decides, operates or looks on, and their keys.", of[person.Command], nil},
	{decide, "exception", "Let calls pass one rule of a policy for a while.", of[exception.Command], nil},
	{decide, "lease", "List leases of approvers, and revoke them.", of[lease.Command], nil},
	{decide, "slack", "Show approvals in a channel of Slack, and pass on decisions of people there.", of[slack.Command], caller("relay")},
	{decide, "halt", "Stop all work in a scope, and let it go on.", of[halt.Command], nil},
	{decide, "freeze", "Stop some transitions of workflows for a time.", of[freeze.Command], nil},
	{decide, "namespace", "List the namespaces that you may call in.", of[namespace.Command], nil},
	{decide, "breakglass", "Sign grants for calls without contact, and hand in such calls.", of[breakglass.Command], nil},
	{decide, "upstream", "Show the tools of servers behind the gate, and accept their changes.", of[upstream.Command], nil},
	{decide, "tools", "Describe the tools of servers behind the gate, so that conditions know what they do.", of[tools.Command], nil},
	{decide, "token", "Add tokens of people and programs; make and read tokens that are bound to a session.", of[token.Command], nil},
	{watch, "tail", "Show live events.", of[tail.Command], nil},
	{watch, "decisions", "Show the log of decisions on tool calls.", of[decisions.Command], nil},
	{watch, "decision", "Show one decision of the log, and why it was made.", of[decisions.One], nil},
	{watch, "why", "Explain the newest refused call, or another one, and what would allow it.", of[decisions.Why], nil},
	{watch, "audit", "Verify the log of decisions.", of[audit.Command], nil},
	{watch, "receipt", "Make receipts of runs, and check them.", of[receipt.Command], nil},
	{operate, "notify", "Try the channels over which people are told of approvals.", of[notify.Command], nil},
	{operate, "data", "Show the data folder of a workspace, and move it out of the workspace.", of[data.Command], nil},
	{operate, "store", "Look after the store.", of[store.Command], nil},
	{operate, "backup", "Back the store up, verify backups, and restore them.", of[backup.Command], nil},
	{operate, "events", "Publish lost events of NATS again.", of[events.Command], nil},
	{operate, "config", "Check the files of --config.", of[config.Command], nil},
	{operate, "keep-login", "Keep a log-in at a server elsewhere, for the shell that has started interlock login.", of[login.Keep], []string{hidden}},
	{operate, "names", "Print the names that completion offers.", of[names.Command], []string{hidden}},
}

// named returns the commands that the parser needs for a command line: the one that it
// begins with, with the one below it that comes next, or else all, without their grammar when it names none: help and errors
// have no more than the names then. To build the grammar of all takes longer than most
// commands do.
func named(args []string) []command {
	find := func(name string) int {
		return slices.IndexFunc(commands, func(c command) bool { return c.name == name })
	}
	switch at := slices.IndexFunc(args, func(arg string) bool { return find(arg) >= 0 }); {
	case at == 0 && args[0] != completion.Name: // which prints them all
		c := commands[find(args[0])]
		c.grammar = narrowed(c.grammar, args[1:])
		return []command{c}
	case at >= 0:
		return commands
	}
	return withoutGrammar(commands)
}

// narrowed returns the grammar with the command that the arguments begin with, and none of those next to it. It returns the
// whole grammar when they begin with another word, and when the commands do not stand alone in it.
func narrowed(whole func() any, args []string) func() any {
	pointer := reflect.TypeOf(whole())
	if len(args) == 0 || pointer.NumMethod() > 0 {
		return whole
	}
	group := pointer.Elem()
	var one []reflect.StructField
	for i := range group.NumField() {
		field := group.Field(i)
		_, isCommand := field.Tag.Lookup("cmd")
		_, isDefault := field.Tag.Lookup("default")
		switch {
		case !isCommand || isDefault || field.Anonymous || !field.IsExported():
			return whole
		case cmp.Or(field.Tag.Get("name"), dashed(field.Name)) == args[0]:
			one = append(one, reflect.StructField{Name: field.Name, Type: field.Type, Tag: field.Tag})
		}
	}
	if len(one) != 1 {
		return whole
	}
	return func() any { return reflect.New(reflect.StructOf(one)).Interface() }
}

// dashed returns the name of the command that a field is, such as force-state for ForceState.
func dashed(field string) string {
	var b strings.Builder
	for i, r := range field {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

func withoutGrammar(all []command) []command {
	bare := slices.Clone(all)
	for i := range bare {
		bare[i].grammar = of[struct{}]
		bare[i].tags = slices.DeleteFunc(slices.Clone(bare[i].tags), func(tag string) bool { return tag != hidden })
	}
	return bare
}
