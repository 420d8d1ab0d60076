// Cells simulates a deployment of Interlock in cells, and prints the tables of docs/scaling.md.
//
//	cells [-inputs FILE] [-docs DIR] [-write]
//
// A cell is one installation: services, one Redis with replicas and Sentinel, and NATS. A
// discrete-event simulation runs the queue of each service's processors, the flights in which
// commits share a round trip, and Redis's thread, which syncs its file once for the flights
// that have arrived. Costs are read from the measured tables of the documentation; inputs.json
// names their places, and has the assumptions. The seed is fixed: equal inputs give equal tables.
//
// With -write it replaces the tables in docs/scaling.md.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	name := flag.String("inputs", "inputs.json", "the file of the inputs")
	docs := flag.String("docs", "../../docs", "the folder of the pages with the measured tables")
	write := flag.Bool("write", false, "replace the tables in scaling.md of that folder")
	flag.Parse()
	if err := run(*name, *docs, *write); err != nil {
		fmt.Fprintln(os.Stderr, "cells:", err)
		os.Exit(1)
	}
}

func run(name, docs string, write bool) error {
	in, err := readInputs(name, docs)
	if err != nil {
		return err
	}
	tables, err := in.report()
	if err != nil {
		return err
	}
	if !write {
		for _, t := range tables {
			fmt.Printf("### %s\n\n%s\n", t.name, t.text())
		}
		return nil
	}
	page := filepath.Join(docs, "scaling.md")
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	changed, err := replace(string(text), tables)
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	return os.WriteFile(page, []byte(changed), 0o644)
}

// table is a table of Markdown.
type table struct {
	name string
	rows [][]string // the header first
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) text() string {
	var b strings.Builder
	for i, row := range t.rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(&b, "|%s\n", strings.Repeat(" --- |", len(row)))
		}
	}
	return b.String()
}

// replace puts tables between their marks in a page.
func replace(page string, tables []*table) (string, error) {
	for _, t := range tables {
		begin, end := "<!-- cells: "+t.name+" -->\n", "<!-- cells: end of "+t.name+" -->"
		before, rest, found := strings.Cut(page, begin)
		_, after, ended := strings.Cut(rest, end)
		if !found || !ended {
			return "", fmt.Errorf("the marks of the table %q are missing; add the lines %q and %q", t.name, strings.TrimSpace(begin), end)
		}
		page = before + begin + t.text() + end + after
	}
	return page, nil
}
