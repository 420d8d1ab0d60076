package app

import (
	"context"

	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/sweep"
)

// What tests see of the parts that only checks use.

const (
	SealEvery   = sealEvery
	SpendKept   = spendKept
	FiredAgain  = sweep.Later
	MaxPolicies = maxPolicies
	MaxInput    = maxInput
)

// Log commits a decision as a check does.
func (a *App) Log(ctx context.Context, namespace, root string, rec *ledger.Decision) error {
	now := rec.Time
	if now.IsZero() {
		now = a.clock()
	}
	_, err := a.store.Commit(ctx, store.Batch{
		Appends:   []store.Append{logged(namespace, root, rec)},
		SetTimers: []store.Timer{sealTimer(namespace, root, now)},
	})
	return err
}

// Spend counts spends as a check does.
func (a *App) Spend(ctx context.Context, namespace string, spends []rules.Spend) error {
	if err := a.dropLater(ctx, namespace, spends); err != nil {
		return err
	}
	for _, counter := range a.counters(namespace, spends) {
		if _, err := a.store.Commit(ctx, store.Batch{Counters: []store.Counter{counter}}); err != nil {
			return err
		}
	}
	return nil
}

// Index is the cached index of a namespace, and Refresh the present one.
func (a *App) Index(ctx context.Context, namespace string) (*policyIndex, error) {
	return a.knownPolicies(ctx, namespace)
}

func (a *App) Refresh(ctx context.Context, namespace string) (*policyIndex, error) {
	return a.refreshPolicies(ctx, namespace)
}

func (x *policyIndex) Live(name string) int64 {
	version, _ := x.live(name)
	return version
}

func (x *policyIndex) ShadowOf(name string) int64 {
	version, _ := x.shadow(name)
	return version
}

func (x *policyIndex) AttachedTo(kind AttachmentKind, id string) []string {
	return x.attachedTo(kind, id)
}

func (x *policyIndex) SessionsAttached() bool { return x.sessionsAttached() }

func (x *policyIndex) WorkflowShadow(workflow string) string {
	digest, _ := x.workflowShadow(workflow)
	return digest
}

var (
	DecisionsKey = decisionsKey
	SealKey      = sealKey
	IndexKey     = policyIndexKey
	PolicyKey    = policyKey
	SealTimer    = sealTimer
)

func (a *App) SpendKey(namespace string, account rules.Account) store.Key {
	return a.spendKey(namespace, account)
}

func (a *App) RegisterKey(decisions store.Key) store.Key { return a.registerKey(decisions) }

func (a *App) PolicySet(ctx context.Context, namespace, name string, version int64) (*rules.Set, error) {
	return a.policySet(ctx, namespace, name, version)
}

// ShadowJudges reports whether the shadow of a workflow can be judged by.
func (a *App) ShadowJudges(ctx context.Context, namespace, workflow, digest string) error {
	_, err := a.shadowMachine(ctx, namespace, workflow, digest)
	return err
}

// UnhintedMasks are the default ones, whose patterns are matched against every line.
func UnhintedMasks() Masks {
	m := mustMasks(DefaultMaskKeys(), DefaultMaskPatterns())
	for i := range m.patterns {
		m.patterns[i].hints = nil
	}
	return m
}

// Latest sets how many records are looked at for one call.
func (a *App) Latest(n int) { a.latest = n }
