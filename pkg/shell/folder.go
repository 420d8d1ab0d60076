package shell

import (
	"path"
	"slices"
	"strings"
)

// A program or script that is named by a relative path is code of the workspace,
// unless the line goes to a folder of the system: cd /proc/self; ./exe is the shell.

const (
	runsElsewhere = "runs a program by a relative path, in a folder that may not be of the workspace"
	goesToProcess = "goes to a folder of /proc or /dev, where any name may be a program"
	runsSystem    = "runs a script of the system, which may do anything"
)

// systemFolders are at the root. Workspaces may be below some of them, and may have
// folders of most of these names themselves.
var (
	systemFolders = wordSet(`proc dev sys usr sbin bin lib lib32 lib64 libexec opt etc snap nix boot run var`)
	onlySystem    = wordSet(`proc sys usr sbin snap nix lib64`)
)

// OfSystem reports an absolute path that is, or could be, of the system. Workspaces
// may be below /opt and /var, and sources below /usr/src.
func OfSystem(file string) bool {
	if !strings.HasPrefix(file, "/") {
		return false
	}
	parts := strings.Split(path.Clean(file)[1:], "/")
	switch parts[0] {
	case "":
		return true
	case "opt", "var", "run":
		return slices.ContainsFunc(parts, func(part string) bool { return strings.HasSuffix(part, "bin") || strings.HasPrefix(part, "lib") })
	}
	return systemFolders[parts[0]] && !slices.Contains(parts, "src") || strings.ContainsRune(parts[0], Unknown)
}

// climb returns how many folders a relative path leaves, and the first that it enters
// then.
func climb(file string) (folders int, first string) {
	file = path.Clean(file)
	for file == ".." || strings.HasPrefix(file, "../") {
		folders++
		file = strings.TrimPrefix(file[2:], "/")
	}
	first, _, _ = strings.Cut(file, "/")
	return folders, first
}

// move notes a folder that the line goes to. A shell may stay there for later lines.
func (p builtinReader) move(c, at int) {
	text := path.Clean(p.plan.Commands[c].Words[at].Text)
	if strings.HasPrefix(text+"/", "/proc/") || strings.HasPrefix(text+"/", "/dev/") {
		p.note(Writes, c, at, goesToProcess)
	}
	p.moves = append(p.moves, ran{"", c, at})
}

// checkFolders finds relative programs in a line that leaves the workspace.
func (p builtinReader) checkFolders() {
	if !slices.ContainsFunc(p.ran, func(r ran) bool { return !strings.HasPrefix(r.file, "/") }) {
		return
	}
	climbed, entered := 0, map[string]bool{}
	for _, m := range p.moves {
		w := p.plan.Commands[m.command].Words[m.at]
		f := p.finding(Code, m.command, m.at, runsElsewhere)
		switch {
		case OfSystem(w.Text), w.opaque:
			p.add(f)
		default:
			for _, name := range w.deps {
				p.variablePart().rely(duty{name: name, needs: nearBy, unlessOutside: true, finding: f})
			}
		}
		up, first := climb(w.Text)
		climbed += up
		entered[first] = true
	}
	for _, r := range p.ran {
		if strings.HasPrefix(r.file, "/") {
			continue
		}
		up, first := climb(r.file)
		up += climbed
		entered[first] = true
		for folder := range entered {
			if up > 0 && onlySystem[folder] || up > 1 && systemFolders[folder] || folder == "proc" && strings.Contains(r.file, "exe") {
				p.note(Code, r.command, r.at, runsElsewhere)
			}
		}
		delete(entered, first)
	}
}
