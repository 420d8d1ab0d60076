package calls

import (
	"cmp"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/verify/model"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// inputs returns inputs to try. exhaustive: where there are none, no input is allowed.
func (j *Judge) inputs(of *model.Unit, lane *workflow.View, tool string, s workflow.Subject) (all []document.Value,
	exhaustive bool,
) {
	state := of.Machine.State(lane.State)
	if !toolcall.Shell(state, tool) {
		if s.Command != "" {
			return commands(j.meeting(anyCommand, s.Command)), false
		}
		return j.sample(tool), false
	}
	judged := lane.Status == workflow.Running || lane.Status == workflow.AwaitingApproval
	if !state.CommandsRestricted || !judged {
		lines := slices.Clone(j.meeting(anyCommand, s.Command))
		if s.Command == "" {
			lines = []string{"ls", "true"}
		} else {
			lines = append(lines, j.meeting("ls", s.Command)...)
		}
		for _, line := range slices.Clone(lines) {
			lines = append(lines, line+" --help", line+" --version")
		}
		return commands(lines), false
	}
	exhaustive = true
	var lines []string
	for _, entry := range state.AllowedCommands {
		lines = append(lines, j.meeting(entry, s.Command)...)
		exhaustive = exhaustive && !j.tooLong[[2]string{entry, s.Command}]
		if aim, ok := shell.AimOf(s.Command); ok {
			more, sure := aim.Lines(entry)
			lines, exhaustive = append(lines, more...), exhaustive && sure
		}
	}
	return commands(lines), exhaustive
}

// anyCommand is a pattern that every command matches.
const anyCommand = "*"

// meeting returns lines that an entry of a list and a wanted command, or any for the empty
// one, have in common. States list the same entries again and again. Where the two are too
// long to be compared, there may be others.
func (j *Judge) meeting(entry, command string) []string {
	key := [2]string{entry, command}
	lines, ok := j.lines[key]
	if !ok {
		a, b := shell.NewPattern(entry), shell.NewPattern(cmp.Or(command, anyCommand))
		if j.tooLong[key] = a.TooLong(b); !j.tooLong[key] {
			all := a.Meet(b)
			if lines = a.Matching(all); len(lines) == 0 && len(all) > 0 {
				j.tooLong[key] = true // longer ones may match
			}
		}
		j.lines[key] = lines
	}
	return lines
}

func commands(lines []string) []document.Value {
	all := make([]document.Value, 0, len(lines))
	for _, line := range lines {
		all = append(all, object("command", line))
	}
	return all
}

// object returns an object of texts.
func object(pairs ...string) document.Value {
	var members []document.Member
	for i := 0; i < len(pairs); i += 2 {
		members = append(members, document.Member{Name: pairs[i], Value: document.StringValue(pairs[i+1])})
	}
	return document.ObjectValue(members)
}

// sample returns inputs of tools that are not shells.
func (j *Judge) sample(tool string) []document.Value {
	file := "example.txt"
	name := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(tool[strings.LastIndex(tool, "__")+1:]))
	var all []document.Value
	switch {
	case strings.Contains(name, "notebook"):
		all = append(all, object("notebook_path", file, "new_source", "x"))
	case strings.Contains(name, "multiedit"):
		edits := document.Member{Name: "edits", Value: document.ArrayValue([]document.Value{object("old_string", "a",
			"new_string", "b")})}
		all = append(all, document.ObjectValue([]document.Member{
			{Name: "file_path", Value: document.StringValue(file)},
			edits,
		}))
	case strings.Contains(name, "patch"):
		all = append(all, object("input", "*** Begin Patch\n*** Add File: "+file+"\n+x\n*** End Patch\n"))
	case strings.Contains(name, "write"), strings.Contains(name, "create"):
		all = append(all, object("file_path", file, "content", "x"), object("path", file, "content", "x"))
	case strings.Contains(name, "edit"), strings.Contains(name, "replace"):
		all = append(all, object("file_path", file, "old_string", "a", "new_string", "b"), object("path", file, "old_str",
			"a", "new_str", "b"))
	}
	for i := range j.Model.Policies {
		if e := j.Model.Policies[i].Policy.Email; e != nil {
			all = append(all, letter(e))
		}
	}
	return append(all, document.Value{})
}

// letter returns an email that limits on emails admit.
func letter(e *rules.EmailLimits) document.Value {
	from, to := "agent@example.com", "someone@example.com"
	address := func(list []string, otherwise string) string {
		if len(list) == 0 {
			return otherwise
		}
		return strings.Replace(list[0], "*", "someone", 1)
	}
	return object("from", address(e.AllowedFrom, from), "to", address(e.AllowedTo, to), "subject", "x", "text", "x")
}
