package verify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/toolname"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Used is a capability that runs used.
type Used struct {
	Capability string
	// Calls of all runs, and Most what 99 of 100 runs did not exceed within an hour.
	Calls int
	Most  int64
	// Runs used it, and Cut are those of them that called it more often than Most.
	Runs, Cut []string
}

// usedWindow is the window of the limits of a suggested policy.
const usedWindow = time.Hour

// PolicyOf is the tightest policy under which recorded runs would have gone the same way, but for
// its limits: it allows the capabilities of the calls that were allowed, or that humans were
// asked about, and denies any other. role is whose calls it judges. It is an error when the
// policy would deny one of these calls.
func PolicyOf(m *workflow.Machine, role string, traces []*Trace) (document.Value, []Used, error) {
	p := &policySuggester{m: m, used: map[string]*Used{}, unknown: map[string]bool{}, most: map[string]map[string]int64{}}
	for _, t := range traces {
		p.look(t)
	}
	used := make([]Used, 0, len(p.used))
	for name, u := range p.used {
		u.Most = percentile99(p.most[name])
		for _, run := range u.Runs {
			if p.most[name][run] > u.Most {
				u.Cut = append(u.Cut, run)
			}
		}
		used = append(used, *u)
	}
	slices.SortFunc(used, func(a, b Used) int { return cmp.Compare(a.Capability, b.Capability) })
	text := p.text(role, used)
	policy, problems := rules.ParsePolicyValue(text)
	if problems.HasErrors() {
		return document.Value{}, nil, fmt.Errorf("the suggested policy is not a policy: %w", problems.Err())
	}
	set := rules.Compile(policy, 0)
	for _, call := range p.calls {
		if v := set.Decide(call, nil); v.Decision != toolcall.Allow {
			return document.Value{}, nil, fmt.Errorf("the suggested policy would deny %s, which was allowed: %s", document.Quote(call.Tool), v.Code)
		}
	}
	return text, used, nil
}

type policySuggester struct {
	m     *workflow.Machine
	used  map[string]*Used
	calls []rules.Call
	// unknown are names of tools that a policy must declare.
	unknown map[string]bool
	// most is what runs called within a window, by capability and run.
	most map[string]map[string]int64
}

func (p *policySuggester) look(t *Trace) {
	times := map[string][]time.Time{}
	for i := range t.Decisions {
		d := &t.Decisions[i]
		if d.Decision == toolcall.Deny || toolcall.Own(d.Tool) {
			continue
		}
		shell := toolcall.Shell(p.m.State(d.State), d.Tool)
		name := cmp.Or(d.Capability, rules.CapabilityOf(d.Tool))
		if shell && !strings.HasPrefix(name, "mcp:") {
			name = rules.Shell
		}
		p.use(name, t.RunID)
		times[name] = append(times[name], d.Time)
		if shell && name != rules.Shell { // limits of shells count it, too
			times[rules.Shell] = append(times[rules.Shell], d.Time)
		}
		if tool, is := strings.CutPrefix(name, "tool:"); is && !toolname.Known(tool) {
			p.unknown[tool] = true
		}
		p.calls = append(p.calls, rules.Call{Tool: d.Tool, Capability: d.Capability, Shell: shell, Principal: d.Principal, Session: cmp.Or(d.Session, t.SessionID, t.RunID), Now: d.Time})
	}
	for name, all := range times {
		if p.most[name] == nil {
			p.most[name] = map[string]int64{}
		}
		p.most[name][t.RunID] = busiest(all, usedWindow)
	}
}

func (p *policySuggester) use(name, run string) {
	u := p.used[name]
	if u == nil {
		u = &Used{Capability: name}
		p.used[name] = u
	}
	u.Calls++
	if !slices.Contains(u.Runs, run) {
		u.Runs = append(u.Runs, run)
	}
}

// busiest is the most of the times that any window of that length has.
func busiest(times []time.Time, window time.Duration) int64 {
	times = slices.Clone(times)
	slices.SortFunc(times, time.Time.Compare)
	most, from := 0, 0
	for i, at := range times {
		for at.Sub(times[from]) >= window {
			from++
		}
		most = max(most, i-from+1)
	}
	return int64(most)
}

// text is the policy.
func (p *policySuggester) text(role string, used []Used) document.Value {
	number := func(n int64) document.Value { return document.NumberValue(fmt.Sprint(n)) }
	allow := make([]document.Value, 0, len(used))
	for _, u := range used {
		allow = append(allow, document.ObjectValue([]document.Member{
			{Name: "capability", Value: document.StringValue(u.Capability)},
			{Name: "rate_limit", Value: document.ObjectValue([]document.Member{
				{Name: "max_calls", Value: number(u.Most)},
				{Name: "window_seconds", Value: number(int64(usedWindow / time.Second))},
				{Name: "scope", Value: document.StringValue("session")},
			})},
		}))
	}
	members := []document.Member{
		{Name: "role", Value: document.StringValue(role)},
		{Name: "default", Value: document.StringValue("deny")},
		{Name: "allow", Value: document.ArrayValue(allow)},
	}
	if len(p.unknown) > 0 {
		names := make([]string, 0, len(p.unknown))
		for name := range p.unknown {
			names = append(names, name)
		}
		slices.Sort(names)
		members = append(members, document.Member{Name: "meta", Value: document.ObjectValue([]document.Member{{Name: "tools", Value: listOf(names)}})})
	}
	return document.ObjectValue(members)
}
