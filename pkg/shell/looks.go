package shell

import "slices"

// acts are programs of readerTable that write no file and do something all the same.
var acts = []string{"kill", "killall", "pkill", "skill", "eval", "exec", "source", ".", "ping", "ping6", "ifconfig", "route", "stty"}

// gitLooks are the commands of git that show something and change nothing.
var gitLooks = []string{
	"status", "log", "diff", "show", "blame", "grep", "ls-files", "ls-tree", "rev-parse", "rev-list", "describe", "shortlog",
	"cat-file", "merge-base", "name-rev", "diff-tree", "diff-index", "version", "help",
}

// Looks reports a command that has no effect outside of its own output, in the workspace or
// elsewhere, as far as it writes no file: see Plan.Findings for that. What is not known may
// have one.
func (c Command) Looks() bool {
	words := c.Words[c.Assigns:]
	if len(words) == 0 {
		return true // variables of the line
	}
	switch name := c.Program(); name {
	case "git":
		return len(words) > 1 && words[1].Static && slices.Contains(gitLooks, words[1].Text)
	case "find", "sed", "awk", "sort", "uniq", "tree", "jq", "rg":
		return true
	default:
		return isInert(words) || readers()[name] && !slices.Contains(acts, name)
	}
}

// gitChanges are the commands of git that write no file of the workspace, and change what git keeps.
var gitChanges = wordSet(`add stage commit fetch credential-cache push remote column`)

// OnlyReads reports that the line is proved only to read: every command is known, and none writes a
// file, runs code that is not seen, acts elsewhere, signals a process or changes a repository.
func (p *Plan) OnlyReads() bool {
	for _, f := range p.Findings {
		if f.Kind != Dumps {
			return false
		}
	}
	return !slices.ContainsFunc(p.Commands, func(c Command) bool {
		words := c.Words[c.Assigns:]
		if len(words) == 0 || c.Looks() {
			return false
		}
		if c.Program() == "git" {
			return slices.ContainsFunc(words[1:], func(w Word) bool { return !w.Static || gitChanges[w.Text] })
		}
		return c.Program() == "" || slices.Contains(acts, c.Program()) || !Knows(c.Program())
	})
}
