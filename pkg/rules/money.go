package rules

import (
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
