package policystore

import (
	"context"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/session"
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

// Spender says whose usage is meant: of limits per principal, session and human. An empty one leaves those out.
type Spender struct{ Principal, Session, Human string }

// Usage returns the use of the limits of a policy, in its live version or else its shadow. Limits per
// principal, session or human are included if one is named. The default for an agent is itself.
func (st *Store) Usage(ctx context.Context, caller enforcer.Caller, name string, of Spender) ([]Usage, error) {
	policy, err := st.present(ctx, caller.Namespace, name)
	if err != nil {
		return nil, err
	}
	if of, err = st.spender(ctx, caller, of); err != nil {
		return nil, err
	}
	usages := limitsOf(policy, of, st.clock())
	for i := range usages {
		u := &usages[i]
		if u.Used, err = st.quota.Counted(ctx, quota.Key(caller.Namespace, u.Account), u.Account); err != nil {
			return nil, fault.From(err)
		}
	}
	return usages, nil
}

// spender returns the subjects of the limits that the caller may see: an agent sees its own and those of its human.
func (st *Store) spender(ctx context.Context, caller enforcer.Caller, of Spender) (Spender, error) {
	var refusal *authority.Refusal
	of.Principal, of.Session, refusal = principal.Who(caller.Principal).Accounts(of.Principal, of.Session)
	if refusal != nil {
		return of, fault.New(fault.Reason(refusal.Code), "%s", refusal.Message)
	}
	var known *auth.Human
	if of.Session != "" {
		place, err := st.runs.Place(ctx, caller, of.Session, true)
		if err != nil {
			return of, fault.From(err)
		}
		of.Session, known = place.Account, place.Human.Read()
	}
	if !caller.Principal.Role.Drives() {
		of.Human = namedHuman(of.Human)
		return of, nil
	}
	own := enforcer.OnBehalf(known, caller, st.clock()).Account()
	if of.Human != "" && namedHuman(of.Human) != own {
		return of, fault.New(fault.PermissionDenied, "an agent sees the usage of its own human only; leave out the human")
	}
	of.Human = own
	return of, nil
}

// namedHuman returns the account of a human that a caller names as accounts are shown.
func namedHuman(text string) string {
	if issuer, name, found := strings.Cut(text, "#"); found {
		return rules.HumanAccount(session.Alike(name), issuer)
	}
	return session.Alike(text)
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
// whose subject is not given.
func limitsOf(p *rules.Policy, of Spender, now time.Time) []Usage {
	var usages []Usage
	add := func(account rules.Account, most int64) {
		u := Usage{Account: account, Max: most}
		switch u.Scope {
		case rules.PerPrincipal:
			u.Subject = of.Principal
		case rules.PerHuman:
			u.Subject = of.Human
		case rules.PerSession:
			u.Subject = of.Session
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
