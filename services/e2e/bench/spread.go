package main

import (
	"fmt"
	"math"
	"slices"
)

// spread is the range of some values, and their median.
type spread struct{ min, median, max float64 }

// spreadOf sums values up; of none everything is 0. It leaves their order.
func spreadOf(values []float64) spread {
	if len(values) == 0 {
		return spread{}
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := sorted[len(sorted)/2]
	if len(sorted)%2 == 0 {
		middle = (sorted[len(sorted)/2-1] + middle) / 2
	}
	return spread{sorted[0], middle, sorted[len(sorted)-1]}
}

// ratios divides, round by round, a measurement by its comparison. Rounds
// in which one of them has no value are left out.
func ratios(measured, base []float64) []float64 {
	var out []float64
	for i := range min(len(measured), len(base)) {
		if r := measured[i] / base[i]; !math.IsNaN(r) && !math.IsInf(r, 0) {
			out = append(out, r)
		}
	}
	return out
}

// String is the form of the tables: min / median / max.
func (s spread) String() string {
	return figure(s.min) + " / " + figure(s.median) + " / " + figure(s.max)
}

// figure prints a number with three digits that count, and large ones whole.
func figure(f float64) string {
	switch size := math.Abs(f); {
	case size >= 99.95:
		return fmt.Sprintf("%.0f", f)
	case size >= 9.995:
		return fmt.Sprintf("%.1f", f)
	case size >= 0.0995 || size == 0:
		return fmt.Sprintf("%.2f", f)
	default:
		return fmt.Sprintf("%.2g", f)
	}
}
