package sqlscan_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/sqlscan"
)

var declared = []sqlscan.Dialect{sqlscan.Postgres, sqlscan.MySQL, sqlscan.SQLite, sqlscan.MSSQL}

// pieces are tokens of which texts are made.
var pieces = strings.Fields(`select from where t hr.pay a b , ( ) ; * = 1 2.5 'x' "y" as with union join on using insert into values update set delete
drop table truncate call evil count merge grant copy begin commit explain in null and order by group limit :x ? @y -- /* */ 'it''s'`)

// TestCommentsChangeNothing: a comment or a blank between two tokens is none of the statement.
func TestCommentsChangeNothing(t *testing.T) {
	t.Parallel()
	words := slices.DeleteFunc(slices.Clone(pieces), func(p string) bool { return strings.ContainsAny(p, "-/") })
	randtest.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom(words), 1, 14).Draw(t, "parts")
		blank := rapid.SampledFrom([]string{"  ", "\n", "\t", " /* delete */ ", " -- drop table t\n", "/**/"}).Draw(t, "blank")
		for _, d := range append(declared, sqlscan.Undeclared) {
			plain, commented := sqlscan.Scan(strings.Join(parts, " "), d), sqlscan.Scan(strings.Join(parts, blank), d)
			if show(plain) != show(commented) {
				t.Fatalf("%q %v: %s, with %q between: %s", parts, d, show(plain), blank, show(commented))
			}
		}
	})
}

// TestVerbsAreSeen: a statement that changes data is seen behind any text that ends.
func TestVerbsAreSeen(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		before := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 10).Draw(t, "before"), " ")
		for _, d := range append(declared, sqlscan.Undeclared) {
			r := sqlscan.Scan(before+" \n*/ ; DELETE FROM secret", d)
			if strings.Contains(before, "--") && !strings.Contains(before, "/*") || !strings.ContainsAny(before, "-/") {
				if r.Doubt == "" && !slices.Contains(r.Kinds, sqlscan.Delete) {
					t.Fatalf("%q %v: %s", before, d, show(r))
				}
			}
		}
	})
}

// TestLongTexts: the longest text of each hostile unit is read.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"(", "with a(b) as (", "select * from a, ", "'a'", "E'a'\n", "$a$ ", "/*", "a.", "update t set ", "--\n", "E'a' --\n", "with a as (select 1), ", "[", "@", "$$ $a", "/*! ", "1.", ";"} {
		text := strings.Repeat(unit, 64<<10/len(unit))
		for _, d := range append(declared, sqlscan.Undeclared) {
			if r := sqlscan.Scan(text, d); r.Doubt == "" && slices.Equal(r.Kinds, []string{sqlscan.Delete}) {
				t.Errorf("%q deletes", unit)
			}
		}
	}
	if r := sqlscan.Scan(strings.Repeat(" ", sqlscan.MaxBytes+1), sqlscan.SQLite); r.Doubt == "" {
		t.Error("a text beyond the bound is read")
	}
}

// TestScript: variables of a client are not seen.
func TestScript(t *testing.T) {
	t.Parallel()
	for text, d := range map[string]sqlscan.Dialect{"select :x": sqlscan.Postgres, "select :'x'": sqlscan.Postgres, "select '$(x)'": sqlscan.MSSQL} {
		if sqlscan.Script(text, d).Doubt == "" {
			t.Errorf("%q is read", text)
		}
		if sqlscan.Scan(text, d).Doubt != "" && d == sqlscan.MSSQL {
			t.Errorf("%q is not read", text)
		}
	}
}

// FuzzScan: no text panics, and a result in doubt has nothing else.
func FuzzScan(f *testing.F) {
	for _, text := range []string{"select 1", "with a(b) as (select 1) delete from t", "select E'a'\n'b", "/*!50000 x */", "$a$ $a$", "a..b.", "u&'", "[a]]", "'''", "1.e", "@@", ":=", "(((", ")"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range append(declared, sqlscan.Undeclared) {
			for _, r := range []sqlscan.Result{sqlscan.Scan(text, d), sqlscan.Script(text, d)} {
				if r.Doubt != "" && (len(r.Kinds) > 0 || len(r.Tables) > 0 || r.Statements > 0) {
					t.Fatalf("%q: %+v", text, r)
				}
				if r.Doubt == "" && r.Statements > 0 && len(r.Kinds) == 0 {
					t.Fatalf("%q has no kind: %+v", text, r)
				}
			}
		}
	})
}
