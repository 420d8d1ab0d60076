package decisionlog

import (
	"context"
	"log/slog"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/sweep"
)

// Names for tests outside of the package.
const (
	SealEvery  = sealEvery
	FiredAgain = sweep.Later
)

// Names for tests outside of the package.
var (
	SealKey = sealKey
)

// RegisterKey returns the key of the register of a partition.
func (l *Log) RegisterKey(decisions store.Key) store.Key { return l.registerKey(decisions) }

// Latest sets how many records are searched for one call.
func (l *Log) Latest(n int) { l.latest = n }

// SweepOnce fires the timers that are due.
func (l *Log) SweepOnce(ctx context.Context) {
	(&sweep.Sweeper{
		Store: l.store, Clock: l.clock, Log: slog.New(slog.DiscardHandler), Kinds: []string{ledger.KindDecisions},
		Fire: l.Fire, Page: 128, Slots: 16,
	}).Once(ctx)
}
