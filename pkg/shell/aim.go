package shell

import (
	"slices"
	"strings"
)

// Aim is a command that gives a target by an option which may stand anywhere: `kubectl -n prod` is
// also `kubectl get pods -n prod` (S21.18).
type Aim struct {
	words   []string // the program and other words that are no targets, in order
	targets []aimed
	of      client
}

// aimed is one option of an Aim with its value, which may be a pattern.
type aimed struct {
	names []string
	value string
}

// AimOf reads a command as a property has it. ok is false of one without a target that may stand
// anywhere.
func AimOf(command string) (a Aim, ok bool) {
	words := strings.Fields(command)
	if len(words) < 2 || isGlob(words[0]) {
		return Aim{}, false
	}
	a.of = clientOf(words[0])
	if a.of.before {
		return Aim{}, false
	}
	a.words = words[:1:1]
	for i := 1; i < len(words); i++ {
		names, value, attached := a.target(words[i])
		switch {
		case names == nil:
			a.words = append(a.words, words[i])
			continue
		case attached:
		case i+1 < len(words):
			i++
			value = words[i]
		default:
			value = "*"
		}
		a.targets = append(a.targets, aimed{names, value})
	}
	if n := len(a.words) - 1; n > 0 && a.words[n] == "*" {
		a.words = a.words[:n]
	}
	return a, len(a.targets) > 0
}

// target returns the names of the option that a word gives, and the value in the word.
func (a *Aim) target(word string) (names []string, value string, attached bool) {
	name, value, attached := strings.Cut(word, "=")
	for _, group := range a.of.targets {
		for _, n := range group {
			switch {
			case n == name:
				return group, value, attached
			case strings.HasPrefix(n, "--") && len(name) > 3 && strings.HasPrefix(n, name):
				return group, value, attached // getopt completes beginnings
			case len(n) == 2 && len(word) > 2 && word[1] != '-' && strings.HasPrefix(word, n):
				return group, strings.TrimPrefix(word[2:], "="), true
			}
		}
	}
	return nil, "", false
}

// Matches reports a command of the program that begins with the words, options aside, and gives each
// target its value.
func (a *Aim) Matches(c Command) bool {
	words := c.Words[min(c.Assigns, len(c.Words)):]
	if len(words) == 0 || words[0].Text != a.words[0] && programName(words[0].Text[strings.LastIndexByte(words[0].Text, '/')+1:]) != a.words[0] {
		return false
	}
	next, option := 1, false
	for _, w := range words[1:] {
		switch {
		case next == len(a.words):
		case len(w.Text) > 1 && w.Text[0] == '-':
			option = !strings.Contains(w.Text, "=")
			continue
		case w.Static && wordMatches(a.words[next], w.Text):
			next++
		case !option: // else it may be the option's value
			return false
		}
		option = false
	}
	return next == len(a.words) && !slices.ContainsFunc(a.targets, func(t aimed) bool { return !a.gives(t, words[1:]) })
}

func wordMatches(pattern, word string) bool {
	return pattern == word || isGlob(pattern) && matchGlob(pattern, word)
}

// gives reports words that give a target its value.
func (a *Aim) gives(t aimed, words []Word) bool {
	for i, w := range words {
		names, value, attached := a.target(w.Text)
		if !w.Static || names == nil || names[0] != t.names[0] {
			continue
		}
		if !attached && i+1 < len(words) {
			value = words[i+1].Text
		}
		if wordMatches(t.value, value) {
			return true
		}
	}
	return false
}

// Lines returns lines of an entry that give the targets. sure is true when there are no others: the
// entry is of another program or other words, or refuses the options.
func (a *Aim) Lines(entry string) (lines []string, sure bool) {
	var options []string
	for _, t := range a.targets {
		options = append(options, t.names[0], filled(t.value))
	}
	if IsConfinement(entry) {
		c := ReadConfinement(entry)
		switch {
		case c == nil:
			return nil, true
		case !c.Confined && !c.Exact:
			return a.Lines(quoteWords(c.Words))
		case !c.Confined:
			plan, err := Parse(quoteWords(c.Words))
			if err != nil || len(plan.Commands) != 1 || !a.Matches(plan.Commands[0]) {
				return nil, err == nil
			}
			return c.Examples()[:1], true
		}
		line, ok := c.With(append(slices.Clone(a.words), options...))
		if !ok {
			return nil, true
		}
		return []string{line}, false
	}
	words, clean := a.plain(strings.Fields(entry))
	of, wanted := NewPattern(strings.Join(words, " ")), NewPattern(strings.Join(a.words, " "))
	if clean && !of.TooLong(wanted) && len(of.Meet(wanted)) == 0 {
		return nil, true
	}
	sure = true
	own := NewPattern(entry)
	all := append(own.Meet(wanted), own.Lines()...)
	slices.Sort(all)
	for _, line := range slices.Compact(all) {
		if n := len(words); n < len(a.words) && clean {
			line += " " + quoteWords(a.words[n:])
		}
		line += " " + quoteWords(options)
		plan, err := Parse(line)
		if err != nil || len(plan.Commands) != 1 || !retargets(plan.Commands[0].Words, own.named()) {
			lines, sure = append(lines, line), false
		}
	}
	return lines, sure
}

// plain returns the words of an entry without targets; clean is false when it has other options.
func (a *Aim) plain(entry []string) (words []string, clean bool) {
	clean = true
	for i := 0; i < len(entry); i++ {
		names, _, attached := a.target(entry[i])
		switch {
		case i == 0 || !strings.HasPrefix(entry[i], "-"):
			words = append(words, entry[i])
		case names == nil:
			clean = false
		case !attached:
			i++
		}
	}
	return words, clean
}
