// Package catalog keeps the record of a namespace that names the live versions of workflows, processes, schemas and components,
// those that are retired, and the sets that own definitions. It is in the shard of the index of policies, so one commit
// changes workflows, policies and their sets.
package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// maxBytes bounds the record, which every start of a run reads.
const maxBytes = 1 << 20

// Key returns the key of the catalog of a namespace.
func Key(namespace string) store.Key {
	return store.Key{Namespace: namespace, Kind: "catalog", ID: ledger.PolicyIndexOf(namespace).ID}
}

// Catalog is the record at one version. It is immutable; Edit copies it.
type Catalog struct {
	// Version of the record; store.Absent when there is none.
	Version int64
	Text
}

// Text is the stored form.
type Text struct {
	// Places are those of workflows and processes that were promoted, retired or applied. Others are where their
	// own record says.
	Places map[string]Place `json:"places,omitempty"`
	// Schemas and Components are the places of those that were applied.
	Schemas    map[string]Place `json:"schemas,omitempty"`
	Components map[string]Place `json:"components,omitempty"`
	Sets       map[string]Set   `json:"sets,omitempty"`
}

// PlacesOf returns the places of the objects of a kind.
func (t *Text) PlacesOf(k Kind) map[string]Place {
	switch k {
	case Schema:
		return t.Schemas
	case Component:
		return t.Components
	default:
		return t.Places
	}
}

// Place is the live version of a workflow, process, schema or component.
type Place struct {
	// Live is the version that new runs or states get, unless a version after AsOf was registered.
	Live int64 `json:"live,omitempty"`
	AsOf int64 `json:"as_of,omitempty"`
	// Retired is set when there are no new runs or states.
	Retired *Retirement `json:"retired,omitempty"`
}

// PlaceOf returns the place of an object whose record says own. Of a schema or component, a version that was stored by hand after
// the retirement ends it.
func (t *Text) PlaceOf(o Object, own int64) Place {
	place := t.PlacesOf(o.Kind)[o.Name]
	if o.Kind.Returns() && own > place.AsOf {
		place.Retired = nil
	}
	return place
}

// Signed returns the set that has an object and was applied with a signature; empty for none.
func (t *Text) Signed(o Object) string {
	if set, _, ok := t.Owner(o); ok && t.Sets[set].Bundle != "" {
		return set
	}
	return ""
}

// Retirement is the end of new runs or states.
type Retirement struct {
	At     time.Time `json:"at"`
	By     string    `json:"by"`
	Reason string    `json:"reason,omitempty"`
}

// Set is a set of definitions as it was applied.
type Set struct {
	// Version counts the applications.
	Version int64             `json:"version"`
	Objects map[Object]Status `json:"objects"`
	Repo    string            `json:"repo,omitempty"`
	Commit  string            `json:"commit,omitempty"`
	At      time.Time         `json:"at"`
	By      string            `json:"by"`
	// Serial and Bundle are the serial and the digest of the signed statement that was applied; zero where there was none.
	Serial int64  `json:"serial,omitempty"`
	Bundle string `json:"bundle,omitempty"`
	// Shadow has the changes that wait as shadows; nil for none.
	Shadow *Shadow `json:"shadow,omitempty"`
}

// Kind is the kind of an object of a set.
type Kind string

// The kinds.
const (
	Workflow  Kind = "workflow"
	Process   Kind = "process"
	Policy    Kind = "policy"
	Schema    Kind = "schema"
	Component Kind = "component"
)

// Runs reports that objects of a kind have runs.
func (k Kind) Runs() bool { return k == Workflow || k == Process }

// Returns reports that a version that is stored by hand ends the retirement of an object of a kind.
func (k Kind) Returns() bool { return k == Schema || k == Component }

// Object names an object of a set.
type Object struct {
	Kind Kind
	Name string
}

// MarshalText returns KIND/NAME.
func (o Object) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads the output of MarshalText.
func (o *Object) UnmarshalText(text []byte) error {
	kind, name, ok := strings.Cut(string(text), "/")
	if !ok || name == "" {
		return fmt.Errorf("%q names no object of a set", text)
	}
	*o = Object{Kind(kind), name}
	return nil
}

// String returns KIND/NAME.
func (o Object) String() string { return string(o.Kind) + "/" + o.Name }

// Status is an object as its set has applied it.
type Status struct {
	Version int64  `json:"version"`
	Digest  string `json:"digest"`
	// Attachments says that the set also owns the attachments of the policy.
	Attachments bool `json:"attachments,omitempty"`
}

// LiveOf returns the live version of an object whose record says own; 0 for none.
func (p Place) LiveOf(own int64) int64 {
	if p.Live == 0 || own > p.AsOf {
		return own
	}
	return p.Live
}

// Owner returns the set that owns an object, and the object as that set has applied it.
func (t *Text) Owner(o Object) (set string, status Status, ok bool) {
	for name, s := range t.Sets {
		if status, ok := s.Objects[o]; ok {
			return name, status, true
		}
	}
	return "", Status{}, false
}

// Read returns the catalog of a namespace.
func Read(ctx context.Context, st store.Store, namespace string) (*Catalog, error) {
	record, err := st.Get(ctx, Key(namespace))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return &Catalog{Version: store.Absent}, nil
	case err != nil:
		return nil, fault.From(err)
	}
	c := &Catalog{Version: record.Version}
	if err := json.Unmarshal(record.Data, &c.Text); err != nil {
		return nil, fault.From(fmt.Errorf("decode the catalog of namespace %s: %w", namespace, err))
	}
	return c, nil
}

// Edit returns a copy of the text with maps of its own.
func (c *Catalog) Edit() Text {
	t := Text{Places: maps.Clone(c.Places), Schemas: maps.Clone(c.Schemas), Components: maps.Clone(c.Components), Sets: maps.Clone(c.Sets)}
	if t.Places == nil {
		t.Places = make(map[string]Place)
	}
	if t.Schemas == nil {
		t.Schemas = make(map[string]Place)
	}
	if t.Components == nil {
		t.Components = make(map[string]Place)
	}
	if t.Sets == nil {
		t.Sets = make(map[string]Set)
	}
	return t
}

// Put returns the change of the record from this version to an edited text.
func (c *Catalog) Put(namespace string, t *Text) (store.Put, error) {
	data, err := json.Marshal(t)
	if err != nil {
		return store.Put{}, fault.From(fmt.Errorf("encode the catalog: %w", err))
	}
	if len(data) > maxBytes {
		return store.Put{}, fault.New(fault.LimitReached, "the catalog of the namespace would have %d bytes, the limit is %d; put some sets into another namespace", len(data), maxBytes)
	}
	return store.Put{Key: Key(namespace), Expect: c.Version, Data: data}, nil
}

// Change is the event of a change of the catalog.
type Change struct {
	// Type is promoted, retired or restored, of an object of Kind; or applied or shadowed, of a set.
	Type string
	Kind Kind
	// Name is that of the object or set.
	Name string
	// Version is the live version, or that of the set.
	Version int64
	Digest  string
	Reason  string
	// Set is the one whose application has changed an object; empty for none.
	Set string
	// Applied is the set of an application.
	Applied *Set
	// Revision is the version of the catalog.
	Revision int64
}

// Announcer creates the events of changes.
type Announcer interface {
	CatalogChanged(namespace, actor string, c *Change, at time.Time) (store.Event, error)
}

// Commit puts an edited text, with the events of its changes and other puts of the same shard. A lost race is store.ErrConflict.
func (c *Catalog) Commit(ctx context.Context, w *Writer, namespace, actor string, t *Text, changes []*Change, checks []store.Check) error {
	batch, err := c.Batch(w, namespace, actor, t, changes, checks)
	if err != nil {
		return err
	}
	_, err = w.Store.Commit(ctx, batch)
	return err
}

// Batch returns the batch of Commit.
func (c *Catalog) Batch(w *Writer, namespace, actor string, t *Text, changes []*Change, checks []store.Check) (store.Batch, error) {
	put, err := c.Put(namespace, t)
	if err != nil {
		return store.Batch{}, err
	}
	batch := store.Batch{Puts: []store.Put{put}, Checks: slices.Clone(checks)}
	for _, change := range changes {
		if change.Type == "applied" {
			if put.History, err = json.Marshal(application{change.Name, change.Applied}); err != nil {
				return store.Batch{}, fault.From(fmt.Errorf("encode the application: %w", err))
			}
			batch.Puts[0] = put
		}
		change.Revision = c.Version + 1
		event, err := w.Announce.CatalogChanged(namespace, actor, change, w.Clock().UTC())
		if err != nil {
			return store.Batch{}, err
		}
		event.Key = put.Key // the one shard that is written
		batch.Events = append(batch.Events, event)
	}
	return batch, nil
}

// Writer is what a service changes catalogs through.
type Writer struct {
	Store    store.Store
	Announce Announcer
	Clock    func() time.Time
}
