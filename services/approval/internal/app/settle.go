package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
)

// settleTimeout bounds how long the engine may take to continue with a run, before
// the decider gets the answer.
const settleTimeout = 2 * time.Second

// tellEngine notifies the engine that an approval that it waits for is decided. This is
// for speed: the engine's own timer makes it certain.
func (a *App) tellEngine(ctx context.Context, r *Record) {
	if a.runs == nil || r.RunID == "" || r.Action.Kind == consent.ToolCall {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	if err := a.runs.Settle(ctx, r.Namespace, r.RunID, r.ID); err != nil {
		a.log.LogAttrs(ctx, slog.LevelDebug, "a decision could not be reported to the engine; its timer will",
			slog.String("approval_id", r.ID), slog.String("run_id", r.RunID), slog.Any("cause", err))
	}
}

// tellEngineBehind does so without waiting, unless many are under way already. It may
// outlive the sweep that calls it.
func (a *App) tellEngineBehind(ctx context.Context, r *Record) {
	ctx = context.WithoutCancel(ctx)
	select {
	case a.settling <- struct{}{}:
		a.behind.Go(func() {
			defer func() { <-a.settling }()
			a.tellEngine(ctx, r)
		})
	default:
	}
}
