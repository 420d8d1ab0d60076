package toolcall

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/pathglob"
	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/toolinput"
	"github.com/interlock-run/interlock/pkg/toolname"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Meaning is the effect of an allowed call on the evidence of its run (S14.1).
type Meaning struct {
	// Gives are the names of the evidence that the report of the call may give.
	Gives []string
	// Voids: it is not proved to only read, so it may change files, and What names it, shortened.
	Voids bool
	What  string
	// Spares names the evidence that its changes certainly leave as it is (evidence.Spec.SparedBy).
	Spares []string
	// Background: its work may continue after its report (S14.6).
	Background bool
	// Affects: it may have an effect, in the workspace or elsewhere, so that its report is
	// waited for where the workflow keeps account (S16.1).
	Affects bool
}

// MeaningOf returns the effect of an allowed call on evidence. family are the workflows of the
// run and of those that have invoked it: the calls and commands of their evidence are the
// author's checks, and do not count as changes although their programs are not seen. qualified
// is the full name of a tool of an MCP server that is called by its plain name, or empty.
func MeaningOf(m *workflow.Machine, family []*workflow.Machine, at *workflow.View, call Call, qualified string) Meaning {
	if Own(call.Tool) || Loads(call.Tool) {
		return Meaning{}
	}
	state := m.State(at.State)
	isShell := isShell(state, call.Tool)
	var n Meaning
	var plan *shell.Plan
	conclusive := false
	if isShell {
		n.What, plan, conclusive = parseLine(at, call)
		n.Voids = plan == nil || !planOnlyReads(m, family, plan, call.Facts)
		n.Affects = n.Voids
		n.Background = leavesRunning(call, n.What, plan)
		n.hold(m, at, state, call)
		n.What = document.Quote(n.What)
	} else {
		n.Affects = !slices.Contains(looks, call.Tool) && !slices.Contains(toolname.Client, call.Tool) && !reconciles(m, call.Tool, qualified)
		n.Background = continues(call)
		c := measure(m, call)
		n.Voids = c != nil || !readsOnly(m, family, call, qualified)
		n.What = changedBy(c, at, call.Tool)
	}
	if !n.Voids {
		n.Background = false
		if !n.Affects || !isShell {
			n.What = ""
		}
	}
	n.Spares = spares(&n, family, call.Facts)
	for i := range m.Evidence() {
		spec := &m.Evidence()[i]
		asShell := isShell && spec.Command != "" && isShellName(state, spec.Tool) && waits(call.Tool)
		if spec.Tool == "" || call.Tool != spec.Tool && qualified != spec.Tool && !asShell || !spec.Gives(call.Facts) {
			continue
		}
		if spec.Command == "" || conclusive && !slices.ContainsFunc(plan.Commands, detaches) && m.Checks(i, plan) {
			n.Gives = append(n.Gives, spec.Name)
		}
	}
	return n
}

// spares names the evidence of a family that a call which may change files leaves as it is.
func spares(n *Meaning, family []*workflow.Machine, facts condition.Facts) []string {
	if !n.Voids {
		return nil
	}
	var names []string
	for _, m := range family {
		for i := range m.Evidence() {
			if spec := &m.Evidence()[i]; spec.Spares(facts) && !slices.Contains(names, spec.SparedBy()) {
				names = append(names, spec.SparedBy())
			}
		}
	}
	return names
}

// hold removes acts from a meaning that the kernel keeps the line from: to change the workspace, where
// its state only reads, and to leave a program running (S20.4).
func (n *Meaning) hold(m *workflow.Machine, at *workflow.View, state *workflow.StateView, call Call) {
	if call.Jail == jail.None || jailed(state, call) == jail.None {
		return
	}
	var o objections
	o.command(m, at, call)
	p := o.profile(m, at, state)
	if p == nil {
		return
	}
	if !p.MayChange(at.Workspace) {
		n.Voids = false
		n.Affects = n.Affects && (p.Network != jail.NetworkNone || p.Level < jail.Scoped)
	}
	if !p.Background {
		n.Background = continues(call)
	}
}

// changedBy names the first file that a call changes, or else its tool.
func changedBy(c *toolinput.Change, at *workflow.View, tool string) string {
	what := tool
	if c != nil {
		if paths := c.CleanPaths(pathglob.RootOf(at.Workspace)); len(paths) > 0 {
			what = paths[0]
		}
	}
	if quoted := document.Quote(what); len(quoted) != len(what)+len(`""`) {
		return quoted
	}
	return what
}

// looks are tools of clients that only look.
var looks = []string{"Read", "Grep", "Glob", "LS", "NotebookRead", "WebFetch", "WebSearch", "BashOutput"}

// readsOnly reports that a call of a tool that runs no command lines changes no files: the tool
// looks, is the client's own, is declared in meta.read_tools or meta.reconcile, or is the call
// of an evidence. Background work of a client's own tool is not proved.
func readsOnly(m *workflow.Machine, family []*workflow.Machine, call Call, qualified string) bool {
	switch {
	case slices.Contains(toolname.Client, call.Tool):
		return !continues(call)
	case slices.Contains(looks, call.Tool), reconciles(m, call.Tool, qualified), isCheckTool(family, call, qualified):
		return true
	}
	if slices.ContainsFunc(m.Meta().ReadTools, func(entry string) bool {
		return named(entry, call.Tool) || qualified != "" && named(entry, qualified)
	}) {
		return true
	}
	return toolinput.FormsOf(call.Tool).MayLook() && toolinput.FormsOf(call.Tool).Measure(call.Input) == nil // it views
}

// MayChange reports that some call of a tool may change files, so that it voids evidence.
func MayChange(m *workflow.Machine, state *workflow.StateView, tool string) bool {
	if Own(tool) || Loads(tool) {
		return false
	}
	family := []*workflow.Machine{m}
	return Shell(state, tool) || Edits(m, tool) || !readsOnly(m, family, Call{Tool: tool}, "")
}

// named reports that an entry of a list, which may end with *, is of a tool.
func named(entry, tool string) bool {
	prefix, open := strings.CutSuffix(entry, "*")
	return entry == tool || open && strings.HasPrefix(tool, prefix)
}

// reconciles reports a tool that the author has named because it only reports how calls
// ended.
func reconciles(m *workflow.Machine, tool, qualified string) bool {
	return slices.ContainsFunc(m.Meta().Reconcile, func(r workflow.Reconcile) bool { return r.Tool == tool || r.Tool == qualified })
}

func isCheck(family []*workflow.Machine, c shell.Command, facts condition.Facts) bool {
	return !detaches(c) && slices.ContainsFunc(family, func(of *workflow.Machine) bool { return of.IsCheck(c, facts) })
}

// isCheckTool reports a tool that evidence asks for, of which no command line is compared.
func isCheckTool(family []*workflow.Machine, call Call, qualified string) bool {
	return slices.ContainsFunc(family, func(of *workflow.Machine) bool {
		return slices.ContainsFunc(of.Evidence(), func(spec evidence.Spec) bool {
			return spec.Tool != "" && spec.Command == "" && (spec.Tool == call.Tool || spec.Tool == qualified) && spec.Gives(call.Facts)
		})
	})
}

// isShellName reports that an evidence means the shell, by the name in any client.
func isShellName(state *workflow.StateView, tool string) bool {
	return tool == defaultShell || tool == state.AllowedCommandsTool
}

// waits reports a shell whose result is that of the command: not one that starts a process
// and returns, or that types into one.
func waits(tool string) bool {
	var buf [toolname.LongestFolded]byte
	switch string(toolname.Folded(&buf, tool)) {
	case "bash", "sh", "shell", "localshell", "shellcommand", "shellexec", "exec", "containerexec", "executebash",
		"executecommand", "executeshell", "executeshellcommand", "runbash", "runcommand", "runshell", "runshellcommand":
		return true
	default:
		return false
	}
}

// monitors are tools that start a program and return while it runs.
var monitors = []string{"Monitor"}

// continues reports that the input of a call asks not to wait for its end.
func continues(call Call) bool {
	if slices.Contains(monitors, call.Tool) {
		return true
	}
	v, problem := document.Parse(call.Input, document.Limits{Bytes: toolinput.Longest})
	if problem != nil || v.Kind() != document.Object {
		return false
	}
	if remote, _ := isolation(call); remote {
		return true
	}
	return slices.ContainsFunc(elsewhere, func(key string) bool {
		value, given := v.Get(key)
		return given && asksBackground(value)
	})
}

// isolation reports that a call asks to run apart, and that it may be on another machine: by every
// value but the worktree.
func isolation(call Call) (remote, apart bool) {
	v, problem := document.Parse(call.Input, document.Limits{Bytes: toolinput.Longest})
	if problem != nil || v.Kind() != document.Object {
		return false, false
	}
	value, given := v.Get("isolation")
	apart = given && value.Kind() != document.Null
	return apart && (value.Kind() != document.String || value.Str() != "worktree"), apart
}

// asksBackground reports a value that asks for the background, or may do so.
func asksBackground(v document.Value) bool {
	switch v.Kind() {
	case document.Null:
		return false
	case document.Bool:
		return v.Bool()
	default:
		return true
	}
}

// leavesRunning reports that commands of a line may continue after its result. Of a line that
// cannot be read, any & may.
func leavesRunning(call Call, line string, plan *shell.Plan) bool {
	if plan == nil {
		return continues(call) || strings.Contains(line, "&")
	}
	return continues(call) || plan.Background || slices.ContainsFunc(plan.Commands, detaches)
}

// elsewhere are the keys by which the input of a call asks not to wait for its end.
var elsewhere = []string{"run_in_background", "is_background", "isBackground", "background", "persistent", "yield_time_ms"}

// parseLine reads the line of a shell. There is no plan of one that cannot be read.
// conclusive is true when a result without error means that each of its commands has
// succeeded, in the folder of the run.
func parseLine(at *workflow.View, call Call) (line string, plan *shell.Plan, conclusive bool) {
	if toolinput.SpeaksOther(call.Tool) {
		return call.Tool, nil, false
	}
	v, problem := document.Parse(call.Input, document.Limits{})
	command, _ := v.Get("command")
	if problem != nil || command.Kind() != document.String {
		return call.Tool, nil, false
	}
	line = command.Str()
	plan, err := shell.Parse(line)
	if err != nil {
		return line, nil, false
	}
	trusted := at.Workspace != "" && !at.Claimed
	conclusive = shell.Conclusive(line) && (call.Folder == "" || trusted && call.Folder == at.Workspace)
	for key, value := range v.Members() {
		want, known := toolinput.LineKey(key)
		switch {
		case !known, value.Kind() != want && value.Kind() != document.Null, slices.Contains(elsewhere, key) && (value.Bool() || value.Kind() == document.Number):
			conclusive = false
		case slices.Contains(toolinput.FolderKeys(), key):
			folder := value.Str()
			here := folder == "" || folder == "." || trusted && folder == at.Workspace
			conclusive = conclusive && here
		}
	}
	return line, plan, conclusive
}

// ProvedToRead reports that a line of a shell changes no files, as MeaningOf has it.
func ProvedToRead(m *workflow.Machine, family []*workflow.Machine, line string) bool {
	plan, err := shell.Parse(line)
	return err == nil && planOnlyReads(m, family, plan, nil)
}

// planOnlyReads reports that a line changes no files: no part of it writes, hides or is unknown, and
// each of its commands looks, is declared to read, or is one of the authors' checks.
func planOnlyReads(m *workflow.Machine, family []*workflow.Machine, plan *shell.Plan, facts condition.Facts) bool {
	if changes(m, family, plan, facts) {
		return false
	}
	return !slices.ContainsFunc(plan.Commands, func(c shell.Command) bool {
		return !c.Looks() && m.Meta().Commands[c.Program()] != workflow.CommandReads && !isCheck(family, c, facts)
	})
}

// changes reports that a line may change files. It is write detection (R3) for one
// purpose more: unseen acts count as changes too, but for the checks that authors have
// named.
func changes(m *workflow.Machine, family []*workflow.Machine, plan *shell.Plan, facts condition.Facts) bool {
	meta := m.Definition().Meta
	check := func(command int) bool {
		if command < 0 {
			return false
		}
		return isCheck(family, plan.Commands[command], facts)
	}
	for _, f := range plan.Findings {
		opaque := f.Kind == shell.Opaque
		switch f.Kind {
		case shell.Dumps, shell.Elsewhere, shell.Signals:
			continue // no file of the workspace
		case shell.Stranger:
			class := meta.Commands[f.About]
			if class == workflow.CommandReads {
				continue
			}
			opaque = class != workflow.CommandWrites
		}
		if !opaque || !check(f.Command) {
			return true
		}
	}
	for i, c := range plan.Commands {
		switch meta.Commands[c.Program()] {
		case workflow.CommandWrites:
			return true
		case workflow.CommandOpaque:
			if !check(i) {
				return true
			}
		}
	}
	return false
}
