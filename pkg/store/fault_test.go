package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	key := store.Key{Namespace: "default", Kind: "run", ID: "run_1"}
	future := time.Now().Add(time.Hour)
	raised := &store.FormatError{Format: 3, Program: "v9", Known: store.Formats{Oldest: 1, Newest: 2}}
	for name, tc := range map[string]struct {
		err  error
		want fault.Reason
		// text must be in the message.
		text string
	}{
		"not found":     {fmt.Errorf("secret: %w", store.ErrNotFound), fault.NotFound, ""},
		"conflict":      {&store.ConflictError{Key: key, Want: 3, Have: 4}, fault.VersionConflict, "run run_1 is at version 4, not 3"},
		"bare conflict": {store.ErrConflict, fault.VersionConflict, ""},
		"limit":         {&store.LimitError{Owner: key, Name: "secret", Value: 5, Limit: 5}, fault.LimitReached, "5"},
		"held":          {&store.HeldError{Key: key, Holder: "alice", Until: future}, fault.Locked, "alice"},
		"fenced":        {store.ErrFenced, fault.Fenced, ""},
		"replay":        {&store.ReplayMismatchError{Owner: key, Name: "k"}, fault.IdempotencyMismatch, ""},
		"unavailable":   {fmt.Errorf("dial secret: %w", store.ErrUnavailable), fault.Unavailable, ""},
		"rolled back":   {fmt.Errorf("commit: %w", &store.RolledBackError{Lost: "9 writes"}), fault.StoreRolledBack, "9 writes"},
		"raised":        {fmt.Errorf("open: %w", raised), fault.Unavailable, "format 3, which Interlock v9 has given it"},
		"uncertain":     {fmt.Errorf("%w: %w", store.ErrUncertain, context.Canceled), fault.CommitUncertain, "idempotency key"},
		"cross shard":   {store.ErrCrossShard, fault.Internal, ""},
	} {
		got := fault.From(tc.err)
		if got.Reason != tc.want || !strings.Contains(got.Message, tc.text) {
			t.Errorf("%s: got %s %q, want %s %q", name, got.Reason, got.Message, tc.want, tc.text)
		}
		if shown := fmt.Sprint(got.GRPCStatus().Proto()); strings.Contains(shown, "secret") {
			t.Errorf("%s: internals are shown: %s", name, shown)
		}
	}
}

func TestRetryAfterOfLimits(t *testing.T) {
	t.Parallel()
	open := fault.From(&store.LimitError{Limit: 1, ReopensAt: time.Now().Add(time.Hour)})
	if open.RetryAfter <= 0 || open.RetryAfter > time.Hour {
		t.Errorf("reopens after %v", open.RetryAfter)
	}
	if never := fault.From(&store.LimitError{Limit: 1}); never.RetryAfter != 0 {
		t.Errorf("a plain limit reopens after %v", never.RetryAfter)
	}
}
