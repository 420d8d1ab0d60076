package facet

import (
	"strconv"
	"strings"
	"sync"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/sqlscan"
)

var sqlFacets = []condition.Facet{condition.SQLKinds, condition.SQLTables, condition.SQLFunctions, condition.SQLStatements}

// sqlFacet returns a facet of SQL: what the clients of databases of the line are given.
func (f *Facts) sqlFacet(name condition.Facet) condition.Set {
	count := 0
	d, _ := f.described()
	all := f.overCommands(d.SQL != nil, sqlFacets, func(p parts, _ *shell.Plan, c shell.Command) { count += sqlCommand(p, c) })
	count += f.sqlDescribed(all)
	if name == condition.SQLStatements && count > 0 {
		all.add(name, condition.Element{Value: document.NumberValue(strconv.Itoa(count))})
	}
	return all.set(name)
}

// sqlClient says how a client of a database is given statements.
type sqlClient struct {
	dialect    sqlscan.Dialect
	options    commandOptions
	statements wordSet // options that have them
	operands   bool    // operands behind the first have them
}

var sqlClients = sync.OnceValue(func() map[string]sqlClient {
	return map[string]sqlClient{
		"psql": {dialect: sqlscan.Postgres, statements: wordSet("-c --command"), options: commandOptions{
			flags: wordSet(`-A -a -b -e -E -q -S -t -x -X -w -1 -n --no-align --echo-all --echo-errors --echo-queries --quiet --tuples-only --expanded --no-psqlrc
--no-password --single-transaction --csv --no-readline`),
			values: wordSet(`-c --command -d --dbname -h --host -p --port -U --username -v --set --variable -P --pset -F --field-separator -R --record-separator`),
		}},
		"mysql": {dialect: sqlscan.MySQL, statements: wordSet("-e --execute"), options: commandOptions{
			flags:  wordSet(`-B -N -s -t -v -C -A --batch --skip-column-names --silent --table --verbose --raw -r --no-defaults`),
			values: wordSet(`-e --execute -u --user -h --host -P --port -D --database -S --socket`),
		}},
		"sqlite3": {dialect: sqlscan.SQLite, operands: true, options: commandOptions{
			flags:  wordSet(`-header -noheader -csv -json -readonly -batch -column -line -list -box -table -markdown -html -bail -safe`),
			values: wordSet(`-separator -nullvalue -newline`),
		}},
		"sqlcmd": {dialect: sqlscan.MSSQL, statements: wordSet("-Q -q"), options: commandOptions{
			flags:  wordSet(`-E -b -W -C -I`),
			values: wordSet(`-Q -q -S -d -U -P -h -s -w -t`),
		}},
	}
})

// isSQLClient reports a command whose statements are judged.
func isSQLClient(c shell.Command) bool {
	_, judged := sqlClients()[c.Program()]
	return judged || c.Program() == "mariadb"
}

// otherClients are clients of databases whose statements are not judged.
var otherClients = wordSet(`pgcli mycli litecli usql duckdb mongosh mongo clickhouse-client clickhouse cqlsh sqlplus isql osql bcp snowsql bq pg_restore
pg_dump mysqldump mysqladmin mysqlimport createdb dropdb createuser dropuser vacuumdb reindexdb redis-cli`)

// sqlCommand judges one command of a line and returns how many statements it has.
func sqlCommand(p parts, c shell.Command) int {
	name := c.Program()
	if name == "mariadb" {
		name = "mysql"
	}
	client, judged := sqlClients()[name]
	switch {
	case otherClients.has(name):
		p.doubt("the statements of "+name+" are not judged", sqlFacets...)
		return 0
	case name == "" && !c.Words[c.Assigns].Static:
		p.doubt("a command is known only when the line runs", sqlFacets...)
		return 0
	case !judged:
		return 0
	}
	options, _ := client.options.read(c.Words[c.Assigns+1:], false)
	count, given, operands := 0, false, 0
	for _, o := range options {
		if o.name == "" {
			operands++
		}
		takes := client.statements.has(o.name) || o.name == "" && client.operands && operands > 1
		switch {
		case !o.known:
			p.doubt(name+" has an option that is not known", sqlFacets...)
		case !o.static:
			p.doubt(name+" has a word that is known only when the line runs", sqlFacets...)
		case takes:
			given = true
			count += p.sql(sqlscan.Script(o.value, client.dialect))
		}
	}
	if !given || c.Fed {
		p.doubt(name+" reads statements that the line does not show", sqlFacets...)
	}
	return count
}

// sql notes what a text does and returns how many statements it has.
func (p parts) sql(r sqlscan.Result) int {
	if r.Doubt != "" {
		p.doubt(r.Doubt, sqlFacets...)
		return 0
	}
	for _, kind := range r.Kinds {
		p.text(condition.SQLKinds, kind)
	}
	p.names(condition.SQLTables, r.Tables, r.TablesDoubt)
	p.names(condition.SQLFunctions, r.Functions, r.FunctionsDoubt)
	if r.StatementsDoubt != "" {
		p.doubt(r.StatementsDoubt, condition.SQLStatements)
	}
	return r.Statements
}

// names notes names of tables or functions. One in quotes is also read in lower case, and a name with
// a schema may be meant without.
func (p parts) names(facet condition.Facet, names []string, doubt string) {
	for _, name := range names {
		e := condition.Element{Value: stringValue(name)}
		if lower := strings.ToLower(name); lower != name {
			e.Also = []document.Value{stringValue(lower)}
		}
		p.add(facet, e)
		for _, rest, ok := strings.Cut(name, "."); ok; _, rest, ok = strings.Cut(rest, ".") {
			p.add(facet, condition.Element{Value: stringValue(strings.ToLower(rest)), Unsure: true})
		}
	}
	if doubt != "" {
		p.doubt(doubt, facet)
	}
}
