package app

import (
	"context"
	"log/slog"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// shadows are what the shadows of policies and of the workflow would have decided,
// where that differs. They are judged by their rules alone: what a shadow's limits
// would have counted, nobody has counted. Nothing that fails here decides anything.
func (a *App) shadows(ctx context.Context, q *question, s *snapshotOf, std *standard, c rules.Combined) []ledger.Shadow {
	var differing []ledger.Shadow
	for _, sh := range std.shadows {
		sets := append([]*rules.Set(nil), std.live...)
		if sh.replaces >= 0 {
			sets[sh.replaces] = sh.set
		} else {
			sets = append(sets, sh.set)
		}
		other := combine(q, s, std, c.State, sets)
		if other.Decision != c.Decision || other.Code != c.Code {
			differing = append(differing, ledger.Shadow{
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
	other := combine(q, &shadowed, std, a.judge(&shadowed, q.req), std.live)
	if other.Decision == c.Decision && other.Code == c.Code {
		return differing
	}
	message := other.Message()
	if other.State.Decision == toolcall.Deny {
		message = other.State.Message(m, &run)
	}
	return append(differing, ledger.Shadow{
		Workflow: s.run.Workflow, WorkflowDigest: digest, Decision: other.Decision, Code: other.Code, Message: message,
	})
}

// ShadowWorkflow has tool calls of a workflow judged by another definition too,
// which is never enforced. No definition ends that. It answers the definition's
// digest.
//
// The text comes first, under its digest, and then its place in the index: a
// reader that finds the digest there finds the text.
func (a *App) ShadowWorkflow(ctx context.Context, caller Caller, name string, definition []byte) (digest string, err error) {
	if len(definition) == 0 {
		return "", a.endShadow(ctx, caller, name)
	}
	def, problems := workflow.Parse(definition)
	if problems.HasErrors() {
		return "", invalidDefinition("workflow", problems)
	}
	if name != "" && name != def.ID {
		return "", fault.New(fault.InvalidRequest, "the definition is that of workflow %s, not %s", document.Quote(def.ID), document.Quote(name)).
			Violate("/workflow", "NAME", "not the definition's id")
	}
	value, problem := document.Parse(definition, document.Limits{})
	if problem != nil {
		return "", invalidDefinition("workflow", document.Problems{*problem})
	}
	digest = document.Digest(value)
	_, err = a.store.Commit(ctx, store.Batch{
		Puts: []store.Put{{Key: workflowShadowKey(caller.Namespace, digest), Expect: store.Absent, Data: definition}},
	})
	if err != nil && !retry.Lost(err) { // the same text is there already
		return "", fault.From(err)
	}
	_, err = a.changeIndex(ctx, caller, nil, func(text *indexText) (*PolicyChange, error) {
		if text.WorkflowShadows[def.ID].Digest == digest {
			return nil, nil
		}
		text.WorkflowShadows[def.ID] = shadowText{digest}
		return &PolicyChange{Type: "shadowed", Name: def.ID, Digest: digest, Shadow: true, Attachment: Attachment{AttachedToWorkflow, def.ID}}, nil
	})
	return digest, err
}

func (a *App) endShadow(ctx context.Context, caller Caller, name string) error {
	if name == "" {
		return fault.New(fault.InvalidRequest, "give a definition, or name the workflow whose shadow to end").
			Violate("/workflow", "REQUIRED", "empty")
	}
	_, err := a.changeIndex(ctx, caller, nil, func(text *indexText) (*PolicyChange, error) {
		shadow, ok := text.WorkflowShadows[name]
		if !ok {
			return nil, nil
		}
		delete(text.WorkflowShadows, name)
		return &PolicyChange{Type: "unshadowed", Name: name, Digest: shadow.Digest, Shadow: true, Attachment: Attachment{AttachedToWorkflow, name}}, nil
	})
	return err
}
