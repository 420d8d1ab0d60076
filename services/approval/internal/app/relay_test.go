package app_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/approval/internal/app"
)

// register is people by their identities.
type register map[string]*app.Person

func (r register) ByIdentity(_ context.Context, identity string) (*app.Person, error) {
	if identity == "slack:T01/broken" {
		return nil, errors.New("the store is away")
	}
	return r[identity], nil
}

// relayed returns a rig with a relay and people.
func relayed(t *testing.T) (*rig, app.Caller) {
	t.Helper()
	r := here(t)
	ann := &app.Person{Name: "ann", Roles: []auth.Role{auth.Approver, auth.Operator}, Namespaces: "default"}
	people := register{
		"slack:T01/U02": ann, "slack:T01/U03": ann, "github:ann": ann, "slack:T02/U02": ann,
		"slack:T01/agent": {Name: "agent-7", Roles: []auth.Role{auth.Approver}, Namespaces: "default"},
		"slack:T01/looks": {Name: "oscar", Roles: []auth.Role{auth.Observer}, Namespaces: "default"},
		"slack:T01/far":   {Name: "fay", Roles: []auth.Role{auth.Approver}, Namespaces: "team"},
		"slack:T01/op":    {Name: "olga", Roles: []auth.Role{auth.Operator}, Namespaces: auth.AllNamespaces},
	}
	relays := app.Relays{Max: consent.Medium, Link: "https://interlock.example.com"}
	relays.List("slackbot", "slack:T01/")
	r.App = app.New(app.Config{
		Store: r.store, Announce: announcer, Clock: r.clock.Now, Relays: relays, People: people, Leases: consent.LeaseBounds{Calls: 100},
	})
	return r, as("slackbot", auth.Relay)
}

// A relay decides only as a person, whom it may speak for and whom somebody has registered (S23.35).
func TestRelay(t *testing.T) {
	t.Parallel()
	r, bot := relayed(t)
	vote := func(caller app.Caller, id, identity string) (*app.Record, error) {
		by, err := r.Acting(t.Context(), caller, id, identity)
		if err != nil {
			return nil, err
		}
		return r.Decide(t.Context(), by, id, app.Vote{Approve: true})
	}
	two := func(q *app.Question) { q.Terms.Required = 2 }
	for name, tc := range map[string]struct {
		caller   app.Caller
		identity string
		ask      func(q *app.Question)
		want     string // of the refusal
	}{
		"nobody":                    {bot, "", nil, "makes no decision by itself"},
		"another team":              {bot, "slack:T02/U02", nil, "may not speak for"},
		"another system":            {bot, "github:ann", nil, "may not speak for"},
		"the prefix alone":          {bot, "slack:T01/", nil, "may not speak for"},
		"the prefix in other case":  {bot, "Slack:T01/U02", nil, "may not speak for"},
		"an unknown user":           {bot, "slack:T01/U99", nil, "no registered person"},
		"a store that is away":      {bot, "slack:T01/broken", nil, "the store is away"},
		"a person of elsewhere":     {bot, "slack:T01/far", nil, "no registered person"},
		"who asks":                  {bot, "slack:T01/agent", nil, "requested approval"},
		"an observer":               {bot, "slack:T01/looks", nil, "not an eligible approver"},
		"above the danger":          {bot, "slack:T01/U02", func(q *app.Question) { q.Terms.Danger = consent.High }, "above what relays decide"},
		"presence is demanded":      {bot, "slack:T01/U02", func(q *app.Question) { q.Terms.Presence = true }, "a person who is there"},
		"an unknown danger":         {bot, "slack:T01/U02", func(q *app.Question) { q.Terms.Danger = "extreme" }, "above what relays decide"},
		"another relay":             {as("other", auth.Relay), "slack:T01/U02", nil, "no --relay"},
		"a relay of a session":      {app.Caller{Namespace: "default", Principal: auth.Principal{Name: "slackbot", Role: auth.Relay, Session: "s"}}, "slack:T01/U02", nil, "no --relay"},
		"an approver as another":    {alice, "slack:T01/U02", nil, "only a token of the role relay"},
		"an operator as another":    {olga, "slack:T01/U02", nil, "only a token of the role relay"},
		"an agent as another":       {agent, "slack:T01/U02", nil, "only a token of the role relay"},
		"an operator for operators": {bot, "slack:T01/op", nil, "not an eligible approver"},
	} {
		a := r.ask(tc.ask)
		_, err := vote(tc.caller, a.ID, tc.identity)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
		r.is(a.ID, consent.Pending)
		if f := fault.From(err); (strings.Contains(name, "danger") || strings.Contains(name, "presence")) && f.Metadata["link"] != "https://interlock.example.com/ui/approvals/"+a.ID {
			t.Errorf("%s: it has the link %v", name, f.Metadata)
		}
	}
	for name, tc := range map[string]struct {
		identity string
		ask      func(q *app.Question)
		role     string
	}{
		"an approver":            {"slack:T01/U02", nil, "approver"},
		"low":                    {"slack:T01/U02", func(q *app.Question) { q.Terms.Danger = consent.Low }, "approver"},
		"one of two roles":       {"slack:T01/U02", func(q *app.Question) { q.Terms.Eligible.Roles = []string{"operator"} }, "operator"},
		"by name":                {"slack:T01/U02", func(q *app.Question) { q.Terms.Eligible.Names = []string{"ann"} }, "approver"},
		"an operator everywhere": {"slack:T01/op", func(q *app.Question) { q.Terms.Eligible.Roles = []string{"operator"} }, "operator"},
	} {
		a, err := vote(bot, r.ask(tc.ask).ID, tc.identity)
		if err != nil || a.Status != consent.Granted || a.Votes[0].Role != tc.role || a.Votes[0].Name == "slackbot" || !a.Votes[0].Person || a.Votes[0].Relay != "slackbot" || a.Votes[0].Identity != tc.identity {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
	// Two identities of one person are one vote.
	a := r.ask(two)
	if _, err := vote(bot, a.ID, "slack:T01/U02"); err != nil {
		t.Fatal(err)
	}
	if _, err := vote(bot, a.ID, "slack:T01/U03"); err == nil || !strings.Contains(err.Error(), "has already approved") {
		t.Errorf("ann has voted twice: %v", err)
	}
	r.is(a.ID, consent.Pending)
	// A relay without as_identity decides nothing, whatever a server forgets.
	if _, err := r.Decide(t.Context(), bot, a.ID, app.Vote{Approve: true}); err == nil {
		t.Error("a relay has decided")
	}
	if _, err := r.DecideAll(t.Context(), bot, app.Batch{Approve: true, Items: []app.BatchItem{{ID: a.ID, Digest: a.Digest}}}); err == nil {
		t.Error("a relay has decided several")
	}
}

// A relay reads approvals, and knows which it can pass a vote on for; one that is not listed reads none (S23.36).
func TestRelayReads(t *testing.T) {
	t.Parallel()
	r, bot := relayed(t)
	a := r.ask(nil)
	high := r.ask(func(q *app.Question) { q.Terms.Danger = consent.High })
	if _, err := r.Get(t.Context(), bot, a.ID); err != nil {
		t.Error(err)
	}
	if all, _, err := r.List(t.Context(), bot, app.Query{Limit: 10}); err != nil || len(all) != 2 {
		t.Errorf("it lists %d, %v", len(all), err)
	}
	for _, tc := range []struct {
		of  *app.Record
		may bool
	}{{a, true}, {high, false}} {
		if may, why := r.MayDecide(bot, tc.of); may != tc.may || may != (why == "") {
			t.Errorf("it may pass on a vote: %v, %s", may, why)
		}
	}
	other := as("other", auth.Relay)
	if _, err := r.Get(t.Context(), other, a.ID); fault.ReasonOf(err) != fault.PermissionDenied {
		t.Errorf("one that is not listed reads: %v", err)
	}
	if _, _, err := r.List(t.Context(), other, app.Query{Limit: 10}); fault.ReasonOf(err) != fault.PermissionDenied {
		t.Errorf("one that is not listed lists: %v", err)
	}
}
