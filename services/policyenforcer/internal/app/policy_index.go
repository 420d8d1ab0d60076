package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/snapshot"
)

// AttachmentKind is what a policy can be attached to.
type AttachmentKind string

// The kinds. A session stands for all below it too.
const (
	AttachedToWorkflow AttachmentKind = "workflow"
	AttachedToProcess  AttachmentKind = "process"
	AttachedToSession  AttachmentKind = "session"
	AttachedToRole     AttachmentKind = "role"
)

// Attachment is what a policy judges the calls of: a workflow, process, session or
// role, by its name or id.
type Attachment struct {
	Kind AttachmentKind `json:"kind"`
	ID   string         `json:"id"`
}

// indexed is what the index says of one policy.
type indexed struct {
	// Live is the version that is enforced, and Shadow the one that is judged alongside
	// it; 0 for none.
	Live        int64        `json:"live,omitempty"`
	Shadow      int64        `json:"shadow,omitempty"`
	Attachments []Attachment `json:"attachments,omitempty"`
}

// shadowText names a definition that is judged alongside a workflow's own.
type shadowText struct {
	Digest string `json:"digest"`
}

// indexText is the index as it is stored.
type indexText struct {
	Policies        map[string]indexed    `json:"policies,omitempty"`
	WorkflowShadows map[string]shadowText `json:"workflow_shadows,omitempty"`
}

// policyIndex is which policies a namespace has, which of their versions hold, and
// for what: one record, so that a decision can be made on condition that none of it
// has changed. It is immutable.
type policyIndex struct {
	// Version of the record; store.Absent when there is none.
	Version int64

	namespace string
	text      indexText
	attached  map[Attachment][]string // names of policies, in order
	sessions  bool
}

func policyIndexKey(namespace string) store.Key { return ledger.PolicyIndexOf(namespace) }

func newPolicyIndex(namespace string, version int64, text indexText) *policyIndex {
	x := &policyIndex{Version: version, namespace: namespace, text: text, attached: make(map[Attachment][]string)}
	for name, p := range text.Policies {
		for _, to := range p.Attachments {
			to = to.covers()
			x.attached[to] = append(x.attached[to], name)
			x.sessions = x.sessions || to.Kind == AttachedToSession
		}
	}
	for to, names := range x.attached {
		slices.Sort(names)
		x.attached[to] = slices.Compact(names)
	}
	return x
}

// check is the precondition of a decision by this index.
func (x *policyIndex) check() store.Check {
	return store.Check{Key: policyIndexKey(x.namespace), Version: x.Version}
}

// live is the version of a policy that is enforced.
func (x *policyIndex) live(name string) (version int64, ok bool) {
	version = x.text.Policies[name].Live
	return version, version > 0
}

// shadow is the version that is judged alongside the live one. A policy may have only
// that: then nothing of it is enforced yet.
func (x *policyIndex) shadow(name string) (version int64, ok bool) {
	version = x.text.Policies[name].Shadow
	return version, version > 0
}

// attachedTo names the policies that are attached, in order. Read only.
func (x *policyIndex) attachedTo(kind AttachmentKind, id string) []string {
	return x.attached[Attachment{kind, id}.covers()]
}

// covers is what an attachment counts for: all sessions whose names are alike (S7.9).
func (t Attachment) covers() Attachment {
	if t.Kind == AttachedToSession {
		t.ID = session.Alike(t.ID)
	}
	return t
}

// sessionsAttached reports that a policy is attached to any session.
func (x *policyIndex) sessionsAttached() bool { return x.sessions }

// workflowShadow is the definition that is judged alongside a workflow's own.
func (x *policyIndex) workflowShadow(workflow string) (digest string, ok bool) {
	digest = x.text.WorkflowShadows[workflow].Digest
	return digest, digest != ""
}

// policyCaches are what an App keeps of policies in memory. All but the indexes are
// immutable; an index may be old, so who decides by one checks its version.
type policyCaches struct {
	indexes  *snapshot.Cache[string, *policyIndex]
	sets     *snapshot.Cache[versionKey, *rules.Set]
	machines *snapshot.Cache[shadowKey, *workflow.Machine]
	// dropped are owners of counters whose end is set: see dropLater.
	dropped *snapshot.Cache[store.Key, struct{}]
	// retention is how long the log keeps decisions; 0 forever.
	retention time.Duration
}

func newPolicyCaches() policyCaches {
	return policyCaches{
		indexes:  snapshot.New[string, *policyIndex](16_384),
		sets:     snapshot.New[versionKey, *rules.Set](cacheBytes),
		machines: snapshot.New[shadowKey, *workflow.Machine](cacheBytes),
		dropped:  snapshot.New[store.Key, struct{}](65_536),
	}
}

// knownPolicies returns the index of a namespace, which may be an old one.
func (a *App) knownPolicies(ctx context.Context, namespace string) (*policyIndex, error) {
	if x, ok := a.caches.indexes.Get(namespace); ok {
		return x, nil
	}
	return a.refreshPolicies(ctx, namespace)
}

// refreshPolicies returns the index of a namespace as it is now.
func (a *App) refreshPolicies(ctx context.Context, namespace string) (*policyIndex, error) {
	var text indexText
	record, err := a.store.Get(ctx, policyIndexKey(namespace))
	switch {
	case errors.Is(err, store.ErrNotFound):
		record.Version = store.Absent
	case err != nil:
		return nil, fault.From(err)
	default:
		if err := json.Unmarshal(record.Data, &text); err != nil {
			return nil, fault.From(fmt.Errorf("decode index of policies: %w", err))
		}
	}
	x := newPolicyIndex(namespace, record.Version, text)
	a.cacheIndex(x)
	return x, nil
}

// cacheIndex keeps an index, unless a newer one is kept.
func (a *App) cacheIndex(x *policyIndex) {
	a.caches.indexes.Put(x.namespace, x, func(old *policyIndex) bool { return old.Version > x.Version })
}
