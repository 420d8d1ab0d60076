package policystore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// AttachmentKind is a kind of object that policies are attached to.
type AttachmentKind string

// The kinds. A session or agent includes all sessions below it.
const (
	AttachedToWorkflow  AttachmentKind = "workflow"
	AttachedToProcess   AttachmentKind = "process"
	AttachedToSession   AttachmentKind = "session"
	AttachedToRole      AttachmentKind = "role"
	AttachedToPrincipal AttachmentKind = "principal"
	AttachedToHuman     AttachmentKind = "human"
	AttachedToGroup     AttachmentKind = "group"
	AttachedToAgent     AttachmentKind = "agent"
	AttachedToEveryone  AttachmentKind = "everyone"
)

// Anyone is the ID of attachments to everyone.
const Anyone = "*"

// Attachment names an object that a policy applies to.
type Attachment struct {
	Kind AttachmentKind `json:"kind"`
	ID   string         `json:"id"`
}

// Indexed is the entry of a policy in the index.
type Indexed struct {
	// Live is the version that is enforced, and Shadow the one that is only evaluated; 0 for none.
	Live   int64 `json:"live,omitempty"`
	Shadow int64 `json:"shadow,omitempty"`
	// Pending says that the policy waits in the shadow of a set, and is missing where a workflow or agent names it.
	Pending     bool         `json:"pending,omitempty"`
	Attachments []Attachment `json:"attachments,omitempty"`
	Exceptions  []Exception  `json:"exceptions,omitempty"`
	// Waits is the change in the shadow of a set that is more than a version; nil for none.
	Waits *Waiting `json:"waits,omitempty"`
}

// Waiting is a change of a policy that waits in the shadow of a set: its removal, or other attachments.
type Waiting struct {
	// Version is the one that the policy then has; 0 for its removal.
	Version     int64        `json:"version,omitempty"`
	Attachments []Attachment `json:"attachments,omitempty"`
}

// shadowText names the shadow definition of a workflow.
type shadowText struct {
	Digest string `json:"digest"`
}

// IndexText is the stored form of the index.
type IndexText struct {
	Policies        map[string]Indexed    `json:"policies,omitempty"`
	WorkflowShadows map[string]shadowText `json:"workflow_shadows,omitempty"`
}

// Index has the policies of a namespace with their live versions and attachments. It is one record, so that
// a decision can rest on its version. It is immutable.
type Index struct {
	// Version of the record; store.Absent when there is none.
	Version int64

	namespace string
	text      IndexText
	attached  map[Attachment][]string // names of policies, in order
	// kinds has the names of the policies that are attached to any object of a kind, in order.
	kinds map[AttachmentKind][]string
	// after has the attachments as they will be after the shadows of sets; nil where none changes them.
	after *Index
	// exceptions are those of each policy that count.
	exceptions map[string][]compiled
}

// IndexKey returns the key of a namespace's index.
func IndexKey(namespace string) store.Key { return ledger.PolicyIndexOf(namespace) }

func newIndex(namespace string, version int64, text IndexText) *Index {
	x := &Index{Version: version, namespace: namespace, text: text, exceptions: compileExceptions(&text)}
	x.attach(func(p *Indexed) []Attachment { return p.Attachments })
	for _, p := range text.Policies {
		if p.Waits != nil {
			x.after = &Index{text: text}
			x.after.attach((*Indexed).attachmentsAfter)
			break
		}
	}
	return x
}

// attachmentsAfter returns the attachments of a policy after the shadow of its set.
func (p *Indexed) attachmentsAfter() []Attachment {
	if p.Waits != nil {
		return p.Waits.Attachments
	}
	return p.Attachments
}

// attach fills in the policies by what they are attached to.
func (x *Index) attach(of func(*Indexed) []Attachment) {
	x.attached, x.kinds = make(map[Attachment][]string), make(map[AttachmentKind][]string)
	for name, p := range x.text.Policies {
		for _, to := range of(&p) {
			to = to.covers()
			x.attached[to] = append(x.attached[to], name)
			x.kinds[to.Kind] = append(x.kinds[to.Kind], name)
		}
	}
	for to, names := range x.attached {
		slices.Sort(names)
		x.attached[to] = slices.Compact(names)
	}
	for kind, names := range x.kinds {
		slices.Sort(names)
		x.kinds[kind] = slices.Compact(names)
	}
}

// Check returns the precondition of a decision by this index.
func (x *Index) Check() store.Check {
	return store.Check{Key: IndexKey(x.namespace), Version: x.Version}
}

// live returns the version of a policy that is enforced.
func (x *Index) live(name string) (version int64, ok bool) {
	version = x.text.Policies[name].Live
	return version, version > 0
}

// shadow returns the version of a policy that is only evaluated. A policy may have no other.
func (x *Index) shadow(name string) (version int64, ok bool) {
	version = x.text.Policies[name].Shadow
	return version, version > 0
}

// attachedTo returns the names of the attached policies, sorted. The result must not be changed.
func (x *Index) attachedTo(kind AttachmentKind, id string) []string {
	if len(x.kinds[kind]) == 0 {
		return nil
	}
	return x.attached[Attachment{kind, id}.covers()]
}

// covers returns the canonical form of an attachment: sessions with similar names are one (S7.9), and so are
// principals, people, groups and agents (S22.10).
func (t Attachment) covers() Attachment {
	switch t.Kind {
	case AttachedToSession, AttachedToPrincipal, AttachedToHuman, AttachedToGroup, AttachedToAgent:
		t.ID = session.Alike(t.ID)
	case AttachedToEveryone:
		t.ID = Anyone
	default:
	}
	return t
}

// WorkflowShadow returns the digest of the shadow definition of a workflow.
func (x *Index) WorkflowShadow(workflow string) (digest string, ok bool) {
	digest = x.text.WorkflowShadows[workflow].Digest
	return digest, digest != ""
}

// known returns the index of a namespace, which may be old.
func (st *Store) known(ctx context.Context, namespace string) (*Index, error) {
	if x, ok := st.indexes.Get(namespace); ok {
		return x, nil
	}
	return st.Refresh(ctx, namespace)
}

// Refresh reads the present index of a namespace.
func (st *Store) Refresh(ctx context.Context, namespace string) (*Index, error) {
	var text IndexText
	record, err := st.store.Get(ctx, IndexKey(namespace))
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
	x := newIndex(namespace, record.Version, text)
	st.cacheIndex(x)
	return x, nil
}

// cacheIndex caches an index unless a newer one is cached.
func (st *Store) cacheIndex(x *Index) {
	st.indexes.Put(x.namespace, x, func(old *Index) bool { return old.Version > x.Version })
}
