package app

import (
	"context"
	"errors"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/principal"
)

// Usage is what one limit of a policy has counted.
type Usage struct {
	rules.Account
	Used, Max int64
	// ResetsAt is the end of the present period; zero of what has none.
	ResetsAt time.Time
}

// Usage returns what the limits of a policy have counted, as it is enforced now or
// else shadowed. Those that count by principal or session are there when one is
// named; an agent that names none asks about itself.
func (a *App) Usage(ctx context.Context, caller Caller, name, spender, session string) ([]Usage, error) {
	policy, err := a.present(ctx, caller.Namespace, name)
	if err != nil {
		return nil, err
	}
	spender, session, refusal := principal.Who(caller.Principal).Accounts(spender, session)
	if refusal != nil {
		return nil, fault.New(fault.Reason(refusal.Code), "%s", refusal.Message)
	}
	root := ""
	if session != "" {
		place, err := a.place(ctx, caller, session, true)
		if err != nil {
			return nil, fault.From(err)
		}
		root = place.Account
	}
	usages := limitsOf(policy, spender, root, a.clock())
	for i := range usages {
		u := &usages[i]
		if u.Used, err = a.counted(ctx, a.spendKey(caller.Namespace, u.Account), u.Account); err != nil {
			return nil, fault.From(err)
		}
	}
	return usages, nil
}

// present is a policy as it is enforced now, or else shadowed.
func (a *App) present(ctx context.Context, namespace, name string) (*rules.Policy, error) {
	x, err := a.refreshPolicies(ctx, namespace)
	if err != nil {
		return nil, err
	}
	version, ok := x.live(name)
	if !ok {
		if version, ok = x.shadow(name); !ok {
			return nil, noPolicy(name)
		}
	}
	v, err := a.loadPolicy(ctx, namespace, name, version)
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

// limitsOf are the limits of a policy, each account once, in the order of its rules.
// Whose they are must be known: those of nobody are left out.
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
			if r := rule.Rate; r != nil {
				add(rules.Account{
					Measure: rules.Calls, Policy: p.Name, Scope: r.Scope, Pattern: rule.Capability,
					Window: time.Duration(r.WindowSeconds) * time.Second,
				}, r.MaxCalls)
			}
			if b := rule.Budget; b != nil {
				add(rules.Account{Measure: rules.Money, Policy: p.Name, Scope: b.Scope, Pattern: rule.Capability, Period: b.Period}, int64(b.Max))
			}
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

// counted is what an account holds. A window is read by a unit that it cannot
// admit: the refusal says what it holds, and changes nothing.
func (a *App) counted(ctx context.Context, owner store.Key, account rules.Account) (int64, error) {
	if account.Window == 0 {
		counters, err := a.store.Counters(ctx, owner)
		return counters[account.Counter()], err
	}
	_, err := a.store.Commit(ctx, store.Batch{
		Counters: []store.Counter{{Owner: owner, Name: account.Counter(), Delta: 1, Limit: 0, Window: account.Window}},
	})
	var full *store.LimitError
	if errors.As(err, &full) {
		return full.Value, nil
	}
	return 0, err
}
