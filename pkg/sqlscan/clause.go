package sqlscan

// Words between one that brings a table, and the table.
var (
	beforeSource = wordSet(`only lateral table`)
	beforeTarget = wordSet(`only if not exists into from table tables concurrently`)
	// loosely are those of other dialects than postgres.
	loosely = wordSet(`low_priority delayed high_priority quick ignore or abort fail rollback replace overwrite top extended`)
)

// skips reports a word at a place that stands before the name of a table.
func (w *walker) skips(i int, as want) bool {
	t := w.tokens[i]
	switch {
	case as == nothing:
		return false
	case as == source:
		return t.in(beforeSource())
	case t.in(beforeTarget()):
		return true
	default:
		return w.dialect != Postgres && t.in(loosely()) && !w.wordAt(i+1, "set", "values", "where")
	}
}

// keyword judges a word that brings tables, or ends them, and reports whether the word is no name.
func (w *walker) keyword(i int) bool {
	f := w.top()
	switch {
	case w.skips(i, f.want):
		if w.wordAt(i, "from") {
			f.list = true
		}
		return true
	case w.symbolAt(i+1, ".") && f.want != nothing: // a name that is also a keyword
		return false
	}
	switch w.tokens[i].name {
	case "with":
		f.recursive, f.naming, f.after = w.wordAt(i+1, "recursive"), true, false
	case "recursive":
		f.naming = w.wordAt(i-1, "with")
	case "select":
		f.selects, f.list, f.want, f.after, f.joined, f.on = true, false, nothing, false, false, false
	case "values":
		if f.want != source || !w.symbolAt(i+1, "(") {
			return false
		}
		f.want, f.list = nothing, f.list && !w.symbolAt(i-1, "(")
	case "from":
		w.from(i)
	case "join", "straight_join":
		f.want, f.list, f.joined, f.on = source, true, true, false
	case "apply":
		if !w.wordAt(i-1, "cross", "outer") {
			return false
		}
		f.want, f.list, f.on = source, true, false
	case "using":
		w.using(i)
	default:
		return w.changes(i)
	}
	return true
}

// from judges FROM, which also stands in a few functions and in IS DISTINCT FROM.
func (w *walker) from(i int) {
	f := w.top()
	switch {
	case f.inside && !f.selects, w.wordAt(i-1, "distinct") && w.wordAt(i-2, "is", "not"):
	case !f.selects && (w.lead.isWord("copy") || w.lead.isWord("revoke") || w.lead.isWord("bulk")):
	default:
		f.want, f.list, f.after, f.joined, f.on = source, true, false, false, false
	}
}

// using judges USING of a join, of DELETE and MERGE, and of definitions.
func (w *walker) using(i int) {
	f := w.top()
	switch {
	case f.joined && w.symbolAt(i+1, "("), f.inside && !f.selects, w.lead.isWord("create"), w.lead.isWord("alter"):
		f.after = false
	default:
		f.want, f.list, f.after = source, true, false
	}
}

// changes judges words that bring a table which is changed, defined or locked.
func (w *walker) changes(i int) bool {
	f := w.top()
	switch name := w.tokens[i].name; name {
	case "into":
		f.after = false
		if !w.wordAt(i+1, "outfile", "dumpfile") && (w.dialect != MySQL || i+1 == len(w.tokens) || w.tokens[i+1].kind != param) {
			f.want = target
		}
	case "update":
		f.list = f.list && !w.wordAt(i-1, "for")
		if w.wordAt(i-1, "for", "do", "key", "then", "no", "after", "before", "or") || w.wordAt(i-1, "on") && w.wordAt(i+1, "cascade", "set", "restrict", "no", "current_timestamp") {
			return true
		}
		f.want, f.list, f.after = target, true, false
	case "insert", "delete", "merge", "replace", "truncate", "upsert":
		if w.symbolAt(i+1, "(") {
			return false
		}
		if w.wordAt(i-1, "then", "or", "after", "before") || w.wordAt(i-1, "on") && !w.open() || w.wordAt(i+1, "values", "set", "on") {
			return true
		}
		f.want, f.list, f.after = target, f.list || name == "delete" || name == "truncate", false
	case "table", "view":
		if w.symbolAt(i+1, "(") {
			return true
		}
		f.want, f.list, f.after = target, true, false
	case "references", "clone", "inherits":
		f.want = target
	default:
		return w.ends(i)
	}
	return true
}

// ends judges words that end a list of tables, and those that bring a table in some statements only.
func (w *walker) ends(i int) bool {
	f, t := w.top(), w.tokens[i]
	switch {
	case w.bringsTarget(i):
		f.want, f.list = target, true
	case (t.name == "like" || t.name == "of") && w.lead.isWord("create"), t.name == "to" && w.lead.nameIsAny("create", "alter"):
		f.want = target
	case w.endsList(i):
		f.list, f.want, f.after, f.on = false, nothing, false, false
	case t.name == "on":
		f.after, f.on = false, true
	case t.nameIsAny("natural", "cross", "inner", "left", "right", "outer", "full"):
		f.after = false
		return !w.symbolAt(i+1, "(")
	case t.nameIsAny("and", "or", "not"):
		f.after = false
	case t.name == "as":
	default:
		return false
	}
	return true
}

// bringsTarget reports a word behind which a table comes because of the statement's first word.
func (w *walker) bringsTarget(i int) bool {
	f, lead := w.top(), w.lead.name
	if w.lead.kind != word {
		return false
	}
	switch name := w.tokens[i].name; name {
	case "copy", "lock", "describe", "desc":
		return i == 0
	case "explain":
		return i == 0 && w.dialect != Postgres && w.dialect != SQLite && i+1 < len(w.tokens) && w.tokens[i+1].isName() &&
			leading()[w.nameAt(i+1)] == nil && !w.wordAt(i+1, "analyze", "format", "verbose", "extended", "partitions", "plan", "for")
	case "to":
		return lead == "rename"
	case "in":
		return lead == "show"
	case "on":
		return lead == "grant" || lead == "revoke" || lead == "deny" || lead == "create" && !f.list && len(w.frames) == 1
	}
	return false
}

// endsList reports a word behind the tables of a clause. Words that may also be an alias count where
// what follows shows that they are none.
func (w *walker) endsList(i int) bool {
	f := w.top()
	next := token{}
	if i+1 < len(w.tokens) {
		next = w.tokens[i+1]
	}
	switch w.tokens[i].name {
	case "where", "having", "when":
		return true
	case "group", "order":
		return next.isWord("by") && !w.wordAt(i-1, "for")
	case "limit", "offset":
		return next.kind == number || next.kind == param
	case "window":
		return w.wordAt(i+2, "as")
	case "output":
		return next.nameIsAny("inserted", "deleted")
	case "returning":
		return len(w.does) > 0 && !next.is(",") && !next.is("(") && !next.nameIsAny("use", "force", "ignore")
	case "set":
		if f.updates == 0 {
			return false
		}
		f.updates--
		return w.assigns(i + 1)
	}
	return false
}

// assigns reports that a place begins an assignment of UPDATE: a = 1, (a, b) = (1, 2), @x = 1.
func (w *walker) assigns(i int) bool {
	switch {
	case i >= len(w.tokens):
		return false
	case w.tokens[i].kind == param:
		return true
	case w.symbolAt(i, "("):
		return w.symbolAt(w.pairs[i]+1, "=")
	case !w.tokens[i].isName():
		return false
	}
	_, last := w.chain(i)
	return last+1 < len(w.tokens) && w.tokens[last+1].kind == symbol && !w.symbolAt(last+1, ",") && !w.symbolAt(last+1, "(") && !w.symbolAt(last+1, ")")
}
