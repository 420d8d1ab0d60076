package model

import (
	"fmt"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
)

// Assembly is who may be asked for an approval: people by name and role.
type Assembly struct {
	of     consent.Terms
	kind   consent.Kind
	people []consent.Approver
}

// assemble makes as many people of every role as the terms could need, or the people who are
// known to hold it.
func assemble(of consent.Terms, kind consent.Kind, holders map[string][]string) Assembly {
	a := Assembly{of: of, kind: kind}
	eligible := of.Eligible
	if len(eligible.Roles) == 0 && len(eligible.Names) == 0 {
		eligible.Roles = []string{consent.RoleApprover}
	}
	need := max(of.Required, of.DenyThreshold, 1) + 1 // nobody by one name is needed where a role will do
	groups := []consent.Approvers{eligible, of.Escalation.To}
	for _, circle := range of.Also {
		groups, need = append(groups, circle.Eligible), max(need, circle.Required+1)
	}
	for _, group := range groups {
		for _, role := range group.Roles {
			names, known := holders[role]
			if !known {
				for i := range need {
					names = append(names, fmt.Sprintf("%s-%d", role, i+1))
				}
			}
			for _, name := range names {
				a.add(consent.Approver{Name: name, Role: role})
			}
		}
		for _, name := range group.Names {
			known := false
			for held, names := range holders {
				if slices.Contains(names, name) && held != consent.RoleAgent {
					a.add(consent.Approver{Name: name, Role: held})
					known = true
				}
			}
			if !known { // it is one person, of either role
				a.add(consent.Approver{Name: name, Role: consent.RoleApprover})
				a.add(consent.Approver{Name: name, Role: "operator"})
			}
		}
	}
	return a
}

func (a *Assembly) add(who consent.Approver) {
	if !slices.Contains(a.people, who) {
		a.people = append(a.people, who)
	}
}

// Grantable reports that it can be granted at all.
func (a Assembly) Grantable() bool {
	_, granted := a.Grant(func(consent.Approver) bool { return true })
	return granted
}

// Needs reports that it is never granted without a person of this role or name.
func (a Assembly) Needs(by string) bool {
	if !a.Grantable() {
		return true
	}
	_, granted := a.Grant(func(who consent.Approver) bool { return who.Role != by && who.Name != by })
	return !granted
}

// Vote is one vote that is cast, and when.
type Vote struct {
	consent.Approver
	After time.Duration
}

// Grant lets the people vote who are admitted, by the functions that decide: at once, and
// once it has escalated. It returns the votes that were taken.
func (a Assembly) Grant(admit func(consent.Approver) bool) (votes []Vote, granted bool) {
	opened, err := consent.Open(consent.Request{
		ID: "apr", Action: consent.Action{Kind: a.kind, Subject: document.ObjectValue(nil)},
		Asker: consent.Asker{Principal: Agent, SessionID: Agent, RootSession: Agent}, Terms: a.of,
	}, Epoch)
	if err != nil {
		return nil, false
	}
	at := opened.Approval
	moments := []time.Duration{0}
	if due := at.NextDue(); due.Before(at.ExpiresAt) {
		moments = append(moments, due.Sub(Epoch))
	}
	for _, after := range moments {
		now := Epoch.Add(after)
		at = at.Tick(now).Approval
		for _, who := range a.people {
			if !admit(who) {
				continue
			}
			who.Person = who.Name // whether the people are registered is not known to a definition
			out := at.Decide(who, consent.Decision{Approve: true, Digest: at.Digest, Signed: signs}, now)
			if out.Refusal != nil {
				continue
			}
			who.Person = ""
			votes = append(votes, Vote{who, after})
			if at = out.Approval; at.Status == consent.Granted {
				return votes, true
			}
		}
	}
	return votes, false
}

// signs is the signature of people who are there.
var signs = &consent.Signed{Present: true}

// Rejection returns the people who reject it.
func (a Assembly) Rejection() []consent.Approver {
	opened, err := consent.Open(consent.Request{
		ID: "apr", Action: consent.Action{Kind: a.kind, Subject: document.ObjectValue(nil)},
		Asker: consent.Asker{Principal: Agent, SessionID: Agent, RootSession: Agent}, Terms: a.of,
	}, Epoch)
	if err != nil {
		return nil
	}
	at := opened.Approval
	var all []consent.Approver
	for _, who := range a.people {
		voter := who
		voter.Person = who.Name
		if out := at.Decide(voter, consent.Decision{Signed: signs}, Epoch); out.Refusal == nil {
			all = append(all, who)
			if at = out.Approval; at.Status.Final() {
				return all
			}
		}
	}
	return nil
}

// Decidable reports that humans can grant an approval of a kind; holders are the people of each role, where they are known.
func (u *Unit) Decidable(kind consent.Kind, holders map[string][]string) bool {
	if u.Process != nil && kind == consent.Transition {
		kind = consent.ProcessStep
	}
	return assemble(u.Machine.Meta().Approval, kind, holders).Grantable()
}

// DecidableByAll reports that humans can grant it when every term of meta.approval applies.
func (u *Unit) DecidableByAll(kind consent.Kind, holders map[string][]string) bool {
	return assemble(u.Machine.ApprovalFor(nil), kind, holders).Grantable()
}

// WhyNot says why humans cannot grant an approval of a kind.
func (u *Unit) WhyNot(kind consent.Kind, holders map[string][]string) string {
	terms := u.Machine.Meta().Approval
	if err := terms.Check(consent.Asker{Principal: Agent, SessionID: Agent, RootSession: Agent}); err != nil {
		return err.Error()
	}
	votes, _ := assemble(terms, kind, holders).Grant(func(consent.Approver) bool { return true })
	return fmt.Sprintf("it takes %d approvals, and %d people who may decide it are known", max(terms.Required, 1),
		len(votes))
}
