package workflow

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/shell"
)

// Bounds of an entry of allowed_commands that is an object.
const (
	maxCommandWords   = 64
	maxCommandOptions = 64
	maxOptionValues   = 256
)

// commandEntries reads the entries of allowed_commands: texts, and objects that confine options
// (S21.18), which are kept as their canonical text.
func (r metaSection) commandEntries(f document.Fields) (entries []document.StringAt, ok bool) {
	list, ok := f.List("allowed_commands", maxItems)
	if !ok {
		return nil, false
	}
	base := f.At.Key("allowed_commands")
	for i, v := range list.Elements() {
		at := base.At(i)
		switch v.Kind() {
		case document.String:
			entries = append(entries, document.StringAt{Text: v.Str(), At: at})
			r.command(v.Str(), at)
		case document.Object:
			r.confinement(document.Fields{Report: f.Report, Value: v, At: at})
			entries = append(entries, document.StringAt{Text: string(document.Canonical(v)), At: at})
			r.sameOption(entries[len(entries)-1])
		default:
			r.report.Errorf(at, document.CodeType, "an item of \"allowed_commands\" must be a string, or an object such as {\"words\": [\"kubectl\", \"get\"], \"options\": {\"-n\": [\"staging\"]}}, not %s", v.Kind())
			continue
		}
		r.targetOpen(entries[len(entries)-1])
	}
	return entries, true
}

// confinement checks an entry that is an object.
func (r metaSection) confinement(f document.Fields) {
	f.Known("an entry of \"allowed_commands\"", "words", "options", "exact", "alone")
	f.Require("words")
	words, ok := f.Strings("words", maxCommandWords)
	exact := f.Bool("exact")
	f.Bool("alone")
	if list, _ := f.Value.Get("words"); ok && list.Len() == 0 {
		r.report.Errorf(f.At.Key("words"), document.CodeEmpty, "the list is empty; begin it with the name of a program")
	}
	for i, w := range words {
		r.commandWord(w, i == 0, f.Has("options"))
	}
	switch {
	case len(words) == 0:
	case !f.Has("options") && !exact && tooBroad(document.Texts(words)):
		r.command(strings.Join(document.Texts(words), " "), f.At)
	case f.Has("options") && slices.Contains(anyProgram, words[0].Text):
		r.report.Errorf(f.At.Key("options"), CodeCommand,
			"%s runs other programs, and which options are theirs is not known; list the commands that it runs as plain texts", document.Quote(words[0].Text))
	}
	if options, ok := f.Object("options"); ok {
		r.confinedOptions(options)
	}
}

// commandWord checks one word of an entry that is an object.
func (r metaSection) commandWord(w document.StringAt, program, options bool) {
	switch {
	case w.Text == "" || strings.ContainsFunc(w.Text, unseen):
		r.report.Errorf(w.At, CodeCommand, "%s is no word of a command; write one word with visible characters", document.Quote(w.Text))
	case strings.ContainsAny(w.Text, "*?["):
		r.report.Errorf(w.At, CodeCommand, "a word of an object stands for itself, and %s has a wildcard; write one entry for each, or the entry as a text", document.Quote(w.Text))
	case program && assigns(w.Text):
		r.report.Errorf(w.At, CodeCommand, "%s sets a variable; begin with the name of a program", document.Quote(w.Text))
	case strings.HasPrefix(w.Text, "-") && len(w.Text) > 1 && (program || options):
		r.report.Errorf(w.At, CodeCommand, "%s is an option; write it in \"options\", where it is found in any place", document.Quote(w.Text))
	}
}

func (r metaSection) confinedOptions(f document.Fields) {
	if n := f.Value.Len(); n > maxCommandOptions {
		r.report.Errorf(f.At, document.CodeTooMany, "there are %d options, the limit is %d", n, maxCommandOptions)
		return
	}
	var seen []string
	for name, rule := range f.Value.Members() {
		at := f.At.Key(name)
		for one := range strings.SplitSeq(name, "|") {
			switch {
			case len(one) < 2 || one[0] != '-' || strings.ContainsAny(one, "= \t*?[") || strings.ContainsFunc(one, unseen):
				r.report.Errorf(at, CodeCommand, "%s is no option; write it with its dashes, such as \"-n\" or \"--namespace\", and several names of one as \"-n|--namespace\"", document.Quote(one))
			case slices.Contains(seen, one):
				r.report.Errorf(at, CodeCommand, "%s is listed more than once; keep one, with the values of both", document.Quote(one))
			}
			seen = append(seen, one)
		}
		r.optionRule(rule, at)
	}
}

// sameOption reports two keys that are names of one option of a program.
func (r metaSection) sameOption(entry document.StringAt) {
	c := shell.ReadConfinement(entry.Text)
	if c == nil {
		return
	}
	for i := range c.Options {
		for j := range c.Options[:i] {
			k := slices.IndexFunc(c.Options[i].Names, func(name string) bool { return slices.Contains(c.Options[j].Names, name) })
			if k >= 0 {
				r.report.Errorf(entry.At.Key("options"), CodeCommand, "%s and %s are one option of %s; keep one, which stands for both",
					document.Quote(c.Options[j].Names[0]), document.Quote(c.Options[i].Names[0]), document.Quote(c.Words[0]))
			}
		}
	}
}

// optionRule checks what an option may be: true for a flag, or a list of values.
func (r metaSection) optionRule(v document.Value, at *document.Path) {
	switch {
	case v.Kind() == document.Bool && v.Bool():
	case v.Kind() != document.Array:
		r.report.Errorf(at, document.CodeType, "write true for an option without a value, or the list of its values, with null where it may be left out; leave out an option that is not allowed")
	case v.Len() > maxOptionValues:
		r.report.Errorf(at, document.CodeTooMany, "there are %d values, the limit is %d", v.Len(), maxOptionValues)
	default:
		values := 0
		for i, e := range v.Elements() {
			switch {
			case e.Kind() == document.String && !strings.ContainsFunc(e.Str(), unseen):
				values++
			case e.Kind() != document.Null:
				r.report.Errorf(at.At(i), document.CodeType, "a value of an option is a string with visible characters, or null where the option may be left out")
			}
		}
		if values == 0 {
			r.report.Errorf(at, document.CodeEmpty, "the option has no value; list at least one, or write true for an option without a value")
		}
	}
}

// targetOpen warns of an entry that names a target which further words can change.
func (r metaSection) targetOpen(entry document.StringAt) {
	named, open := shell.TargetOpen(entry.Text)
	if len(open) == 0 {
		return
	}
	r.report.Warnf(entry.At, CodeTargetOpen,
		"it names a target by %s, and further words can choose another one by %s; write {\"words\": [...], \"options\": {%s: [...]}}, which allows no other option",
		document.Quote(named), strings.Join(open, ", "), document.Quote(named))
}
