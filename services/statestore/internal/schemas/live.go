package schemas

import (
	"context"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/catalog"
)

// standing is where a schema stands: its latest version, and the live one. Both are nil for a name that is not registered.
type standing struct {
	key          store.Key
	catalog      *catalog.Catalog
	place        catalog.Place
	latest, live *Schema
}

// standing reads where a schema stands.
func (ss *Schemas) standing(ctx context.Context, key store.Key) (*standing, error) {
	c, err := catalog.Read(ctx, ss.ports.Store, key.Namespace)
	if err != nil {
		return nil, err
	}
	st := &standing{key: key, catalog: c}
	st.latest, err = ss.latest(ctx, key)
	switch {
	case fault.ReasonOf(err) == fault.NotFound:
		return st, nil
	case err != nil:
		return nil, err
	}
	return st, ss.place(ctx, st)
}

// place fills in the live version from the catalog and the latest version, and marks both with it.
func (ss *Schemas) place(ctx context.Context, st *standing) (err error) {
	st.place = st.catalog.PlaceOf(catalog.Object{Kind: catalog.Schema, Name: st.key.ID}, st.latest.own())
	number := st.place.LiveOf(st.latest.own())
	switch number {
	case 0:
	case st.latest.Number:
		st.live = st.latest
	default:
		if st.live, err = ss.version(ctx, st.key, number); err != nil {
			return err
		}
		st.live.Live, st.live.Retired = number, st.place.Retired
	}
	st.latest.Live, st.latest.Retired = number, st.place.Retired
	return nil
}

// present returns the live version.
func (st *standing) present() (*Schema, error) {
	switch {
	case st.latest == nil:
		return nil, notRegistered(st.key.ID)
	case st.live == nil:
		return nil, fault.New(fault.NotFound, "no version of schema %q is live; its latest, %d, is staged: apply its set, or register it", st.key.ID, st.latest.Number)
	}
	return st.live, nil
}

// liveNumber returns the number of the live version; 0 for none.
func (st *standing) liveNumber() int64 {
	if st.live == nil {
		return 0
	}
	return st.live.Number
}

// changeable refuses a version by hand of a schema that a signed set has (S26.8).
func (st *standing) changeable(next *Schema) error {
	set := st.catalog.Signed(catalog.Object{Kind: catalog.Schema, Name: st.key.ID})
	if set == "" || next.Staged {
		return nil
	}
	return fault.New(fault.FailedPrecondition, "schema %q is in set %s, which was applied with a signature, so it changes only with the set: sign its folder, and apply it", st.key.ID, set)
}
