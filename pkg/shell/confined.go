package shell

import (
	"slices"
	"strings"

	doc "github.com/interlock-run/interlock/pkg/document"
)

// Confinement is an entry of allowed_commands that is an object (S21.18).
type Confinement struct {
	// Words are the program and the words behind it that are no options.
	Words []string
	// Options are all that a command may have, wherever they stand. Confined is false for an entry
	// that says nothing about options.
	Options  []ConfinedOption
	Confined bool
	// Exact refuses further words.
	Exact bool
	// Alone refuses the command next to another one, where it may run more than once, and in the background.
	Alone bool
	text  string
}

// ConfinedOption is an option that a command may have.
type ConfinedOption struct {
	// Names are those of the option, each with its dashes.
	Names []string
	// Flag is true for an option that takes no value. Others take one of Values, in which * ? and
	// classes stand for other text.
	Flag   bool
	Values []string
	// Optional is true for one that a command may leave out; it may leave out every flag.
	Optional bool
}

// IsConfinement reports an entry of a list that is the text of an object.
func IsConfinement(entry string) bool { return strings.HasPrefix(entry, `{"`) }

// ShowEntry returns an entry for a message: in quotes, or the text of an object.
func ShowEntry(entry string) string {
	if IsConfinement(entry) {
		return entry
	}
	return doc.Quote(entry)
}

// ReadConfinement reads the text of an object. An entry that is not well-formed, which validation
// rules out, is nil and matches nothing.
func ReadConfinement(entry string) *Confinement {
	v, problem := doc.Parse([]byte(entry), doc.Limits{})
	if problem != nil || v.Kind() != doc.Object {
		return nil
	}
	c := &Confinement{text: entry}
	words, _ := v.Get("words")
	for _, w := range words.Elements() {
		c.Words = append(c.Words, w.Str())
	}
	exact, _ := v.Get("exact")
	c.Exact = exact.Bool()
	alone, _ := v.Get("alone")
	c.Alone = alone.Bool()
	options, confined := v.Get("options")
	c.Confined = confined
	for name, rule := range options.Members() {
		c.Options = append(c.Options, confinedOption(name, rule, c.Words))
	}
	if len(c.Words) == 0 || c.Words[0] == "" {
		return nil
	}
	return c
}

func confinedOption(name string, rule doc.Value, words []string) ConfinedOption {
	o := ConfinedOption{Names: strings.Split(name, "|"), Flag: rule.Kind() == doc.Bool && rule.Bool()}
	o.Optional = o.Flag
	for _, v := range rule.Elements() {
		if v.Kind() == doc.Null {
			o.Optional = true
		} else {
			o.Values = append(o.Values, v.Str())
		}
	}
	if len(words) > 0 {
		for _, group := range clientOf(words[0]).targets {
			if slices.ContainsFunc(group, func(other string) bool { return slices.Contains(o.Names, other) }) {
				o.Names = append(o.Names, group...)
			}
		}
	}
	return o
}

// match reports that a command is one of the entry, and how many of its words the entry names.
func (c *Confinement) match(words []Word) (named int, ok bool) {
	if !c.Confined {
		n := len(c.Words)
		return n, covers(c.Words, words) && (!c.Exact || len(words) == n) && !exceeds(words, n)
	}
	if !allStatic(words) {
		return 0, false // it may be an option, or several words
	}
	r := confinedReading{of: c, given: make([]bool, len(c.Options))}
	for at := 0; at < len(words); {
		used := r.word(words, at)
		if used == 0 {
			return 0, false
		}
		at += used
		if r.literal {
			named = at
		}
	}
	for i := range c.Options {
		if !c.Options[i].Optional && !r.given[i] {
			return 0, false
		}
	}
	return named, r.operands >= len(c.Words) && !moreTargets(words, named) && !takesBack(words, named)
}

// confinedReading is how far a command was compared with an entry.
type confinedReading struct {
	of       *Confinement
	operands int
	given    []bool // of the entry's options
	// literal is true as long as the entry names every word.
	literal bool
}

// word compares the word at a place, with the value that belongs to it. It returns how many words
// these are; 0 for none that the entry allows.
func (r *confinedReading) word(words []Word, at int) int {
	text := words[at].Text
	if at > 0 && len(text) > 1 && text[0] == '-' {
		return r.option(text, words[at+1:])
	}
	named := r.operands < len(r.of.Words)
	switch {
	case named && text != r.of.Words[r.operands], !named && r.of.Exact:
		return 0
	case !named && text != "" && (text[0] == '@' || text[0] == '+'):
		return 0 // programs read options from a file so, or take it for one
	case !named && clientOf(r.of.Words[0]).also != "" && strings.ContainsAny(text, "=:/"):
		return 0 // a connection string, which names another target
	}
	r.literal = named && (at == 0 || r.literal)
	r.operands++
	return 1
}

// option compares a word that begins with a dash.
func (r *confinedReading) option(text string, next []Word) int {
	name, value, attached := strings.Cut(text, "=")
	switch i := r.find(name); {
	case i < 0 && strings.HasPrefix(text, "--"):
		return 0 // also the beginning of a name, which getopt completes
	case i < 0, attached && len(name) == 2:
		return r.letters(text, next)
	case attached:
		return r.takes(i, value, 1)
	default:
		return r.whole(i, next)
	}
}

// whole compares an option without a value in its word.
func (r *confinedReading) whole(i int, next []Word) int {
	switch {
	case r.of.Options[i].Flag:
		r.given[i] = true
		return 1
	case len(next) == 0 || strings.HasPrefix(next[0].Text, "-") && !slices.Contains(r.of.Options[i].Values, next[0].Text):
		return 0 // programs differ on whether that is its value
	default:
		return r.takes(i, next[0].Text, 2)
	}
}

// letters compares -abc: flags, of which the last one may take a value.
func (r *confinedReading) letters(text string, next []Word) int {
	for j := 1; j < len(text); j++ {
		i := r.find("-" + text[j:j+1])
		switch {
		case i < 0:
			return 0
		case r.of.Options[i].Flag:
			r.given[i] = true
		case j+1 == len(text):
			return r.whole(i, next)
		default:
			return r.attached(i, text[j+1:])
		}
	}
	return 1
}

// attached compares the value behind a letter. Programs differ on whether = belongs to it.
func (r *confinedReading) attached(i int, value string) int {
	rest, equals := strings.CutPrefix(value, "=")
	if equals && !clientOf(r.of.Words[0]).equals && !r.of.Options[i].admits(value) {
		return 0
	}
	return r.takes(i, rest, 1)
}

// takes compares a value.
func (r *confinedReading) takes(i int, value string, used int) int {
	o := &r.of.Options[i]
	if !o.admits(value) {
		return 0
	}
	r.given[i] = true
	r.literal = r.literal && slices.Contains(o.Values, value)
	return used
}

func (o *ConfinedOption) admits(value string) bool {
	return !o.Flag && slices.ContainsFunc(o.Values, func(v string) bool { return v == value || isGlob(v) && matchGlob(v, value) })
}

// find returns the place of an option in the entry; -1 for one that it does not have.
func (r *confinedReading) find(name string) int {
	return slices.IndexFunc(r.of.Options, func(o ConfinedOption) bool { return slices.Contains(o.Names, name) })
}

// Examples returns lines that the entry allows, one for each value of each option.
func (c *Confinement) Examples() []string {
	line := slices.Clone(c.Words)
	for i := range c.Options {
		if o := &c.Options[i]; !o.Optional && len(o.Values) > 0 {
			line = append(line, o.Names[0], filled(o.Values[0]))
		}
	}
	lines := []string{quoteWords(line)}
	for i := range c.Options {
		o := &c.Options[i]
		at := slices.Index(line, o.Names[0])
		if o.Flag {
			lines = append(lines, quoteWords(append(slices.Clone(line), o.Names[0])))
		}
		for _, value := range o.Values {
			other := slices.Clone(line)
			if at < 0 || o.Optional {
				other = append(other, o.Names[0], filled(value))
			} else {
				other[at+1] = filled(value)
			}
			lines = append(lines, quoteWords(other))
		}
	}
	slices.Sort(lines[1:])
	return slices.Compact(lines)
}

// filled returns a text that a pattern of a value matches, if it has no class.
func filled(pattern string) string { return strings.NewReplacer("*", "x", "?", "x").Replace(pattern) }

// quoteWords joins words to a line.
func quoteWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		if w != "" && !strings.ContainsFunc(w, func(c rune) bool { return !plainRune(c) }) {
			quoted[i] = w
		}
	}
	return strings.Join(quoted, " ")
}

// plainRune reports a character that means nothing to a shell.
func plainRune(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("-_./:=@+,", c)
}

// With returns a line of the entry that begins with some words, as far as it can; ok is false when
// no command of the entry has these words.
func (c *Confinement) With(words []string) (line string, ok bool) {
	r := confinedReading{of: c, given: make([]bool, len(c.Options))}
	all := make([]Word, len(words))
	for i, w := range words {
		all[i] = Word{Text: w, Static: true}
	}
	given := slices.Clone(words)
	if !c.Confined {
		n := min(len(words), len(c.Words))
		if !slices.Equal(words[:n], c.Words[:n]) || c.Exact && len(words) > n {
			return "", false
		}
		return quoteWords(append(given, c.Words[n:]...)), true
	}
	for at := 0; at < len(all); {
		if i := r.find(all[at].Text); i >= 0 && at+1 == len(all) && !c.Options[i].Flag && len(c.Options[i].Values) > 0 {
			given, r.given[i] = append(given, filled(c.Options[i].Values[0])), true
			break
		}
		used := r.word(all, at)
		if used == 0 {
			return "", false
		}
		at += used
	}
	if r.operands < len(c.Words) {
		given = append(given, c.Words[r.operands:]...)
	}
	for i := range c.Options {
		if o := &c.Options[i]; !o.Optional && !r.given[i] && len(o.Values) > 0 {
			given = append(given, o.Names[0], filled(o.Values[0]))
		}
	}
	return quoteWords(given), true
}
