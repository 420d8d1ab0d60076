// Package verify decides properties of every run of a workflow: it explores the workflow,
// the policies that judge its calls, the terms of its approvals and its invoked workflows
// with the functions that enforce them (workflow.Machine.Step, toolcall.Decide,
// rules.Set.Decide, consent.Open and Decide, evidence.Basis.Judge), and never with a
// second model of them.
//
// Values that agents may set are arbitrary, and only those that a guard can distinguish
// are distinct. Where that is coarse it allows more than a run could do: a proof holds,
// and a counterexample is played as a scenario before it is called one. An undecided
// property is never called proved.
//
// It is pure: definitions in, results out.
package verify

import (
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Definition is a workflow or a process.
type Definition struct {
	Machine *workflow.Machine
	// Process is nil for a workflow.
	Process *process.Process
	// Text is the definition as it was written.
	Text document.Value
	// File is the name by which a scenario finds it; empty writes it into the scenario.
	File string
}

// Policy is one that judges calls.
type Policy struct {
	Policy *rules.Policy
	Text   document.Value
	File   string
}

// Model is the input of an exploration.
type Model struct {
	Main Definition
	// Others are workflows that may be invoked.
	Others []Definition
	// Policies judge the calls of the workflows that name them in meta.policy; those that
	// none names judge every call. A policy that is named and not given allows everything:
	// it may be any.
	Policies []Policy
	// Schema is that of the shared state that evidence may be of; nil when it is not known.
	// It changes no verdict: the session that creates a state writes all first values, and a state
	// may get another schema.
	Schema *document.Schema
}

// Options bound the work.
type Options struct {
	// MaxStates is the most that are explored for one property; 0 for DefaultStates.
	MaxStates int
	// Builtin adds the checks for every workflow.
	Builtin bool
	// Progress is called now and then with the progress, and may stop it by returning
	// false; may be nil.
	Progress func(property string, states int) bool
}

// DefaultStates are explored for one property unless the options say otherwise.
const DefaultStates = 1_000_000

// Verdict is the answer about one property.
type Verdict string

// The verdicts.
const (
	Proved Verdict = "PROVED"
	// ProvedRunning: it is proved for as long as the run is RUNNING, and its agent can lift enforcement
	// by a pause.
	ProvedRunning Verdict = "PROVED while running"

	Refuted Verdict = "COUNTEREXAMPLE"
	// Undecided: a bound was reached, or a counterexample of the exploration is not one of
	// any run that could be played. It is not proved.
	Undecided Verdict = "NOT PROVED"
)

// Holds reports that the property is proved, for as long as it says.
func (v Verdict) Holds() bool { return v == Proved || v == ProvedRunning }

// Result is the finding about one property.
type Result struct {
	Property workflow.Property
	Verdict  Verdict
	// States is how many were explored, and Explored a digest of them.
	States   int
	Explored string
	// Reason of a verdict that does not hold.
	Reason string
	// Counterexample is a scenario of which the last step is not as it must be.
	Counterexample *Counterexample
	// Notes describe the basis of the verdict.
	Notes []string
}

// Counterexample is a run that does not keep a property.
type Counterexample struct {
	// Steps are for people, in order.
	Steps []string
	// Stands are the states in which the run is before the first step, and after each: more
	// than one while a fork is under way. Nil when that is not known.
	Stands [][]string
	// Scenario is the *.test.yaml that fails at its last step as long as the property is
	// not kept.
	Scenario []byte
}

// Warning is a part of a definition that makes no sense, or is not safe, regardless of
// properties.
type Warning struct {
	Code    string
	Pointer string
	Message string
}

// The codes of warnings.
const (
	CodeNoWayOut       = "NO_WAY_OUT"
	CodeGuardNeverTrue = "GUARD_NEVER_TRUE"
	CodeRuleNoMatter   = "RULE_NEVER_MATTERS"
	CodeLimitNoMatter  = "LIMIT_NEVER_MATTERS"
	CodeRightsJump     = "RIGHTS_JUMP"
	CodeNobodyDecides  = "NOBODY_DECIDES"
	CodeBuiltinBound   = "NOT_DECIDED"

	// The codes about evidence of a shared state whose schema is known.
	CodeAnyoneWrites  = "ANYONE_WRITES"
	CodeSelfWritten   = "SELF_WRITTEN"
	CodeNoSuchState   = "NO_SUCH_STATE"
	CodeNobodyWrites  = "NOBODY_WRITES"
	CodeWriterMayNot  = "WRITER_MAY_NOT"
	CodeValueNeverFit = "VALUE_NEVER_FITS"
)

// Report is all that was found out.
type Report struct {
	Workflow string
	Results  []Result
	Warnings []Warning
	// Written lists the permitted writers of each evidence of the shared state, when the
	// schema is known.
	Written []WrittenEvidence
}

// Worst returns the verdict of all results together.
func (r *Report) Worst() Verdict {
	worst := Proved
	for i := range r.Results {
		switch r.Results[i].Verdict {
		case Refuted:
			return Refuted
		case Undecided:
			worst = Undecided
		case ProvedRunning:
			if worst == Proved {
				worst = ProvedRunning
			}
		default:
		}
	}
	return worst
}

// epoch is when every exploration takes place. Time passes only where something that is
// explored expires.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Check decides each property, and with Options.Builtin the checks for every workflow.
func Check(m *Model, properties []workflow.Property, o Options) Report {
	if o.MaxStates <= 0 {
		o.MaxStates = DefaultStates
	}
	c := NewChecker(m, o)
	report := Report{Workflow: m.Main.Machine.Name()}
	for i := range properties {
		report.Results = append(report.Results, c.property(&properties[i]))
	}
	if m.Schema != nil {
		report.Written = writtenEvidence(m.Main.Machine, m.Schema)
	}
	if o.Builtin {
		report.Warnings = append(c.warnings(report.Written), warningsOf(report.Written)...)
	}
	return report
}
