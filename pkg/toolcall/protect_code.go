package toolcall

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/toolinput"
)

// Lines in other languages than that of POSIX shells, such as PowerShell and code (S13.3). Their
// effects are unknown, so each mention of a protected name denies.

// runnable are keys besides those of lines and code of which a value may be run, too.
var runnable = words(`line source expression args arguments`)

// codeCall judges the lines and the code in the input of a tool that no table knows as a shell.
func (p Places) codeCall(tool string, input document.Value) (Code, string) {
	var texts []string
	if toolinput.TakesCode(tool) {
		eachText(input, &texts)
	}
	if input.Kind() == document.Object {
		for key, v := range input.Members() {
			if key = toolWord(key); lineKeys[key] || codeKeys[key] || runnable[key] {
				eachText(v, &texts)
			}
		}
	}
	for _, text := range texts {
		if code, why := p.mentioned(text); code != "" {
			return code, why
		}
	}
	return "", ""
}

// quoting has the characters that shells and languages put in and between the parts of a
// word.
var quoting = strings.NewReplacer(`' + '`, "", `" + "`, "", `'+'`, "", `"+"`, "", `'`, "", `"`, "", "`", "", "^", "")

// mentioned judges a text of any language by the names in it.
func (p Places) mentioned(text string) (Code, string) {
	if isToken(squeezed(text)) {
		return CodeSelfProtected, holdsToken
	}
	plain := quoting.Replace(lower(text))
	words := strings.FieldsFunc(plain, func(c rune) bool { return strings.ContainsRune(" \t\r\n;|&<>=,()", c) })
	if mentions(plain) && slices.ContainsFunc(words, func(w string) bool {
		return humanVerbs[w] || stopping[w] || signallers[w] || managers[w] || w == "stop-process" || w == "spps" || w == "stop-service"
	}) {
		return CodeSelfProtected, fmt.Sprintf(ownCommand, document.Quote(text[:min(len(text), 80)]))
	}
	r := reach{roots: p.roots(), hidden: true}
	bases := []string{plainName(p.Folder)}
	for i, word := range words {
		for _, name := range spread(word) {
			name = plainName(name)
			if p.namesSetting(name, true) || hiddenPattern(name) && p.namesSetting(name, false) {
				return CodeSelfProtected, fmt.Sprintf(ownSettings, document.Quote(word))
			}
			for _, base := range slices.Clone(bases) {
				at := absolute(base, name)
				if p.namesData(name, false) || namesOwnFile(name) || couldBeDefault(at) || r.meets(at) {
					return CodeSelfProtected, ownFolder
				}
				if i > 0 && goers[words[i-1]] && len(bases) < mostBases {
					bases = append(bases, at)
				}
			}
		}
	}
	return "", ""
}

// goers are the commands of shells that go to a folder.
var goers = words(`cd chdir sl set-location pushd push-location`)

// hiddenPattern reports a plain name with a hidden part of which something is not known.
func hiddenPattern(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool {
		return strings.HasPrefix(part, ".") && strings.ContainsRune(part, shell.Unknown)
	})
}

// namesOwnFile reports a plain name that begins as a secret of the data folder, and could be it.
func namesOwnFile(name string) bool {
	last := name[strings.LastIndexByte(name, '/')+1:]
	return last != "" && !strings.HasPrefix(last, string(shell.Unknown)) &&
		slices.ContainsFunc(secrets, func(file string) bool { return shell.CouldBe(last, file) })
}

// secrets are files of a data folder that hardly anything else has.
var secrets = []string{"tokens.json", "token.key", "webhook.secret", "receipt.key", "interlock.db"}
