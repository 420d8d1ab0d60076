package consent

import (
	"strings"
	"testing"
)

// A question that only registered people decide says when there are too few of them (S24.5).
func TestUnanswerable(t *testing.T) {
	t.Parallel()
	ann := Registered{Name: "ann", Roles: []string{"approver", "operator"}, Present: true}
	bob := Registered{Name: "bob", Roles: []string{"approver"}}
	kim := Registered{Name: "kim", Roles: []string{"operator"}, Present: true}
	eve := Registered{Name: "eve", Roles: []string{"agent"}, Present: true}
	for name, c := range map[string]struct {
		terms  Terms
		asker  Asker
		people []Registered
		why    string // empty when they can
	}{
		"tokens decide, too":               {terms: Terms{Required: 9}},
		"nobody is registered":             {terms: Terms{Distinct: true}, why: "it needs 1 of the registered people (role approver), and there are 0"},
		"a person without such a key":      {terms: Terms{Presence: true}, people: []Registered{bob}, why: "each with a passkey or a security key"},
		"without presence, any key":        {terms: Terms{Distinct: true}, people: []Registered{bob}},
		"a person with such a key":         {terms: Terms{Presence: true}, people: []Registered{ann}},
		"two are needed":                   {terms: Terms{Presence: true, Required: 2}, people: []Registered{ann, bob}, why: "it needs 2"},
		"another role":                     {terms: Terms{Presence: true}, people: []Registered{kim}, why: "role approver"},
		"by name":                          {terms: Terms{Presence: true, Eligible: Approvers{Names: []string{"kim"}}}, people: []Registered{kim}},
		"after the escalation":             {terms: Terms{Presence: true, Escalation: Escalation{After: 1, To: Approvers{Roles: []string{"operator"}}}}, people: []Registered{kim}},
		"the asker's own":                  {terms: Terms{Distinct: true}, asker: Asker{Principal: "token", Person: "Bob"}, people: []Registered{bob}, why: "there are 0"},
		"an agent's role":                  {terms: Terms{Distinct: true, Eligible: Approvers{Roles: []string{"agent"}}}, people: []Registered{eve}, why: "there are 0"},
		"a further circle without people":  {terms: Terms{Presence: true}.With(Circle{Eligible: Approvers{Roles: []string{"operator"}}}), people: []Registered{{Name: "z", Roles: []string{"approver"}, Present: true}}, why: "role operator"},
		"a further circle of the same":     {terms: Terms{Presence: true}.With(Circle{Required: 2}), people: []Registered{ann}, why: "it needs 2"},
		"a further circle that makes more": {terms: Terms{}.With(Circle{Presence: true}), people: []Registered{bob}, why: "it needs 1"},
	} {
		why := c.terms.Unanswerable(c.asker, c.people)
		if (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%s: %q, want %q", name, why, c.why)
		}
	}
}
