package check_test

import (
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest/stage"
)

// S22.21, S22.24: a replica that has seen a session before decides by its record as it is at the commit: a token
// that another replica has revoked, and a narrowing of the session or of one above it, count for the next call.
func TestBoundsAreConditionsOfTheCommit(t *testing.T) {
	t.Parallel()
	const lead = `{"id": "ses_lead", "name": "lead", "status": "RUNNING"`
	const token = `"tokens": [{"id": "stok_1", "session": "helper", "issued_at": "2026-03-01T12:00:00Z", "expires": "2026-03-02T12:00:00Z"`
	const helper = `{"id": "ses_helper", "name": "helper", "parent_home": "ses_lead", "status": "RUNNING", "depth": 1`
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	holder := enforcer.Caller{Namespace: "default", Principal: auth.Principal{
		Name: "a", Role: auth.Agent, Session: "helper", Namespace: "default", Kind: auth.OfSession, TokenID: "stok_1", IssuedAt: at, Expires: at.Add(24 * time.Hour),
	}}
	s := stage.New(t, stage.Open)
	r := stage.Registry{T: t, Store: s.Store}
	r.Session("lead", "", "", "RUNNING")
	r.Session("helper", "lead", "", "RUNNING")
	s.Engine.Current.SessionID = "helper"
	a, b := placed(s, s.Store), placed(s, s.Store)
	ask := func() (*check.Decision, error) {
		d, err := a.Checks.Check(t.Context(), holder, check.Request{Target: enforcer.Target{RunID: s.Engine.Current.ID}, Tool: "Write"})
		other, second := b.Checks.Check(t.Context(), holder, check.Request{Target: enforcer.Target{RunID: s.Engine.Current.ID}, Tool: "Write"})
		if (err == nil) != (second == nil) || err == nil && d.Verdict.Code != other.Verdict.Code {
			t.Errorf("two replicas: %v, %v and %v, %v", d, err, other, second)
		}
		return d, err
	}
	refused := func(what string) {
		t.Helper()
		if _, err := ask(); fault.ReasonOf(err) != fault.Unauthenticated {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("a token that is not listed")
	r.Put(ledger.SessionOf("default", "ses_helper"), "%s", helper+`, `+token+`}]}`)
	d, err := ask()
	if err != nil {
		t.Fatal(err)
	}
	stage.Expect(t, d, toolcall.Allow, "")
	r.Put(ledger.SessionOf("default", "ses_lead"), "%s", lead+`, "only": [{"tools": ["Read"]}]}`)
	if d, err = ask(); err != nil {
		t.Fatal(err)
	}
	stage.Expect(t, d, toolcall.Deny, toolcall.CodeNarrowed)
	r.Put(ledger.SessionOf("default", "ses_lead"), "%s", lead+`, "only": "what a later server writes"}`)
	if d, err = ask(); err != nil {
		t.Fatal(err)
	}
	stage.Expect(t, d, toolcall.Deny, toolcall.CodeNarrowed)
	r.Put(ledger.SessionOf("default", "ses_lead"), "%s", lead+`}`)
	r.Put(ledger.SessionOf("default", "ses_helper"), "%s", helper+`, `+token+`, "revoked_at": "2026-03-01T12:00:01Z", "revoked_by": "olga"}]}`)
	refused("a token that was revoked")
	r.Put(ledger.SessionOf("default", "ses_helper"), "%s", helper+`, `+token+`}]}`)
	r.Put(ledger.SessionOf("default", "ses_lead"), "%s", lead+`, "tokens_after": "2026-03-01T12:00:01Z"}`)
	refused("a token of a tree whose tokens were revoked")
}
