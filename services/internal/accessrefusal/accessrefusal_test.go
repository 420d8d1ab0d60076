package accessrefusal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/store"
)

func announcer(now *time.Time) *Announcer {
	a := New(nil, slog.New(slog.DiscardHandler))
	a.clock = func() time.Time { return *now }
	return a
}

// S22.12: one refusal in ten seconds of a principal for a reason is announced, with the number of those that were not.
func TestRefusalsAreBounded(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	a := announcer(&now)
	of := rpc.Refusal{
		Face: "grpc", Method: "/x", Reason: fault.PermissionDenied, Namespace: "blue", Principal: "kid", Role: "agent", Session: "s", From: "local",
		AskedSession: "other", AskedRun: "run_1", AskedNamespace: "red",
	}
	refusal, due := a.next(of)
	first := eventOf(refusal, now)
	p := first.GetCallRefused()
	if !due || first.GetNamespace() != "blue" || first.GetEntityId() != "kid" || first.GetId() == "" || p.GetMore() != 0 || p.GetReason() != "PERMISSION_DENIED" ||
		p.GetRole() != "agent" || p.GetSessionId() != "s" || p.GetFrom() != "local" || p.GetFace() != "grpc" || p.GetMethod() != "/x" ||
		p.GetAskedSessionId() != "other" || p.GetAskedRunId() != "run_1" || p.GetAskedNamespace() != "red" {
		t.Errorf("the first: %v", first)
	}
	for range 7 {
		if again, due := a.next(of); due {
			t.Fatalf("another one at once: %v", again)
		}
	}
	// Another principal, and another reason, are not hidden by it.
	stranger := rpc.Refusal{Face: "http", Reason: fault.Unauthenticated, Namespace: "NOT VALID"}
	refusal, due = a.next(stranger)
	second := eventOf(refusal, now)
	if !due || second.GetNamespace() != "default" || second.GetEntityId() != unknown || second.GetActor() != "" || second.GetCallRefused().GetMore() != 0 {
		t.Errorf("the second: %v", second)
	}
	other := of
	other.Reason = fault.NotFound
	if _, due := a.next(other); !due {
		t.Error("another reason is hidden")
	}
	now = now.Add(Every)
	if refusal, due = a.next(of); !due || refusal.GetRefused().GetMore() != 7 {
		t.Errorf("after a while: %v", refusal)
	}
}

// S22.12: a flood of principals is bounded, too.
func TestAFloodIsBounded(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	a := announcer(&now)
	flood := func() (announced int, more int64) {
		for i := range 10_000 {
			if r, due := a.next(rpc.Refusal{Principal: fmt.Sprint("p", i), Reason: fault.PermissionDenied}); due {
				announced++
				more += r.GetRefused().GetMore()
			}
		}
		return announced, more
	}
	if n, _ := flood(); n != most+1 || len(a.heard) != most+1 {
		t.Errorf("%d announced, %d remembered", n, len(a.heard))
	}
	now = now.Add(Every)
	if n, _ := flood(); n > 2*most || len(a.heard) > most+1 {
		t.Errorf("later %d announced, %d remembered", n, len(a.heard))
	}
}

// S22.12: the list keeps the last refusals, and a principal that floods it pushes out its own.
func TestTheListIsBounded(t *testing.T) {
	t.Parallel()
	of := func(principal string) *policyv1.Refusal { return &policyv1.Refusal{Principal: principal} }
	all := keep(nil, of("quiet"))
	for range 3 * Kept {
		all = keep(all, of("loud"))
	}
	if len(all) != Kept || all[0].GetPrincipal() != "quiet" {
		t.Errorf("%d are kept, the first is %v", len(all), all[0])
	}
	data, err := encode(all)
	if err != nil || len(data) > 200*Kept {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

// full is a store that refuses reads and writes.
type full struct{ store.Store }

func (full) Get(context.Context, store.Key) (store.Record, error) {
	return store.Record{}, store.ErrNotFound
}

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
