package app

import (
	"context"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
)

// Consume uses a granted approval for the action of a digest, once (S7.6). The same use
// again is the same. insteadOf is a failed use, which this one takes over; empty for none.
func (a *App) Consume(ctx context.Context, caller Caller, id, digest, usedBy, insteadOf string) (*Record, error) {
	return a.change(ctx, id, command{caller: caller, usedBy: usedBy, apply: func(r *Record, now time.Time) consent.Result {
		switch used := r.Standing() == consent.Used && r.Digest == digest; {
		case used && r.UsedBy == usedBy:
			return done(r)
		case used && insteadOf != "" && r.UsedBy == insteadOf && r.useCanBeRepeated(now):
			return r.UseAgain(now)
		default:
			return r.Consume(digest, now)
		}
	}})
}

// Void notes that the granted action cannot be done any more (S9.1), once.
func (a *App) Void(ctx context.Context, caller Caller, id, reason string) (*Record, error) {
	return a.change(ctx, id, command{caller: caller, apply: func(r *Record, now time.Time) consent.Result {
		if r.Status == consent.Stale {
			return done(r)
		}
		return r.Void(reason, now)
	}})
}

// Cancel withdraws the question, once.
func (a *App) Cancel(ctx context.Context, caller Caller, id, reason string) (*Record, error) {
	return a.change(ctx, id, command{caller: caller, apply: func(r *Record, now time.Time) consent.Result {
		if r.Status == consent.Cancelled {
			return done(r)
		}
		return r.Cancel(caller.Principal.Name, reason, now)
	}})
}

// done returns the result of a command that was carried out before.
func done(r *Record) consent.Result { return consent.Result{Approval: r.Approval} }
