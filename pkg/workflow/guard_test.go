package workflow_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// TestGuards is S2.5 line by line, through a real transition.
func TestGuards(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("testdata/guards.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := 0
	for line := range strings.Lines(string(src)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cases++
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			parts := strings.Split(line, " | ")
			if len(parts) != 3 {
				t.Fatal("want: context | guard | yes or no")
			}
			words := strings.SplitN(parts[1], " ", 3)
			g := workflow.Guard{Name: "g", Field: words[0], Op: words[1]}
			if len(words) == 3 {
				g.Value, g.HasValue = value(t, words[2]), true
			}
			passed, result := passes(t, g, value(t, parts[0]))
			if want := parts[2] == "yes"; passed != want || result.Passed != want {
				t.Errorf("passes = %t, result %s", passed, result)
			}
		})
	}
	if cases < 100 {
		t.Errorf("only %d cases were read", cases)
	}
}

// passes fires an event behind one guard.
func passes(t *testing.T, g workflow.Guard, context document.Value) (bool, workflow.GuardResult) {
	t.Helper()
	m := workflow.Compile(guardedBy(g), 1)
	out := m.Start(workflow.StartParams{ID: "r", Context: context}, "a", time.Time{})
	if out.Rejection != nil {
		t.Fatalf("start: %s", out.Rejection.Message)
	}
	out = m.Step(&out.Run, workflow.Fire{Event: "GO"}, time.Time{})
	if out.Rejection == nil {
		return true, out.Entry.Guards[0]
	}
	if out.Rejection.Code != workflow.RejectGuardFailed || len(out.Rejection.Guards) != 1 {
		t.Fatalf("rejection %s with %d guards", out.Rejection.Code, len(out.Rejection.Guards))
	}
	return false, out.Rejection.Guards[0]
}

func guardedBy(guards ...workflow.Guard) *workflow.Definition {
	names := make([]string, len(guards))
	for i, g := range guards {
		names[i] = g.Name
	}
	return &workflow.Definition{
		ID: "w", Initial: "a", Guards: guards,
		States: []workflow.State{
			{Name: "a", On: []workflow.Transition{{Event: "GO", Branches: []workflow.Branch{{Target: "z", Guards: names}}}}},
			{Name: "z", Final: true, Outcome: workflow.Success},
		},
	}
}

// TestGuardsFailClosed: guards that validation rules out never pass (S2.5).
func TestGuardsFailClosed(t *testing.T) {
	t.Parallel()
	context := value(t, `{"f": "x"}`)
	for _, g := range []workflow.Guard{
		{Name: "no value", Field: "f", Op: "neq"},
		{Name: "no value in", Field: "f", Op: "in"},
		{Name: "in text", Field: "f", Op: "in", Value: document.StringValue("x"), HasValue: true},
		{Name: "unknown operator", Field: "f", Op: "matches", Value: document.StringValue("x"), HasValue: true},
		{Name: "operator in capitals", Field: "f", Op: "EQ", Value: document.StringValue("x"), HasValue: true},
		{Name: "no operator", Field: "f", Value: document.StringValue("x"), HasValue: true},
		{Name: "bad pointer", Field: "/f~2", Op: "exists"},
	} {
		if passed, result := passes(t, g, context); passed {
			t.Errorf("%s passed: %s", g.Name, result)
		}
	}
	def := guardedBy()
	def.States[0].On[0].Branches[0].Guards = []string{"undefined"}
	m := workflow.Compile(def, 1)
	run := m.Start(workflow.StartParams{ID: "r"}, "a", time.Time{}).Run
	if out := m.Step(&run, workflow.Fire{Event: "GO"}, time.Time{}); out.Rejection == nil {
		t.Error("a guard that is not defined passed")
	}
}

// TestEveryFailingGuardIsNamed: S2.3, in structure and in the sentence; values of the
// context stay out of events.
func TestEveryFailingGuardIsNamed(t *testing.T) {
	t.Parallel()
	m := workflow.Compile(guardedBy(
		workflow.Guard{Name: "one", Field: "a", Op: "eq", Value: document.NumberValue("1"), HasValue: true},
		workflow.Guard{Name: "two", Field: "b", Op: "exists"},
		workflow.Guard{Name: "three", Field: "secret", Op: "eq", Value: document.StringValue("y"), HasValue: true},
		workflow.Guard{Name: "four", Field: "d.e", Op: "gt", Value: document.NumberValue("0"), HasValue: true},
	), 1)
	start := m.Start(workflow.StartParams{ID: "r", Context: value(t, `{"a": 2, "b": 1, "secret": "hunter2", "d": {"e": -1}}`)}, "a", time.Time{})
	out := m.Step(&start.Run, workflow.Fire{Event: "GO"}, time.Time{})
	r := out.Rejection
	if r == nil {
		t.Fatal("accepted")
	}
	var names []string
	for _, g := range r.Guards {
		names = append(names, g.Name)
		for _, part := range []string{g.Name, g.Field, g.Op, g.Expected.String(), g.Actual.String()} {
			if !strings.Contains(r.Message, part) {
				t.Errorf("message does not say %q: %s", part, r.Message)
			}
		}
	}
	if got := strings.Join(names, " "); got != "one three four" {
		t.Errorf("failing guards = %s", got)
	}
	if len(out.Events) != 1 || strings.Join(out.Events[0].Guards, " ") != "one three four" {
		t.Fatalf("events = %+v", out.Events)
	}
	if announced := out.Events[0].Message; strings.Contains(announced, "hunter2") || !strings.Contains(announced, `"three"`) {
		t.Errorf("announced: %s", announced)
	}
}

// TestLongValuesAreCut: a message stays readable with anything that an agent has put into
// the context.
func TestLongValuesAreCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä\u202e", 10_000)
	_, result := passes(t, workflow.Guard{Name: "g", Field: "f", Op: "eq", Value: document.StringValue("x"), HasValue: true},
		document.ObjectValue([]document.Member{{Name: "f", Value: document.StringValue(long)}}))
	if s := result.String(); len(s) > 400 || strings.Contains(s, "\u202e") {
		t.Errorf("%d bytes: %q", len(s), s)
	}
}
