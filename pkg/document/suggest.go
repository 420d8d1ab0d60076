package document

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// suggestions bounds the comparisons that one report spends on "did you mean",
// so that a document with many wrong names costs no more than one with few.
const suggestions = 20_000

// longestSuggested is the longest name, in bytes, that is compared at all.
const longestSuggested = 64

// DidYouMean returns `; did you mean "x"?` with the name nearest to s, or "".
func (r *Report) DidYouMean(s string, names iter.Seq[string]) string {
	if s == "" || len(s) > longestSuggested {
		return ""
	}
	best, bestDistance := "", tolerance(utf8.RuneCountInString(s))+1
	folded := fold(s)
	for name := range names {
		if r.budget++; r.budget > suggestions {
			break
		}
		if fold(name) == folded {
			best = name
			break
		}
		if d := distance(s, name, bestDistance); d < bestDistance {
			best, bestDistance = name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

func (r *Report) didYouMeanField(name string, names []string) string {
	if known, near := NearField(name, names, nil); near {
		return fmt.Sprintf("; did you mean %q?", known)
	}
	return ""
}

// NearField reports whether an unknown field is so close to a known one that
// it must be a mistake, and to which: the same but for case and punctuation,
// one slip of the keys away, two in long names.
func NearField(name string, known ...[]string) (string, bool) {
	if name == "" || len(name) > longestSuggested {
		return "", false
	}
	folded := fold(name)
	for _, names := range known {
		for _, k := range names {
			if fold(k) == folded {
				return k, true
			}
		}
	}
	for _, names := range known {
		for _, k := range names {
			most := tolerance(utf8.RuneCountInString(k))
			if distance(folded, fold(k), most+1) <= most {
				return k, true
			}
		}
	}
	return "", false
}

// tolerance returns how many slips a name of n characters may have to be still
// recognised.
func tolerance(n int) int {
	switch {
	case n < 4:
		return 0
	case n < 8:
		return 1
	default:
		return 2
	}
}

// fold drops case and all other characters than letters and digits: allowedTools,
// Allowed_Tools and allowed-tools fold to the same.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

// distance returns the number of insertions, deletions, substitutions and swaps of
// neighbours between a and b (optimal string alignment), or any number from enough on
// when there are at least that many.
func distance(a, b string, enough int) int {
	if len(b) > 2*longestSuggested {
		return enough
	}
	x, y := []rune(a), []rune(b)
	if len(x)-len(y) >= enough || len(y)-len(x) >= enough {
		return enough
	}
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		if slices.Min(row) >= enough {
			return enough
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}

// quoteAll lists names for a message, not more than a reader wants.
func quoteAll(names []string) string {
	const most = 16
	quoted := make([]string, 0, most+1)
	for i, n := range names {
		if i == most {
			quoted = append(quoted, "...")
			break
		}
		quoted = append(quoted, strconv.Quote(n))
	}
	return strings.Join(quoted, ", ")
}

// Quote quotes a text from outside for a message: short and printable.
func Quote(s string) string { return strconv.Quote(shorten(s)) }
