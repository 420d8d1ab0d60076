package app

import (
	"context"
	"log/slog"

	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// shadows are what the shadows of policies and of the workflow would have decided,
// where that differs. They are judged by their rules alone: what a shadow's limits
// would have counted, nobody has counted. Nothing that fails here decides anything.
func (a *App) shadows(ctx context.Context, q *question, s *snapshotOf, std *standard, c rules.Combined) []Shadow {
	var differing []Shadow
	for _, sh := range std.shadows {
		sets := append([]*rules.Set(nil), std.live...)
		if sh.replaces >= 0 {
			sets[sh.replaces] = sh.set
		} else {
			sets = append(sets, sh.set)
		}
		other := combine(q, s, std, c.State, sets)
		if other.Decision != c.Decision || other.Code != c.Code {
			differing = append(differing, Shadow{
				Policy: sh.name, PolicyVersion: sh.version, Decision: other.Decision, Code: other.Code, Message: other.Message(),
			})
		}
	}
	digest, ok := std.index.workflowShadow(s.run.Workflow)
	if !ok {
		return differing
	}
	m, err := a.shadowMachine(ctx, q.caller.Namespace, s.run.Workflow, digest)
	if err != nil {
		a.log.LogAttrs(ctx, slog.LevelWarn, "the shadow of a workflow cannot be read",
			slog.String("workflow", s.run.Workflow), slog.Any("cause", err))
		return differing
	}
	shadowed := *s
	definition := *s.Definition
	definition.Machine = m
	shadowed.Definition = &definition
	run := *s.run
	run.WorkflowVersion = m.Version() // it stands in for the run's own
	shadowed.run = &run
	other := combine(q, &shadowed, std, judge(&shadowed, q.req), std.live)
	if other.Decision == c.Decision && other.Code == c.Code {
		return differing
	}
	message := other.Message()
	if other.State.Decision == toolcall.Deny {
		message = other.State.Message(m, &run)
	}
	return append(differing, Shadow{
		Workflow: s.run.Workflow, WorkflowDigest: digest, Decision: other.Decision, Code: other.Code, Message: message,
	})
}
