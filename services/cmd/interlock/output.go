package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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

// visible makes text from agents safe for a terminal: control characters are
// shown, not obeyed.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n':
			return ' '
		case r < ' ':
			return '␀' + r // the picture of the control character
		case r == 0x7f:
			return '␡'
		case r >= 0x80 && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x061c, r == 0x2028, r == 0x2029:
			return '\ufffd'
		default:
			return r
		}
	}, text)
}

func readAtMost(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit))
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	return data, nil
}
