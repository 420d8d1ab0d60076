package stage

import (
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/catalog"
	"github.com/interlock-run/interlock/services/internal/decided"
	"github.com/interlock-run/interlock/services/internal/halts"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/protomap"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/breakglass"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/outcome"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/pins"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

// Announcer creates events that tests can read.
type Announcer struct{}

// Decided returns the event that the service announces.
func (Announcer) Decided(ns, root string, d *ledger.Decision) (store.Event, error) {
	return decided.Head(ns, root, d)
}

// Reported returns an event with the accounting of a report.
func (Announcer) Reported(ns, _ string, r *outcome.Reported, _ time.Time) (store.Event, error) {
	return event(ns, r.RunID, r.CallID, fmt.Sprintf("reported accounted=%t", r.Accounted)), nil
}

// Sealed returns an event with the head of a chain.
func (Announcer) Sealed(ns string, s decisionlog.Sealed, _ time.Time) (store.Event, error) {
	return event(ns, s.Partition, "sealed", s.Head), nil
}

// PolicyChanged returns an event with the version of the index.
func (Announcer) PolicyChanged(ns, _ string, c *policystore.Change, _ time.Time) (store.Event, error) {
	return event(ns, c.Name, c.Type, fmt.Sprint(c.IndexVersion)), nil
}

// CatalogChanged returns an event with the revision of the catalog.
func (Announcer) CatalogChanged(ns, _ string, c *catalog.Change, _ time.Time) (store.Event, error) {
	return event(ns, c.Name, c.Type, fmt.Sprint(c.Revision)), nil
}

// HaltChanged returns an event with the revision of the halts.
func (Announcer) HaltChanged(ns, _ string, c *halts.Change, _ time.Time) (store.Event, error) {
	return event(ns, c.ID, c.Type, fmt.Sprint(c.Revision)), nil
}

// BreakGlassChanged returns an event with the version of what has changed.
func (Announcer) BreakGlassChanged(ns, _ string, c *breakglass.Change, _ time.Time) (store.Event, error) {
	return event(ns, c.ID, c.Type, fmt.Sprint(c.Version)), nil
}

// UpstreamChanged returns an event with the version of a server.
func (Announcer) UpstreamChanged(ns, _ string, c *pins.Change, _ time.Time) (store.Event, error) {
	return event(ns, c.Server, c.Type, fmt.Sprint(c.Version)), nil
}

// Unknown returns an event with the ID of a call.
func (Announcer) Unknown(ns string, c *evidence.OpenCall, _ time.Time) (store.Event, error) {
	return event(ns, c.RunID, c.ID, "unknown "+c.ID), nil
}

// Settled returns an event with the outcome of a call.
func (Announcer) Settled(ns string, s *outcome.Settled, _ time.Time) (store.Event, error) {
	return event(ns, s.RunID, s.ID, "settled "+s.ID+" "+s.Outcome), nil
}

// LeaseEvent returns the event that the service announces.
func (Announcer) LeaseEvent(ns, actor, change string, l *consent.Lease, at time.Time) (store.Event, error) {
	return protomap.LeaseEvent(ns, actor, change, l, at)
}

func event(ns, run, call, payload string) store.Event {
	return store.Event{Key: ledger.Run(ns, run), ID: run + call + payload, Subject: "interlock.x", Payload: []byte(payload)}
}
