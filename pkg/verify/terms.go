package verify

import (
	"fmt"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
)

// assembly is who may be asked for an approval: people by name and role.
type assembly struct {
	of     consent.Terms
	kind   consent.Kind
	people []consent.Approver
}

// assemble makes as many people of every role as the terms could need, or the people who are
// known to hold it.
func assemble(of consent.Terms, kind consent.Kind, holders map[string][]string) assembly {
	a := assembly{of: of, kind: kind}
	eligible := of.Eligible
	if len(eligible.Roles) == 0 && len(eligible.Names) == 0 {
		eligible.Roles = []string{consent.RoleApprover}
	}
	need := max(of.Required, of.DenyThreshold, 1) + 1 // nobody by one name is needed where a role will do
	for _, group := range []consent.Approvers{eligible, of.Escalation.To} {
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

func (a *assembly) add(who consent.Approver) {
	if !slices.Contains(a.people, who) {
		a.people = append(a.people, who)
	}
}

// grantable reports that it can be granted at all.
func (a assembly) grantable() bool {
	_, granted := a.grant(func(consent.Approver) bool { return true })
	return granted
}

// needs reports that it is never granted without a person of this role or name.
func (a assembly) needs(by string) bool {
	if !a.grantable() {
		return true
	}
	_, granted := a.grant(func(who consent.Approver) bool { return who.Role != by && who.Name != by })
	return !granted
}

// ballot is one vote that is cast, and when.
type ballot struct {
	consent.Approver
	after time.Duration
}

// grant lets the people vote who are admitted, by the functions that decide: at once, and
// once it has escalated. It returns the votes that were taken.
func (a assembly) grant(admit func(consent.Approver) bool) (votes []ballot, granted bool) {
	opened, err := consent.Open(consent.Request{
		ID: "apr", Action: consent.Action{Kind: a.kind, Subject: document.ObjectValue(nil)},
		Asker: consent.Asker{Principal: agent, SessionID: agent, RootID: agent}, Terms: a.of,
	}, epoch)
	if err != nil {
		return nil, false
	}
	at := opened.Approval
	moments := []time.Duration{0}
	if due := at.NextDue(); due.Before(at.ExpiresAt) {
		moments = append(moments, due.Sub(epoch))
	}
	for _, after := range moments {
		now := epoch.Add(after)
		at = at.Tick(now).Approval
		for _, who := range a.people {
			if !admit(who) {
				continue
			}
			out := at.Decide(who, consent.Decision{Approve: true, Digest: at.Digest}, now)
			if out.Refusal != nil {
				continue
			}
			votes = append(votes, ballot{who, after})
			if at = out.Approval; at.Status == consent.Granted {
				return votes, true
			}
		}
	}
	return votes, false
}

// rejection returns the people who reject it.
func (a assembly) rejection() []consent.Approver {
	opened, err := consent.Open(consent.Request{
		ID: "apr", Action: consent.Action{Kind: a.kind, Subject: document.ObjectValue(nil)},
		Asker: consent.Asker{Principal: agent, SessionID: agent, RootID: agent}, Terms: a.of,
	}, epoch)
	if err != nil {
		return nil
	}
	at := opened.Approval
	var all []consent.Approver
	for _, who := range a.people {
		if out := at.Decide(who, consent.Decision{}, epoch); out.Refusal == nil {
			all = append(all, who)
			if at = out.Approval; at.Status.Final() {
				return all
			}
		}
	}
	return nil
}
