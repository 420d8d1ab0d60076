package oidc

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
)

// S22.4: groups that the issuer leaves out are not known, and are never no groups.
func TestGroups(t *testing.T) {
	t.Parallel()
	es := newEC(t, "es")
	i := newIssuer(t, es.public())
	a := i.authenticator(t, func(c *Config) { c.GroupsClaim = "groups" })
	nested := i.authenticator(t, func(c *Config) { c.GroupsClaim = "realm_access.roles" })
	none := i.authenticator(t, nil)
	sources := map[string]any{"src1": map[string]any{"endpoint": "https://graph.example.com/groups"}} // as Entra ID writes it
	for name, row := range map[string]struct {
		by      *Authenticator
		changes []any
		groups  []string
		known   bool
	}{
		"a list":                      {a, []any{"groups", []string{"support", "Ops"}}, []string{"support", "Ops"}, true},
		"a text":                      {a, []any{"groups", "support"}, []string{"support"}, true},
		"an empty list":               {a, []any{"groups", []string{}}, nil, true},
		"below another":               {nested, []any{"realm_access", map[string]any{"roles": []string{"x"}}}, []string{"x"}, true},
		"no claim":                    {a, nil, nil, false},
		"null":                        {a, []any{"groups", nil}, nil, false},
		"not texts":                   {a, []any{"groups", []any{"support", 7}}, nil, false},
		"an empty name":               {a, []any{"groups", []any{"support", ""}}, nil, false},
		"an object":                   {a, []any{"groups", map[string]any{"support": true}}, nil, false},
		"elsewhere (overage)":         {a, []any{"groups", []string{"support"}, "_claim_names", map[string]any{"groups": "src1"}, "_claim_sources", sources}, nil, false},
		"another claim is elsewhere":  {a, []any{"groups", []string{"support"}, "_claim_names", map[string]any{"photos": "src1"}, "_claim_sources", sources}, []string{"support"}, true},
		"too many for a token":        {a, []any{"groups", []string{"support"}, "hasgroups", true}, nil, false},
		"too many, as a text":         {a, []any{"groups", []string{"support"}, "hasgroups", "true"}, nil, false},
		"all of them, says the token": {a, []any{"groups", []string{"support"}, "hasgroups", false}, []string{"support"}, true},
		"too many to keep":            {a, []any{"groups", strings.Split(strings.Repeat("x ", mostGroups+1), " ")}, nil, false},
		"no claim is configured":      {none, []any{"groups", []string{"support"}}, nil, false},
	} {
		got, err := row.by.Human(t.Context(), es.sign(t, i.claims(row.changes...)))
		if err != nil || got.GroupsKnown != row.known || !reflect.DeepEqual(got.Groups, row.groups) && len(got.Groups)+len(row.groups) > 0 {
			t.Errorf("%s: %+v, %v; want %q, known %v", name, got, err, row.groups, row.known)
		}
	}
}

// S22.4: a person of an issuer is their own human; the outermost actor of a token acts for its subject, and others are not
// looked at.
func TestHumans(t *testing.T) {
	t.Parallel()
	es := newEC(t, "es")
	i := newIssuer(t, es.public())
	a := i.authenticator(t, func(c *Config) { c.Attributes = []string{"dept", "level", "remote", "sites", "photo", "gone"} })
	p, err := a.Authenticate(t.Context(), es.sign(t, i.claims("auth_time", i.clock.time().Add(-time.Minute).Unix(),
		"dept", "sales", "level", 3, "remote", true, "sites", []string{"muc", "ber"}, "photo", map[string]any{"url": "x"}, "other", "y")))
	want := &auth.Human{
		Name: "user-1", Issuer: i.URL, Subject: "user-1", Source: auth.Issuer, AuthenticatedAt: i.clock.time().Add(-time.Minute), Expires: i.clock.time().Add(time.Hour),
		Attributes: map[string]any{"dept": "sales", "level": 3.0, "remote": true, "sites": []string{"muc", "ber"}},
	}
	if err != nil || !reflect.DeepEqual(p.Human, want) || p.Kind != auth.OIDC || p.Presence != auth.ByIssuer || !p.Expires.Equal(want.Expires) {
		t.Errorf("a person: %+v of %+v, %v", p.Human, p, err)
	}
	for name, row := range map[string]struct {
		changes         []any
		principal, mine string
		refused         string
	}{
		"an actor":             {[]any{"act", map[string]any{"sub": "bot", "act": map[string]any{"sub": "approver-bot"}}, "interlock_role", "agent"}, "bot", "user-1", ""},
		"an agent of its own":  {[]any{"interlock_role", "agent"}, "user-1", "", ""},
		"an actor, no object":  {[]any{"act", "bot"}, "", "", `"act" is not`},
		"an actor, no name":    {[]any{"act", map[string]any{"iss": "x"}}, "", "", "names no actor"},
		"an actor for no name": {[]any{"act", map[string]any{"sub": "bot"}, "sub", ""}, "", "", "not a valid name"},
	} {
		p, err := a.Authenticate(t.Context(), es.sign(t, i.claims(row.changes...)))
		if row.refused != "" {
			if why := refused(t, p, err); !strings.Contains(why, row.refused) {
				t.Errorf("%s: %q", name, why)
			}
			continue
		}
		mine := ""
		if p.Human != nil {
			mine = p.Human.Name
		}
		if err != nil || p.Name != row.principal || mine != row.mine || p.Presence != "" {
			t.Errorf("%s: %+v for %q, %v", name, p, mine, err)
		}
	}
}

// S22.3: on whose behalf a caller acts is shown by the person's own token, whether or not it has rights here.
func TestTokensOfPeople(t *testing.T) {
	t.Parallel()
	es := newEC(t, "es")
	i := newIssuer(t, es.public())
	known := auth.Chain(auth.One(auth.Principal{Name: "agent", Role: auth.Agent}, "0123456789abcdef"), i.authenticator(t, nil))
	for name, row := range map[string]struct {
		token, why string
	}{
		"without a role here": {es.sign(t, i.claims("interlock_role", nil)), ""},
		"with one":            {es.sign(t, i.claims()), ""},
		"an agent's":          {"0123456789abcdef", "which is no person's"},
		"an actor's":          {es.sign(t, i.claims("act", map[string]any{"sub": "bot"})), "it has an actor"},
		"expired":             {es.sign(t, i.claims("exp", i.clock.time().Add(-time.Hour).Unix())), "expired"},
		"not valid yet":       {es.sign(t, i.claims("nbf", i.clock.time().Add(time.Hour).Unix())), "dates are wrong"},
		"for somebody else":   {es.sign(t, i.claims("aud", "other")), "audience"},
		"not known":           {"fedcba9876543210", "unknown credentials"},
	} {
		h, err := auth.HumanOf(t.Context(), known, row.token)
		switch {
		case row.why == "" && (err != nil || h.Name != "user-1" || h.Source != auth.Issuer):
			t.Errorf("%s: %+v, %v", name, h, err)
		case row.why != "" && (h != nil || err == nil || !strings.Contains(err.Error(), row.why)):
			t.Errorf("%s: %+v, %v", name, h, err)
		}
	}
}
