package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// rates are those of a subject: relative and vague in 1,000 words, form in 100 functions.
type rates struct{ relative, vague, form float64 }

// target is the ceiling of subjects that rates.txt does not name.
var target = rates{relative: 3, vague: 1, form: 10}

func (s *subject) rates() rates {
	return rates{perThousand(s.relative, s.words), perThousand(s.vague, s.words), percent(s.form, s.functions)}
}

// within reports whether the subject is below the ceiling. One word is always allowed: a short
// text has none to spare.
func (s *subject) within(ceiling rates) bool {
	below := func(count int, rate float64, of int) bool {
		return count <= max(1, int(math.Ceil(rate*float64(of)-1e-9)))
	}
	return below(s.relative, ceiling.relative/1000, s.words) && below(s.vague, ceiling.vague/1000, s.words) &&
		below(s.form, ceiling.form/100, s.functions)
}

// atLeastTarget returns the ceiling, nowhere lower than the target.
func (r rates) atLeastTarget() rates {
	return rates{max(r.relative, target.relative), max(r.vague, target.vague), max(r.form, target.form)}
}

// exceeded returns a line for each subject above its ceiling.
func exceeded(ceilings map[string]rates, subjects []*subject) (problems []string) {
	for _, s := range subjects {
		ceiling, ok := ceilings[s.name]
		if !ok {
			ceiling = target
		}
		if !s.within(ceiling) {
			now := s.rates()
			problems = append(problems, fmt.Sprintf("%s: relative %.1f (at most %.1f), vague %.1f (%.1f), form %.0f%% (%.0f%%)",
				s.name, now.relative, ceiling.relative, now.vague, ceiling.vague, now.form, ceiling.form))
		}
	}
	return problems
}

// lower returns the ceilings at the present rates where those are lower. Subjects that meet
// the target, or no longer exist, need no ceiling.
func lower(ceilings map[string]rates, subjects []*subject) map[string]rates {
	lowered := map[string]rates{}
	for _, s := range subjects {
		now := s.rates().atLeastTarget()
		if before, ok := ceilings[s.name]; ok {
			now = rates{min(now.relative, before.relative), min(now.vague, before.vague), min(now.form, before.form)}
		} else if len(ceilings) > 0 {
			continue
		}
		if !s.within(target) {
			lowered[s.name] = now
		}
	}
	return lowered
}

// raise returns the ceilings, with those of the subjects that begin with a text at the present
// rates where these are higher.
func raise(ceilings map[string]rates, subjects []*subject, prefix string) map[string]rates {
	raised := maps.Clone(ceilings)
	for _, s := range subjects {
		if ceiling, ok := ceilings[s.name]; strings.HasPrefix(s.name, prefix) && !s.within(target) && (!ok || !s.within(ceiling)) {
			now := s.rates().atLeastTarget()
			raised[s.name] = rates{max(now.relative, ceiling.relative), max(now.vague, ceiling.vague), max(now.form, ceiling.form)}
		}
	}
	return raised
}

const heading = `# The most that each subject may have: relative and vague words in 1,000, and the percentage
# of functions' comments of the form "X is …". Ceilings only fall: tools/house -update
# lowers them. A subject that is not listed must meet the target, 3 1 10. For packages that
# were split from others, tools/house -adopt SUBJECT adds ceilings.
`

func formatRates(ceilings map[string]rates) string {
	var out strings.Builder
	out.WriteString(heading)
	for _, name := range slices.Sorted(maps.Keys(ceilings)) {
		r := ceilings[name]
		fmt.Fprintf(&out, "%s %.1f %.1f %.0f\n", name, up(r.relative, 10), up(r.vague, 10), up(r.form, 1))
	}
	return out.String()
}

// up rounds up to a part, so that what is written is no lower than what was measured.
func up(x, parts float64) float64 { return math.Ceil(x*parts-1e-9) / parts }

func parseRates(text string) (map[string]rates, error) {
	ceilings := map[string]rates{}
	for i, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		var numbers [3]float64
		for n := range numbers {
			if len(fields) != 5 {
				return nil, fmt.Errorf("rates.txt:%d: a line has a kind, a name and three numbers", i+1)
			}
			number, err := strconv.ParseFloat(fields[2+n], 64)
			if err != nil {
				return nil, fmt.Errorf("rates.txt:%d: %q is not a number", i+1, fields[2+n])
			}
			numbers[n] = number
		}
		ceilings[fields[0]+" "+fields[1]] = rates{numbers[0], numbers[1], numbers[2]}
	}
	return ceilings, nil
}
