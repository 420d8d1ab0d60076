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

// ParseCost reads what something costs, in dollars, as tools report it: a plain
// decimal in a text such as "0.02". What is finer than a micro-dollar is rounded up.
func ParseCost(text string) (MicroUSD, bool) {
	whole, fraction, dotted := strings.Cut(text, ".")
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	if !digits(whole) || dotted && !digits(fraction) {
		return 0, false
	}
	finer := ""
	if len(fraction) > microDigits {
		fraction, finer = fraction[:microDigits], fraction[microDigits:]
	}
	micro := strings.TrimLeft(whole+fraction+strings.Repeat("0", microDigits-len(fraction)), "0")
	cost, err := strconv.ParseInt("0"+micro, 10, 64)
	if err != nil || cost == math.MaxInt64 {
		return 0, false
	}
	if strings.Trim(finer, "0") != "" {
		cost++
	}
	return MicroUSD(cost), true
}
