package app_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/services/approval/internal/app"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		id := r.ask(func(q *app.Question) { q.Terms.Required = 2 }).ID
		if got := r.vote(alice, id, app.Vote{Approve: true, Note: "fine"}); got.Status != consent.Pending || got.Version != 2 {
			t.Errorf("after one vote it is %+v", got.Approval)
		}
		r.clock.Advance(time.Minute)
		got := r.vote(bob, id, app.Vote{Approve: true})
		if got.Status != consent.Granted || got.Version != 3 || got.DecidedBy() != "bob" {
			t.Errorf("after two votes it is %+v", got.Approval)
		}
		_, err := r.Decide(t.Context(), carol, id, app.Vote{})
		e := r.refused(err, fault.ApprovalDecided, "approval_id", id, "code", "ALREADY_DECIDED", "status", "GRANTED", "by", "bob",
			"at", r.clock.Now().Format(time.RFC3339Nano))
		if !strings.Contains(e.Message, `granted by "alice" ("fine") and "bob"`) {
			t.Errorf("the refusal does not show the decision: %s", e.Message)
		}
		r.said(id, "requested by agent-7", "voted by alice", "voted by bob", "granted by bob")
		if names := r.timers(); len(names) > 0 {
			t.Errorf("what is decided has the timers %q", names)
		}
	})
}

func TestReject(t *testing.T) {
	t.Parallel()
	r := here(t)
	id := r.ask(func(q *app.Question) { q.Terms.DenyThreshold = 2 }).ID
	r.vote(alice, id, app.Vote{Note: "no"})
	if got := r.vote(bob, id, app.Vote{}); got.Status != consent.Rejected || got.DecidedBy() != "bob" {
		t.Errorf("it is %+v", got.Approval)
	}
	r.said(id, "requested by agent-7", "voted by alice", "voted by bob", "rejected by bob")
}

// Who may not decide is told why, and nothing has changed (S9.3).
func TestDecideRefuses(t *testing.T) {
	t.Parallel()
	r := here(t)
	id := r.ask(func(q *app.Question) { q.Terms.Required = 2 }).ID
	r.vote(alice, id, app.Vote{Approve: true})
	before := r.stored(id)
	bound := carol
	bound.Principal.Session = "ses_3"
	fixed := r.ask(func(q *app.Question) { q.Editable = false }).ID
	for name, tc := range map[string]struct {
		by     app.Caller
		id     string
		vote   app.Vote
		reason fault.Reason
		code   string
		field  string
	}{
		"asker":            {as("agent-7", auth.Approver), id, app.Vote{Approve: true}, fault.PermissionDenied, "APPROVER_IS_ASKER", ""},
		"asker in capital": {as("Agent-7", auth.Approver), id, app.Vote{}, fault.PermissionDenied, "APPROVER_IS_ASKER", ""},
		"agent":            {as("agent-8", auth.Agent), id, app.Vote{Approve: true}, fault.PermissionDenied, "APPROVER_NOT_ELIGIBLE", ""},
		"operator":         {olga, id, app.Vote{Approve: true}, fault.PermissionDenied, "APPROVER_NOT_ELIGIBLE", ""},
		"session":          {bound, id, app.Vote{Approve: true}, fault.PermissionDenied, "", ""},
		"again":            {alice, id, app.Vote{}, fault.FailedPrecondition, "ALREADY_VOTED", ""},
		"other digest":     {bob, id, app.Vote{Approve: true, Digest: strings.Repeat("0", 64)}, fault.VersionConflict, "ACTION_CHANGED", ""},
		"late edit":        {bob, id, app.Vote{Approve: true, Edited: []byte(`{}`)}, fault.InvalidRequest, "INVALID_EDIT", "/edited_data"},
		"edit to reject":   {bob, id, app.Vote{Edited: []byte(`{}`)}, fault.InvalidRequest, "INVALID_EDIT", "/edited_data"},
		"edit of nothing":  {bob, id, app.Vote{Approve: true, Edited: []byte(`{`)}, fault.InvalidRequest, "", "/edited_data"},
		"long edit":        {bob, id, app.Vote{Approve: true, Edited: []byte(`{"a":"` + strings.Repeat("x", app.MaxData) + `"}`)}, fault.TooLarge, "", ""},
		"edit of reserved": {bob, fixed, app.Vote{Approve: true, Edited: []byte(`{}`)}, fault.InvalidRequest, "NOT_EDITABLE", "/edited_data"},
		"long note":        {bob, id, app.Vote{Approve: true, Note: strings.Repeat("x", 4097)}, fault.InvalidRequest, "NOTE_TOO_LONG", "/note"},
		"unknown":          {bob, "apr_2", app.Vote{Approve: true}, fault.NotFound, "", ""},
		"other namespace":  {app.Caller{Namespace: "other", Principal: bob.Principal}, id, app.Vote{Approve: true}, fault.NotFound, "", ""},
	} {
		_, err := r.Decide(t.Context(), tc.by, tc.id, tc.vote)
		e := r.refused(err, tc.reason, "code", tc.code)
		if tc.field != "" && (len(e.Violations) == 0 || e.Violations[0].Pointer != tc.field) {
			t.Errorf("%s: %v has the violations %v", name, e, e.Violations)
		}
	}
	if after := r.stored(id); after.Version != before.Version || string(after.Data) != string(before.Data) {
		t.Errorf("it has become %s", after.Data)
	}
}

// Who approves an edit has seen it: its digest is that of what they were shown (S9.4).
func TestDecideWithEdit(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		first := r.ask(func(q *app.Question) { q.Terms.Required = 2 })
		edited := r.vote(alice, first.ID, app.Vote{Approve: true, Edited: []byte(`{"build": 2}`), Digest: first.Digest})
		if edited.Digest == first.Digest || edited.Diff().String() != `[{"op":"replace","path":"/build","value":2}]` {
			t.Errorf("the edit is %+v", edited.Approval)
		}
		_, err := r.Decide(t.Context(), bob, first.ID, app.Vote{Approve: true})
		r.refused(err, fault.VersionConflict, "code", "ACTION_CHANGED", "digest", edited.Digest)
		if got := r.vote(bob, first.ID, app.Vote{Approve: true, Digest: edited.Digest}); got.Status != consent.Granted {
			t.Errorf("it is %+v", got.Approval)
		}
		_, err = r.Consume(t.Context(), engine, first.ID, first.Digest, "run_1@2", "")
		r.refused(err, fault.FailedPrecondition, "code", "OTHER_ACTION")
		if got, err := r.Consume(t.Context(), engine, first.ID, edited.Digest, "run_1@2", ""); err != nil || got.Standing() != consent.Used {
			t.Errorf("it is %v, %v", got, err)
		}
	})
}

// Data that a transition could not take is refused to who edits, and not later to the
// run; a tool takes what it takes.
func TestEditThatNoRunCanTake(t *testing.T) {
	t.Parallel()
	r := here(t)
	bad := []byte(`{"__interlock":{"state":"done"}}`)
	for _, kind := range []consent.Kind{consent.Transition, consent.ProcessStep} {
		id := r.ask(func(q *app.Question) { q.Kind = kind }).ID
		_, err := r.Decide(t.Context(), alice, id, app.Vote{Approve: true, Edited: bad})
		r.refused(err, fault.InvalidRequest, "code", "INVALID_EDIT", "status", "PENDING")
		r.is(id, consent.Pending)
		r.said(id, "requested by agent-7")
	}
	id := r.ask(func(q *app.Question) { q.Kind = consent.ToolCall }).ID
	r.vote(alice, id, app.Vote{Approve: true, Edited: bad})
}

// Of approvers who race on two replicas exactly one makes the decision, and all others
// are shown it (S9.4).
func TestRacingApproversOnTwoReplicas(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		other := r.replica(r.open())
		for range 10 {
			id := r.ask(nil).ID
			answers := make(chan string)
			for i := range 8 {
				on := r.App
				if i%2 == 1 {
					on = other
				}
				go func() {
					by := as(fmt.Sprintf("approver-%d", i), auth.Approver)
					_, err := on.Decide(t.Context(), by, id, app.Vote{Approve: i%4 < 2})
					switch fault.ReasonOf(err) {
					case "":
						answers <- "made it: " + by.Principal.Name
					case fault.ApprovalDecided:
						answers <- "shown: " + fault.From(err).Metadata["by"]
					default:
						answers <- err.Error()
					}
				}()
			}
			var got []string
			for range 8 {
				got = append(got, receive(t, answers))
			}
			slices.Sort(got)
			by := strings.TrimPrefix(got[0], "made it: ")
			if got[0] == by || slices.ContainsFunc(got[1:], func(s string) bool { return s != "shown: "+by }) {
				t.Fatalf("they were answered %q", got)
			}
		}
	})
}

// A quorum is of different people, also when they vote at once on two replicas.
func TestQuorumUnderRaces(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		other := r.replica(r.open())
		for range 5 {
			id := r.ask(func(q *app.Question) { q.Terms.Required = 3 }).ID
			answers := make(chan error)
			for i := range 8 {
				on := []*app.App{r.App, other}[i%2]
				go func() {
					_, err := on.Decide(t.Context(), as(fmt.Sprintf("approver-%d", i/2), auth.Approver), id, app.Vote{Approve: true})
					answers <- err
				}()
			}
			accepted := 0
			for range 8 {
				if err := receive(t, answers); err == nil {
					accepted++
				}
			}
			got := r.is(id, consent.Granted)
			if accepted != 3 || len(got.Votes) != 3 {
				t.Fatalf("%d votes were accepted: %+v", accepted, got.Votes)
			}
		}
	})
}

// A vote with a key happens once, and is answered again; with another content it is
// another (S6.5).
func TestDecideOnce(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		id := r.ask(nil).ID
		v := app.Vote{Approve: true, Note: "fine", Key: "k"}
		_, err := r.faulty(storetest.Nth(1, storetest.FailedButApplied)).Decide(t.Context(), alice, id, v)
		r.refused(err, fault.CommitUncertain)
		if got := r.vote(alice, id, v); got.Standing() != consent.Granted || len(got.Votes) != 1 {
			t.Errorf("again it is %+v", got.Approval)
		}
		changed := v
		changed.Approve = false
		_, err = r.Decide(t.Context(), alice, id, changed)
		r.refused(err, fault.IdempotencyMismatch)
		_, err = r.Decide(t.Context(), bob, id, v) // whose key it is not
		r.refused(err, fault.ApprovalDecided, "by", "alice")
		r.said(id, "requested by agent-7", "voted by alice", "granted by alice")

		// A refused vote is not remembered: what has refused it may have changed.
		id = r.ask(func(q *app.Question) {
			q.Terms = consent.Terms{TTL: time.Hour, Escalation: consent.Escalation{After: time.Minute, To: consent.Approvers{Names: []string{"olga"}}}}
		}).ID
		_, err = r.Decide(t.Context(), olga, id, v)
		r.refused(err, fault.PermissionDenied)
		r.clock.Advance(time.Minute)
		r.vote(olga, id, v)
	})
}

// The same vote on two replicas at once, as a client sends it that does not know
// whether the first has arrived.
func TestDecideOnceUnderRaces(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		other := r.replica(r.open())
		for range 10 {
			id := r.ask(nil).ID
			answers := make(chan error)
			for _, on := range []*app.App{r.App, other, r.App, other} {
				go func() {
					_, err := on.Decide(t.Context(), alice, id, app.Vote{Approve: true, Key: "k"})
					answers <- err
				}()
			}
			for range 4 {
				if err := receive(t, answers); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
