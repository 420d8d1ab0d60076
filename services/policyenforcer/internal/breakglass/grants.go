// Package breakglass owns the grants by which clients make calls while they cannot reach Interlock, and records the calls
// that they hand in afterwards (S23.48).
package breakglass

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	grants "github.com/interlock-run/interlock/pkg/sdk/breakglass"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/redact"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
)

const (
	kind     = "breakglass"
	grantsID = "grants"
	// maxGrants bounds those of a namespace, and kept is how long they stay after their end, to be handed in.
	maxGrants = 256
	kept      = 30 * 24 * time.Hour
	maxReason = 500
	// mostSpools bounds the spools of one grant.
	mostSpools = 64
)

// Grant is one as the deployment knows it.
type Grant struct {
	grants.Grant
	// ByPerson is the person who made it; empty where that is not known.
	ByPerson string `json:"by_person,omitempty"`
	// Pending is set until a second operator confirms it.
	Pending   bool      `json:"pending,omitempty"`
	RevokedBy string    `json:"revoked_by,omitempty"`
	RevokedAt time.Time `json:"revoked_at,omitzero"`
	// Calls counts those that were handed in, and Altered reports that a spool did not hold. They are not part of the record.
	Calls   int64 `json:"-"`
	Altered bool  `json:"-"`
}

// Until returns the end.
func (g *Grant) Until() time.Time { return time.Unix(g.Expires, 0).UTC() }

// CreatedAt returns when it was made.
func (g *Grant) CreatedAt() time.Time { return time.Unix(g.IssuedAt, 0).UTC() }

// Change is the event of a change of a grant.
type Change struct {
	// Type is granted, confirmed, revoked or handed_in.
	Type string
	*Grant
	// Version is that of the record that has changed.
	Version int64
	// Recorded is how many calls were handed in, and Why says why their spool does not hold.
	Recorded int64
	Why      string
}

// Announcer creates the events.
type Announcer interface {
	BreakGlassChanged(namespace, actor string, c *Change, at time.Time) (store.Event, error)
	Decided(namespace, root string, d *ledger.Decision) (store.Event, error)
}

// Config of the keeper.
type Config struct {
	Store    store.Store
	Announce Announcer
	Clock    func() time.Time
	Masks    redact.Masks
	// FourEyes: a grant counts once another operator has confirmed it.
	FourEyes bool
}

// Keeper makes grants, and records the calls that were made by them.
type Keeper struct{ Config }

// New returns the keeper of a store.
func New(cfg Config) *Keeper { return &Keeper{cfg} }

// text is the stored form of the grants of a namespace, the oldest first.
type text struct {
	Grants []Grant `json:"grants"`
}

func keyOf(namespace string) store.Key {
	return store.Key{Namespace: namespace, Kind: kind, ID: grantsID}
}

func (k *Keeper) read(ctx context.Context, namespace string) (text, int64, error) {
	var t text
	version, err := readRecord(ctx, k.Store, keyOf(namespace), &t)
	return t, version, err
}

// readRecord reads a record; its version is store.Absent where there is none.
func readRecord(ctx context.Context, st store.Store, key store.Key, into any) (int64, error) {
	record, err := st.Get(ctx, key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return store.Absent, nil
	case err != nil:
		return 0, fault.From(err)
	}
	if err := json.Unmarshal(record.Data, into); err != nil {
		return 0, fault.From(fmt.Errorf("decode %s: %w", key, err))
	}
	return record.Version, nil
}

// Create makes a grant.
func (k *Keeper) Create(ctx context.Context, caller enforcer.Caller, g Grant) (*Grant, error) {
	now := k.Clock().UTC().Truncate(time.Second)
	if len(g.Reason) > maxReason {
		return nil, fault.New(fault.InvalidRequest, "say why in at most %d bytes", maxReason).Violate("/reason", "RANGE", "too long")
	}
	g.ID, g.Namespace, g.IssuedAt, g.By, g.ByPerson = typeid.New(typeid.BreakGlass), caller.Namespace, now.Unix(), caller.Principal.Name, caller.Principal.Person
	g.Grant = *grants.New(g.Grant)
	g.Pending = k.FourEyes
	if err := g.Valid(); err != nil {
		return nil, fault.New(fault.InvalidRequest, "no grant was made: %v", err).Violate("/tools", "INVALID", "not valid")
	}
	return k.change(ctx, caller, "granted", func(t *text) (*Grant, error) {
		t.Grants = slices.DeleteFunc(t.Grants, func(old Grant) bool { return now.After(old.Until().Add(kept)) })
		if len(t.Grants) >= maxGrants {
			return nil, fault.New(fault.LimitReached, "there are %d break-glass grants, the limit is %d: each is kept for 30 days after its end, so that it can be handed in", len(t.Grants), maxGrants)
		}
		t.Grants = append(t.Grants, g)
		return &g, nil
	})
}

// Confirm records the consent of the second operator.
func (k *Keeper) Confirm(ctx context.Context, caller enforcer.Caller, id string) (*Grant, error) {
	return k.one(ctx, caller, id, "confirmed", func(g *Grant) (bool, error) {
		who := caller.Principal
		switch {
		case !g.Pending:
			return false, nil
		case session.Alike(who.Name) == session.Alike(g.By), who.Person != "" && who.Person == g.ByPerson:
			return false, fault.New(fault.PermissionDenied, "break-glass grant %s was made by %s; another operator must confirm it", g.ID, document.Quote(g.By))
		}
		g.Pending, g.ConfirmedBy = false, who.Name
		return true, nil
	})
}

// Revoke ends a grant: the calls after it are recorded as revoked.
func (k *Keeper) Revoke(ctx context.Context, caller enforcer.Caller, id string) (*Grant, error) {
	return k.one(ctx, caller, id, "revoked", func(g *Grant) (bool, error) {
		if g.RevokedBy != "" {
			return false, nil
		}
		g.RevokedBy, g.RevokedAt = caller.Principal.Name, k.Clock().UTC()
		return true, nil
	})
}

// one changes one grant.
func (k *Keeper) one(ctx context.Context, caller enforcer.Caller, id, verb string, edit func(*Grant) (bool, error)) (*Grant, error) {
	return k.change(ctx, caller, verb, func(t *text) (*Grant, error) {
		g, err := t.find(id)
		if err != nil {
			return nil, err
		}
		changed, err := edit(g)
		if err != nil || !changed {
			return nil, err
		}
		return g, nil
	}, id)
}

func (t *text) find(id string) (*Grant, error) {
	if i := slices.IndexFunc(t.Grants, func(g Grant) bool { return g.ID == id }); i >= 0 {
		return &t.Grants[i], nil
	}
	return nil, fault.New(fault.NotFound, "break-glass grant %s does not exist here, or ended more than 30 days ago", document.Quote(id))
}

// change commits an edit with the event of the grant that it returns. It returns that grant, or the
// one with the id if the edit returned none.
func (k *Keeper) change(ctx context.Context, caller enforcer.Caller, verb string, edit func(*text) (*Grant, error), id ...string) (*Grant, error) {
	return retry.Do(ctx, "the break-glass grants", func() (*Grant, error) {
		t, version, err := k.read(ctx, caller.Namespace)
		if err != nil {
			return nil, err
		}
		g, err := edit(&t)
		if err != nil {
			return nil, err
		}
		if g == nil {
			return t.find(id[0])
		}
		data, err := json.Marshal(t)
		if err != nil {
			return nil, fault.From(fmt.Errorf("encode the break-glass grants: %w", err))
		}
		event, err := k.Announce.BreakGlassChanged(caller.Namespace, caller.Principal.Name, &Change{Type: verb, Grant: g, Version: version + 1}, k.Clock().UTC())
		if err != nil {
			return nil, fault.From(err)
		}
		event.Key = keyOf(caller.Namespace)
		_, err = k.Store.Commit(ctx, store.Batch{Puts: []store.Put{{Key: keyOf(caller.Namespace), Expect: version, Data: data}}, Events: []store.Event{event}})
		return g, retry.Fault(err)
	})
}

// List returns the grants of a namespace, the newest first.
func (k *Keeper) List(ctx context.Context, namespace string) ([]Grant, error) {
	t, _, err := k.read(ctx, namespace)
	if err != nil {
		return nil, err
	}
	slices.Reverse(t.Grants)
	for i := range t.Grants {
		if err := k.count(ctx, &t.Grants[i]); err != nil {
			return nil, err
		}
	}
	return t.Grants, nil
}

// Get returns one grant.
func (k *Keeper) Get(ctx context.Context, namespace, id string) (*Grant, error) {
	t, _, err := k.read(ctx, namespace)
	if err != nil {
		return nil, err
	}
	g, err := t.find(id)
	if err != nil {
		return nil, err
	}
	return g, k.count(ctx, g)
}

// count sets the numbers of the calls that were handed in.
func (k *Keeper) count(ctx context.Context, g *Grant) error {
	var a account
	_, err := readRecord(ctx, k.Store, accountOf(g), &a)
	g.Calls, g.Altered = a.Calls, a.Altered
	return err
}
