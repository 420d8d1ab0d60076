// Package components stores the definitions of state components, and the values that executions
// of them leave (S12).
package components

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/internal/catalog"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
)

// Announcer turns a change into the event that is committed with it.
type Announcer interface {
	ComponentEvent(namespace, actor, kind string, c *Component, at time.Time) (store.Event, error)
	CommittedEvent(namespace, actor string, ex *Execution, at time.Time) (store.Event, error)
}

// Registry stores the definitions of components.
type Registry struct {
	ports    *ports.Ports
	announce Announcer
}

// New returns the components of a store.
func New(p *ports.Ports, announce Announcer) *Registry {
	return &Registry{ports: p, announce: announce}
}

// Component is the definition of a state component (S12.1).
type Component struct {
	*document.Component
	// ID is unique; empty for one that was created before there were ids.
	ID string
	// Definition is as it was given.
	Definition document.Value
	// Version is the number of the definition.
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time
	// Digest is of the definition, and UpdatedBy who has stored this version of it.
	Digest, UpdatedBy string

	record componentRecord
}

// componentRecord is the stored form. The record of a component that was deleted
// stays, without a definition, so that no version of a slug means two things.
type componentRecord struct {
	ID         string          `json:"id,omitempty"`
	Definition json.RawMessage `json:"definition,omitempty"`
	CreatedAt  time.Time       `json:"created_at"`
	UpdatedAt  time.Time       `json:"updated_at"`
	// CreatedBy is who has stored this version.
	CreatedBy string `json:"created_by"`
	// Born is the version at which it was created, which distinguishes it from others of
	// its slug.
	Born int64 `json:"born"`
	// Digest is of the definition.
	Digest string `json:"digest,omitempty"`
	// Key and KeyDigest are those of the request that created it (S6.5).
	Key       string `json:"key,omitempty"`
	KeyDigest string `json:"key_digest,omitempty"`
	// Staged is set for a version that only an application of its set makes live, and Before is then the one that is live
	// by the records. Deleted is set for the version that deletes it.
	Staged  bool  `json:"staged,omitempty"`
	Before  int64 `json:"before,omitempty"`
	Deleted bool  `json:"deleted,omitempty"`
}

// parseComponent reads a definition.
func parseComponent(src []byte) (*document.Component, document.Value, error) {
	v, problems := document.ParseAll(src, document.Limits{})
	if problems.HasErrors() {
		return nil, v, ports.BadJSON("definition", problems)
	}
	c, problems := document.ParseComponentValue(v)
	if problems.HasErrors() {
		return nil, v, ports.Violations(fault.New(fault.InvalidDefinition, "the component is not valid: %s", ports.First(problems)), "", problems)
	}
	return c, v, nil
}

// Create stores a component under its slug. A repeat answers it as it is
// now.
func (reg *Registry) Create(ctx context.Context, caller ports.Caller, src []byte, key string) (*Component, error) {
	parsed, value, err := parseComponent(src)
	if err != nil {
		return nil, err
	}
	now, digest := reg.ports.Now(), document.Digest(value)
	return retry.Do(ctx, "component "+parsed.Slug, func() (*Component, error) {
		st, err := reg.standing(ctx, ledger.ComponentOf(caller.Namespace, parsed.Slug))
		if err != nil {
			return nil, err
		}
		if st.live != nil {
			return st.live.repeat(value, key, digest)
		}
		c := &Component{Component: parsed, Definition: value, CreatedAt: now, UpdatedAt: now, ID: typeid.New(typeid.Component)}
		c.record = componentRecord{ID: c.ID, Born: st.latest + 1, Key: key, KeyDigest: digest}
		return c, reg.put(ctx, caller, st, c, "created")
	})
}

// Stage stores a definition as a version that is not live, unless it is live, or is the latest and waits to be made live.
func (reg *Registry) Stage(ctx context.Context, caller ports.Caller, src []byte) (*Component, error) {
	parsed, value, err := parseComponent(src)
	if err != nil {
		return nil, err
	}
	now, digest := reg.ports.Now(), document.Digest(value)
	return retry.Do(ctx, "component "+parsed.Slug, func() (*Component, error) {
		st, err := reg.standing(ctx, ledger.ComponentOf(caller.Namespace, parsed.Slug))
		if err != nil {
			return nil, err
		}
		c := &Component{Component: parsed, Definition: value, CreatedAt: now, UpdatedAt: now, ID: typeid.New(typeid.Component)}
		c.record = componentRecord{ID: c.ID, Born: st.latest + 1}
		switch {
		case st.live != nil && st.live.Digest == digest:
			return st.live, nil
		case st.waits(digest):
			return decode(st.record)
		case st.live != nil: // its values stay
			c.ID, c.CreatedAt, c.record = st.live.ID, st.live.CreatedAt, st.live.record
		}
		c.record.Staged, c.record.Before = true, st.own
		return c, reg.put(ctx, caller, st, c, "")
	})
}

// repeat returns a component that exists already for the request that created it,
// and refuses it to others.
func (c *Component) repeat(definition document.Value, key, digest string) (*Component, error) {
	switch {
	case key != "" && key == c.record.Key && digest == c.record.KeyDigest, document.Equal(c.Definition, definition):
		return c, nil
	case key != "" && key == c.record.Key:
		return nil, fault.New(fault.IdempotencyMismatch, "this idempotency key was used for another definition of component %q; use a new one", c.Slug)
	default:
		return nil, fault.New(fault.NameTaken, "component %q already exists; update it with PUT, or choose another slug", c.Slug)
	}
}

// put stores the next version of a component. A kind of change is announced; a staged version has none.
func (reg *Registry) put(ctx context.Context, caller ports.Caller, st *standing, c *Component, kind string) error {
	if kind != "" {
		if err := st.changeable(); err != nil {
			return err
		}
		c.record.Staged, c.record.Before = false, 0
	}
	c.Version, c.UpdatedBy = st.latest+1, caller.Principal.Name
	if !c.record.Deleted {
		c.Digest = document.Digest(c.Definition)
		c.record.Definition = c.Definition.AppendJSON(nil)
	}
	c.record.Digest, c.record.CreatedBy, c.record.CreatedAt, c.record.UpdatedAt = c.Digest, c.UpdatedBy, c.CreatedAt, c.UpdatedAt
	data, err := json.Marshal(c.record)
	if err != nil {
		return fault.From(fmt.Errorf("encode component: %w", err))
	}
	batch := store.Batch{Puts: []store.Put{{Key: st.key, Expect: st.latest, Data: data, History: data}}}
	if kind != "" {
		event, err := reg.announce.ComponentEvent(caller.Namespace, caller.Principal.Name, kind, c, c.UpdatedAt)
		if err != nil {
			return fault.From(err)
		}
		batch.Events = []store.Event{event}
		batch.Checks = st.unchanged()
	}
	_, err = reg.ports.Commit(ctx, caller.Principal, batch)
	return retry.Fault(err)
}

// Get returns a component by its slug, or by its id.
func (reg *Registry) Get(ctx context.Context, namespace, slug string) (*Component, error) {
	c, err := reg.find(ctx, namespace, slug)
	if err == nil && c == nil && strings.HasPrefix(slug, typeid.Component+"_") {
		c, err = reg.ofID(ctx, namespace, slug) // no slug has an underscore
	}
	if err == nil && c == nil {
		return nil, fault.New(fault.NotFound, "there is no component %q; create it first", ports.Clip(slug))
	}
	return c, err
}

// ofID looks for a component by its id, nil for none. There are few of them: it is a
// registry.
func (reg *Registry) ofID(ctx context.Context, namespace, id string) (*Component, error) {
	for after := ""; ; {
		page, next, err := reg.List(ctx, namespace, "", after, 100)
		if err != nil {
			return nil, err
		}
		for _, c := range page {
			if c.ID == id {
				return c, nil
			}
		}
		if next == "" {
			return nil, nil
		}
		after = next
	}
}

// find returns the live version of a slug; nil for none.
func (reg *Registry) find(ctx context.Context, namespace, slug string) (*Component, error) {
	st, err := reg.standing(ctx, ledger.ComponentOf(namespace, slug))
	if err != nil {
		return nil, err
	}
	return st.live, nil
}

// decode returns nil for a component that was deleted.
func decode(record store.Record) (*Component, error) {
	var in componentRecord
	if err := json.Unmarshal(record.Data, &in); err != nil {
		return nil, fault.From(fmt.Errorf("decode component: %w", err))
	}
	if in.Definition == nil {
		return nil, nil
	}
	parsed, value, err := parseComponent(in.Definition)
	if err != nil {
		return nil, err
	}
	return &Component{
		Component: parsed, ID: in.ID, Definition: value, Version: record.Version, CreatedAt: in.CreatedAt, UpdatedAt: in.UpdatedAt,
		Digest: in.Digest, UpdatedBy: in.CreatedBy, record: in,
	}, nil
}

// List returns a page of components by slug.
func (reg *Registry) List(ctx context.Context, namespace, tag, after string, limit int) ([]*Component, string, error) {
	query := store.Query{Namespace: namespace, Kind: ledger.KindComponent, After: after, Limit: limit}
	known, err := catalog.Read(ctx, reg.ports.Store, namespace)
	if err != nil {
		return nil, "", err
	}
	var found []*Component
	for {
		page, err := reg.ports.Store.List(ctx, query)
		if err != nil {
			return nil, "", fault.From(err)
		}
		for _, record := range page.Records {
			st, err := reg.place(ctx, known, record)
			if err != nil {
				return nil, "", err
			}
			c := st.live
			if c == nil || tag != "" && !slices.Contains(c.Tags, tag) {
				continue
			}
			if len(found) == limit {
				return found, found[limit-1].Slug, nil
			}
			found = append(found, c)
		}
		if page.Next == "" {
			return found, "", nil
		}
		query.After = page.Next
	}
}

// Update replaces a component's definition.
func (reg *Registry) Update(ctx context.Context, caller ports.Caller, slug string, src []byte, expected int64) (*Component, error) {
	parsed, value, err := parseComponent(src)
	if err != nil {
		return nil, err
	}
	if parsed.Slug != slug {
		return nil, fault.New(fault.InvalidRequest, "the definition's slug is %q, not %q; the slug of a component cannot change", ports.Clip(parsed.Slug), ports.Clip(slug)).
			Violate("/slug", "NAME", "must stay as it is")
	}
	return retry.Do(ctx, "component "+slug, func() (*Component, error) {
		st, c, err := reg.present(ctx, caller.Namespace, slug)
		if err != nil {
			return nil, err
		}
		if err := ports.AtVersion("component "+slug, c.Version, expected); err != nil {
			return nil, err
		}
		c.Component, c.Definition, c.UpdatedAt = parsed, value, reg.ports.Now()
		if c.ID == "" {
			c.ID = typeid.New(typeid.Component)
			c.record.ID = c.ID
		}
		return c, reg.put(ctx, caller, st, c, "updated")
	})
}

// Delete removes a component. Values that were kept stay out of reach.
func (reg *Registry) Delete(ctx context.Context, caller ports.Caller, slug string, expected int64) error {
	return retry.Run(ctx, "component "+slug, func() error {
		st, c, err := reg.present(ctx, caller.Namespace, slug)
		if err != nil {
			return err
		}
		if err := ports.AtVersion("component "+slug, c.Version, expected); err != nil {
			return err
		}
		c.CreatedAt, c.UpdatedAt, c.Digest, c.record = time.Time{}, reg.ports.Now(), "", componentRecord{Deleted: true}
		return reg.put(ctx, caller, st, c, "deleted")
	})
}
