package app_test

import (
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/approval/internal/app"
)

// A granted approval is used once, for what it was granted for; the same use again is
// the same (S7.6).
func TestConsume(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		pending := r.ask(nil)
		_, err := r.Consume(t.Context(), engine, pending.ID, pending.Digest, "call_1", "")
		r.refused(err, fault.FailedPrecondition, "code", "NOT_GRANTED", "status", "PENDING")
		got := r.granted()
		_, err = r.Consume(t.Context(), engine, got.ID, "0"+got.Digest[1:], "call_1", "")
		r.refused(err, fault.FailedPrecondition, "code", "OTHER_ACTION")
		for range 2 {
			used, err := r.Consume(t.Context(), engine, got.ID, got.Digest, "call_1", "")
			if err != nil || used.Standing() != consent.Used || used.UsedBy != "call_1" || used.Version != 3 || used.UsedAt != r.clock.Now() {
				t.Errorf("used: %+v, %v", used, err)
			}
		}
		_, err = r.Consume(t.Context(), engine, got.ID, got.Digest, "call_2", "")
		r.refused(err, fault.FailedPrecondition, "code", "ALREADY_USED", "status", "USED", "by", "alice")
		_, err = r.Consume(t.Context(), engine, got.ID, "0"+got.Digest[1:], "call_1", "")
		r.refused(err, fault.FailedPrecondition, "code", "ALREADY_USED")
		_, err = r.Void(t.Context(), engine, got.ID, "too late")
		r.refused(err, fault.FailedPrecondition, "code", "ALREADY_USED")
		if read := r.is(got.ID, consent.Used); read.UsedBy != "call_1" {
			t.Errorf("it is read as used by %q", read.UsedBy)
		}
		r.said(got.ID, "requested by agent-7", "voted by alice", "granted by alice", "used by engine")
	})
}

// Of two that use it at once on two replicas one does.
func TestConsumeRaces(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		other := r.replica(r.open())
		for range 10 {
			got := r.granted()
			errs := make(chan error)
			for usedBy, on := range map[string]*app.App{"call_1": r.App, "call_2": other} {
				go func() {
					_, err := on.Consume(t.Context(), engine, got.ID, got.Digest, usedBy, "")
					errs <- err
				}()
			}
			a, b := receive(t, errs), receive(t, errs)
			if (a == nil) == (b == nil) {
				t.Fatalf("they were answered %v and %v", a, b)
			}
		}
	})
}

func TestVoid(t *testing.T) {
	t.Parallel()
	r := here(t)
	got := r.granted()
	for range 2 {
		stale, err := r.Void(t.Context(), engine, got.ID, "the guards fail")
		if err != nil || stale.Status != consent.Stale || stale.Reason != "the guards fail" || stale.DecidedBy() != "alice" || stale.Version != 3 {
			t.Errorf("void: %+v, %v", stale, err)
		}
	}
	_, err := r.Consume(t.Context(), engine, got.ID, got.Digest, "call_1", "")
	r.refused(err, fault.FailedPrecondition, "code", "NOT_GRANTED", "status", "STALE")
	_, err = r.Decide(t.Context(), bob, got.ID, app.Vote{Approve: true})
	r.refused(err, fault.ApprovalDecided, "status", "STALE", "by", "alice")
	_, err = r.Void(t.Context(), engine, r.ask(nil).ID, "")
	r.refused(err, fault.FailedPrecondition, "code", "NOT_GRANTED")
	r.said(got.ID, "requested by agent-7", "voted by alice", "granted by alice", "stale by engine")
}

func TestCancel(t *testing.T) {
	t.Parallel()
	r := here(t)
	id := r.ask(nil).ID
	for range 2 {
		got, err := r.Cancel(t.Context(), olga, id, "not today")
		if err != nil || got.Status != consent.Cancelled || got.Reason != "not today" || got.DecidedBy() != "olga" || got.Version != 2 {
			t.Errorf("cancel: %+v, %v", got, err)
		}
	}
	_, err := r.Decide(t.Context(), alice, id, app.Vote{Approve: true})
	r.refused(err, fault.ApprovalDecided, "status", "CANCELLED", "by", "olga")
	_, err = r.Cancel(t.Context(), engine, r.granted().ID, "")
	r.refused(err, fault.ApprovalDecided, "status", "GRANTED")
	r.said(id, "requested by agent-7", "cancelled by olga")
}

// What has expired admits nothing, also while nobody has noted that; who comes first
// notes it, and all see the same time (S9.3).
func TestExpiredIsFinalForAll(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		commands := map[string]func(id string) error{
			"decide": func(id string) error {
				_, err := r.Decide(t.Context(), alice, id, app.Vote{Approve: true})
				return err
			},
			"cancel": func(id string) error { _, err := r.Cancel(t.Context(), olga, id, "over"); return err },
			"consume": func(id string) error {
				_, err := r.Consume(t.Context(), engine, id, r.is(id, consent.Expired).Digest, "call_1", "")
				return err
			},
			"void": func(id string) error { _, err := r.Void(t.Context(), engine, id, "over"); return err },
		}
		for name, command := range commands {
			asked := r.ask(func(q *app.Question) { q.Terms.TTL = time.Hour })
			r.clock.Advance(time.Hour + time.Minute)
			if got := r.is(asked.ID, consent.Expired); got.DecidedAt != asked.ExpiresAt || got.Version != 1 {
				t.Errorf("%s: it is shown as %+v", name, got.Approval)
			}
			for range 2 {
				e := fault.From(command(asked.ID))
				if e == nil || e.Metadata["status"] != "EXPIRED" || e.Metadata["at"] != asked.ExpiresAt.Format(time.RFC3339Nano) || e.Metadata["by"] != "" {
					t.Errorf("%s is answered %v with %v", name, e, e.Metadata)
				}
			}
			if record := r.stored(asked.ID); record.Version != 2 || record.Labels["status"] != "EXPIRED" {
				t.Errorf("%s: it is stored as version %d, %v", name, record.Version, record.Labels)
			}
			r.said(asked.ID, "requested by agent-7", "expired by interlock")
		}
		if names := r.timers(); len(names) > 0 {
			t.Errorf("there are timers: %q", names)
		}
	})
}
