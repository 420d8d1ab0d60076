package app_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/approval/internal/app"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// pushes asks about a command, as the enforcer does.
func pushes(q *app.Question) {
	q.Kind, q.Editable = consent.ToolCall, false
	q.Subject = []byte(`{"run_id":"` + q.RunID + `","run_version":4,"workflow":"w","state":"work","branch":"","capability":"bash","tool":"Bash"}`)
	q.Data = []byte(`{"command":"git push origin main"}`)
	q.Why = app.Why{Policy: "p", PolicyVersion: 2, Rule: "/ask/0", WorkflowVersion: 1, Entry: 3}
}

var fivePushes = &consent.LeaseTerms{Pattern: "git push *", Calls: 5, Minutes: 30}

func (r *rig) leases(runID string) []app.Lease {
	r.Helper()
	all, next, err := r.Leases(context.Background(), olga, runID, "", 100)
	if err != nil || next != "" {
		r.Fatalf("%v, next %q", err, next)
	}
	return all
}

// S9.6: a vote that grants gives the lease in the same commit, and uses the approval: the lease
// alone says what passes.
func TestLeaseIsGranted(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.with(&told{}, nil)
		id := r.ask(pushes).ID
		v := app.Vote{Approve: true, Lease: fivePushes, Key: "once"}
		got := r.vote(alice, id, v)
		if got.Standing() != consent.Used || !strings.HasPrefix(got.UsedBy, "lse_") {
			t.Fatalf("it is %s, used by %q", got.Standing(), got.UsedBy)
		}
		if again := r.vote(alice, id, v); again.UsedBy != got.UsedBy { // the same request
			t.Errorf("a repeat gives %s", again.UsedBy)
		}
		all := r.leases("run_1")
		if len(all) != 1 || len(r.leases("")) != 1 || len(r.leases("run_2")) != 0 {
			t.Fatalf("there are %d leases", len(all))
		}
		l, now := all[0], r.clock.Now().UTC()
		want := consent.Scope{
			RunID: "run_1", Entry: 3, State: "work", RootSession: "ses_1", Policy: "p", PolicyVersion: 2, Rule: "/ask/0", Capability: "bash",
		}
		if l.ID != got.UsedBy || l.ApprovalID != id || l.Scope != want || l.Terms != (consent.Terms{}).Digest() || l.SessionID != "ses_2" || l.Left != 5 || l.Calls != 5 ||
			l.GrantedBy != "alice" || !l.GrantedAt.Equal(now) || !l.ExpiresAt.Equal(now.Add(30*time.Minute)) || !l.Lets(want, now) {
			t.Errorf("it is %+v", l.Lease)
		}
		r.said(id, "requested by agent-7", "voted by alice", "granted by alice", "used by alice")
		r.said(l.ID, "granted by alice")

		_, err := r.store.Commit(context.Background(), store.Batch{Counters: []store.Counter{
			{Owner: ledger.LeaseOf("default", l.ID), Name: ledger.LeaseCalls, Delta: 2, Limit: 5},
		}})
		if err != nil || r.leases("")[0].Left != 3 {
			t.Errorf("%d are left, %v", r.leases("")[0].Left, err)
		}
		r.clock.Advance(30 * time.Minute)
		if n := len(r.leases("")); n != 0 {
			t.Errorf("%d leases last after their time", n)
		}
	})
}

// S9.6: it cannot be had for what nobody asked by a rule, beyond the configuration, or with a
// pattern that the command does not match; and nothing is decided then.
func TestLeaseIsRefused(t *testing.T) {
	t.Parallel()
	r := here(t)
	for name, c := range map[string]struct {
		change func(*app.Question)
		vote   app.Vote
		says   string
	}{
		"a rejection":   {nil, app.Vote{Lease: fivePushes}, "rejection"},
		"other command": {nil, app.Vote{Approve: true, Lease: &consent.LeaseTerms{Pattern: "git pull *", Calls: 5}}, "does not match"},
		"any program":   {nil, app.Vote{Approve: true, Lease: &consent.LeaseTerms{Pattern: "*", Calls: 5}}, "name of a program"},
		"no bound":      {nil, app.Vote{Approve: true, Lease: &consent.LeaseTerms{Pattern: "git push *"}}, "calls or of minutes"},
		"too many":      {nil, app.Vote{Approve: true, Lease: &consent.LeaseTerms{Pattern: "git push *", Calls: 101}}, "at most 100"},
		"too long":      {nil, app.Vote{Approve: true, Lease: &consent.LeaseTerms{Pattern: "git push *", Minutes: 481}}, "at most 480"},
		"no rule":       {func(q *app.Question) { q.Why = app.Why{} }, app.Vote{Approve: true, Lease: fivePushes}, "which rule"},
		"no entry":      {func(q *app.Question) { q.Why.Entry = 0 }, app.Vote{Approve: true, Lease: fivePushes}, "which rule"},
		"two people":    {func(q *app.Question) { q.Terms.Required = 2 }, app.Vote{Approve: true, Lease: fivePushes}, "2 people"},
		"a transition":  {func(q *app.Question) { q.Kind = consent.Transition }, app.Vote{Approve: true, Lease: fivePushes}, "tool call"},
	} {
		id := r.ask(func(q *app.Question) {
			pushes(q)
			if c.change != nil {
				c.change(q)
			}
		}).ID
		_, err := r.Decide(context.Background(), alice, id, c.vote)
		if e := r.refused(err, fault.InvalidRequest, "code", "INVALID_LEASE"); !strings.Contains(e.Message, c.says) {
			t.Errorf("%s: %s", name, e.Message)
		}
		r.is(id, consent.Pending)
	}
	if n := len(r.leases("")); n != 0 {
		t.Errorf("there are %d leases", n)
	}
	// Who may not decide gives no lease.
	id := r.ask(pushes).ID
	for _, who := range []app.Caller{agent, as("agent-7", auth.Approver)} {
		if _, err := r.Decide(context.Background(), who, id, app.Vote{Approve: true, Lease: fivePushes}); fault.ReasonOf(err) != fault.PermissionDenied {
			t.Errorf("%s: %v", who.Principal.Name, err)
		}
	}
}

// refunds asks about a call of a tool that runs no command lines.
func refunds(q *app.Question) {
	pushes(q)
	q.Subject = []byte(`{"run_id":"` + q.RunID + `","run_version":4,"workflow":"w","state":"work","branch":"","capability":"mcp:pay:refund","tool":"mcp__pay__refund"}`)
	q.Data = []byte(`{"amount":50,"currency":"usd"}`)
	q.Facts = []byte(`{"writes":{"known":true,"values":["out/a.csv",{"value":"b","below":true}]},"money":{"known":true,"values":[50]}}`)
}

// TestLeaseOnlyIsGranted: S21.16: a lease with a condition is given when the condition holds for the call that was asked about, by
// the facts that were kept with the question.
func TestLeaseOnlyIsGranted(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		for only, says := range map[string]string{
			`{"/amount":{"lte":100}}`:                         "",
			`{"money":{"lte":100},"/amount":{"exists":true}}`: "",
			`{"/amount":{"lte":40}}`:                          `/amount must be {"lte":40}, and is 50`,
			`{"/amount":{"lte":"40"}}`:                        "list the values",
			`{"money":{"lte":40}}`:                            "money must be",
			`{"writes":["out/**"]}`:                           "writes must be",
			`{"host":["example.com"]}`:                        "host was not kept",
			`{"/note":"x"}`:                                   "/note",
			`{"/amount":`:                                     "not JSON",
		} {
			run := fmt.Sprintf("run_%d", len(only)*100+len(says))
			id := r.ask(func(q *app.Question) { q.RunID = run; refunds(q) }).ID
			v := app.Vote{Approve: true, Lease: &consent.LeaseTerms{Only: only, Calls: 5}}
			if says != "" {
				_, err := r.Decide(context.Background(), alice, id, v)
				if e := r.refused(err, fault.InvalidRequest, "code", "INVALID_LEASE"); !strings.Contains(e.Message, says) {
					t.Errorf("%s: %s", only, e.Message)
				}
				r.is(id, consent.Pending)
				continue
			}
			r.vote(alice, id, v)
			if all := r.leases(run); len(all) != 1 || all[0].Only != only || len(all[0].Rest) != 64 || all[0].Pattern != "" {
				t.Errorf("%s: %+v", only, all)
			}
		}
		id := r.ask(func(q *app.Question) { q.RunID = "run_p"; refunds(q) }).ID
		_, err := r.Decide(context.Background(), alice, id, app.Vote{Approve: true, Lease: &consent.LeaseTerms{Pattern: `{"amount":50,"currency":"*"}`, Calls: 5}})
		if e := r.refused(err, fault.InvalidRequest, "code", "INVALID_LEASE"); !strings.Contains(e.Message, `in "only"`) {
			t.Errorf("a pattern of an input: %s", e.Message)
		}
	})
}

// TestLeaseOnlyOfACommand: S21.16: next to a pattern of commands a condition must hold too.
func TestLeaseOnlyOfACommand(t *testing.T) {
	t.Parallel()
	r := here(t)
	id := r.ask(func(q *app.Question) { pushes(q); q.Facts = []byte(`{"git.verb":{"known":true,"values":["push"]}}`) }).ID
	_, err := r.Decide(context.Background(), alice, id, app.Vote{Approve: true, Lease: &consent.LeaseTerms{Pattern: "git push *", Only: `{"git.verb":["pull"]}`, Calls: 5}})
	if e := r.refused(err, fault.InvalidRequest, "code", "INVALID_LEASE"); !strings.Contains(e.Message, "git.verb must be") {
		t.Errorf("%s", e.Message)
	}
	r.vote(alice, id, app.Vote{Approve: true, Lease: &consent.LeaseTerms{Pattern: "git push *", Only: `{"git.verb":["push"]}`, Calls: 5}})
	if all := r.leases("run_1"); len(all) != 1 || all[0].Rest != "" {
		t.Errorf("%+v", all)
	}
}

// TestCirclesAreKept: S21.15: an approval keeps the terms and the facts of what was asked, on both stores.
func TestCirclesAreKept(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		terms := consent.Terms{}.With(consent.Circle{Term: "/meta/approval/terms/0", Required: 1, Eligible: consent.Approvers{Names: []string{"olga"}}})
		id := r.ask(func(q *app.Question) { refunds(q); q.Terms = terms }).ID
		got, err := r.Get(context.Background(), olga, id)
		if err != nil || got.Terms.Digest() != terms.Digest() || !strings.Contains(string(got.Facts), "out/a.csv") {
			t.Fatalf("%+v, %v", got, err)
		}
		if got := r.vote(alice, id, app.Vote{Approve: true}); got.Standing() != consent.Pending {
			t.Errorf("one circle alone: %s", got.Standing())
		}
		if got := r.vote(olga, id, app.Vote{Approve: true}); got.Standing() != consent.Granted {
			t.Errorf("both: %s", got.Standing())
		}
		q := question()
		q.Facts = []byte(`{"a":1,"a":2}`)
		_, _, err = r.Create(context.Background(), engine, q)
		r.refused(err, fault.InvalidRequest)
	})
}

// S9.6: people revoke a lease once; one that is over is not revoked.
func TestLeaseIsRevoked(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		id := r.vote(alice, r.ask(pushes).ID, app.Vote{Approve: true, Lease: fivePushes}).UsedBy
		bound := alice
		bound.Principal.Session = "ses_1"
		_, err := r.Revoke(context.Background(), bound, id)
		r.refused(err, fault.PermissionDenied)
		l, err := r.Revoke(context.Background(), olga, id)
		if err != nil || l.Status != consent.LeaseRevoked || l.Left != 5 {
			t.Errorf("%+v, %v", l.Lease, err)
		}
		r.said(id, "granted by alice", "revoked by olga")
		if n := len(r.leases("")); n != 0 {
			t.Errorf("%d last", n)
		}
		for _, gone := range []string{id, "lse_none"} {
			_, err = r.Revoke(context.Background(), olga, gone)
			r.refused(err, fault.NotFound)
		}
		late := r.vote(alice, r.ask(func(q *app.Question) { pushes(q); q.RunID = "run_2" }).ID, app.Vote{Approve: true, Lease: fivePushes}).UsedBy
		r.clock.Advance(time.Hour)
		_, err = r.Revoke(context.Background(), olga, late)
		r.refused(err, fault.NotFound)
	})
}

// S9.6: leases of a run that has ended, or has left the entry of the state, do not last.
func TestLeaseEndsWithItsRun(t *testing.T) {
	t.Parallel()
	r := here(t).with(&told{}, nil)
	for _, run := range []string{"run_ended", "run_1", "run_moved"} {
		r.vote(alice, r.ask(func(q *app.Question) {
			q.RunID = run
			pushes(q)
			if run == "run_moved" {
				q.Why.Entry = 2
			}
		}).ID, app.Vote{Approve: true, Lease: fivePushes})
	}
	if all := r.leases(""); len(all) != 1 || all[0].RunID != "run_1" {
		t.Errorf("%d last: %+v", len(all), all)
	}
}

// S9.6: a lease that is restored from a backup ends: it may have been revoked since.
func TestLeaseOfABackupEnds(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		id := r.vote(alice, r.ask(pushes).ID, app.Vote{Approve: true, Lease: fivePushes}).UsedBy
		record, err := r.store.Get(context.Background(), ledger.LeaseOf("default", id))
		if err != nil {
			t.Fatal(err)
		}
		timer, ends := app.EndLease(record, r.clock.Now())
		if !ends {
			t.Fatal("it would last")
		}
		if _, err := r.store.Commit(context.Background(), store.Batch{SetTimers: []store.Timer{timer}}); err != nil {
			t.Fatal(err)
		}
		r.SweepOnce(context.Background())
		r.said(id, "granted by alice", "revoked by interlock")
		if n := len(r.leases("")); n != 0 {
			t.Errorf("%d last", n)
		}
		record.Labels["status"] = string(consent.LeaseRevoked)
		if _, ends := app.EndLease(record, r.clock.Now()); ends {
			t.Error("it ends twice")
		}
		if got := r.timers(ledger.KindLease); len(got) != 0 {
			t.Errorf("these timers stay: %q", got)
		}
	})
}

// A lease is dropped with its approval.
func TestLeaseIsForgotten(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.retention = 24 * time.Hour
		r.with(nil, nil)
		id := r.vote(alice, r.ask(pushes).ID, app.Vote{Approve: true, Lease: fivePushes}).UsedBy
		r.advance(25 * time.Hour)
		if _, err := r.store.Get(context.Background(), ledger.LeaseOf("default", id)); err == nil {
			t.Error("it is kept")
		}
	})
}
