package toolcall

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/shell"
)

// Names of files: the data folder, Interlock's hooks, and its programs (S13.2).

// dataFolder is the name of the pointer in a workspace to its data folder, and of a data folder
// that is in the workspace. Writing the pointer would change which server judges.
const dataFolder = ".interlock"

// The data folders of a user's workspaces are by default in state/interlock of the home folder,
// or in the folder interlock of a variable.
const (
	stateFolder = "state"
	stateHome   = "$xdg_state_home"
	stateBraces = "${xdg_state_home"
)

// ownFiles are the files of a data folder. They give away a folder whose own name is not
// known.
var ownFiles = []string{"tokens.json", "local.json", "token.key", "endpoints.json", "interlock.db", "hook.sock", "grpc.sock", "webhook.secret", "contexts.json", "receipt.key"}

// betweenNames reports characters that separate the names of files in words of a line.
func betweenNames(c rune) bool { return strings.ContainsRune(" \t\n\"'`=,;:@<>|&(){}[]", c) }

// goesToData reports a line that names a data folder, to which it may go, and one of the
// files there by its name alone.
func (p Places) goesToData(plan *shell.Plan) bool {
	folder, file := false, false
	for _, c := range plan.Commands {
		for _, w := range c.Words {
			base := path.Base(plainName(w.Text))
			folder = folder || strings.Trim(base, "."+string(shell.Unknown)) != "" && p.couldBeData(base)
			file = file || isOwnFile(base)
		}
	}
	return folder && file
}

// isData reports a path that is the data folder, is in it, or could be. Whole is false
// for a word of a line, in which what is not known is marked already.
func (p Places) isData(name string, whole bool) bool {
	return p.either(name, func(name string) bool { return p.namesData(name, whole) })
}

// either judges a name, and where links lead from it.
func (p Places) either(name string, is func(name string) bool) bool {
	if is(name) {
		return true
	}
	if p.Real == nil {
		return false
	}
	real, ok := RealName(p.Folder, name, p.Real)
	return ok && is(real)
}

// RealName is what a function makes of a name, or of a file URL, that is relative to a
// folder. It is false for what is no name, or is relative to a folder that is not known.
func RealName(folder, name string, real func(path string) string) (string, bool) {
	if name == "" || len(name) > longestName || strings.ContainsRune(name, '\n') {
		return "", false
	}
	name = fromURL(name)
	if !strings.HasPrefix(name, "/") {
		if folder == "" {
			return "", false
		}
		name = folder + "/" + name
	}
	return real(name), true
}

// namesData is isData by the name alone.
func (p Places) namesData(name string, whole bool) bool {
	name = plainName(name)
	if p.inData(name) {
		return true
	}
	if whole {
		return slices.ContainsFunc(spread(name), p.partsNameData)
	}
	return p.partsNameData(name)
}

// partsNameData is namesData for a plain name in which all that is open is unknown.
func (p Places) partsNameData(name string) bool {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		fixed := strings.ReplaceAll(part, string(shell.Unknown), "")
		holdsOwn := i+1 < len(parts) && isOwnFile(parts[i+1])
		switch {
		case part == dataFolder, i > 0 && part == program && parts[i-1] == stateFolder, holdsOwn && p.couldBeData(part):
			return true
		case fixed == part:
		case (part[0] == '.' || len(fixed) >= 3) && shell.CouldBe(part, dataFolder), holdsOwn && strings.Trim(fixed, ".") == "",
			len(fixed) >= 3 && p.couldBeData(part):
			return true
		}
	}
	return false
}

// inData reports a plain name in a data folder whose place is known.
func (p Places) inData(name string) bool {
	if p.Folder != "" && !strings.HasPrefix(name, "/") {
		name = path.Join(plainName(p.Folder), name)
	}
	return slices.ContainsFunc(p.Data, func(folder string) bool { return within(name, plainName(folder)) })
}

// couldBeData reports a part of a path that is, or could be, the name of a data folder. That of
// the folder of all default ones is too common a word.
func (p Places) couldBeData(part string) bool {
	return slices.ContainsFunc(p.Data, func(folder string) bool {
		base := path.Base(plainName(folder))
		return base != program && shell.CouldBe(part, base)
	})
}

// isOwnFile reports a name that a file of the data folder has, or could.
func isOwnFile(part string) bool {
	return strings.Trim(part, string(shell.Unknown)) != "" &&
		slices.ContainsFunc(ownFiles, func(file string) bool { return shell.CouldBe(part, file) })
}

// isSetting reports a path that is a file which hooks Interlock in, the folder of one,
// or a program of Interlock.
func (p Places) isSetting(name string, whole bool) bool {
	return p.either(name, func(name string) bool { return p.namesSetting(name, whole) })
}

// namesSetting is isSetting by the name alone.
func (p Places) namesSetting(name string, whole bool) bool {
	name = plainName(name)
	for _, program := range p.Programs {
		if plainName(program) == name {
			return true
		}
	}
	parts := strings.Split(name, "/")
	is := func(part, word string) bool {
		fixed := strings.ReplaceAll(part, string(shell.Unknown), "")
		return part == word || !whole && (len(fixed) >= 3 || strings.HasPrefix(part, ".")) && shell.CouldBe(part, word)
	}
	for i, part := range parts {
		for _, s := range jail.Settings {
			switch {
			case s.Folder == "":
				if is(part, s.File) {
					return true
				}
			case !is(part, s.Folder):
			case i+1 == len(parts): // the folder itself, with all that is in it
				return s.Folder != "claude-code"
			case strings.HasPrefix(parts[i+1], s.File), strings.ContainsAny(parts[i+1], string(shell.Unknown)+"*?"):
				return true
			}
		}
	}
	return false
}

// plainName is a path without what changes nothing about which file it names. Letter
// case may not count.
func plainName(name string) string {
	name = lower(strings.ReplaceAll(fromURL(name), `\`, "/"))
	if name == "" {
		return ""
	}
	return path.Clean(name)
}

// fromURL is the path of a file URL; any other text stays as it is.
func fromURL(name string) string {
	rest, ok := strings.CutPrefix(name, "file:")
	if !ok {
		return name
	}
	rest = "/" + strings.TrimLeft(rest, "/")
	if plain, err := url.PathUnescape(rest); err == nil {
		return plain
	}
	return rest
}

// lower is a text in lower case, as file systems fold it that do not tell letter case
// apart: they take a long s for an s.
func lower(text string) string { return strings.ReplaceAll(strings.ToLower(text), longS, "s") }

const longS = "\u017f"

func within(name, folder string) bool {
	return name == folder || strings.HasPrefix(name, strings.TrimSuffix(folder, "/")+"/")
}
