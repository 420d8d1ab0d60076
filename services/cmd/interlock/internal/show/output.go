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

// Printer is the flag that says how a result is printed.
type Printer struct {
	Format string `help:"Output: table, json or yaml." enum:"table,json,yaml" default:"table"`
}

// Print writes a result: value for programs, table for people.
func (p Printer) Print(out io.Writer, value any, table func(*tabwriter.Writer)) error {
	switch p.Format {
	case "json":
		return JSON(out, value)
	case "yaml":
		data, err := json.Marshal(value, json.Deterministic(true))
		if err != nil {
			return fmt.Errorf("encode: %w", err)
		}
		text, err := toYAML(data)
		if err != nil {
			return err
		}
		_, err = out.Write(text)
		return err
	default:
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		table(w)
		return w.Flush()
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
