package policystore

import (
	"context"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/services/internal/principal"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/quota"
)

// Usage is the use of one limit of a policy.
type Usage struct {
	rules.Account
	Used, Max int64
	// ResetsAt is the end of the present period, or zero without a period.
	ResetsAt time.Time
}

// Usage returns the use of the limits of a policy, in its live version or else its shadow. Limits per
// principal or session are included if one is named. The default for an agent is itself.
func (st *Store) Usage(ctx context.Context, caller enforcer.Caller, name, spender, session string) ([]Usage, error) {
	policy, err := st.present(ctx, caller.Namespace, name)
	if err != nil {
		return nil, err
	}
	spender, session, refusal := principal.Who(caller.Principal).Accounts(spender, session)
	if refusal != nil {
		return nil, fault.New(fault.Reason(refusal.Code), "%s", refusal.Message)
	}
	root := ""
	if session != "" {
		place, err := st.runs.Place(ctx, caller, session, true)
		if err != nil {
			return nil, fault.From(err)
		}
		root = place.Account
	}
	usages := limitsOf(policy, spender, root, st.clock())
	for i := range usages {
		u := &usages[i]
		if u.Used, err = st.quota.Counted(ctx, quota.Key(caller.Namespace, u.Account), u.Account); err != nil {
			return nil, fault.From(err)
		}
	}
	return usages, nil
}

// present returns the live version of a policy, or else its shadow.
func (st *Store) present(ctx context.Context, namespace, name string) (*rules.Policy, error) {
	x, err := st.Refresh(ctx, namespace)
	if err != nil {
		return nil, err
	}
	version, ok := x.live(name)
	if !ok {
		if version, ok = x.shadow(name); !ok {
			return nil, noPolicy(name)
		}
	}
	v, err := st.load(ctx, namespace, name, version)
	if err != nil {
		return nil, err
	}
	policy, problems := rules.ParsePolicy(v.Definition)
	if problems.HasErrors() {
		return nil, fault.New(fault.FailedPrecondition, "version %d of policy %s is no longer valid, and denies every call; store it again", version, document.Quote(name))
	}
	policy.Name = v.Name
	return policy, nil
}

// limitsOf returns the limits of a policy in the order of its rules, each account once. It omits accounts
// whose principal or session is not given.
func limitsOf(p *rules.Policy, principal, root string, now time.Time) []Usage {
	var usages []Usage
	add := func(account rules.Account, most int64) {
		u := Usage{Account: account, Max: most}
		switch u.Scope {
		case rules.PerPrincipal:
			u.Subject = principal
		case rules.PerSession:
			u.Subject = root
		default:
			u.Scope = rules.PerPolicy
		}
		if u.Subject == "" && u.Scope != rules.PerPolicy {
			return
		}
		u.Start, u.ResetsAt = u.Period.Bounds(now)
		for i := range usages {
			if usages[i].Account == u.Account {
				usages[i].Max = min(usages[i].Max, most)
				return
			}
		}
		usages = append(usages, u)
	}
	for _, list := range [][]rules.Rule{p.Ask, p.Allow} {
		for _, rule := range list {
			rule.Limits(p.Name, add)
		}
	}
	if p.SessionBudget != nil {
		add(rules.Account{Measure: rules.Money, Scope: rules.PerSession}, int64(*p.SessionBudget))
	}
	if p.Email != nil && p.Email.Limited {
		add(rules.Account{Measure: rules.Emails, Scope: rules.PerSession}, p.Email.MaxPerSession)
	}
	return usages
}
