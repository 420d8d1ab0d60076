package verify_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/verify"
)

// TestShortGuards: guards in the short form are explored by the values that they distinguish (S21.17). Where
// a guard has too many of them, the verdict is NOT PROVED.
func TestShortGuards(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		guards, on, property string
		want                 verify.Verdict
	}{
		{`{g: {"/x": {gte: 80}}}`, `{BAD: {target: bad, guard: g}}`, `{never: {state: bad}}`, verify.Refuted},
		{`{g: {"/x": {gte: 80, lt: 80}}}`, `{BAD: {target: bad, guard: g}}`, `{never: {state: bad}}`, verify.Proved},
		{`{g: {"/x": 1, not: {"/x": 1}}}`, `{BAD: {target: bad, guard: g}}`, `{never: {state: bad}}`, verify.Proved},
		{`{g: {"/x": 1}, h: {not: {"/x": 1}}}`, `{BAD: {target: bad, guards: [g, h]}}`, `{never: {state: bad}}`, verify.Proved},
		{`{g: {"/x": 1}, h: {"/x": [1, 2]}}`, `{BAD: {target: bad, guards: [g, h]}}`, `{never: {state: bad}}`, verify.Refuted},
		{`{g: {"/x": 1}, h: {"/y": 2}}`, `{BAD: {target: bad, guards: [g, h]}}`, `{never: {state: bad}}`, verify.Refuted},
		// Neither a guard nor its opposite passes in doubt.
		{`{g: {"/x": 1}, h: {not: {"/x": 1}}}`, `{GO: [{target: done, guard: g}, {target: done, guard: h}, {target: bad}]}`, `{never: {state: bad}}`, verify.Refuted},
		{`{g: {"/x/y": {gt: 5}}}`, `{BAD: {target: bad, guard: g}}`, `{never: {state: bad}}`, verify.Refuted},
		{`{g: {all: [{"/x": 1}, {field: z, op: eq, value: 1}]}}`, `{BAD: {target: bad, guard: g}}`, `{never: {state: bad}}`, verify.Refuted},
		{`{g: {all: [{"/x": 1}, {field: x, op: eq, value: 2}]}}`, `{BAD: {target: bad, guard: g}}`, `{never: {state: bad}}`, verify.Undecided},
		{`{g: {"/x/a": 1, "/x/b": 2, "/n": {gt: 1, lt: 1}}}`, `{BAD: {target: bad, guard: g}}`, `{never: {state: bad}}`, verify.Undecided},
		{`{g: {"/x": {like: "a*"}, "/n": {gt: 1, lt: 1}}}`, `{BAD: {target: bad, guard: g}}`, `{never: {state: bad}}`, verify.Undecided},
		// Doubt about a key that looks like another one is none of its values.
		{`{g: {"/x": {exists: true}}, h: {"/x": {not_exists: true}}}`, `{GO: [{target: done, guard: g}, {target: done, guard: h}, {target: bad}]}`, `{never: {state: bad}}`, verify.Undecided},
	} {
		m := model(t, `{id: w, initial: a, guards: `+c.guards+`, states: {a: {on: {SET: b}}, b: {on: `+c.on+`}, bad: {on: {X: done}}, done: {type: final}}}`)
		got := verify.Check(m, properties(t, m, "{p: "+c.property+"}"), verify.Options{}).Results[0]
		if got.Verdict != c.want {
			t.Errorf("%s %s: %s, want %s: %s", c.guards, c.on, got.Verdict, c.want, got.Reason)
		}
		if got.Verdict == verify.Refuted {
			failsAtTheEnd(t, got.Counterexample)
		}
	}
}
