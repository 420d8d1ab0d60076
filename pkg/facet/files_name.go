package facet

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/interlock-run/interlock/pkg/pathglob"
	"github.com/interlock-run/interlock/pkg/shell"
)

// elsewhere is the folder of a name that is relative to one that is not known.
const elsewhere = ".."

// mostPlaces are the folders that a call may be in; with more, the folder is not known.
const mostPlaces = 8

// names reads the names of files of a call.
type names struct {
	root pathglob.Root
	// places are the folders in which a relative name may be: absolute, or relative to the workspace. The empty one
	// is the workspace, and elsewhere one that is not known.
	places []string
	// real are the real names of files, by their clean ones.
	real map[string]string
}

// namesOf returns the reader of the names of a call. The folder that a call is made in is what its agent says: names
// count in the workspace, too.
func namesOf(s *Subject) names {
	n := names{root: pathglob.RootOf(s.Workspace), real: s.Real}
	if s.Folder == "" || s.Folder == s.Workspace {
		n.places = []string{""}
		return n
	}
	n.places = []string{s.Folder, ""}
	if s.Workspace == "" {
		slices.Reverse(n.places)
	}
	return n
}

// goesTo adds the folders to which a step leads from the present ones.
func (n *names) goesTo(folder string) {
	from := slices.Clone(n.places)
	for _, place := range from {
		to := folder
		if !n.absolute(folder) && place != "" && place != elsewhere {
			to = place + "/" + folder
		}
		if place == elsewhere && !n.absolute(folder) {
			continue
		}
		if clean, ok := n.clean(to); !ok {
			n.goesAway()
		} else if clean != "." && !slices.Contains(n.places, clean) {
			n.places = append(n.places, clean)
		} else if clean == "." && !slices.Contains(n.places, "") {
			n.places = append(n.places, "")
		}
	}
	if len(n.places) > mostPlaces {
		n.places = n.places[:mostPlaces]
		n.goesAway()
	}
}

// goesAway adds a folder that is not known.
func (n *names) goesAway() {
	if !slices.Contains(n.places, elsewhere) {
		n.places = append(n.places, elsewhere)
	}
}

// readings returns the clean names that a text can stand for, each once: the first is the plain one. why says why
// there may be others.
func (n *names) readings(text string) (all []string, why string) {
	switch {
	case text == "":
		return nil, "the name of a file is empty"
	case strings.ContainsFunc(text, hides):
		why = "the name of a file has a character that does not show"
	case strings.HasPrefix(strings.ToLower(text), "file:"):
		why = "the name of a file is an address; write its path"
	case n.root.Windows && (strings.Contains(text, "~") || strings.HasPrefix(text, "/")):
		why = "the name of a file is another name of one; write it in full"
	}
	places := n.places
	if n.absolute(text) {
		places = []string{""}
	}
	for _, place := range places {
		joined := text
		switch {
		case place == elsewhere:
			all = include(all, away(text))
			continue
		case place != "" && !n.absolute(text):
			joined = place + "/" + text
		}
		clean, ok := n.clean(joined)
		if !ok {
			return all, "the name of a file cannot be read"
		}
		all = include(all, clean)
		if inside, ok := n.folded(clean); ok {
			all = include(all, inside)
		}
		if rest, ok := climbs(joined); ok {
			all = include(all, away(rest))
		}
		if ofProcess(clean) {
			why = "the name of a file leads into a process"
		}
	}
	if n.real == nil {
		return all, why
	}
	for _, name := range slices.Clone(all) {
		if real, ok := n.real[name]; ok {
			if clean, ok := n.clean(real); ok {
				all = include(all, clean)
			}
		}
	}
	return all, why
}

func include(all []string, name string) []string {
	if slices.Contains(all, name) {
		return all
	}
	return append(all, name)
}

// hides reports characters that some file systems leave out of a name, and controls.
func hides(r rune) bool {
	return unicode.Is(unicode.Cf, r) || unicode.IsControl(r) || r == unicode.ReplacementChar
}

// away is the name of a file in a folder that is not known.
func away(name string) string {
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	return elsewhere + "/" + name
}

// clean returns the clean name of a file or folder: "." is the workspace. One outside is absolute, or begins with
// ../ where the workspace is not known.
func (n *names) clean(name string) (string, bool) {
	if clean, _ := n.root.Written(name); clean != "" {
		return clean, true
	}
	if n.root.Windows {
		same := strings.EqualFold(strings.TrimRight(name, `\/`), strings.TrimRight(n.root.Path, `\/`))
		return ".", same || path.Clean(name) == "."
	}
	full, root := path.Clean(name), path.Clean(n.root.Path)
	known := path.IsAbs(root)
	if known && !path.IsAbs(full) {
		full = path.Join(root, full)
	}
	switch {
	case strings.ContainsRune(name, 0), name == "", len(full) > longestPath:
		return "", false
	case known && full == root, full == ".":
		return ".", true
	case full == "/", full == "..", strings.HasSuffix(full, "/.."):
		return full, true
	default:
		return "", false
	}
}

// longestPath is PATH_MAX of Linux.
const longestPath = 4096

// full returns the absolute name of a file in the workspace, behind //, where the workspace is known.
func (n *names) full(clean string) (name string, ok bool) {
	if n.root.Windows || !path.IsAbs(n.root.Path) || n.absolute(clean) || clean == elsewhere || strings.HasPrefix(clean, elsewhere+"/") {
		return "", false
	}
	return "/" + path.Join(n.root.Path, clean), true
}

func (n *names) absolute(name string) bool {
	return strings.HasPrefix(name, "/") || (pathglob.Root{Windows: n.root.Windows}).Outside(name) && !strings.HasPrefix(name, "..")
}

// folded returns the name in the workspace of a file that is outside by case, or by how accents are composed, alone.
func (n *names) folded(clean string) (inside string, ok bool) {
	if !path.IsAbs(clean) || !path.IsAbs(n.root.Path) {
		return "", false
	}
	root, parts := strings.Split(path.Clean(n.root.Path), "/"), strings.Split(clean, "/")
	if len(parts) < len(root) {
		return "", false
	}
	for i := range root {
		if !strings.EqualFold(norm.NFC.String(root[i]), norm.NFC.String(parts[i])) {
			return "", false
		}
	}
	if len(parts) == len(root) {
		return ".", true
	}
	return strings.Join(parts[len(root):], "/"), true
}

// climbs returns what follows the last .. behind a folder: where that folder is a link, .. leads to a folder that is
// not known.
func climbs(name string) (rest string, ok bool) {
	parts := strings.Split(strings.ReplaceAll(name, `\`, "/"), "/")
	last, entered := -1, false
	for i, part := range parts {
		switch part {
		case "", ".":
		case "..":
			if entered {
				last = i
			}
		default:
			entered = true
		}
	}
	return strings.Join(parts[last+1:], "/"), last >= 0
}

// ofProcess reports a name that leads to the open files or folders of a process.
func ofProcess(clean string) bool {
	return strings.HasPrefix(clean, "/proc/") && shell.OfProcess(clean) || strings.HasPrefix(clean, "/dev/fd/") && strings.Count(clean, "/") > 3
}
