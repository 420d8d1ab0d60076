package app

import (
	"context"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/idempotency"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// command is a caller's request to an approval.
type command struct {
	caller Caller
	// apply decides. It is called again with the stored record when another caller was
	// faster.
	apply func(r *Record, now time.Time) consent.Result
	// usedBy is kept when the command uses the approval.
	usedBy string
	// lease is granted when the command uses the approval for it; nil for none.
	lease *consent.Lease
	// acts: it lets an action go on, which a halt refuses.
	acts bool
	// once makes the command happen once.
	once idempotency.Key
}

// change applies a command to an approval and commits the changes, again from the start
// when another caller was faster. It answers the approval afterwards.
func (a *App) change(ctx context.Context, id string, c command) (*Record, error) {
	key := approvalKey(c.caller.Namespace, id)
	return retry.Do(ctx, "approval "+id, func() (*Record, error) { return a.try(ctx, key, c) })
}

// try returns one attempt. Due changes are made first, regardless of the command's
// outcome: it may be refused only because of them.
func (a *App) try(ctx context.Context, key store.Key, c command) (*Record, error) {
	before, err := a.load(ctx, key)
	if err != nil {
		return nil, err
	}
	now := a.now()
	repeated, err := c.once.Done(ctx, a.store, key)
	if err != nil {
		return nil, err
	}
	if repeated {
		return before.at(now), nil
	}
	due := pass(before.Approval, now)
	mid := before.with(due.Approval)
	ruled := c.apply(mid, now)
	t := &transaction{app: a, before: before, after: mid.with(ruled.Approval), at: now}
	if c.acts && ruled.Refusal == nil {
		check, err := a.unhalted(ctx, before)
		if err != nil {
			return nil, err
		}
		t.checks = []store.Check{check}
	}
	t.announce(interlock, due.Events)
	t.announce(c.caller.Principal.Name, ruled.Events)
	if ruled.Changed {
		t.once = c.once
		if c.usedBy != "" {
			t.after.UsedBy = c.usedBy
		}
		if c.lease != nil && ruled.Refusal == nil && t.after.Standing() == consent.Used {
			t.after.UsedBy, t.lease = c.lease.ID, c.lease
		}
	}
	if due.Changed || ruled.Changed {
		replayed, err := t.commit(ctx)
		if err != nil {
			return nil, err
		}
		if replayed { // the same request, at the same time
			return a.load(ctx, key)
		}
		// A service that withdraws a question does not wait any more.
		if t.decided() && c.caller.Principal.Role != auth.Service {
			a.tellEngine(context.WithoutCancel(ctx), t.after)
		}
	}
	if ruled.Refusal != nil {
		return nil, refused(t.after, ruled.Refusal)
	}
	return t.after, nil
}
