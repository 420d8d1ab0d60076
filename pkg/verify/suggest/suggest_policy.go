package suggest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/toolname"

	"github.com/interlock-run/interlock/pkg/verify/conform"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Used is a capability that runs used.
type Used struct {
	Capability string
	// Calls of all runs, and Most the number that 99 of 100 sessions did not exceed
	// within an hour.
	Calls int
	Most  int64
	// Runs used it, and Cut are the sessions that called it more often than Most.
	Runs, Cut []string
}

// usedWindow is the window of the limits of a suggested policy.
const usedWindow = time.Hour

// Policy returns the tightest policy under which recorded runs would have gone the same way,
// but for its limits: it allows the capabilities of the calls that were allowed, or that humans
// were asked about, and denies any other. role is whose calls it judges. It is an error when the
// policy would deny one of these calls.
func Policy(m *workflow.Machine, role string, traces []*conform.Trace) (document.Value, []Used, error) {
	p := &policySuggester{m: m, used: map[string]*usage{}, unknown: map[string]bool{}}
	for _, t := range traces {
		p.look(t)
	}
	used := make([]Used, 0, len(p.used))
	for name, u := range p.used {
		if u.calls > 0 {
			used = append(used, u.summed(name))
		}
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
	used  map[string]*usage
	calls []rules.Call
	// unknown are names of tools that a policy must declare.
	unknown map[string]bool
}

// usage has the observed calls of a capability. times has also those that its limits count
// and that another one allows: limits of shells count tools of MCP servers that run command
// lines.
type usage struct {
	calls int
	runs  runSet
	times map[string][]time.Time // by session
}

// summed returns its summary for a policy.
func (u *usage) summed(capability string) Used {
	most := make(map[string]int64, len(u.times))
	for session, times := range u.times {
		most[session] = busiest(times, usedWindow)
	}
	out := Used{Capability: capability, Calls: u.calls, Most: percentile99(maps.Values(most)), Runs: u.runs.ids}
	for session, n := range most {
		if n > out.Most {
			out.Cut = append(out.Cut, session)
		}
	}
	slices.Sort(out.Cut)
	return out
}

func (p *policySuggester) of(capability string) *usage {
	u := p.used[capability]
	if u == nil {
		u = &usage{times: map[string][]time.Time{}}
		p.used[capability] = u
	}
	return u
}

func (p *policySuggester) look(t *conform.Trace) {
	for i := range t.Decisions {
		d := &t.Decisions[i]
		if d.Decision == toolcall.Deny || toolcall.Own(d.Tool) {
			continue
		}
		session := cmp.Or(d.Session, t.SessionID, t.RunID)
		shell := toolcall.Shell(p.m.State(d.State), d.Tool)
		name := cmp.Or(d.Capability, rules.CapabilityOf(d.Tool))
		if shell && !strings.HasPrefix(name, "mcp:") {
			name = rules.Shell
		}
		u := p.of(name)
		u.calls++
		u.runs.add(t.RunID)
		u.times[session] = append(u.times[session], d.Time)
		if shell && name != rules.Shell {
			also := p.of(rules.Shell)
			also.times[session] = append(also.times[session], d.Time)
		}
		if tool, is := strings.CutPrefix(name, "tool:"); is && !toolname.Known(tool) {
			p.unknown[tool] = true
		}
		p.calls = append(p.calls, rules.Call{Tool: d.Tool, Capability: d.Capability, Shell: shell, Principal: d.Principal, Session: session, Now: d.Time})
	}
}

// busiest returns the most of the times that any window of that length has.
func busiest(times []time.Time, window time.Duration) int64 {
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

// text returns the policy.
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
		names := slices.Sorted(maps.Keys(p.unknown))
		members = append(members, document.Member{Name: "meta", Value: document.ObjectValue([]document.Member{{Name: "tools", Value: listOf(names)}})})
	}
	return document.ObjectValue(members)
}
