package toolcall

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/toolname"
)

// Folders above protected files, that a call moves, copies, replaces or deletes as one (S13.2).

// treeVerbs are in the names of tools that take whole folders, by their first letters.
var treeVerbs = sync.OnceValue(func() *[256][]treeVerb {
	var by [256][]treeVerb
	for _, verb := range []treeVerb{
		{"move", true},
		{"rename", true},
		{"delete", true},
		{"remove", true},
		{"trash", true},
		{"rmdir", true},
		{"unlink", true},
		{"mount", true},
		{"extract", true},
		{"unzip", true},
		{"chmod", true},
		{"copy", false},
		{"zip", false},
		{"archive", false},
		{"compress", false},
		{"backup", false},
		{"sync", false},
		{"upload", false},
		{"tar", false},
		{"pack", false},
	} {
		by[verb.word[0]] = append(by[verb.word[0]], verb)
	}
	return &by
})

// treeVerb is a word of a tool's name, and whether the tool changes the folders that it takes.
type treeVerb struct {
	word    string
	changes bool
}

// takesTrees reports a tool whose name says that it takes whole folders, and whether it changes them.
func takesTrees(tool string) (takes, changes bool) {
	var buf [toolname.LongestFolded]byte
	word, verbs := toolname.Folded(&buf, tool), treeVerbs()
	for i, letter := range word {
		for _, verb := range verbs[letter] {
			if bytes.HasPrefix(word[i:], []byte(verb.word)) {
				takes, changes = true, changes || verb.changes
			}
		}
	}
	return takes && !reads(tool), changes
}

// treeCall judges the names in a call of a tool that takes whole folders.
func (p Places) treeCall(tool string, names []string) (Code, string) {
	takes, changes := takesTrees(tool)
	if !takes {
		return "", ""
	}
	holds := func(at string) bool {
		if rest, home := strings.CutPrefix(at, homeSign); home {
			return slices.ContainsFunc(p.Data, func(folder string) bool {
				return inHome(folder) && strings.Contains(plainName(folder)+"/", path.Clean("/"+lower(rest)))
			})
		}
		return len(p.below(at)) > 0
	}
	above := func(at string) bool {
		at = plainName(absolute(p.Folder, at))
		root := plainName(p.Folder)
		return root != "" && within(root, at) || slices.ContainsFunc(p.Programs, func(program string) bool { return within(plainName(program), at) })
	}
	for _, name := range names {
		if name == "" {
			continue
		}
		if p.either(name, holds) {
			return CodeSelfProtected, fmt.Sprintf(ownWalk, document.Quote(name))
		}
		if changes && p.either(name, above) {
			return CodeSelfProtected, fmt.Sprintf(hookWalk, document.Quote(name))
		}
	}
	return "", ""
}

// replaces reports a command that would put another program where Interlock's is, or take its folder away.
func (w *walk) replaces(c shell.Command) (about string, found bool) {
	name := c.Program()
	operands, options := operandsOf(c)
	into := map[string]string{"cp": "", "gcp": "", "mv": "", "gmv": "", "ln": "", "install": "", "ginstall": "", "rsync": "", "scp": ""}
	_, copies := into[name]
	for _, file := range w.places.Programs {
		file = plainName(file)
		dir := path.Dir(file)
		is := func(word shell.Word, want string) bool {
			return slices.ContainsFunc(w.bases, func(base string) bool { return plainName(absolute(base, word.Text)) == want })
		}
		switch {
		case copies && len(operands) > 0:
			targets := operands[len(operands)-1:]
			if hasLetter(options, "t", "--target-directory") {
				targets = operands
				for _, option := range options {
					if _, value, ok := strings.Cut(option, "="); ok {
						targets = append(targets, shell.Word{Text: value})
					}
				}
			}
			takes := slices.ContainsFunc(operands, func(word shell.Word) bool {
				return shell.CouldBe(path.Base(plainName(word.Text)), path.Base(file)) || strings.HasSuffix(word.Text, "/.") || strings.HasSuffix(word.Text, "/") && name == "rsync"
			})
			if takes && slices.ContainsFunc(targets, func(word shell.Word) bool { return is(word, dir) }) {
				return dir, true
			}
			if (name == "mv" || name == "gmv") && slices.ContainsFunc(butLast(operands, options), func(word shell.Word) bool { return w.over(word, file) }) {
				return dir, true
			}
		case name == "rm" || name == "grm" || name == "rmdir" || name == "chmod" || name == "chown":
			if hasLetter(options, "rR", "--recursive") && slices.ContainsFunc(operands, func(word shell.Word) bool { return w.over(word, file) }) {
				return dir, true
			}
		case name == "mount" || name == "umount" || name == "bwrap":
			if slices.ContainsFunc(operands, func(word shell.Word) bool { return word.Text != "/" && w.over(word, file) }) {
				return dir, true
			}
		case name == "tar" || name == "gtar" || name == "bsdtar" || name == "unzip" || name == "cpio" || name == "7z" || name == "pax":
			args := c.Words[c.Assigns+1:]
			if (name != "tar" && name != "gtar" && name != "bsdtar" || !archives(operands, options)) && slices.ContainsFunc(args, func(word shell.Word) bool {
				text := word.Text
				for _, option := range []string{"--directory=", "-C", "-d", "-o"} {
					if rest, ok := strings.CutPrefix(text, option); ok && rest != "" {
						text = rest
					}
				}
				return is(shell.Word{Text: text}, dir)
			}) {
				return dir, true
			}
		}
	}
	return "", false
}

// over reports a word that names a folder above a file, whose name may not be known in full.
func (w *walk) over(word shell.Word, file string) bool {
	if !word.Static || word.Text == "" {
		return false
	}
	return slices.ContainsFunc(w.bases, func(base string) bool {
		at := plainName(absolute(base, word.Text))
		return at != "/" && strings.HasPrefix(at, "/") && within(file, at)
	})
}
