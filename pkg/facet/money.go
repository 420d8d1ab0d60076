package facet

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolinput"
	"github.com/interlock-run/interlock/pkg/toolname"
)

// moneyFacet returns the amount of a call in the major unit of its currency (S21.13). It does not say which currency that
// is: a rule compares that on its own.
func (f *Facts) moneyFacet() condition.Set {
	d, described := f.described()
	switch {
	case !described && toolname.Known(f.of.Tool) && !toolinput.TakesCode(f.of.Tool), described && d.Money == nil && d.Closed:
		return condition.KnownSet()
	case !described:
		return condition.Unknown(notDescribed)
	case d.Money == nil:
		return condition.Unknown("the description of the tool does not say its money")
	}
	v, why := f.valueOf(d.Money.Amount)
	currency, whyNot := f.valueOf(d.Money.Currency)
	if why == "" {
		why = whyNot
	}
	switch {
	case why != "":
		return condition.Unknown(why)
	case v.IsZero():
		return condition.Unknown(d.Money.Amount + " is missing")
	case v.Kind() != document.Number:
		return condition.Unknown(d.Money.Amount + " is a " + v.Kind().String() + " and must be a number")
	case currency.Kind() != document.String:
		return condition.Unknown(d.Money.Currency + " must be the code of a currency, such as USD")
	}
	amount, why := inMajor(v.Number(), currency.Str(), d.Money)
	if why != "" {
		return condition.Unknown(why)
	}
	return condition.Set{Known: true, Values: []condition.Element{{Value: amount, Signed: d.Money.Negative}}}
}

// inMajor returns an amount in the major unit of its currency. why says why it is in doubt.
func inMajor(n document.Decimal, currency string, form *toolinput.Amount) (v document.Value, why string) {
	digits, known := toolinput.MinorDigits(currency)
	places := digits
	if form.Minor {
		places = 0
	}
	shifted, ok := pointMoved(n, -digits)
	switch {
	case !known:
		return v, document.Quote(currency) + " is not the code of a currency of ISO 4217"
	case form.Minor && toolinput.MinorDisputed(currency):
		return v, "the minor unit of " + currency + " is not the same everywhere; describe an amount in the major unit"
	case document.CompareNumbers(n, "0") < 0 && !form.Negative:
		return v, "the amount is below 0, which the description of the tool does not allow"
	case !fits(n, places):
		return v, "the amount has more decimals than its unit has"
	case !form.Minor:
		return document.NumberValue(string(n)), ""
	case !ok:
		return v, "the amount is out of range"
	}
	return document.NumberValue(plain(shifted)), ""
}

// longestPlain is how long a number may be that is written without an exponent, in bytes.
const longestPlain = 40

// plain writes a short number without an exponent, as people read it.
func plain(text string) string {
	_, exponent, _ := strings.Cut(text, "e")
	if n, err := strconv.Atoi(exponent); err != nil || max(n, -n) > longestPlain || len(text) > longestPlain {
		return text
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return text
	}
	digits, exact := r.FloatPrec()
	written := r.FloatString(digits)
	if !exact || len(written) > longestPlain {
		return text
	}
	return written
}

// fits reports a number of at most that many decimals.
func fits(n document.Decimal, places int) bool {
	moved, ok := pointMoved(n, places)
	return ok && document.Decimal(moved).IsInteger()
}

// pointMoved returns a number times a power of ten, exactly.
func pointMoved(n document.Decimal, by int) (text string, ok bool) {
	mantissa, exponent := string(n), 0
	if at := strings.IndexAny(mantissa, "eE"); at >= 0 {
		var err error
		if exponent, err = strconv.Atoi(mantissa[at+1:]); err != nil {
			return "", false
		}
		mantissa = mantissa[:at]
	}
	text = mantissa + "e" + strconv.Itoa(exponent+by)
	return text, !document.NumberValue(text).IsZero()
}
