package shell

import (
	"slices"
	"strings"
)

// acts are programs of readerTable that write no file and do something all the same.
var acts = []string{"kill", "killall", "pkill", "skill", "eval", "exec", "source", ".", "ping", "ping6", "ifconfig", "route", "stty"}

// gitLooks are the commands of git that only show something.
var gitLooks = []string{
	"status", "log", "diff", "show", "blame", "grep", "ls-files", "ls-tree", "rev-parse", "rev-list", "describe", "shortlog",
	"cat-file", "merge-base", "name-rev", "diff-tree", "diff-index", "version", "help",
}

// Looks reports a command that has no effect outside of its own output, in the workspace or
// elsewhere, as far as it writes no file: see Plan.Findings for that. An unknown one may
// have effects.
func (c Command) Looks() bool {
	words := c.Words[c.Assigns:]
	if len(words) == 0 {
		return true // variables of the line
	}
	switch name := c.Program(); {
	case name == "git":
		return len(words) > 1 && words[1].Static && slices.Contains(gitLooks, words[1].Text)
	case slices.Contains(filters, name):
		return true
	default:
		return isInert(words) || readers()[name] && !slices.Contains(acts, name)
	}
}

// filters are programs that look, as far as their options and programs write no file.
var filters = []string{"find", "sed", "awk", "sort", "uniq", "tree", "jq", "rg"}

// doubtful are commands that look, and that can do more than to read files of this machine: ask
// others and thereby carry data away, change how later commands of the line run, load code of the
// workspace, or run a program of their own, whose text is read for its writes alone.
var doubtful = []string{
	"host", "dig", "nslookup", "whois", "traceroute", "traceroute6", "tracepath", "getent", "finger", "showmount", "rpcinfo", "netstat",
	"arp", "iwconfig", "alias", "bind", "complete", "compopt", "declare", "enable", "export", "hash", "let", "local", "readonly", "set",
	"shopt", "trap", "typeset", "unalias", "unset", "depcheck", "knip", "luacheck", "ts-prune", "awk",
}

// OnlyReads reports that the line is proved only to read files of this machine: no part of it
// writes, runs other code or acts elsewhere, it sets no variable that could be of a program, and
// all its commands look.
func (p *Plan) OnlyReads() bool {
	if p.Empty || p.connects || len(p.Findings) > 0 || slices.ContainsFunc(p.Sets, isSetting) {
		return false
	}
	return !slices.ContainsFunc(p.Commands, func(c Command) bool {
		return c.Assigns > 0 || !c.Looks() || slices.Contains(doubtful, c.Program())
	})
}

// isSetting reports the name of a variable that programs or the shell may read: in capitals.
func isSetting(name string) bool { return strings.ToLower(name) != name }

// MayRead reports that a line which only reads may have a command that matches: false is certain.
func (p Pattern) MayRead() bool {
	words := p.words
	if p.confined != nil {
		words = p.confined.Words
	}
	if p.glob != "" {
		words = strings.Split(p.glob, " ")
	}
	if len(words) == 0 {
		return p.inert
	}
	name := words[0][strings.LastIndexByte(words[0], '/')+1:]
	switch {
	case isGlob(words[0]), strings.Contains(words[0], "="):
		return true
	case slices.Contains(doubtful, name):
		return false
	case name == "git":
		return len(words) == 1 || isGlob(words[1]) || slices.Contains(gitLooks, words[1])
	default:
		return slices.Contains(filters, name) || slices.Contains(inertCommands, name) || slices.Contains(inertWrappers, name) ||
			readers()[name] && !slices.Contains(acts, name)
	}
}
