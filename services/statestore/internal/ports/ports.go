// Package ports has the caller of the state-store, its ports and settings, and the refusals that
// all its rooms share. It imports none of the rooms.
package ports

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/auth/sessiontoken"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/services/internal/sweep"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/internal/sessionread"
	"github.com/interlock-run/interlock/services/internal/wakeup"
)

// Ports are what every room of the state-store acts through.
type Ports struct {
	Store  store.Store
	Clock  func() time.Time
	Log    *slog.Logger
	Config Config
	// Turns orders the callers of this process that change the same tree.
	Turns *retry.Turns
	// Changes wakes those of this process that wait for a change.
	Changes *wakeup.Hub

	places *sessionread.Reader
}

// New returns the ports. clock is time.Now outside of tests.
func New(st store.Store, clock func() time.Time, log *slog.Logger, cfg Config) *Ports {
	return &Ports{Store: st, Clock: clock, Log: log, Config: cfg.withDefaults(), Turns: retry.NewTurns(), Changes: wakeup.New(), places: sessionread.New(st)}
}

// Config of the use cases. Zero fields mean the defaults.
type Config struct {
	Session session.Config
	// ToolPrefix is that of the tools which prompts name (S15.8).
	ToolPrefix string
	// MaxStateBytes is the longest state; 1 MiB (S10.2).
	MaxStateBytes int
	// HistoryVersions is how many versions of a state are kept at least; 0 for all
	// (S10.6).
	HistoryVersions int64
	// Retention is how long a state outlives the end of its root session; 0 keeps it
	// forever (S10.8).
	Retention time.Duration
	// CacheBytes bounds the documents kept in memory; 64 MiB.
	CacheBytes int
	// Minter signs session tokens; nil where there is no key.
	Minter Minter
	// Names are those of the tokens file; nil without one.
	Names *auth.Tokens
	// Timers learns how late timers are; nil if there is none.
	Timers *sweep.Watch
}

// Minter signs session tokens.
type Minter interface {
	Mint(c sessiontoken.Claims) (string, error)
}

func (c Config) withDefaults() Config {
	c.Session = c.Session.WithDefaults()
	if c.MaxStateBytes <= 0 {
		c.MaxStateBytes = document.DefaultBytes
	}
	if c.CacheBytes <= 0 {
		c.CacheBytes = 64 << 20
	}
	return c
}

// Caller is who asks, and where.
type Caller struct {
	Namespace string
	Principal auth.Principal
	// Session is the one that acts, by id or name; empty for none.
	Session string
	// For is the person whose token the caller has sent along; nil for none.
	For *auth.Human
}

// Agent reports whether the caller is an agent.
func (c Caller) Agent() bool { return c.Principal.Role.Drives() }

// System returns the actor when time has passed.
func System(namespace string) Caller {
	return Caller{Namespace: namespace, Principal: auth.Principal{Name: "interlock", Role: auth.Operator}}
}

// Counts refuses a caller whose session token was revoked, and returns the preconditions under which it counts (S22.21).
func (p *Ports) Counts(ctx context.Context, by auth.Principal) ([]store.Check, error) {
	return p.places.Counts(ctx, by)
}

// Commit commits a change of a caller as long as its token counts (S22.21). The error is as that of the store, or a fault.
func (p *Ports) Commit(ctx context.Context, by auth.Principal, batch store.Batch) (store.Result, error) {
	counts, err := p.Counts(ctx, by)
	if err != nil {
		return store.Result{}, err
	}
	batch.Checks = slices.Concat(batch.Checks, counts)
	return p.Store.Commit(ctx, batch)
}

// Now returns the time.
func (p *Ports) Now() time.Time { return p.Clock().UTC() }
