package facet

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/shell"
)

// innerBlank stands for a blank within a word, so that it does not pass for two words.
const innerBlank = '␣'

// commandFacet returns the simple commands of the call's line, each as its words with one blank
// between them. Other readings have the program without its folder, and the assignments before it.
func (f *Facts) commandFacet() condition.Set {
	all := f.overCommands(false, []condition.Facet{condition.Command}, func(p parts, _ *shell.Plan, c shell.Command) {
		named := joined(c.Words[c.Assigns:])
		e := condition.Element{Value: document.StringValue(named)}
		program, arguments, _ := strings.Cut(named, " ")
		if i := strings.LastIndexByte(program, '/'); i >= 0 {
			plain := strings.TrimSuffix(program[i+1:]+" "+arguments, " ")
			e.Also = append(e.Also, document.StringValue(plain))
		}
		if c.Assigns > 0 {
			e.Also = append(e.Also, document.StringValue(joined(c.Words)))
		}
		p.one(condition.Command, e)
	})
	return all.set(condition.Command)
}

// joined writes words with one blank between them. A part that only the run of the line decides is
// U+FFFD, which puts comparisons in doubt.
func joined(words []shell.Word) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = strings.Map(func(r rune) rune {
			switch {
			case r == shell.Unknown:
				return utf8.RuneError
			case unicode.IsSpace(r):
				return innerBlank
			default:
				return r
			}
		}, w.Text)
	}
	return strings.Join(texts, " ")
}
