package app_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/approval/internal/app"
)

// What a viewer is told of whether they may decide is what deciding says (S9.3).
func TestMayDecideIsWhatDecideSays(t *testing.T) {
	t.Parallel()
	r := here(t)
	bound := carol
	bound.Principal.Session = "ses_9"
	viewers := []app.Caller{
		alice, bob, carol, bound, olga, agent, as("agent-7", auth.Approver), as("otto", auth.Observer), as("agent-8", auth.Agent), as("", auth.Approver),
	}
	allowed, refused := 0, 0
	for name, prepare := range map[string]func() *app.Record{
		"pending": func() *app.Record { return r.ask(nil) },
		"voted": func() *app.Record {
			x := r.ask(func(q *app.Question) { q.Terms.Required = 2 })
			return r.vote(alice, x.ID, app.Vote{Approve: true})
		},
		"granted": func() *app.Record { x := r.ask(nil); return r.vote(alice, x.ID, app.Vote{Approve: true}) },
		"by name": func() *app.Record {
			return r.ask(func(q *app.Question) { q.Terms.Eligible.Names = []string{"olga", "bob"} })
		},
		"by role": func() *app.Record {
			return r.ask(func(q *app.Question) { q.Terms.Eligible.Roles = []string{"operator"} })
		},
		"escalated": func() *app.Record {
			x := r.ask(func(q *app.Question) {
				q.Terms.Eligible.Names, q.Terms.Escalation = []string{"bob"}, consent.Escalation{After: time.Minute, To: consent.Approvers{Names: []string{"olga"}}}
			})
			r.clock.Advance(2 * time.Minute)
			return x
		},
		"expired": func() *app.Record {
			x := r.ask(func(q *app.Question) { q.Terms.TTL = time.Minute })
			r.clock.Advance(2 * time.Minute)
			return x
		},
	} {
		for _, viewer := range viewers {
			record := prepare()
			got, err := r.Get(t.Context(), olga, record.ID)
			if err != nil {
				t.Fatal(err)
			}
			may, why := r.MayDecide(viewer, got)
			_, err = r.Decide(t.Context(), viewer, record.ID, app.Vote{Approve: true})
			if may != (err == nil) || may != (why == "") || err != nil && fault.From(err).Message != why {
				t.Errorf("%s by %v: told %t %q, and then %v", name, viewer.Principal, may, why, err)
			}
			if may {
				allowed++
			} else {
				refused++
			}
		}
	}
	if allowed < 5 || refused < 20 {
		t.Errorf("%d may and %d may not", allowed, refused)
	}
	// The terms may name an observer, whom no contract lets decide.
	x := r.ask(func(q *app.Question) { q.Terms.Eligible.Names = []string{"otto", "bob"} })
	if may, why := r.MayDecide(as("otto", auth.Observer), x); may || why == "" {
		t.Errorf("an observer may decide: %q", why)
	}
}

// shelf has one workflow, in one version.
type shelf struct{ asked []string }

func (s *shelf) Machine(_ context.Context, namespace, name string, version int64) (*workflow.Machine, error) {
	s.asked = append(s.asked, fmt.Sprint(namespace, " ", name, " ", version))
	if version != 3 {
		return nil, fault.New(fault.NotFound, "no such version")
	}
	def, problems := workflow.Parse([]byte(`{"id": "w", "initial": "a", "states": {
		"a": {"allowed_tools": ["Bash"], "allowed_commands": ["ls"], "on": {"SHIP": "b", "END": "end"}},
		"b": {"allowed_tools": ["Deploy"], "instructions": "Ship it.", "on": {"END": "end"}}, "end": {"type": "final"}}}`))
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return workflow.Compile(def, 3), nil
}

// What helps to decide: what it unlocks, the command line as the state judges it, and what was
// granted for the same before.
func TestDetails(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.App = app.New(app.Config{Store: r.store, Announce: announcer, Definitions: &shelf{}, Clock: r.clock.Now, Log: slog.New(slog.DiscardHandler)})
		shell := func(n int, line string) *app.Record {
			return r.ask(func(q *app.Question) {
				callOf(n)(q)
				q.Subject = fmt.Appendf(nil, `{"run_id":"run_%d","run_version":1,"workflow":"w","state":"a","capability":"bash","tool":"Bash"}`, n)
				q.Data = fmt.Appendf(nil, `{"command":%q}`, line)
				q.Why.WorkflowVersion = 3
			})
		}
		first := shell(1, "ls -l")
		if d := r.Details(t.Context(), first); d.Previous != nil || d.Unlocks == nil || d.Unlocks.State != "a" || !slices.Equal(d.Unlocks.AllowedTools, []string{"Bash"}) ||
			d.Command == nil || d.Command.Parts[0].Matched != "ls" {
			r.Errorf("of the first: %+v", d)
		}
		r.vote(alice, first.ID, app.Vote{Approve: true, Edited: []byte(`{"command":"ls -a"}`), Digest: first.Digest})
		second := shell(2, "ls; git push")
		d := r.Details(t.Context(), second)
		if d.Previous == nil || d.Previous.ID != first.ID || d.Previous.Bound().Data.String() != `{"command":"ls -a"}` || d.Previous.DecidedBy() != "alice" {
			r.Errorf("of the second: %+v", d.Previous)
		}
		if d.Command == nil || len(d.Command.Parts) != 2 || d.Command.Parts[1].Said != toolcall.Refused {
			r.Errorf("its command is %+v", d.Command)
		}
		r.vote(alice, second.ID, app.Vote{})
		third := shell(3, "ls")
		if d := r.Details(t.Context(), third); d.Previous == nil || d.Previous.ID != first.ID {
			r.Errorf("what was rejected is told as granted: %+v", d.Previous)
		}
		if _, err := r.Consume(t.Context(), engine, first.ID, r.digest(first.ID), "call_1", ""); err != nil {
			r.Fatal(err)
		}
		if d := r.Details(t.Context(), third); d.Previous == nil || d.Previous.ID != first.ID {
			r.Errorf("what was used is not told: %+v", d.Previous)
		}
		if d := r.Details(t.Context(), r.ask(callOf(4))); d.Previous != nil || d.Command != nil {
			r.Errorf("of another tool: %+v", d)
		}
		event := func(version int) *app.Record {
			return r.ask(func(q *app.Question) {
				q.RunID = fmt.Sprint("run_e", version)
				q.Subject = fmt.Appendf(nil, `{"run_id":%q,"workflow":"w","workflow_version":%d,"state":"a","event":"SHIP","to":"b"}`, q.RunID, version)
			})
		}
		parked := event(3)
		if d := r.Details(t.Context(), parked); d.Unlocks == nil || d.Unlocks.State != "b" || d.Unlocks.Instructions != "Ship it." || !slices.Equal(d.Unlocks.AllowedTools, []string{"Deploy"}) {
			r.Errorf("of a transition: %+v", d.Unlocks)
		}
		if why := parked.Because(); why.State != "a" || why.Workflow != "w" || why.WorkflowVersion != 3 {
			r.Errorf("it is asked because of %+v", why)
		}
		if d := r.Details(t.Context(), event(4)); d.Unlocks != nil {
			r.Errorf("of a version that is not there: %+v", d.Unlocks)
		}
	})
}

// digest is that of an approval as it stands.
func (r *rig) digest(id string) string {
	r.Helper()
	got, err := r.Get(context.Background(), olga, id)
	if err != nil {
		r.Fatal(err)
	}
	return got.Digest
}
