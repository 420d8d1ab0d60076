package facet

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/shell"
)

// gitNames are commands of git that tell about files and show none of their content, with any options but those that show
// changes.
var gitNames = wordSet(`status log rev-parse ls-files ls-tree describe rev-list shortlog version help merge-base name-rev for-each-ref show-ref check-ignore
ls-remote reflog whatchanged count-objects var`)

// gitShows are options with which they show changes.
var gitShows = []string{
	"-p", "-u", "--patch", "-L", "-S", "-G", "-c", "-m", "--cc", "--word-diff", "--color-words", "-W", "--function-context", "--ext-diff", "-U",
	"--unified", "--full-diff", "--diff-merges", "-v", "--verbose", "--pickaxe", "--textconv", "--remerge-diff", "--binary", "--exclude-from", "-X", "--output", "-O",
	"--dd", "--submodule",
}

// gitHas reports that one of the options is in doubt, has one of some letters, alone or among others (-qF), or is a name or
// its beginning (--fil), which git takes for it. What follows a letter of valued is its value.
func gitHas(options []shell.Word, letters, valued string, names ...string) bool {
	return slices.ContainsFunc(options, func(w shell.Word) bool {
		name, _, _ := strings.Cut(w.Text, "=")
		switch {
		case !w.Static:
			return true
		case strings.HasPrefix(w.Text, "--"):
			return slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, name) || strings.HasPrefix(name, n) })
		}
		for _, letter := range w.Text[1:] {
			if strings.ContainsRune(letters, letter) {
				return true
			}
			if strings.ContainsRune(valued, letter) {
				return false
			}
		}
		return false
	})
}

// git notes what git reads and writes: its own folder, and files of the workspace.
func (l *lineReader) git(_ fileProgram, list []shell.Word) {
	for len(list) > 0 && strings.HasPrefix(list[0].Text, "-") {
		switch {
		case list[0].Static && list[0].Text == "-C" && len(list) > 1 && list[1].Static:
			if l.here != "" && !l.names.absolute(list[1].Text) {
				l.here += "/" + list[1].Text
			} else {
				l.here = list[1].Text
			}
			list = list[2:]
		case list[0].Static && list[0].Text == "-c" && len(list) > 1: // harmless, or a finding
			list = list[2:]
		case list[0].Static && slices.Contains([]string{"--no-pager", "-P", "--no-optional-locks", "--version", "--literal-pathspecs"}, list[0].Text):
			list = list[1:]
		default:
			l.unclearWord(list[0])
			return
		}
	}
	if len(list) == 0 {
		return
	}
	if !list[0].Static {
		l.unclearWord(list[0])
		return
	}
	l.gitCommand(list[0].Text, list[1:])
}

func (l *lineReader) gitCommand(sub string, list []shell.Word) {
	options, revisions, paths, cut := gitApart(list)
	shows := sub != "status" && (gitHas(options, "puLSGcmWUvXO", "nEgeiF") || slices.ContainsFunc(options, func(w shell.Word) bool {
		return slices.ContainsFunc(gitShows, func(o string) bool { return strings.HasPrefix(w.Text, o) })
	}))
	files := paths
	if !cut {
		files = revisions
	}
	switch sub {
	case "branch", "remote", "tag", "config", "stash", "worktree", "symbolic-ref", "notes", "submodule":
		if sub == "stash" && shows { // of its list, too
			l.gitTree(reads)
		}
		l.gitAdmin(sub, options, revisions)
	case "diff", "show", "blame", "grep", "cat-file", "archive", "annotate", "diff-tree", "diff-index", "diff-files", "difftool", "range-diff", "format-patch":
		l.gitContent(sub, options, revisions, paths, cut)
	case "add", "stage":
		l.gitPaths(files, reads, len(files) == 0 || slices.ContainsFunc(options, isAny("-A", "--all", "-u", "--update", "-am")))
		l.gitFolder()
	case "rm":
		l.gitPaths(files, changes, len(files) == 0)
		l.gitFolder()
	case "mv":
		if len(files) != 2 || len(options) > 0 {
			l.gitTree(changes)
		} else {
			l.below = true
			l.word(files[0], changes)
			l.word(files[1], writes)
		}
		l.gitFolder()
	case "commit", "init", "fetch", "push", "switch", "reset", "tag -a":
		l.gitSwitch(sub, options, revisions, cut)
	case "checkout", "restore":
		l.gitCheckout(sub, options, revisions, paths, cut)
	case "clean", "merge", "rebase", "pull", "cherry-pick", "revert", "apply", "am":
		if gitHas(options, map[bool]string{true: "xF", false: "F"}[sub == "rebase"], "mXsS", "--exec", "--edit", "--file") {
			l.unclear("git " + sub + " has an option that names files or runs a command; leave it out")
		}
		l.gitTree(changes)
		l.gitFolder()
		if sub == "apply" || sub == "am" {
			l.gitPaths(files, reads, false)
			l.unclear("git " + sub + " follows a patch, and its files do not show; edit them with a tool for files")
		}
	default:
		if sub == "status" && gitHas(options, "v", "uM", "--verbose") {
			shows = true
		}
		if !gitNames.has(sub) {
			l.unclear("git " + sub + " is not known, or which files it touches; use another command, or a tool for files")
		} else if shows {
			l.gitContent(sub, options, revisions, paths, cut)
		}
	}
}

// gitApart parts the words of a command of git: those behind -- are paths, and cut says that there is one.
func gitApart(list []shell.Word) (options, operands, paths []shell.Word, cut bool) {
	for i, w := range list {
		switch {
		case w.Static && w.Text == "--":
			return options, operands, list[i+1:], true
		case strings.HasPrefix(w.Text, "-") && len(w.Text) > 1:
			options = append(options, w)
		default:
			operands = append(operands, w)
		}
	}
	return options, operands, nil, false
}

func isAny(texts ...string) func(shell.Word) bool {
	return func(w shell.Word) bool { return !w.Static || slices.Contains(texts, w.Text) }
}

// gitFolder notes that git writes its own folder.
func (l *lineReader) gitFolder() { l.whole(".git", writes) }

// gitTree notes that git may touch everything in the workspace.
func (l *lineReader) gitTree(u use) { l.whole(".", u) }

// whole notes everything under a folder of the repository, which may be above the present one.
func (l *lineReader) whole(name string, u use) {
	l.named(name, u, true)
	if l.here != "" {
		here := l.here
		l.here = ""
		l.named(name, u, true)
		l.here = here
	}
}

// gitPaths notes files that are given to git; all may be meant.
func (l *lineReader) gitPaths(list []shell.Word, u use, all bool) {
	if all {
		l.gitTree(u)
	}
	l.below = true
	for _, w := range list {
		if strings.HasPrefix(w.Text, ":") || w.Static && strings.ContainsAny(w.Text, "*?[\\") {
			l.gitTree(u) // a pattern of git
			continue
		}
		l.word(w, u)
	}
}

// gitContent notes the files whose content git shows: those that it is given behind --, or else any.
func (l *lineReader) gitContent(sub string, options, revisions, paths []shell.Word, cut bool) {
	archive := []string{"--output", "--add-file", "--exec", "--remote"}
	if gitHas(options, "", "", "--output") || sub == "archive" && gitHas(options, "o", "", archive...) || slices.ContainsFunc(options, func(w shell.Word) bool { return strings.HasPrefix(w.Text, "-o") }) {
		l.unclear("git " + sub + " has an option that names a file that it writes; redirect its output")
	}
	if sub == "format-patch" {
		l.gitTree(writes)
	}
	letters := map[string]string{"grep": "fO", "blame": "fS", "annotate": "fS"}[sub]
	if letters == "" {
		letters = "fO"
	}
	if gitHas(options, letters, "eABCmUSGlLMXIn", "--no-index", "--contents", "--ignore-revs-file") {
		l.below = true
		for _, w := range revisions {
			l.word(w, reads)
		}
		l.doubt("git "+sub+" has an option that names files; leave it out", condition.Reads)
	}
	for _, w := range revisions { // git diff takes files outside of the repository without an option
		if l.names.absolute(w.Text) || strings.HasPrefix(w.Text, "..") || strings.HasPrefix(w.Text, "~") {
			l.below = true
			l.word(w, reads)
		}
	}
	only := slices.ContainsFunc(options, isAny("--stat", "--name-only", "--name-status", "--shortstat", "--numstat", "--summary", "--dirstat", "--quiet"))
	shown := gitHas(options, "pucUWm", "SGOlMBCXIL", "--patch", "--cc", "--word-diff", "--color-words", "--unified", "--function-context", "--dd", "--diff-merges", "--submodule")
	if only && !shown && (sub == "diff" || sub == "show") {
		return
	}
	if sub == "show" && len(revisions) > 0 && !slices.ContainsFunc(revisions, func(w shell.Word) bool { return !w.Static || !namesBlob(w.Text) }) {
		for _, w := range revisions {
			_, name, _ := strings.Cut(w.Text, ":")
			l.whole(strings.TrimPrefix(name+map[bool]string{true: "."}[name == ""], "/"), reads)
		}
		return
	}
	l.gitPaths(paths, reads, !cut || len(paths) == 0)
}

// gitValues returns how many options of git commit take the next word.
func gitValues(options []shell.Word) (count int) {
	for _, w := range options {
		at := strings.IndexAny(w.Text, "mCcFt")
		if strings.HasPrefix(w.Text, "--") && slices.Contains([]string{"--message", "--author", "--date", "--trailer", "--fixup", "--squash", "--cleanup", "--reuse-message"}, w.Text) ||
			!strings.HasPrefix(w.Text, "--") && at > 0 && at == len(w.Text)-1 {
			count++
		}
	}
	return count
}

// namesBlob reports REVISION:PATH. A revision that searches messages, such as HEAD^{/fix: a}, is none.
func namesBlob(text string) bool {
	revision, _, ok := strings.Cut(text, ":")
	return ok && revision != "" && !strings.Contains(revision, "{/")
}

// gitAdmin judges commands that list something, or change git's own folder.
func (l *lineReader) gitAdmin(sub string, options, operands []shell.Word) {
	first := ""
	if len(operands) > 0 {
		first = operands[0].Text
	}
	lists := map[string][]string{
		"stash": {"list"}, "worktree": {"list"}, "remote": {"show", "get-url", ""}, "config": {"get", "list"}, "submodule": {"status", ""}, "notes": {"list", ""},
	}
	switch {
	case slices.Contains(lists[sub], first):
	case sub == "branch", sub == "tag", sub == "remote", sub == "symbolic-ref":
		if len(operands) > 0 || slices.ContainsFunc(options, isAny("-d", "-D", "-m", "-M", "-c", "-C", "--delete", "--move", "--edit-description", "-f", "--force")) {
			l.gitFolder()
		}
		if sub != "remote" && gitHas(options, "F", "mu", "--file") {
			l.unclear("git " + sub + " reads a message from a file; give it with -m")
		}
	case sub == "config" && !gitHas(options, "fe", "", "--file", "--global", "--system", "--edit", "--blob"):
		if len(operands) > 1 || slices.ContainsFunc(options, func(w shell.Word) bool {
			return !w.Static || !strings.HasPrefix(w.Text, "--get") && w.Text != "-l" && w.Text != "--list"
		}) {
			l.gitFolder()
		}
	case sub == "stash":
		l.gitTree(changes)
		l.gitFolder()
	default:
		l.unclear("git " + sub + " is not known, or which files it touches; use another command, or a tool for files")
	}
}

// gitFiles are options by which commands read or run something else.
var gitFiles = map[string][]string{
	"commit": {"--file", "--template", "--pathspec-from-file"}, "init": {"--template", "--separate-git-dir"},
	"fetch": {"--upload-pack"}, "push": {"--receive-pack", "--exec", "--repo"}, "reset": {"--pathspec-from-file"},
}

// gitSwitch judges commands that change git's own folder, and with some options files of the workspace.
func (l *lineReader) gitSwitch(sub string, options, operands []shell.Word, cut bool) {
	l.gitFolder()
	letters, valued := map[string]string{"commit": "Ft"}[sub], map[string]string{"commit": "mCcuS", "push": "o", "fetch": "oj", "init": "b", "switch": "cC"}[sub]
	if gitHas(options, letters, valued, gitFiles[sub]...) {
		l.unclear("git " + sub + " has an option that names files; leave it out")
	}
	switch sub {
	case "commit":
		if cut || gitHas(options, "aviop", "mCcFtuS", "--all", "--verbose", "--include", "--only", "--patch", "--interactive") || len(operands) > gitValues(options) {
			l.gitTree(reads)
		}
	case "init":
		l.below = true
		for _, w := range operands {
			l.word(w, writes)
		}
	case "push":
		for _, w := range operands {
			if strings.HasPrefix(w.Text, "/") || strings.HasPrefix(w.Text, ".") || strings.HasPrefix(strings.ToLower(w.Text), "file:") || !w.Static {
				l.unclearWord(w)
			}
		}
	case "fetch":
		for _, w := range operands {
			if strings.ContainsAny(w.Text, "/") && !strings.Contains(w.Text, "://") || strings.HasPrefix(strings.ToLower(w.Text), "file:") || !w.Static {
				l.unclearWord(w)
			}
		}
	case "switch":
		l.gitTree(changes)
	case "reset":
		if slices.ContainsFunc(options, func(w shell.Word) bool {
			return !w.Static || !slices.Contains([]string{"--soft", "--mixed", "-q", "--quiet"}, w.Text)
		}) {
			l.gitTree(changes)
		}
	}
}

// gitCheckout judges checkout and restore: of paths behind --, or of everything.
func (l *lineReader) gitCheckout(sub string, options, operands, paths []shell.Word, cut bool) {
	l.gitFolder()
	staged := sub == "restore" && slices.ContainsFunc(options, isAny("--staged", "-S")) && !gitHas(options, "W", "", "--worktree")
	odd := gitHas(options, "", "", "--pathspec-from-file")
	switch {
	case staged && !odd:
	case cut && len(paths) > 0 && !odd:
		l.gitPaths(paths, writes, false)
	case sub == "restore" && len(operands) > 0 && len(options) == 0:
		l.gitPaths(operands, writes, false)
	default:
		l.gitTree(writes)
	}
}
