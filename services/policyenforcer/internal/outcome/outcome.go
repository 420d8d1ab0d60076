// Package outcome records the ends of allowed calls: reports, witnesses of jails, costs and settlements, with
// their effects on evidence, budgets and the open calls of a family of runs.
package outcome

import (
	"time"

	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/snapshot"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/calls"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/quota"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// Announcer creates the events about the ends of calls.
type Announcer interface {
	Reported(namespace, actor string, r *Reported, at time.Time) (store.Event, error)
	// Unknown announces a call whose report is overdue, Settled one without a report of its outcome.
	Unknown(namespace string, c *evidence.OpenCall, at time.Time) (store.Event, error)
	Settled(namespace string, s *Settled, at time.Time) (store.Event, error)
}

// Config has the settings and the ports of a Service.
type Config struct {
	Store    store.Store
	Engine   enforcer.Runs
	Announce Announcer
	Clock    func() time.Time
	Runs     *runs.Reader
	Policies *policystore.Store
	Quota    *quota.Accounts
	Calls    *calls.Store
	// Jails is the mode of jails for command lines.
	Jails enforcer.Jails
}

// Service records the ends of calls.
type Service struct {
	store    store.Store
	engine   enforcer.Runs
	announce Announcer
	clock    func() time.Time
	runs     *runs.Reader
	policies *policystore.Store
	quota    *quota.Accounts
	calls    *calls.Store
	jails    enforcer.Jails
	// noticed has the discarded files that a notice has named, with the call.
	noticed *snapshot.Cache[noticedFile, string]
}

// New returns the service of a configuration.
func New(cfg Config) *Service {
	return &Service{
		store: cfg.Store, engine: cfg.Engine, announce: cfg.Announce, clock: cfg.Clock, runs: cfg.Runs, policies: cfg.Policies,
		quota: cfg.Quota, calls: cfg.Calls, jails: cfg.Jails, noticed: snapshot.New[noticedFile, string](16_384),
	}
}
