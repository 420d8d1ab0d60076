package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// sheet is one table of the report.
type sheet struct {
	title string
	// notes describe the measurements.
	notes  string
	header []string
	rows   [][]string
}

// add appends a row.
func (s *sheet) add(cells ...string) { s.rows = append(s.rows, cells) }

// text returns the sheet for a terminal.
func (s *sheet) text() string {
	var out bytes.Buffer
	fmt.Fprintf(&out, "\n%s\n", s.title)
	if s.notes != "" {
		fmt.Fprintf(&out, "%s\n", s.notes)
	}
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range append([][]string{s.header}, s.rows...) {
		fmt.Fprintf(w, "%s\t\n", strings.Join(row, "\t"))
	}
	_ = w.Flush() // to memory
	return out.String()
}

// goalsColumn is the header of a column for people who work on the speed.
const goalsColumn = "goals"

// markdown returns the sheet for a document, without the goals.
func (s *sheet) markdown() string {
	header := s.header
	if n := len(header) - 1; n >= 0 && header[n] == goalsColumn {
		header = header[:n]
	}
	var out strings.Builder
	fmt.Fprintf(&out, "\n### %s\n\n", s.title)
	if s.notes != "" {
		fmt.Fprintf(&out, "%s\n\n", wrapped(s.notes))
	}
	line := func(cells []string) {
		out.WriteString("|")
		for i := range header {
			cell := ""
			if i < len(cells) {
				cell = cells[i]
			}
			out.WriteString(" " + strings.ReplaceAll(cell, "|", `\|`) + " |")
		}
		out.WriteString("\n")
	}
	line(header)
	out.WriteString(strings.Repeat("| --- ", len(header)) + "|\n")
	for _, row := range s.rows {
		line(row)
	}
	return out.String()
}

// wrapped returns a paragraph in lines of a document's width.
func wrapped(text string) string {
	const width = 120
	var out strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		switch {
		case column == 0:
		case column+1+len(word) > width:
			out.WriteString("\n")
			column = 0
		default:
			out.WriteString(" ")
			column++
		}
		out.WriteString(word)
		column += len(word)
	}
	return out.String()
}

// report prints sheets as they come, and keeps them.
type report struct {
	out    io.Writer
	sheets []sheet
	// goals were judged, and met.
	goals, met int
}

func (r *report) print(s *sheet) {
	fmt.Fprint(r.out, s.text())
	r.sheets = append(r.sheets, *s)
}

// judge counts a goal and words it.
func (r *report) judge(met bool, format string, args ...any) string {
	r.goals++
	verdict := "not met"
	if met {
		r.met++
		verdict = "met"
	}
	return fmt.Sprintf(format, args...) + " " + verdict
}

// Between these marks a document has the output of the benchmarks.
const (
	markBegin = "<!-- bench: %s -->"
	markEnd   = "<!-- bench: end of %s -->"
)

// replaced returns a document with a part of this name, which it has already or which is added
// at its end.
func replaced(document, name, part string) string {
	begin, end := fmt.Sprintf(markBegin, name), fmt.Sprintf(markEnd, name)
	whole := begin + "\n" + strings.TrimSpace(part) + "\n" + end
	before, rest, found := strings.Cut(document, begin)
	_, after, ended := strings.Cut(rest, end)
	if found && ended {
		return before + whole + after
	}
	if document = strings.TrimRight(document, "\n"); document != "" {
		document += "\n\n"
	}
	return document + whole + "\n"
}

// goal is a bound of a ratio to a base, or of how fair a load is.
type goal struct {
	p99   bool // of the latency, else of the rate
	fair  bool // or of how far the slowest caller is behind the mean
	bound float64
}

// header of a sheet of loads.
var loadHeader = []string{
	"callers", "measured", "calls/s", "p50 ms", "p99 ms", "CPU us",
	"compared with", "calls/s", "CPU us", "rate ratio min / median / max", "p99 ratio min / median / max", goalsColumn,
}

// addLoads adds a row for each pair of a load and its comparison. A load without a
// comparison is there for others to be compared with.
func (r *report) addLoads(s *sheet, loads []*load) {
	for _, l := range loads {
		own := []string{
			fmt.Sprint(l.callers), l.name, figure(l.of(rate)), figure(l.of(p50) / 1e3), figure(l.of(p99) / 1e3),
			spent(l),
		}
		for _, pair := range l.against {
			base := find(loads, pair.base)
			if base == nil {
				continue // not measured in this run
			}
			rates, p99s := l.ratio(base, rate), l.ratio(base, p99)
			row := slices.Concat(own, []string{
				base.name, figure(base.of(rate)), spent(base), rates.String(), p99s.String(),
				r.verdicts(l, pair.goals, rates, p99s),
			})
			s.rows = append(s.rows, row)
			own = make([]string, len(own)) // said once
		}
	}
}

func (r *report) verdicts(l *load, goals []goal, rates, p99s spread) string {
	var verdicts []string
	for _, g := range goals {
		switch {
		case g.fair:
			verdicts = append(verdicts, r.judge(l.of(behind) <= g.bound, "slowest caller <= %gx (%.1fx)", g.bound, l.of(behind)))
		case g.p99:
			verdicts = append(verdicts, r.judge(p99s.median <= g.bound, "p99 <= %gx", g.bound))
		default:
			verdicts = append(verdicts, r.judge(rates.median >= g.bound, "rate >= %gx", g.bound))
		}
	}
	return strings.Join(verdicts, ", ")
}

// spent returns the processor time of a call in its server and, where that is a process of its
// own, in its store.
func spent(l *load) string {
	if len(l.stores) == 0 {
		return figure(l.serverTime())
	}
	return figure(l.serverTime()) + " + " + figure(l.storeTime())
}

func find(loads []*load, name string) *load {
	for _, l := range loads {
		if l.name == name && name != "" {
			return l
		}
	}
	return nil
}
