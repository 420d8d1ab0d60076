package app

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
)

// Policy is a policy of a namespace: one of its versions, and what holds of it now.
type Policy struct {
	PolicyVersion
	// Live is the version that is enforced, and Shadow the one that is judged alongside
	// it; 0 for none.
	Live, Shadow int64
	Attachments  []Attachment
}

// Bounds of the policies of a namespace.
const (
	maxPolicies    = 1_000
	maxVersions    = 10_000 // of one policy
	maxAttachments = 10_000
	maxIndexBytes  = 1 << 20
)

// putInIndex makes a version live, or the shadow. What is live already is no shadow
// of itself: then there is none any more.
func putInIndex(text *indexText, v *PolicyVersion, shadow bool) *PolicyChange {
	p := text.Policies[v.Name]
	before := [2]int64{p.Live, p.Shadow}
	switch {
	case !shadow:
		p.Live = v.Number
		if p.Shadow == v.Number {
			p.Shadow = 0
		}
	case p.Live == v.Number:
		p.Shadow = 0
	default:
		p.Shadow = v.Number
	}
	text.Policies[v.Name] = p
	if before == [2]int64{p.Live, p.Shadow} {
		return nil
	}
	return &PolicyChange{Type: "put", Name: v.Name, Version: v.Number, Digest: v.Digest, Shadow: shadow}
}

// Policy returns a version of a policy, the live one when it is 0.
func (a *App) Policy(ctx context.Context, namespace, name string, version int64) (*Policy, error) {
	x, err := a.refreshPolicies(ctx, namespace)
	if err != nil {
		return nil, err
	}
	if version == 0 {
		p, ok := x.text.Policies[name]
		switch {
		case !ok:
			return nil, noPolicy(name)
		case p.Live == 0:
			return nil, fault.New(fault.NotFound, "no version of policy %q is live; ask for version %d, its shadow, or promote it", name, p.Shadow)
		}
		version = p.Live
	}
	v, err := a.loadPolicy(ctx, namespace, name, version)
	if err != nil {
		return nil, err
	}
	return x.withStanding(*v), nil
}

// Policies returns a page of policies by name: of each the live version, or else the
// shadow.
func (a *App) Policies(ctx context.Context, namespace, after string, limit int) (page []*Policy, next string, err error) {
	x, err := a.refreshPolicies(ctx, namespace)
	if err != nil {
		return nil, "", err
	}
	for _, name := range x.names() {
		if name <= after {
			continue
		}
		if len(page) == limit {
			return page, page[limit-1].Name, nil
		}
		p := x.text.Policies[name]
		version := p.Live
		if version == 0 {
			version = p.Shadow
		}
		v, err := a.loadPolicy(ctx, namespace, name, version)
		if err != nil {
			return nil, "", err
		}
		page = append(page, x.withStanding(*v))
	}
	return page, "", nil
}

// Promote makes a version of a policy live.
func (a *App) Promote(ctx context.Context, caller Caller, name string, version int64) (*Policy, error) {
	v, err := a.loadPolicy(ctx, caller.Namespace, name, version)
	if err != nil {
		return nil, err
	}
	x, err := a.changeIndex(ctx, caller, nil, func(text *indexText) (*PolicyChange, error) {
		if _, ok := text.Policies[name]; !ok {
			return nil, noPolicy(name)
		}
		change := putInIndex(text, v, false)
		if change != nil {
			change.Type = "promoted"
		}
		return change, nil
	})
	if err != nil {
		return nil, err
	}
	return x.withStanding(*v), nil
}

// DeletePolicy removes a policy that is attached to nothing. Its versions can be
// read by their numbers, and the next one continues from there.
func (a *App) DeletePolicy(ctx context.Context, caller Caller, name string) error {
	_, err := a.changeIndex(ctx, caller, nil, func(text *indexText) (*PolicyChange, error) {
		p, ok := text.Policies[name]
		switch {
		case !ok:
			return nil, noPolicy(name)
		case len(p.Attachments) > 0:
			return nil, fault.New(fault.FailedPrecondition, "policy %q is attached to %s; detach it first", name, described(p.Attachments))
		}
		delete(text.Policies, name)
		return &PolicyChange{Type: "deleted", Name: name, Version: p.Live}, nil
	})
	return err
}

func noPolicy(name string) error {
	return fault.New(fault.NotFound, "policy %s does not exist; store it first", document.Quote(name))
}

// invalidDefinition says what is wrong with a definition.
func invalidDefinition(what string, problems document.Problems) error {
	var errs document.Problems
	for _, p := range problems {
		if p.Severity != document.SeverityWarning {
			errs = append(errs, p)
		}
	}
	more := ""
	if len(errs) > 1 {
		more = fmt.Sprintf(" (and %d more)", len(errs)-1)
	}
	e := fault.New(fault.InvalidDefinition, "the %s is not valid: %s%s", what, errs[0], more)
	for _, p := range errs {
		e.Violations = append(e.Violations, fault.Violation{Pointer: p.Pointer, Code: p.Code, Message: p.Message})
	}
	return e
}

// PolicyChange is a change of the policies of a namespace, as it is announced.
type PolicyChange struct {
	// Type is put, promoted, deleted, attached or detached; or shadowed or unshadowed,
	// of a workflow: then Name is the workflow's.
	Type string
	Name string
	// Version and Digest of the policy, as far as the change is about one; the digest
	// of a shadowed workflow.
	Version int64
	Digest  string
	Shadow  bool
	// Attachment is what was attached or detached, or shadowed.
	Attachment Attachment
	// IndexVersion counts the changes of the namespace.
	IndexVersion int64
}

// PolicyAnnouncer turns what happens to policies into events.
type PolicyAnnouncer interface {
	PolicyChanged(namespace, actor string, c *PolicyChange, at time.Time) (store.Event, error)
}
