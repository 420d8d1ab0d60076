package toolcall

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/toolinput"
	"github.com/interlock-run/interlock/pkg/toolname"
)

// Calls of shells (S13).

// shellCall judges a call of a shell.
func (p Places) shellCall(call Call) (Code, string) {
	line, why := toolinput.CommandLine(call.Input)
	if why == "" && !toolinput.SpeaksOther(call.Tool) {
		if call.Jail == jail.Full {
			return p.jailedLine(line)
		}
		return p.line(line)
	}
	input, ok := toolinput.Read(call.Input)
	if !ok && len(call.Input) > 0 {
		return CodeInvalidInput, toolinput.NoCommand
	}
	var lines []string
	eachText(input, &lines)
	for _, line := range lines {
		if code, why := p.text(line); code != "" {
			return code, why
		}
		if mentions(line) {
			return CodeSelfProtected, fmt.Sprintf(ownCommand, document.Quote(line[:min(len(line), 80)]))
		}
		if toolinput.SpeaksOther(call.Tool) {
			if code, why := p.mentioned(line); code != "" {
				return code, why
			}
			continue
		}
		if _, err := shell.Parse(line); err != nil {
			continue // some text of the input, such as a reason
		}
		if code, why := p.line(line); code != "" {
			return code, why
		}
	}
	return "", ""
}

// toolWord returns the last part of a tool's name, folded.
func toolWord(tool string) string {
	var buf [toolname.LongestFolded]byte
	return string(toolname.Folded(&buf, tool))
}

func eachText(v document.Value, texts *[]string) {
	switch v.Kind() {
	case document.String:
		*texts = append(*texts, v.Str())
	case document.Array: // a program and its arguments
		var words []string
		for _, e := range v.Elements() {
			if word, err := syntax.Quote(e.Str(), syntax.LangBash); e.Kind() == document.String && err == nil {
				words = append(words, word)
			} else {
				eachText(e, texts)
			}
		}
		*texts = append(*texts, strings.Join(words, " "))
	case document.Object:
		for key, e := range v.Members() {
			if toolinput.MeaningOf(key) != toolinput.Note {
				eachText(e, texts)
			}
		}
	}
}

// text judges a line by its words alone, without their meaning.
func (p Places) text(line string) (Code, string) {
	text := squeezed(line)
	if isToken(text) {
		return CodeSelfProtected, holdsToken
	}
	for token := range strings.FieldsFuncSeq(text, betweenNames) {
		if slices.Contains(strings.Split(token, "/"), dataFolder) {
			return CodeSelfProtected, ownFolder
		}
	}
	if strings.Contains(text, stateHome) || strings.Contains(text, stateBraces) {
		return CodeSelfProtected, ownFolder
	}
	for _, folder := range p.Data {
		if strings.Contains(text, strings.ToLower(folder)) {
			return CodeSelfProtected, ownFolder
		}
	}
	return "", ""
}

// line judges a command line by its effects in bash.
func (p Places) line(line string) (Code, string) {
	if isToken(squeezed(line)) {
		return CodeSelfProtected, holdsToken
	}
	line = withoutProse(line)
	if code, why := p.text(line); code != "" {
		return code, why
	}
	plan, err := shell.Parse(line)
	if err != nil {
		return CodeCommandUnparsable, fmt.Sprintf(unreadable, err)
	}
	unseen := false
	for _, f := range plan.Findings {
		switch {
		case f.Process():
			return CodeSelfProtected, ownProcess
		case f.Blind() && !otherName(plan, f) && !knownCode(line, plan, f):
			return CodeSelfProtected, fmt.Sprintf(anyProgram, describe(f))
		case f.Kind == shell.Code, f.Kind == shell.Hidden:
			unseen = true
		}
	}
	if unseen && mentions(line) {
		return CodeSelfProtected, fmt.Sprintf(ownCommand, "it runs code that cannot be judged and names interlock")
	}
	if setting, why := p.names(line, plan); why != "" {
		return CodeSelfProtected, why
	} else if setting != "" && !onlyReads(plan) {
		return CodeSelfProtected, fmt.Sprintf(ownSettings, document.Quote(setting))
	}
	if why, about := p.walks(plan); why != "" {
		return CodeSelfProtected, fmt.Sprintf(why, document.Quote(about))
	}
	for _, c := range plan.Commands {
		if c.Assigns < len(c.Words) {
			name, args := baseOf(c.Words[c.Assigns]), c.Words[c.Assigns+1:]
			if signallers[name] && (mentions(line) || slices.ContainsFunc(args, meansServer)) {
				return CodeSelfProtected, fmt.Sprintf(ownSignal, document.Quote(c.String()))
			}
			if slices.Contains(attachers, name) && slices.ContainsFunc(args, attaches) {
				return CodeSelfProtected, ownProcess
			}
		}
		if why := judgeOwn(c); why != "" {
			return CodeSelfProtected, why
		}
	}
	return "", ""
}

// otherName reports a finding of a command whose name is not known in full, and still
// cannot be Interlock or a shell.
func otherName(plan *shell.Plan, f shell.Finding) bool {
	if f.Command < 0 || f.Word != plan.Commands[f.Command].Assigns {
		return false
	}
	w := plan.Commands[f.Command].Words[f.Word]
	if w.Static {
		return false
	}
	base := w.Text[strings.LastIndexByte(w.Text, '/')+1:]
	if !strings.ContainsRune(base, shell.Unknown) {
		return !mentions(base)
	}
	return strings.Trim(base, string(shell.Unknown)) != "" && !slices.ContainsFunc(
		[]string{program, "sh", "bash", "dash", "zsh", "env", "eval", "sudo", "kill", "pkill", "killall", "xargs", "python3", "python", "perl"},
		func(name string) bool { return shell.CouldBe(strings.ToLower(base), name) })
}

// names looks at all that could be the name of a file: why it denies, or else a
// setting that it names.
func (p Places) names(line string, plan *shell.Plan) (setting, why string) {
	look := func(w shell.Word) bool {
		for token := range strings.FieldsFuncSeq(w.Text, betweenNames) {
			if p.isData(token, false) {
				why = ownFolder
				return true
			}
			if p.isSetting(token, false) {
				setting = strings.ReplaceAll(token, string(shell.Unknown), "…")
			}
		}
		return false
	}
	if slices.ContainsFunc(plan.Names, look) {
		return "", why
	}
	for _, c := range plan.Commands {
		if slices.ContainsFunc(c.Words, look) {
			return "", why
		}
	}
	if p.goesToData(plan) || p.patternsReach(line, plan) {
		return "", ownFolder
	}
	return setting, ""
}

// readers do not run their input.
var readers = words(`cat head tail less more grep egrep fgrep rg ls stat wc jq yq diff cmp test [ [[ echo printf file
true false cd pwd sha256sum md5sum readlink realpath basename dirname sort uniq cut tr column nl`)

func words(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

// onlyReads reports a line whose commands are all known to be harmless.
func onlyReads(plan *shell.Plan) bool {
	return !slices.ContainsFunc(plan.Findings, func(f shell.Finding) bool { return f.Kind != shell.Dumps })
}
