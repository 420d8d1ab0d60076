package check

import (
	"context"
	"log/slog"

	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// shadows are what the shadows of policies and of the workflow would have decided,
// where that differs. They are judged by their rules alone: what a shadow's limits
// would have counted, nobody has counted. Nothing that fails here decides anything.
func (c *Service) shadows(ctx context.Context, q *question, s *runs.Snapshot, std *policystore.Effective, enforced rules.Combined) []ledger.Shadow {
	var differing []ledger.Shadow
	for _, sh := range std.Shadows {
		sets := append([]*rules.Set(nil), std.Live...)
		if sh.Replaces >= 0 {
			sets[sh.Replaces] = sh.Set
		} else {
			sets = append(sets, sh.Set)
		}
		other := combine(q, s, std, enforced.State, sets)
		if other.Decision != enforced.Decision || other.Code != enforced.Code {
			differing = append(differing, ledger.Shadow{
				Policy: sh.Name, PolicyVersion: sh.Version, Decision: other.Decision, Code: other.Code, Message: other.Message(),
			})
		}
	}
	digest, ok := std.Index.WorkflowShadow(s.Run.Workflow)
	if !ok {
		return differing
	}
	m, err := c.Policies.ShadowMachine(ctx, q.caller.Namespace, s.Run.Workflow, digest)
	if err != nil {
		c.Log.LogAttrs(ctx, slog.LevelWarn, "the shadow of a workflow cannot be read",
			slog.String("workflow", s.Run.Workflow), slog.Any("cause", err))
		return differing
	}
	shadowed := *s
	definition := *s.Definition
	definition.Machine = m
	shadowed.Definition = &definition
	run := *s.Run
	run.WorkflowVersion = m.Version() // it stands in for the run's own
	shadowed.Run = &run
	other := combine(q, &shadowed, std, c.judge(&shadowed, q.req), std.Live)
	if other.Decision == enforced.Decision && other.Code == enforced.Code {
		return differing
	}
	message := other.Message()
	if other.State.Decision == toolcall.Deny {
		message = other.State.Message(m, &run)
	}
	return append(differing, ledger.Shadow{
		Workflow: s.Run.Workflow, WorkflowDigest: digest, Decision: other.Decision, Code: other.Code, Message: message,
	})
}
