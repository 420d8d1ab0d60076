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
	Version    int64
	CreatedAt  time.Time
	UpdatedAt  time.Time

	record componentRecord
}

// componentRecord is the stored form. The record of a component that was deleted
// stays, without a definition, so that no version of a slug means two things.
type componentRecord struct {
	ID         string          `json:"id,omitempty"`
	Definition json.RawMessage `json:"definition,omitempty"`
	CreatedAt  time.Time       `json:"created_at"`
	UpdatedAt  time.Time       `json:"updated_at"`
	CreatedBy  string          `json:"created_by"`
	// Born is the version at which it was created, which distinguishes it from others of
	// its slug.
	Born int64 `json:"born"`
	// Key and Digest are those of the request that created it (S6.5).
	Key    string `json:"key,omitempty"`
	Digest string `json:"digest,omitempty"`
}

func keyOf(namespace, slug string) store.Key {
	return store.Key{Namespace: namespace, Kind: kind, ID: slug}
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
		record, known, err := reg.find(ctx, caller.Namespace, parsed.Slug)
		if err != nil {
			return nil, err
		}
		if known != nil {
			return known.repeat(value, key, digest)
		}
		c := &Component{Component: parsed, Definition: value, Version: record.Version + 1, CreatedAt: now, UpdatedAt: now}
		c.ID = typeid.New(typeid.Component)
		c.record = componentRecord{ID: c.ID, CreatedBy: caller.Principal.Name, Born: c.Version, Key: key, Digest: digest}
		return c, reg.put(ctx, caller, c, "created")
	})
}

// repeat returns a component that exists already for the request that created it,
// and refuses it to others.
func (c *Component) repeat(definition document.Value, key, digest string) (*Component, error) {
	switch {
	case key != "" && key == c.record.Key && digest == c.record.Digest, document.Equal(c.Definition, definition):
		return c, nil
	case key != "" && key == c.record.Key:
		return nil, fault.New(fault.IdempotencyMismatch, "this idempotency key was used for another definition of component %q; use a new one", c.Slug)
	default:
		return nil, fault.New(fault.NameTaken, "component %q already exists; update it with PUT, or choose another slug", c.Slug)
	}
}

// put stores the next version of a component.
func (reg *Registry) put(ctx context.Context, caller ports.Caller, c *Component, kind string) error {
	record := c.record
	record.Definition, record.CreatedAt, record.UpdatedAt = c.Definition.AppendJSON(nil), c.CreatedAt, c.UpdatedAt
	return reg.putRecord(ctx, caller, c, record, kind)
}

func (reg *Registry) putRecord(ctx context.Context, caller ports.Caller, c *Component, record componentRecord, kind string) error {
	data, err := json.Marshal(record)
	if err != nil {
		return fault.From(fmt.Errorf("encode component: %w", err))
	}
	event, err := reg.announce.ComponentEvent(caller.Namespace, caller.Principal.Name, kind, c, c.UpdatedAt)
	if err != nil {
		return fault.From(err)
	}
	_, err = reg.ports.Store.Commit(ctx, store.Batch{
		Puts:   []store.Put{{Key: keyOf(caller.Namespace, c.Slug), Expect: c.Version - 1, Data: data}},
		Events: []store.Event{event},
	})
	return retry.Fault(err)
}

// Get returns a component by its slug, or by its id.
func (reg *Registry) Get(ctx context.Context, namespace, slug string) (*Component, error) {
	_, c, err := reg.find(ctx, namespace, slug)
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

// find reads the record of a slug, and the component, nil for none.
func (reg *Registry) find(ctx context.Context, namespace, slug string) (store.Record, *Component, error) {
	record, err := reg.ports.Store.Get(ctx, keyOf(namespace, slug))
	if ports.NotFound(err) {
		return record, nil, nil
	}
	if err != nil {
		return record, nil, fault.From(err)
	}
	c, err := decode(record)
	return record, c, err
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
		Component: parsed, ID: in.ID, Definition: value, Version: record.Version, CreatedAt: in.CreatedAt, UpdatedAt: in.UpdatedAt, record: in,
	}, nil
}

// List returns a page of components by slug.
func (reg *Registry) List(ctx context.Context, namespace, tag, after string, limit int) ([]*Component, string, error) {
	query := store.Query{Namespace: namespace, Kind: kind, After: after, Limit: limit}
	var found []*Component
	for {
		page, err := reg.ports.Store.List(ctx, query)
		if err != nil {
			return nil, "", fault.From(err)
		}
		for _, record := range page.Records {
			c, err := decode(record)
			if err != nil {
				return nil, "", err
			}
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
		c, err := reg.Get(ctx, caller.Namespace, slug)
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
		c.Version++
		return c, reg.put(ctx, caller, c, "updated")
	})
}

// Delete removes a component. Values that were kept stay out of reach.
func (reg *Registry) Delete(ctx context.Context, caller ports.Caller, slug string, expected int64) error {
	return retry.Run(ctx, "component "+slug, func() error {
		c, err := reg.Get(ctx, caller.Namespace, slug)
		if err != nil {
			return err
		}
		if err := ports.AtVersion("component "+slug, c.Version, expected); err != nil {
			return err
		}
		c.UpdatedAt = reg.ports.Now()
		c.Version++
		return reg.putRecord(ctx, caller, c, componentRecord{UpdatedAt: c.UpdatedAt}, "deleted")
	})
}

const kind = "component"
