package show

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
)

// Problems writes the problems of a file: errors before warnings, each in the order of
// the file, with its line and a mark under its cause. places are those of the problems.
func Problems(out io.Writer, file string, text []byte, problems document.Problems, places []document.Place) {
	order := make([]int, len(problems))
	for i := range order {
		order[i] = i
	}
	warning := func(i int) int {
		if problems[i].Severity == document.SeverityWarning {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(warning(i), warning(j)), cmp.Compare(places[i].Line, places[j].Line), cmp.Compare(places[i].Column, places[j].Column))
	})
	lines := strings.Split(string(text), "\n")
	for _, i := range order {
		at := places[i]
		if at.Line == 0 || at.Line > len(lines) {
			fmt.Fprintln(out, Text(fmt.Sprintf("%s: %s: %s", file, problems[i].Severity, problems[i])))
			continue
		}
		p := problems[i]
		p.Message = strings.TrimPrefix(p.Message, fmt.Sprintf("line %d, column %d: ", at.Line, at.Column))
		p.Message = strings.TrimPrefix(p.Message, fmt.Sprintf("line %d: ", at.Line))
		fmt.Fprintln(out, Text(fmt.Sprintf("%s:%d:%d: %s: %s", file, at.Line, at.Column, p.Severity, p)))
		fmt.Fprint(out, excerpt(lines[at.Line-1], at))
	}
}

// widest is how much of a line an excerpt shows, in characters.
const widest = 100

// excerpt returns the line of a place with a mark under it.
func excerpt(line string, at document.Place) string {
	runes := []rune(strings.TrimRight(line, "\r"))
	column, width := min(at.Column-1, len(runes)), at.Width
	if len(runes) > widest {
		from := max(0, min(column-widest/3, len(runes)-widest))
		runes = runes[from:min(from+widest, len(runes))]
		column -= from
	}
	before, after := runes[:column], runes[column:]
	width = max(1, min(width, len(after)))
	shown := Text(string(before))
	number := fmt.Sprintf("%6d", at.Line)
	return fmt.Sprintf("%s | %s%s\n%*s | %s%s\n", number, shown, Text(string(after)), len(number), "",
		strings.Repeat(" ", len([]rune(shown))), strings.Repeat("^", width))
}
