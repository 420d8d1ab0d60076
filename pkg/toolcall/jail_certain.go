package toolcall

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Writes that a line does for certain (S20.3): a jail leaves those alone to be refused here, with a
// sentence that names the allowed acts.

// aims are the operands of a program that exists to write by which it names its outputs.
type aims struct {
	// values are options with a value in the next word.
	values string
	// first is how many operands name something else; last: only the last operand is written.
	first int
	last  bool
	// into is the option that names the folder instead.
	into string
}

// writing are programs that exist to write.
var writing = sync.OnceValue(func() map[string]aims {
	return map[string]aims{
		"rm": {}, "rmdir": {}, "unlink": {}, "shred": {values: "-n -s"}, "srm": {}, "trash": {}, "trash-put": {}, "rimraf": {},
		"touch": {values: "-d -r -t --date --reference"}, "mkdir": {values: "-m --mode"}, "mkfifo": {values: "-m --mode"}, "truncate": {values: "-s -r --size --reference"},
		"tee": {}, "chmod": {first: 1}, "chown": {first: 1}, "chgrp": {first: 1},
		"mv": {values: "-S", into: "-t"}, "cp": {values: "-S", last: true, into: "-t"}, "ln": {values: "-S", last: true, into: "-t"},
		"install": {values: "-S -m -o -g --mode --owner --group", last: true, into: "-t"},
	}
})

// gitWriting are subcommands of git that change the workspace or its repository.
var gitWriting = sync.OnceValue(func() map[string]bool {
	return words(`am apply checkout cherry-pick clean merge mv pull rebase reset restore revert rm stash switch tag branch`)
})

// targets returns the files that a finding writes for certain, by the text of the line; none for a guess.
func targets(plan *shell.Plan, f shell.Finding) []string {
	switch {
	case f.Kind != shell.Writes:
		return nil
	case f.Command < 0:
		return filled(f.Target)
	}
	c := plan.Commands[f.Command]
	program := strings.TrimPrefix(c.Program(), "g")
	if _, known := writing()[program]; !known {
		program = c.Program()
	}
	switch args := c.Words[min(c.Assigns+1, len(c.Words)):]; program {
	case "git":
		return gitTargets(args)
	case "sed":
		return sedTargets(args)
	case "dd":
		for _, w := range args {
			if file, ok := strings.CutPrefix(w.Path(), "of="); ok {
				return filled(file)
			}
		}
		return nil
	case "patch":
		if slices.ContainsFunc(args, func(w shell.Word) bool {
			return !w.Static || strings.HasPrefix(w.Text, "-") && strings.ContainsAny(w.Text, "od")
		}) {
			return nil
		}
		return []string{"."}
	default:
		a, known := writing()[program]
		if !known {
			return nil
		}
		return a.of(args)
	}
}

func filled(file string) []string {
	if file == "" {
		return nil
	}
	return []string{file}
}

// of returns the operands that are written.
func (a aims) of(args []shell.Word) []string {
	var operands []shell.Word
	values := strings.Fields(a.values)
	for i := 0; i < len(args); i++ {
		text := args[i].Text
		switch {
		case text == "--" && args[i].Static:
			operands = append(operands, args[i+1:]...)
			i = len(args)
		case a.into != "" && strings.HasPrefix(text, a.into):
			if text = strings.TrimPrefix(text, a.into); text == "" && i+1 < len(args) {
				text = args[i+1].Path()
			}
			return filled(text)
		case a.into != "" && strings.HasPrefix(text, "--target-directory="):
			return filled(strings.TrimPrefix(text, "--target-directory="))
		case len(text) > 1 && text[0] == '-':
			if slices.Contains(values, text) {
				i++
			}
			if a.first > 0 && strings.HasPrefix(text, "--reference") {
				a.first = 0
			}
		default:
			operands = append(operands, args[i])
		}
	}
	operands = operands[min(a.first, len(operands)):]
	if a.last && len(operands) > 0 {
		if len(operands) == 1 {
			return []string{"."} // a link of that name
		}
		operands = operands[len(operands)-1:]
	}
	return paths(operands)
}

// paths returns the words that are paths by their text.
func paths(list []shell.Word) (names []string) {
	for _, w := range list {
		names = append(names, filled(w.Path())...)
	}
	return names
}

// gitTargets returns the folder whose repository a command of git changes.
func gitTargets(args []shell.Word) []string {
	folder := "."
	for i := 0; i < len(args); i++ {
		w := args[i]
		switch {
		case !w.Static && (i == 0 || args[i-1].Text != "-C"):
			return nil
		case w.Text == "-C" && i+1 < len(args):
			i++
			if folder = args[i].Path(); folder == "" {
				return nil
			}
		case w.Text == "-c":
			i++
		case strings.HasPrefix(w.Text, "--git-dir"), strings.HasPrefix(w.Text, "--work-tree"):
			return nil
		case strings.HasPrefix(w.Text, "-"):
		case gitWriting()[w.Text]:
			return []string{folder}
		default:
			return nil
		}
	}
	return nil
}

// sedTargets returns the files that sed edits in place: its script comes first, unless an option has it.
func sedTargets(args []shell.Word) []string {
	inPlace, scripts := false, 0
	var operands []shell.Word
	for i := 0; i < len(args); i++ {
		text := args[i].Text
		switch {
		case text == "--":
			operands = append(operands, args[i+1:]...)
			i = len(args)
		case text == "-e" || text == "-f" || text == "--expression" || text == "--file":
			scripts++
			i++
		case strings.HasPrefix(text, "--expression=") || strings.HasPrefix(text, "--file=") || strings.HasPrefix(text, "-e") || strings.HasPrefix(text, "-f"):
			scripts++
		case strings.HasPrefix(text, "--in-place"):
			inPlace = true
		case strings.HasPrefix(text, "-") && len(text) > 1 && text[1] != '-':
			letters := text[1:]
			if at := strings.IndexByte(letters, 'i'); at >= 0 {
				inPlace, letters = true, letters[:at]
			}
			if strings.HasSuffix(letters, "e") {
				scripts++
				i++
			}
		case text == "" || !strings.HasPrefix(text, "-"):
			operands = append(operands, args[i])
		}
	}
	if !inPlace {
		return nil
	}
	if scripts == 0 && len(operands) > 0 {
		operands = operands[1:]
	}
	return paths(operands)
}

// folders returns where a line may be: each of its commands starts in one of them. known is false
// when it goes to a folder that only its run decides.
func folders(plan *shell.Plan, start string) (all []string, known bool) {
	all = []string{start}
	for _, c := range plan.Commands {
		name, args := c.Program(), c.Words[min(c.Assigns+1, len(c.Words)):]
		switch name {
		case "cd", "pushd":
			for len(args) > 0 && args[0].Static && strings.HasPrefix(args[0].Text, "-") && args[0].Text != "-" {
				args = args[1:]
			}
			to := "~"
			if len(args) > 0 {
				to = args[0].Path()
			}
			if to == "" || to == "-" || len(all) > mostBases {
				return all, false
			}
			all = append(all, joined(all[len(all)-1], to))
		case "popd":
			return all, false
		}
	}
	return all, true
}

// joined returns a path of a folder, either of which may be relative to the workspace.
func joined(folder, name string) string {
	if path.IsAbs(name) || name == "~" || strings.HasPrefix(name, "~/") {
		return jail.Clean(name)
	}
	return path.Join(folder, name)
}

// holds reports a finding of write detection that the kernel holds, because it is a guess or does
// not write files that the state keeps.
func (o *objections) holds(state *workflow.StateView, plan *shell.Plan, f shell.Finding) bool {
	if o.jail.level == jail.None {
		return false
	}
	switch f.Kind {
	case shell.Writes:
		return o.jail.certainly(plan, f) == "" && (!state.OpaqueDenied || f.Command < 0 || len(targets(plan, f)) > 0)
	case shell.Elsewhere:
		return o.jail.offline() && f.Guess()
	case shell.Hidden, shell.Code:
		return !state.OpaqueDenied
	case shell.Stranger, shell.Variable:
		return true
	default: // Opaque is refused where the author says so
		return false
	}
}

// certain reports a finding of a command whose words are all known.
func certain(plan *shell.Plan, f shell.Finding) bool {
	return f.Command >= 0 && !slices.ContainsFunc(plan.Commands[f.Command].Words, func(w shell.Word) bool { return !w.Static })
}

// certainly returns a file of the workspace, or a protected one, that a finding writes for certain
// although no rule lets commands change it; empty for none.
func (j *jailing) certainly(plan *shell.Plan, f shell.Finding) string {
	files := targets(plan, f)
	if len(files) == 0 {
		return ""
	}
	all, known := folders(plan, j.folder)
	for _, file := range files {
		held := func(folder string) bool { return j.holds(joined(folder, file)) }
		relative := !path.IsAbs(file) && !strings.HasPrefix(file, "~")
		if (known || !relative) && !slices.ContainsFunc(all, func(folder string) bool { return !held(folder) }) {
			return file
		}
	}
	return ""
}

// holds reports a path of the workspace, or a protected one, that no rule lets commands change.
func (j *jailing) holds(name string) bool {
	rest, inside := strings.CutPrefix(name+"/", strings.TrimSuffix(j.workspace, "/")+"/")
	if j.workspace == "" {
		rest, inside = name, !path.IsAbs(name) && !strings.HasPrefix(name, "~") && name != ".." && !strings.HasPrefix(name, "../")
	}
	if inside {
		name = path.Clean(rest)
	}
	return (inside || jail.Protects(name)) && !j.rules.Changes(name)
}
