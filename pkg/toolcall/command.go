package toolcall

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/pathglob"
	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/toolinput"
	"github.com/interlock-run/interlock/pkg/toolname"
	"github.com/interlock-run/interlock/pkg/workflow"
)

const defaultShell = "Bash"

// otherLanguage describes shells with another grammar than bash's.
const otherLanguage = "its command lines are not written for bash and cannot be judged, and the state restricts commands; use a bash tool"

// restrictsCommands reports a state with rules for command lines.
func restrictsCommands(state *workflow.StateView) bool {
	return state.CommandsRestricted || len(state.BlockedEnv) > 0 || detectsWrites(state) || state.JailRules().Level > jail.None
}

// detectsWrites reports a state to which write detection applies.
func detectsWrites(state *workflow.StateView) bool { return state.ToolsRestricted && !state.Editable() }

// command applies allowed_commands, write detection, blocked_env and the demanded level of a jail to a
// call of a shell (S3.3, rules R1 to R5, S20). Every rule that applies must pass.
func (o *objections) command(m *workflow.Machine, at *workflow.View, call Call) {
	state := m.State(at.State)
	restricted := restrictsCommands(state)
	if !isShell(state, call.Tool) && (!restricted || !o.takesLine(m, call)) {
		return
	}
	o.jail, o.declares = jailingOf(at, state, call), m.Definition().Meta.Commands
	if toolinput.SpeaksOther(call.Tool) {
		if restricted && !o.demand() {
			o.line(CodeCommandUnparsable, otherLanguage)
		}
		return
	}
	if !restricted {
		o.free(call)
		return
	}
	line, why := toolinput.CommandLine(call.Input)
	if why != "" {
		o.line(CodeInvalidInput, why)
		return
	}
	plan, err := shell.Parse(line)
	if err == nil && planIsOwn(plan) {
		o.jail.level = jail.None
	} else if o.demand() {
		return
	}
	if err != nil {
		if o.jail.level < jail.Full || state.CommandsRestricted || state.OpaqueDenied {
			o.line(CodeCommandUnparsable, err.Error())
		}
		return
	}
	o.plan = plan
	var named []int
	if state.CommandsRestricted {
		if named = o.list(state, plan); o.enough() {
			return
		}
	}
	o.named = named
	if len(state.BlockedEnv) > 0 {
		if o.environment(state, plan, named); o.enough() {
			return
		}
	}
	if detectsWrites(state) {
		if o.writes(m, at, plan, named); o.enough() {
			return
		}
	}
	o.signals(plan, named)
}

// free judges a line where the state restricts no commands. One that cannot be read is refused by
// Protected.
func (o *objections) free(call Call) {
	line, why := toolinput.CommandLine(call.Input)
	if why != "" {
		return
	}
	if plan, err := shell.Parse(line); err == nil {
		o.plan = plan
		if planIsOwn(plan) {
			o.jail.level = jail.None
		}
		o.signals(plan, nil)
	}
}

// signals refuses signals to processes that the line has not started, such as the enforcer of the
// state (R5).
func (o *objections) signals(plan *shell.Plan, named []int) {
	for _, f := range plan.Findings {
		if f.Kind == shell.Signals && !names(named, f) && (o.jail.level < jail.Scoped || certain(plan, f)) &&
			o.about(f, CodeSignals, fmt.Sprintf("it %s%s. A line may end jobs that it has started itself (kill %%1, kill $!); to end others, ask the user, or have the author list the command in allowed_commands", describe(f), inCommand(plan, f))) {
			return
		}
	}
}

// takesLine reports a tool that is not known and takes a command line or code by the names of its
// input, and refuses code that cannot be judged.
func (o *objections) takesLine(m *workflow.Machine, call Call) bool {
	if Edits(m, call.Tool) {
		return false
	}
	switch is, key := takenBy(call.Tool, call.Input); {
	case is == takesScript && key == "":
		o.line(CodeCommandUnparsable, otherLanguage)
	case is == takesScript:
		o.line(CodeCommandUnparsable, "its input has "+document.Quote(key)+", which looks like code that the tool runs and cannot be judged, and the state restricts commands; use a bash tool")
	case is == takesDoubt:
		o.line(CodeInvalidInput, "its input must be one JSON object of at most 16 MiB, in UTF-8, without duplicate keys, nested at most 64 levels deep; it cannot be read, and the state restricts commands")
	default:
		return is == takesCommand
	}
	return false
}

// isShell reports that a tool runs command lines: the one that the state names in
// allowed_commands_tool, and those that are known to, in any case.
func isShell(state *workflow.StateView, tool string) bool {
	named := state.AllowedCommandsTool
	if named == "" {
		named = defaultShell
	}
	if tool == named {
		return true
	}
	return toolname.Shell(tool)
}

// Shells returns the names by which tools that run command lines are known, in one spelling
// each, in order. After the name of a server they are such tools too.
func Shells() []string { return toolname.Shells() }

// list applies allowed_commands (R2): every simple command that could run
// must match an entry. It returns how many words of each command its entry names.
func (o *objections) list(state *workflow.StateView, plan *shell.Plan) (named []int) {
	if plan.Empty {
		o.line(CodeCommandNotAllowed, "there is no command in it. "+listed(state))
		return nil
	}
	return o.compare(state, state.Commands(), plan)
}

// compare compares a line that is not empty with a list, which need not be the state's.
func (o *objections) compare(state *workflow.StateView, list *shell.List, plan *shell.Plan) (named []int) {
	named = make([]int, len(plan.Commands))
	for i, command := range plan.Commands {
		entry, n, ok := list.Entry(command)
		if !ok && o.at(i, CodeCommandNotAllowed, notListed(command)+". "+listed(state)) {
			return nil
		}
		if ok && (len(plan.Commands) > 1 || plan.Repeats || plan.Background) && list.Alone(entry) && o.at(i, CodeCommandNotAllowed, notAlone(command)) {
			return nil
		}
		named[i] = n
	}
	for _, name := range plan.Sets {
		if environmental(state, name) &&
			o.line(CodeCommandNotAllowed, fmt.Sprintf("it sets the variable %s, which the program may read. %s", document.Quote(name), listed(state))) {
			return nil
		}
	}
	for _, f := range plan.Findings {
		switch {
		case f.Decides() && !names(named, f): // by env, or export
			if o.about(f, CodeCommandNotAllowed, fmt.Sprintf("it %s, which is not compared with the list. %s", describe(f), listed(state))) {
				return nil
			}
		case f.Kind == shell.Hidden:
			if o.about(f, CodeCommandNotAllowed, fmt.Sprintf("it %s, so the program that it runs cannot be compared with the list. %s", describe(f), listed(state))) {
				return nil
			}
		}
	}
	return named
}

// notListed describes why a command matches no entry.
func notListed(c shell.Command) string {
	text := document.Quote(c.String())
	for _, w := range c.Words {
		if !w.Static {
			return fmt.Sprintf("the command %s cannot be matched with the list (… is known only when the line runs); write out its first words", text)
		}
	}
	if c.Assigns > 0 {
		return fmt.Sprintf("the assignment in %s is not in the list; run the command without it", text)
	}
	return fmt.Sprintf("the command %s is not in the list", text)
}

// notAlone describes why a command that must be alone is refused where it is not.
func notAlone(c shell.Command) string {
	return fmt.Sprintf("the command %s must be alone on its line: without another command, a loop, a function or &. Call the tool once for each command", document.Quote(c.String()))
}

// mostCommands bounds how many entries a message lists.
const mostCommands = 24

// listed describes the allowed commands of the state.
func listed(state *workflow.StateView) string {
	entries := state.AllowedCommands
	if len(entries) == 0 {
		return "The state allows no command at all"
	}
	quoted := make([]string, 0, mostCommands)
	for _, entry := range entries[:min(len(entries), mostCommands)] {
		quoted = append(quoted, shell.ShowEntry(entry))
	}
	more, words := "", "each with any further words"
	if len(entries) > mostCommands {
		more = fmt.Sprintf(" and %d more", len(entries)-mostCommands)
	}
	if slices.ContainsFunc(entries, shell.IsConfinement) {
		words = "texts with any further words, objects only with the options that they list"
	}
	return "Allowed commands, " + words + ": " + strings.Join(quoted, ", ") + more
}

// environmental reports variables that programs read: those that the state sets,
// names in capitals, and the few others that are known.
func environmental(state *workflow.StateView, name string) bool {
	return len(name) > 1 && name == strings.ToUpper(name) && strings.ToLower(name) != name ||
		strings.HasPrefix(name, "npm_config_") || strings.HasSuffix(name, "_proxy") ||
		slices.ContainsFunc(state.EnvOverrides, func(v workflow.EnvVar) bool { return v.Name == name })
}

// describe returns the object of a finding.
func describe(f shell.Finding) string {
	if f.About == "" {
		return f.What
	}
	return f.What + " (" + document.Quote(strings.ReplaceAll(f.About, string(shell.Unknown), "…")) + ")"
}

// writes applies write detection (R3): without a tool that writes files the shell must
// not write either. Words that an entry of allowed_commands names are the author's
// choice; an entry that is a program's name chooses that it writes, and not the code that
// it is given. An unknown program is reported when there is no worse finding.
func (o *objections) writes(m *workflow.Machine, at *workflow.View, plan *shell.Plan, named []int) {
	meta, state := m.Definition().Meta, m.State(at.State)
	var unknown objections
	unknown.all = o.all
	for _, f := range plan.Findings {
		if f.Kind == shell.Stranger && ofWorkspace(at, plan.Commands[f.Command].Words[f.Word].Text) {
			f.Kind, f.What = shell.Opaque, "runs code of the workspace, which is not seen"
		}
		if o.holds(state, plan, f) {
			continue
		}
		var why string
		switch {
		case f.Kind == shell.Dumps, f.Kind == shell.Signals, f.Kind == shell.Opaque && !state.OpaqueDenied:
			continue
		case f.Kind != shell.Hidden && names(named, f) && (f.Kind != shell.Code || !bare(plan, named, f) && !plan.Commands[f.Command].TakesStatement(named[f.Command])):
			continue
		case f.Kind == shell.Elsewhere && f.Command >= 0 && f.Command < len(named) && named[f.Command] > plan.Commands[f.Command].Assigns:
			continue // the author has named the program
		case f.Kind == shell.Elsewhere:
			if o.about(f, CodeActsElsewhere, fmt.Sprintf("it %s%s. The state allows no tool that writes files, so its commands may only read, there as well as here; subcommands that only ask (get, list, view, describe) may run, and commands that are in allowed_commands", describe(f), inCommand(plan, f))) {
				return
			}
			continue
		case f.Kind == shell.Opaque:
			why = fmt.Sprintf("it %s%s. The state has \"opaque_commands\": \"deny\", so only programs that are known to read may run, and commands that are in allowed_commands", describe(f), inCommand(plan, f))
		case f.Kind == shell.Stranger:
			if !unknown.enough() && meta.Commands[f.About] == "" && !meta.UnknownCommands {
				unknown.about(f, CodeCommandUnknown, fmt.Sprintf("%s is not known to leave files alone, and the state allows no tool that writes files. Use a program that only reads; the author of the workflow can list it in allowed_commands, or declare its effect in meta.commands", document.Quote(f.About)))
			}
			continue
		default:
			why = fmt.Sprintf("it could change files: it %s%s. %s", describe(f), inCommand(plan, f), mayRead)
		}
		if o.about(f, CodeCommandWrites, why) {
			return
		}
	}
	if o.declared(meta.Commands, state, plan, named); o.enough() {
		return
	}
	o.found = append(o.found, unknown.found...)
}

const mayRead = "The state allows no tool that writes files, so its commands may only read; output may go to /dev/null, but not to files"

// declared refuses programs by their class in meta.commands.
func (o *objections) declared(declared map[string]workflow.CommandClass, state *workflow.StateView, plan *shell.Plan, named []int) {
	if len(declared) == 0 {
		return
	}
	for i, c := range plan.Commands {
		class := declared[c.Program()]
		if class == "" || names(named, shell.Finding{Command: i, Word: c.Assigns}) {
			continue
		}
		var why string
		switch {
		case class == workflow.CommandWrites:
			why = fmt.Sprintf("it could change files: meta.commands says that %s writes. %s", document.Quote(c.Program()), mayRead)
		case class == workflow.CommandOpaque && state.OpaqueDenied:
			why = fmt.Sprintf("meta.commands declares %s as opaque, and the state has \"opaque_commands\": \"deny\"", document.Quote(c.Program()))
		default:
			continue
		}
		if o.at(i, CodeCommandWrites, why) {
			return
		}
	}
}

// ofWorkspace reports a program by its absolute path in the workspace of the run.
func ofWorkspace(at *workflow.View, program string) bool {
	_, inside := pathglob.RootOf(at.Workspace).Clean(program)
	return at.Workspace != "" && strings.HasPrefix(program, "/") && inside && !shell.OfSystem(program)
}

// inCommand describes which command a finding is in.
func inCommand(plan *shell.Plan, f shell.Finding) string {
	if f.Command < 0 {
		return ""
	}
	return " in " + document.Quote(plan.Commands[f.Command].String())
}

// names reports that an entry of allowed_commands names the object of a finding.
func names(named []int, f shell.Finding) bool {
	return f.Command >= 0 && f.Command < len(named) && f.Word < named[f.Command]
}

// bare reports that a finding is about a program of which the entry has only the name: it
// stands for the program, not for code that the line gives to it.
func bare(plan *shell.Plan, named []int, f shell.Finding) bool {
	program := plan.Commands[f.Command].Assigns
	return f.Word == program && named[f.Command] == program+1
}

// environment applies blocked_env (R4).
func (o *objections) environment(state *workflow.StateView, plan *shell.Plan, named []int) {
	for _, name := range plan.Reads {
		if !state.BlocksEnv(name) {
			continue
		}
		why := fmt.Sprintf("it reads the variable %s, which is blocked in this state; run it without that variable", document.Quote(name))
		reader := slices.IndexFunc(plan.Commands, func(c shell.Command) bool { return slices.Contains(c.Variables(), name) })
		if o.at(reader, CodeEnvBlocked, why) {
			return
		}
	}
	for _, f := range plan.Findings {
		if o.jail.level > jail.None || f.Kind == shell.Variable && (state.BlocksEnv(f.About) || names(named, f)) {
			continue
		}
		switch f.Kind {
		case shell.Writes, shell.Opaque, shell.Stranger, shell.Elsewhere, shell.Signals:
		default:
			why := fmt.Sprintf("it %s, which could show variables that are blocked in this state; name the variables you need, and run plain commands", describe(f))
			if o.about(f, CodeEnvBlocked, why) {
				return
			}
		}
	}
}
