// Package show prints results: tables and lines for people, JSON and YAML for
// programs. Text that others have written is shown as data and never obeyed by a
// terminal.
//
// It knows nothing of servers and connections, and must never open either.
package show

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Printer is the flags that say how a result is printed.
type Printer struct {
	Output string `short:"o" help:"How it is printed; jsonl is one JSON object a line." enum:"table,json,yaml,jsonl" default:"table" env:"INTERLOCK_OUTPUT" placeholder:"FORMAT"`
	Quiet  bool   `short:"q" help:"Print ids only, or names where things have names, one a line." env:"INTERLOCK_QUIET"`
}

// ForPeople reports that a result is printed as a table.
func (p Printer) ForPeople() bool {
	return !p.Quiet && p.Output != "json" && p.Output != "yaml" && p.Output != "jsonl"
}

// Print writes a result: value for programs, table for people.
func (p Printer) Print(out io.Writer, value any, table func(*tabwriter.Writer)) error {
	if p.ForPeople() {
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
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
func (p Printer) Next(out io.Writer, value any, line string) error {
	switch {
	case p.ForPeople():
		_, err := fmt.Fprintln(out, line)
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
// names of the columns, which tabs separate.
func Table[V any](p Printer, out io.Writer, columns string, all []V, row func(*V) []any) error {
	return p.Print(out, all, func(w *tabwriter.Writer) {
		fmt.Fprintln(w, columns)
		for i := range all {
			Cells(w, row(&all[i])...)
		}
	})
}

// Cells writes a row of a table.
func Cells(w io.Writer, cells ...any) {
	texts := make([]string, len(cells))
	for i, cell := range cells {
		texts[i] = Text(fmt.Sprint(cell))
	}
	fmt.Fprintln(w, strings.Join(texts, "\t"))
}

// Rows writes a table of names and values for people.
type Rows struct{ W io.Writer }

// Row writes a value that is not empty.
func (r Rows) Row(name, value string) {
	if value != "" {
		fmt.Fprintf(r.W, "%s\t%s\n", name, Text(value))
	}
}
