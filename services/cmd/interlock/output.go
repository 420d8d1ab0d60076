package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	shown "github.com/interlock-run/interlock/pkg/visible"
)

// formatFlag is how results are printed.
type formatFlag struct {
	Format string `help:"Output: table, json or yaml." enum:"table,json,yaml" default:"table"`
}

// print writes a result: value for programs, table for people.
func (f formatFlag) print(out io.Writer, value any, table func(*tabwriter.Writer)) error {
	switch f.Format {
	case "json":
		return printJSON(out, value)
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

func printJSON(out io.Writer, value any) error {
	data, err := json.Marshal(value, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	_, err = fmt.Fprintln(out, string(data))
	return err
}

// visible makes text from agents safe for one line of a terminal: what does not show
// as itself is shown as what it is, not obeyed.
func visible(text string) string { return shown.Text(oneLine.Replace(text), false) }

var oneLine = strings.NewReplacer("\n", " ", "\t", " ")

func readAtMost(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit))
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	return data, nil
}
