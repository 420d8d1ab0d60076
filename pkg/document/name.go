package document

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// longestName is the longest name, in characters (S1.4).
const longestName = 128

// NameRule is the rule for the characters of a name (S1.4). Every rule refuses empty
// names, control and invisible characters, and `__proto__` and names that begin with $ as
// reserved.
type NameRule struct {
	What string // "state", for messages
	// Spaces admits single spaces inside.
	Spaces bool
	// Printable admits any printable character, as ids and answers may hold,
	// except those in Refuse.
	Printable bool
	Refuse    string
	// Prefix is reserved too when not empty.
	Prefix string
}

// CheckName reports the problems of a name at its path. A name that cannot be shown is
// reported at its parent too, because its pointer is not readable.
func (r *Report) CheckName(name string, at *Path, rule NameRule) bool {
	switch {
	case name == "":
		r.Errorf(at, CodeEmpty, "the %s name is empty; a name has 1 to %d characters", rule.What, longestName)
		return false
	case name == "__proto__" || name[0] == '$' || rule.Prefix != "" && strings.HasPrefix(name, rule.Prefix):
		r.Errorf(at, CodeReserved, "the %s name %s is reserved; choose another", rule.What, Quote(name))
		return false
	case !shown(name):
		if up := at.Up(); up != nil && at.index < 0 && at.name == name {
			r.Errorf(up, CodeName, "a %s name here, %s, has control or invisible characters; remove them", rule.What, Quote(name))
		}
		r.Errorf(at, CodeName, "the %s name %s has control or invisible characters; remove them", rule.What, Quote(name))
		return false
	case utf8.RuneCountInString(name) > longestName:
		r.Errorf(at, CodeName, "the %s name has more than %d characters; shorten it", rule.What, longestName)
		return false
	case !rule.admits(name):
		r.Errorf(at, CodeName, "the %s name %s is not allowed; %s", rule.What, Quote(name), rule.fix())
		return false
	}
	return true
}

func (rule NameRule) fix() string {
	switch {
	case rule.Refuse != "":
		return "use printable characters without " + strings.Join(strings.Split(rule.Refuse, ""), " ") + " and no space at either end"
	case rule.Printable:
		return "use printable characters and no space at either end"
	case rule.Spaces:
		return "begin with a letter, digit or _, then use letters, digits, _ . : - or spaces"
	default:
		return "begin with a letter, digit or _, then use letters, digits or _ . : -"
	}
}

func (rule NameRule) admits(name string) bool {
	if name != strings.TrimSpace(name) {
		return false
	}
	if rule.Printable {
		return !strings.ContainsAny(name, rule.Refuse) && name != "." && name != ".."
	}
	for i, c := range name {
		switch {
		case c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c):
		case i > 0 && (strings.ContainsRune(".:-", c) || unicode.IsMark(c) || c == ' ' && rule.Spaces):
		default:
			return false
		}
	}
	return true
}

// shown reports that every character of s is valid and visible: no control,
// format (bidi, zero width) or unassigned characters, no blanks but the space.
func shown(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(c rune) bool { return !unicode.IsPrint(c) })
}

// SameNames reports names of one object that only a normalisation distinguishes (NFC):
// they look the same, so they are duplicates (DUPLICATE_KEY at the object).
func (f Fields) SameNames(what string) {
	seen := make(map[string]string)
	for name := range f.Value.Members() {
		if isASCII(name) {
			continue
		}
		normal := norm.NFC.String(name)
		if other, ok := seen[normal]; ok {
			f.Report.Errorf(f.At, CodeDuplicateKey, "the %s names %+q and %+q are the same characters; keep one", what, other, name)
		}
		seen[normal] = name
	}
}

// Places checks the members of an object that are named freely, and numbers them by
// their order. There must be one at least: none says how to continue then; and most of
// them at most, else there are no places and many says how to continue.
func (f Fields) Places(rule NameRule, none string, most int, many string) (names []string, places map[string]int) {
	switch n := f.Value.Len(); {
	case n == 0:
		f.Report.Errorf(f.At, CodeEmpty, "there is no %s; %s", rule.What, none)
	case n > most:
		f.Report.Errorf(f.At, CodeTooMany, "there are %d %ss, the limit is %d; %s", n, rule.What, most, many)
		return nil, nil
	}
	places = make(map[string]int, f.Value.Len())
	for name := range f.Value.Members() {
		f.Report.CheckName(name, f.At.Key(name), rule)
		places[name] = len(names)
		names = append(names, name)
	}
	f.SameNames(rule.What)
	return names, places
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// LongestSlug is the longest slug, in characters.
const LongestSlug = 128

// IsSlug reports whether s is a slug: one to LongestSlug of a-z, 0-9 and -
// (S8.4, S12.1).
func IsSlug(s string) bool {
	if s == "" || len(s) > LongestSlug {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c != '-' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}
