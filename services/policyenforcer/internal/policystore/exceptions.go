package policystore

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// Bounds of exceptions.
const (
	longestException = 7 * 24 * time.Hour
	maxExceptions    = 50 // of one policy
	maxReason        = 500
)

// Exception lets calls pass one rule of a policy until a time (S22.13). It is part of the index, so that a decision
// rests on it as on the policy's version.
type Exception struct {
	ID     string `json:"id"`
	Policy string `json:"-"`
	// Rule is the JSON Pointer of the rule, and Digest that of its text: the exception is void for another text.
	Rule   string `json:"rule"`
	Digest string `json:"digest"`
	ExceptionScope
	Until  time.Time `json:"until"`
	Reason string    `json:"reason"`
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	// Pending is set until a second operator confirms the exception, and ConfirmedBy afterwards.
	Pending     bool   `json:"pending,omitempty"`
	ConfirmedBy string `json:"confirmed_by,omitempty"`
	// ByPerson is the person who made it; empty where that is not known.
	ByPerson string `json:"by_person,omitempty"`
}

// ExceptionScope says whose calls pass, and which: all members that are set must fit.
type ExceptionScope struct {
	Principal string          `json:"principal,omitempty"`
	Human     string          `json:"human,omitempty"`
	Group     string          `json:"group,omitempty"`
	Session   string          `json:"session,omitempty"`
	When      json.RawMessage `json:"when,omitempty"`
}

// AddException makes an exception. It counts at once, or when another operator has confirmed it if the policy demands
// four eyes.
func (st *Store) AddException(ctx context.Context, caller enforcer.Caller, e Exception) (*Exception, error) {
	now := st.clock().UTC()
	if err := e.validate(now); err != nil {
		return nil, err
	}
	e.ID, e.At, e.By, e.ByPerson = typeid.New(typeid.Exception), now, caller.Principal.Name, caller.Principal.Person
	_, err := st.changeIndex(ctx, caller, nil, func(text *IndexText) ([]*Change, error) {
		p, ok := text.Policies[e.Policy]
		switch {
		case !ok:
			return nil, noPolicy(e.Policy)
		case p.Live == 0:
			return nil, fault.New(fault.FailedPrecondition, "no version of policy %s is live, so there is nothing to make an exception from", document.Quote(e.Policy))
		}
		v, err := st.load(ctx, caller.Namespace, e.Policy, p.Live)
		if err != nil {
			return nil, err
		}
		policy, problems := rules.ParsePolicy(v.Definition)
		if problems.HasErrors() {
			return nil, InvalidDefinition("policy", problems)
		}
		if e.Digest, ok = rules.Compile(policy, p.Live).Exceptable(e.Rule); !ok {
			return nil, fault.New(fault.FailedPrecondition,
				"rule %s of policy %s version %d permits no exceptions; set \"exceptable\": true in a rule of deny or ask, such as /deny/0", document.Quote(e.Rule), document.Quote(e.Policy), p.Live).
				Violate("/rule", "NOT_EXCEPTABLE", "permits no exceptions")
		}
		e.Pending = policy.FourEyes
		live := slices.DeleteFunc(slices.Clone(p.Exceptions), func(old Exception) bool { return !now.Before(old.Until) })
		if len(live) >= maxExceptions {
			return nil, fault.New(fault.LimitReached, "a policy has at most %d exceptions; end some, or change the rule", maxExceptions)
		}
		p.Exceptions = slices.Concat(live, []Exception{e})
		text.Policies[e.Policy] = p
		return []*Change{{Type: "added", Name: e.Policy, Exception: &e}}, nil
	})
	if err != nil {
		return nil, err
	}
	return &e, nil
}

// Exceptions returns the exceptions from the rules of a policy, or of all for an empty name, that have not ended.
func (st *Store) Exceptions(ctx context.Context, namespace, policy string) ([]Exception, error) {
	x, err := st.Refresh(ctx, namespace)
	if err != nil {
		return nil, err
	}
	if _, ok := x.text.Policies[policy]; policy != "" && !ok {
		return nil, noPolicy(policy)
	}
	now := st.clock()
	all := []Exception{}
	for _, name := range slices.Sorted(maps.Keys(x.text.Policies)) {
		for _, e := range x.text.Policies[name].Exceptions {
			if (policy == "" || policy == name) && now.Before(e.Until) {
				e.Policy = name
				all = append(all, e)
			}
		}
	}
	return all, nil
}

// ConfirmException confirms an exception that waits for a second operator.
func (st *Store) ConfirmException(ctx context.Context, caller enforcer.Caller, id string) (*Exception, error) {
	return st.changeException(ctx, caller, id, "confirmed", func(e *Exception) (*Exception, error) {
		who := caller.Principal
		switch {
		case !e.Pending:
			return e, nil
		case session.Alike(who.Name) == session.Alike(e.By), who.Person != "" && who.Person == e.ByPerson:
			return nil, fault.New(fault.PermissionDenied, "exception %s was made by %s; another operator must confirm it", e.ID, document.Quote(e.By))
		}
		e.Pending, e.ConfirmedBy = false, who.Name
		return e, nil
	})
}

// EndException ends an exception before its time.
func (st *Store) EndException(ctx context.Context, caller enforcer.Caller, id string) error {
	_, err := st.changeException(ctx, caller, id, "ended", func(*Exception) (*Exception, error) { return nil, nil })
	return err
}

// changeException replaces an exception by the one that change returns, or removes it for nil.
func (st *Store) changeException(ctx context.Context, caller enforcer.Caller, id, verb string, change func(*Exception) (*Exception, error)) (*Exception, error) {
	now := st.clock()
	var found Exception
	_, err := st.changeIndex(ctx, caller, nil, func(text *IndexText) ([]*Change, error) {
		for name, p := range text.Policies {
			at := slices.IndexFunc(p.Exceptions, func(e Exception) bool { return e.ID == id && now.Before(e.Until) })
			if at < 0 {
				continue
			}
			found = p.Exceptions[at]
			found.Policy = name
			next := found
			changed, err := change(&next)
			if err != nil {
				return nil, err
			}
			p.Exceptions = slices.Clone(p.Exceptions)
			if changed == nil {
				p.Exceptions = slices.Delete(p.Exceptions, at, at+1)
			} else {
				if changed.Pending == found.Pending {
					return nil, nil // it is as it was
				}
				p.Exceptions[at], found = *changed, *changed
			}
			text.Policies[name] = p
			return []*Change{{Type: verb, Name: name, Exception: &found}}, nil
		}
		return nil, fault.New(fault.NotFound, "exception %s does not exist, or has ended", document.Quote(id))
	})
	if err != nil {
		return nil, err
	}
	return &found, nil
}

// validate returns an error for an invalid exception.
func (e *Exception) validate(now time.Time) error {
	invalid := func(pointer, code, format string, args ...any) error {
		return fault.New(fault.InvalidRequest, format, args...).Violate(pointer, code, "not valid")
	}
	switch {
	case strings.TrimSpace(e.Reason) == "" || len(e.Reason) > maxReason:
		return invalid("/reason", "REQUIRED", "say why the exception is made, in at most %d bytes", maxReason)
	case !now.Before(e.Until) || e.Until.Sub(now) > longestException:
		return invalid("/until", "RANGE", "an exception ends within 7 days from now; for longer, change the rule")
	case e.Principal+e.Human+e.Group+e.Session == "" && len(e.When) == 0:
		return invalid("/scope", "REQUIRED", "say whose calls pass the rule, or which: name a principal, a human, a group or a session, or give a condition")
	case len(e.When) == 0:
		return nil
	}
	if _, problems := rules.ReadException(e.When); problems.HasErrors() {
		return InvalidDefinition("condition", problems)
	}
	return nil
}

// dropVoid removes the exceptions from rules that the live version of a policy does not have with the same text.
func dropVoid(p *Indexed, name string, live *rules.Policy) (ended []*Change) {
	set := rules.Compile(live, p.Live)
	kept := make([]Exception, 0, len(p.Exceptions))
	for _, e := range p.Exceptions {
		if digest, ok := set.Exceptable(e.Rule); ok && digest == e.Digest {
			kept = append(kept, e)
			continue
		}
		e.Policy = name
		ended = append(ended, &Change{Type: "ended", Name: name, Exception: &e})
	}
	p.Exceptions = kept
	return ended
}

// compiled is an exception with its condition, read.
type compiled struct {
	*Exception
	when *condition.Condition
}

// compileExceptions reads the exceptions of the index. One that waits, or cannot be read, counts for no call.
func compileExceptions(text *IndexText) map[string][]compiled {
	var all map[string][]compiled
	for name, p := range text.Policies {
		for i := range p.Exceptions {
			c := compiled{Exception: &p.Exceptions[i]}
			if c.Pending {
				continue
			}
			if len(c.When) > 0 {
				var problems document.Problems
				if c.when, problems = rules.ReadException(c.When); problems.HasErrors() || c.when == nil {
					continue
				}
			}
			if all == nil {
				all = make(map[string][]compiled)
			}
			all[name] = append(all[name], c)
		}
	}
	return all
}

// exceptionsOf returns the exceptions from the rules of a version of a policy that are about the calls of a caller.
func (x *Index) exceptionsOf(name string, set *rules.Set, caller auth.Principal, people []*auth.Human, sessions *runs.Status, now time.Time) (about []rules.Exception) {
	for _, e := range x.exceptions[name] {
		if digest, ok := set.Exceptable(e.Rule); !ok || digest != e.Digest || !e.fits(caller, people, sessions.Names, now) {
			continue
		}
		about = append(about, rules.Exception{ID: e.ID, Rule: e.Rule, When: e.when, Until: e.Until})
	}
	return about
}

// fits reports whether it is certain that a call is one of the scope, but for its condition.
func (s *ExceptionScope) fits(caller auth.Principal, people []*auth.Human, sessions []string, now time.Time) bool {
	alike := func(a, b string) bool { return session.Alike(a) == session.Alike(b) }
	if s.Principal != "" && !alike(s.Principal, caller.Name) {
		return false
	}
	if s.Session != "" && !slices.ContainsFunc(sessions, func(name string) bool { return alike(s.Session, name) }) {
		return false
	}
	if s.Human == "" && s.Group == "" {
		return true
	}
	for _, h := range people {
		switch {
		case !known(h, now) || !h.Source.AtLeast(auth.Issuer),
			s.Human != "" && !alike(s.Human, h.Name),
			s.Group != "" && !slices.Contains(h.Groups, s.Group):
			return false
		}
	}
	return len(people) > 0
}
