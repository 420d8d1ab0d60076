package toolcall

import (
	"path"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/shell"
)

// Commands that walk folders reach files without naming them (S13.2). Denied are those that search by
// a pattern which a file of the data folder has, skip the entries of ignore files, or copy, move or
// delete a folder above it; and those that delete or change Interlock's hooks by a pattern.

const (
	ownWalk  = "it copies, searches or deletes a folder that holds Interlock's data folder (%s); name a folder below, or leave the data folder out"
	hookWalk = "it deletes, moves or changes files that hook Interlock in (%s), by walking a folder above; name narrower files or a folder below"
)

// walks describes why a line that walks folders is denied, or returns "".
func (p Places) walks(plan *shell.Plan) (why, about string) {
	w := walk{places: p, bases: []string{p.Folder}}
	for _, c := range plan.Commands {
		if c.Program() == "cd" && len(c.Words) > c.Assigns+1 {
			w.goes(c.Words[len(c.Words)-1])
		}
		w.hears(c)
	}
	for _, c := range plan.Commands {
		if why, about = w.command(c); why != "" {
			return why, about
		}
	}
	return "", ""
}

// walk is one line: the folders that it may be in, and whether it hands names on to other commands.
type walk struct {
	places  Places
	bases   []string // the first is the workspace, and the last the one where the line goes at the end
	handsOn bool
	acts    bool // one that may be given names does more than to read
}

// hears notes a command that may be given the names which another one finds.
func (w *walk) hears(c shell.Command) {
	name := c.Program()
	switch {
	case finders[name]:
	case name == "xargs", name == "parallel", name == "read":
		w.handsOn = true
	default:
		unknown := slices.ContainsFunc(c.Words[c.Assigns:], func(word shell.Word) bool { return !word.Static })
		w.handsOn = w.handsOn || unknown || name == "cpio" || name == "tar"
		w.acts = w.acts || unknown && name != "cd" && !readers[name] && !c.Looks()
	}
}

var finders = words(`find gfind bfs fd fdfind`)

func (w *walk) goes(to shell.Word) {
	if to.Static {
		w.bases = append(w.bases, absolute(w.bases[len(w.bases)-1], to.Text))
	}
}

func absolute(base, name string) string {
	if name = fromURL(name); strings.HasPrefix(name, "/") || base == "" {
		return path.Clean(name)
	}
	return path.Join(base, name)
}

// operandsOf returns the words of a command that are no options, and the options.
func operandsOf(c shell.Command) (operands []shell.Word, options []string) {
	for i, w := range c.Words[c.Assigns+1:] {
		switch {
		case w.Static && w.Text == "--":
			return append(operands, c.Words[c.Assigns+2+i:]...), options
		case len(w.Text) > 1 && w.Text[0] == '-':
			options = append(options, w.Text)
		default:
			operands = append(operands, w)
		}
	}
	return operands, options
}

// hasLetter reports an option of one letter, alone or with others, or one of the long names.
func hasLetter(options []string, letters string, long ...string) bool {
	return slices.ContainsFunc(options, func(o string) bool {
		if strings.HasPrefix(o, "--") {
			name, _, _ := strings.Cut(o, "=")
			return slices.ContainsFunc(long, func(l string) bool { return len(name) > 3 && strings.HasPrefix(l, name) })
		}
		return strings.ContainsAny(o, letters)
	})
}

// command judges one command.
func (w *walk) command(c shell.Command) (why, about string) {
	if c.Assigns >= len(c.Words) {
		return "", ""
	}
	if folder, found := w.replaces(c); found {
		return hookWalk, folder
	}
	operands, options := operandsOf(c)
	sources := operands
	changes := false
	switch name := c.Program(); name {
	case "find", "gfind", "bfs":
		return w.find(c)
	case "grep", "egrep", "fgrep", "ggrep", "rgrep", "zgrep", "rg", "ripgrep", "ag", "ack", "ugrep", "ug", "fd", "fdfind", "git-grep":
		return w.search(name, c, options)
	case "tar", "gtar", "bsdtar":
		if !archives(operands, options) {
			return "", ""
		}
	case "zip":
		if sources = after(operands, 1); !hasLetter(options, "rR", "--recurse-paths") {
			return "", ""
		}
	case "7z", "7za", "7zr", "7zz", "rar":
		sources = after(operands, 2)
	case "cp", "gcp", "scp":
		if !hasLetter(options, "raR", "--recursive", "--archive") {
			return "", ""
		}
		sources = butLast(operands, options)
	case "rsync", "ditto", "unison":
		sources = butLast(operands, options)
	case "mv", "gmv":
		sources, changes = butLast(operands, options), true
	case "rm", "grm", "shred", "trash", "rimraf":
		if name == "rm" && !hasLetter(options, "rR", "--recursive") {
			return "", ""
		}
		if name == "rm" && !slices.Contains(options, "--no-preserve-root") { // it refuses the root itself
			sources = slices.DeleteFunc(slices.Clone(operands), func(w shell.Word) bool { return w.Static && w.Text == "/" })
		}
		changes = true
	case "chmod", "chown", "chgrp", "chattr", "setfacl":
		if sources = after(operands, 1); !hasLetter(options, "R", "--recursive") {
			return "", ""
		}
		changes = true
	case "mksquashfs", "genisoimage", "mkisofs", "pax", "star", "dar", "duplicity", "borg", "restic":
	default:
		return "", ""
	}
	for _, source := range sources {
		if folder := w.above(source); folder != "" && !leavesOut(c, folder) {
			return ownWalk, folder
		}
		if changes && w.holdsSettings(source) {
			return hookWalk, source.String()
		}
	}
	return "", ""
}

// archives reports that tar makes an archive.
func archives(operands []shell.Word, options []string) bool {
	if hasLetter(options, "", "--create", "--append", "--update") || len(operands) > 0 && len(options) == 0 && strings.ContainsAny(operands[0].Text, "cru") {
		return true
	}
	return slices.ContainsFunc(options, func(o string) bool { return !strings.HasPrefix(o, "--") && strings.ContainsAny(o, "cru") }) ||
		len(operands) > 0 && strings.Trim(operands[0].Text, "cruxtvzjJafhpPmkO") == "" && strings.ContainsAny(operands[0].Text, "cru")
}

func after(words []shell.Word, n int) []shell.Word { return words[min(n, len(words)):] }

// butLast returns the sources of a copy: all but the last operand, unless an option names where
// to.
func butLast(operands []shell.Word, options []string) []shell.Word {
	if hasLetter(options, "t", "--target-directory") {
		return operands
	}
	return operands[:max(len(operands)-1, 0)]
}

// leavesOut reports a command with an option that excludes a folder, as withoutProse writes it.
func leavesOut(c shell.Command, folder string) bool {
	return slices.ContainsFunc(c.Words, func(w shell.Word) bool {
		_, name, ok := strings.Cut(w.Text, "=")
		return ok && strings.HasPrefix(w.Text, "--exclude") && w.Static && name == leftOut(path.Base(folder))
	})
}

// above returns a known data folder at or below a place that a word names, in any of the folders
// of the line, or is empty.
func (w *walk) above(word shell.Word) string {
	text := word.Text
	if !word.Static {
		rest := strings.TrimPrefix(text, string(shell.Unknown))
		if !word.Home() || strings.ContainsRune(rest, shell.Unknown) || rest == text {
			return ""
		}
		rest = strings.TrimSuffix(path.Clean("/"+rest), "/")
		for _, folder := range w.places.Data {
			if strings.Contains(plainName(folder)+"/", lower(rest)+"/") && inHome(folder) {
				return folder
			}
		}
		return ""
	}
	for _, base := range w.bases {
		if folders := w.places.below(absolute(base, text)); len(folders) > 0 && (base != "" || strings.HasPrefix(text, "/")) {
			return folders[0]
		}
	}
	return ""
}

// inHome reports a path that may be below the folder of a user.
func inHome(folder string) bool {
	return slices.ContainsFunc([]string{"/home/", "/users/", "/root/", "/var/lib/", "/usr/home/"}, func(begin string) bool { return strings.HasPrefix(plainName(folder), begin) })
}

// hookFiles are files of a workspace that hook Interlock in.
var hookFiles = []string{
	".claude/settings.json", ".claude/settings.local.json", ".mcp.json", ".codex/hooks.json", ".codex/config.toml", ".cursor/hooks.json", ".cursor/mcp.json",
	".gemini/settings.json", ".github/hooks/interlock.json", ".github/copilot/settings.json",
}

// holdsSettings reports the workspace itself, or a folder above.
func (w *walk) holdsSettings(word shell.Word) bool {
	if !word.Static || word.Text == "" {
		return false
	}
	root := w.places.Folder
	if root == "" { // the place of the call is not known
		return len(w.bases) == 1 && path.Clean(word.Text) == "."
	}
	at := absolute(w.bases[len(w.bases)-1], word.Text)
	return at == "/" || within(plainName(root), plainName(at))
}

// found returns files below a place that a command must not reach, as find names them: the place, and
// the rest of the path.
func (w *walk) found(place shell.Word, changes bool) (paths []string) {
	text := place.Text
	for _, base := range w.bases {
		if !place.Static || base == "" && !strings.HasPrefix(text, "/") {
			continue
		}
		root := plainName(absolute(base, text))
		for _, folder := range w.places.below(absolute(base, text)) {
			for _, file := range append(slices.Clone(ownFiles), "") {
				paths = append(paths, below(text, path.Join(strings.TrimPrefix(plainName(folder), strings.TrimSuffix(root, "/")), file)))
			}
		}
	}
	if folder := w.above(place); !place.Static && folder != "" {
		for _, file := range ownFiles {
			paths = append(paths, path.Join(folder, file))
		}
	}
	if changes && w.holdsSettings(place) {
		for _, file := range hookFiles {
			paths = append(paths, below(text, path.Join(strings.TrimPrefix(plainName(w.places.Folder), strings.TrimSuffix(plainName(absolute(w.bases[len(w.bases)-1], text)), "/")), file)))
		}
	}
	return paths
}

// below returns a file as find names it.
func below(place, rest string) string {
	return strings.TrimSuffix(lower(place), "/") + "/" + strings.TrimPrefix(rest, "/")
}

// finding has the effects of a command of find with the files that its tests admit.
type finding struct {
	places                   []shell.Word
	admits                   []func(name string) bool
	deletes, runs, or        bool
	reader                   bool // its program only reads
	onlyEmpty, onlyNoRegular bool // tests by which it does not meet the files
}

// findingOf reads the words of find.
func findingOf(words []shell.Word) finding {
	f := finding{reader: true}
	begin := 0
	for begin < len(words) && (words[begin].Text == "" || !strings.ContainsAny(words[begin].Text[:1], "-(!,")) {
		begin++
	}
	if f.places = words[:begin]; begin == 0 {
		f.places = []shell.Word{{Text: ".", Static: true}}
	}
	negated := false
	for i := begin; i < len(words); i++ {
		argument := shell.Word{}
		if i+1 < len(words) {
			argument = words[i+1]
		}
		switch text := words[i].Text; text {
		case "!", "-not":
			negated = !negated
			continue
		case "-o", "-or":
			f.or = true
		case "-delete", "-rm":
			f.deletes = true
		case "-exec", "-execdir", "-ok", "-okdir":
			f.runs = true
			f.reader = f.reader && readers[baseOf(argument)]
			f.deletes = f.deletes || removers[baseOf(argument)] && takesFound(words[i+1:])
		case "-empty":
			f.onlyEmpty = f.onlyEmpty || !negated
		case "-type", "-xtype":
			f.onlyNoRegular = f.onlyNoRegular || !negated && (argument.Text == "d" || argument.Text == "l")
		case "-name", "-iname":
			f.admits = append(f.admits, admitted(argument, negated, path.Base))
		case "-path", "-ipath", "-wholename", "-iwholename":
			f.admits = append(f.admits, admitted(argument, negated, func(name string) string { return name }))
		case "-regex", "-iregex":
			f.admits = append(f.admits, func(string) bool { return true })
		}
		negated = false
	}
	return f
}

// meets reports that the tests could hold for a file.
func (f finding) meets(name string) bool {
	all, some := true, len(f.admits) == 0
	for _, admits := range f.admits {
		ok := admits(name)
		all, some = all && ok, some || ok
	}
	return all || f.or && some
}

// find judges find.
func (w *walk) find(c shell.Command) (why, about string) {
	f := findingOf(c.Words[c.Assigns+1:])
	f.runs = f.runs || w.handsOn
	changes := f.deletes || f.runs && !f.reader || w.handsOn && w.acts
	switch {
	case !f.deletes && !f.runs, (f.onlyEmpty || f.onlyNoRegular) && !f.or && !f.runs:
		return "", ""
	case len(f.admits) == 0 && !f.deletes: // as grep -r
		return "", ""
	}
	for _, place := range f.places {
		for _, name := range w.found(place, changes) {
			switch {
			case !f.meets(name):
			case slices.ContainsFunc(hookFiles, func(file string) bool { return strings.HasSuffix("/"+name, "/"+file) }):
				return hookWalk, name
			default:
				return ownWalk, path.Base(name)
			}
		}
	}
	return "", ""
}

// takesFound reports a command of -exec that gets the files that find has found.
func takesFound(words []shell.Word) bool {
	for _, w := range words {
		switch {
		case strings.Contains(w.Text, "{}"):
			return true
		case w.Text == ";":
			return false
		}
	}
	return false
}

// removers are programs that destroy a file.
var removers = words(`rm unlink shred truncate mv trash srm`)

// admitted reports whether a test of find could hold for a file.
func admitted(pattern shell.Word, negated bool, of func(string) string) func(string) bool {
	open := opened(lower(pattern.Text))
	return func(name string) bool {
		could := shell.CouldBe(open, of(name))
		if negated {
			return !could || open != of(name) && !strings.ContainsRune(open, shell.Unknown)
		}
		return could
	}
}

// search judges tools that search in files.
func (w *walk) search(name string, c shell.Command, options []string) (why, about string) {
	greps := strings.HasSuffix(name, "grep") && name != "ripgrep" && name != "ugrep"
	if greps && name != "rgrep" && !hasLetter(options, "rR", "--recursive", "--dereference-recursive") {
		return "", ""
	}
	if strings.HasPrefix(name, "fd") && !w.handsOn && !hasLetter(options, "xX", "--exec", "--exec-batch") {
		return "", ""
	}
	globs := globsOf(name, c, greps)
	all, hidden := false, false
	if !greps {
		all, hidden = ignores(name, options)
	}
	for _, place := range w.searched(c) {
		folder := w.above(place)
		if folder == "" || leavesOut(c, folder) {
			continue
		}
		if visible := !strings.Contains(folder, "/."); all && (hidden || visible) {
			return ownWalk, folder
		}
		for _, base := range w.bases {
			if slices.ContainsFunc(globs, func(glob string) bool { return w.places.globMeets(absolute(base, place.Text), glob) }) {
				return ownWalk, folder
			}
		}
	}
	return "", ""
}

// globsOf returns the patterns of names that a search is given.
func globsOf(name string, c shell.Command, greps bool) (globs []string) {
	for i, word := range c.Words {
		option, value, attached := strings.Cut(word.Text, "=")
		if !attached && i+1 < len(c.Words) {
			value = c.Words[i+1].Text
		}
		switch {
		case greps && option == "--include", !greps && (option == "-g" || option == "--glob" || option == "--iglob"), option == "--file-search-regex" || option == "-G" && name == "ag":
			globs = append(globs, value)
		case !greps && strings.HasPrefix(word.Text, "-g") && len(word.Text) > 2:
			globs = append(globs, word.Text[2:])
		case !greps && (option == "--type" || option == "-t") && value == "json", word.Text == "-tjson", word.Text == "--json" && name == "ack":
			globs = append(globs, "*.json")
		}
	}
	return globs
}

// ignores reports whether a search does not respect ignore files, and looks at hidden
// ones.
func ignores(name string, options []string) (all, hidden bool) {
	n := 0
	for _, text := range options {
		option, _, _ := strings.Cut(text, "=")
		switch {
		case strings.HasPrefix(option, "--no-ignore"):
			n++
		case option == "--hidden", option == "-.":
			hidden = true
		case len(option) > 3 && beginsOf(option, "--unrestricted"):
			n++
			hidden = hidden || n > 1 || name != "rg" && name != "ripgrep"
		case !strings.HasPrefix(text, "--"):
			u := strings.Count(text, "u")
			n += u
			hidden = hidden || u > 0 && (n > 1 || name != "rg" && name != "ripgrep")
			if strings.HasPrefix(name, "fd") {
				hidden = hidden || strings.Contains(text, "H")
				n += strings.Count(text, "I")
			}
		}
	}
	return n > 0, hidden
}

// Options of tools that search, with a value in the next word, and long ones without.
var (
	searchValues = words(`-A -B -C -m -e -f -g -t -T -j -r -M -E -d -S -x -X --glob --iglob --type --type-not --include --exclude --exclude-dir --context --max-count
--max-depth --regexp --file --after-context --before-context --threads --replace --encoding --sort --extension`)
	searchFlags = words(`--hidden --no-ignore --no-ignore-vcs --no-ignore-parent --no-ignore-dot --unrestricted --files --line-number --ignore-case --count --json
--files-with-matches --no-heading --recursive --fixed-strings --word-regexp --follow --text --no-messages --multiline --pcre2 --only-matching --quiet --null`)
)

// searched returns the places that a search looks at: any of its words may be one, and the
// folder of the line where only a pattern is given.
func (w *walk) searched(c shell.Command) []shell.Word {
	places := []shell.Word{}
	values := 0 // words that may be values of options
	args := c.Words[c.Assigns+1:]
	for i := 0; i < len(args); i++ {
		switch text := args[i].Text; {
		case text == "":
		case text[0] != '-':
			places = append(places, args[i])
		case searchValues[text]:
			i++
		case strings.HasPrefix(text, "--") && !strings.Contains(text, "=") && !searchFlags[text]:
			values++
		}
	}
	if len(places)-values <= 1 {
		places = append(places, shell.Word{Text: ".", Static: true})
	}
	return places
}

// beginsOf reports that a word is the beginning of another one.
func beginsOf(word, of string) bool { return strings.HasPrefix(of, word) }
