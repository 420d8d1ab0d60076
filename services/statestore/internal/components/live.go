package components

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/catalog"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
)

// standing is where a slug stands: its record, and the live version.
type standing struct {
	key     store.Key
	catalog *catalog.Catalog
	place   catalog.Place
	record  store.Record
	// latest is the version of the record, and own the one that is live by it; 0 for none.
	latest, own int64
	// live is nil for a component that is not there, was deleted, or waits for its set.
	live *Component
}

// standing reads where a slug stands.
func (reg *Registry) standing(ctx context.Context, key store.Key) (*standing, error) {
	c, err := catalog.Read(ctx, reg.ports.Store, key.Namespace)
	if err != nil {
		return nil, err
	}
	record, err := reg.ports.Store.Get(ctx, key)
	if ports.NotFound(err) {
		return &standing{key: key, catalog: c}, nil
	}
	if err != nil {
		return nil, fault.From(err)
	}
	return reg.place(ctx, c, record)
}

// place finds the live version from the catalog and the record of a slug.
func (reg *Registry) place(ctx context.Context, c *catalog.Catalog, record store.Record) (*standing, error) {
	st := &standing{key: record.Key, catalog: c, record: record, latest: record.Version, own: record.Version}
	var latest componentRecord
	if err := json.Unmarshal(record.Data, &latest); err != nil {
		return nil, fault.From(fmt.Errorf("decode component: %w", err))
	}
	if latest.Staged {
		st.own = latest.Before
	}
	st.place = c.PlaceOf(catalog.Object{Kind: catalog.Component, Name: record.Key.ID}, st.own)
	number := st.place.LiveOf(st.own)
	if number == 0 || st.place.Retired != nil {
		return st, nil
	}
	if number != record.Version {
		entries, err := reg.ports.Store.History(ctx, record.Key, number-1, 1)
		if err != nil {
			return nil, fault.From(err)
		}
		if len(entries) == 0 || entries[0].Version != number {
			return nil, fault.From(fmt.Errorf("component %s has no version %d, which is live", record.Key.ID, number))
		}
		record.Version, record.Data = number, entries[0].Data
	}
	var err error
	st.live, err = decode(record)
	return st, err
}

// present returns where the component of a slug or id stands, and the component.
func (reg *Registry) present(ctx context.Context, namespace, slug string) (*standing, *Component, error) {
	c, err := reg.Get(ctx, namespace, slug)
	if err != nil {
		return nil, nil, err
	}
	st, err := reg.standing(ctx, ledger.ComponentOf(namespace, c.Slug))
	if err != nil {
		return nil, nil, err
	}
	if st.live == nil {
		err = fault.New(fault.NotFound, "there is no component %q; create it first", ports.Clip(slug))
	}
	return st, st.live, err
}

// waits reports that the latest version has a digest, and was never live.
func (st *standing) waits(digest string) bool {
	var latest componentRecord
	return json.Unmarshal(st.record.Data, &latest) == nil && latest.Staged && latest.Digest == digest && st.latest > st.place.AsOf
}

// unchanged returns the precondition that no set is applied meanwhile.
func (st *standing) unchanged() []store.Check {
	return []store.Check{{Key: catalog.Key(st.key.Namespace), Version: st.catalog.Version}}
}

// changeable refuses a change by hand of a component that a signed set has (S26.8).
func (st *standing) changeable() error {
	set := st.catalog.Signed(catalog.Object{Kind: catalog.Component, Name: st.key.ID})
	if set == "" {
		return nil
	}
	return fault.New(fault.FailedPrecondition, "component %q is in set %s, which was applied with a signature, so it changes only with the set: sign its folder, and apply it", st.key.ID, set)
}
