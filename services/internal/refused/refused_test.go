package refused

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/store"
)

// One refusal in ten seconds is announced, with the number of those that were not.
func TestRefusalsAreBounded(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	a := New(nil, slog.New(slog.DiscardHandler))
	a.clock = func() time.Time { return now }
	of := rpc.Refusal{Face: "grpc", Method: "/x", Reason: fault.PermissionDenied, Namespace: "blue", Principal: "kid", Role: "agent", Session: "s", From: "local"}
	refusal, due := a.next(of)
	first := eventOf(refusal, now)
	p := first.GetCallRefused()
	if !due || first.GetNamespace() != "blue" || first.GetEntityId() != "kid" || first.GetId() == "" || p.GetMore() != 0 || p.GetReason() != "PERMISSION_DENIED" ||
		p.GetRole() != "agent" || p.GetSessionId() != "s" || p.GetFrom() != "local" || p.GetFace() != "grpc" || p.GetMethod() != "/x" {
		t.Errorf("the first: %v", first)
	}
	for range 7 {
		if again, due := a.next(of); due {
			t.Fatalf("another one at once: %v", again)
		}
	}
	now = now.Add(Every)
	refusal, due = a.next(rpc.Refusal{Face: "http", Reason: fault.Unauthenticated, Namespace: "NOT VALID"})
	second := eventOf(refusal, now)
	if !due || second.GetNamespace() != "default" || second.GetEntityId() != unknown || second.GetActor() != "" || second.GetCallRefused().GetMore() != 7 {
		t.Errorf("the second: %v", second)
	}
}

// full is a store that refuses writes.
type full struct{ store.Store }

func (full) Commit(context.Context, store.Batch) (store.Result, error) {
	return store.Result{}, store.ErrUnavailable
}

// A store that is away costs only the announcement.
func TestStoreIsAway(t *testing.T) {
	t.Parallel()
	a := New(full{}, slog.New(slog.DiscardHandler))
	refusal, _ := a.next(rpc.Refusal{Face: "grpc"})
	if err := a.announce(t.Context(), refusal); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("the announcement answers %v", err)
	}
}
