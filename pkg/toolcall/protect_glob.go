package toolcall

import (
	"path"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/shell"
)

// Patterns that could be the data folder, and steps by cd that lead there (S13.2).

// homeSign begins a path in the home folder of a user that is not known.
const homeSign = "~"

// mostBases are the folders that a line may be in; more are not followed.
const mostBases = 32

// patternsReach reports a word of a line that could be a data folder or be in one, in a folder to which
// the line may go: every part of it that is not known stands for one name.
func (p Places) patternsReach(line string, plan *shell.Plan) bool {
	r := reach{roots: p.roots(), hidden: strings.ContainsAny(line, "$`") || strings.Contains(line, "dotglob"), deep: strings.Contains(line, "globstar")}
	bases := []string{plainName(p.Folder)}
	if p.Real != nil && p.Folder != "" {
		bases = append(bases, plainName(p.Real(p.Folder)))
	}
	for _, to := range goals(plan) {
		for _, base := range slices.Clone(bases) {
			if at := absolute(base, to); len(bases) < mostBases && !slices.Contains(bases, at) {
				bases = append(bases, at)
			}
		}
	}
	meets := func(name string) bool {
		if rest, ok := strings.CutPrefix(name, string(shell.Unknown)+"/"); ok { // the value of a variable, or what is printed
			for _, w := range plan.Names[:min(len(plan.Names), mostBases)] {
				value := homed(w, w.Text[strings.IndexByte(w.Text, '=')+1:])
				if at := absolute(absolute(bases[0], value), rest); value != "" && (couldBeDefault(at) || r.meets(at)) {
					return true
				}
			}
		}
		return couldBeDefault(name) || slices.ContainsFunc(bases, func(base string) bool {
			at := absolute(base, name)
			return couldBeDefault(at) || r.meets(at)
		})
	}
	look := func(w shell.Word) bool {
		for token := range strings.FieldsFuncSeq(w.Text, betweenNames) {
			if meets(homed(w, token)) {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(plan.Names, look) ||
		slices.ContainsFunc(plan.Commands, func(c shell.Command) bool { return slices.ContainsFunc(c.Words, look) }) ||
		slices.ContainsFunc(inLists(line), func(name string) bool { return p.partsNameData(plainName(name)) || meets(plainName(name)) })
}

// goals are where the commands of a line go, in order.
func goals(plan *shell.Plan) (to []string) {
	for _, c := range plan.Commands {
		args := c.Words[min(c.Assigns+1, len(c.Words)):]
		for i, w := range args {
			goes := i == len(args)-1 && (c.Program() == "cd" || c.Program() == "pushd") || i > 0 && (args[i-1].Text == "-C" || args[i-1].Text == "--chdir")
			if goes {
				to = append(to, homed(w, w.Text))
			}
		}
		if len(args) == 0 && c.Assigns < len(c.Words) && c.Program() == "cd" {
			to = append(to, homeSign)
		}
	}
	return to
}

// homed is a part of a word as a plain name, with a sign for the home folder that it begins with.
func homed(w shell.Word, token string) string {
	if rest, ok := strings.CutPrefix(token, string(shell.Unknown)); ok && w.Home() && (rest == "" || rest[0] == '/') {
		return homeSign + plainName("/"+rest)
	}
	return plainName(token)
}

// inLists are the alternatives of the words of a line that list some: {a,b}.
func inLists(line string) (names []string) {
	for token := range strings.FieldsFuncSeq(squeezed(line), func(c rune) bool { return strings.ContainsRune(" \t\n;&|<>`", c) }) {
		if strings.Contains(token, "{") && strings.Contains(token, ",") {
			names = append(names, spread(token)...)
		}
	}
	return names
}

// roots returns the known data folders, and the folders of all default ones that they are in, as
// parts.
func (p Places) roots() (roots [][]string) {
	for _, folder := range p.Data {
		name := plainName(folder)
		if parent := path.Dir(name); path.Base(parent) == program {
			name = parent
		}
		roots = append(roots, strings.Split(strings.TrimPrefix(name, "/"), "/"))
	}
	return roots
}

// couldBeDefault reports a plain name with two parts that could be the folder of all default data
// folders, of which something is known.
func couldBeDefault(name string) bool {
	parts := strings.Split(name, "/")
	known := func(part string) int { return len(strings.ReplaceAll(part, string(shell.Unknown), "")) }
	for i := 1; i < len(parts); i++ {
		state, folder := parts[i-1], parts[i]
		if !shell.CouldBe(state, stateFolder) || !shell.CouldBe(folder, program) {
			continue
		}
		if known(state) >= 3 && known(folder) > 0 || i > 1 && parts[i-2] == ".local" {
			return true
		}
	}
	return false
}

// reach compares paths with data folders.
type reach struct {
	roots  [][]string
	hidden bool // unknown parts may be a hidden name
	deep   bool // unknown parts may be several names
}

func (r reach) meets(name string) bool {
	rest, home := strings.CutPrefix(name, homeSign+"/")
	if !home && !strings.HasPrefix(name, "/") {
		return false
	}
	parts := strings.Split(strings.TrimPrefix(rest, "/"), "/")
	return slices.ContainsFunc(r.roots, func(root []string) bool {
		switch {
		case !home:
			return r.along(parts, root)
		case root[0] == "home", root[0] == "users":
			return len(root) > 2 && r.along(parts, root[2:])
		default:
			return len(root) > 1 && r.along(parts, root[1:])
		}
	})
}

// along reports that a path could be a folder, or be in it.
func (r reach) along(parts, root []string) bool {
	if len(root) == 0 {
		return true
	}
	if len(parts) == 0 {
		return false
	}
	part := parts[0]
	known := strings.Trim(part, string(shell.Unknown)) != ""
	if !shell.CouldBe(part, root[0]) || !known && root[0][0] == '.' && (!r.hidden || len(root) == 1) {
		return false
	}
	return r.along(parts[1:], root[1:]) || r.deep && !known && r.along(parts, root[1:])
}
