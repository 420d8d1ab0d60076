// Package scenario tests workflows and processes without a server: it reads scenario files and
// plays their cases in memory, on the same pure core that the services run on. The services
// behave as a case that passes here.
//
// It is pure: files come in as bytes, time is virtual, results go out as values.
// It must never let a step pass that it did not execute.
//
// # Expectations
//
// An expect compares only the keys that it names. A step without one must be allowed: a call that is not allowed, or an event that is refused, fails it.
//
//	decision, code      of a call; code is null when it is allowed
//	rejected, guards    of what can be refused: the code, or null; the guards that
//	                    failed, in any order
//	state, status, transition_count
//	interrupt           that is being handled, or null
//	context             the keys that it names, in objects at any depth; {} is empty
//	iterations          calls counted in this entry of the state
//	allowed_tools       in any order; null when the state restricts none
//	legal_events        in any order
//	evidence            whether each that it names is held
//	events              types of what the step's runs announced, in order
//	approval_id         whether the caller waits for humans to decide; of a call, whether
//	                    it does or its run is parked
//
// While a run waits for one that it invoked, or is in a fork, a statement about "the run"
// may be true of any of them: the caller's own branch in the innermost run comes first,
// then the branches and runs around it, up to the one that the case began with. A key
// holds when one of them has that value.
package scenario

import (
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Suite is a scenario file that can be played. It is not changed by that.
type Suite struct {
	// File is its name.
	File  string
	cases []testCase

	main      *definition
	workflows map[string]*definition // all of them, by id
	workspace string
	// policies judge every call.
	policies []*rules.Set
}

// definition is a workflow of a suite, or its process.
type definition struct {
	machine *workflow.Machine
	process *process.Process // nil for a workflow
	// policies judge the calls of its runs, and of those that they invoke. A nil one
	// denies: it is named and not there.
	policies []*rules.Set
	// file that it was read from, and its digest: the same text is the same
	// workflow, wherever it is.
	file, digest string
}

// testCase is one case of a file.
type testCase struct {
	name  string
	line  int
	steps []step
	// begins is when the first step is taken.
	begins time.Time
	// depth is how many sessions are above that of the run, and negative where that is not known.
	depth int
	who   who
	// freeze is in force at its begin; without a duration there is none.
	freeze freeze
	// start is the run that it begins with, observed and granted its evidence.
	start    workflow.Run
	observed evidence.Record
	granted  map[string]bool
}

// step is one action, and its expected result.
type step struct {
	action action
	expect []expectation // none: it must be allowed
	line   int
}

// action is the action of a step.
type action interface {
	// act does it in a simulation.
	act(w *simulation) outcome
	// String names it for a person.
	String() string
}

// Result is the outcome of one case.
type Result struct {
	File, Case string
	OK         bool
	// Line of the step that failed, or of the case; 0 when it is not known.
	Line int
	// Step is the index of the step that failed, from 0; -1 for none.
	Step int
	// Action is that step, for a person.
	Action string
	// Expected and Actual have the same keys: those that the step's expect names.
	// Actual also has "message" when there is one.
	Expected, Actual document.Value
	// Different are the keys that are not as expected, in their order.
	Different []string
	// Message is the text of the answer.
	Message string
}

// Cases counts the cases.
func (s *Suite) Cases() int { return len(s.cases) }

// Play plays every case, each in a simulation of its own, and notes the parts that they reach
// in the coverage; the coverage may be nil.
func (s *Suite) Play(c *Coverage) []Result {
	for _, d := range s.workflows {
		c.add(d)
	}
	if s.main != nil {
		c.add(s.main)
	}
	results := make([]Result, 0, len(s.cases))
	for i := range s.cases {
		results = append(results, s.playCase(&s.cases[i], c))
	}
	return results
}

// playCase stops at the first step that is not as expected.
func (s *Suite) playCase(c *testCase, coverage *Coverage) Result {
	w := newSimulation(s, c, coverage)
	result := Result{File: s.File, Case: c.name, Line: c.line, Step: -1}
	for i := range c.steps {
		step := &c.steps[i]
		out := w.take(step.action)
		v := w.compare(step, out)
		if v.ok() {
			continue
		}
		result.Step, result.Line, result.Action = i, step.line, step.action.String()
		result.Expected, result.Actual, result.Different = v.expected(), v.actual(), v.different()
		result.Message = v.message
		return result
	}
	result.OK = true
	return result
}

// epoch is when a case begins that does not say when.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// notExecuted returns the outcome of a step that needs a feature which this version
// lacks.
func notExecuted(what string) string {
	return fmt.Sprintf("not executed by this version: %s", what)
}
