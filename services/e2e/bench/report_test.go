package main

import (
	"io"
	"strings"
	"testing"
	"time"
)

func TestSheetAsMarkdown(t *testing.T) {
	t.Parallel()
	s := sheet{title: "Checks", notes: "On SQLite.", header: []string{"call", "ratio", goalsColumn}}
	s.add("a | b", "0.80 / 0.90 / 1.00", "met")
	s.add("short")
	want := "\n### Checks\n\nOn SQLite.\n\n| call | ratio |\n| --- | --- |\n" +
		"| a \\| b | 0.80 / 0.90 / 1.00 |\n| short |  |\n"
	if got := s.markdown(); got != want {
		t.Errorf("the markdown is\n%s", got)
	}
}

func TestWrapped(t *testing.T) {
	t.Parallel()
	word := strings.Repeat("x", 59)
	text := strings.Join([]string{word, word, "y", word, word + "yy", "z"}, " ")
	want := word + " " + word + "\ny " + word + "\n" + word + "yy z"
	if got := wrapped(text); got != want {
		t.Errorf("wrapped:\n%s", got)
	}
}

// New output of the benchmarks replaces the earlier one, and no other text.
func TestReplacedPart(t *testing.T) {
	t.Parallel()
	first := replaced("# Performance\n\nHow to read it.\n", "results", "one\n")
	if first != "# Performance\n\nHow to read it.\n\n<!-- bench: results -->\none\n<!-- bench: end of results -->\n" {
		t.Errorf("added:\n%s", first)
	}
	both := replaced(first, "growth", "rows") + "The end.\n"
	again := replaced(both, "results", "two")
	if again != strings.Replace(both, "\none\n", "\ntwo\n", 1) {
		t.Errorf("replaced:\n%s", again)
	}
}

// A row is a pair; a load whose comparison was not measured has none.
func TestRowsArePairs(t *testing.T) {
	t.Parallel()
	round := func(rate float64) measured {
		return measured{rate: rate, p50: time.Millisecond, p99: time.Millisecond, calls: 10}
	}
	loads := []*load{
		{name: "bare", callers: 64, got: []measured{round(100), round(200)}},
		{
			name: "check", callers: 64, got: []measured{round(90), round(160)},
			against: []pair{with("bare", goal{bound: 0.8}, goal{bound: 0.9}), with("etcd")},
		},
	}
	r, s := report{out: io.Discard}, sheet{header: loadHeader}
	r.addLoads(&s, loads)
	if len(s.rows) != 1 {
		t.Fatalf("the rows are %q", s.rows)
	}
	row := strings.Join(s.rows[0], "; ")
	if !strings.Contains(row, "0.80 / 0.85 / 0.90") || !strings.Contains(row, "rate >= 0.8x met, rate >= 0.9x not met") {
		t.Errorf("the row is %s", row)
	}
	if r.goals != 2 || r.met != 1 {
		t.Errorf("%d of %d goals met", r.met, r.goals)
	}
	if len(s.rows[0]) != len(loadHeader) {
		t.Errorf("%d cells for %d columns", len(s.rows[0]), len(loadHeader))
	}
}

func TestNeighbours(t *testing.T) {
	t.Parallel()
	loads := []*load{
		{name: "bare"},
		{name: "check", against: []pair{with("bare"), with("etcd"), with("absent")}},
		{name: "streamed", against: []pair{with("check")}},
		{name: "alone"},
		{name: "etcd"},
	}
	var order []string
	for _, l := range neighbours(loads) {
		order = append(order, l.name)
	}
	if got := strings.Join(order, " "); got != "bare etcd check streamed alone" {
		t.Errorf("the order is %s", got)
	}
}
