package check

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// shadows returns the decisions of the shadows of policies and of the workflow that differ from the enforced
// one. Shadows have rules and no counters. A failure here has no effect on the decision.
func (c *Service) shadows(ctx context.Context, r Ruling) []ledger.Shadow {
	enforced, effective, s := &r.Combined, r.Effective, r.At
	var differing []ledger.Shadow
	for _, sh := range effective.Shadows {
		sets := slices.Clone(effective.Live)
		switch {
		case sh.Set == nil:
			sets = slices.Delete(sets, sh.Replaces, sh.Replaces+1)
		case sh.Replaces >= 0:
			sets[sh.Replaces] = sh.Set
		default:
			sets = append(sets, sh.Set)
		}
		other, unasked := r.withAnswers(r.combine(enforced.State, sets, Admission{}))
		if other.Decision != enforced.Decision || other.Code != enforced.Code || unasked != nil {
			differing = append(differing, ledger.Shadow{
				Policy: sh.Name, PolicyVersion: sh.Version, Decision: other.Decision, Code: other.Code, Message: noting(other.Message(), unasked),
			})
		}
	}
	digest, ok := effective.Index.WorkflowShadow(s.Run.Workflow)
	if !ok {
		return differing
	}
	m, err := c.Policies.ShadowMachine(ctx, r.Caller.Namespace, s.Run.Workflow, digest)
	if err != nil {
		c.Log.LogAttrs(ctx, slog.LevelWarn, "the shadow of a workflow cannot be read",
			slog.String("workflow", s.Run.Workflow), slog.Any("cause", err))
		return differing
	}
	shadowed := r.under(m)
	other, unasked := shadowed.withAnswers(shadowed.combine(shadowed.rulesOfState(), effective.Live, Admission{}))
	if other.Decision == enforced.Decision && other.Code == enforced.Code {
		return differing
	}
	message := other.Message()
	if other.State.Decision == toolcall.Deny {
		message = other.State.Message(m, shadowed.At.Run)
	}
	return append(differing, ledger.Shadow{
		Workflow: s.Run.Workflow, WorkflowDigest: digest, Decision: other.Decision, Code: other.Code, Message: noting(message, unasked),
	})
}

// noting returns a message, and that the decision point of a rule was not asked; nil for none. Shadows use the answers
// of points that the enforced policies ask, and ask none (S21.19).
func noting(message string, unasked *rules.Source) string {
	if unasked == nil {
		return message
	}
	return strings.TrimSpace(message + " " + notAsked(unasked))
}

// under returns the attempt with another machine in place of the run's own.
func (a Attempt) under(m *workflow.Machine) Attempt {
	s, definition, view, run := *a.At, *a.At.Definition, *a.At.Run, *a.At.Run.Run
	definition.Machine, run.WorkflowVersion = m, m.Version()
	view.Run = &run // a cache has the other
	s.Definition, s.Run = &definition, &view
	a.At = &s
	return a
}
