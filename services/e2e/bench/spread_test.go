package main

import (
	"math"
	"slices"
	"testing"
)

func TestSpread(t *testing.T) {
	t.Parallel()
	values := []float64{5, 1, 3}
	if got := spreadOf(values); got != (spread{1, 3, 5}) || !slices.Equal(values, []float64{5, 1, 3}) {
		t.Errorf("the spread is %v, and the values are now %v", got, values)
	}
	if got := spreadOf([]float64{4, 1, 2, 3}); got != (spread{1, 2.5, 4}) {
		t.Errorf("an even number of values: %v", got)
	}
	if got := spreadOf(nil); got != (spread{}) {
		t.Errorf("no values: %v", got)
	}
}

// A ratio is of one round: a machine that gets slower does not move it.
func TestRatiosAreOfRounds(t *testing.T) {
	t.Parallel()
	got := spreadOf(ratios([]float64{100, 50, 10}, []float64{200, 100, 20}))
	if got != (spread{0.5, 0.5, 0.5}) {
		t.Errorf("ratios are %v", got)
	}
	if got := ratios([]float64{1, 0, 6}, []float64{0, 0, 2}); !slices.Equal(got, []float64{3}) {
		t.Errorf("rounds without a value gave %v", got)
	}
}

func TestFigure(t *testing.T) {
	t.Parallel()
	for f, want := range map[float64]string{
		0: "0.00", 0.01234: "0.012", 0.5: "0.50", 1.2345: "1.23", 12.345: "12.3", 99.96: "100", 1234.5: "1234",
		-0.32: "-0.32",
	} {
		if got := figure(f); got != want {
			t.Errorf("figure(%v) is %q, not %q", f, got, want)
		}
	}
	if got := (spread{0.8, 1, math.Pi}).String(); got != "0.80 / 1.00 / 3.14" {
		t.Errorf("a spread is %q", got)
	}
}
