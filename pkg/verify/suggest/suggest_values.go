package suggest

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/verify/conform"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// seenCall is one call with its facts.
type seenCall struct {
	run   string
	facts condition.Facts
}

// seenCalls are the calls of one tool in a state; hidden is true when an input was not kept.
type seenCalls struct {
	all    []seenCall
	hidden bool
}

// values notes the facts of a call.
func (s *suggester) values(m *workflow.Machine, in *seenIn, t *conform.Trace, d *conform.Traced, run *workflow.Run) {
	calls := in.values[d.Tool]
	if calls == nil {
		calls = &seenCalls{}
		in.values[d.Tool] = calls
	}
	if run == nil || d.Input == nil || toolcall.InputDigest(d.Tool, d.Input) != d.Digest {
		calls.hidden = true
		return
	}
	at := run.At(d.Branch)
	call := facet.InRun(m, &at, toolcall.Call{Tool: d.Tool, Input: d.Input})
	calls.all = append(calls.all, seenCall{t.RunID, call.Facts})
}

// A state gets at most mostValues values in a list, each at most longestValue bytes long.
const (
	mostValues   = 5
	longestValue = 64
)

// conditions returns the entries of calls that hold for all calls of a state: for each tool, the folders that it
// changed, the hosts that it reached, and the bounds and few values of its arguments.
func (s *suggester) conditions(state *workflow.StateView, in *seenIn) []document.Value {
	if len(state.Calls) > 0 {
		s.leave("state %s: calls stays, because it has conditions already", document.Quote(state.Name))
		return nil
	}
	var entries []document.Value
	for _, tool := range slices.Sorted(maps.Keys(in.values)) {
		calls := in.values[tool]
		if calls.hidden {
			s.leave("state %s: no conditions for %s, because some inputs were not kept (meta.capture_output keeps them)", document.Quote(state.Name), tool)
			continue
		}
		if only := calls.condition(); len(only) > 0 {
			entries = append(entries, document.ObjectValue([]document.Member{
				{Name: "tool", Value: document.StringValue(tool)},
				{Name: "only", Value: document.ObjectValue(only)},
			}))
		}
	}
	return entries
}

// condition returns the keys that hold for every call. A key needs the support of at least two runs: without
// any one of them, the others must propose a value that holds for its calls.
func (c *seenCalls) condition() (only []document.Member) {
	for _, key := range c.keys() {
		all := proposed(key, c.all)
		if all.IsZero() || !holds(key, all, c.all) || !c.withoutEach(key) {
			continue
		}
		only = append(only, document.Member{Name: key, Value: all})
	}
	return only
}

// keys returns the facets and pointers that may have a rule.
func (c *seenCalls) keys() []string {
	keys := []string{string(condition.Writes), string(condition.Host), string(condition.GitRefs)}
	names := map[string]bool{}
	for i := range c.all {
		input, _ := c.all[i].facts.Input()
		for name, v := range input.Members() {
			switch v.Kind() {
			case document.String, document.Number, document.Bool:
				names[document.Pointer(name)] = true
			default:
			}
		}
	}
	return append(keys, slices.Sorted(maps.Keys(names))...)
}

// withoutEach reports that for each run, the calls of the others propose a value that holds for its calls.
func (c *seenCalls) withoutEach(key string) bool {
	var runs runSet
	for i := range c.all {
		runs.add(c.all[i].run)
	}
	if len(runs.ids) < 2 {
		return false
	}
	for _, run := range runs.ids {
		var rest, its []seenCall
		for _, call := range c.all {
			if call.run == run {
				its = append(its, call)
			} else {
				rest = append(rest, call)
			}
		}
		if v := proposed(key, rest); v.IsZero() || !holds(key, v, its) {
			return false
		}
	}
	return true
}

// holds reports that a condition of one key holds for calls.
func holds(key string, matcher document.Value, calls []seenCall) bool {
	var report document.Report
	v := document.ObjectValue([]document.Member{{Name: key, Value: matcher}})
	c := condition.Read(&report, v, nil, condition.Use{Stance: condition.Requires})
	return c != nil && !report.HasErrors() && !slices.ContainsFunc(calls, func(call seenCall) bool {
		return c.Judge(call.facts, condition.Requires) != condition.True
	})
}

// proposed returns the matcher that calls propose for a key; missing for none.
func proposed(key string, calls []seenCall) document.Value {
	var values []document.Value
	for i := range calls {
		if key[0] == '/' {
			input, _ := calls[i].facts.Input()
			name, _ := strings.CutPrefix(key, "/")
			v, _ := input.Get(strings.NewReplacer("~1", "/", "~0", "~").Replace(name))
			values = append(values, v)
			continue
		}
		set := calls[i].facts.Facet(condition.Facet(key))
		if !set.Known {
			return document.Value{}
		}
		for _, e := range set.Values {
			values = append(values, e.Value)
		}
	}
	switch condition.Facet(key) {
	case condition.Writes, condition.GitRefs:
		return folders(values)
	case condition.Host:
		return fewTexts(values)
	default:
		return scalar(values)
	}
}

// scalar returns the bounds of numbers, or a list of few values.
func scalar(values []document.Value) document.Value {
	if len(values) == 0 {
		return document.Value{}
	}
	switch values[0].Kind() {
	case document.Number:
		return bounds(values)
	case document.Bool:
		if slices.ContainsFunc(values, func(v document.Value) bool { return !document.Equal(v, values[0]) }) {
			return document.Value{}
		}
		return values[0]
	default:
		return fewTexts(values)
	}
}

// bounds returns the greatest number, rounded up to two digits, and 0 as the least if none is below.
func bounds(values []document.Value) document.Value {
	most := 0.0
	for _, v := range values {
		if v.Kind() != document.Number {
			return document.Value{}
		}
		f, err := strconv.ParseFloat(string(v.Number()), 64)
		if err != nil || f < 0 || f > 1e15 {
			return document.Value{}
		}
		most = max(most, f)
	}
	return document.ObjectValue([]document.Member{
		{Name: "gte", Value: document.NumberValue("0")},
		{Name: "lte", Value: document.NumberValue(roundedUp(most))},
	})
}

// roundedUp returns a number that is at least f, with two digits that are not 0.
func roundedUp(f float64) string {
	unit := 1.0
	for f/unit > 99 {
		unit *= 10
	}
	for f > 0 && f/unit < 10 {
		unit /= 10
	}
	digits := int64(f / unit)
	for float64(digits)*unit < f {
		digits++
	}
	return strconv.FormatFloat(float64(digits)*unit, 'f', max(0, decimals(unit)), 64)
}

// decimals returns the digits after the point of a power of ten.
func decimals(unit float64) (n int) {
	for ; unit < 0.999; unit *= 10 {
		n++
	}
	return n
}

// fewTexts returns a list of texts that may be an enumeration. Addresses and prose are not proposed: they may be
// about people.
func fewTexts(values []document.Value) document.Value {
	known := map[string]bool{}
	for _, v := range values {
		text := v.Str()
		if v.Kind() != document.String || text == "" || len(text) > longestValue || strings.ContainsAny(text, "@ \t\n*?") {
			return document.Value{}
		}
		known[text] = true
	}
	if len(known) == 0 || len(known) > mostValues {
		return document.Value{}
	}
	return listOf(slices.Sorted(maps.Keys(known)))
}

// folders returns patterns of the folders below which all names are: the longest common one, or the few at the
// top.
func folders(values []document.Value) document.Value {
	var names []string
	for _, v := range values {
		name := v.Str()
		if name == "" || name[0] == '/' || strings.HasPrefix(name, "..") || strings.ContainsAny(name, "*?[") {
			return document.Value{}
		}
		names = append(names, path.Dir(name))
	}
	if len(names) == 0 {
		return document.Value{}
	}
	tops := map[string][]string{}
	for _, name := range names {
		top, _, _ := strings.Cut(name, "/")
		tops[top] = append(tops[top], name)
	}
	if len(tops["."]) > 0 || len(tops) > mostValues {
		return document.Value{}
	}
	var patterns []string
	for _, top := range slices.Sorted(maps.Keys(tops)) {
		patterns = append(patterns, common(tops[top])+"/**")
	}
	return listOf(patterns)
}

// common returns the longest folder that holds all.
func common(names []string) string {
	steps := strings.Split(names[0], "/")
	for _, name := range names[1:] {
		other := strings.Split(name, "/")
		n := 0
		for n < min(len(steps), len(other)) && steps[n] == other[n] {
			n++
		}
		steps = steps[:n]
	}
	return strings.Join(steps, "/")
}

// basis describes how much was seen of the tools that have conditions.
func (in *seenIn) basis() string {
	n := 0
	for _, calls := range in.values {
		n += len(calls.all)
	}
	return fmt.Sprintf("%s; agents choose their input, so read them", counted(n, "call"))
}
