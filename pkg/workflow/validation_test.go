package workflow_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// validationRow is one row of testdata/validation.txt: a changed workflow and
// what is said of it.
type validationRow struct {
	name, line string
	changed    document.Value
	want       []string
}

// TestValidation runs testdata/validation.txt, whose head says how to read it.
func TestValidation(t *testing.T) {
	t.Parallel()
	rows := validationRows(t)
	if len(rows) < 300 {
		t.Errorf("only %d rows were read", len(rows))
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			checkRow(t, row)
		})
	}
}

func validationRows(t *testing.T) []validationRow {
	t.Helper()
	src, err := os.ReadFile(filepath.Join("testdata", "validation.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var base document.Value
	var rows []validationRow
	section := ""
	for i, line := range strings.Split(string(src), "\n") {
		switch line = strings.TrimSpace(line); {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "== "):
			section = strings.TrimPrefix(line, "== ")
		case strings.HasPrefix(line, "{"):
			base = parse(t, line)
		default:
			row := readRow(t, base, line)
			row.name = section + "/" + strconv.Itoa(i+1)
			rows = append(rows, row)
		}
	}
	return rows
}

func parse(t *testing.T, text string) document.Value {
	t.Helper()
	v, problems := document.ParseAll([]byte(text), document.Limits{})
	if v.IsZero() {
		t.Fatalf("%s: %v", text, problems)
	}
	return v
}

func readRow(t *testing.T, base document.Value, line string) validationRow {
	t.Helper()
	cut := strings.LastIndex(line, "->")
	edits, expect := line[:cut], strings.TrimSpace(line[cut+2:])
	row := validationRow{line: line, changed: base}
	for edit := range strings.SplitSeq(edits, ";;") {
		edit = strings.TrimSpace(edit)
		if pointer, ok := strings.CutSuffix(edit, " -"); ok {
			row.changed = set(row.changed, segments(pointer), document.Value{})
			continue
		}
		pointer, text, ok := strings.Cut(edit, " = ")
		if !ok {
			t.Fatalf("cannot read %q", edit)
		}
		row.changed = set(row.changed, segments(pointer), parse(t, text))
	}
	if expect != "ok" {
		row.want = strings.Split(expect, ", ")
	}
	return row
}

func checkRow(t *testing.T, row validationRow) {
	t.Helper()
	line, want := row.line, row.want
	definition, problems := workflow.Parse(row.changed.AppendJSON(nil))
	var got []string
	for _, p := range problems {
		mark := ""
		if p.Severity == document.SeverityWarning {
			mark = "w:"
		}
		got = append(got, mark+p.Code+" "+p.Pointer)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%s\n got %s\nwant %s\n%v", line, strings.Join(got, ", "), strings.Join(want, ", "), problems)
	}
	if (definition == nil) != problems.HasErrors() {
		t.Errorf("definition %v with %v", definition, problems)
	}
}

func segments(pointer string) []string {
	var all []string
	for s := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		name, _ := document.UnescapeSegment(s)
		all = append(all, name)
	}
	return all
}

// set returns v with the value at a path changed, or removed when it is Missing.
func set(v document.Value, path []string, to document.Value) document.Value {
	if len(path) == 0 {
		return to
	}
	var members []document.Member
	found := false
	for name, m := range v.Members() {
		if name == path[0] {
			found = true
			if m = set(m, path[1:], to); m.IsZero() {
				continue
			}
		}
		members = append(members, document.Member{Name: name, Value: m})
	}
	if !found {
		members = append(members, document.Member{Name: path[0], Value: set(document.Value{}, path[1:], to)})
	}
	return document.ObjectValue(members)
}
