package main

import (
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
)

// goal is a bound of a ratio to the base.
type goal struct {
	p99   bool // of the latency, else of the rate
	fair  bool // or of how far the slowest caller is behind the mean
	bound float64
}

// table prints loads in addition to what they are compared with.
func (b *bencher) table(title string, loads []*load) {
	if title != "" {
		fmt.Print("\n", title, "\n")
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "callers\tcall\tcalls/s\tp50 ms\tp99 ms\tserver us/call\tredis us/call\trate ratio\tp99 ratio\tagainst\tgoals\t")
	for _, l := range loads {
		rates, p99s, against := "", "", ""
		var verdicts []string
		if base := find(loads, l.base); base != nil {
			r, p := l.ratio(base, rate), l.ratio(base, p99)
			rates, p99s, against = fmt.Sprintf("%.2f", r), fmt.Sprintf("%.2f", p), base.name
			for _, g := range l.goals {
				switch {
				case g.fair:
					verdicts = append(verdicts, b.judge(l.of(behind) <= g.bound, "slowest <= %gx (%.1fx)", g.bound, l.of(behind)))
				case g.p99:
					verdicts = append(verdicts, b.judge(p <= g.bound, "p99 <= %gx", g.bound))
				default:
					verdicts = append(verdicts, b.judge(r >= g.bound, "rate >= %gx", g.bound))
				}
			}
		}
		server, store := "", ""
		if l.server != 0 {
			server = fmt.Sprintf("%.1f", l.of(serverTime))
		}
		if l.store != 0 {
			store = fmt.Sprintf("%.1f", l.of(storeTime))
		}
		fmt.Fprintf(w, "%d\t%s\t%.0f\t%.2f\t%.2f\t%s\t%s\t%s\t%s\t%s\t%s\t\n", l.callers, l.name, l.of(rate),
			l.of(p50)/1e3, l.of(p99)/1e3, server, store, rates, p99s, against, strings.Join(verdicts, ", "))
	}
	_ = w.Flush() // standard output
}

// judge counts a goal and words it.
func (b *bencher) judge(met bool, format string, args ...any) string {
	b.goals++
	verdict := "NOT MET"
	if met {
		b.met++
		verdict = "met"
	}
	return fmt.Sprintf(format, args...) + " " + verdict
}

func find(loads []*load, name string) *load {
	for _, l := range loads {
		if l.name == name && name != "" {
			return l
		}
	}
	return nil
}
