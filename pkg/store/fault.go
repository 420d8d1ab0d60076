package store

import (
	"errors"
	"strconv"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
)

func init() { fault.Translate(faultOf) }

// faultOf maps the errors of the storage contract, or returns nil. The store
// goes first: its "uncertain" may wrap a context's error and outranks it.
func faultOf(err error) *fault.Error {
	var (
		conflict *ConflictError
		limit    *LimitError
		held     *HeldError
		fenced   *FencedError
		gone     *RolledBackError
		raised   *FormatError
	)
	switch {
	case errors.Is(err, ErrUncertain):
		return fault.New(fault.CommitUncertain, "the change may or may not have been made; "+
			"read before trying again, or repeat it with the same idempotency key").Wrap(err)
	case errors.As(err, &conflict):
		return fault.New(fault.VersionConflict, "%s %s is at version %d, not %d; read it and try again",
			conflict.Key.Kind, conflict.Key.ID, conflict.Have, conflict.Want).
			Meta("current_version", strconv.FormatInt(conflict.Have, 10)).
			Meta("expected_version", strconv.FormatInt(conflict.Want, 10)).Wrap(err)
	case errors.As(err, &limit):
		e := fault.New(fault.LimitReached, "a limit of %d is reached", limit.Limit).
			Meta("limit", strconv.FormatInt(limit.Limit, 10)).
			Meta("value", strconv.FormatInt(limit.Value, 10)).Wrap(err)
		e.RetryAfter = untilOr(limit.ReopensAt, 0)
		return e
	case errors.As(err, &held):
		e := fault.New(fault.Locked, "%s %s is locked by %s", held.Key.Kind, held.Key.ID, held.Holder).
			Meta("holder", held.Holder).
			Meta("until", held.Until.UTC().Format(time.RFC3339Nano)).Wrap(err)
		e.RetryAfter = untilOr(held.Until, fault.DefaultRetryAfter)
		return e
	case errors.As(err, &fenced) && fenced.Token == Unheld:
		e := fault.New(fault.Locked, "%s %s is locked by %s", fenced.Key.Kind, fenced.Key.ID, fenced.Holder).
			Meta("holder", fenced.Holder).
			Meta("until", fenced.Until.UTC().Format(time.RFC3339Nano)).Wrap(err)
		e.RetryAfter = untilOr(fenced.Until, fault.DefaultRetryAfter)
		return e
	case errors.Is(err, ErrReplayMismatch):
		return fault.New(fault.IdempotencyMismatch, "this idempotency key was used for another request; use a new one").Wrap(err)
	case errors.Is(err, ErrConflict):
		return fault.New(fault.VersionConflict, "it was changed in between; read it and try again").Wrap(err)
	case errors.Is(err, ErrLimit):
		return fault.New(fault.LimitReached, "a limit is reached").Wrap(err)
	case errors.Is(err, ErrHeld):
		return fault.New(fault.Locked, "it is locked").Wrap(err)
	case errors.Is(err, ErrFenced):
		return fault.New(fault.Fenced, "the lock is not held with this fencing token; acquire it again").Wrap(err)
	case errors.Is(err, ErrNotFound):
		return fault.New(fault.NotFound, "it does not exist").Wrap(err)
	case errors.As(err, &raised):
		return fault.New(fault.Unavailable, "this program does not use the store any more: %v", raised).Wrap(err)
	case errors.As(err, &gone):
		return fault.New(fault.StoreRolledBack, "the store has gone back in time (%s), so no decisions are made; "+
			"an operator has to restore it, or to run interlock store accept-rollback", gone.Lost).Wrap(err)
	case errors.Is(err, ErrBroken):
		e := fault.New(fault.Unavailable, "the store's disk failed, and the change was not made; check the disk, then restart the server").Wrap(err)
		e.RetryAfter = 0 // only a restart helps
		return e
	case errors.Is(err, ErrUnavailable):
		return fault.New(fault.Unavailable, "the store is not available and no change was made; try again").Wrap(err)
	}
	return nil
}

// untilOr returns the time until at, when at is set and ahead, else other.
func untilOr(at time.Time, other time.Duration) time.Duration {
	if d := time.Until(at); !at.IsZero() && d > 0 {
		return d
	}
	return other
}
