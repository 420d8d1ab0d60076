package workflow_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/workflow"
)

const guarded = `{"id": "deploy", "initial": "testing",
 "context": {"test_result": "pass", "coverage": 92, "tags": ["reviewed"], "release": {"branch": "main"}, "attempt": 3},
 "states": {
  "testing": {"on": {
    "DEPLOY": {"target": "deploying", "guards": ["tests_passed", "covered", "on_main"]},
    "FAIL": "failed"}},
  "deploying": {"on": {"BACK": "testing", "DONE": "complete"}},
  "complete": {"type": "final"}, "failed": {"type": "final"}},
 "guards": {
  "tests_passed": {"field": "test_result", "op": "eq", "value": "pass"},
  "covered": {"field": "coverage", "op": "gte", "value": 80},
  "on_main": {"field": "release.branch", "op": "in", "value": ["main", "stable"]}}}`

// BenchmarkStepGuarded is an accepted transition behind three guards with data
// to merge, its history entry and event included. Goal: at most 1 us.
func BenchmarkStepGuarded(b *testing.B) {
	m := machine(b, guarded)
	run := started(b, m)
	var fire workflow.Command = workflow.Fire{Event: "DEPLOY", Data: value(b, `{"attempt": 4, "rationale": "green"}`), Actor: "ann"}
	b.ReportAllocs()
	for b.Loop() {
		if out := m.Step(&run, fire, noon); !out.Changed {
			b.Fatal(out.Rejection.Message)
		}
	}
}

// BenchmarkStepPlain is the same without guards and data.
func BenchmarkStepPlain(b *testing.B) {
	m := machine(b, guarded)
	run := started(b, m)
	var fire workflow.Command = workflow.Fire{Event: "FAIL", Actor: "ann"}
	b.ReportAllocs()
	for b.Loop() {
		if out := m.Step(&run, fire, noon); !out.Changed {
			b.Fatal(out.Rejection.Message)
		}
	}
}

// BenchmarkStepRejected is a failing guard, with its sentence.
func BenchmarkStepRejected(b *testing.B) {
	m := machine(b, guarded)
	run := started(b, m)
	run.Context = value(b, `{"test_result": "fail", "coverage": 10}`)
	var fire workflow.Command = workflow.Fire{Event: "DEPLOY", Actor: "ann"}
	b.ReportAllocs()
	for b.Loop() {
		if out := m.Step(&run, fire, noon); out.Changed {
			b.Fatal("accepted")
		}
	}
}
