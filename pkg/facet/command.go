package facet

import (
	"slices"
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
		if plain := plainName(named); plain != named {
			e.Also = append(e.Also, document.StringValue(plain))
		}
		if c.Assigns > 0 {
			e.Also = append(e.Also, document.StringValue(joined(c.Words)))
		}
		inContainer(&e, c)
		p.one(condition.Command, e)
	})
	return all.set(condition.Command)
}

// unknownPart stands for a part of a shown command that only the run of the line decides.
const unknownPart = '…'

// shownFacet returns the simple commands that the line shows, and its redirections as an operator and a name. Code in the line,
// and words that only the run decides, put it in no doubt: their unknown parts are …. A line that cannot be read does.
func (f *Facts) shownFacet() condition.Set {
	if why := f.silent(false, parent([]condition.Facet{condition.CommandShown})); why != "" {
		return condition.Unknown(why)
	}
	plan, err := f.plan()
	switch {
	case err != nil:
		return condition.Unknown(err.Error())
	case plan == nil:
		return condition.Set{Known: true}
	}
	all := parts{}
	add := func(e condition.Element) {
		shown := func(v document.Value) document.Value {
			return document.StringValue(strings.ReplaceAll(v.Str(), string(utf8.RuneError), string(unknownPart)))
		}
		e.Value = shown(e.Value)
		for i := range e.Also {
			e.Also[i] = shown(e.Also[i])
		}
		for i := range e.Full {
			e.Full[i] = shown(e.Full[i])
		}
		all.one(condition.CommandShown, e)
	}
	for _, c := range plan.Commands {
		named := joined(c.Words[c.Assigns:])
		e := condition.Element{Value: document.StringValue(named)}
		if plain := plainName(named); plain != named {
			e.Also = append(e.Also, document.StringValue(plain))
		}
		if c.Assigns > 0 {
			e.Also = append(e.Also, document.StringValue(joined(c.Words)))
		}
		if c.Assigns < len(c.Words) {
			inContainer(&e, c)
		}
		add(e)
	}
	for _, o := range plan.Opens {
		add(condition.Element{Value: document.StringValue("<> " + joined([]shell.Word{o.File}))})
	}
	return all.set(condition.CommandShown)
}

var (
	containers = wordSet(`docker podman nerdctl docker-compose`)
	shells     = wordSet(`sh bash dash ash zsh ksh busybox`)
)

// mostContained is the most words of a command in a container.
const mostContained = 100

// inContainer notes, for restrictions, what a command may run in a container: all that is behind each word of docker exec
// and docker run, and in the lines that a shell is given there.
func inContainer(e *condition.Element, c shell.Command) {
	if !containers.has(c.Program()) {
		return
	}
	arguments := c.Words[c.Assigns+1:]
	at := slices.IndexFunc(arguments, func(w shell.Word) bool { return w.Text == "exec" || w.Text == "run" })
	if at < 0 {
		return
	}
	arguments = arguments[at+1:]
	if len(arguments) > mostContained {
		e.Full = append(e.Full, unknownCommand())
		return
	}
	script := false
	for i, w := range arguments {
		if script && strings.ContainsFunc(w.Text, isSeparator) {
			lineInContainer(e, w.Text)
		}
		name := plainName(w.Text)
		if shells.has(name) {
			script = true
			if readsInput(arguments[i+1:]) {
				e.Full = append(e.Full, unknownCommand())
			}
		}
		e.Full = append(e.Full, document.StringValue(plainName(joined(arguments[i:]))))
	}
}

// readsInput reports words behind a shell that leave it to read commands from its input.
func readsInput(arguments []shell.Word) bool {
	if len(arguments) == 0 {
		return true
	}
	return strings.HasPrefix(arguments[0].Text, "-") && !slices.ContainsFunc(arguments, func(w shell.Word) bool {
		return strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") && strings.Contains(w.Text, "c")
	})
}

// lineInContainer notes the commands of a line.
func lineInContainer(e *condition.Element, line string) {
	plan, err := shell.Parse(line)
	if err != nil {
		e.Full = append(e.Full, unknownCommand())
		return
	}
	if slices.ContainsFunc(plan.Findings, func(f shell.Finding) bool { return f.Kind == shell.Hidden || f.Kind == shell.Code }) {
		e.Full = append(e.Full, unknownCommand())
	}
	for _, c := range plan.Commands {
		if c.Assigns < len(c.Words) {
			e.Full = append(e.Full, document.StringValue(plainName(joined(c.Words[c.Assigns:]))))
			inContainer(e, c)
		}
	}
}

// isSeparator reports a character that a single word of a line has not, unless it is written as one.
func isSeparator(r rune) bool {
	return unicode.IsSpace(r) || strings.ContainsRune(";&|(){}<>$`'\"\\*?[", r)
}

// unknownCommand is a command of which nothing is known.
func unknownCommand() document.Value { return document.StringValue(string(utf8.RuneError)) }

// plainName removes the folder of the program from a command.
func plainName(command string) string {
	program, arguments, more := strings.Cut(command, " ")
	program = program[strings.LastIndexByte(program, '/')+1:]
	if !more {
		return program
	}
	return program + " " + arguments
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
