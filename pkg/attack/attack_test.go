package attack_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/attack"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/workflow"
)

const definition = `{"id": "w", "initial": "a", "states": {
	"a": {"allowed_tools": ["Read", "mcp__fs__*", "Bash"], "allowed_commands": ["go test"], "on": {"GO": {"target": "b", "guard": "g"}, "STOP": "z"}},
	"b": {"on": {"BACK": "a", "END": "z"}}, "z": {"type": "final"}},
	"guards": {"g": {"all": [{"evidence": "green"}, {"field": "ready", "op": "eq", "value": "certainly"}]}},
	"evidence": {"green": {"tool": "Bash", "command": "go test ./..."}},
	"properties": {"no pushes": {"never": {"command": "git push"}}}}`

func grammar(t *testing.T) *attack.Grammar {
	t.Helper()
	v, problems := document.ParseAll([]byte(definition), document.Limits{})
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	def, problems := workflow.ParseValue(v)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	return attack.NewGrammar([]*workflow.Machine{workflow.Compile(def, 1)}, def.Properties, []string{"mcp__mail__*"}, false)
}

// view is a run in its first state, with calls and a question.
func view() *attack.View {
	return &attack.View{
		Runs:      []attack.Run{{State: "a", Status: "RUNNING", Events: []string{"GO", "STOP"}, Tools: []string{"Read", "mcp__fs__*", "Bash"}, Commands: []string{"go test"}}},
		Calls:     []attack.Call{{Step: attack.Step{Do: attack.Check, As: attack.Agent, Run: 1, Tool: "Read", Call: "c1"}, Allowed: true}},
		Approvals: []attack.Approval{{Pending: true}},
	}
}

// The numbers of a seed never change: a seed that has found something finds it again.
func TestRandIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	r := attack.NewRand(1)
	got := []int{r.N(1000), r.N(1000), r.N(1000), r.N(1), r.N(0)}
	if want := []int{465, 519, 590, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("drawn are %v, not %v", got, want)
	}
}

// A seed gives the same steps, and many seeds together all that there is.
func TestDraw(t *testing.T) {
	t.Parallel()
	g := grammar(t)
	done, words := map[attack.Do]bool{}, map[string]bool{}
	races := 0
	for seed := range uint64(200) {
		a, b := g.Draw(seed), g.Draw(seed)
		for range 40 {
			s, other := a.Next(view()), b.Next(view())
			if !reflect.DeepEqual(s, other) {
				t.Fatalf("seed %d draws %v, and %v", seed, s, other)
			}
			done[s.Do] = true
			if s.Race != nil {
				races++
			}
			for _, word := range []string{"git push", "go test ./...", "certainly", "mcp__mail__x", "mcp__fs__x", "GO", "$(", "forged"} {
				if strings.Contains(s.Input+s.Data+s.Tool+s.Event+s.Call, word) {
					words[word] = true
				}
			}
		}
	}
	all := []attack.Do{
		attack.Check, attack.Report, attack.Fire, attack.Decide, attack.Settle, attack.Consume, attack.Void, attack.Pause, attack.Resume, attack.Cancel,
		attack.Force, attack.Bind, attack.Interrupt, attack.Start, attack.Register, attack.Policy, attack.Stop, attack.Revive, attack.Write, attack.Advance, attack.Kill,
	}
	for _, do := range all {
		if !done[do] {
			t.Errorf("no step is %q", do)
		}
	}
	if len(words) != 8 || races < 100 {
		t.Errorf("of the words there are %v, and of races %d", slices.Sorted(maps.Keys(words)), races)
	}
}

// Most disguises are read: what a line runs is seen, or the line is refused.
func TestDisguises(t *testing.T) {
	t.Parallel()
	r := attack.NewRand(7)
	list := shell.NewList([]string{"rm"})
	seen, refused, other := 0, 0, map[string]bool{}
	for range 5000 {
		line := attack.Disguise(r, "rm -rf x")
		plan, err := shell.Parse(line)
		switch {
		case err != nil:
			refused++
		case slices.ContainsFunc(plan.Commands, func(c shell.Command) bool { _, ok := list.Match(c); return ok }):
			seen++
		default:
			other[line] = true
		}
	}
	if seen < 1000 || refused < 100 || len(other) < 20 {
		t.Errorf("seen in %d lines, refused in %d, something else in %d", seen, refused, len(other))
	}
}

// Shrinking keeps what fails, and nothing else.
func TestShrink(t *testing.T) {
	t.Parallel()
	var steps []attack.Step
	for i := range 60 {
		s := attack.Step{Do: attack.Check, As: attack.Agent, Run: 2, Tool: "Read", Data: "{}"}
		switch i {
		case 11:
			s.Do, s.Event = attack.Fire, "GO"
		case 40:
			s.Do, s.Race = attack.Report, &attack.Step{Do: attack.Pause}
		}
		steps = append(steps, s)
	}
	asked := 0
	got := attack.Shrink(steps, 1000, func(steps []attack.Step) bool {
		asked++
		at := slices.IndexFunc(steps, func(s attack.Step) bool { return s.Do == attack.Fire })
		return at >= 0 && slices.ContainsFunc(steps[at:], func(s attack.Step) bool { return s.Do == attack.Report })
	})
	want := []attack.Step{
		{Do: attack.Fire, As: attack.Agent, Run: 1, Tool: "Read", Event: "GO"},
		{Do: attack.Report, As: attack.Agent, Run: 1, Tool: "Read"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%d steps are left: %+v", len(got), got)
	}
	if asked > 200 {
		t.Errorf("it took %d plays", asked)
	}
	none := attack.Shrink(steps, 5, func([]attack.Step) bool { return false })
	if len(none) != len(steps) {
		t.Errorf("of %d steps, of which none can go, %d are left", len(steps), len(none))
	}
}

// A step is told in one line.
func TestStepString(t *testing.T) {
	t.Parallel()
	s := attack.Step{
		Do: attack.Check, As: attack.Agent, Run: 2, Tool: "Bash", Input: `{"command":"ls"}`, Call: "c1", Commit: 1,
		Race: &attack.Step{Do: attack.Fire, As: attack.Other, Event: "GO", Stale: true},
	}
	const want = `agent: check Bash {"command":"ls"} call c1 (run 2) {before commit 1: other: event GO (at an old version)}`
	if got := s.String(); got != want {
		t.Errorf("%s", got)
	}
}
