package toolcall

import (
	"slices"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/pathglob"
	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/toolname"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Notice is what an allowed call means for the evidence of its run (S14.1).
type Notice struct {
	// Gives are the names of the evidence that the report of the call may give.
	Gives []string
	// Voids: it may change files, and What says which, shortened.
	Voids bool
	What  string
	// Affects: it may have an effect, in the workspace or elsewhere, so that its report is
	// waited for where the workflow keeps account (S16.1).
	Affects bool
}

// Observe tells what an allowed call means for evidence. family are the workflows of the
// run and of those that have invoked it: the commands of their evidence are the author's
// checks, and do not count as changes although what they run is not seen. qualified is
// the full name of a tool of an MCP server that is called by its plain name, or empty.
func Observe(m *workflow.Machine, family []*workflow.Machine, at *workflow.View, call Call, qualified string) Notice {
	if Own(call.Tool) || Loads(call.Tool) {
		return Notice{}
	}
	state := m.State(at.State)
	var n Notice
	if c := measure(m, call); c != nil {
		n.Voids = true
		if paths := c.cleanPaths(pathglob.RootOf(at.Workspace)); len(paths) > 0 {
			n.What = document.Quote(paths[0])
			if len(n.What) == len(paths[0])+len(`""`) {
				n.What = paths[0]
			}
		}
	}
	isShell := isShell(state, call.Tool)
	n.Affects = !slices.Contains(looks, call.Tool) && !slices.Contains(toolname.Client, call.Tool) && !reconciles(m, call.Tool, qualified)
	var line string
	var plan *shell.Plan
	conclusive := false
	if isShell {
		line, plan, conclusive = readLine(at, call)
		n.Voids = plan == nil || changes(m, family, plan)
		n.Affects = n.Voids || slices.ContainsFunc(plan.Commands, func(c shell.Command) bool {
			return !c.Looks() && m.Meta().Commands[c.Program()] != workflow.CommandReads && !isCheck(family, c)
		})
		if n.Voids || n.Affects {
			n.What = document.Quote(line)
		}
	}
	for i := range m.Evidence() {
		spec := &m.Evidence()[i]
		asShell := isShell && spec.Command != "" && isShellName(state, spec.Tool) && waits(call.Tool)
		if spec.Tool == "" || call.Tool != spec.Tool && qualified != spec.Tool && !asShell {
			continue
		}
		if spec.Command == "" || conclusive && m.Checks(i, plan) {
			n.Gives = append(n.Gives, spec.Name)
		}
	}
	return n
}

// looks are tools of clients that only look.
var looks = []string{"Read", "Grep", "Glob", "LS", "NotebookRead", "WebFetch", "WebSearch", "BashOutput"}

// reconciles reports a tool that the author has named because it only tells how calls ended.
func reconciles(m *workflow.Machine, tool, qualified string) bool {
	return slices.ContainsFunc(m.Meta().Reconcile, func(r workflow.Reconcile) bool { return r.Tool == tool || r.Tool == qualified })
}

func isCheck(family []*workflow.Machine, c shell.Command) bool {
	return slices.ContainsFunc(family, func(of *workflow.Machine) bool { return of.IsCheck(c) })
}

// isShellName reports that an evidence means the shell, by whatever name a client has it.
func isShellName(state *workflow.StateView, tool string) bool {
	return tool == defaultShell || tool == state.AllowedCommandsTool
}

// waits reports a shell whose result is that of the command: not one that starts a process
// and returns, or that types into one.
func waits(tool string) bool {
	var buf [longestFolded]byte
	switch string(folded(&buf, tool)) {
	case "bash", "sh", "shell", "localshell", "shellcommand", "shellexec", "exec", "containerexec", "executebash",
		"executecommand", "executeshell", "executeshellcommand", "runbash", "runcommand", "runshell", "runshellcommand":
		return true
	default:
		return false
	}
}

// elsewhere are the keys by which the input of a shell asks not to wait for the command.
var elsewhere = []string{"run_in_background", "is_background", "isBackground", "background", "yield_time_ms"}

// readLine reads the line of a shell. There is no plan of one that cannot be read.
// conclusive is true when a result without error means that each of its commands has
// succeeded, in the folder of the run.
func readLine(at *workflow.View, call Call) (line string, plan *shell.Plan, conclusive bool) {
	if speaksOther(call.Tool) {
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
	conclusive = shell.Conclusive(line) && (call.Folder == "" || call.Folder == at.Workspace)
	for key, value := range v.Members() {
		want, known := inputKeys[key]
		switch {
		case !known, value.Kind() != want && value.Kind() != document.Null, slices.Contains(elsewhere, key) && (value.Bool() || value.Kind() == document.Number):
			conclusive = false
		case slices.Contains(folderKeys, key):
			folder := value.Str()
			here := folder == "" || folder == "." || at.Workspace != "" && folder == at.Workspace
			conclusive = conclusive && here
		}
	}
	return line, plan, conclusive
}

// changes reports that a line may change files. It is write detection (R3) for one
// purpose more: what is not seen counts as a change too, but for the checks that authors
// have named.
func changes(m *workflow.Machine, family []*workflow.Machine, plan *shell.Plan) bool {
	meta := m.Definition().Meta
	check := func(command int) bool {
		if command < 0 {
			return false
		}
		return isCheck(family, plan.Commands[command])
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
