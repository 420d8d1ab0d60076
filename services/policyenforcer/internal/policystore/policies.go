package policystore

import (
	"context"
	"fmt"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
)

// Policy is one version of a policy, with the present status of the policy.
type Policy struct {
	Version
	// Live is the version that is enforced, and Shadow the one that is only evaluated; 0 for none.
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

// putInIndex makes a version live, or the shadow. A version that is live already removes the shadow. Exceptions from rules
// that another live version changes end.
func putInIndex(text *IndexText, v *Version, policy *rules.Policy, shadow bool) []*Change {
	p := text.Policies[v.Name]
	before := [2]int64{p.Live, p.Shadow}
	switch {
	case !shadow:
		p.Live, p.Pending = v.Number, false
		if p.Shadow == v.Number {
			p.Shadow = 0
		}
	case p.Live == v.Number:
		p.Shadow = 0
	default:
		p.Shadow = v.Number
	}
	if before == [2]int64{p.Live, p.Shadow} {
		text.Policies[v.Name] = p
		return nil
	}
	changes := []*Change{{Type: "put", Name: v.Name, Version: v.Number, Digest: v.Digest, Shadow: shadow}}
	if p.Live != before[0] {
		changes = append(changes, dropVoid(&p, v.Name, policy)...)
	}
	text.Policies[v.Name] = p
	return changes
}

// Get returns a version of a policy, or the live one for version 0.
func (st *Store) Get(ctx context.Context, namespace, name string, version int64) (*Policy, error) {
	x, err := st.Refresh(ctx, namespace)
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
	v, err := st.load(ctx, namespace, name, version)
	if err != nil {
		return nil, err
	}
	return x.withStatus(*v), nil
}

// List returns a page of policies by name, each in its live version or else its shadow.
func (st *Store) List(ctx context.Context, namespace, after string, limit int) (page []*Policy, next string, err error) {
	x, err := st.Refresh(ctx, namespace)
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
		v, err := st.load(ctx, namespace, name, version)
		if err != nil {
			return nil, "", err
		}
		page = append(page, x.withStatus(*v))
	}
	return page, "", nil
}

// Promote makes a version of a policy live.
func (st *Store) Promote(ctx context.Context, caller enforcer.Caller, name string, version int64, expected Expected) (*Policy, error) {
	v, err := st.load(ctx, caller.Namespace, name, version)
	if err != nil {
		return nil, err
	}
	policy, _ := rules.ParsePolicy(v.Definition) // nil if it is no longer valid: it denies, and has no exceptions
	x, err := st.changeIndex(ctx, caller, nil, func(text *IndexText) ([]*Change, error) {
		p, ok := text.Policies[name]
		if !ok {
			return nil, noPolicy(name)
		}
		if err := st.expect(ctx, caller.Namespace, name, expected, p.Live); err != nil {
			return nil, err
		}
		changes := putInIndex(text, v, policy, false)
		if len(changes) > 0 {
			changes[0].Type = "promoted"
		}
		return changes, nil
	})
	if err != nil {
		return nil, err
	}
	return x.withStatus(*v), nil
}

// Delete removes a policy without attachments. Its versions stay readable by number, and the next version
// continues their count.
func (st *Store) Delete(ctx context.Context, caller enforcer.Caller, name string) error {
	_, err := st.changeIndex(ctx, caller, nil, func(text *IndexText) ([]*Change, error) {
		p, ok := text.Policies[name]
		switch {
		case !ok:
			return nil, noPolicy(name)
		case len(p.Attachments) > 0:
			return nil, fault.New(fault.FailedPrecondition, "policy %q is attached to %s; detach it first", name, described(p.Attachments))
		}
		delete(text.Policies, name)
		return append([]*Change{{Type: "deleted", Name: name, Version: p.Live}}, dropVoid(&p, name, nil)...), nil
	})
	return err
}

func noPolicy(name string) error {
	return fault.New(fault.NotFound, "policy %s does not exist; store it first", document.Quote(name))
}

// InvalidDefinition returns the error of a definition with problems.
func InvalidDefinition(what string, problems document.Problems) error {
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

// Change is the event of a change of the policies of a namespace.
type Change struct {
	// Type is put, promoted, deleted, attached or detached. For workflows it is shadowed or unshadowed, and
	// Name is the name of the workflow.
	Type string
	Name string
	// Version and Digest are those of the policy, if the change has one. Digest may be that of a shadowed
	// workflow.
	Version int64
	Digest  string
	Shadow  bool
	// Exception is the one that was added, confirmed or has ended; nil for other changes.
	Exception *Exception
	// Attachment is the one that was added, removed or shadowed.
	Attachment Attachment
	// IndexVersion counts the commits of the namespace's policies, and Nth the changes of one commit, from 0.
	IndexVersion int64
	Nth          int
}
