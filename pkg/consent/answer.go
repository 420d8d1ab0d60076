package consent

import (
	"fmt"
	"slices"
)

// Registered is a registered person who may vote.
type Registered struct {
	Name  string
	Roles []string
	// Present reports that a key of theirs signs, and shows that the person is there.
	Present bool
}

// Unanswerable describes why no vote of these people could grant an approval that only registered people decide. It is
// empty when they could, and for terms under which tokens of others count, too. The asker may be empty.
func (t Terms) Unanswerable(asker Asker, people []Registered) string {
	t = t.withDefaults()
	if !t.Presence && !t.Distinct {
		return ""
	}
	circles := append([]Circle{{Required: t.Required, Eligible: t.Eligible.and(t.Escalation.To)}}, t.Also...)
	for _, c := range circles {
		if c.Eligible.nobody() {
			continue // its number is in that of the first
		}
		can := 0
		for i := range people {
			if people[i].in(c.Eligible) && (people[i].Present || !t.Presence) && !asker.is(people[i].Name) {
				can++
			}
		}
		if can < c.Required {
			return shortOf(c, can, t.Presence)
		}
	}
	return ""
}

// in reports that the person is one of the approvers, in any role of theirs.
func (p *Registered) in(a Approvers) bool {
	return slices.Contains(a.Names, p.Name) || slices.ContainsFunc(p.Roles, func(role string) bool {
		return role != RoleAgent && slices.Contains(a.Roles, role)
	})
}

func shortOf(c Circle, can int, presence bool) string {
	key := ""
	if presence {
		key = ", each with a passkey or a security key of SSH"
	}
	return fmt.Sprintf("it needs %d of the registered people (%s)%s, and there are %d: add them with `interlock person add`, or add their keys by `interlock person invite`",
		c.Required, c.Eligible, key, can)
}
