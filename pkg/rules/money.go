package rules

import (
	"math"
	"strconv"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
)

// MicroUSD is money in millionths of a US dollar, so that sums are exact (S7.5).
type MicroUSD int64

// String writes dollars with as many decimals as there are.
func (m MicroUSD) String() string {
	sign := ""
	n := int64(m)
	if n < 0 {
		sign = "-"
	}
	whole, micro := n/1_000_000, n%1_000_000
	text := strconv.FormatInt(whole, 10)
	text = strings.TrimPrefix(text, "-")
	if micro < 0 {
		micro = -micro
	}
	if micro == 0 {
		return sign + text
	}
	return sign + text + "." + strings.TrimRight(pad(micro), "0")
}

func pad(micro int64) string {
	digits := strconv.FormatInt(micro, 10)
	return strings.Repeat("0", 6-len(digits)) + digits
}

// ParseUSD reads an amount of dollars, as JSON writes numbers, without rounding:
// false for one that is finer than a micro-dollar or beyond nine trillion.
func ParseUSD(amount document.Decimal) (MicroUSD, bool) {
	v := document.NumberValue(string(amount))
	if v.IsZero() {
		return 0, false
	}
	n, ok := v.Number().Shifted(6)
	return MicroUSD(n), ok
}

// microDigits is how many decimals a micro-dollar has.
const microDigits = 6

// MostCost is the most that one call can cost: sums of it stay far from where numbers end.
const MostCost MicroUSD = 1_000_000_000_000

// CostUnknown is the cost in the report of a call whose cost was stated and cannot be read: it
// spends the rest of the budgets of the call (S7.5).
const CostUnknown = "unknown"

// longestExponent bounds the digits of an exponent: no amount needs more.
const longestExponent = 4

// ParseCost reads an amount in dollars exactly: a decimal of 0 or more such as "0.02", with or
// without an exponent, as in "1e-05". Fractions of a micro-dollar are rounded up.
func ParseCost(text string) (MicroUSD, bool) {
	mantissa, exponent := text, 0
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		power := text[at+1:]
		if unsigned := strings.TrimLeft(power, "+-"); len(power)-len(unsigned) > 1 || !digits(unsigned) || len(unsigned) > longestExponent {
			return 0, false
		}
		mantissa = text[:at]
		exponent, _ = strconv.Atoi(power) // it has few digits
	}
	whole, fraction, dotted := strings.Cut(mantissa, ".")
	if !digits(whole) || dotted && !digits(fraction) {
		return 0, false
	}
	all := whole + fraction
	if strings.Trim(all, "0") == "" {
		return 0, true
	}
	point := len(whole) + exponent + microDigits // where the micro-dollars end
	switch {
	case point <= 0:
		return 1, true
	case point > len(all):
		all += strings.Repeat("0", point-len(all))
	}
	cost, err := strconv.ParseInt(all[:point], 10, 64)
	if err != nil || cost == math.MaxInt64 {
		return 0, false
	}
	if strings.Trim(all[point:], "0") != "" {
		cost++
	}
	return MicroUSD(cost), true
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
