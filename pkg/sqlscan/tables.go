package sqlscan

import (
	"slices"
	"strings"
)

// frame is what is known between two parentheses.
type frame struct {
	want      want // a table comes next
	list      bool // a comma brings another table
	after     bool // a table came just before: an alias may follow
	selects   bool
	joined    bool   // tables are joined: USING has columns
	on        bool   // the condition of a join
	inside    bool   // it is of a function that takes FROM or USING
	recursive bool   // its CTEs may name themselves
	naming    bool   // the name of a CTE comes next
	body      string // the name of the CTE that it is the body of
	updates   int    // UPDATEs without their SET
	ctes      []string
}

// want says what a name would be.
type want uint8

const (
	nothing want = iota
	source       // a table or a function that gives rows
	target       // a table that is changed or defined
)

func (w *walker) top() *frame { return &w.frames[len(w.frames)-1] }

// step judges the token at a place and returns the place of the last one that belongs to it.
func (w *walker) step(i int) int {
	t, f := w.tokens[i], w.top()
	switch {
	case t.is("("):
		w.push(i)
		return i
	case t.is(")"):
		w.pop(i)
		return i
	case t.is(","):
		f.after, f.on = false, false
		if f.list {
			f.want = source
		}
		return i
	case t.is(":=") && w.dialect != Postgres:
		w.does[Set] = true
	case t.isName() && !w.symbolAt(i-1, "."):
		return w.name(i)
	case t.isName() && w.symbolAt(i+1, "("): // of a value: @x.modify()
		w.call("." + t.name)
	case f.want == nothing || t.is(".") || t.is("*"):
	default: // a text, a number, a variable
		w.hideTables("a table is named by a text or a variable")
		f.want = nothing
	}
	if !t.is(".") {
		f.after = false
	}
	return i
}

// push opens a parenthesis.
func (w *walker) push(i int) {
	f := w.top()
	inner := frame{want: f.want, list: f.want == source, inside: i > 0 && w.tokens[i-1].in(fromInside())}
	if f.naming {
		inner.body = w.bodyOf(i)
	}
	f.want, f.after = nothing, false
	w.frames = append(w.frames, inner)
}

// pop closes a parenthesis.
func (w *walker) pop(i int) {
	if len(w.frames) == 1 {
		return
	}
	inner := *w.top()
	w.frames = w.frames[:len(w.frames)-1]
	for _, name := range inner.ctes {
		w.visible[name]--
	}
	f := w.top()
	f.after = f.list && !f.on
	if inner.body != "" {
		w.show(inner.body)
		f.naming = w.symbolAt(i+1, ",")
	}
}

// show makes the name of a CTE visible in the present parentheses.
func (w *walker) show(cte string) {
	w.top().ctes = append(w.top().ctes, cte)
	w.visible[cte]++
}

// bodyOf returns the name of the CTE whose body is opened at a place, empty where it is not one.
func (w *walker) bodyOf(open int) string {
	i := open - 1
	if w.wordAt(i, "materialized") {
		i--
	}
	if w.wordAt(i, "not") {
		i--
	}
	if !w.wordAt(i, "as") {
		return ""
	}
	i--
	if w.symbolAt(i, ")") && w.pairs[i] >= 0 {
		i = w.pairs[i] - 1
	}
	return w.nameAt(i)
}

// cte returns the place before the body of the CTE whose name is at i, or i when there is none.
func (w *walker) cte(i int) int {
	end := i
	if w.symbolAt(i+1, "(") {
		if end = w.pairs[i+1]; end < 0 {
			return i
		}
	}
	as := end + 1
	if !w.wordAt(as, "as") {
		return i
	}
	if w.wordAt(as+1, "not") {
		as++
	}
	if w.wordAt(as+1, "materialized") {
		as++
	}
	if !w.symbolAt(as+1, "(") {
		return i
	}
	return as
}

// name judges a name or keyword, with the names behind its dots.
func (w *walker) name(i int) int {
	t, f := w.tokens[i], w.top()
	if f.naming && !w.wordAt(i, "recursive") {
		if behind := w.cte(i); behind > i {
			if f.recursive || w.dialect == SQLite || w.dialect == MSSQL {
				w.show(t.name)
			}
			return behind
		}
		f.naming = false
	}
	if t.kind == word {
		w.verb(i)
		if w.keyword(i) {
			return i
		}
	}
	name, last := w.chain(i)
	calls := w.symbolAt(last+1, "(")
	switch {
	case f.want == source && calls:
		w.call(name)
		if !harmless()[unqualified(name)] {
			w.hideTables("a function gives rows, which may be of any table")
		}
		f.want, f.after = nothing, true
	case f.want != nothing:
		w.table(name, i, f.want)
		f.want, f.after = nothing, true
	case f.after: // an alias
		f.after = false
	case calls && w.isCall(i, name):
		w.call(name)
	}
	return last
}

// chain returns the name that begins at a place with its dots, and the place of its last token.
func (w *walker) chain(i int) (name string, last int) {
	if !w.symbolAt(i+1, ".") {
		return w.tokens[i].name, i
	}
	var b strings.Builder
	b.WriteString(w.tokens[i].name)
	last = i
	for w.symbolAt(last+1, ".") {
		dots := last + 1
		for w.symbolAt(dots+1, ".") {
			dots++
		}
		if dots+1 >= len(w.tokens) || !w.tokens[dots+1].isName() {
			break
		}
		b.WriteString(strings.Repeat(".", dots-last))
		last = dots + 1
		b.WriteString(w.tokens[last].name)
	}
	return b.String(), last
}

// table notes a table.
func (w *walker) table(name string, i int, as want) {
	if w.tokens[i].name == "" {
		w.hideTables("a table has no name")
		return
	}
	qualified := strings.Contains(name, ".")
	if as == source && !qualified && w.visible[name] > 0 {
		w.hid = true
		return
	}
	if !qualified && w.moved != "" {
		w.hideTables(w.moved)
	}
	w.tables[name] = true
}

// isCall reports that the name before a parenthesis is that of a function.
func (w *walker) isCall(i int, name string) bool {
	t := w.tokens[i]
	switch {
	case i == 0 && t.kind == word && leading()[t.name] != nil,
		t.kind == word && name == t.name && notFunctions()[name],
		w.wordAt(i-1, "as"),
		w.wordAt(i, "sets") && w.wordAt(i-1, "grouping"),
		w.symbolAt(i-1, "::") && w.dialect == Postgres:
		return false
	}
	if !w.lead.isWord("create") && !w.lead.isWord("alter") {
		return true
	}
	if t.in(notInDDL()) || i > 0 && w.tokens[i-1].isName() && !w.tokens[i-1].in(notFunctions()) {
		return false
	}
	return !w.wordAt(i-1, "key", "index", "references", "constraint", "exists", "function", "procedure", "aggregate", "column", "add")
}

// call notes a function.
func (w *walker) call(name string) {
	w.functions[name] = true
	if harmless()[unqualified(name)] {
		return
	}
	w.does[Call] = true
	w.hideTables("a function that is not known may use any table")
}

// unqualified returns the name of a function of the server without its schema; others keep theirs.
func unqualified(name string) string { return strings.TrimPrefix(name, "pg_catalog.") }

// nameIsAny reports a token with one of some names.
func (t token) nameIsAny(names ...string) bool { return slices.Contains(names, t.name) }
