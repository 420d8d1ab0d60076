package policystore

import (
	"context"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
)

// ShadowWorkflow evaluates the tool calls of a workflow by a second definition too, without enforcement. An
// empty definition removes it. It returns the digest of the definition.
//
// The text is committed before the index, so that readers of the index find the text.
func (st *Store) ShadowWorkflow(ctx context.Context, caller enforcer.Caller, name string, definition []byte) (digest string, err error) {
	if len(definition) == 0 {
		return "", st.endShadow(ctx, caller, name)
	}
	def, problems := workflow.Parse(definition)
	if problems.HasErrors() {
		return "", InvalidDefinition("workflow", problems)
	}
	if name != "" && name != def.ID {
		return "", fault.New(fault.InvalidRequest, "the definition is that of workflow %s, not %s", document.Quote(def.ID), document.Quote(name)).
			Violate("/workflow", "NAME", "not the definition's id")
	}
	value, problem := document.Parse(definition, document.Limits{})
	if problem != nil {
		return "", InvalidDefinition("workflow", document.Problems{*problem})
	}
	digest = document.Digest(value)
	if err := st.putShadowText(ctx, caller.Namespace, digest, definition); err != nil {
		return "", err
	}
	_, err = st.changeIndex(ctx, caller, nil, func(text *IndexText) ([]*Change, error) {
		if text.WorkflowShadows[def.ID].Digest == digest {
			return nil, nil
		}
		text.WorkflowShadows[def.ID] = shadowText{digest}
		return []*Change{{Type: "shadowed", Name: def.ID, Digest: digest, Shadow: true, Attachment: Attachment{AttachedToWorkflow, def.ID}}}, nil
	})
	return digest, err
}

// putShadowText stores the text of a shadow, unless it is there.
func (st *Store) putShadowText(ctx context.Context, namespace, digest string, definition []byte) error {
	_, err := st.store.Commit(ctx, store.Batch{
		Puts: []store.Put{{Key: workflowShadowKey(namespace, digest), Expect: store.Absent, Data: definition}},
	})
	if err != nil && !retry.Lost(err) { // the same text is there already
		return fault.From(err)
	}
	return nil
}

func (st *Store) endShadow(ctx context.Context, caller enforcer.Caller, name string) error {
	if name == "" {
		return fault.New(fault.InvalidRequest, "give a definition, or name the workflow whose shadow to end").
			Violate("/workflow", "REQUIRED", "empty")
	}
	_, err := st.changeIndex(ctx, caller, nil, func(text *IndexText) ([]*Change, error) {
		shadow, ok := text.WorkflowShadows[name]
		if !ok {
			return nil, nil
		}
		delete(text.WorkflowShadows, name)
		return []*Change{{Type: "unshadowed", Name: name, Digest: shadow.Digest, Shadow: true, Attachment: Attachment{AttachedToWorkflow, name}}}, nil
	})
	return err
}
