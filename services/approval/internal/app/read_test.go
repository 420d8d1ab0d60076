package app_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/approval/internal/app"
)

// An agent reads what it has asked, and for all others there is nothing.
func TestAgentsReadTheirOwn(t *testing.T) {
	t.Parallel()
	r := here(t)
	id := r.ask(nil).ID
	for name, tc := range map[string]struct {
		name    string
		role    auth.Role
		session string
		may     bool
	}{
		"asker":            {"agent-7", auth.Agent, "", true},
		"its session":      {"agent-7", auth.Agent, "ses_2", true},
		"root of its tree": {"agent-7", auth.Agent, "ses_1", true},
		"other session":    {"agent-7", auth.Agent, "ses_3", false},
		"other agent":      {"agent-8", auth.Agent, "", false},
		"other in its":     {"agent-8", auth.Agent, "ses_2", false},
		"approver":         {"alice", auth.Approver, "", true},
		"observer":         {"oscar", auth.Observer, "", true},
		"service":          {"engine", auth.Service, "", true},
	} {
		caller := as(tc.name, tc.role)
		caller.Principal.Session = tc.session
		_, err := r.Get(t.Context(), caller, id)
		waited := r.Wait(t.Context(), caller, id, func(*app.Record) error { return fault.New(fault.Unimplemented, "seen") })
		if !tc.may {
			r.refused(err, fault.NotFound)
			r.refused(waited, fault.NotFound)
			_, absent := r.Get(t.Context(), caller, "apr_none")
			if strings.ReplaceAll(err.Error(), id, "apr_none") != absent.Error() {
				t.Errorf("%s: %v differs from %v", name, err, absent)
			}
			continue
		}
		if err != nil || fault.ReasonOf(waited) != fault.Unimplemented {
			t.Errorf("%s: %v, %v", name, err, waited)
		}
	}
	elsewhere := olga
	elsewhere.Namespace = "other"
	_, err := r.Get(t.Context(), elsewhere, id)
	r.refused(err, fault.NotFound)
}

// S9.1: a run has the id of its approval before that is asked for: for a while, people and agents are asked to try
// again, with the same words where there is one that they may not see. The engine learns that there is none.
func TestApprovalsThatAreToCome(t *testing.T) {
	t.Parallel()
	r := here(t)
	minted := func(ago time.Duration) string {
		ms, id := r.clock.Now().Add(-ago).UnixMilli(), make([]byte, 10)
		for i := range id {
			id[i] = typeid.Alphabet[ms>>(5*(9-i))&31]
		}
		return "apr_" + string(id) + strings.Repeat("0", typeid.Length-10)
	}
	other := r.ask(func(q *app.Question) { q.ID = minted(time.Second) }).ID
	for name, c := range map[string]struct {
		id   string
		by   app.Caller
		want fault.Reason
	}{
		"just minted":              {minted(0), as("alice", auth.Approver), fault.Unavailable},
		"for an agent":             {minted(0), as("agent-7", auth.Agent), fault.Unavailable},
		"some seconds ago":         {minted(14 * time.Second), as("alice", auth.Approver), fault.Unavailable},
		"by a clock that is ahead": {minted(-5 * time.Second), as("alice", auth.Approver), fault.Unavailable},
		"long ago":                 {minted(time.Minute), as("alice", auth.Approver), fault.NotFound},
		"in the future":            {minted(-time.Hour), as("alice", auth.Approver), fault.NotFound},
		"for the engine":           {minted(0), as("engine", auth.Service), fault.NotFound},
		"no such id":               {"apr_none", as("alice", auth.Approver), fault.NotFound},
		"another agent's":          {other, as("agent-8", auth.Agent), fault.Unavailable},
	} {
		_, err := r.Get(t.Context(), c.by, c.id)
		if got := r.NotYet(c.by, c.id, err); fault.ReasonOf(got) != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	failed := fault.New(fault.Unavailable, "the store")
	if got := r.NotYet(as("alice", auth.Approver), minted(0), failed); !errors.Is(got, failed) {
		t.Errorf("another error becomes %v", got)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.SetPageBytes(16_000)
		long := strings.Repeat("x", 5_000)
		var pending, granted, big []string
		for i := range 7 {
			id := fmt.Sprintf("apr_%d", i)
			r.ask(func(q *app.Question) { q.ID, q.RunID = id, "run_a" })
			if i%2 == 0 {
				r.vote(alice, id, app.Vote{Approve: true})
				granted = append(granted, id)
			} else {
				pending = append(pending, id)
			}
		}
		for i := range 10 {
			id := fmt.Sprintf("apr_big%02d", i)
			r.ask(func(q *app.Question) { q.ID, q.RunID, q.Data = id, "run_b", []byte(`{"a":"`+long+`"}`) })
			big = append(big, id)
		}
		for _, ids := range [][]string{pending, granted, big} {
			slices.Reverse(ids) // newest first
		}
		list := func(q app.Query) (ids []string, pages int) {
			t.Helper()
			for {
				page, next, err := r.List(t.Context(), olga, q)
				if err != nil {
					t.Fatal(err)
				}
				pages++
				for _, got := range page {
					ids = append(ids, got.ID)
				}
				if len(page) > q.Limit || len(page) == 0 && next != "" {
					t.Fatalf("a page of %d, and then %q", len(page), next)
				}
				if next == "" {
					return ids, pages
				}
				q.After = next
			}
		}
		for _, limit := range []int{1, 2, 3, 100} {
			if ids, _ := list(app.Query{Standing: consent.Pending, RunID: "run_a", Limit: limit}); !slices.Equal(ids, pending) {
				t.Errorf("pending by %d: %q", limit, ids)
			}
			if ids, _ := list(app.Query{Standing: consent.Granted, Limit: limit}); !slices.Equal(ids, granted) {
				t.Errorf("granted by %d: %q", limit, ids)
			}
			if ids, pages := list(app.Query{RunID: "run_b", Limit: limit}); !slices.Equal(ids, big) || pages < 2 {
				t.Errorf("of a run by %d: %q in %d pages", limit, ids, pages)
			}
		}
		used := r.stored(granted[0])
		if _, err := r.Consume(t.Context(), engine, used.Key.ID, r.is(used.Key.ID, consent.Granted).Digest, "x", ""); err != nil {
			t.Fatal(err)
		}
		if ids, _ := list(app.Query{Standing: consent.Used, Limit: 10}); !slices.Equal(ids, granted[:1]) {
			t.Errorf("used: %q", ids)
		}
		// What has expired is not pending, also while nobody has noted it.
		r.clock.Advance(25 * time.Hour)
		if ids, _ := list(app.Query{Standing: consent.Pending, Limit: 2}); len(ids) > 0 {
			t.Errorf("pending, after a day: %q", ids)
		}
		elsewhere := olga
		elsewhere.Namespace = "other"
		if page, _, err := r.List(t.Context(), elsewhere, app.Query{Limit: 10}); err != nil || len(page) > 0 {
			t.Errorf("elsewhere: %v, %v", page, err)
		}
	})
}

// S23.39: approvals of the last 30 days are counted, or those since another time.
func TestAsked(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		for i := range 4 {
			r.ask(func(q *app.Question) { q.ID = fmt.Sprintf("apr_%d", i) })
			r.clock.Advance(20 * 24 * time.Hour)
		}
		for name, tc := range map[string]struct {
			since time.Time
			want  string
		}{
			"the last 30 days": {time.Time{}, "apr_3"},
			"50 days":          {r.clock.Now().Add(-50 * 24 * time.Hour), "apr_3 apr_2"},
			"all":              {r.clock.Now().Add(-5000 * time.Hour), "apr_3 apr_2 apr_1 apr_0"},
			"none":             {r.clock.Now(), ""},
		} {
			records, complete, err := r.Asked(t.Context(), olga, tc.since)
			var ids []string
			for _, one := range records {
				ids = append(ids, one.ID)
			}
			if got := strings.Join(ids, " "); err != nil || !complete || got != tc.want {
				t.Errorf("%s: %q, complete %t, %v", name, got, complete, err)
			}
		}
	})
}
