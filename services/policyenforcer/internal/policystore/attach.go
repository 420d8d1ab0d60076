package policystore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
)

// Attach applies a policy to the calls of objects, in one commit. It may be repeated.
func (st *Store) Attach(ctx context.Context, caller enforcer.Caller, name string, to ...Attachment) (*Policy, error) {
	for i := range to {
		if err := to[i].validate(i); err != nil {
			return nil, err
		}
	}
	return st.changeAttachments(ctx, caller, name, "attached", func(p *Indexed) (changed []Attachment, _ error) {
		p.Attachments = slices.Clone(p.Attachments)
		for _, one := range to {
			one = one.named()
			if !slices.Contains(p.Attachments, one) {
				p.Attachments, changed = append(p.Attachments, one), append(changed, one)
			}
		}
		return changed, nil
	})
}

// Detach removes attachments, in one commit.
func (st *Store) Detach(ctx context.Context, caller enforcer.Caller, name string, from ...Attachment) (*Policy, error) {
	return st.changeAttachments(ctx, caller, name, "detached", func(p *Indexed) (changed []Attachment, _ error) {
		p.Attachments = slices.Clone(p.Attachments)
		for _, one := range from {
			one = one.named()
			at := slices.Index(p.Attachments, one)
			if at < 0 {
				return nil, fault.New(fault.NotFound, "policy %q is not attached to %s, but to %s", name, one, described(p.Attachments))
			}
			p.Attachments, changed = slices.Delete(p.Attachments, at, at+1), append(changed, one)
		}
		return changed, nil
	})
}

func (st *Store) changeAttachments(ctx context.Context, caller enforcer.Caller, name, verb string, change func(*Indexed) ([]Attachment, error)) (*Policy, error) {
	x, err := st.changeIndex(ctx, caller, nil, func(text *IndexText) (changes []*Change, _ error) {
		p, ok := text.Policies[name]
		if !ok {
			return nil, noPolicy(name)
		}
		changed, err := change(&p)
		if err != nil {
			return nil, err
		}
		text.Policies[name] = p
		for _, at := range changed {
			changes = append(changes, &Change{Type: verb, Name: name, Version: p.Live, Attachment: at})
		}
		return changes, nil
	})
	if err != nil {
		return nil, err
	}
	p := x.text.Policies[name]
	version := p.Live
	if version == 0 {
		version = p.Shadow
	}
	v, err := st.load(ctx, caller.Namespace, name, version)
	if err != nil {
		return nil, err
	}
	return x.withStatus(*v), nil
}

// validate returns an error for an invalid attachment, the one at an index of the request.
func (t Attachment) validate(index int) error {
	at := fmt.Sprintf("/to/%d", index)
	switch t.Kind {
	case AttachedToWorkflow, AttachedToProcess, AttachedToSession, AttachedToPrincipal, AttachedToHuman, AttachedToGroup, AttachedToAgent:
	case AttachedToEveryone:
		if t.ID != "" && t.ID != Anyone {
			return fault.New(fault.InvalidRequest, "everyone has no name, or the name %q, not %s", Anyone, document.Quote(t.ID)).
				Violate(at+"/id", "ENUM", "not everyone")
		}
		return nil
	case AttachedToRole:
		if !slices.Contains(auth.Roles(), auth.Role(t.ID)) {
			return fault.New(fault.InvalidRequest, "role %s does not exist; the roles are agent, operator, approver, observer and runtime", document.Quote(t.ID)).
				Violate(at+"/id", "ENUM", "not a role")
		}
	default:
		return fault.New(fault.InvalidRequest,
			"a policy is attached to a workflow, process, session, agent, role, principal, human, group or everyone, not a %s", document.Quote(string(t.Kind))).
			Violate(at+"/kind", "ENUM", "not a kind")
	}
	if t.ID == "" || len(t.ID) > store.MaxIDBytes {
		return fault.New(fault.InvalidRequest, "the name of the %s must have 1 to %d bytes", t.Kind, store.MaxIDBytes).
			Violate(at+"/id", "RANGE", "too short or too long")
	}
	return nil
}

// named returns the attachment as it is stored: everyone has one ID.
func (t Attachment) named() Attachment {
	if t.Kind == AttachedToEveryone {
		t.ID = Anyone
	}
	return t
}

func (t Attachment) String() string {
	if t.Kind == AttachedToEveryone {
		return string(t.Kind)
	}
	return fmt.Sprintf("%s %s", t.Kind, document.Quote(t.ID))
}

// described lists the first attachments.
func described(all []Attachment) string {
	const most = 5
	var names []string
	for _, t := range all[:min(len(all), most)] {
		names = append(names, t.String())
	}
	text := strings.Join(names, ", ")
	switch {
	case len(all) == 0:
		return "nothing"
	case len(all) > most:
		return fmt.Sprintf("%s and %d more", text, len(all)-most)
	}
	return text
}
