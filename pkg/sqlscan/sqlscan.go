// Package sqlscan reports what a text of SQL does: the kinds of its statements, and the tables and
// functions that it names (S21.5).
//
// It cuts a text into tokens as a dialect does, and judges every word outside of texts and comments.
// It has no grammar: a word that could change data counts wherever it stands. A text that can be cut
// in two ways is in doubt. The rights of the database's own role are the boundary, not this package.
package sqlscan

import (
	"fmt"
	"slices"
	"strings"
)

// Dialect is the language of a text. The zero Dialect is not known.
type Dialect uint8

// The dialects.
const (
	Undeclared Dialect = iota
	Postgres
	MySQL
	SQLite
	MSSQL
)

// dialectNames are those of descriptions of tools.
var dialectNames = [...]string{Undeclared: "", Postgres: "postgres", MySQL: "mysql", SQLite: "sqlite", MSSQL: "mssql"}

// String returns the name of the dialect; that of the zero Dialect is empty.
func (d Dialect) String() string { return dialectNames[d] }

// Dialects returns the names that a description may use.
func Dialects() []string { return slices.Clone(dialectNames[1:]) }

// Named returns the dialect of a name; ok is false when there is none.
func Named(name string) (d Dialect, ok bool) {
	at := slices.Index(dialectNames[:], name)
	return Dialect(max(at, 0)), at >= 0
}

// Kinds of statements. Select is that of a statement that has no other: it only reads.
const (
	Select      = "select"
	Insert      = "insert"
	Update      = "update"
	Delete      = "delete"
	Merge       = "merge"
	DDL         = "ddl"
	Grant       = "grant"
	Call        = "call"
	Copy        = "copy"
	Set         = "set"
	Transaction = "transaction"
	Explain     = "explain"
	Other       = "other"
)

// Result has what a text does. The doubts are reasons for people, without a full stop; empty where
// there is none.
type Result struct {
	// Doubt is set when the text can be cut in two ways. The other fields are then empty.
	Doubt string
	// Kinds are those of all statements, sorted, each once. A function that is not known to only
	// compute is a call.
	Kinds []string
	// Tables are the names as written, sorted: unquoted names in lower case, quoted ones as they
	// are. TablesDoubt is set when the text may use others.
	Tables      []string
	TablesDoubt string
	// Functions are the names of functions and procedures, as tables are. FunctionsDoubt is set
	// when the text may call others.
	Functions      []string
	FunctionsDoubt string
	// Statements is how many there are. StatementsDoubt is set when there may be more.
	Statements      int
	StatementsDoubt string
}

// MaxBytes is the longest text that is read. A longer one is in doubt.
const MaxBytes = 256 << 10

// Scan reads a text that a server gets.
func Scan(text string, d Dialect) Result { return scan(text, d, false) }

// Script reads a text that the dialect's command line client gets, which has commands and variables
// of its own.
func Script(text string, d Dialect) Result { return scan(text, d, true) }

func scan(text string, d Dialect, client bool) Result {
	if why := unreadable(text); why != "" {
		return Result{Doubt: why}
	}
	if client && (d == MSSQL || d == Undeclared) && strings.Contains(text, "$(") {
		return Result{Doubt: "a client puts the value of a variable in, which is not seen"}
	}
	if d == Undeclared {
		return scanUndeclared(text, client)
	}
	return scanDeclared(text, d, client)
}

// scanUndeclared reads a text that all dialects cut in the same way.
func scanUndeclared(text string, client bool) Result {
	all := allReadings()
	tokens, problem := lex(text, all[0], client)
	if problem != "" {
		return Result{Doubt: problem}
	}
	for _, other := range all[1:] {
		theirs, problem := lex(text, other, client)
		if problem != "" {
			return Result{Doubt: problem}
		}
		if at := differ(tokens, theirs); at >= 0 {
			return Result{Doubt: fmt.Sprintf("%q is read differently by %s and %s; declare the dialect of the tool", excerpt(text[at:]), all[0].name, other.name)}
		}
	}
	return walk(tokens, Undeclared)
}

// differ returns the place of the first token that two cuts do not share, or -1.
func differ(a, b []token) int {
	for i := range min(len(a), len(b)) {
		if a[i].kind != b[i].kind || a[i].from != b[i].from || a[i].to != b[i].to {
			return min(a[i].from, b[i].from)
		}
	}
	switch {
	case len(a) > len(b):
		return a[len(b)].from
	case len(b) > len(a):
		return b[len(a)].from
	}
	return -1
}

// scanDeclared reads a text as a server does by default. Other settings of the server may not make
// it do more.
func scanDeclared(text string, d Dialect, client bool) Result {
	modes := readingsOf(d)
	tokens, problem := lex(text, modes[0], client)
	if problem != "" {
		return Result{Doubt: problem}
	}
	result := walk(tokens, d)
	for _, mode := range modes[1:] {
		tokens, problem := lex(text, mode, client)
		if problem != "" { // the server refuses the statement that is not complete
			last := len(tokens) - 1
			for last >= 0 && !tokens[last].is(";") {
				last--
			}
			tokens = tokens[:last+1]
		}
		if other := walk(tokens, d); result.Doubt == "" && !other.within(result) {
			return Result{Doubt: fmt.Sprintf("the text does something else with the server's setting %q", mode.name)}
		}
	}
	return result
}

// within reports a result that has no more than another.
func (r Result) within(other Result) bool {
	return r.Doubt == "" && contains(other.Kinds, r.Kinds) && contains(other.Tables, r.Tables) && contains(other.Functions, r.Functions) &&
		r.Statements <= other.Statements && (r.TablesDoubt == "" || other.TablesDoubt != "") && (r.FunctionsDoubt == "" || other.FunctionsDoubt != "")
}

func contains(all, some []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { _, found := slices.BinarySearch(all, s); return !found })
}

// excerpt returns the beginning of a text for a message.
func excerpt(text string) string {
	const most = 16
	n := 0
	for i := range text {
		if n++; n > most {
			return text[:i]
		}
	}
	return text
}
