// Command rulesbench prints what one decision costs by a policy of 100 rules: by
// Interlock's rules, and by the engines that others use, each on an equivalent
// policy, in alternating rounds: a line of JSON for each engine. With -conditions, 20 of the rules
// have conditions on the arguments, and three are about each call.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	casbin "github.com/casbin/casbin/v2"
	casbinmodel "github.com/casbin/casbin/v2/model"
	"github.com/cedar-policy/cedar-go"
	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// rule is one of the hundred: what it matches, and what it says.
type rule struct {
	pattern string // a capability, or one with a trailing *
	says    toolcall.Decision
	when    []test // all of them hold
}

// hundred is 100 rules of all kinds; deny goes before ask, ask before allow, and
// what none matches is denied.
func hundred() []rule {
	all := []rule{
		{"bash", toolcall.Allow, nil},
		{"tool:*", toolcall.Allow, nil},
		{"mcp:github:create_*", toolcall.Ask, nil},
		{"tool:Write", toolcall.Ask, nil},
		{"tool:WebFetch", toolcall.Deny, nil},
		{"mcp:prod:delete_*", toolcall.Deny, nil},
	}
	for i := len(all); i < 100; i++ {
		r := rule{fmt.Sprintf("mcp:server_%d:tool_%d", i/5, i), toolcall.Allow, nil}
		switch i % 5 {
		case 0:
			r.pattern = fmt.Sprintf("mcp:server_%d:*", i/5)
		case 1:
			r.says = toolcall.Ask
		case 2:
			r.says = toolcall.Deny
		default:
		}
		all = append(all, r)
	}
	return all
}

// call is one that is timed: what the tool is called, its capability and arguments, and
// what all engines have to answer.
type call struct {
	tool, capability string
	args             *arguments // nil for none
	want             toolcall.Decision
}

// asked are the calls of the rules without conditions.
var asked = []call{
	{"Read", "tool:Read", nil, toolcall.Allow},
	{"mcp__server_11__tool_58", "mcp:server_11:tool_58", nil, toolcall.Allow},
	{"mcp__server_11__other", "mcp:server_11:other", nil, toolcall.Allow},
	{"mcp__github__create_issue", "mcp:github:create_issue", nil, toolcall.Ask},
	{"mcp__prod__delete_table", "mcp:prod:delete_table", nil, toolcall.Deny},
	{"mcp__unknown__tool", "mcp:unknown:tool", nil, toolcall.Deny},
}

// decider decides call i of those that it was made for.
type decider func(i int) toolcall.Decision

func main() {
	engines := []struct {
		name string
		make func([]rule, []call) (decider, error)
	}{
		{"interlock pkg/rules", interlock},
		{"OPA (Rego, prepared)", opa},
		{"cedar-go", cedarEngine},
		{"casbin", casbinEngine},
	}
	rounds := flag.Int("rounds", 5, "rounds, each of all engines in turn")
	conditions := flag.Bool("conditions", false, "rules with conditions")
	testing.Init()
	flag.Parse()
	if err := flag.Set("test.benchtime", "100ms"); err != nil {
		fail(err)
	}
	all, calls := hundred(), asked
	if *conditions {
		all, calls = conditional(all)
	}
	results := make([]result, len(engines))
	deciders := make([]decider, len(engines))
	for i, e := range engines {
		decide, err := e.make(all, calls)
		if err == nil {
			err = agrees(decide, calls)
		}
		if err != nil {
			fail(fmt.Errorf("%s: %w", e.name, err))
		}
		results[i].Name, deciders[i] = e.name, decide
	}
	for range *rounds {
		for i, decide := range deciders {
			timed := testing.Benchmark(func(b *testing.B) {
				b.ReportAllocs()
				for n := range b.N {
					decide(n % len(calls))
				}
			})
			results[i].NS = append(results[i].NS, float64(timed.T.Nanoseconds())/float64(timed.N))
			results[i].Allocations = timed.AllocsPerOp()
		}
	}
	for _, r := range results {
		if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
			fail(err)
		}
	}
}

// result is what one decision of an engine took, by rounds.
type result struct {
	Name        string    `json:"name"`
	NS          []float64 `json:"ns"`
	Allocations int64     `json:"allocations"`
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "rulesbench:", err)
	os.Exit(1)
}

// agrees checks that an engine answers what its policy means.
func agrees(decide decider, calls []call) error {
	for i, c := range calls {
		if got := decide(i); got != c.want {
			return fmt.Errorf("%s is %s, not %s", c.capability, got, c.want)
		}
	}
	return nil
}

func interlock(all []rule, calls []call) (decider, error) {
	lists := map[toolcall.Decision][]any{}
	for _, r := range all {
		one := map[string]any{"capability": r.pattern}
		if len(r.when) > 0 {
			one["when"] = condition(r.when)
		}
		lists[r.says] = append(lists[r.says], one)
	}
	text, err := json.Marshal(map[string]any{
		"role": "agent", "name": "bench", "default": "deny",
		"deny": lists[toolcall.Deny], "ask": lists[toolcall.Ask], "allow": lists[toolcall.Allow],
	})
	if err != nil {
		return nil, err
	}
	p, problems := rules.ParsePolicy(text)
	if p == nil {
		return nil, fmt.Errorf("%v", problems)
	}
	set := rules.Compile(p, 1)
	now := time.Now()
	inputs := make([][]byte, len(calls))
	for i := range calls {
		if calls[i].args != nil {
			if inputs[i], err = json.Marshal(calls[i].args); err != nil {
				return nil, err
			}
		}
	}
	var spends [8]rules.Spend
	var facts facet.Facts
	return func(i int) toolcall.Decision {
		c := rules.Call{Tool: calls[i].tool, Input: inputs[i], Principal: "amir", Session: "s", Now: now}
		if c.Input != nil {
			facts.Reset(facet.Subject{Tool: c.Tool, Input: c.Input})
			c.Facts = &facts
		}
		return set.Decide(c, spends[:0]).Decision
	}, nil
}

// opa writes the rules as sets and prefixes, which its compiler indexes.
func opa(all []rule, calls []call) (decider, error) {
	var exact, prefixes [3][]string
	place := map[toolcall.Decision]int{toolcall.Deny: 0, toolcall.Ask: 1, toolcall.Allow: 2}
	var bodies strings.Builder
	for _, r := range all {
		if len(r.when) > 0 {
			fmt.Fprintf(&bodies, "%s if { %s%s }\n", strings.ToLower(string(r.says)), regoPattern(r.pattern), joined(r.when, "; input.args.%s %s %s"))
			continue
		}
		if prefix, ok := strings.CutSuffix(r.pattern, "*"); ok {
			prefixes[place[r.says]] = append(prefixes[place[r.says]], fmt.Sprintf("%q", prefix))
		} else {
			exact[place[r.says]] = append(exact[place[r.says]], fmt.Sprintf("%q", r.pattern))
		}
	}
	var b strings.Builder
	b.WriteString("package bench\n\ndefault decision := \"DENY\"\n")
	for i, name := range []string{"deny", "ask", "allow"} {
		fmt.Fprintf(&b, "%s_exact := {%s}\n%s_prefixes := [%s]\n", name, strings.Join(exact[i], ","), name, strings.Join(prefixes[i], ","))
		fmt.Fprintf(&b, "%s if input.capability in %s_exact\n%s if { some p in %s_prefixes; startswith(input.capability, p) }\n", name, name, name, name)
	}
	b.WriteString(bodies.String())
	b.WriteString("decision := \"DENY\" if deny\nelse := \"ASK\" if ask\nelse := \"ALLOW\" if allow\n")
	ctx := context.Background()
	query, err := rego.New(rego.Query("data.bench.decision"), rego.Module("bench.rego", b.String())).PrepareForEval(ctx)
	if err != nil {
		return nil, err
	}
	return func(i int) toolcall.Decision {
		input := map[string]any{"capability": calls[i].capability, "principal": "amir"}
		if args := calls[i].args; args != nil {
			input["args"] = map[string]any{"amount": args.Amount, "currency": args.Currency, "region": args.Region}
		}
		result, err := query.Eval(ctx, rego.EvalInput(input))
		if err != nil || len(result) == 0 {
			return ""
		}
		decision, _ := result[0].Expressions[0].Value.(string)
		return toolcall.Decision(decision)
	}, nil
}

// cedarEngine asks two questions where it must: Cedar knows permit and forbid, so
// what may be asked for is an action of its own.
func cedarEngine(all []rule, calls []call) (decider, error) {
	var b strings.Builder
	for _, r := range all {
		effect, action := "permit", `action == Action::"call"`
		switch r.says {
		case toolcall.Deny:
			effect, action = "forbid", "action"
		case toolcall.Ask:
			action = `action == Action::"ask"`
		default:
		}
		fmt.Fprintf(&b, "%s(principal, %s, resource) when { context.capability like %q%s };\n", effect, action, r.pattern, joined(r.when, " && context.%s %s %s"))
		if r.says == toolcall.Ask { // asking goes before allowing
			fmt.Fprintf(&b, "forbid(principal, action == Action::\"call\", resource) when { context.capability like %q%s };\n", r.pattern, joined(r.when, " && context.%s %s %s"))
		}
	}
	set, err := cedar.NewPolicySetFromBytes("bench.cedar", []byte(b.String()))
	if err != nil {
		return nil, err
	}
	principal := cedar.NewEntityUID("Agent", "amir")
	resource := cedar.NewEntityUID("Tool", "any")
	call, ask := cedar.NewEntityUID("Action", "call"), cedar.NewEntityUID("Action", "ask")
	entities := cedar.EntityMap{}
	return func(i int) toolcall.Decision {
		context := cedar.RecordMap{"capability": cedar.String(calls[i].capability)}
		if args := calls[i].args; args != nil {
			context["amount"], context["currency"], context["region"] = cedar.Long(args.Amount), cedar.String(args.Currency), cedar.String(args.Region)
		}
		req := cedar.Request{Principal: principal, Action: call, Resource: resource, Context: cedar.NewRecord(context)}
		if ok, _ := cedar.Authorize(set, entities, req); ok {
			return toolcall.Allow
		}
		req.Action = ask
		if ok, _ := cedar.Authorize(set, entities, req); ok {
			return toolcall.Ask
		}
		return toolcall.Deny
	}, nil
}

const casbinModel = `
[request_definition]
r = sub, obj, args
[policy_definition]
p = sub, obj, eft, when
[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))
[matchers]
m = r.sub == p.sub && keyMatch(r.obj, p.obj)`

// casbinEngine asks twice where it must, as cedarEngine does.
func casbinEngine(all []rule, calls []call) (decider, error) {
	text := casbinModel
	if calls[0].args != nil {
		text += " && eval(p.when)"
	}
	m, err := casbinmodel.NewModelFromString(text + "\n")
	if err != nil {
		return nil, err
	}
	e, err := casbin.NewEnforcer(m)
	if err != nil {
		return nil, err
	}
	add := func(sub string, r rule, effect string) {
		when := "true" + joined(r.when, " && r.args.%s %s %s")
		if _, addErr := e.AddPolicy(sub, r.pattern, effect, when); addErr != nil {
			err = addErr
		}
	}
	for _, r := range all {
		switch r.says {
		case toolcall.Allow:
			add("call", r, "allow")
		case toolcall.Ask:
			add("call", r, "deny")
			add("ask", r, "allow")
		default:
			add("call", r, "deny")
			add("ask", r, "deny")
		}
	}
	return func(i int) toolcall.Decision {
		if ok, err := e.Enforce("call", calls[i].capability, calls[i].args); err == nil && ok {
			return toolcall.Allow
		}
		if ok, err := e.Enforce("ask", calls[i].capability, calls[i].args); err == nil && ok {
			return toolcall.Ask
		}
		return toolcall.Deny
	}, err
}
