package registry

import (
	"context"
	"strings"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/internal/catalog"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// standing is where a name stands: its latest version, and the live one. Both are nil for a name that is not registered.
type standing struct {
	key          store.Key
	catalog      *catalog.Catalog
	place        catalog.Place
	latest, live *Version
}

// standing reads where a name stands.
func (reg *Registry) standing(ctx context.Context, key store.Key) (*standing, error) {
	c, err := catalog.Read(ctx, reg.ports.Store, key.Namespace)
	if err != nil {
		return nil, err
	}
	st := &standing{key: key, catalog: c, place: c.Places[key.ID]}
	st.latest, err = reg.loadLatest(ctx, key)
	switch {
	case fault.ReasonOf(err) == fault.NotFound:
		return st, nil
	case err != nil:
		return nil, err
	}
	st.live, err = reg.liveOf(ctx, key, st.place, st.latest)
	return st, err
}

// liveOf returns the live version of a name, or nil, and marks both versions with it.
func (reg *Registry) liveOf(ctx context.Context, key store.Key, place catalog.Place, latest *Version) (*Version, error) {
	number := place.LiveOf(latest.own())
	latest.Live, latest.Retired = number, place.Retired
	switch number {
	case 0:
		return nil, nil
	case latest.Number:
		return latest, nil
	}
	v, err := reg.version(ctx, key, number)
	if err != nil {
		return nil, err
	}
	v.Live, v.Retired = number, place.Retired
	return v, nil
}

// keptFromAgents reports that an operator has registered, promoted or applied the name, so that no agent changes it (S6.7).
func (st *standing) keptFromAgents() bool {
	if st.latest == nil {
		return false
	}
	_, _, owned := st.catalog.Owner(catalog.Object{Kind: catalog.Kind(st.latest.what()), Name: st.key.ID})
	return owned || st.place.Live != 0 || !st.latest.Role.Drives()
}

// unchanged returns the precondition that no other version is made live meanwhile, where there is an expectation, or an
// agent registers.
func (st *standing) unchanged(e Expected, by auth.Role) []store.Check {
	if e == (Expected{}) && !by.Drives() {
		return nil
	}
	return []store.Check{{Key: catalog.Key(st.key.Namespace), Version: st.catalog.Version}}
}

// Standing fills in whether a version is live, and whether its workflow is retired.
func (reg *Registry) Standing(ctx context.Context, namespace string, v *Version) error {
	st, err := reg.standing(ctx, store.Key{Namespace: namespace, Kind: KindWorkflow, ID: v.Name})
	if err == nil && st.latest != nil {
		v.Live, v.Retired = st.latest.Live, st.latest.Retired
	}
	return err
}

// makeLive makes a version live, from the standing that was read. An earlier version again is allowed.
func (reg *Registry) makeLive(ctx context.Context, caller ports.Caller, st *standing, v *Version) error {
	err := reg.move(ctx, caller, st, &catalog.Change{Type: "promoted", Kind: catalog.Kind(v.what()), Name: v.Name, Version: v.Number, Digest: v.Digest}, func(p *catalog.Place) {
		p.Live, p.AsOf = v.Number, st.latest.Number
	})
	if err == nil {
		v.Live, v.Retired = v.Number, st.place.Retired
	}
	return err
}

// move commits a change of the place of a name.
func (reg *Registry) move(ctx context.Context, caller ports.Caller, st *standing, change *catalog.Change, edit func(*catalog.Place)) error {
	text := st.catalog.Edit()
	place := st.place
	edit(&place)
	text.Places[st.key.ID] = place
	if (place == catalog.Place{}) {
		delete(text.Places, st.key.ID)
	}
	checks := []store.Check{{Key: st.key, Version: st.latest.Number}}
	w := &catalog.Writer{Store: reg.ports.Store, Announce: reg.announce, Clock: reg.ports.Clock}
	return st.catalog.Commit(ctx, w, caller.Namespace, caller.Principal.Name, &text, []*catalog.Change{change}, checks)
}

// Promote makes a version of a workflow or process live: new runs get it.
func (reg *Registry) Promote(ctx context.Context, caller ports.Caller, name string, number int64, expected Expected) (*Version, error) {
	return reg.change(ctx, caller, name, func(st *standing) (*Version, error) {
		if err := expected.check(st.latest.what(), name, st.live); err != nil {
			return nil, err
		}
		if st.live != nil && st.live.Number == number {
			return st.live, nil
		}
		v, err := reg.version(ctx, st.key, number)
		if err != nil {
			return nil, err
		}
		return v, reg.makeLive(ctx, caller, st, v)
	})
}

// Retire ends the new runs of a workflow or process. Those that run go on.
func (reg *Registry) Retire(ctx context.Context, caller ports.Caller, name, reason string) (*Version, error) {
	if strings.ContainsAny(reason, "\r\n") {
		return nil, fault.New(fault.InvalidRequest, "the reason must be one line").Violate("/reason", "FORMAT", "not one line of text")
	}
	return reg.change(ctx, caller, name, func(st *standing) (*Version, error) {
		v := st.present()
		if v.Retired != nil {
			return v, nil
		}
		at := reg.ports.Clock().UTC()
		retired := &catalog.Retirement{At: at, By: caller.Principal.Name, Reason: reason}
		change := &catalog.Change{Type: "retired", Kind: catalog.Kind(v.what()), Name: name, Version: v.Live, Digest: v.Digest, Reason: reason}
		err := reg.move(ctx, caller, st, change, func(p *catalog.Place) { p.Retired = retired })
		v.Retired = retired
		return v, err
	})
}

// Restore undoes Retire.
func (reg *Registry) Restore(ctx context.Context, caller ports.Caller, name string) (*Version, error) {
	return reg.change(ctx, caller, name, func(st *standing) (*Version, error) {
		v := st.present()
		if v.Retired == nil {
			return v, nil
		}
		change := &catalog.Change{Type: "restored", Kind: catalog.Kind(v.what()), Name: name, Version: v.Live, Digest: v.Digest}
		err := reg.move(ctx, caller, st, change, func(p *catalog.Place) { p.Retired = nil })
		v.Retired = nil
		return v, err
	})
}

// present returns the live version, or else the latest.
func (st *standing) present() *Version {
	if st.live != nil {
		return st.live
	}
	return st.latest
}

// change makes a change from the present standing of a name that is registered, and tries again after a lost race.
func (reg *Registry) change(ctx context.Context, caller ports.Caller, name string, change func(*standing) (*Version, error)) (*Version, error) {
	if err := reg.ports.Definitions.Unsigned(); err != nil {
		return nil, err
	}
	key := store.Key{Namespace: caller.Namespace, Kind: KindWorkflow, ID: name}
	return retry.Do(ctx, "the live version of "+name, func() (*Version, error) {
		st, err := reg.standing(ctx, key)
		if err != nil {
			return nil, err
		}
		if st.latest == nil {
			return nil, notRegistered(name)
		}
		v, err := change(st)
		return v, retry.Fault(err)
	})
}

// Signed refuses a version that is not live for runs, where only signed sets make versions live (S26.8).
func (reg *Registry) Signed(v *Version, number int64) error {
	if number == v.Live {
		return nil
	}
	return reg.ports.Definitions.Unsigned()
}

// Startable refuses new runs of a workflow that is retired.
func Startable(v *Version) error {
	if v.Retired == nil {
		return nil
	}
	why := ""
	if v.Retired.Reason != "" {
		why = ": " + document.Quote(v.Retired.Reason)
	}
	return fault.New(fault.FailedPrecondition, "%s %s was retired by %s%s, so no run was started; an operator can restore it: `interlock %s restore %s`",
		v.what(), document.Quote(v.Name), v.Retired.By, why, v.what(), v.Name)
}
