package app

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/contend"
)

// Component is the definition of a state component (S12.1).
type Component struct {
	*document.Component
	// Definition is as it was given.
	Definition document.Value
	Version    int64
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// componentRecord is the stored form.
type componentRecord struct {
	Definition json.RawMessage `json:"definition"`
	CreatedAt  time.Time       `json:"created_at"`
	UpdatedAt  time.Time       `json:"updated_at"`
	CreatedBy  string          `json:"created_by"`
}

func componentKey(namespace, slug string) store.Key {
	return store.Key{Namespace: namespace, Kind: kindComponent, ID: slug}
}

// parseComponent reads a definition.
func parseComponent(src []byte) (*document.Component, document.Value, error) {
	v, problems := document.ParseAll(src, document.Limits{})
	if problems.HasErrors() {
		return nil, v, badJSON("definition", problems)
	}
	c, problems := document.ParseComponentValue(v)
	if problems.HasErrors() {
		return nil, v, violations(fault.New(fault.InvalidDefinition, "the component is not valid: %s", first(problems)), "", problems)
	}
	return c, v, nil
}

// CreateComponent stores a component under its slug.
func (a *App) CreateComponent(ctx context.Context, caller Caller, src []byte) (*Component, error) {
	parsed, value, err := parseComponent(src)
	if err != nil {
		return nil, err
	}
	now := a.now()
	c := &Component{Component: parsed, Definition: value, Version: 1, CreatedAt: now, UpdatedAt: now}
	for range contend.Attempts {
		known, err := a.Component(ctx, caller.Namespace, c.Slug)
		switch {
		case err == nil && document.Equal(known.Definition, value):
			return known, nil // a repeat
		case err == nil:
			return nil, fault.New(fault.NameTaken, "there is a component %q already; update it with PUT, or choose another slug", c.Slug)
		case fault.ReasonOf(err) != fault.NotFound:
			return nil, err
		}
		err = a.putComponent(ctx, caller, c, "created", store.Absent)
		if !lostRace(err) {
			if err != nil {
				return nil, fault.From(err)
			}
			return c, nil
		}
	}
	return nil, contended("component " + c.Slug)
}

func (a *App) putComponent(ctx context.Context, caller Caller, c *Component, kind string, expect int64) error {
	data, err := json.Marshal(componentRecord{
		Definition: c.Definition.AppendJSON(nil), CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt, CreatedBy: caller.Principal.Name,
	})
	if err != nil {
		return fmt.Errorf("encode component: %w", err)
	}
	event, err := a.announce.ComponentEvent(caller.Namespace, caller.Principal.Name, kind, c, c.UpdatedAt)
	if err != nil {
		return err
	}
	result, err := a.store.Commit(ctx, store.Batch{
		Puts:   []store.Put{{Key: componentKey(caller.Namespace, c.Slug), Expect: expect, Data: data}},
		Events: []store.Event{event},
	})
	if err == nil {
		c.Version = result.Versions[0]
	}
	return err
}

// Component answers a component by its slug.
func (a *App) Component(ctx context.Context, namespace, slug string) (*Component, error) {
	record, err := a.store.Get(ctx, componentKey(namespace, slug))
	if notFound(err) {
		return nil, fault.New(fault.NotFound, "there is no component %q; create it first", clip(slug))
	}
	if err != nil {
		return nil, fault.From(err)
	}
	return decodeComponent(record)
}

func decodeComponent(record store.Record) (*Component, error) {
	var in componentRecord
	if err := json.Unmarshal(record.Data, &in); err != nil {
		return nil, fault.From(fmt.Errorf("decode component: %w", err))
	}
	parsed, value, err := parseComponent(in.Definition)
	if err != nil {
		return nil, err
	}
	return &Component{Component: parsed, Definition: value, Version: record.Version, CreatedAt: in.CreatedAt, UpdatedAt: in.UpdatedAt}, nil
}

// Components answers a page of components by slug.
func (a *App) Components(ctx context.Context, namespace, tag, after string, limit int) ([]*Component, string, error) {
	query := store.Query{Namespace: namespace, Kind: kindComponent, After: after, Limit: limit}
	var found []*Component
	for {
		page, err := a.store.List(ctx, query)
		if err != nil {
			return nil, "", fault.From(err)
		}
		for _, record := range page.Records {
			c, err := decodeComponent(record)
			if err != nil {
				return nil, "", err
			}
			if tag != "" && !c.tagged(tag) {
				continue
			}
			if len(found) == limit {
				return found, found[limit-1].Slug, nil
			}
			found = append(found, c)
		}
		if page.Next == "" || tag == "" {
			return found, page.Next, nil
		}
		query.After = page.Next
	}
}

func (c *Component) tagged(tag string) bool {
	for _, t := range c.Tags {
		if t == tag {
			return true
		}
	}
	return false
}

// UpdateComponent replaces a component's definition.
func (a *App) UpdateComponent(ctx context.Context, caller Caller, slug string, src []byte, expected int64) (*Component, error) {
	parsed, value, err := parseComponent(src)
	if err != nil {
		return nil, err
	}
	if parsed.Slug != slug {
		return nil, fault.New(fault.InvalidRequest, "the definition's slug is %q, not %q; a component keeps its slug", clip(parsed.Slug), clip(slug)).
			Violate("/slug", "NAME", "must stay as it is")
	}
	for range contend.Attempts {
		known, err := a.Component(ctx, caller.Namespace, slug)
		if err != nil {
			return nil, err
		}
		if err := atVersion("component "+slug, known.Version, expected); err != nil {
			return nil, err
		}
		c := &Component{Component: parsed, Definition: value, Version: known.Version + 1, CreatedAt: known.CreatedAt, UpdatedAt: a.now()}
		err = a.putComponent(ctx, caller, c, "updated", known.Version)
		if !lostRace(err) {
			if err != nil {
				return nil, fault.From(err)
			}
			return c, nil
		}
	}
	return nil, contended("component " + slug)
}

func atVersion(what string, have, want int64) error {
	if want != 0 && want != have {
		return fault.New(fault.VersionConflict, "%s is at version %d, not %d; read it and decide again", what, have, want).
			Meta("current_version", fmt.Sprint(have))
	}
	return nil
}

// DeleteComponent removes a component. Values that were kept stay out of reach.
func (a *App) DeleteComponent(ctx context.Context, caller Caller, slug string, expected int64) error {
	for range contend.Attempts {
		known, err := a.Component(ctx, caller.Namespace, slug)
		if err != nil {
			return err
		}
		if err := atVersion("component "+slug, known.Version, expected); err != nil {
			return err
		}
		next := *known
		next.Version++
		event, err := a.announce.ComponentEvent(caller.Namespace, caller.Principal.Name, "deleted", &next, a.now())
		if err != nil {
			return fault.From(err)
		}
		_, err = a.store.Commit(ctx, store.Batch{
			Deletes: []store.Check{{Key: componentKey(caller.Namespace, slug), Version: known.Version}}, Events: []store.Event{event},
		})
		if !lostRace(err) {
			if err != nil {
				return fault.From(err)
			}
			return nil
		}
	}
	return contended("component " + slug)
}
