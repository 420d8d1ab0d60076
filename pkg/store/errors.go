package store

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrNotFound means there is no such record or answer.
	ErrNotFound = errors.New("store: not found")
	// ErrConflict matches every *ConflictError.
	ErrConflict = errors.New("store: version conflict")
	// ErrLimit matches every *LimitError.
	ErrLimit = errors.New("store: limit reached")
	// ErrFenced matches every *FencedError. Renewing a lease that lapsed, or that another
	// holder has, gives it too.
	ErrFenced = errors.New("store: lease is not held with this token")
	// ErrHeld matches every *HeldError.
	ErrHeld = errors.New("store: lease is held")
	// ErrReplayMismatch matches every *ReplayMismatchError.
	ErrReplayMismatch = errors.New("store: idempotency key was used for something else")
	// ErrCrossShard means the keys of a batch live in more shards than they may.
	ErrCrossShard = errors.New("store: batch spans shards")
	// ErrUnavailable means the store could not be reached and has not changed.
	ErrUnavailable = errors.New("store: unavailable")
	// ErrBroken means the store failed in a way that only a restart can mend. It comes
	// with ErrUnavailable.
	ErrBroken = errors.New("store: broken until a restart")
	// ErrUncertain means the store stopped answering while a write was under
	// way: it may or may not have been applied.
	ErrUncertain = errors.New("store: outcome unknown")
)

// ConflictError says which precondition failed and the present version.
type ConflictError struct {
	Key  Key
	Want int64
	// Have is the current version, Absent when the record does not exist.
	Have int64
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%v: %s is at version %d, not %d", ErrConflict, e.Key, e.Have, e.Want)
}

// Is makes errors.Is(err, ErrConflict) true.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// LimitError says which counter would have exceeded its limit.
type LimitError struct {
	// Index into Batch.Counters.
	Index int
	Owner Key
	Name  string
	// Value as it stands, before the refused delta.
	Value int64
	Limit int64
	// ReopensAt is when the same delta would be admitted, for a windowed
	// counter; zero otherwise, or when it never would.
	ReopensAt time.Time
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%v: %s of %s is %d of %d", ErrLimit, e.Name, e.Owner, e.Value, e.Limit)
}

// Is makes errors.Is(err, ErrLimit) true.
func (e *LimitError) Is(target error) bool { return target == ErrLimit }

// FencedError says that a lease is not as a fence requires, and who holds it.
type FencedError struct {
	Key Key
	// Token that the fence requires.
	Token int64
	// Holder has the lease now, Until then. They are zero when there is no holder: the
	// lease with the fence's token has lapsed or was released.
	Holder string
	Until  time.Time
}

func (e *FencedError) Error() string {
	switch {
	case e.Until.IsZero():
		return fmt.Sprintf("%v: %s is not held any more, acquire it again", ErrFenced, e.Key)
	case e.Token == Unheld:
		return fmt.Sprintf("store: lease is not free: %s is held by %s until %s", e.Key, e.Holder, e.Until.Format(time.RFC3339Nano))
	}
	return fmt.Sprintf("%v: %s is held by %s until %s", ErrFenced, e.Key, e.Holder, e.Until.Format(time.RFC3339Nano))
}

// Is makes errors.Is(err, ErrFenced) true.
func (e *FencedError) Is(target error) bool { return target == ErrFenced }

// HeldError says who holds a lease, and until when.
type HeldError struct {
	Key    Key
	Holder string
	Until  time.Time
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("%v: %s by %s until %s", ErrHeld, e.Key, e.Holder, e.Until.Format(time.RFC3339Nano))
}

// Is makes errors.Is(err, ErrHeld) true.
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// ReplayMismatchError says that an idempotency key came back with another
// request.
type ReplayMismatchError struct {
	Owner Key
	Name  string
}

func (e *ReplayMismatchError) Error() string {
	return fmt.Sprintf("%v: %s of %s", ErrReplayMismatch, e.Name, e.Owner)
}

// Is makes errors.Is(err, ErrReplayMismatch) true.
func (e *ReplayMismatchError) Is(target error) bool { return target == ErrReplayMismatch }
