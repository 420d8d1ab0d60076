package workflow_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// TestJoinContext: S5.1. Changes of branches merge in definition order, in any order of
// their ends; a key that two set differently is a conflict.
func TestJoinContext(t *testing.T) {
	t.Parallel()
	m := machine(t, `{"id": "j", "initial": "m", "context": {"n": 1, "o": {"a": 1, "b": 2}, "results": {"PLAN": 1}},
	 "states": {
	  "m": {"on": {"FORK": {"fork": {"branches": {
	    "p": {"initial": "p0", "terminal": "pz"}, "q": {"initial": "q0", "terminal": "qz"}, "r": {"initial": "r0", "terminal": "rz"}},
	   "on_complete": "z"}}}},
	  "p0": {"on": {"OK": "pz"}}, "pz": {"type": "final"}, "q0": {"on": {"OK": "qz"}}, "qz": {"type": "final"},
	  "r0": {"on": {"OK": "rz"}}, "rz": {"type": "final"}, "z": {"type": "final"}}}`)
	for _, c := range []struct{ p, q, r, want, conflicts string }{
		{``, ``, ``, `{"n":1,"o":{"a":1,"b":2},"results":{"PLAN":1}}`, ``},
		{`{"n": 2}`, ``, ``, `{"n":2,"o":{"a":1,"b":2},"results":{"PLAN":1}}`, ``},
		// An equal value is not a change, and so it never wins.
		{`{"n": 2}`, `{"n": 1.0}`, `{"o": {"b": 2, "a": 1}}`, `{"n":2,"o":{"a":1,"b":2},"results":{"PLAN":1}}`, ``},
		{`{"n": 2}`, `{"n": 2.0}`, ``, `{"n":2.0,"o":{"a":1,"b":2},"results":{"PLAN":1}}`, ``},
		{`{"n": 2}`, `{"n": 3}`, `{"n": 2}`, `{"n":2,"o":{"a":1,"b":2},"results":{"PLAN":1}}`, `n`},
		{`{"x": null}`, ``, ``, `{"n":1,"o":{"a":1,"b":2},"results":{"PLAN":1},"x":null}`, ``},
		{`{"x": null}`, `{"x": 0}`, ``, `{"n":1,"o":{"a":1,"b":2},"results":{"PLAN":1},"x":0}`, `x`},
		// Merging is shallow (S2.3)...
		{`{"o": {"a": 2}}`, `{"o": {"c": 3}}`, ``, `{"n":1,"o":{"c":3},"results":{"PLAN":1}}`, `o`},
		{`{"b": 1, "a": 1}`, `{"a": 2}`, `{"b": 2}`, `{"n":1,"o":{"a":1,"b":2},"results":{"PLAN":1},"b":2,"a":2}`, `a b`},
		// ... but for the results of children, which are kept by event (S5.5).
		{`{"results": {"PLAN": 1, "A": 2}}`, `{"results": {"B": 3}}`, ``, `{"n":1,"o":{"a":1,"b":2},"results":{"PLAN":1,"A":2,"B":3}}`, ``},
		{`{"results": {"A": 2}, "n": 2}`, `{"results": {"A": 3}, "n": 3}`, ``, `{"n":3,"o":{"a":1,"b":2},"results":{"PLAN":1,"A":3}}`, `n results.A`},
		{`{"results": {"A": 2}}`, `{"results": "none"}`, ``, `{"n":1,"o":{"a":1,"b":2},"results":"none"}`, `results`},
		{`{"results": null}`, `{"results": {"A": 2}}`, ``, `{"n":1,"o":{"a":1,"b":2},"results":{"A":2}}`, `results`},
	} {
		run := steps(t, m, started(t, m), workflow.Fire{Event: "FORK"}).Run
		var out workflow.Result
		for _, b := range []struct{ name, data string }{{"r", c.r}, {"p", c.p}, {"q", c.q}} {
			out = steps(t, m, run, workflow.Fire{Event: "OK", Branch: b.name, Data: value(t, b.data)})
			run = out.Run
		}
		if got, conflicts := run.Context.String(), strings.Join(out.Entry.Joins[0].Conflicts, " "); got != c.want || conflicts != c.conflicts {
			t.Errorf("%s, %s, %s: got %s with conflicts %q,\nwant %s with %q", c.p, c.q, c.r, got, conflicts, c.want, c.conflicts)
		}
	}
}

// TestLargeJoin: S5.4. A fork joins also when the results of its branches do not fit
// together, or it would never: the largest changes are left out, and history says which.
// Earlier values go with them, so that no guard reads it.
func TestLargeJoin(t *testing.T) {
	t.Parallel()
	m := machine(t, `{"id": "j", "initial": "m", "meta": {"debug": true}, "context": {"log": "none", "kept": 1, "results": {"PLAN": 1, "T": 1}},
	 "states": {
	  "m": {"on": {"FORK": {"fork": {"branches": {
	    "p": {"initial": "p0", "terminal": "pz"}, "q": {"initial": "q0", "terminal": "qz"}, "r": {"initial": "r0", "terminal": "rz"}},
	   "on_complete": "done", "on_fail": "lost"}}}},
	  "p0": {"on": {"OK": "pz"}}, "pz": {"type": "final"}, "q0": {"on": {"OK": "qz"}}, "qz": {"type": "final"},
	  "r0": {"on": {"OK": "rz", "BAD": "failed"}}, "rz": {"type": "final"},
	  "done": {"on": {"END": "z"}}, "lost": {"on": {"END": "failed"}}, "z": {"type": "final"}, "failed": {"type": "final"}}}`)
	big := func(kib int) string { return `"` + strings.Repeat("x", kib<<10) + `"` }
	base := `{"log":"none","kept":1,"results":{"PLAN":1,"T":1}}`
	for name, c := range map[string]struct {
		p, q string
		last workflow.Command
		want string // the context in the end, without large texts
		to   string
		left string
	}{
		"it fits":          {`{"a": ` + big(500) + `}`, `{"b": ` + big(500) + `}`, workflow.Fire{Event: "OK", Branch: "r"}, `{"log":"none","kept":1,"results":{"PLAN":1,"T":1},"a":"","b":""}`, "done", ``},
		"all succeeded":    {`{"a": ` + big(600) + `, "ok": false}`, `{"b": ` + big(601) + `}`, workflow.Fire{Event: "OK", Branch: "r"}, `{"log":"none","kept":1,"results":{"PLAN":1,"T":1},"a":"","ok":false}`, "done", `"b"`},
		"one failed":       {`{"a": ` + big(600) + `}`, `{"b": ` + big(601) + `}`, workflow.Fire{Event: "BAD", Branch: "r"}, `{"log":"none","kept":1,"results":{"PLAN":1,"T":1},"a":""}`, "lost", `"b"`},
		"the last one's":   {`{"a": ` + big(600) + `}`, ``, workflow.Fire{Event: "OK", Branch: "r", Data: value(t, `{"c": `+big(700)+`}`)}, `{"log":"none","kept":1,"results":{"PLAN":1,"T":1},"a":""}`, "done", `"c"`},
		"a jump":           {`{"a": ` + big(600) + `}`, ``, workflow.Force{State: "rz", Branch: "r", Context: value(t, `{"c": `+big(700)+`}`)}, `{"log":"none","kept":1,"results":{"PLAN":1,"T":1},"a":""}`, "done", `"c"`},
		"a known key":      {`{"a": ` + big(600) + `}`, `{"log": ` + big(700) + `}`, workflow.Fire{Event: "OK", Branch: "r"}, `{"kept":1,"results":{"PLAN":1,"T":1},"a":""}`, "done", `"log"`},
		"several":          {`{"a": ` + big(900) + `, "log": ` + big(50) + `}`, `{"b": ` + big(901) + `, "c": ` + big(100) + `, "d": ` + big(1) + `}`, workflow.Fire{Event: "OK", Branch: "r"}, `{"log":"","kept":1,"results":{"PLAN":1,"T":1},"c":"","d":""}`, "done", `"b", "a"`},
		"a child's result": {`{"results": {"PLAN": 1, "T": ` + big(800) + `}}`, `{"results": {"PLAN": 1, "T": 1, "U": ` + big(400) + `}}`, workflow.Fire{Event: "OK", Branch: "r"}, `{"log":"none","kept":1,"results":{"PLAN":1,"U":""}}`, "done", `"results.T"`},
		"not what it says": {`{"results": "none", "c": ` + big(20) + `}`, `{"a": ` + big(980) + `, "results": ` + big(20) + `, "log": ` + big(10) + `}`, workflow.Fire{Event: "OK", Branch: "r"}, `{"log":"","kept":1,"results":"","c":""}`, "done", `"a"`},
		"like a result":    {`{"results.T": ` + big(800) + `}`, `{"results": {"PLAN": 1, "T": ` + big(500) + `}}`, workflow.Fire{Event: "OK", Branch: "r"}, `{"log":"none","kept":1,"results":{"PLAN":1,"T":""}}`, "done", `"results.T"`},
	} {
		out := steps(t, m, started(t, m), workflow.Fire{Event: "FORK"},
			workflow.Fire{Event: "OK", Branch: "p", Data: value(t, c.p)}, workflow.Fire{Event: "OK", Branch: "q", Data: value(t, c.q)})
		if got := out.Run.Context.String(); got != base {
			t.Fatalf("%s: %s before the join", name, got)
		}
		out = steps(t, m, out.Run, c.last)
		joined := out.Events[slices.IndexFunc(out.Events, func(ev workflow.Event) bool { return ev.Type == workflow.EventJoined })]
		want := ""
		if c.left != "" {
			want = `the join of event "FORK" leaves out ` + c.left + `, and the previous contents, for the run's context would have more than`
		}
		if got := strings.ReplaceAll(out.Run.Context.String(), "x", ""); got != c.want || out.Run.State != c.to || len(out.Entry.Joins) != 1 ||
			!strings.HasPrefix(out.Entry.Reason, want) || joined.Reason != out.Entry.Reason || (want == "") != (out.Entry.Reason == "") {
			t.Errorf("%s: in %s, context %.200s, for %s", name, out.Run.State, got, out.Entry.Reason)
		}
		if size := len(out.Run.Context.AppendJSON(nil)); size > workflow.MaxContextBytes {
			t.Errorf("%s: the context has %d bytes", name, size)
		}
	}
}

// TestLargeJoinNames: history stays readable however much is left out, and every
// change that has room is kept.
func TestLargeJoinNames(t *testing.T) {
	t.Parallel()
	m := machine(t, calling)
	var p, q []document.Member
	for i := range 100 {
		p = append(p, document.Member{Name: fmt.Sprintf("p%02d", i), Value: document.StringValue(strings.Repeat("x", 10_000+i))})
		q = append(q, document.Member{Name: fmt.Sprintf("q%02d", i), Value: document.StringValue(strings.Repeat("x", 9_000+i))})
	}
	out := steps(t, m, started(t, m), workflow.Fire{Event: "FORK"}, workflow.Fire{Event: "OK", Branch: "p", Data: document.ObjectValue(p)},
		workflow.Fire{Event: "OK", Branch: "q", Data: document.ObjectValue(q)})
	size := len(out.Run.Context.AppendJSON(nil))
	if room := workflow.MaxContextBytes - size; room < 0 || room > 10_200 || out.Run.State != "z" {
		t.Errorf("in %s with %d bytes to spare", out.Run.State, room)
	}
	left := 200 - out.Run.Context.Len()
	if want := fmt.Sprintf(`leaves out "p99", "p98", "p97", "p96", "p95", "p94", "p93", "p92", "p91", "p90" and %d more, and`, left-10); !strings.Contains(out.Entry.Reason, want) {
		t.Errorf("%s, want %s", out.Entry.Reason, want)
	}
}

// A run's record holds the contexts of all its branches: they are bounded
// together.
func TestBranchesHaveRoom(t *testing.T) {
	t.Parallel()
	var branches, states []string
	for i := range 20 {
		branches = append(branches, fmt.Sprintf(`"b%d": {"initial": "i%d", "terminal": "t%d"}`, i, i, i))
		states = append(states, fmt.Sprintf(`"i%d": {"on": {"OK": "t%d", "SELF": "i%d"}}, "t%d": {"type": "final"}`, i, i, i, i))
	}
	m := machine(t, fmt.Sprintf(`{"id": "f", "initial": "a", "states": {
	  "a": {"on": {"GO": {"fork": {"branches": {%s}, "on_complete": "z"}}, "SELF": "a"}}, "z": {"type": "final"}, %s}}`,
		strings.Join(branches, ","), strings.Join(states, ",")))
	data := func(bytes int) document.Value { return value(t, `{"d": "`+strings.Repeat("x", bytes)+`"}`) }
	run := started(t, m)
	out := m.Step(&run, workflow.Fire{Event: "SELF", Data: data(500_000)}, noon)
	if out.Rejection != nil {
		t.Fatal(out.Rejection.Message)
	}
	if big := m.Step(&out.Run, workflow.Fire{Event: "GO"}, noon); codeOf(&big) != workflow.RejectInvalidData {
		t.Errorf("20 copies of half a megabyte: %q", codeOf(&big))
	}
	out = m.Step(&run, workflow.Fire{Event: "GO", Data: data(100)}, noon)
	taken := 0
	for i := range 20 {
		grown := m.Step(&out.Run, workflow.Fire{Event: "SELF", Branch: fmt.Sprint("b", i), Data: data(900_000)}, noon)
		if grown.Rejection == nil {
			out, taken = grown, taken+1
		} else if codeOf(&grown) != workflow.RejectInvalidData {
			t.Fatal(grown.Rejection.Message)
		}
	}
	if most := workflow.MaxRunBytes / 900_000; taken != most {
		t.Errorf("%d branches grew, %d have room", taken, most)
	}
}
