package rules_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/rules"
)

// TestParseCost: decimals, with exponents or without, are exact, and finer fractions are rounded up, so that no
// cost is free for being small (S7.5).
func TestParseCost(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]rules.MicroUSD{
		"0": 0, "0.02": 20_000, "1": 1_000_000, "007.50": 7_500_000, "0.000001": 1, "0.0000010": 1, "0.0000011": 2, "0.00000000001": 1,
		"1e-05": 10, "1E-5": 10, "1e3": 1_000_000_000, "1.5e+3": 1_500_000_000, "15e-1": 1_500_000, "1e-7": 1, "1.0e-6": 1, "1.1e-6": 2, "0e9999": 0, "0.0e-9999": 0,
		"1e-9999": 1, "1.23456789e2": 123_456_789, "12345678.9e-5": 123_456_789, "9.223372036853e12": 9_223_372_036_853_000_000, "00e0": 0,
		"0.0000000": 0, "9223372036853.999999": 9_223_372_036_853_999_999, "9223372036854.775806": 9_223_372_036_854_775_806,
	} {
		if got, ok := rules.ParseCost(text); got != want || !ok {
			t.Errorf("%s is read as %d, %t, and is %d", text, got, ok, want)
		}
	}
	for _, text := range []string{
		"", ".", "1.", ".5", "-1", "+1", "1,5", "1e", "e1", "1e+", "1e+-1", "1e--1", "1e1.5", "1e1e1", "1e99999", "1e-99999", "1e9999", "1e13", "-1e3", ".5e1", "1.e1", "1e 1", "1e٣", "0x1", " 1", "1 ", "$1", "NaN", "1.2.3", "٣", "9223372036854.775808", "99999999999999999999",
	} {
		if got, ok := rules.ParseCost(text); ok {
			t.Errorf("%q is read as %d", text, got)
		}
	}
}
