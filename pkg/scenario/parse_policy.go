package scenario

import (
	"path"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/rules"
)

// namedPolicy is a policy of the file.
type namedPolicy struct {
	name string
	set  *rules.Set
}

// policies reads the policies of the file. One that workflows name in meta.policy
// judges theirs, any other every call, next to those that a process brings itself.
func (p *parser) policies(f document.Fields) {
	key := "policy"
	if p.inline {
		key = "policies"
	}
	all := p.namedPolicies(f, key)
	named := make(map[string]bool)
	for _, d := range p.suite.workflows {
		for _, name := range d.machine.Meta().Policies {
			named[name] = true
			var set *rules.Set // denies when there is none
			for _, policy := range all {
				if policy.name == name {
					set = policy.set
				}
			}
			d.policies = append(d.policies, set)
		}
	}
	for _, policy := range all {
		if !named[policy.name] {
			p.suite.policies = append(p.suite.policies, policy.set)
		}
	}
}

func (p *parser) namedPolicies(f document.Fields, key string) []namedPolicy {
	v, ok := f.Value.Get(key)
	if !ok {
		return nil
	}
	at := f.At.Key(key)
	if v.Kind() != document.Array {
		return p.policy(nil, v, at)
	}
	if v.Len() == 0 {
		p.report.Errorf(at, document.CodeEmpty, "there is no policy in the list; name one, or leave %q out", key)
	}
	var all []namedPolicy
	for i, element := range v.Elements() {
		all = p.policy(all, element, at.At(i))
	}
	return all
}

// callerRole is the role of the agent that makes the calls of a scenario: other policies judge none (S15.9).
const callerRole = "agent"

// policy reads one. Its counts belong to its name; without one it has that of its file.
func (p *parser) policy(all []namedPolicy, v document.Value, at *document.Path) []namedPolicy {
	r, ok := p.resolve(v, at, "policy")
	if !ok {
		return all
	}
	policy, problems := rules.ParsePolicyValue(r.value)
	p.addProblems(r, problems)
	if policy == nil {
		return all
	}
	if policy.Name == "" && r.source != nil {
		policy.Name = strings.TrimSuffix(path.Base(r.source.Name), path.Ext(r.source.Name))
	}
	for _, known := range all {
		if known.name == policy.Name {
			p.report.Errorf(at, document.CodeConflict, "another policy has the name %s, and they would share their counts; give it its own \"name\"",
				document.Quote(policy.Name))
			return all
		}
	}
	set := rules.Compile(policy, 1)
	if !set.For(callerRole) {
		return all
	}
	return append(all, namedPolicy{policy.Name, set})
}
