package offline

import (
	"fmt"
	"io"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/scenario"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

// printText prints in a line per file that all is well, and else the failures.
func (t *tested) printText(out io.Writer) {
	cases, failed, invalid := 0, 0, 0
	for i := range t.files {
		f := &t.files[i]
		n := f.failed()
		cases, failed = cases+len(f.results), failed+n
		switch {
		case !f.valid():
			invalid++
		case n == 0:
			fmt.Fprintf(out, "ok    %s: %s\n", show.Text(f.name), show.Counted(len(f.results), "case"))
		default:
			fmt.Fprintf(out, "FAIL  %s: %d of %s failed\n", show.Text(f.name), n, show.Counted(len(f.results), "case"))
			for j := range f.results {
				if r := &f.results[j]; !r.OK {
					printFailure(out, r)
				}
			}
		}
	}
	if len(t.files) < 2 {
		return
	}
	line := fmt.Sprintf("%s in %s", show.Counted(cases, "case"), show.Counted(len(t.files)-invalid, "file"))
	switch {
	case failed > 0:
		line += fmt.Sprintf(", %d failed", failed)
	case cases > 0:
		line += ", all ok"
	}
	if invalid > 0 {
		line += fmt.Sprintf("; %s not valid", show.Counted(invalid, "file"))
	}
	fmt.Fprintln(out, line)
}

func printFailure(out io.Writer, r *scenario.Result) {
	fmt.Fprintf(out, "      %s: %s\n", place(r), show.Text(r.Case))
	fmt.Fprintf(out, "        step %d: %s\n", r.Step, show.Text(show.Shortened(r.Action)))
	for _, line := range differences(r) {
		fmt.Fprintf(out, "          %s\n", show.Text(line))
	}
}

func place(r *scenario.Result) string {
	if r.Line == 0 {
		return show.Text(r.File)
	}
	return fmt.Sprintf("%s:%d", show.Text(r.File), r.Line)
}

// differences describes the unexpected values, and the answer to the step.
func differences(r *scenario.Result) []string {
	var lines []string
	for _, key := range r.Different {
		want, _ := r.Expected.Get(key)
		got, _ := r.Actual.Get(key)
		if key == "context" {
			got = picked(got, want)
		}
		lines = append(lines, fmt.Sprintf("%s: expected %s, got %s", key, want, got))
	}
	if r.Message != "" {
		lines = append(lines, r.Message)
	}
	return lines
}

// picked returns the members of a context under the expected keys: the others do not
// matter.
func picked(got, want document.Value) document.Value {
	if want.Len() == 0 {
		return got
	}
	var members []document.Member
	for name := range want.Members() {
		if v, ok := got.Get(name); ok {
			members = append(members, document.Member{Name: name, Value: v})
		}
	}
	return document.ObjectValue(members)
}

// printCoverage prints how much of each workflow was reached, and the other parts when
// asked for.
func (t *tested) printCoverage(out io.Writer, details bool) {
	var partly []string
	whole := 0
	for _, w := range t.coverage.Workflows() {
		states, transitions := scenario.Reached(w.States), scenario.Reached(w.Transitions)
		if states == len(w.States) && transitions == len(w.Transitions) {
			whole++
			continue
		}
		partly = append(partly, fmt.Sprintf("%s (%s): %d of %s, %d of %s reached",
			w.Workflow, w.File, states, show.Counted(len(w.States), "state"),
			transitions, show.Counted(len(w.Transitions), "transition")))
		if details {
			partly = append(partly, unreached("state", w.States)...)
			partly = append(partly, unreached("transition", w.Transitions)...)
		}
	}
	if whole > 0 {
		fmt.Fprintf(out, "coverage: every state and transition of %s\n", show.Counted(whole, "workflow"))
	}
	for _, line := range partly {
		fmt.Fprintln(out, show.Text("coverage: "+line))
	}
}

func unreached(what string, spots []scenario.Spot) []string {
	var lines []string
	for _, s := range spots {
		if !s.Reached {
			lines = append(lines, fmt.Sprintf("  not reached: %s %s", what, s.Name))
		}
	}
	return lines
}

// caseResult is one case in JSON.
type caseResult struct {
	File string `json:"file"`
	Case string `json:"case"`
	OK   bool   `json:"ok"`
	// Step is the index of the first mismatch, or null.
	Step     *int           `json:"step"`
	Expected document.Value `json:"expected"`
	Actual   document.Value `json:"actual"`
}

func (t *tested) printJSON(out io.Writer) error {
	results := []caseResult{}
	for i := range t.files {
		for _, r := range t.files[i].results {
			c := caseResult{File: r.File, Case: r.Case, OK: r.OK, Expected: r.Expected, Actual: r.Actual}
			if !r.OK {
				c.Step = &r.Step
			}
			results = append(results, c)
		}
	}
	return show.JSON(out, results)
}
