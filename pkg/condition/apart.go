package condition

import (
	"math/big"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
)

// Class is arguments that stand for all others which comparisons with one pointer cannot tell apart.
type Class struct {
	// Arguments is an object; Unread is true of arguments that are none.
	Arguments document.Value
	Unread    bool
	// Open is true when the class has more texts or lists than this one, which Comparison.Within tells apart.
	Open bool
}

// Input implements Call.
func (c Class) Input() (document.Value, bool) { return c.Arguments, !c.Unread }

// Facet implements Call: no facet is known.
func (c Class) Facet(Facet) Set { return Unknown("") }

// mostClasses bounds the classes of one pointer.
const mostClasses = 1024

// mostJudged bounds the work on the lists of one pointer: a definition is read by a server, and may come from an agent.
const mostJudged = 1 << 15

// longest is the longest list or text that is made for a class.
const longest = 512

// Within reports that results differ within an open class: the comparison looks into texts or lists, or counts
// the values of a pointer with *.
func (c Comparison) Within() bool {
	return c.leaf.count != nil && c.leaf.path.starred() || slices.ContainsFunc(c.leaf.tests, func(x test) bool {
		return x.op == opLike || x.op == opContains || x.op == opLength || x.op == opBytes
	})
}

// Classes returns arguments for every result that comparisons with one pointer can have, and more. It is
// false when they are too many, or have bounds that are too far apart to be listed; then any result is possible.
func Classes(all []Comparison) ([]Class, bool) {
	a := apart{}
	for _, c := range all {
		a.add(c.leaf)
	}
	a.values = a.all()
	path := all[0].leaf.path
	star := slices.IndexFunc(path, func(s segment) bool { return s.star })
	before, ends := path, a.values
	if star >= 0 {
		before, ends = path[:star], a.lists(all, path[:star], path[star+1:])
	}
	classes := []Class{{Unread: true}}
	for _, s := range shapes(before, ends) {
		if s.value.Kind() == document.Object {
			classes = append(classes, Class{Arguments: s.value, Open: s.open})
		}
	}
	return classes, !a.failed && len(classes) <= mostClasses
}

// shape is a value that stands for others.
type shape struct {
	value document.Value
	open  bool
}

// apart collects the literals of comparisons with one pointer.
type apart struct {
	numbers []document.Decimal
	texts   []string
	samples []string // texts that patterns match
	lengths []int
	counts  bool // some comparison counts
	values  []shape
	failed  bool
}

func (a *apart) add(l *leaf) {
	for i := range l.tests {
		x := &l.tests[i]
		switch x.op {
		case opLike, opContains:
			a.samples = append(a.samples, strings.NewReplacer("*", "x", "?", "x").Replace(x.value.Str()))
		case opLength, opBytes:
			a.sizes(x.sizes, func(n int) { a.samples = append(a.samples, strings.Repeat("x", n)) })
		default:
			a.literal(x.value)
		}
		for _, v := range x.values {
			a.literal(v)
		}
	}
	a.literal(l.or)
	a.sizes(l.count, func(n int) { a.lengths = append(a.lengths, n) })
	a.counts = a.counts || l.count != nil
}

func (a *apart) literal(v document.Value) {
	switch v.Kind() {
	case document.Number:
		a.numbers = append(a.numbers, v.Number())
	case document.String:
		a.texts = append(a.texts, v.Str())
	default:
	}
}

// sizes calls add with the sizes next to those that tests name.
func (a *apart) sizes(tests []test, add func(int)) {
	for i := range tests {
		for _, v := range append(slices.Clone(tests[i].values), tests[i].value) {
			if v.IsZero() {
				continue
			}
			n, ok := v.Number().Int64()
			if !ok || n >= longest {
				a.failed = true
				continue
			}
			for m := max(n-1, 0); m <= n+1; m++ {
				add(int(m))
			}
		}
	}
}

// all returns a value of every kind, the literals, and values between them.
func (a *apart) all() []shape {
	out := []shape{
		{value: document.NullValue()},
		{value: document.BoolValue(true)},
		{value: document.BoolValue(false)},
		{value: document.ObjectValue(nil)},
		{value: document.ArrayValue(nil)},
		{value: document.ArrayValue(nulls(1)), open: true},
	}
	for _, n := range a.lengths {
		out = append(out, shape{value: document.ArrayValue(nulls(n)), open: n > 0})
	}
	numbers, ok := betweenNumbers(a.numbers)
	a.failed = a.failed || !ok
	for _, n := range numbers {
		out = append(out, shape{value: document.NumberValue(n)})
	}
	for _, text := range a.texts {
		out = append(out, shape{value: document.StringValue(text)})
	}
	for _, text := range betweenTexts(a.texts) {
		out = append(out, shape{value: document.StringValue(text), open: true})
	}
	for _, text := range a.samples {
		out = append(out, shape{value: document.StringValue(text)})
	}
	return out
}

func nulls(n int) []document.Value { return slices.Repeat([]document.Value{document.NullValue()}, n) }

// shapes returns values in which a pointer leads to one of some values, is missing, or cannot be followed.
func shapes(path pointer, ends []shape) []shape {
	if len(path) == 0 {
		return ends
	}
	rest := shapes(path[1:], ends)
	out := []shape{{value: document.StringValue("x")}, {value: document.NumberValue("0")}, {value: document.ObjectValue(nil)}}
	for _, s := range rest {
		var v document.Value
		if path[0].star {
			v = document.ArrayValue([]document.Value{s.value})
		} else {
			v = document.ObjectValue([]document.Member{{Name: path[0].name, Value: s.value}})
		}
		out = append(out, shape{value: v, open: s.open})
	}
	if path[0].star {
		out = append(out, shape{value: document.ArrayValue(nil)})
	}
	return out
}

// lists returns lists of elements for every combination of results. A further element only adds to the results of a
// list, so that lists are made longer as long as that gives other results.
func (a *apart) lists(all []Comparison, before, rest pointer) []shape {
	elements := shapes(rest, a.values)
	out := []shape{{value: document.StringValue("x")}, {value: document.ArrayValue(nil)}}
	seen := map[string]bool{}
	judged := 0
	visit := func(s shape) {
		judged += len(all) * (1 + s.value.Len())
		key := []byte{'c'}
		if s.open {
			key[0] = 'o'
		}
		for _, c := range all {
			for stance := Restricts; stance <= Allows; stance++ {
				key = append(key, '0'+byte(c.Judge(Class{Arguments: within(before, s.value)}, stance)))
			}
		}
		if !seen[string(key)] {
			seen[string(key)] = true
			out = append(out, s)
		}
	}
	visit(out[1])
	for i := 1; i < len(out); i++ {
		if len(out) > mostClasses || out[i].value.Len() > longest || judged > mostJudged {
			a.failed = true
			break
		}
		for _, e := range elements {
			visit(shape{document.ArrayValue(append(elementsOf(out[i].value), e.value)), out[i].open || e.open || a.counts})
		}
	}
	return out
}

func elementsOf(v document.Value) []document.Value {
	var all []document.Value
	for _, e := range v.Elements() {
		all = append(all, e)
	}
	return all
}

// within returns arguments in which a pointer leads to a value.
func within(path pointer, v document.Value) document.Value {
	for _, s := range slices.Backward(path) {
		v = document.ObjectValue([]document.Member{{Name: s.name, Value: v}})
	}
	return v
}

// betweenTexts returns a text before some others, one after each, and so one between any two.
func betweenTexts(texts []string) []string {
	texts = slices.Compact(slices.Sorted(slices.Values(texts)))
	out := []string{""}
	if len(texts) > 0 && texts[0] == "" {
		out = nil
	}
	for i, text := range texts {
		for _, more := range []string{"x", "0", " ", "\x00"} {
			if i+1 == len(texts) || text+more < texts[i+1] {
				out = append(out, text+more)
				break
			}
		}
	}
	if len(texts) == 0 {
		out = append(out, "x")
	}
	return out
}

// Bounds of the numbers between which others are sought.
const (
	mostDecimals = 40
	// spare is the number of decimals that numbers get which not every program keeps.
	spare = 60
)

// betweenNumbers returns numbers, and between any two, before and after them one that every program keeps, where there
// is one, and one that not every program does.
func betweenNumbers(numbers []document.Decimal) ([]string, bool) {
	scale, within := powerOfTen(mostDecimals+spare), powerOfTen(mostDecimals)
	var points []*big.Int
	for _, n := range append(slices.Clone(numbers), exact, "-"+exact, "0") {
		r, ok := new(big.Rat).SetString(string(n))
		if !ok || !r.Mul(r, new(big.Rat).SetInt(within)).IsInt() {
			return nil, false
		}
		points = append(points, new(big.Int).Mul(r.Num(), powerOfTen(spare)))
	}
	slices.SortFunc(points, (*big.Int).Cmp)
	points = slices.CompactFunc(points, func(a, b *big.Int) bool { return a.Cmp(b) == 0 })
	tiny, odd := big.NewInt(1), big.NewInt(1234567890123456789)
	add := func(a, b *big.Int) *big.Int { return new(big.Int).Add(a, b) }
	first, last := points[0], points[len(points)-1]
	all := []*big.Int{
		add(first, new(big.Int).Neg(tiny)), add(first, new(big.Int).Neg(scale)), add(add(first, first), new(big.Int).Neg(scale)),
		last, add(last, tiny), add(last, scale), add(add(last, last), scale),
	}
	for i, p := range points[:len(points)-1] {
		next := points[i+1]
		short, middle := shortest(p, next), add(p, next)
		middle.Rsh(middle, 1)
		all = append(all, p, add(p, tiny), short, add(short, odd), shortest(short, next), middle, shortest(middle, next), add(next, new(big.Int).Neg(tiny)))
	}
	slices.SortFunc(all, (*big.Int).Cmp)
	all = slices.CompactFunc(all, func(a, b *big.Int) bool { return a.Cmp(b) == 0 })
	out := make([]string, len(all))
	for i, n := range all {
		out[i] = decimal(n)
	}
	return out, true
}

// shortest returns the number with the fewest decimals between two.
func shortest(a, b *big.Int) *big.Int {
	for d := mostDecimals + spare; d > 0; d-- {
		step := powerOfTen(d)
		next := new(big.Int).Div(a, step)
		next.Add(next, big.NewInt(1)).Mul(next, step)
		if next.Cmp(b) < 0 {
			return next
		}
	}
	return new(big.Int).Add(a, big.NewInt(1))
}

func powerOfTen(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// decimal writes a number that is given in units of the last decimal.
func decimal(n *big.Int) string {
	text, sign := new(big.Int).Abs(n).String(), ""
	if n.Sign() < 0 {
		sign = "-"
	}
	const places = mostDecimals + spare
	if len(text) <= places {
		text = strings.Repeat("0", places+1-len(text)) + text
	}
	whole, rest := text[:len(text)-places], strings.TrimRight(text[len(text)-places:], "0")
	if rest == "" {
		return sign + whole
	}
	return sign + whole + "." + rest
}
