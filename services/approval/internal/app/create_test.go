package app_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/services/approval/internal/app"
)

func TestCreate(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		got := r.ask(nil)
		if !strings.HasPrefix(got.ID, "apr_") || got.Version != 1 || got.Status != consent.Pending || got.RunID != "run_1" ||
			got.Terms.Required != 1 || got.ExpiresAt != r.clock.Now().Add(24*time.Hour) {
			t.Errorf("it is %+v", got.Approval)
		}
		read := r.is(got.ID, consent.Pending)
		if read.Digest != got.Digest || read.Action.Data.String() != `{"build":9007199254740993}` || read.RunID != "run_1" || read.Version != 1 {
			t.Errorf("it is read as %+v", read)
		}
		r.said(got.ID, "requested by agent-7")
		if names := r.timers(); !slices.Equal(names, []string{"approval due"}) {
			t.Errorf("its timers are %q", names)
		}
	})
}

// An id makes a request happen once, no matter who else asks for the same; and no other
// action has it.
func TestCreateByID(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		named := func(q *app.Question) { q.ID = "apr_of-a-run" }
		first := r.ask(named)
		r.vote(alice, first.ID, app.Vote{Approve: true})
		q := question()
		named(&q)
		q.Data = []byte(` {"build": 9007199254740993} `)
		again, created, err := r.Create(t.Context(), engine, q)
		if err != nil || created || again.Standing() != consent.Granted {
			t.Errorf("again: %+v, created %t, %v", again, created, err)
		}
		for what, change := range map[string]func(*app.Question){
			"data":    func(q *app.Question) { q.Data = []byte(`{"build":9007199254740992}`) },
			"kind":    func(q *app.Question) { q.Kind = consent.ProcessStep },
			"asker":   func(q *app.Question) { q.Asker.Principal = "agent-8" },
			"session": func(q *app.Question) { q.Asker.SessionID = "" },
			"terms":   func(q *app.Question) { q.Terms.Required = 2 },
			"edits":   func(q *app.Question) { q.Editable = false },
			"run":     func(q *app.Question) { q.RunID = "run_2" },
		} {
			other := q
			change(&other)
			for _, other.Reuse = range []bool{false, true} {
				if got, _, err := r.Create(t.Context(), engine, other); fault.ReasonOf(err) != fault.IdempotencyMismatch {
					t.Errorf("other %s: %+v, %v", what, got, err)
				}
			}
		}
		// The defaults, said or not, are the same terms.
		q.Terms = consent.Terms{Required: 1, DenyThreshold: 1, TTL: 24 * time.Hour, Eligible: consent.Approvers{Roles: []string{"approver"}}}
		if _, created, err := r.Create(t.Context(), engine, q); err != nil || created {
			t.Errorf("with its terms spelled out: created %t, %v", created, err)
		}
		r.said(first.ID, "requested by agent-7", "voted by alice", "granted by alice")

		// Namespaces have ids of their own.
		other := engine
		other.Namespace = "other"
		if _, created, err := r.Create(t.Context(), other, q); err != nil || !created {
			t.Errorf("elsewhere: created %t, %v", created, err)
		}
	})
}

func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	r := here(t)
	long := strings.Repeat("x", 1<<20)
	for name, tc := range map[string]struct {
		change  func(*app.Question)
		reason  fault.Reason
		pointer string
	}{
		"subject no JSON":     {func(q *app.Question) { q.Subject = []byte(`{"a"`) }, fault.InvalidRequest, "/subject"},
		"subject twice":       {func(q *app.Question) { q.Subject = []byte(`{"a":1,"a":2}`) }, fault.InvalidRequest, "/subject/a"},
		"subject a list":      {func(q *app.Question) { q.Subject = []byte(`[1]`) }, fault.InvalidRequest, "/subject"},
		"no subject":          {func(q *app.Question) { q.Subject = nil }, fault.InvalidRequest, "/subject"},
		"long subject":        {func(q *app.Question) { q.Subject = []byte(`{"a":"` + long[:app.MaxSubject] + `"}`) }, fault.TooLarge, ""},
		"data no JSON":        {func(q *app.Question) { q.Data = []byte(`{"a":{"b":01}}`) }, fault.InvalidRequest, "/data"},
		"long data":           {func(q *app.Question) { q.Data = []byte(`{"a":"` + long + `"}`) }, fault.TooLarge, ""},
		"no asker":            {func(q *app.Question) { q.Asker = consent.Asker{} }, fault.InvalidRequest, "/asker/principal"},
		"no kind":             {func(q *app.Question) { q.Kind = "wish" }, fault.InvalidRequest, "/kind"},
		"id of something":     {func(q *app.Question) { q.ID = "run_1" }, fault.InvalidRequest, "/approval_id"},
		"id of a path":        {func(q *app.Question) { q.ID = "apr_1/../2" }, fault.InvalidRequest, "/approval_id"},
		"id of two lines":     {func(q *app.Question) { q.ID = "apr_1\n" }, fault.InvalidRequest, "/approval_id"},
		"nobody may":          {func(q *app.Question) { q.Terms.Eligible.Names = []string{"agent-7"} }, fault.InvalidRequest, "/terms"},
		"too many must":       {func(q *app.Question) { q.Terms.Required = 1001 }, fault.InvalidRequest, "/terms"},
		"too many may reject": {func(q *app.Question) { q.Terms.DenyThreshold = 1001 }, fault.InvalidRequest, "/terms"},
		"forever":             {func(q *app.Question) { q.Terms.TTL = 1<<63 - 1 }, fault.InvalidRequest, "/terms"},
		"escalates too late":  {func(q *app.Question) { q.Terms.Escalation.After = 24 * time.Hour }, fault.InvalidRequest, "/terms"},
	} {
		q := question()
		tc.change(&q)
		for _, q.Reuse = range []bool{false, true} {
			_, _, err := r.Create(t.Context(), engine, q)
			e := r.refused(err, tc.reason)
			if tc.pointer != "" && (len(e.Violations) == 0 || e.Violations[0].Pointer != tc.pointer) {
				t.Errorf("%s: %v has the violations %v", name, e, e.Violations)
			}
		}
	}
	if names := r.timers(); len(names) > 0 {
		t.Errorf("the refused have left timers: %q", names)
	}
}

// The same action is asked for once, as long as what was said of it says something
// (S7.6).
func TestReuse(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		q := question()
		q.Kind, q.Reuse, q.Terms.TTL = consent.ToolCall, true, time.Hour
		// ask returns the approval of the action, which must be a new one or not.
		ask := func(what string, isNew bool) *app.Record {
			t.Helper()
			got, created, err := r.Create(t.Context(), engine, q)
			if err != nil || created != isNew {
				t.Fatalf("%s: created %t, %v", what, created, err)
			}
			return got
		}
		end := func(what string, of *app.Record, err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if next := ask("after it is "+what, true); next.ID == of.ID {
				t.Errorf("%s: it is the same", what)
			}
		}
		first := ask("the first", true)
		q.Message = "Please?" // how it is worded makes no other question
		if again := ask("while it is pending", false); again.ID != first.ID || again.Message != "Ship it?" {
			t.Errorf("again it is %+v", again)
		}
		r.vote(alice, first.ID, app.Vote{Approve: true})
		if again := ask("once it is granted", false); again.ID != first.ID || again.Standing() != consent.Granted {
			t.Errorf("then it is %+v", again)
		}
		_, err := r.Consume(t.Context(), engine, first.ID, first.Digest, "call_1", "")
		q.UsedBy, q.SettledUse = "call_2", "call_1"
		end("used", first, err)
		second := ask("the second", false)
		_, err = r.Cancel(t.Context(), olga, second.ID, "")
		end("cancelled", second, err)
		third := ask("the third", false)
		r.vote(alice, third.ID, app.Vote{Approve: true})
		_, err = r.Void(t.Context(), engine, third.ID, "the run has moved on")
		end("stale", third, err)
		fourth := ask("the fourth", false)
		r.clock.Advance(time.Hour) // nobody notes it
		end("expired", fourth, nil)
		lapsing := ask("the fifth", false)
		r.vote(alice, lapsing.ID, app.Vote{Approve: true})
		r.clock.Advance(time.Hour - 1)
		ask("before it lapses", false)
		r.clock.Advance(1)
		end("lapsed", lapsing, nil)
		_, err = r.Consume(t.Context(), engine, lapsing.ID, lapsing.Digest, "call_2", "")
		r.refused(err, fault.FailedPrecondition, "code", "GRANT_LAPSED", "status", "GRANTED")
		fifth := ask("the sixth", false)
		r.vote(alice, fifth.ID, app.Vote{})
		if again := ask("once it is rejected", false); again.ID != fifth.ID || again.Standing() != consent.Rejected {
			t.Errorf("then it is %+v", again)
		}
		// Another action, run, asker or terms are another question.
		for what, change := range map[string]func(*app.Question){
			"kind":    func(q *app.Question) { q.Kind = consent.ProcessStep },
			"subject": func(q *app.Question) { q.Subject = []byte(`{"run_id":"run_1","event":"SHIP2"}`) },
			"data":    func(q *app.Question) { q.Data = nil },
			"run":     func(q *app.Question) { q.RunID = "run_2" },
			"asker":   func(q *app.Question) { q.Asker.Principal = "agent-8" },
			"session": func(q *app.Question) { q.Asker.SessionID = "ses_3" },
			"root":    func(q *app.Question) { q.Asker.RootSession = "ses_2" },
			"quorum":  func(q *app.Question) { q.Terms.Required = 2 },
			"circle":  func(q *app.Question) { q.Terms.Eligible.Names = []string{"alice"} },
			"time":    func(q *app.Question) { q.Terms.TTL = 2 * time.Hour },
			"edits":   func(q *app.Question) { q.Editable = false },
		} {
			kept := q
			change(&q)
			ask("another "+what, true)
			q = kept
		}
		// Who names the id gets that, however else the question was asked.
		q.ID = "apr_named"
		if got := ask("by another id", false); got.ID != fifth.ID {
			t.Errorf("by another id it is %s", got.ID)
		}
		r.ask(func(q *app.Question) { q.ID, q.Terms.TTL = "apr_named", time.Hour })
		q.Kind = consent.Transition
		if got := ask("by its id", false); got.ID != "apr_named" {
			t.Errorf("by its id it is %s", got.ID)
		}
	})
}

// All who ask for an action at once get one approval, and one of them has made it.
func TestReuseRaces(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		for round := range 10 {
			q := question()
			q.Reuse, q.RunID = true, fmt.Sprintf("run_%d", round)
			got := make(chan string)
			for range 4 {
				for _, a := range []*app.App{r.App, r.replica(r.open())} {
					go func() {
						r, created, err := a.Create(t.Context(), engine, q)
						if err != nil {
							got <- err.Error()
							return
						}
						got <- fmt.Sprintf("%t %s", created, r.ID)
					}()
				}
			}
			made, ids := 0, map[string]bool{}
			for range 8 {
				created, id, _ := strings.Cut(receive(t, got), " ")
				ids[id] = true
				if created == "true" {
					made++
				}
			}
			if made != 1 || len(ids) != 1 {
				t.Fatalf("%d were made: %v", made, ids)
			}
		}
	})
}

// A creation that was cut short after it had named the approval is carried out by who
// asks next; the one who comes back late finds that.
func TestReuseIsRolledForward(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		q := question()
		q.Reuse = true
		cut := r.faulty(storetest.Nth(2, storetest.Failed))
		_, _, err := cut.Create(t.Context(), engine, q)
		r.refused(err, fault.Unavailable)
		first, created, err := r.Create(t.Context(), engine, q)
		if err != nil || !created {
			t.Fatalf("created %t, %v", created, err)
		}
		if again, created, err := r.Create(t.Context(), engine, q); err != nil || created || again.ID != first.ID {
			t.Errorf("again: %v, created %t, %v", again, created, err)
		}

		q.RunID = "run_2"
		var second *app.Record
		slow := r.before(app.KindApproval, func() {
			if second, created, err = r.Create(t.Context(), engine, q); err != nil || !created {
				t.Errorf("created %t, %v", created, err)
			}
		})
		late, created, err := slow.Create(t.Context(), engine, q)
		if err != nil || created || late.ID != second.ID {
			t.Errorf("late: %v, created %t, %v, want %s", late, created, err, second.ID)
		}
	})
}

// What may or may not have been stored is found by who asks again.
func TestCreateIsRepeatable(t *testing.T) {
	t.Parallel()
	for _, kind := range []storetest.Fault{storetest.FailedButApplied, storetest.Uncertain} {
		for n := 1; n <= 2; n++ {
			r := here(t)
			q := question()
			q.Reuse = true
			_, _, err := r.faulty(storetest.Nth(n, kind)).Create(t.Context(), engine, q)
			r.refused(err, fault.CommitUncertain)
			first, _, err := r.Create(t.Context(), engine, q)
			if err != nil {
				t.Fatal(err)
			}
			page, err := r.store.List(t.Context(), store.Query{Namespace: "default", Kind: app.KindApproval, Limit: 10})
			if err != nil || len(page.Records) != 1 || page.Records[0].Key.ID != first.ID {
				t.Errorf("fault %d of commit %d: there are %v, %v", kind, n, page.Records, err)
			}
			r.said(first.ID, "requested by agent-7")
		}
	}
}
