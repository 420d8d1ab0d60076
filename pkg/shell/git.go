package shell

import (
	"slices"
	"strings"
)

// git walks git: its subcommands have lines of their own, and one that has none is
// not known to only read.
func (p programReader) git(c, at int) {
	sc := p.tabled("git", c, at)
	for _, e := range sc.evals {
		if !harmlessSetting(e.word) {
			p.builtinPart().note(Hidden, c, e.at, "gives git a setting that may run something")
		}
	}
	if len(sc.operands) > 0 {
		sc.gitOperands(sc.words[sc.operands[0]].Text, sc.operands[0])
	}
	sc.gitWords()
}

// gitProgram walks git's subcommands by their own files, as git-reset.
func (p programReader) gitProgram(sub string, c, at int) {
	name := "git " + sub
	if specOf(name) == nil {
		p.builtinPart().note(Writes, c, at, "is a subcommand of git that is not known to only read")
		return
	}
	sc := p.tabled(name, c, at)
	sc.gitOperands(sub, at)
	sc.gitWords()
}

// gitOperands judges the writes of operands of some subcommands.
func (s *scan) gitOperands(sub string, at int) {
	switch sub {
	case "config":
		s.gitConfig(at)
	case "push":
		s.gitPush(at)
	case "fetch":
		for i, place := range s.programPart().scanWords(specOf("git fetch"), "git fetch", s.c, at).operands {
			w := s.words[place]
			if _, to, ok := strings.Cut(w.Text, ":"); i > 0 && (ok && !strings.HasPrefix(to, "refs/remotes/") || !w.Static) {
				s.builtinPart().note(Writes, s.c, place, "fetches into a branch or tag")
			}
		}
	}
}

// gitPush finds a push into a repository of this machine, whose branches and tags it writes.
// at is the place of "push".
func (s *scan) gitPush(at int) {
	push := s.programPart().scanWords(specOf("git push"), "git push", s.c, at)
	here := false
	for i := at + 1; i < len(s.words); i++ {
		if address, ok := strings.CutPrefix(s.words[i].Text, "--repo="); ok && isLocal(address) || i > at+1 && s.words[i-1].Text == "--repo" && isLocal(s.words[i].Text) {
			s.builtinPart().note(Writes, s.c, i, pushesHere)
			here = true
		}
	}
	if len(push.operands) > 0 && isLocal(s.words[push.operands[0]].Text) {
		s.builtinPart().note(Writes, s.c, push.operands[0], pushesHere)
		here = true
	}
	if !here {
		push.remotePart().unlessHarmless(Elsewhere, at, actsElsewhere)
	}
}

const pushesHere = "pushes into a repository of this machine"

// isLocal reports the address of a repository that is no remote's name, and is not on
// another machine as https://host/path and host:path are.
func isLocal(address string) bool {
	if scheme, _, ok := strings.Cut(address, "://"); ok {
		return !networkSchemes()[scheme] && scheme != "ssh" && scheme != "git" && !strings.HasSuffix(scheme, "+ssh")
	}
	before, _, remote := strings.Cut(address, ":")
	if remote && before != "" && !strings.ContainsAny(before, "/"+string(Unknown)) {
		return false
	}
	return strings.HasPrefix(address, ".") || strings.ContainsAny(address, "/~"+string(Unknown))
}

// gitWords finds words that make git run something, regardless of the subcommand.
func (s *scan) gitWords() {
	for i, w := range s.words {
		if strings.HasPrefix(w.Text, "--config-env") {
			s.builtinPart().note(Hidden, s.c, i, "gives git a setting from a variable")
		}
		if strings.HasPrefix(w.Text, "ext::") {
			s.builtinPart().note(Hidden, s.c, i, "gives git an address that runs a command")
		}
	}
}

// gitConfig finds `git config key value` with a setting that may run something,
// which a later command of the line would. at is the place of "config".
func (s *scan) gitConfig(at int) {
	config := s.programPart().scanWords(specOf("git config"), "git config", s.c, at)
	places := config.operands
	if len(places) > 0 {
		switch s.words[places[0]].Text {
		case "set":
			places = places[1:]
		case "get", "list":
			return
		}
	}
	if len(places) < 2 || config.remotePart().looksOnly() {
		return
	}
	key, v := s.words[places[0]], s.words[places[1]]
	if !harmlessSetting(Word{Text: key.Text + "=" + v.Text, Static: key.Static && v.Static}) {
		s.builtinPart().note(Code, s.c, places[0], "gives git a setting that may run something")
	}
}

// harmlessSettings are the settings of `git -c` that run no program, with any value; a
// name that ends with a dot stands for all below it.
var harmlessSettings = []string{
	"advice.", "blame.", "color.", "column.", "commit.gpgsign", "core.abbrev", "core.autocrlf", "core.eol", "core.filemode",
	"core.ignorecase", "core.longpaths", "core.precomposeunicode", "core.quotepath", "core.whitespace", "diff.algorithm", "diff.colormoved",
	"diff.context", "diff.interhunkcontext", "diff.mnemonicprefix", "diff.noprefix", "diff.renamelimit", "diff.renames", "diff.statgraphwidth",
	"diff.suppressblankempty", "diff.wserrorhighlight", "fetch.prune", "format.pretty", "gc.auto", "grep.", "i18n.", "init.defaultbranch",
	"log.", "merge.conflictstyle", "pack.threads", "push.default", "rebase.autosquash", "safe.directory", "status.", "submodule.recurse",
	"tag.gpgsign", "tag.sort", "user.email", "user.name", "versionsort.suffix",
}

func harmlessSetting(w Word) bool {
	key, v, _ := strings.Cut(w.Text, "=")
	key = strings.ToLower(key)
	if strings.ContainsRune(key, Unknown) {
		return false
	}
	if key == "core.pager" || strings.HasPrefix(key, "pager.") || key == "core.fsmonitor" {
		return w.Static && slices.Contains([]string{"", "cat", "false", "0"}, v)
	}
	return slices.ContainsFunc(harmlessSettings, func(known string) bool {
		return key == known || strings.HasSuffix(known, ".") && strings.HasPrefix(key, known)
	})
}
