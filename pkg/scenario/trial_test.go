package scenario_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/scenario"
)

// trialOf parses a trial of a file of the cases, without its cases.
func trialOf(t *testing.T, file, rest string) (*scenario.Trial, document.Problems) {
	t.Helper()
	v, problems := document.FromYAML([]byte(file + "\n" + rest))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	return scenario.ParseTrial(v, 100)
}

// told returns a moment in one line.
func told(m scenario.Moment) string {
	at := m.After.Places[0]
	return fmt.Sprintf("%s: ok=%t %s%s%s %s/%s %s %d", m.Action, m.OK, m.Decision, m.Code, m.Rejected, at.Workflow, at.State.Name, at.Status, at.Iterations)
}

// TestTrialShowsEveryStep: the result of each step is shown, and none ends the trial.
func TestTrialShowsEveryStep(t *testing.T) {
	t.Parallel()
	trial, problems := trialOf(t, gated, `
steps:
- call: {tool: Read}
- call: {tool: Write}
- event: IF
- event: SET
  data: {n: 5}
  expect: {state: b, transition_count: 1}
- event: GO
`)
	if problems != nil {
		t.Fatal(problems)
	}
	before, steps := trial.Play()
	if at := before.Places[0]; at.State.Name != "a" || at.RunID != "run" || string(at.Context.AppendJSON(nil)) != `{"n":1,"deep":{"x":1,"y":[1,2]}}` {
		t.Errorf("it begins in %+v", at)
	}
	var got []string
	moments := slices.Collect(steps)
	for _, m := range moments {
		got = append(got, told(m))
	}
	want := []string{
		"call Read: ok=true ALLOW gated/a RUNNING 1",
		"call Write: ok=false DENYTOOL_NOT_ALLOWED gated/a RUNNING 1",
		"event IF: ok=false GUARD_FAILED gated/a RUNNING 1",
		"event SET: ok=false  gated/a RUNNING 0",
		"event GO: ok=true  gated/z COMPLETED 0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if m := moments[1]; len(m.Verdicts) != 1 || !m.Verdicts[0].State || m.Message != m.Verdicts[0].Message || m.Message == "" {
		t.Errorf("the denial is %+v", m)
	}
	if g := moments[2].Guards; len(g) != 2 || g[0].Name != "ready" || g[0].Actual.String() != "1" || g[0].Expected.String() != "2" {
		t.Errorf("the guards are %+v", g)
	}
	if m := moments[3]; !slices.Equal(m.Different, []string{"state"}) || m.After.Places[0].TransitionCount != 1 {
		t.Errorf("the wrong expectation shows %+v", m)
	}
	if m := moments[4]; !slices.Equal(m.Events, []string{"transitioned", "completed"}) {
		t.Errorf("the end announces %q", m.Events)
	}
	if _, again := trial.Play(); told(slices.Collect(again)[0]) != want[0] {
		t.Error("a second play differs")
	}
}

// TestTrialIsLazy: a step is taken when it is asked for, so that a caller can stop.
func TestTrialIsLazy(t *testing.T) {
	t.Parallel()
	trial, problems := trialOf(t, gated, `steps: [{event: SET}, {event: SET}, {event: SET}]`)
	if problems != nil {
		t.Fatal(problems)
	}
	taken := 0
	_, steps := trial.Play()
	for range steps {
		if taken++; taken == 2 {
			break
		}
	}
	if taken != 2 || trial.Steps() != 3 {
		t.Errorf("%d of %d steps were taken", taken, trial.Steps())
	}
}

// TestTrialShowsWhereEverybodyIs: forks, children, interrupts, approvals and policies.
func TestTrialShowsWhereEverybodyIs(t *testing.T) {
	t.Parallel()
	trial, problems := trialOf(t, nested, `
policies: [{name: p, role: agent, meta: {tools: [InChild]}, default: deny, ask: [{capability: "tool:InChild"}]}]
steps: [{event: F}, {branch: two}, {event: RUN}, {call: {tool: InChild}}, {branch: ""}, {event: G}, {branch: out}, {report: {tool: Edit, files_changed: [x.ini]}}]
`)
	if problems != nil {
		t.Fatal(problems)
	}
	_, steps := trial.Play()
	moments := slices.Collect(steps)
	child := moments[2].After
	places := make([]string, 0, 3)
	for _, p := range child.Places {
		places = append(places, fmt.Sprintf("%s %s %q %s %s", p.RunID, p.Workflow, p.Branch, p.State.Name, p.Status))
	}
	if want := []string{`run2 child "" c RUNNING`, `run nested "two" t WAITING`, `run nested "" a RUNNING`}; !slices.Equal(places, want) {
		t.Errorf("the child stands in %q, want %q", places, want)
	}
	asked := moments[3]
	if asked.Decision != "ASK" || len(asked.After.Approvals) != 1 || len(asked.Verdicts) != 2 || asked.Verdicts[0].Decision != "ALLOW" ||
		asked.Verdicts[1].By.Pointer() != "/ask/0" {
		t.Errorf("the asked call shows %+v", asked)
	}
	last := moments[7]
	if last.Interrupt != "ini" || last.After.Places[0].Interrupt != "ini" || last.After.Places[0].State.Name != "h" {
		t.Errorf("the interrupt shows %+v", last)
	}
	branches := make([]string, 0, 4)
	for _, b := range last.After.Branches {
		branches = append(branches, fmt.Sprintf("%s %s %s %t", b.Path, b.Status, b.State, b.Bound))
	}
	if want := []string{"one ACTIVE o false", "one/in ACTIVE i false", "one/out ACTIVE h true", "two ACTIVE t true"}; !slices.Equal(branches, want) {
		t.Errorf("the branches are %q, want %q", branches, want)
	}
}

// TestTrialOfProcess: the question is shown.
func TestTrialOfProcess(t *testing.T) {
	t.Parallel()
	trial, problems := trialOf(t, `process: {name: p, initial: q, states: {q: {question: "Done?", answers: {done: {next: e}, no: {next: q}}}, e: {question: "Bye.", terminal: true}}}`,
		`steps: [{answer: no}, {answer: maybe}, {answer: done}]`)
	if problems != nil {
		t.Fatal(problems)
	}
	before, steps := trial.Play()
	if before.Places[0].Question != "Done?" {
		t.Errorf("it asks %q", before.Places[0].Question)
	}
	moments := slices.Collect(steps)
	if !moments[0].OK || moments[1].Rejected != "UNKNOWN_EVENT" || moments[2].After.Places[0].Status != "COMPLETED" {
		t.Errorf("it shows %+v", moments)
	}
}

// TestTrialProblems: all that is wrong is reported at once, with pointers into the text.
func TestTrialProblems(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[]`:                      `TYPE`,
		`{}`:                      `/workflow REQUIRED`,
		`{workflow: deploy.json}`: `/workflow TYPE`,
		`{workflow: {id: w, initial: a, states: {a: {on: {GO: b}}}}}`:                                                                              `/workflow/states/a/on/GO UNKNOWN_STATE`,
		`{workflow: {id: w, initial: a, states: {a: {on: {GO: z}}, z: {type: final}}}, cases: []}`:                                                 `/cases UNKNOWN_FIELD`,
		`{workflow: {id: w, initial: a, states: {a: {on: {GO: z}}, z: {type: final}}}, policies: [x.json]}`:                                        `/policies/0 TYPE`,
		`{workflow: {id: w, initial: a, states: {a: {on: {GO: z}}, z: {type: final}}}, given: {state: y}}`:                                         `/given/state UNKNOWN_STATE`,
		`{workflow: {id: w, initial: a, states: {a: {on: {GO: z}}, z: {type: final}}}, steps: [{event: GO}, {evnt: GO}, {call: {}}]}`:              `/steps/1 REQUIRED /steps/1/evnt UNKNOWN_FIELD /steps/2/call/tool REQUIRED`,
		`{workflow: {id: w, initial: a, states: {a: {on: {GO: z}}, z: {type: final}}}, steps: ` + "[" + strings.Repeat("{event: GO},", 101) + `]}`: `/steps TOO_MANY`,
	} {
		v, problems := document.FromYAML([]byte(text))
		if problems.HasErrors() {
			t.Fatal(problems)
		}
		trial, problems := scenario.ParseTrial(v, 100)
		var got []string
		for _, p := range problems {
			got = append(got, strings.TrimSpace(p.Pointer+" "+p.Code))
		}
		if trial != nil || !strings.Contains(strings.Join(got, " "), want) {
			t.Errorf("%s\n got %q, want %s", text, got, want)
		}
	}
}

// TestTrialAgreesWithPlay: a trial goes the same way as a case of a file.
func TestTrialAgreesWithPlay(t *testing.T) {
	t.Parallel()
	for _, file := range []string{gated, nested} {
		trial, problems := trialOf(t, file, `steps: [{event: GO, expect: {state: z}}, {event: F, expect: {state: o}}, {pause: {}}, {resume: {}}]`)
		if problems != nil {
			t.Fatal(problems)
		}
		suite, wrong := scenario.Parse(scenario.Source{Name: "x.yaml", Text: []byte(file + `
cases: [{name: c, steps: [{event: GO, expect: {state: z}}, {event: F, expect: {state: o}}, {pause: {}}, {resume: {}}]}]`)}, nil)
		if wrong != nil {
			t.Fatal(wrong)
		}
		result := suite.Play(nil)[0]
		_, steps := trial.Play()
		failed := slices.IndexFunc(slices.Collect(steps), func(m scenario.Moment) bool { return !m.OK })
		if failed != result.Step {
			text, _ := json.Marshal(result.Message)
			t.Errorf("as a case step %d fails (%s), as a trial %d", result.Step, text, failed)
		}
	}
}
