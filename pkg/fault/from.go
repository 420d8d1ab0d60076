package fault

import (
	"context"
	"errors"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/interlock-run/interlock/pkg/store"
)

// From makes a fault of any error: a fault itself, however wrapped; the store's
// errors; a gRPC status, whose details are decoded; a context's error. Anything
// else is Internal, its text kept as the cause only. From(nil) is nil; mind that
// a nil *Error in an error variable is not a nil error.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	if e := find(err); e != nil {
		return e
	}
	if e := fromStore(err); e != nil {
		return e
	}
	var coded interface{ GRPCStatus() *status.Status }
	if errors.As(err, &coded) {
		if st := coded.GRPCStatus(); st != nil && st.Code() != codes.OK {
			return fromStatus(st, err)
		}
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return New(DeadlineExceeded, "the deadline passed before there was an answer").Wrap(err)
	case errors.Is(err, context.Canceled):
		return New(Cancelled, "the caller went away").Wrap(err)
	}
	return New(Internal, internalMessage).Wrap(err)
}

// fromStore maps the errors of the storage contract, or returns nil. The store
// goes first: its "uncertain" may wrap a context's error and outranks it.
func fromStore(err error) *Error {
	var (
		conflict *store.ConflictError
		limit    *store.LimitError
		held     *store.HeldError
		fenced   *store.FencedError
		gone     *store.RolledBackError
		raised   *store.FormatError
	)
	switch {
	case errors.Is(err, store.ErrUncertain):
		return New(CommitUncertain, "the change may or may not have been made; "+
			"read before trying again, or repeat it with the same idempotency key").Wrap(err)
	case errors.As(err, &conflict):
		return New(VersionConflict, "%s %s is at version %d, not %d; read it and try again",
			conflict.Key.Kind, conflict.Key.ID, conflict.Have, conflict.Want).
			Meta("current_version", strconv.FormatInt(conflict.Have, 10)).
			Meta("expected_version", strconv.FormatInt(conflict.Want, 10)).Wrap(err)
	case errors.As(err, &limit):
		e := New(LimitReached, "a limit of %d is reached", limit.Limit).
			Meta("limit", strconv.FormatInt(limit.Limit, 10)).
			Meta("value", strconv.FormatInt(limit.Value, 10)).Wrap(err)
		e.RetryAfter = untilOr(limit.ReopensAt, 0)
		return e
	case errors.As(err, &held):
		e := New(Locked, "%s %s is locked by %s", held.Key.Kind, held.Key.ID, held.Holder).
			Meta("holder", held.Holder).
			Meta("until", held.Until.UTC().Format(time.RFC3339Nano)).Wrap(err)
		e.RetryAfter = untilOr(held.Until, DefaultRetryAfter)
		return e
	case errors.As(err, &fenced) && fenced.Token == store.Unheld:
		e := New(Locked, "%s %s is locked by %s", fenced.Key.Kind, fenced.Key.ID, fenced.Holder).
			Meta("holder", fenced.Holder).
			Meta("until", fenced.Until.UTC().Format(time.RFC3339Nano)).Wrap(err)
		e.RetryAfter = untilOr(fenced.Until, DefaultRetryAfter)
		return e
	case errors.Is(err, store.ErrReplayMismatch):
		return New(IdempotencyMismatch, "this idempotency key was used for another request; use a new one").Wrap(err)
	case errors.Is(err, store.ErrConflict):
		return New(VersionConflict, "it was changed in between; read it and try again").Wrap(err)
	case errors.Is(err, store.ErrLimit):
		return New(LimitReached, "a limit is reached").Wrap(err)
	case errors.Is(err, store.ErrHeld):
		return New(Locked, "it is locked").Wrap(err)
	case errors.Is(err, store.ErrFenced):
		return New(Fenced, "the lock is not held with this fencing token; acquire it again").Wrap(err)
	case errors.Is(err, store.ErrNotFound):
		return New(NotFound, "it does not exist").Wrap(err)
	case errors.As(err, &raised):
		return New(Unavailable, "this program does not use the store any more: %v", raised).Wrap(err)
	case errors.As(err, &gone):
		return New(StoreRolledBack, "the store has gone back in time (%s), so nothing is decided; "+
			"an operator has to restore it, or to run interlock store accept-rollback", gone.Lost).Wrap(err)
	case errors.Is(err, store.ErrBroken):
		e := New(Unavailable, "the store's disk failed and nothing was changed; check the disk, then restart the server").Wrap(err)
		e.RetryAfter = 0 // only a restart helps
		return e
	case errors.Is(err, store.ErrUnavailable):
		return New(Unavailable, "the store is not available and nothing was changed; try again").Wrap(err)
	}
	return nil
}
