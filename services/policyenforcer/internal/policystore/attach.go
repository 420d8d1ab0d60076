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

// Attach applies a policy to the calls of a workflow, process, session or role. It may be repeated.
func (st *Store) Attach(ctx context.Context, caller enforcer.Caller, name string, to Attachment) (*Policy, error) {
	if err := to.validate(); err != nil {
		return nil, err
	}
	return st.changeAttachments(ctx, caller, name, "attached", to, func(p *Indexed) error {
		if !slices.Contains(p.Attachments, to) {
			p.Attachments = append(slices.Clone(p.Attachments), to)
		}
		return nil
	})
}

// Detach removes an attachment.
func (st *Store) Detach(ctx context.Context, caller enforcer.Caller, name string, from Attachment) (*Policy, error) {
	return st.changeAttachments(ctx, caller, name, "detached", from, func(p *Indexed) error {
		at := slices.Index(p.Attachments, from)
		if at < 0 {
			return fault.New(fault.NotFound, "policy %q is not attached to %s, but to %s", name, from, described(p.Attachments))
		}
		p.Attachments = slices.Delete(slices.Clone(p.Attachments), at, at+1)
		return nil
	})
}

func (st *Store) changeAttachments(ctx context.Context, caller enforcer.Caller, name, verb string, at Attachment, change func(*Indexed) error) (*Policy, error) {
	x, err := st.changeIndex(ctx, caller, nil, func(text *IndexText) (*Change, error) {
		p, ok := text.Policies[name]
		if !ok {
			return nil, noPolicy(name)
		}
		before := len(p.Attachments)
		if err := change(&p); err != nil || len(p.Attachments) == before {
			return nil, err
		}
		text.Policies[name] = p
		return &Change{Type: verb, Name: name, Version: p.Live, Attachment: at}, nil
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

// validate returns an error for an invalid attachment.
func (t Attachment) validate() error {
	switch t.Kind {
	case AttachedToWorkflow, AttachedToProcess, AttachedToSession:
	case AttachedToRole:
		if !slices.Contains(auth.Roles(), auth.Role(t.ID)) {
			return fault.New(fault.InvalidRequest, "role %s does not exist; the roles are agent, operator, approver, observer and runtime", document.Quote(t.ID)).
				Violate("/to/id", "ENUM", "not a role")
		}
	default:
		return fault.New(fault.InvalidRequest, "a policy is attached to a workflow, process, session or role, not a %s", document.Quote(string(t.Kind))).
			Violate("/to/kind", "ENUM", "not a kind")
	}
	if t.ID == "" || len(t.ID) > store.MaxIDBytes {
		return fault.New(fault.InvalidRequest, "the name of the %s must have 1 to %d bytes", t.Kind, store.MaxIDBytes).
			Violate("/to/id", "RANGE", "too short or too long")
	}
	return nil
}

func (t Attachment) String() string { return fmt.Sprintf("%s %s", t.Kind, document.Quote(t.ID)) }

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
