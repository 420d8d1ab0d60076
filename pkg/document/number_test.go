package document

import (
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/randtest"
)

// TestCompareNumbers holds S2.5: by value, exact for 64-bit integers and
// decimals.
func TestCompareNumbers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		a, b Decimal
		want int
	}{
		{"1", "1.0", 0},
		{"1", "10e-1", 0},
		{"100", "1e2", 0},
		{"0", "-0", 0},
		{"0.0", "0e99", 0},
		{"1", "2", -1},
		{"-1", "1", -1},
		{"-2", "-1", -1},
		{"0", "-0.1", 1},
		{"0.1", "0", 1},
		{"9", "10", -1},
		{"9007199254740993", "9007199254740992", 1},
		{"9223372036854775807", "9223372036854775808", -1},
		{"18446744073709551615", "18446744073709551615.0", 0},
		{"0.1", "0.1000000000000000055511151231257827", -1},
		{"1.5", "1.50", 0},
		{"12e-1", "1.2", 0},
		{"1.2", "1.19", 1},
		{"123", "1230e-1", 0},
		{"1e308", "1e-308", 1},
		{"1e-400", "0", 1},
		{"1e999999999999999999999", "1", 1},
		{"1e-999999999999999999999", "1", -1},
	}
	for _, tt := range tests {
		if got := CompareNumbers(tt.a, tt.b); got != tt.want {
			t.Errorf("%s with %s: got %d, want %d", tt.a, tt.b, got, tt.want)
		}
		if got := CompareNumbers(tt.b, tt.a); got != -tt.want {
			t.Errorf("%s with %s: got %d, want %d", tt.b, tt.a, got, -tt.want)
		}
	}
}

var decimals = rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?`)

// TestNumbersAgainstRationals compares with exact rational numbers.
func TestNumbersAgainstRationals(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		a, b := decimals.Draw(t, "a"), decimals.Draw(t, "b")
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		if got := CompareNumbers(Decimal(a), Decimal(b)); got != x.Cmp(y) {
			t.Fatalf("%s with %s: got %d, want %d", a, b, got, x.Cmp(y))
		}
		v, w := NumberValue(a), NumberValue(b)
		if Equal(v, w) != (x.Cmp(y) == 0) || (string(Canonical(v)) == string(Canonical(w))) != (x.Cmp(y) == 0) {
			t.Fatalf("%s with %s: equal %v, canonical %s and %s", a, b, Equal(v, w), Canonical(v), Canonical(w))
		}
		if Decimal(a).IsInteger() != x.IsInt() {
			t.Fatalf("%s: IsInteger %v", a, Decimal(a).IsInteger())
		}
		n, ok := Decimal(a).Int64()
		if want := x.IsInt() && x.Num().IsInt64(); ok != want || ok && n != x.Num().Int64() {
			t.Fatalf("%s: Int64 %d %v", a, n, ok)
		}
		micro := new(big.Rat).Mul(x, big.NewRat(1_000_000, 1))
		n, ok = Decimal(a).Shifted(6)
		if want := micro.IsInt() && micro.Num().IsInt64(); ok != want || ok && n != micro.Num().Int64() {
			t.Fatalf("%s: Shifted %d %v", a, n, ok)
		}
	})
}

func TestNumberValue(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "-", "01", "+1", ".5", "5.", "1e", "1e+", "0x1", "1_0", "NaN", "Infinity", " 1", "1 ", "--1", "1e999", "1e-1000001"} {
		if v := NumberValue(bad); !v.IsZero() {
			t.Errorf("%q became %s", bad, v)
		}
	}
	for _, good := range []string{"0", "-0", "1", "1.50", "1E5", "1e+5", "-1.0e-5", strings.Repeat("9", 300), "1e-400"} {
		if v := NumberValue(good); v.String() != good {
			t.Errorf("%q became %q", good, v)
		}
	}
}
