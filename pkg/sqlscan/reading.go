package sqlscan

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// reading says how a text is cut into tokens.
type reading struct {
	name       string
	backslash  bool // escapes in '...'
	inDouble   bool // escapes in "..."
	backtick   bool // `name`
	bracket    bool // [name]
	dollar     bool // $tag$...$tag$
	nested     bool // comments hold one another
	hash       bool // # begins a comment
	slashes    bool // // begins a comment
	dashBlank  bool // -- needs a blank behind it
	escapes    bool // E'...' and U&'...'
	executable executable
	numberSign bool // # and @ are of names
	noHash     bool // a client reads # in two ways
	strict     bool // no prefix of a text that any dialect has
}

// executable says what /*! ... */ is.
type executable uint8

const (
	isComment executable = iota
	isRun
	isSkipped
)

var (
	postgres = reading{name: "postgres", dollar: true, nested: true, escapes: true}
	mysql    = reading{name: "mysql", backslash: true, inDouble: true, backtick: true, hash: true, dashBlank: true, executable: isRun}
	sqlite   = reading{name: "sqlite", backtick: true, bracket: true, noHash: true}
	mssql    = reading{name: "mssql", bracket: true, nested: true, numberSign: true}
)

// readingsOf returns how a dialect cuts a text: first by default, then by settings of a server.
func readingsOf(d Dialect) []reading {
	switch d {
	case Postgres:
		off := postgres
		off.name, off.backslash = "standard_conforming_strings off", true
		return []reading{postgres, off}
	case MySQL:
		plain, old := mysql, mysql
		plain.name, plain.backslash, plain.inDouble = "NO_BACKSLASH_ESCAPES", false, false
		old.name, old.executable = "an older version", isSkipped
		both, quotes := old, mysql
		both.backslash, both.inDouble = false, false
		quotes.name, quotes.inDouble = "ANSI_QUOTES", false
		return []reading{mysql, plain, old, both, quotes}
	case SQLite:
		return []reading{sqlite}
	default:
		return []reading{mssql}
	}
}

// allReadings returns those of every dialect, also of those that cannot be declared.
func allReadings() []reading {
	all := []reading{{name: "the standard", strict: true}}
	for d := Postgres; d <= MSSQL; d++ {
		for _, r := range readingsOf(d) {
			if r.name != d.String() {
				r.name = d.String() + " (" + r.name + ")"
			}
			all = append(all, r)
		}
	}
	return append(all, reading{name: "snowflake", backslash: true, dollar: true, slashes: true},
		reading{name: "bigquery", backslash: true, inDouble: true, backtick: true, hash: true})
}

// unreadable returns why a text cannot be read in any dialect.
func unreadable(text string) string {
	switch {
	case len(text) > MaxBytes:
		return "the text is longer than 256 KiB"
	case strings.IndexByte(text, 0) >= 0:
		return "the text has a NUL, where some servers end it"
	case !utf8.ValidString(text):
		return "the text is not valid UTF-8"
	}
	return ""
}

// outside returns why a character may not stand outside of texts and comments.
func outside(c rune) string {
	switch {
	case c == '\\':
		return "a backslash outside of texts may be a command of a client"
	case c == '{' || c == '}':
		return "braces outside of texts may be filled in by a template"
	case c == '`':
		return "a backtick is no quote in this dialect"
	case c < ' ' || c == 0x7f:
		return "the text has a control character"
	case c == 'ſ' || c == '\u212a':
		return "the text has a letter that some servers read as another"
	case c >= utf8.RuneSelf && !unicode.IsLetter(c) && !unicode.IsDigit(c) && !unicode.IsMark(c):
		return "the text has the character " + strings.TrimSpace(string(c)) + " outside of texts, which some servers read as a blank or a quote"
	}
	return ""
}

func isBlank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// startsName reports the first byte of an unquoted name.
func startsName(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= utf8.RuneSelf
}

func (r reading) inName(c byte) bool {
	return startsName(c) || isDigit(c) || c == '$' || r.numberSign && (c == '#' || c == '@')
}
