package verify_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/verify/explore"
	"github.com/interlock-run/interlock/pkg/verify/migrate"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// withCalls is a workflow of one state with entries of calls; ok is false where it cannot be read.
func withCalls(entries string, version int64) (*workflow.Machine, bool) {
	def, problems := workflow.Parse(fmt.Appendf(nil, `{"id": "w", "initial": "a", "states": {"a": {"allowed_tools": ["mcp__pay__*"], "calls": [%s], "on": {"X": "done"}}, "done": {"type": "final"}},
		"meta": {"enforcement": "always"}}`, entries))
	if problems.HasErrors() {
		return nil, false
	}
	return workflow.Compile(def, version), true
}

// TestGainedByCalls: input that only the new version allows is a gain, by the values that either distinguishes (S17.3, S21.20).
func TestGainedByCalls(t *testing.T) {
	t.Parallel()
	const refund = `{"tool": "mcp__pay__refund", "only": %s}`
	for name, c := range map[string]struct {
		was, is string
		want    []string
	}{
		"the same":                 {`{"/n": {"lte": 100}}`, `{"/n": {"lte": 100}}`, nil},
		"a higher bound":           {`{"/n": {"lte": 100}}`, `{"/n": {"lte": 200}}`, []string{`state "a": tool: mcp__pay__refund with input such as {"n":101}`}},
		"a lower bound":            {`{"/n": {"lte": 200}}`, `{"/n": {"lte": 100}}`, nil},
		"the same otherwise":       {`{"/c": ["a", "b"]}`, `{"any": [{"/c": "a"}, {"/c": "b"}]}`, nil},
		"numbers that lose digits": {`{"/n": {"lte": 100}}`, `{"not": {"/n": {"gt": 100}}}`, []string{`mcp__pay__refund with input such as {"n":-9007199254740993}`}},
		"a value more":             {`{"/c": ["eur"]}`, `{"/c": ["eur", "usd"]}`, []string{`mcp__pay__refund with input such as {"c":"usd"}`}},
		"a value less":             {`{"/c": ["eur", "usd"]}`, `{"/c": ["eur"]}`, nil},
		"a default":                {`{"/n": {"lte": 100}}`, `{"/n": {"or": 1, "lte": 100}}`, []string{`mcp__pay__refund with input such as {}`}},
		"a condition more":         {`{"/n": {"lte": 100}}`, `{"/n": {"lte": 100}, "/c": "eur"}`, nil},
		"a condition less":         {`{"/n": {"lte": 100}, "/c": "eur"}`, `{"/n": {"lte": 100}}`, []string{`mcp__pay__refund with input such as`}},
		"another facet":            {`{"host": ["a.org"]}`, `{"host": ["b.org"]}`, []string{`mcp__pay__refund with other host`}},
		"the facet's state":        {`{"state": "a"}`, `{"state": ["a", "b"]}`, nil},
		"elements":                 {`{"/to/*": ["a", "b"]}`, `{"/to/*": ["a", "b", "c"]}`, []string{`mcp__pay__refund with input such as {"to":["c"]}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			was, ok := withCalls(fmt.Sprintf(refund, c.was), 1)
			is, also := withCalls(fmt.Sprintf(refund, c.is), 2)
			if !ok || !also {
				t.Fatal("cannot be read")
			}
			plan := migrate.New(&migrate.Migration{From: was, To: is}, explore.Bounds{MaxStates: 100})
			var got []string
			for i := range plan.Gains {
				got = append(got, plan.Gains[i].String())
			}
			if !slices.EqualFunc(got, c.want, strings.Contains) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestNoInputIsGainedUnseen: a list of calls that is proved to be no gain over another one allows no input that the
// other one refuses (S17.3, S21.20).
func TestNoInputIsGainedUnseen(t *testing.T) {
	t.Parallel()
	r := ruler{randtest.New(t, 11)}
	list := func() string {
		var entries []string
		for range r.IntN(3) {
			entries = append(entries, fmt.Sprintf(`{%s, "only": %s}`, r.of(`"tool": "mcp__pay__refund"`, `"tool": "mcp__pay__*"`, `"capability": "mcp:pay"`), r.condition(1)))
		}
		return strings.Join(entries, ", ")
	}
	proved, gained := 0, 0
	for range randtest.Size(200, 5_000) {
		was, ok := withCalls(list(), 1)
		is, also := withCalls(list(), 2)
		if !ok || !also {
			continue
		}
		plan := migrate.New(&migrate.Migration{From: was, To: is}, explore.Bounds{MaxStates: 100})
		if plan.Verdict != verify.Proved {
			gained++
			continue
		}
		proved++
		for range 40 {
			tool, input := r.of("mcp__pay__refund", "mcp__pay__other"), r.input()
			allows := func(m *workflow.Machine) bool {
				run := m.Start(workflow.StartParams{ID: "run_1"}, "ann", time.Time{}).Run
				at := run.At("")
				return toolcall.Decide(m, &at, facet.InRun(m, &at, toolcall.Call{Tool: tool, Input: []byte(input)})).Decision == toolcall.Allow
			}
			if allows(is) && !allows(was) {
				t.Fatalf("%s of %s is newly allowed, and is said not to be: %v, then %v", tool, input, was.Definition().States[0].Calls, is.Definition().States[0].Calls)
			}
		}
	}
	if proved < 20 || gained < 20 {
		t.Errorf("%d proved, %d not: the draws show too little", proved, gained)
	}
}
