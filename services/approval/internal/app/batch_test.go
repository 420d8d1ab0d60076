package app_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/services/approval/internal/app"
)

// callOf changes a question into one about a call, asked by a rule of a policy.
func callOf(n int) func(*app.Question) {
	return func(q *app.Question) {
		q.Kind, q.RunID = consent.ToolCall, fmt.Sprintf("run_%d", n)
		q.Subject = fmt.Appendf(nil, `{"run_id":"run_%d","run_version":3,"workflow":"w","state":"s","branch":"","capability":"tool:Pay","tool":"Pay"}`, n)
		q.Data = []byte(`{"amount":1}`)
		q.Why = app.Why{Policy: "house", PolicyVersion: 2, Rule: "/ask/0", WorkflowVersion: 1}
	}
}

// calls asks questions about calls of one rule, and is the batch of them all.
func (r *rig) calls(n int) (records []*app.Record, b app.Batch) {
	r.Helper()
	b.Approve = true
	for i := range n {
		record := r.ask(callOf(i))
		records = append(records, record)
		b.Items = append(b.Items, app.BatchItem{ID: record.ID, Digest: record.Digest})
	}
	return records, b
}

// standing is how approvals stand now.
func (r *rig) standing(b *app.Batch) map[consent.Status]int {
	r.Helper()
	counts := map[consent.Status]int{}
	for _, item := range b.Items {
		got, err := r.Get(context.Background(), olga, item.ID)
		if err != nil {
			r.Fatal(err)
		}
		counts[got.Standing()]++
	}
	return counts
}

// One vote decides all that one rule asks, in whatever shards they are; a repeat changes
// nothing (S9.4).
func TestDecideAll(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		_, b := r.calls(app.MaxBatch)
		b.Note, b.Key = "all of them", "key"
		got, err := r.DecideAll(t.Context(), alice, b)
		if err != nil || len(got) != len(b.Items) {
			r.Fatalf("%d, %v", len(got), err)
		}
		shards := map[int]bool{}
		for i, record := range got {
			shards[store.Key{Namespace: "default", ID: record.ID}.Shard(r.store.Shards())] = true
			if record.ID != b.Items[i].ID || record.Status != consent.Granted || record.DecidedBy() != "alice" || record.Votes[0].Note != "all of them" {
				r.Errorf("item %d is %+v", i, record.Approval)
			}
			r.said(record.ID, "requested by agent-7", "voted by alice", "granted by alice")
		}
		if len(shards) < 2 {
			r.Fatalf("they are all in one shard of %d", r.store.Shards())
		}
		if names := r.timers(); len(names) > 0 {
			r.Errorf("what is decided has the timers %q", names)
		}
		for i := range 2 {
			again, err := r.DecideAll(t.Context(), alice, b)
			if err != nil || len(again) != len(b.Items) || again[7].Version != got[7].Version {
				r.Errorf("repeat %d is answered %d, %v", i, len(again), err)
			}
		}
		b.Note = "another"
		_, err = r.DecideAll(t.Context(), alice, b)
		r.refused(err, fault.IdempotencyMismatch)
		b.Key = ""
		_, err = r.DecideAll(t.Context(), bob, b)
		e := r.refused(err, fault.ApprovalDecided, "code", "ALREADY_DECIDED", "by", "alice")
		if len(e.Violations) != len(b.Items) || e.Violations[3].Pointer != "/items/3" {
			r.Errorf("it names %v", e.Violations)
		}
	})
}

// A batch may reject, and count towards a quorum.
func TestDecideAllVotes(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		_, b := r.calls(3)
		b.Approve = false
		if _, err := r.DecideAll(t.Context(), alice, b); err != nil {
			r.Fatal(err)
		}
		if got := r.standing(&b); got[consent.Rejected] != 3 {
			r.Errorf("they stand as %v", got)
		}
		b.Approve, b.Items = true, nil
		for i := range 3 {
			record := r.ask(func(q *app.Question) { callOf(10 + i)(q); q.Terms.Required = 2 })
			b.Items = append(b.Items, app.BatchItem{ID: record.ID, Digest: record.Digest})
		}
		for _, who := range []app.Caller{alice, bob} {
			if _, err := r.DecideAll(t.Context(), who, b); err != nil {
				r.Fatal(err)
			}
			if got := r.standing(&b); got[consent.Granted] != map[string]int{"alice": 0, "bob": 3}[who.Principal.Name] {
				r.Errorf("after %s they stand as %v", who.Principal.Name, got)
			}
		}
	})
}

// What cannot be decided together is refused whole, and named.
func TestDecideAllRefuses(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		_, b := r.calls(4)
		with := func(change func(*app.Question)) app.Batch {
			record := r.ask(func(q *app.Question) { callOf(99)(q); change(q) })
			more := b
			more.Items = append(slices.Clone(b.Items), app.BatchItem{ID: record.ID, Digest: record.Digest})
			return more
		}
		shown := b
		shown.Items = slices.Clone(b.Items)
		shown.Items[2].Digest = strings.Repeat("0", 64)
		rejecting := shown
		rejecting.Approve = false
		twice := b
		twice.Items = append(slices.Clone(b.Items), b.Items[0])
		unknown := b
		unknown.Items = append(slices.Clone(b.Items), app.BatchItem{ID: "apr_none", Digest: strings.Repeat("0", 64)})
		long := b
		long.Note = strings.Repeat("x", 4097)
		bound := alice
		bound.Principal.Session = "ses_3"
		decided := with(func(q *app.Question) { q.Message = "decided before" })
		r.vote(bob, decided.Items[4].ID, app.Vote{Approve: true})
		expired := with(func(q *app.Question) { q.Message, q.Terms.TTL = "expires", time.Minute })
		r.clock.Advance(2 * time.Minute)
		for name, c := range map[string]struct {
			by     app.Caller
			b      app.Batch
			reason fault.Reason
			code   string
			names  string // the items at fault
		}{
			"another rule":       {alice, with(func(q *app.Question) { q.Why.Rule = "/ask/1" }), fault.FailedPrecondition, "DIFFERS", "/items/4"},
			"another version":    {alice, with(func(q *app.Question) { q.Why.PolicyVersion = 3 }), fault.FailedPrecondition, "DIFFERS", "/items/4"},
			"another policy":     {alice, with(func(q *app.Question) { q.Why.Policy = "other" }), fault.FailedPrecondition, "DIFFERS", "/items/4"},
			"no known rule":      {alice, with(func(q *app.Question) { q.Why = app.Why{} }), fault.FailedPrecondition, "DIFFERS", "/items/4"},
			"another tool":       {alice, with(func(q *app.Question) { q.Subject = []byte(`{"tool":"Ship","capability":"tool:Ship"}`) }), fault.FailedPrecondition, "DIFFERS", "/items/4"},
			"another input":      {alice, with(func(q *app.Question) { q.Data = []byte(`{"amount":2}`) }), fault.FailedPrecondition, "DIFFERS", "/items/4"},
			"another number":     {alice, with(func(q *app.Question) { q.Data = []byte(`{"amount":1.0000000000000000001}`) }), fault.FailedPrecondition, "DIFFERS", "/items/4"},
			"a further member":   {alice, with(func(q *app.Question) { q.Data = []byte(`{"amount":1,"to":"x"}`) }), fault.FailedPrecondition, "DIFFERS", "/items/4"},
			"no input":           {alice, with(func(q *app.Question) { q.Data = nil }), fault.FailedPrecondition, "DIFFERS", "/items/4"},
			"another kind":       {alice, with(func(q *app.Question) { q.Kind = consent.Transition }), fault.FailedPrecondition, "DIFFERS", "/items/4"},
			"decided before":     {alice, decided, fault.ApprovalDecided, "ALREADY_DECIDED", "/items/4"},
			"expired":            {alice, expired, fault.ApprovalDecided, "ALREADY_DECIDED", "/items/4"},
			"another digest":     {alice, shown, fault.VersionConflict, "ACTION_CHANGED", "/items/2"},
			"another, to reject": {alice, rejecting, fault.VersionConflict, "ACTION_CHANGED", "/items/2"},
			"twice":              {alice, twice, fault.InvalidRequest, "", "/items/4/approval_id"},
			"unknown":            {alice, unknown, fault.NotFound, "", "/items/4/approval_id"},
			"the asker":          {as("agent-7", auth.Approver), b, fault.PermissionDenied, "APPROVER_IS_ASKER", "/items/0 /items/1 /items/2 /items/3"},
			"not eligible":       {olga, b, fault.PermissionDenied, "APPROVER_NOT_ELIGIBLE", "/items/0 /items/1 /items/2 /items/3"},
			"of a session":       {bound, b, fault.PermissionDenied, "", ""},
			"a long note":        {alice, long, fault.InvalidRequest, "NOTE_TOO_LONG", "/note"},
			"none":               {alice, app.Batch{Approve: true}, fault.InvalidRequest, "", "/items"},
			"too many":           {alice, app.Batch{Items: make([]app.BatchItem, app.MaxBatch+1)}, fault.InvalidRequest, "", "/items"},
		} {
			_, err := r.DecideAll(t.Context(), c.by, c.b)
			e := r.refused(err, c.reason, "code", c.code)
			var names []string
			for _, v := range e.Violations {
				names = append(names, v.Pointer)
			}
			if !strings.Contains(strings.Join(names, " "), c.names) {
				r.Errorf("%s: %v names %q, want %q", name, e, names, c.names)
			}
			if got := r.standing(&b); got[consent.Pending] != len(b.Items) {
				r.Errorf("%s: they stand as %v", name, got)
			}
		}
		for i := range 2 { // of the same event in the same state
			record := r.ask(func(q *app.Question) {
				q.RunID = fmt.Sprintf("run_t%d", i)
				q.Subject = fmt.Appendf(nil, `{"run_id":"run_t%d","workflow":"w","workflow_version":%d,"state":"s","event":"SHIP","to":"z"}`, i, 1+i)
			})
			shown.Items = append(shown.Items[:i], app.BatchItem{ID: record.ID, Digest: record.Digest})
		}
		shown.Items = shown.Items[:2]
		_, err := r.DecideAll(t.Context(), alice, shown)
		r.refused(err, fault.FailedPrecondition, "code", "DIFFERS")
	})
}

// Of batches that overlap, and single votes among them, each approval is decided once, and of
// each batch all or nothing is.
func TestDecideAllRaces(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		for range 8 {
			_, b := r.calls(9)
			voters := []app.Caller{alice, bob, carol}
			parts := [][]app.BatchItem{b.Items[0:5], b.Items[3:8], b.Items[6:9]}
			won := make([]bool, len(parts))
			var single error
			var work sync.WaitGroup
			for i, items := range parts {
				replica := r.replica(r.open())
				work.Go(func() {
					_, err := replica.DecideAll(context.Background(), voters[i], app.Batch{Approve: true, Items: items})
					won[i] = err == nil
					if err != nil && fault.ReasonOf(err) != fault.ApprovalDecided {
						r.Errorf("batch %d: %v", i, err)
					}
				})
			}
			replica := r.replica(r.open())
			work.Go(func() {
				_, single = replica.Decide(context.Background(), as("dora", auth.Approver), b.Items[4].ID, app.Vote{})
			})
			work.Wait()
			by := map[string]string{}
			for i, items := range parts {
				for _, item := range items {
					got, err := r.Get(context.Background(), olga, item.ID)
					if err != nil {
						r.Fatal(err)
					}
					by[item.ID] = got.DecidedBy()
					if won[i] && got.DecidedBy() != voters[i].Principal.Name {
						r.Errorf("%s has won, and %s has decided %s", voters[i].Principal.Name, got.DecidedBy(), item.ID)
					}
					if len(got.Votes) > 1 {
						r.Errorf("%s has %d votes", item.ID, len(got.Votes))
					}
				}
			}
			for i, items := range parts {
				if won[i] {
					continue
				}
				for _, item := range items {
					if by[item.ID] == voters[i].Principal.Name {
						r.Errorf("%s has lost, and has decided %s", voters[i].Principal.Name, item.ID)
					}
				}
			}
			if single == nil != (by[b.Items[4].ID] == "dora") {
				r.Errorf("dora is told %v, and %s has decided", single, by[b.Items[4].ID])
			}
		}
	})
}

// A commit that fails, before or after it was applied, leaves all or nothing; a repeat with the
// same key finishes it, whichever it was.
func TestDecideAllWhenTheStoreFails(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		for _, failing := range []storetest.Fault{storetest.Failed, storetest.FailedButApplied} {
			_, b := r.calls(5)
			b.Key = fmt.Sprint("key ", failing)
			var once sync.Once
			faulty := r.faulty(func(_ int, batch *store.Batch) (f storetest.Fault) {
				f = storetest.Healthy
				if len(batch.Puts) == len(b.Items) {
					once.Do(func() { f = failing })
				}
				return f
			})
			if _, err := faulty.DecideAll(t.Context(), alice, b); err == nil {
				r.Fatalf("%v: the failure is not told", failing)
			}
			got := r.standing(&b)
			if want := map[storetest.Fault]int{storetest.Failed: 0, storetest.FailedButApplied: 5}[failing]; got[consent.Granted] != want || got[consent.Pending] != 5-want {
				r.Errorf("%v: they stand as %v", failing, got)
			}
			if _, err := r.DecideAll(t.Context(), alice, b); err != nil {
				r.Errorf("%v: a repeat is answered %v", failing, err)
			}
			if got := r.standing(&b); got[consent.Granted] != 5 {
				r.Errorf("%v: after a repeat they stand as %v", failing, got)
			}
			for _, item := range b.Items {
				if failing == storetest.Failed { // what was applied unseen, the watcher of the test has not seen
					r.said(item.ID, "requested by agent-7", "voted by alice", "granted by alice")
				}
			}
		}
	})
}
