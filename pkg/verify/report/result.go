// Package report has the results of a verification: verdicts, counterexamples that were played as scenarios,
// and certificates.
package report

import (
	"github.com/interlock-run/interlock/pkg/workflow"
)

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
	CodeSilenceGrants  = "SILENCE_GRANTS"
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
