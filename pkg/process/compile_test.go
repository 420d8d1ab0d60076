package process_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

func compile(t *testing.T, src []byte) *process.Process {
	t.Helper()
	def, problems := process.Parse(src)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return process.Compile(def, 1)
}

// TestGates: both deploy gates of testdata are valid without a warning, and the text
// say next to their states is kept.
func TestGates(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"deploy-gate.json", "reference.json"} {
		p := compile(t, read(t, name))
		if p.Name() != "deploy-gate" || p.Machine().Name() != p.Name() || p.Machine().Version() != 1 || !p.Machine().Drives(&workflow.Run{Workflow: "deploy-gate", WorkflowVersion: 1}) {
			t.Errorf("%s: %s version %d", name, p.Machine().Name(), p.Machine().Version())
		}
		if got := p.Policies(); len(got) != 1 || got[0].Role != "agent" || got[0].Name != "process/deploy-gate/policy" {
			t.Errorf("%s: policies %+v", name, got)
		}
	}
	p := compile(t, read(t, "deploy-gate.json"))
	policy := p.Policies()[0]
	if len(policy.Ask) != 2 || policy.Allow[0].Rate.MaxCalls != 50 || p.Definition().Policy.Name != "" {
		t.Errorf("policy %+v of %+v", policy, p.Definition().Policy)
	}
}

// TestPolicies: the limits on cost and email are policies of their own, so that the
// stricter of them and the process's policy wins (S7.5, S7.7).
func TestPolicies(t *testing.T) {
	t.Parallel()
	const states = `"initial": "q", "states": {"q": {"question": "?", "answers": {"y": {"next": null}}}}`
	for src, want := range map[string]string{
		`{"name": "p", ` + states + `}`:                                                                            "",
		`{"name": "p", "policy": {"role": "agent", "name": "mine"}, ` + states + `}`:                               "process/p/mine",
		`{"name": "p", "session_budget_usd": 2.5, ` + states + `}`:                                                 "process/p costs 2.5",
		`{"name": "p", "email_config": {"max_emails_per_session": 3}, ` + states + `}`:                             "process/p mails 3",
		`{"name": "p", "policy": {"role": "agent"}, "session_budget_usd": 1, "allowed_tools": [], ` + states + `}`: "process/p/policy, process/p costs 1",
	} {
		var got []string
		for _, policy := range compile(t, []byte(src)).Policies() {
			got = append(got, describe(policy))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %v, want %s", src, got, want)
		}
	}
}

func describe(p *rules.Policy) string {
	text := p.Name
	if p.SessionBudget != nil {
		text += " costs " + p.SessionBudget.String()
	}
	if p.Email != nil {
		text += fmt.Sprint(" mails ", p.Email.MaxPerSession)
	}
	return text
}

// TestToolsOfStates: S7.8. With allowed_tools only those of the whitelist that it
// names are open; without it the policy alone judges. The end opens or closes all
// (S2.9).
func TestToolsOfStates(t *testing.T) {
	t.Parallel()
	const states = `"initial": "q", "states": {"q": {"question": "?", "answers": {"y": {"next": null}, "n": {"next": null, "action": "block"}}}}}`
	tests := []struct {
		allowed, answer string
		options         process.Options
		open, closed    []string
	}{
		{allowed: `"allowed_tools": ["memory_read", "Bash"],`, open: []string{"memory_read", "process_step"}, closed: []string{"memory_write", "Bash", "Read", "task_list"}},
		{allowed: `"allowed_tools": [],`, open: []string{"process_step"}, closed: []string{"memory_read", "Bash"}},
		{open: []string{"memory_read", "Bash", "mcp__filesystem__write_file"}},
		{
			allowed: `"allowed_tools": ["Bash"],`, options: process.Options{SafeTools: []string{"Bash", "Read"}},
			open: []string{"Bash"}, closed: []string{"Read", "memory_read"},
		},
		{allowed: `"allowed_tools": [],`, answer: "y", open: []string{"Bash"}},
		{answer: "n", open: []string{"process_step"}, closed: []string{"Bash", "memory_read"}},
	}
	for _, tt := range tests {
		def, problems := process.Parse([]byte(`{"name": "p", ` + tt.allowed + states))
		if def == nil {
			t.Fatal(problems)
		}
		m := tt.options.Compile(def, 1).Machine()
		run := m.Start(workflow.StartParams{ID: "run_1"}, "agent", noon).Run
		if tt.answer != "" {
			run = m.Step(&run, process.Fire(tt.answer, "", "", "agent"), noon).Run
		}
		for i, list := range [][]string{tt.open, tt.closed} {
			for _, tool := range list {
				v := toolcall.Decide(m, new(run.At("")), toolcall.Call{Tool: tool, Input: []byte(`{"command": "ls"}`)})
				if denied := v.Decision == toolcall.Deny; denied != (i == 1) {
					t.Errorf("%+v: %s is %s %s", tt, tool, v.Decision, v.Code)
				}
			}
		}
	}
}

// TestNobodyCanBeAsked: an answer that notifies a human is refused where there is
// no approval to ask with; it never goes through.
func TestNobodyCanBeAsked(t *testing.T) {
	t.Parallel()
	p := compile(t, []byte(`{"name": "p", "initial": "q", "states": {"q": {"question": "?", "answers": {"y": {"next": null, "action": "notify_human"}}}}}`))
	run := p.Machine().Start(workflow.StartParams{ID: "run_1"}, "agent", noon).Run
	out := p.Machine().Step(&run, process.Fire("y", "", "", "agent"), noon)
	if out.Changed || out.Rejection == nil || out.Rejection.Code != workflow.RejectUnsupported {
		t.Errorf("%+v", out)
	}
}

// interpreter is a process as S8 defines it, written again in the plainest way.
type interpreter struct {
	def    *process.Definition
	state  string
	status workflow.Status
	asked  *process.Answer
	warned int
}

func (n *interpreter) find(key string) *process.Answer {
	i := slices.IndexFunc(n.def.States, func(s process.State) bool { return s.Name == n.state })
	answers := n.def.States[i].Answers
	j := slices.IndexFunc(answers, func(a process.Answer) bool { return a.Key == key })
	if j < 0 {
		return nil
	}
	return &answers[j]
}

func (n *interpreter) answer(key string) {
	if n.status != workflow.Running {
		return
	}
	a := n.find(key)
	switch {
	case a == nil:
	case a.Action == process.NotifyHuman:
		n.status, n.asked = workflow.AwaitingApproval, a
	default:
		if a.Action == process.Warn {
			n.warned++
		}
		n.follow(a)
	}
}

func (n *interpreter) follow(a *process.Answer) {
	n.status, n.asked = workflow.Running, nil
	switch {
	case a.Action == process.Block:
		n.status = workflow.Blocked
	case a.Ends():
		n.status = workflow.Completed
	default:
		n.state = a.Next
		for _, s := range n.def.States {
			if s.Name == n.state && len(s.Answers) == 0 {
				n.status = workflow.Completed
			}
		}
	}
}

func (n *interpreter) decide(what string) {
	if n.asked == nil {
		return
	}
	a := n.asked
	switch what {
	case "grant":
		n.follow(a)
	case "reject":
		n.status, n.asked = workflow.Blocked, nil
	default:
		n.status, n.asked = workflow.Running, nil
	}
}

// TestProcesses: random processes under random answers and decisions follow
// the rules say (S8.1, S8.2, S8.3, S8.4).
func TestProcesses(t *testing.T) {
	t.Parallel()
	reached := map[workflow.Status]int{}
	randtest.Check(t, func(t *rapid.T) {
		src := randomProcess(t)
		def, problems := process.Parse([]byte(src))
		if def == nil {
			t.Fatalf("%s: %v", src, problems)
		}
		p := process.Compile(def, 1)
		run := p.Machine().Start(workflow.StartParams{ID: "run_1"}, "agent", noon).Run
		want := &interpreter{def: def, state: def.Initial, status: workflow.Running}
		warned := 0
		for i := range 20 {
			var cmd workflow.Command
			what := rapid.SampledFrom([]string{"a0", "a1", "a2", "A0", "", "grant", "reject", "expire"}).Draw(t, "what")
			id := ""
			if ids := run.Approvals(); len(ids) > 0 {
				id = ids[0]
			}
			switch what {
			case "grant":
				cmd = workflow.Grant{ApprovalID: id}
				want.decide(what)
			case "reject":
				cmd = workflow.Reject{ApprovalID: id}
				want.decide(what)
			case "expire":
				cmd = workflow.Reject{ApprovalID: id, Outcome: workflow.ApprovalExpired}
				want.decide(what)
			default:
				cmd = process.Fire(what, "why", fmt.Sprint("apr_", i), "agent")
				want.answer(what)
			}
			out := p.Machine().Step(&run, cmd, noon)
			run = out.Run
			for _, e := range out.Events {
				if e.Type == workflow.EventWarned {
					warned++
				}
			}
			inside := !strings.HasPrefix(run.State, "$")
			if run.Status != want.status || inside && run.State != want.state || !inside && !run.Status.Ended() || warned != want.warned {
				t.Fatalf("%s of %s: %s in %s with %d warnings, want %s in %s with %d",
					what, src, run.Status, run.State, warned, want.status, want.state, want.warned)
			}
			turn := p.Turn(new(run.At("")))
			if ends := len(turn.Answers) == 0; ends != run.Status.Ended() || turn.String() == "" || turn.Prompt != "" && i >= 0 && run.Version > 1 {
				t.Fatalf("turn %+v", turn)
			}
		}
		reached[run.Status]++
	})
	for _, status := range []workflow.Status{workflow.Completed, workflow.Blocked} {
		if reached[status] == 0 {
			t.Errorf("the processes are too tame: %v", reached)
		}
	}
}

// randomProcess writes a process of a few states, which is valid.
func randomProcess(t *rapid.T) string {
	count := rapid.IntRange(1, 4).Draw(t, "states")
	var states []string
	for i := range count {
		answers := []string{`"end": {"next": null}`}
		for a := range 3 {
			next := `null`
			if to := rapid.IntRange(0, count+1).Draw(t, "next"); to <= count {
				next = fmt.Sprintf(`"s%d"`, to)
			}
			actions := []string{"", `, "action": "warn"`, `, "action": "notify_human"`}
			if next == `null` {
				actions = append(actions, `, "action": "block"`, `, "action": "complete"`)
			}
			answers = append(answers, fmt.Sprintf(`"a%d": {"next": %s%s}`, a, next, rapid.SampledFrom(actions).Draw(t, "action")))
		}
		states = append(states, fmt.Sprintf(`"s%d": {"question": "?", "answers": {%s}}`, i, strings.Join(answers, ", ")))
	}
	states = append(states, fmt.Sprintf(`"s%d": {"question": "over"}`, count))
	return `{"name": "p", "initial": "s0", "initial_prompt": "begin", "states": {` + strings.Join(states, ",\n") + "}}"
}
