package toolcall

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/toolinput"
	"github.com/interlock-run/interlock/pkg/toolname"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Calls whose command line runs in a jail (S20).

// jailed returns the level at which the line of a call runs: none for a call that no jail can run.
// That is one of a tool that runs no lines, types into a process that runs already, speaks another
// language, or is of a server that is not known to be here.
func jailed(state *workflow.StateView, call Call) jail.Level {
	switch {
	case call.Jail == jail.None, !isShell(state, call.Tool), typesInto(call.Tool), toolinput.SpeaksOther(call.Tool),
		strings.HasPrefix(call.Tool, mcpPrefix) && call.Tool != state.AllowedCommandsTool:
		return jail.None
	default:
		return call.Jail
	}
}

// typesInto reports a shell that hands its line to a process which runs already, or to another machine.
func typesInto(tool string) bool {
	var buf [toolname.LongestFolded]byte
	switch string(toolname.Folded(&buf, tool)) {
	case "writestdin", "interactwithprocess", "sendkeys", "writetoterminal", "sendinput", "sendterminalinput", "terminalinput", "sendtoterminal",
		"typeinterminal", "writebash", "sshexec":
		return true
	default:
		return false
	}
}

// jailing is the jail that a line runs in; none at level None.
type jailing struct {
	level             jail.Level
	rules             *jail.Rules
	workspace, folder string
	// readOnly: the kernel holds writes into the workspace.
	readOnly bool
}

func jailingOf(at *workflow.View, state *workflow.StateView, call Call) jailing {
	j := jailing{level: jailed(state, call), rules: state.JailRules(), workspace: at.Workspace, readOnly: detectsWrites(state)}
	if j.level > jail.None {
		j.folder = startFolder(at, call)
	}
	return j
}

// offline reports that the kernel leaves a line of the state no other machine.
func (j *jailing) offline() bool {
	return j.level >= jail.Scoped && j.readOnly && len(j.rules.Hosts) == 0
}

// demand objects to a line that runs at a lower level than the state demands, and returns enough.
func (o *objections) demand() bool {
	want, has := o.jail.rules.Level, o.jail.level
	if has >= want {
		return false
	}
	return o.line(CodeJailRequired, shortOf(want, has))
}

// shortOf describes that a level is lower than the one that a state demands.
func shortOf(want, has jail.Level) string {
	would := fmt.Sprintf("its command would run in a jail of level %d", has)
	if has == jail.None {
		would = "its command would run without a jail"
	}
	return fmt.Sprintf("%s, and the state demands level %d. `interlock doctor` shows which part of a jail is missing on this machine; "+
		"run the agent where it is present, or have the author lower \"jail\" of the state", would, want)
}

// profile returns the limits that the kernel enforces on the line of a call that is allowed; nil for
// a call that runs in no jail.
func (o *objections) profile(m *workflow.Machine, at *workflow.View, state *workflow.StateView) *jail.Profile {
	if o.jail.level == jail.None {
		return nil
	}
	c := callOf(state)
	c.Level, c.Workspace, c.Folder = o.jail.level, at.Workspace, o.jail.folder
	o.choices(&c)
	c.Check = o.plan != nil && slices.ContainsFunc(o.plan.Commands, m.MayCheck)
	c.Reread = c.Check && m.LeavesRunning()
	p := jail.Compile(*o.jail.rules, c)
	return &p
}

// ProfileOf returns the limits that a jail of the demanded level enforces on a line of a state, of which
// no entry of allowed_commands names a program.
func ProfileOf(state *workflow.StateView) jail.Profile {
	return jail.Compile(*state.JailRules(), callOf(state))
}

// ProfileIn returns the jail of a line in a state, as ProfileOf has it, on a machine whose jails have the highest level.
func ProfileIn(at *workflow.View, state *workflow.StateView) jail.Profile {
	c := callOf(state)
	c.Level, c.Workspace, c.Folder = jail.Full, at.Workspace, at.Workspace
	return jail.Compile(*state.JailRules(), c)
}

// callOf returns the settings of a state for each of its command lines.
func callOf(state *workflow.StateView) jail.Command {
	c := jail.Command{ReadOnly: detectsWrites(state), DropEnv: state.BlockedEnv}
	if len(state.EnvOverrides) > 0 {
		c.SetEnv = make(map[string]string, len(state.EnvOverrides))
		for _, v := range state.EnvOverrides {
			c.SetEnv[v.Name] = v.Value
		}
	}
	return c
}

// choices notes in a call the acts of the line that the author has chosen: entries of allowed_commands name a program of it
// that is known to write, or to act on other machines. Rights are lent to the line, so a line with an unknown command gets
// none.
func (o *objections) choices(c *jail.Command) {
	if o.plan == nil {
		return
	}
	alone := true // with its repository, or its credentials
	repository, lent := make([]bool, len(o.plan.Commands)), make([]bool, len(o.plan.Commands))
	for i, command := range o.plan.Commands {
		repository[i] = changesRepository(command)
		c.Repository = c.Repository || repository[i]
		if i >= len(o.named) || o.named[i] <= command.Assigns {
			continue
		}
		program := command.Program()
		writes, reaches := o.declares[program] == workflow.CommandWrites, false
		for _, f := range o.plan.Findings {
			if f.Command == i {
				writes, reaches = writes || f.Kind == shell.Writes, reaches || f.Kind == shell.Elsewhere
			}
		}
		client, builds := jail.Client(program)
		reaches = reaches || client && (writes || !builds || fetches(command))
		c.Writes, c.Reaches = c.Writes || writes, c.Reaches || reaches
		if (writes || reaches) && program != "" {
			lent[i] = true
			if !slices.Contains(c.Programs, program) {
				c.Programs = append(c.Programs, program)
			}
		}
	}
	for i, command := range o.plan.Commands {
		if _, builds := jail.Client(command.Program()); builds && lent[i] && command.Program() != "git" && len(c.Programs) > 1 {
			alone = false // it runs code of the workspace
		}
		if !repository[i] && !lent[i] && !o.quiet(i) || repository[i] && o.runsOthers(i) {
			alone = false
		}
	}
	if !alone {
		c.Repository, c.Programs = false, nil
	}
	for i, command := range o.plan.Commands {
		if !lent[i] && !mute(command) {
			c.Programs = nil // a command that reads files could show the credentials
		}
	}
	c.Remotes = slices.Contains(c.Programs, "git") && !slices.ContainsFunc(o.plan.Commands, func(command shell.Command) bool {
		return command.Program() == "git" && !mute(command) && !keepsRemotes(command)
	})
	if !o.lends() {
		c.Programs = nil
	}
}

// silent are programs that read no file.
var silent = sync.OnceValue(func() map[string]bool {
	return words("cd pushd popd echo printf true false : test [ pwd sleep date exit")
})

// mute reports a command that reads no file but those of the repository that it is in.
func mute(c shell.Command) bool {
	if slices.ContainsFunc(c.Words, func(w shell.Word) bool { return !w.Static }) {
		return false
	}
	return silent()[c.Program()] || slices.Contains([]string{"status", "log", "rev-parse", "branch", "add", "stage", "fetch"}, gitCommand(c))
}

// quiet reports a command of the line that is known to only read: it makes no use of rights that are lent to another one.
func (o *objections) quiet(i int) bool {
	return !slices.ContainsFunc(o.plan.Findings, func(f shell.Finding) bool { return f.Command == i })
}

// runsOthers reports a command of the line that may run code which is not its own.
func (o *objections) runsOthers(i int) bool {
	return o.plan.Commands[i].Assigns > 0 || slices.ContainsFunc(o.plan.Findings, func(f shell.Finding) bool {
		return f.Command == i && f.Kind != shell.Writes && f.Kind != shell.Elsewhere
	})
}

// gitCommand returns the subcommand of a command of git; empty for others.
func gitCommand(c shell.Command) string {
	if c.Program() != "git" {
		return ""
	}
	for i, args := 0, c.Words[c.Assigns+1:]; i < len(args) && args[i].Static; i++ {
		switch text := args[i].Text; {
		case text == "-C" || text == "-c":
			i++
		case !strings.HasPrefix(text, "-"):
			return text
		}
	}
	return ""
}

// changesRepository reports a command of git that changes the repository, and no file of the
// workspace: no edit (R3).
func changesRepository(c shell.Command) bool {
	return slices.Contains([]string{"add", "stage", "commit", "fetch", "push", "remote"}, gitCommand(c))
}

// fetches reports a command that reads from another machine, of a program that does not always.
func fetches(c shell.Command) bool {
	return slices.Contains([]string{"fetch", "ls-remote", "clone", "pull", "push", "remote", "submodule", "lfs"}, gitCommand(c))
}

// startFolder returns where the line of a call starts.
func startFolder(at *workflow.View, call Call) string {
	folder := call.Folder
	if folder == "" {
		folder = at.Workspace
	}
	v, problem := document.Parse(call.Input, document.Limits{})
	if problem != nil {
		return folder
	}
	for _, key := range toolinput.FolderKeys() {
		if value, _ := v.Get(key); value.Kind() == document.String && value.Str() != "" {
			if path.IsAbs(value.Str()) {
				folder = path.Clean(value.Str())
			} else {
				folder = path.Join(folder, value.Str())
			}
		}
	}
	return folder
}
