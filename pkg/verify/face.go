package verify

import (
	"github.com/interlock-run/interlock/pkg/verify/explore"
	"github.com/interlock-run/interlock/pkg/verify/model"
	"github.com/interlock-run/interlock/pkg/verify/report"
)

// Model has the definitions of an exploration.
type Model = model.Model

// Definition has a workflow or a process.
type Definition = model.Definition

// Policy has a policy that judges calls.
type Policy = model.Policy

// Report has all findings.
type Report = report.Report

// Result has the finding about one property.
type Result = report.Result

// Verdict answers whether a property holds.
type Verdict = report.Verdict

// Counterexample shows a run that does not keep a property.
type Counterexample = report.Counterexample

// Warning names a part of a definition that is not safe.
type Warning = report.Warning

// Certificate states proofs about texts.
type Certificate = report.Certificate

// Certified states the proof of one property.
type Certified = report.Certified

// The verdicts, as the package report describes them.
const (
	Proved        = report.Proved
	ProvedRunning = report.ProvedRunning
	Refuted       = report.Refuted
	Undecided     = report.Undecided
)

// DefaultStates are explored for one property unless the options say otherwise.
const DefaultStates = explore.DefaultStates
