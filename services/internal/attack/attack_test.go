package attack

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/attack"
	"github.com/interlock-run/interlock/pkg/scenario"
)

// target is the attacked workflow, with its invoked workflows and its policies.
type target struct {
	files     []string
	schedules int
}

// few are attacked in every run of the tests, by fixed seeds.
var few = []target{
	{[]string{"bugfix.json", "policies/commands-and-files.json"}, 40},
	{[]string{"deploy-gate.json"}, 40},
	{[]string{"tdd.json"}, 40},
	{[]string{"ci-pipeline.json"}, 25},
	{[]string{"release-train/release-train.json", "release-train/regression-suite.json"}, 30},
	{[]string{"release-check.json"}, 25},
	{[]string{"language/clocks.json"}, 60},
}

// steps of each schedule.
const steps = 40

func attacker(t testing.TB, faults Faults, files ...string) *Attacker {
	t.Helper()
	m, properties := load(t, files...)
	a, err := New(t.Context(), Config{Model: m, Properties: properties, Steps: steps, Dir: scratch(t), Faults: faults})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// attackWith plays schedules, and reports every finding.
func attackWith(t *testing.T, files []string, seed uint64, schedules, steps int) Counts {
	t.Helper()
	a := attacker(t, Faults{}, files...)
	a.cfg.Seed, a.cfg.Seeds, a.cfg.Steps = seed, schedules, steps
	r, err := a.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.Found {
		f := &r.Found[i]
		t.Errorf("%v: seed %d: %s, %s: %s\n  %s\n%s", files, f.Seed, f.Kind, f.Class, f.What, strings.Join(f.Lines, "\n  "), Scenario(a.cfg.Model, f))
	}
	return r.Counts
}

// No outcome that verify calls impossible occurs, and no record is lost or doubled.
func TestSchedules(t *testing.T) {
	t.Parallel()
	all := make([]Counts, len(few))
	t.Run("schedules", func(t *testing.T) {
		for i, target := range few {
			t.Run(target.files[0], func(t *testing.T) {
				t.Parallel()
				all[i] = attackWith(t, target.files, 1, target.schedules, 32)
			})
		}
	})
	var sum Counts
	for _, c := range all {
		sum.add(&c)
	}
	t.Logf("%+v", sum)
	for what, n := range map[string]int{
		"schedules": sum.Schedules / 200, "allowed calls": sum.Allowed / 500, "questions": sum.Asked / 10, "denied calls": sum.Denied / 500,
		"changes": sum.Changes / 500, "kills": sum.Kills / 200, "writes": sum.Writes / 15, "approvals": sum.Approved / 5, "entries decided again": sum.Again / 1000,
	} {
		if n == 0 {
			t.Errorf("there were too few %s for this to show anything: %+v", what, sum)
		}
	}
}

// TestManySchedules plays INTERLOCK_ATTACKS schedules against all examples, by seeds that begin with
// INTERLOCK_SEED, for `make fuzz`.
func TestManySchedules(t *testing.T) {
	t.Parallel()
	schedules, err := strconv.Atoi(os.Getenv("INTERLOCK_ATTACKS"))
	if err != nil {
		t.Skip("set INTERLOCK_ATTACKS to the number of schedules to play")
	}
	seed, err := strconv.ParseUint(os.Getenv("INTERLOCK_SEED"), 10, 64)
	if err != nil {
		seed = 1
	}
	targets := every(t)
	each := (schedules + len(targets) - 1) / len(targets)
	var mu sync.Mutex
	var sum Counts
	began := time.Now()
	t.Run("schedules", func(t *testing.T) {
		for i, files := range targets {
			t.Run(fmt.Sprint(i, " ", files[0]), func(t *testing.T) {
				t.Parallel()
				c := attackWith(t, files, seed, each, steps)
				mu.Lock()
				defer mu.Unlock()
				sum.add(&c)
				t.Logf("%v: %+v", files, c)
			})
		}
	})
	t.Logf("INTERLOCK_SEED=%d: %+v in %s", seed, sum, time.Since(began).Round(time.Second))
}

// every are all workflows of the examples that can be attacked, some with policies.
func every(t *testing.T) (all [][]string) {
	t.Helper()
	alone := map[string]bool{}
	for _, pattern := range []string{"*.json", "language/*.json"} {
		files, err := filepath.Glob(examples + pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			alone[strings.TrimPrefix(file, examples)] = true
		}
	}
	delete(alone, "language/invoke.json")
	all = [][]string{
		{"language/invoke.json", "language/test-suite.json"},
		{"release-train/release-train.json", "release-train/regression-suite.json"},
		{"bugfix.json", "policies/commands-and-files.json"},
		{"review.json", "policies/spending.json"},
		{"deploy-pipeline.json", "policies/email.json"},
	}
	for _, file := range sorted(alone) {
		all = append(all, []string{file})
	}
	if len(all) < 30 {
		t.Fatalf("only %d examples were found", len(all))
	}
	return all
}

// The same seed gives the same schedule, answer by answer, and another seed another one.
func TestScheduleFollowsFromItsSeed(t *testing.T) {
	t.Parallel()
	const seeds = 3
	for _, files := range [][]string{{"deploy-gate.json"}, {"release-train/release-train.json", "release-train/regression-suite.json"}} {
		a, b := attacker(t, Faults{}, files...), attacker(t, Faults{}, files...)
		transcripts := map[string]bool{}
		for seed := range uint64(seeds) {
			first, err := a.draw(t.Context(), seed)
			if err != nil {
				t.Fatal(err)
			}
			second, err := b.draw(t.Context(), seed)
			if err != nil {
				t.Fatal(err)
			}
			again, err := b.Replay(t.Context(), first.Steps)
			if err != nil {
				t.Fatal(err)
			}
			for what, other := range map[string]*Played{"again": second, "replayed": again} {
				if !slices.Equal(first.Lines, other.Lines) {
					t.Errorf("%v: seed %d: %s, it is\n  %s\nand was\n  %s", files, seed, what, strings.Join(other.Lines, "\n  "), strings.Join(first.Lines, "\n  "))
				}
			}
			transcripts[strings.Join(first.Lines, "\n")] = true
		}
		if len(transcripts) != seeds {
			t.Errorf("%d seeds give %d schedules", seeds, len(transcripts))
		}
	}
}

// A property that the definition does not keep is reported as a scenario that fails in the same
// place, and not as an escape.
func TestBrokenProperty(t *testing.T) {
	t.Parallel()
	const leaky = `
id: leaky
initial: coding
states:
  coding:
    allowed_tools: [Read, Bash]
    allowed_commands: [go test]
    on: {SHIP: shipping}
  shipping: {allowed_tools: [Bash], allowed_commands: [kubectl apply], on: {DONE: shipped}}
  shipped: {type: final}
evidence: {green: {tool: Bash, command: go test}}
properties:
  only tested code ships: {before: {state: shipping}, always: {evidence: green}}
  kubectl only while shipping: {never: {command: kubectl apply}, unless: {state: shipping}, while: running}
`
	a := attacker(t, Faults{}, leaky)
	a.cfg.Seeds = 4
	r, err := a.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Found) != 1 || r.Found[0].Kind != Broken || r.Found[0].Class != "only tested code ships" || len(r.Found[0].Steps) != 1 {
		t.Fatalf("found is %+v", r.Found)
	}
	if want := []string{"coding", "shipped", "shipping"}; !slices.Equal(r.Reached, want) {
		t.Errorf("reached are %q", r.Reached)
	}
	text := Scenario(a.cfg.Model, &r.Found[0])
	suite, problems := scenario.Parse(scenario.Source{Name: "leaky.test.yaml", Text: text}, nil)
	if suite == nil {
		t.Fatalf("%v\n%s", problems, text)
	}
	if results := suite.Play(nil); len(results) != 1 || results[0].OK || results[0].Step != 0 {
		t.Errorf("%+v\n%s", results, text)
	}
}

// told holds that an escape is reported as a scenario with the definition's outcome.
func told(t *testing.T, a *Attacker, f *Found) {
	t.Helper()
	text := string(Scenario(a.cfg.Model, f))
	for _, part := range []string{`command":"go test ./..."`, `event: "SHIP"`, `expect: {"state":"coding"}`} {
		if !strings.Contains(text, part) {
			t.Errorf("the scenario lacks %s:\n%s", part, text)
		}
	}
	suite, problems := scenario.Parse(scenario.Source{Name: "told.test.yaml", Text: []byte(text)}, nil)
	if suite == nil {
		t.Fatalf("%v\n%s", problems, text)
	}
	if results := suite.Play(nil); len(results) != 1 || !results[0].OK {
		t.Errorf("%+v\n%s", results, text)
	}
	// The edit voids, and it is open: it may come after the tests or before.
	same := func(s attack.Step, do attack.Do) bool { return s.Do == do }
	if after, before := []attack.Do{attack.Check, attack.Report, attack.Check, attack.Fire}, []attack.Do{attack.Check, attack.Check, attack.Report, attack.Fire}; !slices.EqualFunc(f.Steps, after, same) && !slices.EqualFunc(f.Steps, before, same) {
		t.Errorf("it is shrunk to %v", f.Lines)
	}
}

// A call that was under way when the services died was decided then, or it was not: later steps
// are compared with the actual one.
func TestKilledCalls(t *testing.T) {
	t.Parallel()
	a := attacker(t, Faults{}, tested)
	call := attack.Step{Do: attack.Check, As: attack.Agent, Run: 1, Tool: "Bash", Input: `{"command":"go test ./..."}`, Call: "c1"}
	edit := attack.Step{Do: attack.Check, As: attack.Agent, Run: 1, Tool: "Edit", Input: `{"file_path":"a.go","old_string":"a","new_string":"b"}`, Call: "c2"}
	report := attack.Step{Do: attack.Report, As: attack.Runtime, Run: 1, Tool: "Bash", Call: "c1"}
	ended := attack.Step{Do: attack.Report, As: attack.Runtime, Run: 1, Tool: "Edit", Call: "c2"}
	move := attack.Step{Do: attack.Fire, As: attack.Agent, Run: 1, Event: "SHIP"}
	for _, row := range []struct {
		steps []attack.Step
		last  string
	}{
		{[]attack.Step{{Do: attack.Kill, Commit: 1}, call, report, move}, "GUARD_FAILED"},
		{[]attack.Step{{Do: attack.Kill, Commit: 1, Applied: true}, call, report, move}, "taken, in shipped COMPLETED"},
		{[]attack.Step{{Do: attack.Kill, Commit: 1}, call, edit, ended, call, report, move}, "taken, in shipped COMPLETED"},
		{[]attack.Step{{Do: attack.Kill, Commit: 1, Applied: true}, call, edit, ended, call, report, move}, "GUARD_FAILED"},
		{[]attack.Step{call, {Do: attack.Kill, Commit: 1, Applied: true}, report, move}, "taken, in shipped COMPLETED"},
		{[]attack.Step{call, {Do: attack.Kill, Commit: 1}, report, move}, "taken, in shipped COMPLETED"},
		{[]attack.Step{call, report, {Do: attack.Kill}, edit, move}, "GUARD_FAILED"},
	} {
		played, err := a.Replay(t.Context(), row.steps)
		if err != nil {
			t.Fatal(err)
		}
		if last := played.Lines[len(played.Lines)-1]; len(played.Findings) > 0 || !strings.HasSuffix(last, " -> "+row.last) {
			t.Errorf("found is %v, and the last should be %s:\n  %s", played.Findings, row.last, strings.Join(played.Lines, "\n  "))
		}
	}
}

// An event in the middle of another act when the services died is not taken for that.
func TestKilledRace(t *testing.T) {
	t.Parallel()
	a := attacker(t, Faults{}, "ci-pipeline.json")
	for _, applied := range []bool{false, true} {
		played, err := a.Replay(t.Context(), []attack.Step{
			{Do: attack.Kill, Commit: 2, Applied: applied},
			{
				Do: attack.Check, As: attack.Loose, Run: 1, Tool: "Read", Input: `{"file_path":"a.go"}`, Call: "c1", Commit: 1,
				Race: &attack.Step{Do: attack.Fire, As: attack.Agent, Run: 1, Event: "FAIL"},
			},
			{Do: attack.Fire, As: attack.Agent, Run: 1, Event: "FAIL"},
		})
		if err != nil {
			t.Fatal(err)
		}
		want := map[bool]string{false: "taken, in failed FAILED", true: "RUN_NOT_RUNNING"}[applied]
		if last := played.Lines[len(played.Lines)-1]; len(played.Findings) > 0 || !strings.HasSuffix(last, want) {
			t.Errorf("found is %v, and the last should be %s:\n  %s", played.Findings, want, strings.Join(played.Lines, "\n  "))
		}
	}
}
