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

// asks are readers that ask other machines, and can thereby carry data away.
var asks = []string{"host", "dig", "nslookup", "whois", "traceroute", "traceroute6", "tracepath"}

// OnlyReads reports that the line is proved to read files of this machine and to do nothing else:
// nothing in it was found that writes, runs other code or acts elsewhere, and all its commands look.
func (p *Plan) OnlyReads() bool {
	return !p.Empty && len(p.Findings) == 0 && !slices.ContainsFunc(p.Commands, func(c Command) bool {
		return c.Assigns > 0 || !c.Looks() || slices.Contains(asks, c.Program())
	})
}
