package jail

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Repositories is the entry of Profile.Below for the settings and hooks of git's repositories: in a folder or
// file named .git, and in a folder that git takes for a repository because of what is in it.
const Repositories = ".git"

// below are the names that are protected in each folder of a workspace: what programs outside of the jail run or obey
// in the workspace's own folder, they run or obey in a folder below that a person opens or enters.
var below = sync.OnceValue(func() []string {
	names := []string{Repositories}
	for _, name := range slices.Concat(hookFiles(), runLater()) {
		if !absolute(name) && !strings.HasPrefix(name, ".git/") && name != ".gitmodules" {
			names = append(names, name)
		}
	}
	return sorted(names)
})

// hooksBelow returns the file or folder that hooks Interlock into a client, in any folder, and that a path is in; empty
// for none.
func hooksBelow(name string) string {
	for _, entry := range hookFiles() {
		if i := strings.Index("/"+name+"/", "/"+entry+"/"); i >= 0 {
			return name[:i+len(entry)]
		}
	}
	return ""
}

// belowOf returns the entry of Below that a path of the workspace is in; empty for none. The entries of the
// workspace's own folder are in Protect.
func (p *Profile) belowOf(name string) string {
	inside, ok := strings.CutPrefix(name, p.Workspace+"/")
	around, base := path.Split(inside)
	if !ok || p.Workspace == "" || around == "" || slices.ContainsFunc(p.Write, func(w string) bool { return within(inside, w) && p.names(w) }) {
		return ""
	}
	for _, entry := range p.Below {
		i := strings.Index("/"+inside+"/", "/"+entry+"/")
		if i <= 0 || entry == Repositories && !gitSetting(base, path.Base(strings.TrimSuffix(around, "/"))) {
			continue
		}
		return entry
	}
	return ""
}

// names reports that an entry of Write names a setting, or a repository, of a folder below.
func (p *Profile) names(write string) bool {
	return slices.ContainsFunc(p.Below, func(entry string) bool { return strings.HasSuffix("/"+write, "/"+entry) })
}

func gitSetting(base, around string) bool {
	return slices.Contains([]string{".git", "config", "config.worktree", "commondir", "hooks"}, base) || around == "hooks"
}

var (
	gitSection = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\[([A-Za-z]+)(?: "([^"\\]*)")?\]$`) })
	gitKey     = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[ \t]*([A-Za-z][A-Za-z0-9-]*)[ \t]*=[ \t]*([^ \t].*|)$`)
	})
)

// HarmlessGitConfig returns the lines of a repository's configuration by which git runs no program and reads no
// other configuration. It knows the lines that git itself writes, and leaves out all that could be read in two ways. The configuration is
// harmless where all of it is returned.
func HarmlessGitConfig(text string) string {
	var kept strings.Builder
	section, named := "", false
	for line := range strings.Lines(text) {
		plain := strings.TrimSuffix(line, "\n")
		trimmed := strings.Trim(plain, " \t")
		switch match := gitSection().FindStringSubmatch(plain); {
		case strings.ContainsFunc(plain, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f || r == 0xfeff || r == 0xfffd }), strings.HasSuffix(plain, `\`):
			if strings.HasPrefix(trimmed, "[") {
				section = ""
			}
		case trimmed == "", trimmed[0] == '#', trimmed[0] == ';':
			kept.WriteString(line)
		case match != nil:
			section, named = strings.ToLower(match[1]), strings.Contains(plain, `"`)
			if harmlessSection(section, named) {
				kept.WriteString(line)
			} else {
				section = ""
			}
		case trimmed[0] == '[':
			section = ""
		default:
			key := gitKey().FindStringSubmatch(plain)
			if key != nil && section != "" && harmlessKey(section, strings.ToLower(key[1]), key[2]) {
				kept.WriteString(line)
			}
		}
	}
	return kept.String()
}

func harmlessSection(section string, named bool) bool {
	switch section {
	case "core", "user", "extensions":
		return !named
	case "remote", "branch":
		return named
	case "submodule": // "active" is of all where it has no name
		return true
	}
	return false
}

// harmlessKeys are those of each section. Addresses are of no helper program ("ext::"), and are no option.
var harmlessKeys = map[string]string{
	"core":       " repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks ",
	"user":       " name email ",
	"extensions": " objectformat refstorage ",
	"remote":     " url fetch ",
	"branch":     " remote merge ",
	"submodule":  " url active ",
}

func harmlessKey(section, key, value string) bool {
	return strings.Contains(harmlessKeys[section], " "+key+" ") && !strings.ContainsAny(value, "\"\\#;") &&
		!strings.Contains(value, "::") && !strings.HasPrefix(value, "-")
}

// GitPointer returns the folder that a file named .git leads git to; false where it is not one that git writes.
func GitPointer(content string) (target string, ok bool) {
	target, ok = strings.CutPrefix(strings.TrimSuffix(content, "\n"), "gitdir: ")
	return target, ok && target != "" && path.Clean(target) == target && !strings.ContainsAny(target, "\n\r\x00")
}
