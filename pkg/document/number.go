package document

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Decimal is a number as its document wrote it: "1", "1.0" and "10e-1" are
// different text and the same value. It keeps 64-bit integers and decimals
// exactly.
type Decimal string

// Bounds of a number, so that no reader has to do work that its text does not
// pay for: many turn 1e-1000000 into a million digits, and take time for the
// square of the digits. Every finite float64 is within them, its exact decimal
// expansion too.
const (
	maxExponent     = 1000
	maxNumberLength = 1100
)

// Int64 returns the number when it is an integer of that range, however it is
// written (2.0 and 2e0 are 2).
func (d Decimal) Int64() (int64, bool) {
	if n, err := strconv.ParseInt(string(d), 10, 64); err == nil {
		return n, true
	}
	n := normalise(string(d))
	if n.digits == "" {
		return 0, d != ""
	}
	if n.exponent < 0 || n.exponent > 18 || len(n.digits)+n.exponent > 19 {
		return 0, false
	}
	text := n.digits + strings.Repeat("0", n.exponent)
	if n.negative {
		text = "-" + text
	}
	i, err := strconv.ParseInt(text, 10, 64)
	return i, err == nil
}

// IsInteger reports whether the number has no fractional part, at any size.
func (d Decimal) IsInteger() bool { return d != "" && normalise(string(d)).exponent >= 0 }

// Float64 returns the nearest float64.
func (d Decimal) Float64() float64 {
	f, err := strconv.ParseFloat(string(d), 64)
	if err != nil && f == 0 {
		return math.NaN()
	}
	return f
}

// CompareNumbers returns -1, 0 or +1 as a is less than, equal to or greater
// than b, exactly. Its work is bounded by the length of the texts.
func CompareNumbers(a, b Decimal) int {
	if x, xPlaces, ok := small(string(a)); ok {
		if y, yPlaces, ok := small(string(b)); ok {
			for ; xPlaces < yPlaces && max(x, -x) < roomForTen; xPlaces++ {
				x *= 10
			}
			for ; yPlaces < xPlaces && max(y, -y) < roomForTen; yPlaces++ {
				y *= 10
			}
			if xPlaces == yPlaces {
				return compareInts(x, y)
			}
		}
	}
	return normalise(string(a)).compare(normalise(string(b)))
}

// roomForTen is below the integers whose tenfold has more than 64 bits.
const roomForTen = math.MaxInt64 / 10

// small returns a number as an integer and how many of its digits are behind the point, when it is written
// with at most 18 characters and no exponent.
func small(text string) (n int64, places int, ok bool) {
	digits := strings.TrimPrefix(text, "-")
	point := -1
	for i := range len(digits) {
		switch c := digits[i]; {
		case '0' <= c && c <= '9':
			n = 10*n + int64(c-'0')
		case c == '.' && point < 0:
			point = i
		default:
			return 0, 0, false
		}
		if i == 18 {
			return 0, 0, false
		}
	}
	if point >= 0 {
		places = len(digits) - point - 1
	}
	if len(digits) < len(text) {
		n = -n
	}
	return n, places, text != ""
}

func compareInts[T int | int64](x, y T) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	default:
		return 0
	}
}

// normal is a number as digits x 10^exponent, without zeros at either end of
// the digits. Zero has no digits and no sign.
type normal struct {
	negative bool
	digits   string
	exponent int
}

func normalise(text string) normal {
	var n normal
	mantissa := text
	if strings.HasPrefix(mantissa, "-") {
		n.negative, mantissa = true, mantissa[1:]
	}
	if i := strings.IndexAny(mantissa, "eE"); i >= 0 {
		n.exponent, mantissa = exponentOf(mantissa[i+1:]), mantissa[:i]
	}
	if whole, fraction, ok := strings.Cut(mantissa, "."); ok {
		mantissa = whole + fraction
		n.exponent -= len(fraction)
	}
	kept := strings.TrimRight(mantissa, "0")
	n.exponent += len(mantissa) - len(kept)
	n.digits = strings.TrimLeft(kept, "0")
	if n.digits == "" {
		return normal{}
	}
	return n
}

// exponentOf reads the digits after the e. A number that is too large for the documents
// we accept saturates, far beyond what they can hold.
func exponentOf(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n > 1<<40 || n < -(1<<40) {
		if strings.HasPrefix(text, "-") {
			return -(1 << 40)
		}
		return 1 << 40
	}
	return n
}

func (n normal) compare(m normal) int {
	switch {
	case n.digits == "" && m.digits == "":
		return 0
	case n.digits == "":
		return sign(!m.negative, -1)
	case m.digits == "":
		return sign(!n.negative, 1)
	case n.negative != m.negative:
		return sign(m.negative, 1)
	}
	return sign(!n.negative, n.compareMagnitude(m))
}

// sign returns result, or its opposite when keep is false.
func sign(keep bool, result int) int {
	if keep {
		return result
	}
	return -result
}

func (n normal) compareMagnitude(m normal) int {
	// The place of the first digit decides, then the digits as text: a shorter
	// text that the other begins with is the smaller number.
	if c := compareInts(len(n.digits)+n.exponent, len(m.digits)+m.exponent); c != 0 {
		return c
	}
	return strings.Compare(n.digits, m.digits)
}

// isMultipleOf reports whether n is m times an integer, exactly.
func (n normal) isMultipleOf(m normal) bool {
	places := n.exponent - m.exponent
	if n.digits == "" || m.digits == "" {
		return n.digits == ""
	}
	if places < 0 {
		return false // n has digits behind the last place of m
	}
	if len(m.digits) <= 9 && len(n.digits) <= 18 {
		a, _ := strconv.ParseUint(n.digits, 10, 64)
		b, _ := strconv.ParseUint(m.digits, 10, 64)
		return a%b*powerOfTen(uint64(places), b)%b == 0 // both factors are below 1e9
	}
	a, _ := new(big.Int).SetString(n.digits, 10)
	b, _ := new(big.Int).SetString(m.digits, 10)
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(places)), b)
	return a.Mul(a, power).Mod(a, b).Sign() == 0
}

// powerOfTen returns 10^exponent modulo m, which is below 1e9.
func powerOfTen(exponent, m uint64) uint64 {
	result, base := 1%m, 10%m
	for ; exponent > 0; exponent >>= 1 {
		if exponent&1 == 1 {
			result = result * base % m
		}
		base = base * base % m
	}
	return result
}

// isNumber reports whether text follows the JSON grammar of numbers.
func isNumber(text string) bool {
	s := strings.TrimPrefix(text, "-")
	whole := leadingDigits(s)
	if whole == 0 || whole > 1 && s[0] == '0' {
		return false
	}
	s = s[whole:]
	if strings.HasPrefix(s, ".") {
		fraction := leadingDigits(s[1:])
		if fraction == 0 {
			return false
		}
		s = s[1+fraction:]
	}
	if s == "" {
		return true
	}
	if s[0] != 'e' && s[0] != 'E' {
		return false
	}
	s = s[1:]
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	return s != "" && leadingDigits(s) == len(s)
}

func leadingDigits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// numberProblem describes why a well-formed number is refused, or "". A number must have
// a finite float64 next to it: other JSON readers turn the rest into infinity, or fail,
// so the document would not mean one thing.
func numberProblem(text string) string {
	if len(text) < 16 && !strings.ContainsAny(text, "eE") {
		return ""
	}
	if len(text) > maxNumberLength {
		return "is longer than " + strconv.Itoa(maxNumberLength) + " characters; round it"
	}
	if f, _ := strconv.ParseFloat(text, 64); math.IsInf(f, 0) {
		return "is too large for a number; write one below 1.8e308"
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		if e := exponentOf(text[i+1:]); e > maxExponent || e < -maxExponent {
			return "has an exponent beyond 1000; write 0, or a number that others can read"
		}
	}
	return ""
}

// Shifted returns the number times 10^places when that is an integer of 64
// bits: money in its smallest unit, without rounding.
func (d Decimal) Shifted(places int) (int64, bool) {
	if d == "" {
		return 0, false
	}
	n := normalise(string(d))
	if n.digits == "" {
		return 0, true
	}
	sign := ""
	if n.negative {
		sign = "-"
	}
	return Decimal(sign + n.digits + "e" + strconv.Itoa(n.exponent+places)).Int64()
}
