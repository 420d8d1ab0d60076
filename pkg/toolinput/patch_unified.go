package toolinput

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// gitHeads begin the lines between diff --git and the hunks that name no file.
var gitHeads = []string{
	"index ", "old mode ", "new mode ", "new file mode ", "deleted file mode ", "similarity index ", "dissimilarity index ",
}

// unified reads a diff of git, or any other unified diff. Both names of a file
// count when they differ.
func (p *patch) unified() error {
	const (
		outside = iota
		head    // after diff --git
		hunks
	)
	in, nameless := outside, false
	for {
		line, ok := p.next()
		if names, git := strings.CutPrefix(line, "diff --git "); git || !ok {
			p.endHunk()
			if nameless {
				return p.errorf("the name of a file is not clear; add the lines that begin with --- and +++")
			}
			if !ok {
				return nil
			}
			in, nameless = head, !p.gitName(names)
			continue
		}
		var err error
		switch {
		case strings.HasPrefix(line, "--- "):
			in, nameless = hunks, false
			err = p.oldAndNew(line)
		case strings.HasPrefix(line, "@@ ") && in != outside && !nameless:
			in = hunks
			err = p.hunk(line)
		case in == head && (strings.HasPrefix(line, "rename from ") || strings.HasPrefix(line, "copy from ")):
			nameless = false
			err = p.fromAndTo(line)
		case in == head && slices.ContainsFunc(gitHeads, func(h string) bool { return strings.HasPrefix(line, h) }):
		case strings.TrimSpace(line) == "" || in == hunks && strings.HasPrefix(line, `\ `):
		default:
			err = p.errorf("it does not belong to a file; write only headers and hunks, whose @@ lines count their lines")
		}
		if err != nil {
			return err
		}
	}
}

// oldAndNew reads the two lines that name a file.
func (p *patch) oldAndNew(line string) error {
	p.endHunk()
	after, _ := p.next()
	NewText, ok := strings.CutPrefix(after, "+++ ")
	if !ok {
		return p.errorf("a line that begins with +++ must follow the one that begins with ---")
	}
	oldName, oldOK := diffName(line[len("--- "):])
	newName, newOK := diffName(NewText)
	if !oldOK || !newOK || oldName == devNull && newName == devNull {
		return p.errorf("it names no file; put a name with spaces in quotes")
	}
	if !p.name(oldName, newName) {
		return p.errorf("put a/ and b/ before the two names, or before neither")
	}
	return nil
}

// devNull is not the name of a file.
const devNull = "/dev/null"

// name adds the two names of a file, without git's prefix. It returns false when that
// cannot be distinguished from the name of a folder.
func (p *patch) name(oldName, newName string) bool {
	plainOld, plainNew := withoutTrees(oldName, newName)
	if plainOld == oldName && plainNew == newName && (inTree(oldName) || inTree(newName)) {
		return false
	}
	for _, name := range []string{plainOld, plainNew} {
		if name != devNull {
			p.paths = append(p.paths, name)
		}
	}
	return true
}

func inTree(name string) bool { return strings.HasPrefix(name, "a/") || strings.HasPrefix(name, "b/") }

// treePrefixes are the pairs of letters that git puts in front of the two names:
// a/ and b/, and with diff.mnemonicPrefix those of commit, index, work tree and
// object.
var treePrefixes = []string{"ab", "iw", "ci", "cw", "ow"}

func withoutTrees(oldName, newName string) (string, string) {
	for _, pair := range treePrefixes {
		oldRest, oldHas := strings.CutPrefix(oldName, pair[:1]+"/")
		newRest, newHas := strings.CutPrefix(newName, pair[1:]+"/")
		switch {
		case oldHas && newHas:
			return oldRest, newRest
		case oldHas && newName == devNull:
			return oldRest, newName
		case newHas && oldName == devNull:
			return oldName, newRest
		}
	}
	return oldName, newName
}

// diffName reads a name after --- or +++: up to a tab, or in quotes. One with
// blanks must end so: some programs cut it at the first.
func diffName(text string) (string, bool) {
	name, _, tab := strings.Cut(text, "\t")
	if !tab && !strings.HasPrefix(text, `"`) && strings.ContainsFunc(name, unicode.IsSpace) {
		return "", false
	}
	return gitPath(name)
}

// gitPath reads a name as git writes it, in quotes when it has unusual
// characters.
func gitPath(text string) (string, bool) {
	if !strings.HasPrefix(text, `"`) {
		return text, text != ""
	}
	name, err := strconv.Unquote(text)
	return name, err == nil && name != ""
}

// gitName reads the names after diff --git. It returns false when they do not show where
// the first one ends: then other lines must show it.
func (p *patch) gitName(text string) bool {
	half := len(text) / 2
	if strings.HasPrefix(text, `"`) {
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return false
		}
		half = len(quoted)
	} else if len(text)%2 == 0 {
		// Without quotes they are only known when they are the same but for git's
		// prefixes: then they are of the same length.
		return false
	}
	if half >= len(text) || text[half] != ' ' {
		return false
	}
	oldName, oldOK := gitPath(text[:half])
	newName, newOK := gitPath(text[half+1:])
	plainOld, plainNew := withoutTrees(oldName, newName)
	return oldOK && newOK && plainOld == plainNew && p.name(oldName, newName)
}

// fromAndTo reads the two lines that say that a file was renamed or copied.
func (p *patch) fromAndTo(line string) error {
	verb, from, _ := strings.Cut(line, " from ")
	after, _ := p.next()
	to, ok := strings.CutPrefix(after, verb+" to ")
	if !ok {
		return p.errorf("%s to must follow %s from", verb, verb)
	}
	for _, text := range []string{from, to} {
		name, ok := gitPath(text)
		if !ok {
			return p.errorf("it names no file")
		}
		p.paths = append(p.paths, name)
	}
	return nil
}

// hunk reads a hunk, which is as long as its first line says.
func (p *patch) hunk(line string) error {
	p.endHunk()
	oldLines, newLines, ok := hunkLengths(line)
	if !ok {
		return p.errorf("a hunk begins with a line like @@ -1,2 +1,3 @@")
	}
	for oldLines > 0 || newLines > 0 {
		line, ok := p.next()
		switch {
		case !ok:
			return p.errorf("the hunk has fewer lines than its @@ line says")
		case line == "" || line[0] == ' ':
			oldLines--
			newLines--
		case line[0] == '-':
			oldLines--
			p.removeLine(line)
		case line[0] == '+':
			newLines--
			p.addLine(line)
		case line[0] != '\\':
			return p.errorf("the hunk has fewer lines than its @@ line says")
		}
		if oldLines < 0 || newLines < 0 {
			return p.errorf("the hunk has other lines than its @@ line says")
		}
	}
	return nil
}

// hunkLengths reads how many old and new lines a hunk has.
func hunkLengths(line string) (oldLines, newLines int, ok bool) {
	fields := strings.SplitN(line, " ", 4)
	if len(fields) < 4 || fields[0] != "@@" || !strings.HasPrefix(fields[3], "@@") {
		return 0, 0, false
	}
	oldLines, oldOK := rangeLength(fields[1], "-")
	newLines, newOK := rangeLength(fields[2], "+")
	return oldLines, newLines, oldOK && newOK
}

func rangeLength(text, sign string) (int, bool) {
	text, ok := strings.CutPrefix(text, sign)
	start, length, given := strings.Cut(text, ",")
	if !given {
		length = "1"
	}
	const bits = 31
	_, startErr := strconv.ParseUint(start, 10, bits)
	n, err := strconv.ParseUint(length, 10, bits)
	return int(n), ok && startErr == nil && err == nil
}
