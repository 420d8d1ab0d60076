package shell

import (
	"slices"
	"strings"
)

// database says how a client of a database is given statements.
type database struct {
	letters string   // of options
	long    []string // options without their dashes
	operand bool     // by an operand
}

// databaseShells are clients of databases that have commands of their own which run programs.
var databaseShells = map[string]database{
	"psql": {letters: "cf", long: []string{"command", "file"}}, "pgcli": {letters: "cf", long: []string{"command", "file", "init-command"}},
	"mysql": {letters: "e", long: []string{"execute", "init-command"}}, "mariadb": {letters: "e", long: []string{"execute", "init-command"}},
	"mycli": {letters: "e", long: []string{"execute", "init-command"}}, "sqlcmd": {letters: "Qqi", long: []string{"query", "initial-query", "input-file"}},
	"sqlite3": {long: []string{"cmd", "init"}, operand: true}, "duckdb": {letters: "csf", long: []string{"cmd", "init"}, operand: true},
	"mongosh": {letters: "f", long: []string{"eval", "file"}, operand: true}, "mongo": {letters: "f", long: []string{"eval", "file"}, operand: true},
	"clickhouse-client": {letters: "q", long: []string{"query", "queries-file"}},
	"cqlsh":             {letters: "ef", long: []string{"execute", "file"}}, "sqlplus": {operand: true},
}

func isDatabaseShell(name string) bool {
	_, is := databaseShells[name]
	return is
}

// TakesStatement reports a client of a database that the line gives statements which the entry of a
// list, of that many words, does not speak of: it names no option for statements. The line gives them
// by such an option, by an operand, or on standard input.
func (c Command) TakesStatement(named int) bool {
	db, is := databaseShells[programName(c.Program())]
	if !is || named > len(c.Words) || named <= c.Assigns {
		return false
	}
	if slices.ContainsFunc(c.Words[c.Assigns+1:max(named, c.Assigns+1)], db.named) {
		return false
	}
	return c.Fed || slices.ContainsFunc(c.Words[named:], db.given)
}

// named reports the word of an entry that is an option for statements, alone or behind letters that
// take no argument: -c, -tc, --command.
func (d database) named(w Word) bool {
	switch text := w.Text; {
	case len(text) < 2 || text[0] != '-':
		return false
	case d.isLong(text):
		return true
	case strings.HasPrefix(text, "--"):
		return false
	default:
		return len(text) <= 5 && strings.ContainsAny(text[len(text)-1:], d.letters) || strings.ContainsAny(text[1:2], d.letters)
	}
}

// given reports a further word that gives statements, or may do so.
func (d database) given(w Word) bool {
	switch text := w.Text; {
	case !w.Static:
		return true
	case !strings.HasPrefix(text, "-"):
		return d.operand
	default:
		return d.isLong(text) || !strings.HasPrefix(text, "--") && strings.ContainsAny(text, d.letters)
	}
}

// isLong reports a long option for statements, or a beginning of one.
func (d database) isLong(text string) bool {
	name, _, _ := strings.Cut(strings.TrimLeft(text, "-"), "=")
	return len(name) > 1 && slices.ContainsFunc(d.long, func(long string) bool { return strings.HasPrefix(long, name) })
}

// databaseShell finds words by which a client of a database runs a program: an entry of a list that
// lets it take statements does not mean those.
func (s *scan) databaseShell() {
	if !isDatabaseShell(programName(s.name)) && !isDatabaseShell(s.spec.name) && !isDatabaseShell(s.name) {
		return
	}
	for i, w := range s.words {
		text := strings.ToLower(w.Text)
		first := strings.TrimLeft(text, " \t\n")
		switch {
		case strings.Contains(text, "\\") && !describes(first), strings.Contains(text, "program"), strings.Contains(text, "xp_cmdshell"),
			strings.HasPrefix(first, "."), strings.HasPrefix(first, "system "), strings.HasPrefix(first, "!!"), strings.HasPrefix(first, "host "):
			s.builtinPart().note(Hidden, s.c, i, "gives a client of a database a command that may run a program")
		}
	}
}

// describes reports a command of psql that shows tables and the like.
func describes(text string) bool {
	command, ok := strings.CutPrefix(text, "\\")
	if !ok {
		return false
	}
	letters, pattern, _ := strings.Cut(command, " ")
	return letters != "" && (letters[0] == 'd' || letters[0] == 'l' || letters == "x" || letters == "timing" || letters == "conninfo") &&
		strings.Trim(letters, "abcdefghijklmnopqrstuvwxyz+") == "" && strings.Trim(pattern, "abcdefghijklmnopqrstuvwxyz0123456789_.* \"") == "" && !strings.HasPrefix(letters, "lo")
}
