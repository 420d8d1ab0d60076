package sqlscan_test

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/sqlscan"
)

var update = flag.Bool("update", false, "write the results into testdata/rows.txt")

// rowsFile has a row a line: the dialect or -, the text as in a Go string, and the result.
const rowsFile = "testdata/rows.txt"

// TestRows compares the result of every row of the table.
func TestRows(t *testing.T) {
	t.Parallel()
	rows := readRows(t)
	if len(rows) < 300 {
		t.Fatalf("only %d rows", len(rows))
	}
	var written strings.Builder
	for _, row := range rows {
		got := show(sqlscan.Scan(row.text, row.dialect))
		fmt.Fprintf(&written, "%s\t%s\t%s\n", row.name, row.source, got)
		if got != row.want && !*update {
			t.Errorf("%s %s:\n got %s\nwant %s", row.name, row.source, got, row.want)
		}
	}
	if *update {
		if err := os.WriteFile(rowsFile, []byte(written.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

type row struct {
	name, source, text, want string
	dialect                  sqlscan.Dialect
}

func readRows(t *testing.T) []row {
	t.Helper()
	file, err := os.Open(rowsFile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var rows []row
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.Split(lines.Text(), "\t")
		if len(fields) != 3 {
			t.Fatalf("not a row: %q", lines.Text())
		}
		text, err := strconv.Unquote(`"` + strings.ReplaceAll(fields[1], `"`, `\"`) + `"`)
		if err != nil {
			t.Fatalf("%s: %v", fields[1], err)
		}
		d, ok := sqlscan.Named(strings.TrimPrefix(fields[0], "-"))
		if !ok {
			t.Fatalf("no dialect %q", fields[0])
		}
		rows = append(rows, row{fields[0], fields[1], text, fields[2], d})
	}
	return rows
}

// show returns a result as rows have it: kinds, t=tables, f=functions, n=statements unless there is
// one, and ?t ?f ?n for doubts of them.
func show(r sqlscan.Result) string {
	if r.Doubt != "" {
		return "doubt"
	}
	parts := []string{strings.Join(r.Kinds, ",")}
	if len(r.Tables) > 0 {
		parts = append(parts, "t="+strings.Join(r.Tables, ","))
	}
	if len(r.Functions) > 0 {
		parts = append(parts, "f="+strings.Join(r.Functions, ","))
	}
	if r.Statements != 1 {
		parts = append(parts, fmt.Sprintf("n=%d", r.Statements))
	}
	for _, doubt := range []struct{ why, mark string }{{r.TablesDoubt, "?t"}, {r.FunctionsDoubt, "?f"}, {r.StatementsDoubt, "?n"}} {
		if doubt.why != "" {
			parts = append(parts, doubt.mark)
		}
	}
	return strings.Join(parts, " ")
}
