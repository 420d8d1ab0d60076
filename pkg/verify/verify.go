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
	"cmp"

	"github.com/interlock-run/interlock/pkg/verify/explore"
	"github.com/interlock-run/interlock/pkg/verify/model"
	"github.com/interlock-run/interlock/pkg/verify/report"
	"github.com/interlock-run/interlock/pkg/workflow"
)

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

// bounds returns the options that limit an exploration.
func (o Options) bounds() explore.Bounds {
	return explore.Bounds{MaxStates: o.MaxStates, Progress: o.Progress}
}

// checker decides properties of one model.
type checker struct{ *explore.Explorer }

// Check decides each property, and with Options.Builtin the checks for every workflow.
func Check(m *model.Model, properties []workflow.Property, o Options) report.Report {
	c := checker{explore.NewExplorer(m, o.bounds())}
	out := report.Report{Workflow: m.Main.Machine.Name()}
	for i := range properties {
		out.Results = append(out.Results, c.property(&properties[i]))
	}
	if m.Schema != nil {
		out.Written = report.FindWritten(m.Main.Machine, m.Schema)
	}
	if o.Builtin {
		out.Warnings = append(c.warnings(out.Written), report.WarningsOf(out.Written)...)
	}
	return out
}

// Certify writes down a report.
func Certify(m *model.Model, r *report.Report, o Options, version string) report.Certificate {
	return report.Certify(m, r, cmp.Or(max(o.MaxStates, 0), explore.DefaultStates), version)
}

// Confirm explores the texts of a certificate again, and returns the differences; none
// when it is confirmed.
func Confirm(c *report.Certificate, m *model.Model, properties []workflow.Property, o Options) []string {
	if others := c.OtherTexts(m); len(others) > 0 { // proofs of other texts do not count here
		return others
	}
	o.MaxStates, o.Builtin = c.MaxStates, false
	now := Check(m, properties, o)
	again := Certify(m, &now, o, c.Version)
	return c.Differences(&again)
}
