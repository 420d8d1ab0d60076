package consent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"
)

// DefaultTTL is how long an approval waits for its decision (S9.2).
const DefaultTTL = 24 * time.Hour

// The roles that terms know of.
const (
	// RoleApprover decides unless the terms name others.
	RoleApprover = "approver"
	// RoleAgent never decides, even if the terms name it: agents ask.
	RoleAgent = "agent"
)

// Terms say who decides an approval, and when it is decided.
type Terms struct {
	// Required is how many approvers must agree; 0 means 1.
	Required int `json:"required"`
	// DenyThreshold is how many must reject to reject it; 0 means 1 (S9.3).
	DenyThreshold int `json:"deny_threshold"`
	// Eligible may decide; when it names no one, those of RoleApprover may.
	Eligible Approvers `json:"eligible"`
	// TTL is how long it waits; 0 means DefaultTTL.
	TTL time.Duration `json:"ttl"`
	// Escalation asks others when it takes long; the zero value does not.
	Escalation Escalation `json:"escalation,omitzero"`
	// Also are further circles, each of which must agree too (S21.15).
	Also []Circle `json:"also,omitempty"`
	// Danger is how much harm a wrong approval does.
	Danger Danger `json:"danger,omitempty"`
	// Presence demands of every vote a signature by a person who is there (S23.22).
	Presence bool `json:"presence,omitempty"`
	// Distinct admits only registered people, each of whom counts once (S23.24).
	Distinct bool `json:"distinct,omitempty"`
}

// Circle is a number of approvers who must agree. A vote counts in every circle that has its voter.
type Circle struct {
	// Term is the JSON Pointer, in the workflow, of the term that asks for it.
	Term     string `json:"term,omitempty"`
	Required int    `json:"required"`
	// Eligible are its people; when it names no one, those who may decide without it.
	Eligible Approvers `json:"eligible,omitzero"`
	// Danger is what it makes the danger of the whole, if that is more.
	Danger Danger `json:"danger,omitempty"`
	// Presence makes the whole approval demand it.
	Presence bool `json:"presence,omitempty"`
}

// MaxCircles is how many further circles an approval can have.
const MaxCircles = 64

// With returns the terms with a further circle.
func (t Terms) With(c Circle) Terms {
	c.Required = max(c.Required, 1)
	if c.Eligible.nobody() {
		t.Required = max(t.Required, c.Required)
	}
	if c.Danger != "" && c.Danger.Above(t.Danger) {
		t.Danger = c.Danger
	}
	t.Presence = t.Presence || c.Presence
	t.Also = append(slices.Clip(t.Also), c)
	return t
}

// Digest returns a digest of the terms.
func (t Terms) Digest() string { return digestOf(t.withDefaults()) }

// Approvers are people by their roles or by their names; either is enough. Names
// and roles match exactly.
type Approvers struct {
	Roles []string `json:"roles,omitempty"`
	Names []string `json:"names,omitempty"`
}

// and returns both, each role and name once.
func (a Approvers) and(b Approvers) Approvers {
	return Approvers{Roles: union(a.Roles, b.Roles), Names: union(a.Names, b.Names)}
}

func union(a, b []string) []string {
	all := slices.Clip(a)
	for _, s := range b {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// Escalation widens the circle of approvers at an age (S9.5).
type Escalation struct {
	// After is the age; 0 means never.
	After time.Duration `json:"after"`
	// To may decide from then on too. It may be empty: then the approval is only
	// announced again.
	To Approvers `json:"to,omitzero"`
}

func (t Terms) withDefaults() Terms {
	if t.Required == 0 {
		t.Required = 1
	}
	if t.DenyThreshold == 0 {
		t.DenyThreshold = 1
	}
	if t.TTL == 0 {
		t.TTL = DefaultTTL
	}
	if t.Eligible.nobody() {
		t.Eligible = Approvers{Roles: []string{RoleApprover}}
	}
	return t
}

// Check describes why no approval could ever be granted on these terms, or which of them
// makes no sense. The asker may be empty while it is unknown.
func (t Terms) Check(asker Asker) error {
	t = t.withDefaults()
	switch {
	case t.Required < 0 || t.DenyThreshold < 0:
		return fmt.Errorf("an approval cannot require %d approvals and %d rejections; give numbers from 1", t.Required, t.DenyThreshold)
	case t.TTL < 0 || t.Escalation.After < 0:
		return fmt.Errorf("an approval cannot expire after %s or escalate after %s; give positive durations", t.TTL, t.Escalation.After)
	case t.Escalation.After >= t.TTL:
		return fmt.Errorf("the approval would escalate after %s, but expires after %s; choose an earlier escalation", t.Escalation.After, t.TTL)
	case t.Escalation.After == 0 && !t.Escalation.To.nobody():
		return fmt.Errorf("the approval names fallback approvers but no age at which to ask them; add one")
	}
	if len(t.Also) > MaxCircles {
		return fmt.Errorf("the approval has %d terms, the limit is %d; remove some", len(t.Also), MaxCircles)
	}
	if may, anybody := mayDecide(asker, t.Eligible, t.Escalation.To); !anybody && may < t.Required {
		return fmt.Errorf("the approval needs %d approvals, but only %d of the named people may decide it; name more people, or a role", t.Required, may)
	}
	for _, c := range t.Also {
		may, anybody := mayDecide(asker, c.Eligible)
		switch {
		case c.Required < 1:
			return fmt.Errorf("a circle of approvers cannot require %d approvals; give a number from 1", c.Required)
		case !c.Eligible.nobody() && !anybody && may < c.Required:
			return fmt.Errorf("the approval needs %d approvals of %s, but only %d of the named people may decide it; name more people, or a role", c.Required, c.Eligible, may)
		}
	}
	return nil
}

// mayDecide counts the people who are named, but for the asker; the second result is true
// when a role admits an unknown number.
func mayDecide(asker Asker, groups ...Approvers) (count int, anybody bool) {
	var people []string
	for _, group := range groups {
		for _, role := range group.Roles {
			anybody = anybody || role != RoleAgent && role != ""
		}
		for _, name := range group.Names {
			known := func(other string) bool { return same(other, name) }
			if name != "" && !same(name, asker.Principal) && !slices.ContainsFunc(people, known) {
				people = append(people, name)
			}
		}
	}
	return len(people), anybody
}

func (a Approvers) nobody() bool { return len(a.Roles) == 0 && len(a.Names) == 0 }

// IsZero leaves approvers out of JSON that are empty.
func (a Approvers) IsZero() bool { return a.nobody() }

func (a Approvers) admit(who Approver) bool {
	return slices.Contains(a.Roles, who.Role) && who.Role != "" || slices.Contains(a.Names, who.voter())
}

// same reports that two names may be one person's. It is used to exclude, so
// neither letter case is a way round, nor another encoding of the same letters.
func same(a, b string) bool {
	return strings.EqualFold(norm.NFKC.String(a), norm.NFKC.String(b))
}

// String lists them for a person.
func (a Approvers) String() string {
	words := make([]string, 0, len(a.Roles)+len(a.Names))
	for _, role := range a.Roles {
		words = append(words, "role "+role)
	}
	return strings.Join(append(words, a.Names...), ", ")
}
