package workflow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
)

// mergeFitting merges past results, which cannot be refused, into a context. When that is
// too large it leaves out the largest changes, and why says so. The earlier value of a
// change that is left out goes too: no guard must take an old value for a present one.
func mergeFitting(context, changes document.Value) (with document.Value, why string) {
	with, fits := merged(context, changes)
	if fits {
		return with, ""
	}
	var left []string
	gone := make(map[member]bool)
	excess := len(with.AppendJSON(nil)) - MaxContextBytes
	for _, c := range largestFirst(changed(context, with)) {
		if excess <= 0 {
			break
		}
		excess -= c.bytes
		gone[c.member] = true
		left = append(left, c.String())
	}
	return without(with, gone), fmt.Sprintf("leaves out %s, and the previous contents, for %s", someOf(left), tooLarge)
}

// member is a key of a context, or of the results that child runs have left in it: each
// of those counts by itself.
type member struct {
	result bool
	name   string
}

func (m member) String() string {
	if m.result {
		return document.Quote(resultsKey + "." + m.name)
	}
	return document.Quote(m.name)
}

// sized is a member with the bytes of its JSON.
type sized struct {
	member
	bytes int
}

func newSized(m member, v document.Value) sized {
	return sized{m, len(document.StringValue(m.name).AppendJSON(nil)) + len(":") + len(v.AppendJSON(nil))}
}

// changed returns the members that are other than before, in order.
func changed(before, after document.Value) []sized {
	var all []sized
	same := func(was document.Value, name string, v document.Value) bool {
		old, had := was.Get(name)
		return had && document.Equal(old, v)
	}
	for name, v := range after.Members() {
		switch {
		case same(before, name, v):
		case isResults(name, v):
			was, _ := before.Get(name)
			for event, result := range v.Members() {
				if !same(was, event, result) {
					all = append(all, newSized(member{true, event}, result))
				}
			}
		default:
			all = append(all, newSized(member{false, name}, v))
		}
	}
	return all
}

func isResults(name string, v document.Value) bool {
	return name == resultsKey && v.Kind() == document.Object
}

func largestFirst(all []sized) []sized {
	slices.SortStableFunc(all, func(a, b sized) int { return cmp.Compare(b.bytes, a.bytes) })
	return all
}

// without returns a context without some of its members.
func without(context document.Value, gone map[member]bool) document.Value {
	var kept []document.Member
	for name, v := range context.Members() {
		if isResults(name, v) {
			var results []document.Member
			for event, result := range v.Members() {
				if !gone[member{true, event}] {
					results = append(results, document.Member{Name: event, Value: result})
				}
			}
			if len(results) == 0 {
				continue
			}
			v = document.ObjectValue(results)
		}
		if !gone[member{false, name}] {
			kept = append(kept, document.Member{Name: name, Value: v})
		}
	}
	return document.ObjectValue(kept)
}

// someOf lists names for a message, however many there are.
func someOf(names []string) string {
	const most = 10
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
