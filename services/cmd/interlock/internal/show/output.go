// Package show prints results: tables and lines for people, JSON and YAML for
// programs. Text that others have written is shown as data and never obeyed by a
// terminal.
//
// It must never open a connection to a server.
package show

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Printer is the flags that say how a result is printed.
type Printer struct {
	Output string `short:"o" help:"How it is printed; jsonl is one JSON object a line." enum:"table,json,yaml,jsonl" default:"table" env:"INTERLOCK_OUTPUT" placeholder:"FORMAT" group:"Output"`
	Quiet  bool   `short:"q" help:"Print ids only, or names where things have names, one a line." env:"INTERLOCK_QUIET" group:"Output"`
	Color  string `help:"Colour tables: auto does on a terminal, unless NO_COLOR is set." enum:"auto,always,never" default:"auto" env:"INTERLOCK_COLOR" placeholder:"WHEN" group:"Output"`
}

func (p Printer) style(out io.Writer) Style { return styleOf(out, p.Color) }

// ForPeople reports that a result is printed as a table.
func (p Printer) ForPeople() bool {
	return !p.Quiet && p.Output != "json" && p.Output != "yaml" && p.Output != "jsonl"
}

// Print writes a result: value for programs, table for people.
func (p Printer) Print(out io.Writer, value any, table func(*Sheet)) error {
	if p.ForPeople() {
		w := newSheet(out, p.style(out))
		table(w)
		return w.Flush()
	}
	if p.Output == "json" && !p.Quiet {
		return JSON(out, value)
	}
	data, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	var text []byte
	switch {
	case p.Quiet:
		text, err = ids(data)
	case p.Output == "yaml":
		text, err = toYAML(data)
	default:
		text, err = jsonLines(data)
	}
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}

// Next writes one of many results as it comes: for programs a line each, or in YAML a
// document each.
func (p Printer) Next(out io.Writer, value any, line func(Style) string) error {
	switch {
	case p.ForPeople():
		_, err := fmt.Fprintln(out, line(p.style(out)))
		return err
	case p.Quiet:
		return p.Print(out, value, nil)
	case p.Output == "yaml":
		if _, err := fmt.Fprintln(out, "---"); err != nil {
			return err
		}
		return p.Print(out, value, nil)
	default:
		return Printer{Output: "jsonl"}.Print(out, value, nil)
	}
}

// JSON writes a value as indented JSON.
func JSON(out io.Writer, value any) error {
	data, err := json.Marshal(value, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	_, err = fmt.Fprintln(out, string(data))
	return err
}

// Table prints a list: its values for programs, and for people a row each below the
// names of the columns, which tabs separate. A cell is an ID, a Word, a time, or any text.
func Table[V any](p Printer, out io.Writer, columns string, all []V, row func(*V) []any) error {
	return p.Print(out, all, func(w *Sheet) {
		rows := make([][]any, len(all))
		for i := range all {
			rows[i] = row(&all[i])
		}
		w.rows(strings.Split(columns, "\t"), rows)
	})
}

// rows writes the rows of a table below the names of its columns.
func (w *Sheet) rows(columns []string, rows [][]any) {
	for c := range columns {
		var ids []string
		words := false
		for _, row := range rows {
			id, _ := row[c].(ID)
			ids = append(ids, string(id))
			_, word := row[c].(Word)
			words = words || word
		}
		if words { // as long as the cells below
			columns[c] = w.Word(columns[c])
		}
		if !w.terminal {
			continue
		}
		for i, short := range shorten(ids) {
			if ids[i] != "" {
				rows[i][c] = short
			}
		}
	}
	fmt.Fprintln(w, strings.Join(columns, "\t"))
	for _, row := range rows {
		w.Cells(row...)
	}
}

// Cells writes a row of a table.
func (w *Sheet) Cells(cells ...any) {
	texts := make([]string, len(cells))
	for i, cell := range cells {
		switch cell := cell.(type) {
		case time.Time:
			if !cell.IsZero() {
				texts[i] = w.Time(cell)
			}
		case Word:
			texts[i] = w.Word(string(cell))
		default:
			texts[i] = Text(fmt.Sprint(cell))
		}
	}
	fmt.Fprintln(w, strings.Join(texts, "\t"))
}

// Rows writes a table of names and values for people.
type Rows struct{ W *Sheet }

// Row writes a value that is not empty.
func (r Rows) Row(name, value string) {
	if value != "" {
		fmt.Fprintf(r.W, "%s\t%s\n", name, Text(value))
	}
}

// Word writes how something stands.
func (r Rows) Word(name, value string) {
	if value != "" {
		fmt.Fprintf(r.W, "%s\t%s\n", name, r.W.Word(value))
	}
}

// Time writes a moment, unless it is none.
func (r Rows) Time(name string, t time.Time) {
	if !t.IsZero() {
		r.Row(name, r.W.Time(t))
	}
}
