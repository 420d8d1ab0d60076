package policystore

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/services/internal/catalog"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// shadowedPolicy returns the change of a policy as a shadow has it.
func shadowedPolicy(c *SetChange, v *Version, live int64, attaches bool) catalog.Shadowed {
	s := catalog.Shadowed{Version: v.Number, Digest: v.Digest, Live: live, Attached: attaches, Judged: true}
	if attaches {
		for _, to := range c.Attachments {
			to = to.named()
			s.To = append(s.To, string(to.Kind)+":"+to.ID)
		}
		slices.Sort(s.To)
	}
	return s
}

// AttachmentsOf returns the attachments of a policy that waits.
func AttachmentsOf(s catalog.Shadowed) (all []Attachment) {
	for _, to := range s.To {
		kind, id, _ := strings.Cut(to, ":")
		all = append(all, Attachment{AttachmentKind(kind), id})
	}
	return all
}

// withdraw takes the shadows of a set out of an index, and reports whether all were there as the set has put them. Other
// shadows in their place stay.
func (t *IndexText) withdraw(s *catalog.Shadow) (intact bool) {
	intact = true
	if s == nil {
		return intact
	}
	for object, change := range s.Objects {
		switch {
		case !change.Judged:
		case object.Kind == catalog.Policy:
			intact = t.withdrawPolicy(object.Name, change) && intact
		case t.WorkflowShadows[object.Name].Digest == change.Digest:
			delete(t.WorkflowShadows, object.Name)
		default:
			intact = false
		}
	}
	return intact
}

func (t *IndexText) withdrawPolicy(name string, change catalog.Shadowed) (intact bool) {
	p, there := t.Policies[name]
	if !there {
		return false
	}
	if p.Pending {
		if p.Shadow != change.Version {
			return false
		}
		delete(t.Policies, name)
		return !change.Attached || sameAttachments(p.Attachments, AttachmentsOf(change))
	}
	intact = true
	if change.Version != 0 && change.Version != change.Live {
		if intact = p.Shadow == change.Version; intact {
			p.Shadow = 0
		}
	}
	if waits := waitingOf(change); waits != nil {
		if p.Waits.same(waits) {
			p.Waits = nil
		} else {
			intact = false
		}
	}
	t.Policies[name] = p
	return intact
}

// waitingOf returns what a change of a live policy is besides its version; nil for nothing.
func waitingOf(change catalog.Shadowed) *Waiting {
	if change.Version != 0 && !change.Attached {
		return nil
	}
	return &Waiting{change.Version, AttachmentsOf(change)}
}

func (w *Waiting) same(other *Waiting) bool {
	return w != nil && w.Version == other.Version && sameAttachments(w.Attachments, other.Attachments)
}

// ripe refuses to apply changes that were not judged as shadows as long as their set wants it (S26.10).
func (a *applying) ripe(s *catalog.Shadow, intact bool, now time.Time) error {
	refuse := func(format string, args ...any) error {
		return fault.New(fault.FailedPrecondition, "set %s was not applied: "+format, append([]any{a.Name}, args...)...).
			Violate("/now", "SHADOW", "begin a new shadow, or give now to apply it without one")
	}
	switch {
	case s == nil, a.Now, len(a.waiting) == 0:
		return nil
	case !s.Has(a.waiting):
		return refuse("its shadow has another content; begin a new one")
	case !intact:
		return refuse("a shadow of it was replaced or ended by hand, so not all calls were judged; begin a new one")
	case now.Before(s.Until):
		return refuse("its shadow lasts until %s", s.Until.Format(time.RFC3339))
	}
	return nil
}

// beginShadow makes the changes of a set shadows in one commit, in place of those that it had before. A shadow with the same
// changes and the same end goes on.
func (st *Store) beginShadow(ctx context.Context, a *applying, set catalog.Set) (catalog.Set, bool, error) {
	now := st.clock().UTC()
	index := a.before.text.clone()
	intact := index.withdraw(set.Shadow)
	if intact && set.Shadow.Has(a.waiting) && set.Shadow.Until.Sub(set.Shadow.At) == a.Shadow {
		return set, false, nil
	}
	a.index, a.text, a.moved, a.changes = index, a.catalog.Edit(), nil, nil
	for _, object := range slices.SortedFunc(maps.Keys(a.waiting), func(x, y catalog.Object) int { return strings.Compare(x.String(), y.String()) }) {
		if change := a.waiting[object]; change.Judged {
			if err := st.shadow(ctx, a, object, change); err != nil {
				return set, false, err
			}
		}
	}
	set.Version++
	set.Shadow = &catalog.Shadow{At: now, Until: now.Add(a.Shadow), By: a.caller.Principal.Name, Repo: a.Repo, Commit: a.Commit, Objects: a.waiting}
	if set.Objects == nil {
		set.Objects = make(map[catalog.Object]catalog.Status)
	}
	a.text.Sets[a.Name] = set
	a.moved = []*catalog.Change{{Type: "shadowed", Name: a.Name, Version: set.Version, Applied: &set}}
	if err := st.announceShadows(ctx, a); err != nil {
		return set, false, err
	}
	return set, true, st.commitSet(ctx, a)
}

// shadow makes a change the shadow in the index. A policy without a live version gets its attachments too: it enforces
// no rule.
func (st *Store) shadow(ctx context.Context, a *applying, object catalog.Object, change catalog.Shadowed) error {
	ns := a.caller.Namespace
	if object.Kind != catalog.Policy {
		text, digest, err := ledger.TextAt(ctx, st.store, ledger.WorkflowOf(ns, object.Name), change.Version)
		if err != nil {
			return fault.From(err)
		}
		if !a.DryRun {
			if err := st.putShadowText(ctx, ns, digest, text); err != nil {
				return err
			}
		}
		a.index.WorkflowShadows[object.Name] = shadowText{digest}
		return nil
	}
	p, there := a.index.Policies[object.Name]
	if p.Waits = waitingOf(change); there && p.Waits != nil {
		a.index.Policies[object.Name] = p
	}
	if change.Version == 0 || change.Version == change.Live {
		return nil
	}
	v, err := st.load(ctx, ns, object.Name, change.Version)
	if err != nil {
		return err
	}
	policy, problems := rules.ParsePolicy(v.Definition)
	if problems.HasErrors() {
		return InvalidDefinition("policy", problems)
	}
	a.changes = append(a.changes, putInIndex(&a.index, v, policy, true)...)
	if there {
		return nil
	}
	p = a.index.Policies[object.Name]
	p.Pending = true
	a.attach(object.Name, &p, AttachmentsOf(change))
	a.index.Policies[object.Name] = p
	return nil
}

// announceShadows adds the events of shadows that have ended, and of shadows of workflows.
func (st *Store) announceShadows(ctx context.Context, a *applying) error {
	before := a.before.text
	told := func(name string) bool {
		return slices.ContainsFunc(a.changes, func(c *Change) bool { return c.Name == name && (c.Type == "put" || c.Type == "deleted") })
	}
	for _, name := range slices.Sorted(maps.Keys(before.Policies)) {
		was := before.Policies[name]
		now, there := a.index.Policies[name]
		switch {
		case told(name):
		case !there:
			a.attach(name, &was, nil)
			a.changes = append(a.changes, &Change{Type: "deleted", Name: name, Version: was.Shadow})
		case was.Shadow != 0 && now.Shadow == 0:
			v, err := st.load(ctx, a.caller.Namespace, name, now.Live)
			if err != nil {
				return err
			}
			a.changes = append(a.changes, &Change{Type: "put", Name: name, Version: v.Number, Digest: v.Digest, Shadow: true})
		}
	}
	all := maps.Clone(before.WorkflowShadows)
	if all == nil {
		all = make(map[string]shadowText)
	}
	maps.Copy(all, a.index.WorkflowShadows)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		was, now := before.WorkflowShadows[name], a.index.WorkflowShadows[name]
		change := &Change{Type: "shadowed", Name: name, Digest: now.Digest, Shadow: true, Attachment: Attachment{AttachedToWorkflow, name}}
		if now.Digest == "" {
			change.Type, change.Digest = "unshadowed", was.Digest
		}
		if was != now {
			a.changes = append(a.changes, change)
		}
	}
	return nil
}
