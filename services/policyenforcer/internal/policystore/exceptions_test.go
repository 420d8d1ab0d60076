package policystore_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

const (
	freeze    = `{"role":"agent","name":"freeze","deny":[{"capability":"bash"},{"capability":"mcp:deploy","exceptable":true}]}`
	refrozen  = `{"role":"agent","name":"freeze","deny":[{"capability":"mcp:x"},{"exceptable":true,"capability":"mcp:deploy"}]}`
	frozen    = `{"role":"agent","name":"freeze","deny":[{"capability":"bash"},{"capability":"mcp:deploy:web","exceptable":true}]}`
	fourEyes  = `{"role":"agent","name":"freeze","exception_terms":{"four_eyes":true},"deny":[{"capability":"mcp:deploy","exceptable":true}]}`
	exception = "/deny/1"
)

// forAnn is an exception for a principal.
func (r *rig) forAnn() policystore.Exception {
	return policystore.Exception{
		Policy: "freeze", Rule: exception, Until: r.Clock.Now().Add(time.Hour), Reason: "INC-42",
		ExceptionScope: policystore.ExceptionScope{Principal: "ann"},
	}
}

// counted is how many exceptions from the live version are about the calls of a principal.
func (r *rig) counted(p auth.Principal, sessions ...string) int {
	r.Helper()
	x, err := r.Refresh(r.Context(), enforcertest.Namespace)
	if err != nil {
		r.Fatal(err)
	}
	set, err := r.Set(r.Context(), enforcertest.Namespace, "freeze", x.Live("freeze"))
	if err != nil {
		r.Fatal(err)
	}
	return x.ExceptionsOf("freeze", set, p, sessions, r.Clock.Now())
}

// S22.13: an exception is for one rule that permits it, with a reason, a scope and an end within 7 days. It ends with its time, by
// an operator, and when another text of its rule is live, also if the first one comes back.
func TestExceptions(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.put("freeze", freeze)
		add := func(change func(*policystore.Exception)) (*policystore.Exception, error) {
			e := r.forAnn()
			change(&e)
			return r.AddException(r.Context(), enforcertest.Operator, e)
		}
		for name, c := range map[string]struct {
			reason fault.Reason
			change func(*policystore.Exception)
		}{
			"no reason":       {fault.InvalidRequest, func(e *policystore.Exception) { e.Reason = " " }},
			"over":            {fault.InvalidRequest, func(e *policystore.Exception) { e.Until = r.Clock.Now() }},
			"too long":        {fault.InvalidRequest, func(e *policystore.Exception) { e.Until = r.Clock.Now().Add(7*24*time.Hour + 1) }},
			"for all":         {fault.InvalidRequest, func(e *policystore.Exception) { e.Principal = "" }},
			"a bad condition": {fault.InvalidDefinition, func(e *policystore.Exception) { e.When = []byte(`{"amount": 1}`) }},
			"another policy":  {fault.NotFound, func(e *policystore.Exception) { e.Policy = "q" }},
			"not exceptable":  {fault.FailedPrecondition, func(e *policystore.Exception) { e.Rule = "/deny/0" }},
			"no rule":         {fault.FailedPrecondition, func(e *policystore.Exception) { e.Rule = "/deny/7" }},
		} {
			_, err := add(c.change)
			if fault.ReasonOf(err) != c.reason {
				r.Errorf("%s: %v", name, err)
			}
		}
		r.Events()
		ann := auth.Principal{Name: "Ann", Role: auth.Agent}
		e, err := add(func(*policystore.Exception) {})
		if err != nil || e.ID == "" || e.Pending || len(r.Events()) != 1 {
			r.Fatalf("%+v, %v", e, err)
		}
		if r.counted(ann) != 1 || r.counted(auth.Principal{Name: "bob"}) != 0 {
			r.Error("it is not about the calls of ann alone")
		}
		r.put("freeze", refrozen) // the same rule, at the same place
		if r.counted(ann) != 1 {
			r.Error("it ended although its rule is the same")
		}
		r.put("freeze", frozen)
		r.put("freeze", freeze)
		if all, err := r.Exceptions(r.Context(), enforcertest.Namespace, "freeze"); err != nil || len(all) != 0 || r.counted(ann) != 0 {
			r.Errorf("it outlives its rule: %+v, %v", all, err)
		}
		if e, err = add(func(*policystore.Exception) {}); err != nil {
			r.Fatal(err)
		}
		if err := r.EndException(r.Context(), enforcertest.Operator, e.ID); err != nil || r.counted(ann) != 0 {
			r.Errorf("ended: %v", err)
		}
		r.Refused(r.EndException(r.Context(), enforcertest.Operator, e.ID), fault.NotFound)
		for i := range policystore.MaxExceptions {
			if _, err := add(func(e *policystore.Exception) { e.Reason = fmt.Sprint(i) }); err != nil {
				r.Fatal(err)
			}
		}
		_, err = add(func(*policystore.Exception) {})
		r.Refused(err, fault.LimitReached)
		r.Clock.Advance(time.Hour)
		if all, err := r.Exceptions(r.Context(), enforcertest.Namespace, ""); err != nil || len(all) != 0 {
			r.Errorf("after their time: %+v, %v", all, err)
		}
		if _, err := add(func(*policystore.Exception) {}); err != nil {
			r.Errorf("those that have ended take room: %v", err)
		}
	})
}

// S22.13: with four eyes an exception counts when another operator has confirmed it.
func TestFourEyes(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.put("freeze", fourEyes)
		e := r.forAnn()
		e.Rule = "/deny/0"
		ann := auth.Principal{Name: "ann"}
		made, err := r.AddException(r.Context(), enforcertest.Operator, e)
		if err != nil || !made.Pending || r.counted(ann) != 0 {
			r.Fatalf("%+v, %v", made, err)
		}
		same := enforcertest.Operator
		same.Principal.Name = strings.ToUpper(same.Principal.Name)
		_, err = r.ConfirmException(r.Context(), same, made.ID)
		r.Refused(err, fault.PermissionDenied)
		second := enforcer.Caller{Namespace: enforcertest.Namespace, Principal: auth.Principal{Name: "second", Role: auth.Operator}}
		if e, err := r.ConfirmException(r.Context(), second, made.ID); err != nil || e.Pending || e.ConfirmedBy != "second" || r.counted(ann) != 1 {
			r.Errorf("%+v, %v", e, err)
		}
		if _, err := r.ConfirmException(r.Context(), second, made.ID); err != nil {
			r.Errorf("again: %v", err)
		}
	})
}

// S22.13: whoever is in doubt has no exception.
func TestExceptionsInDoubt(t *testing.T) {
	t.Parallel()
	r := newRig(enforcertest.New(t, enforcertest.NewSQLite(t)))
	r.put("freeze", freeze)
	add := func(scope policystore.ExceptionScope) {
		t.Helper()
		e := r.forAnn()
		e.ExceptionScope = scope
		if _, err := r.AddException(t.Context(), enforcertest.Operator, e); err != nil {
			t.Fatal(err)
		}
	}
	add(policystore.ExceptionScope{Human: "ann", Group: "sre"})
	human := func(source auth.Source, groups ...string) auth.Principal {
		return auth.Principal{Name: "bot", Human: &auth.Human{Name: "ann", Source: source, Groups: groups}}
	}
	expired := human(auth.Issuer, "sre")
	expired.Human.Expires = r.Clock.Now()
	for name, c := range map[string]struct {
		caller auth.Principal
		want   int
	}{
		"ann of the group": {human(auth.Issuer, "sre"), 1},
		"a claim":          {human(auth.Claimed, "sre"), 0},
		"by a gateway":     {human(auth.Gateway, "sre"), 0},
		"another group":    {human(auth.Issuer, "SRE"), 0},
		"expired":          {expired, 0},
		"nobody":           {auth.Principal{Name: "ann"}, 0},
	} {
		if got := r.counted(c.caller); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	add(policystore.ExceptionScope{Session: "lead"})
	if bob := (auth.Principal{Name: "bob"}); r.counted(bob, "other") != 0 || r.counted(bob, "lead", "lead/x") != 1 {
		t.Error("an exception of a session is not about it and all below it")
	}
}
