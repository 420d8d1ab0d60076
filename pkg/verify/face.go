package verify

import (
	"github.com/interlock-run/interlock/pkg/verify/explore"
	"github.com/interlock-run/interlock/pkg/verify/model"
	"github.com/interlock-run/interlock/pkg/verify/report"
)

// The types of a question and of its answer.
type (
	Model      = model.Model
	Definition = model.Definition
	Policy     = model.Policy

	Report         = report.Report
	Result         = report.Result
	Verdict        = report.Verdict
	Counterexample = report.Counterexample
	Warning        = report.Warning
	Certificate    = report.Certificate
	Certified      = report.Certified
)

// The verdicts, as the package report describes them.
const (
	Proved        = report.Proved
	ProvedRunning = report.ProvedRunning
	Refuted       = report.Refuted
	Undecided     = report.Undecided
)

// DefaultStates are explored for one property unless the options say otherwise.
const DefaultStates = explore.DefaultStates
