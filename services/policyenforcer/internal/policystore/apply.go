package policystore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/catalog"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
)

// Application is a request to apply a set.
type Application struct {
	Name string
	// Expected is the version that the set has; 0 if it was never applied.
	Expected     int64
	Changes      []SetChange
	Repo, Commit string
	// Bundle is the signed statement of the set, where the deployment wants one.
	Bundle []byte
	// DryRun changes nothing.
	DryRun bool
	// Shadow is how long the changes are judged as shadows before they can be applied; 0 to apply them.
	Shadow time.Duration
	// Now applies the set although its shadow is not over.
	Now bool
}

// SetChange is the request for one object of a set.
type SetChange struct {
	catalog.Object
	// Expected is the version that is live; 0 for none.
	Expected int64
	// Version is the one to make live; 0 to retire the object, or to delete the policy.
	Version int64
	// Take changes the object although another set owns it, or although it was changed since this set was applied.
	Take bool
	// Attached replaces the attachments of a policy. Was are those that the plan has seen.
	Attached         bool
	Was, Attachments []Attachment
}

// applying is an application before its commit.
type applying struct {
	*Application
	caller enforcer.Caller

	catalog *catalog.Catalog
	before  *Index
	text    catalog.Text
	index   IndexText
	// objects are those of the set.
	objects map[catalog.Object]catalog.Status
	// waiting has the differences from the live objects, in the form of a shadow.
	waiting map[catalog.Object]catalog.Shadowed

	conflicts []fault.Violation
	moved     []*catalog.Change
	changes   []*Change
	checks    []store.Check
}

// Apply changes all objects of a set in one commit, or none. It returns the set, and whether it was changed.
//
// The versions are stored before. A workflow that gets a newer version meanwhile keeps that: the store refuses the
// commit.
func (st *Store) Apply(ctx context.Context, caller enforcer.Caller, req *Application) (set catalog.Set, changed bool, err error) {
	if err := checkName("set", req.Name); err != nil {
		return set, false, err
	}
	err = retry.Run(ctx, "set "+req.Name, func() (err error) {
		set, changed, err = st.tryApply(ctx, caller, req)
		return err
	})
	return set, changed, err
}

func (st *Store) tryApply(ctx context.Context, caller enforcer.Caller, req *Application) (set catalog.Set, changed bool, err error) {
	a := &applying{Application: req, caller: caller}
	if a.catalog, err = catalog.Read(ctx, st.store, caller.Namespace); err != nil {
		return set, false, err
	}
	if a.before, err = st.Refresh(ctx, caller.Namespace); err != nil {
		return set, false, err
	}
	set = a.catalog.Sets[req.Name]
	if set.Version != req.Expected {
		return set, false, a.otherSet(set)
	}
	a.text, a.index, a.objects = a.catalog.Edit(), a.before.text.clone(), maps.Clone(set.Objects)
	if a.objects == nil {
		a.objects = make(map[catalog.Object]catalog.Status)
	}
	a.waiting = make(map[catalog.Object]catalog.Shadowed)
	intact := a.index.withdraw(set.Shadow)
	if err := st.plan(ctx, a); err != nil {
		return set, false, err
	}
	signed, err := st.signed(a, set)
	if err != nil {
		return set, false, err
	}
	if req.Shadow > 0 && len(a.waiting) > 0 {
		return st.beginShadow(ctx, a, set)
	}
	if err := a.ripe(set.Shadow, intact, st.clock()); err != nil {
		return set, false, err
	}
	if len(a.moved)+len(a.changes) == 0 && maps.Equal(a.objects, set.Objects) && signed.digest == set.Bundle && set.Shadow == nil {
		return set, false, nil
	}
	set = catalog.Set{
		Version: set.Version + 1, Objects: a.objects, Repo: req.Repo, Commit: req.Commit, At: st.clock().UTC(), By: caller.Principal.Name,
		Serial: signed.serial, Bundle: signed.digest,
	}
	a.text.Sets[req.Name] = set
	a.moved = append(a.moved, &catalog.Change{Type: "applied", Name: req.Name, Version: set.Version, Applied: &set})
	if err := st.announceShadows(ctx, a); err != nil {
		return set, false, err
	}
	return set, true, st.commitSet(ctx, a)
}

// otherSet returns the error of a plan that another application has overtaken.
func (a *applying) otherSet(set catalog.Set) error {
	if set.Version == 0 {
		return fault.New(fault.VersionConflict, "set %s was never applied here, and the plan expects version %d of it; plan again", a.Name, a.Expected)
	}
	return fault.New(fault.VersionConflict, "set %s is at version %d, applied by %s at %s, and the plan expects version %d; plan again",
		a.Name, set.Version, set.By, set.At.Format("2006-01-02T15:04:05Z07:00"), a.Expected)
}

// plan makes all changes in the copies, or returns the conflicts of all objects.
func (st *Store) plan(ctx context.Context, a *applying) error {
	seen := make(map[catalog.Object]bool)
	for i := range a.Changes {
		c := &a.Changes[i]
		if seen[c.Object] {
			return fault.New(fault.InvalidRequest, "%s %q is in the set twice", c.Kind, c.Name).Violate(fmt.Sprintf("/changes/%d/name", i), "DUPLICATE", "given twice")
		}
		seen[c.Object] = true
		change := st.planVersioned
		if c.Kind == catalog.Policy {
			change = st.planPolicy
		}
		if err := change(ctx, a, i, c); err != nil {
			return err
		}
	}
	if len(a.conflicts) == 0 {
		return nil
	}
	lines := make([]string, len(a.conflicts))
	for i, c := range a.conflicts {
		lines[i] = c.Message
	}
	e := fault.New(fault.VersionConflict, "the set was not applied: %s", strings.Join(lines, "; "))
	e.Violations = a.conflicts
	return e
}

func (a *applying) conflict(i int, format string, args ...any) {
	a.conflicts = append(a.conflicts, fault.Violation{Pointer: fmt.Sprintf("/changes/%d", i), Code: "CONFLICT", Message: fmt.Sprintf(format, args...)})
}

// present is an object as it is now.
type present struct {
	live    int64
	digest  string
	by      string
	retired bool
}

// admit reports whether a change may be made to an object as it is now; else it has added the conflict.
func (a *applying) admit(i int, c *SetChange, now present) bool {
	owner, status, owned := a.catalog.Owner(c.Object)
	switch {
	case now.live == 0 && c.Expected != 0:
		a.conflict(i, "no version of %s %q is live, and the plan expects %d; plan again", c.Kind, c.Name, c.Expected)
	case now.live != c.Expected:
		a.conflict(i, "version %d of %s %q is live, by %s, and the plan expects %d; plan again", now.live, c.Kind, c.Name, orNobody(now.by), c.Expected)
	case c.Version == 0 && (!owned || owner != a.Name):
		a.conflict(i, "%s %q is not in the record of set %s, so the set cannot remove it", c.Kind, c.Name, a.Name)
	case c.Take:
		return true
	case owned && owner != a.Name:
		a.conflict(i, "%s %q belongs to set %s; take it, or leave it out", c.Kind, c.Name, owner)
	case owned && now.live != 0 && now.digest != status.Digest && now.live != c.Version:
		a.conflict(i, "%s %q was changed by %s after set %s was applied; take it, or adopt the change", c.Kind, c.Name, orNobody(now.by), a.Name)
	case !owned && now.live != 0 && now.live != c.Version && !now.retired:
		a.conflict(i, "%s %q is there with another content, by %s, and no set owns it; take it, or adopt its content", c.Kind, c.Name, orNobody(now.by))
	default:
		return true
	}
	return false
}

func orNobody(name string) string {
	if name == "" {
		return "nobody"
	}
	return name
}

// own records that the set owns an object, and that no other does.
func (a *applying) own(c *SetChange, digest string) {
	if owner, _, ok := a.text.Owner(c.Object); ok && owner != a.Name {
		other := a.text.Sets[owner]
		other.Objects = maps.Clone(other.Objects)
		delete(other.Objects, c.Object)
		a.text.Sets[owner] = other
	}
	a.objects[c.Object] = catalog.Status{Version: c.Version, Digest: digest, Attachments: c.Attached}
}

// recordOf returns the key of the record that has the versions of an object.
func recordOf(namespace string, o catalog.Object) store.Key {
	switch o.Kind {
	case catalog.Schema:
		return ledger.SchemaOf(namespace, o.Name)
	case catalog.Component:
		return ledger.ComponentOf(namespace, o.Name)
	default:
		return ledger.WorkflowOf(namespace, o.Name)
	}
}

// planVersioned changes the place of a workflow, process, schema or component.
func (st *Store) planVersioned(ctx context.Context, a *applying, i int, c *SetChange) error {
	key, places := recordOf(a.caller.Namespace, c.Object), a.text.PlacesOf(c.Kind)
	latest, err := ledger.LatestDefinition(ctx, st.store, key)
	if err != nil {
		return fault.From(err)
	}
	if latest.Number == 0 || latest.Process != (c.Kind == catalog.Process) {
		return fault.New(fault.NotFound, "there is no %s %q; register it staged first", c.Kind, c.Name).Violate(fmt.Sprintf("/changes/%d/name", i), "NOT_FOUND", "not registered")
	}
	place := a.text.PlaceOf(c.Object, latest.Own())
	live := &ledger.Definition{}
	if number := place.LiveOf(latest.Own()); number != 0 {
		if live, err = ledger.DefinitionAt(ctx, st.store, key, number); err != nil {
			return fault.From(err)
		}
	}
	if live.Deleted || c.Kind == catalog.Component && place.Retired != nil {
		live = &ledger.Definition{}
	}
	if !a.admit(i, c, present{live.Number, live.Digest, live.CreatedBy, place.Retired != nil}) {
		return nil
	}
	a.checks = append(a.checks, store.Check{Key: key, Version: latest.Number})
	if c.Version == 0 {
		delete(a.objects, c.Object)
		if place.Retired == nil && live.Number != 0 {
			reason := "it is no longer in set " + a.Name
			place.Retired = &catalog.Retirement{At: st.clock().UTC(), By: a.caller.Principal.Name, Reason: reason}
			if c.Kind.Returns() {
				place.Live, place.AsOf = live.Number, latest.Number
			}
			places[c.Name] = place
			a.moved = append(a.moved, &catalog.Change{Type: "retired", Kind: c.Kind, Name: c.Name, Version: live.Number, Digest: live.Digest, Reason: reason, Set: a.Name})
			a.waiting[c.Object] = catalog.Shadowed{Live: live.Number}
		}
		return nil
	}
	next, err := ledger.DefinitionAt(ctx, st.store, key, c.Version)
	if err != nil {
		return fault.From(err)
	}
	if next.Number == 0 {
		return fault.New(fault.NotFound, "%s %q has no version %d; register it staged first", c.Kind, c.Name, c.Version).Violate(fmt.Sprintf("/changes/%d/version", i), "NOT_FOUND", "no such version")
	}
	if live.Number != c.Version || place.Retired != nil {
		a.waiting[c.Object] = catalog.Shadowed{
			Version: c.Version, Digest: next.Digest, Live: live.Number,
			Judged: c.Kind.Runs() && live.Number != 0 && live.Number != c.Version,
		}
	}
	if live.Number != c.Version {
		place.Live, place.AsOf = c.Version, latest.Number
		a.moved = append(a.moved, &catalog.Change{Type: "promoted", Kind: c.Kind, Name: c.Name, Version: c.Version, Digest: next.Digest, Set: a.Name})
	}
	if place.Retired != nil {
		place.Retired = nil
		a.moved = append(a.moved, &catalog.Change{Type: "restored", Kind: c.Kind, Name: c.Name, Version: c.Version, Digest: next.Digest, Set: a.Name})
	}
	if place != places[c.Name] {
		places[c.Name] = place
	}
	a.own(c, next.Digest)
	return nil
}

// planPolicy changes a policy in the index.
func (st *Store) planPolicy(ctx context.Context, a *applying, i int, c *SetChange) error {
	ns := a.caller.Namespace
	p := a.index.Policies[c.Name]
	var now present
	if p.Live != 0 {
		v, err := st.load(ctx, ns, c.Name, p.Live)
		if err != nil {
			return err
		}
		now = present{v.Number, v.Digest, v.CreatedBy, false}
	}
	if !a.admit(i, c, now) {
		return nil
	}
	if c.Version == 0 {
		delete(a.objects, c.Object)
		if _, there := a.index.Policies[c.Name]; there {
			a.attach(c.Name, &p, nil)
			delete(a.index.Policies, c.Name)
			a.waiting[c.Object] = catalog.Shadowed{Live: p.Live, Judged: p.Live != 0}
			a.changes = append(a.changes, append([]*Change{{Type: "deleted", Name: c.Name, Version: p.Live}}, dropVoid(&p, c.Name, nil)...)...)
		}
		return nil
	}
	v, err := st.load(ctx, ns, c.Name, c.Version)
	if err != nil {
		return err
	}
	policy, problems := rules.ParsePolicy(v.Definition)
	if problems.HasErrors() {
		return InvalidDefinition("policy", problems)
	}
	a.changes = append(a.changes, putInIndex(&a.index, v, policy, false)...)
	a.own(c, v.Digest)
	attaches := c.Attached && !sameAttachments(p.Attachments, c.Attachments)
	if p.Live != c.Version || attaches {
		a.waiting[c.Object] = shadowedPolicy(c, v, p.Live, attaches)
	}
	if !c.Attached {
		return nil
	}
	for n := range c.Attachments {
		if err := c.Attachments[n].validate(n); err != nil {
			return err
		}
	}
	if !sameAttachments(p.Attachments, c.Was) && !sameAttachments(p.Attachments, c.Attachments) {
		a.conflict(i, "policy %q is attached to %s, and the plan expects %s; plan again", c.Name, described(p.Attachments), described(c.Was))
		return nil
	}
	p = a.index.Policies[c.Name]
	a.attach(c.Name, &p, c.Attachments)
	a.index.Policies[c.Name] = p
	return nil
}

func sameAttachments(a, b []Attachment) bool {
	covers := func(all []Attachment) map[Attachment]bool {
		set := make(map[Attachment]bool, len(all))
		for _, one := range all {
			set[one.covers()] = true
		}
		return set
	}
	return maps.Equal(covers(a), covers(b))
}

// attach replaces the attachments of a policy.
func (a *applying) attach(name string, p *Indexed, want []Attachment) {
	change := func(kind string, to Attachment) {
		a.changes = append(a.changes, &Change{Type: kind, Name: name, Version: p.Live, Attachment: to})
	}
	var next []Attachment
	for _, to := range p.Attachments {
		if slices.ContainsFunc(want, func(w Attachment) bool { return w.covers() == to.covers() }) {
			next = append(next, to)
			continue
		}
		change("detached", to)
	}
	for _, to := range want {
		if to = to.named(); !slices.ContainsFunc(next, func(n Attachment) bool { return n.covers() == to.covers() }) {
			next = append(next, to)
			change("attached", to)
		}
	}
	p.Attachments = next
}

// commitSet commits the catalog and the index, or probes them.
func (st *Store) commitSet(ctx context.Context, a *applying) error {
	e, err := st.edit(ctx, a.caller.Namespace, func(text *IndexText) ([]*Change, error) {
		*text = a.index
		return a.changes, nil
	})
	if err != nil {
		return err
	}
	if e.before.Version != a.before.Version {
		return store.ErrConflict
	}
	before, err := json.Marshal(a.before.text)
	if err != nil {
		return fault.From(fmt.Errorf("encode index of policies: %w", err))
	}
	e.silent = !bytes.Equal(before, e.data)
	w := &catalog.Writer{Store: st.store, Announce: st.announce, Clock: st.clock}
	batch, err := a.catalog.Batch(w, a.caller.Namespace, a.caller.Principal.Name, &a.text, a.moved, a.checks)
	if err != nil {
		return err
	}
	if err := st.addIndex(&batch, a.caller, e); err != nil {
		return err
	}
	if a.DryRun {
		return retry.Fault(st.store.Probe(ctx, batch))
	}
	if _, err := st.store.Commit(ctx, batch); err != nil {
		return retry.Fault(err)
	}
	if len(st.signers) > 0 {
		st.applied(st.clock())
	}
	if e.changed() {
		st.committed(a.caller.Namespace, e)
	}
	return nil
}

// Sets returns the sets of a namespace, by name.
func (st *Store) Sets(ctx context.Context, namespace string) (map[string]catalog.Set, error) {
	c, err := catalog.Read(ctx, st.store, namespace)
	if err != nil {
		return nil, err
	}
	return c.Sets, nil
}

// Origin returns the set that has made a version live, as it was applied then; ok is false if no set has.
func (st *Store) Origin(ctx context.Context, namespace string, o catalog.Object, version int64) (name string, set catalog.Set, ok bool, err error) {
	return catalog.Origin(ctx, st.store, namespace, o, version)
}

// AppliedSet returns one set.
func (st *Store) AppliedSet(ctx context.Context, namespace, name string) (catalog.Set, error) {
	sets, err := st.Sets(ctx, namespace)
	if err != nil {
		return catalog.Set{}, err
	}
	set, ok := sets[name]
	if !ok {
		return set, fault.New(fault.NotFound, "set %s was never applied here", document.Quote(name))
	}
	return set, nil
}
