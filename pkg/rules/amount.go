package rules

import (
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
)

// AmountLimit denies once the sum of an amount in the calls would be more than Max (S21.7). It has
// a rolling window or a period.
type AmountLimit struct {
	// Of is "money", or a JSON Pointer into the input.
	Of string
	// Max is in millionths, so that sums are exact.
	Max           int64
	WindowSeconds int64
	Period        Period
	Scope         Scope
}

// mostAmount is the largest sum that can be limited: every store counts its millionths exactly.
const mostAmount = 9_000_000_000

const millionths = 1_000_000

// amount reads the values that a limit adds up. guard holds for values that can be added.
type amount struct {
	of    string
	guard *condition.Condition
}

// newAmount returns nil after it has reported a problem.
func newAmount(r *document.Report, of string, at *document.Path) *amount {
	if of != string(condition.Money) && !strings.HasPrefix(of, "/") {
		r.Errorf(at, document.CodeName, "%s is no amount; write \"money\" for the amount of a tool that \"tools\" in \"meta\" describes, or a pointer into its input such as \"/amount\"",
			document.Quote(of))
		return nil
	}
	atLeast0 := document.ObjectValue([]document.Member{{Name: "gte", Value: document.NumberValue("0")}})
	guard := condition.Read(r, document.ObjectValue([]document.Member{{Name: of, Value: atLeast0}}), at, condition.Use{Stance: condition.Allows})
	if guard == nil {
		return nil
	}
	return &amount{of, guard}
}

// need returns the sum of a call, in millionths, and the comparison that this rests on: True, or in
// doubt.
func (a *amount) need(call *Call) (sum int64, rests condition.Leaf) {
	facts := call.Facts
	if facts == nil {
		facts = unread{}
	}
	if a.guard.Judge(facts, condition.Allows) != condition.True {
		return 0, a.doubt(a.guard.Explain(facts, condition.Allows))
	}
	rests.Result = condition.True
	for _, v := range ValuesOf(facts, a.of) {
		n, exact := v.Number().Shifted(microDigits)
		switch {
		case document.CompareNumbers(v.Number(), "9000000000") > 0 || exact && sum+n > mostAmount*millionths:
			return mostAmount*millionths + 1, rests
		case !exact:
			return 0, condition.Leaf{Looks: a.of, Result: condition.Doubt, Why: "adds up " + a.of + ", which has more than 6 decimals. Send fewer."}
		}
		sum += n
	}
	return sum, rests
}

func (a *amount) doubt(leaves []condition.Leaf) condition.Leaf {
	leaf := condition.Leaf{Looks: a.of}
	if len(leaves) > 0 {
		leaf = leaves[0]
	}
	if leaf.Result != condition.Doubt {
		leaf.Result, leaf.Why = condition.Doubt, "adds up "+a.of+", which must not be below 0."
	}
	if leaf.Why == "" {
		leaf.Why = "adds up " + a.of + ", which cannot be read."
	}
	return leaf
}

// ValuesOf returns the values of a call that a pointer leads to, or that a facet has, as far as they are
// known.
func ValuesOf(facts condition.Facts, looks string) []document.Value {
	if strings.HasPrefix(looks, "/") {
		input, _ := facts.Input()
		return along(input, strings.Split(looks[1:], "/"))
	}
	var all []document.Value
	for _, e := range facts.Facet(condition.Facet(looks)).Values {
		all = append(all, e.Value)
	}
	return all
}

// along returns the values at the end of a pointer, in which * is every element.
func along(v document.Value, steps []string) []document.Value {
	if len(steps) == 0 {
		return []document.Value{v}
	}
	if steps[0] == "*" {
		var all []document.Value
		for _, element := range v.Elements() {
			all = append(all, along(element, steps[1:])...)
		}
		return all
	}
	next, ok := document.Lookup(v, "/"+steps[0])
	if !ok {
		return nil
	}
	return along(next, steps[1:])
}

// readAmount reads amount_limit of a rule.
func readAmount(f document.Fields) *AmountLimit {
	a, ok := f.Object("amount_limit")
	if !ok {
		return nil
	}
	a.Known("an amount limit", "of", "max", "window_seconds", "period", "scope")
	a.Require("of", "max")
	limit := &AmountLimit{Scope: readScope(a)}
	if of, ok := a.Str("of"); ok {
		limit.Of = of
		newAmount(f.Report, of, a.At.Key("of"))
	}
	limit.Max = readMaximum(a)
	limit.Period = readPeriod(a)
	if a.Has("window_seconds") {
		limit.WindowSeconds = readWindow(a)
	}
	if a.Has("window_seconds") == a.Has("period") {
		a.Report.Errorf(a.At, document.CodeRequired, "an amount is counted in a window or in a period; write either \"window_seconds\" or \"period\"")
	}
	return limit
}

// readMaximum reads the most that amounts may add up to.
func readMaximum(f document.Fields) int64 {
	v, ok := f.Value.Get("max")
	if !ok {
		return 0
	}
	at := f.At.Key("max")
	if v.Kind() != document.Number {
		f.Report.Errorf(at, document.CodeType, "\"max\" must be a number, not a %s", v.Kind())
		return 0
	}
	most, exact := v.Number().Shifted(microDigits)
	if !exact || most < 1 || most > mostAmount*millionths {
		f.Report.Errorf(at, document.CodeRange, "\"max\" must be a multiple of 0.000001 above 0, at most %d", mostAmount)
		return 0
	}
	return most
}

func (a *AmountLimit) flaw() string {
	var r document.Report
	windowed, periodic := a.WindowSeconds >= 1 && a.WindowSeconds <= maxWindow, a.Period.known()
	switch {
	case a.Max < 1 || a.Max > mostAmount*millionths || !a.Scope.known():
		return "is out of range"
	case windowed == periodic || periodic && a.WindowSeconds != 0 || windowed && a.Period != "":
		return "has not either a window or a period"
	case newAmount(&r, a.Of, nil) == nil:
		return "has no amount"
	default:
		return ""
	}
}
