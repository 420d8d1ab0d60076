package sqlscan

import (
	"maps"
	"slices"
)

// walker judges the tokens of a text, statement by statement.
type walker struct {
	dialect Dialect
	result  Result

	kinds, tables, functions map[string]bool

	// Of the present statement.
	tokens  []token
	pairs   []int           // the place of the other parenthesis of each, or -1
	lead    token           // its first word
	reads   bool            // it selects
	does    map[string]bool // its kinds but select
	sets    int             // UPDATEs without their SET
	starts  int             // verbs that may each begin a statement
	frames  []frame
	visible map[string]int // names of CTEs
	hid     bool           // a name was taken for that of a CTE
	moved   string         // why names without a schema are no longer known
}

// walk judges the tokens of a text.
func walk(tokens []token, d Dialect) Result {
	w := &walker{dialect: d, kinds: map[string]bool{}, tables: map[string]bool{}, functions: map[string]bool{}}
	for len(tokens) > 0 && w.result.Doubt == "" {
		end := slices.IndexFunc(tokens, w.separates)
		if end < 0 {
			end = len(tokens)
		}
		if end > 0 {
			w.statement(tokens[:end])
		}
		tokens = tokens[min(end+1, len(tokens)):]
	}
	if w.result.Doubt != "" {
		return Result{Doubt: w.result.Doubt}
	}
	w.result.Kinds, w.result.Tables, w.result.Functions = sorted(w.kinds), sorted(w.tables), sorted(w.functions)
	return w.result
}

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

// open reports a dialect whose statements need no ; between them.
func (w *walker) open() bool { return w.dialect == MSSQL || w.dialect == Undeclared }

func (w *walker) separates(t token) bool { return t.is(";") || w.open() && t.isWord("go") }

// statement judges one statement, and those that no ; separates from it.
func (w *walker) statement(tokens []token) {
	w.tokens, w.pairs = tokens, pair(tokens)
	w.does, w.reads, w.sets, w.starts = map[string]bool{}, false, 0, 0
	w.frames, w.visible, w.hid = []frame{{}}, map[string]int{}, false
	w.result.Statements++
	w.begin()
	for i := 0; i < len(tokens); i++ {
		i = w.step(i)
	}
	if w.open() && w.starts > 1 {
		w.result.Statements += w.starts - 1
		w.result.StatementsDoubt = "a statement may begin without a ; before it"
		if w.hid {
			w.hideTables("a name may be of a table in one statement and of a CTE in another")
		}
	}
	if len(w.does) == 0 && w.reads {
		w.does[Select] = true
	}
	maps.Copy(w.kinds, w.does)
}

// pair returns the place of the other parenthesis of each, or -1.
func pair(tokens []token) []int {
	pairs := make([]int, len(tokens))
	var open []int
	for i, t := range tokens {
		pairs[i] = -1
		switch {
		case t.is("("):
			open = append(open, i)
		case t.is(")") && len(open) > 0:
			pairs[i] = open[len(open)-1]
			pairs[pairs[i]] = i
			open = open[:len(open)-1]
		}
	}
	return pairs
}

// begin judges the first word.
func (w *walker) begin() {
	first := 0
	for first < len(w.tokens) && w.tokens[first].is("(") {
		first++
	}
	if first == len(w.tokens) {
		w.lead = token{}
		w.other()
		return
	}
	w.lead = w.tokens[first]
	switch {
	case w.lead.kind == symbol || w.lead.kind == param, w.lead.in(needsMore()):
		w.result.Doubt = "a statement begins with " + w.lead.name + ", which may be a command of a client"
		return
	case w.lead.isWord("start") && !w.wordAt(first+1, "transaction"):
		w.other()
		return
	}
	kinds, known := leading()[w.lead.name]
	if w.lead.kind != word || !known {
		w.other()
		return
	}
	w.count(kinds)
	w.special(first)
}

// other notes a statement that is not known.
func (w *walker) other() {
	w.does[Other] = true
	w.hideTables("a statement is not known")
	w.hideFunctions("a statement is not known")
}

// special judges statements whose effects the first word does not show.
func (w *walker) special(first int) {
	object := w.nameAt(first + 1)
	switch w.lead.name {
	case "call", "exec", "execute", "do", "prepare", "deallocate", "perform":
		w.hideTables("a procedure may use any table")
		w.called(first)
	case "create", "alter", "drop":
		w.defines(first)
	case "load":
		if object != "data" && object != "xml" {
			w.other()
		}
	case "import", "export", "unload", "backup", "restore", "put", "get", "discard", "xa":
		w.hideTables("the statement does not name the tables that it uses")
	case "comment":
		if !w.wordAt(first+2, "table", "view") {
			w.hideTables("the statement does not name the tables that it uses")
		}
	case "use":
		w.moved = "the text changes the database that names are looked up in"
	case "set", "reset":
		for _, t := range w.tokens {
			switch t.name {
			case "search_path", "schema", "catalog", "database", "current_schema", "role", "authorization", "session_authorization", "all":
				w.moved = "the text changes where names are looked up, or by whom"
			case "password":
				w.does[Grant] = true
			case "standard_conforming_strings", "backslash_quote", "sql_mode", "quoted_identifier", "client_encoding", "names":
				w.result.Doubt = "the text changes how the server reads texts"
			}
		}
	}
}

// called notes the procedure that a statement calls.
func (w *walker) called(first int) {
	at := first + 1
	if w.nameAt(at) == "immediate" || at >= len(w.tokens) || !w.tokens[at].isName() || w.lead.isWord("do") {
		w.hideFunctions("a statement is made when it runs")
		return
	}
	if w.lead.isWord("execute") || w.lead.isWord("prepare") {
		w.hideFunctions("a prepared statement is not seen")
	}
	if name, _ := w.chain(at); !w.lead.isWord("prepare") {
		w.functions[name] = true
	}
}

// defines judges CREATE, ALTER and DROP.
func (w *walker) defines(first int) {
	for i := first + 1; i < min(first+8, len(w.tokens)); i++ {
		switch w.tokens[i].name {
		case "table", "view":
			return
		case "index", "trigger":
			if w.lead.isWord("create") {
				return
			}
		case "user", "role", "login", "group", "policy", "privileges":
			w.does[Grant] = true
		case "system", "session":
			w.does[Set] = true
		}
	}
	w.hideTables("the statement may change tables that it does not name")
}

// count adds kinds to the statement.
func (w *walker) count(kinds []string) {
	for _, k := range kinds {
		if k == Select {
			w.reads = true
		} else {
			w.does[k] = true
		}
	}
}

func (w *walker) hideTables(why string) {
	if w.result.TablesDoubt == "" {
		w.result.TablesDoubt = why
	}
}

func (w *walker) hideFunctions(why string) {
	if w.result.FunctionsDoubt == "" {
		w.result.FunctionsDoubt = why
	}
}

// nameAt returns the name of the token at a place, empty outside.
func (w *walker) nameAt(i int) string {
	if i < 0 || i >= len(w.tokens) {
		return ""
	}
	return w.tokens[i].name
}

// wordAt reports that one of some words is at a place.
func (w *walker) wordAt(i int, words ...string) bool {
	return i >= 0 && i < len(w.tokens) && w.tokens[i].kind == word && slices.Contains(words, w.tokens[i].name)
}

// symbolAt reports that a symbol is at a place.
func (w *walker) symbolAt(i int, name string) bool {
	return i >= 0 && i < len(w.tokens) && w.tokens[i].is(name)
}

// verb judges a word that may begin a statement, or change data, wherever it stands.
func (w *walker) verb(i int) {
	name := w.tokens[i].name
	w.starting(i)
	switch kinds, known := anywhere()[name]; {
	case name == "select":
		w.reads = true
	case name == "into":
		w.into(i)
	case name == "delimiter" && w.dialect != Postgres && w.dialect != MSSQL:
		w.result.Doubt = "DELIMITER changes where a client ends statements"
	case name == "create" && w.wordAt(i-1, "show"):
	case name == "replace" && !w.symbolAt(i+1, "("):
		if w.wordAt(i+1, "into") || w.wordAt(i-1, "or") && (w.lead.isWord("insert") || w.lead.isWord("update") || w.lead.isWord("with")) {
			w.count([]string{Insert, Delete})
		}
	case name == "truncate" && !w.symbolAt(i+1, "("):
		w.count([]string{DDL, Delete})
	case name == "share" && w.wordAt(i-1, "for", "in", "key"):
		w.does[Transaction] = true
	case name == "value" && w.wordAt(i-1, "next") && w.wordAt(i+1, "for"):
		w.does[Call] = true
	case name == "program" && w.lead.isWord("copy"):
		w.does[Call] = true
	case name == "set":
		w.set(i)
	case known:
		w.count(kinds)
		if name == "update" && !w.wordAt(i-1, "for") {
			w.sets++
			w.top().updates++
		}
		if name == "call" || name == "exec" || name == "execute" {
			w.hideTables("a procedure may use any table")
			w.hideFunctions("a statement is called that is not seen")
		}
	case w.open() && withoutEnd()[name] != nil:
		if !w.wordAt(i+1, "index", "key") {
			w.count(withoutEnd()[name])
		}
		if name == "use" || name == "setuser" || name == "revert" {
			w.moved = "the text changes the database that names are looked up in"
		}
	case w.lead.in(blocks()) && !w.wordAt(i, "analyze", "verbose", "desc", "end", "comment", "set"):
		if kinds, begins := leading()[name]; begins && i > 0 {
			w.count(kinds)
		} else if unnamed()[name] && i > 0 {
			w.other()
		}
	}
}

// starting counts the verbs that may begin a statement of their own.
func (w *walker) starting(i int) {
	t := w.tokens[i]
	_, first := leading()[t.name]
	if !first || len(w.frames) > 1 && i > 0 || w.lead.in(blocks()) && i == 0 {
		return
	}
	switch t.name {
	case "end", "desc", "comment", "show", "get", "put", "replace", "values", "table", "rename", "start", "release", "copy", "do", "import", "reset", "load", "lock", "abort":
		if i > 0 {
			return
		}
	case "with":
		return
	case "select":
		if w.wordAt(i-1, "union", "all", "except", "intersect", "distinct", "as") || w.lead.isWord("insert") && w.starts == 1 {
			return
		}
	case "exec", "execute":
		if w.lead.isWord("insert") && w.starts == 1 {
			return
		}
	case "set":
		if w.sets > 0 {
			return
		}
	case "update", "insert", "delete":
		if w.wordAt(i-1, "for", "key", "do", "then", "bulk", "as") {
			return
		}
	}
	if w.starts == 1 && w.lead.nameIsAny("grant", "revoke", "deny") && (i == 1 || w.symbolAt(i-1, ",")) { // a right
		return
	}
	w.starts++
}

// set judges SET, which an UPDATE has, too.
func (w *walker) set(i int) {
	switch {
	case w.sets > 0 && i > 0:
		w.sets--
	case i == 0, w.open() && !w.wordAt(i-1, "character", "char"), w.lead.in(blocks()):
		w.does[Set] = true
	}
}

// into judges INTO outside of INSERT, MERGE and REPLACE.
func (w *walker) into(i int) {
	switch {
	case w.wordAt(i-1, "insert", "merge", "replace", "ignore", "low_priority", "delayed", "high_priority", "copy", "overwrite", "abort", "fail", "rollback", "upsert"):
	case w.lead.isWord("load"):
	case w.wordAt(i+1, "outfile", "dumpfile"):
		w.does[Copy] = true
	case i+1 < len(w.tokens) && w.tokens[i+1].kind == param:
		w.does[Set] = true
	default:
		w.count([]string{DDL, Insert})
	}
}
