package verify_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/verify/conform"
	"github.com/interlock-run/interlock/pkg/verify/explore"
	"github.com/interlock-run/interlock/pkg/verify/migrate"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// shipping is what the cases of TestMigrationPlan change.
const shipping = `{
	"id": "shipping", "initial": "plan", "context": {"n": 1, "risk": "low"},
	"states": {
		"plan": {"allowed_tools": ["Read"], "on": {"READY": {"target": "work", "guard": "sized"}}},
		"work": {"allowed_tools": ["Read", "Edit", "Bash"], "allowed_commands": ["go test", "git diff"], "max_iterations": 20, "max_edit_lines": 50,
			"on": {"SHIP": {"target": "ship", "guards": ["tested"], "requires_approval": true}, "BACK": "plan"}},
		"ship": {"allowed_tools": ["Bash"], "allowed_commands": ["kubectl get *"], "on": {"DONE": "done", "ROLL_BACK": "undone"}},
		"fix": {"allowed_tools": ["Read"], "on": {"FIXED": "$return"}},
		"done": {"type": "final"}, "undone": {"type": "final", "outcome": "failure"}
	},
	"interrupts": {"secrets": {"trigger": {"file_pattern": "secrets/**"}, "target": "fix"}},
	"evidence": {"green": {"tool": "Bash", "command": "go test ./...", "after": "edit"}},
	"guards": {"sized": {"field": "n", "op": "gt", "value": 3}, "tested": {"evidence": "green"}},
	"meta": {"approval_mode": "ui", "policy": ["limits"], "approval": {"required": 2}, "enforcement": "always"}
}`

// watching has two handlers, of which one looks things up.
func watching(interrupts string) string {
	return `{"id": "watching", "initial": "work", "states": {"work": {"allowed_tools": ["Edit"], "on": {"DONE": "done"}},
		"fix": {"allowed_tools": ["Edit"], "on": {"FIXED": "$return"}}, "look": {"allowed_tools": ["WebFetch"], "on": {"SEEN": "$return"}},
		"done": {"type": "final"}}, "interrupts": {` + interrupts + `}}`
}

// Each change of a workflow is newly allowed to do what it says, or nothing (S17.3).
func TestMigrationPlan(t *testing.T) {
	t.Parallel()
	change := func(pairs ...string) string {
		text := shipping
		for i := 0; i < len(pairs); i += 2 {
			if !strings.Contains(text, pairs[i]) {
				t.Fatalf("%s is not in the definition", pairs[i])
			}
			text = strings.Replace(text, pairs[i], pairs[i+1], 1)
		}
		return text
	}
	calm := change(`"interrupts": {"secrets": {"trigger": {"file_pattern": "secrets/**"}, "target": "fix"}},`, ``, `"fix": {"allowed_tools": ["Read"], "on": {"FIXED": "$return"}},`, ``)
	for _, c := range []struct {
		name, from, to string
		states         map[string]string
		gains          []string
		stays          string
		dropped        string
	}{
		{name: "itself", to: shipping},
		{name: "a tool more", to: change(`["Read"], "on": {"READY"`, `["Read", "WebFetch"], "on": {"READY"`), gains: []string{`state "plan": tool: WebFetch`}},
		{name: "a tool less", to: change(`"Read", "Edit", "Bash"`, `"Edit", "Bash"`)},
		{name: "any tool", to: change(`"allowed_tools": ["Read"], "on": {"READY"`, `"on": {"READY"`), gains: []string{`state "plan": tool: every tool that no list names`, `state "plan": tool: Edit`, `state "plan": tool: Bash`}},
		{name: "a prefix of tools", to: change(`["Read"], "on": {"READY"`, `["Read", "mcp__a__*"], "on": {"READY"`), gains: []string{`state "plan": tool: mcp__a__*`}},
		{name: "a command more", to: change(`"git diff"`, `"git diff", "git push"`), gains: []string{`state "work": command: "git push"`}},
		{name: "a narrower command", to: change(`"kubectl get *"`, `"kubectl get pods"`), gains: []string{`state "ship": command: "kubectl get pods"`}}, // a glob includes no words that it cannot be told to
		{name: "a longer command where words that are named may write", to: change(`"kubectl get *"`, `"kubectl get *", "kubectl get pods"`), gains: []string{`state "ship": command: "kubectl get pods"`}},
		{name: "a command of a glob", from: strings.Replace(shipping, `"git diff"`, `"git *"`, 1), to: change(`"git diff"`, `"git diff"`)},
		{name: "a longer command", to: change(`"git diff"`, `"git diff --stat"`)},
		{name: "a wider command", to: change(`"git diff"`, `"git"`), gains: []string{`state "work": command: "git"`}},
		{name: "writes", to: change(`"ship": {"allowed_tools": ["Bash"]`, `"ship": {"allowed_tools": ["Bash", "Write"]`), gains: []string{`state "ship": command: command lines that write files`, `state "ship": tool: Write`}},
		{name: "more calls", to: change(`"max_iterations": 20`, `"max_iterations": 30`), gains: []string{`state "work": limit: max_iterations 30, and it was 20`}},
		{name: "more time", from: change(`"max_iterations": 20`, `"max_iterations": 20, "after": {"1h": "plan"}`), to: change(`"max_iterations": 20`, `"max_iterations": 20, "after": {"2h": "plan"}`), gains: []string{`state "work": limit: after 2h, and it was 1h`}},
		{name: "less time", from: change(`"max_iterations": 20`, `"max_iterations": 20, "after": {"1h": "plan"}`), to: change(`"max_iterations": 20`, `"max_iterations": 20, "after": {"30m": "plan"}`)},
		{name: "no silence", from: change(`"max_iterations": 20`, `"max_iterations": 20, "stale": {"after": "10m", "do": "hold"}`), to: shipping, gains: []string{`state "work": limit: no stale, and it was 10m`}},
		{name: "a later deadline", from: change(`"enforcement": "always"`, `"enforcement": "always", "deadline": {"after": "8h", "target": "undone"}`), to: change(`"enforcement": "always"`, `"enforcement": "always", "deadline": {"after": "9h", "target": "undone"}`), gains: []string{`everywhere: rule: meta.deadline is longer than 8h`}},
		{name: "an earlier deadline", from: change(`"enforcement": "always"`, `"enforcement": "always", "deadline": {"after": "8h", "target": "undone"}`), to: change(`"enforcement": "always"`, `"enforcement": "always", "deadline": {"after": "7h", "target": "undone"}`)},
		{name: "no deadline", from: change(`"enforcement": "always"`, `"enforcement": "always", "deadline": {"after": "8h", "target": "undone"}`), to: shipping, gains: []string{`there is no meta.deadline, and it was 8h`}},
		{name: "fewer calls", to: change(`"max_iterations": 20`, `"max_iterations": 5`)},
		{name: "larger edits", to: change(`"max_edit_lines": 50,`, ``), gains: []string{`state "work": limit: no max_edit_lines`}},
		{name: "a stricter guard", to: change(`"value": 3`, `"value": 5`)},
		{name: "a looser guard", to: change(`"value": 3`, `"value": 2`), gains: []string{`state "plan": transition: "READY" leads to "work", and was refused by "sized"`}},
		{name: "no guard", to: change(`{"target": "work", "guard": "sized"}`, `"work"`), gains: []string{`state "plan": transition: "READY" leads to "work", and was refused by "sized"`}},
		{name: "a guard that was always true", to: change(`"guards": ["tested"]`, `"guards": ["tested", "low"]`, `"sized":`, `"low": {"field": "none", "op": "not_exists"}, "sized":`)},
		{name: "no evidence", to: change(`"guards": ["tested"], `, ``), gains: []string{`state "work": transition: "SHIP" leads to "ship", and is approved, and would be refused`}},
		{name: "no approval", to: change(`, "requires_approval": true`, ``), gains: []string{`state "work": transition: "SHIP" leads to "ship", and needs no approval any more`}},
		{name: "one more approval", from: calm, to: strings.Replace(calm, `"READY": {"target": "work", "guard": "sized"}`, `"READY": {"target": "work", "guard": "sized", "requires_approval": true}`, 1)},
		{name: "one more approval, while which no interrupt fires", to: change(`"READY": {"target": "work", "guard": "sized"}`, `"READY": {"target": "work", "guard": "sized", "requires_approval": true}`), gains: []string{`state "plan" (in "fix" before): transition: "READY" leads to "work"`}},
		{name: "one who must agree", to: change(`"required": 2`, `"required": 1`), gains: []string{`everywhere: rule: meta.approval: 1 must agree, where 2 had to`}},
		{name: "three who must agree", to: change(`"required": 2`, `"required": 3`)},
		{name: "no policy", to: change(`"policy": ["limits"]`, `"policy": []`), gains: []string{`everywhere: rule: policy "limits" no longer judges`}},
		{name: "one more policy", to: change(`"policy": ["limits"]`, `"policy": ["limits", "more"]`)},
		{name: "debug", to: change(`"enforcement": "always"`, `"enforcement": "always", "debug": true`), gains: []string{`everywhere: rule: meta.debug lets`, `state "plan": transition: "done" can be forced`}},
		{name: "enforcement", to: change(`, "enforcement": "always"`, ``), gains: []string{`meta.enforcement is "until_success", and was "always"`}},
		{name: "enforcement of none", to: change(`"always"`, `"while_running"`), gains: []string{`meta.enforcement is "while_running", and was "always"`}},
		{name: "the default's enforcement by name", from: change(`, "enforcement": "always"`, ``), to: change(`"always"`, `"until_success"`)},
		{name: "enforcement that the agent ends", from: change(`, "enforcement": "always"`, ``), to: change(`"always"`, `"while_running"`), gains: []string{`meta.enforcement is "while_running", and was "until_success"`}},
		{name: "more enforcement", from: change(`"always"`, `"while_running"`), to: change(`"always"`, `"until_success"`)},
		{name: "enforcement forever", from: change(`, "enforcement": "always"`, ``), to: shipping},
		{name: "approvals that wait by default", to: change(`"approval_mode": "ui", `, ``)},
		{name: "advisory approvals", to: change(`"approval_mode": "ui"`, `"approval_mode": "none"`), gains: []string{`"SHIP" leads to "ship"`}},
		{name: "another way to end", to: change(`"BACK": "plan"`, `"BACK": "plan", "STOP": "undone"`), gains: []string{`state "work": transition: "STOP" leads to "undone", and was refused`}},
		{name: "an event less", to: change(`, "ROLL_BACK": "undone"`, ``)},
		{name: "another target", to: change(`"ROLL_BACK": "undone"`, `"ROLL_BACK": "done"`), gains: []string{`transition: the run completes`}},
		{name: "an event that leads back", to: change(`"ROLL_BACK": "undone"`, `"ROLL_BACK": "plan"`), gains: []string{`state "plan" (in "undone" before): tool: Read`}},
		{name: "no interrupt", to: change(`"secrets/**"`, `"secrets/keys/**"`), gains: []string{`state "work" (in "fix" before): tool: Edit`}},
		{
			name: "two interrupts in another order", from: watching(`"a": {"trigger": {"file_pattern": "src/**"}, "target": "fix"}, "b": {"trigger": {"file_pattern": "**/*.go"}, "target": "look"}`),
			to:    watching(`"b": {"trigger": {"file_pattern": "**/*.go"}, "target": "look"}, "a": {"trigger": {"file_pattern": "src/**"}, "target": "fix"}`),
			gains: []string{`state "look" (in "fix" before): tool: WebFetch`},
		},
		{name: "an unknown event that leads on", to: change(`"allowed_commands": ["kubectl get *"],`, `"allowed_commands": ["kubectl get *"], "safe_next": "undone",`), gains: []string{`state "ship": transition: "UNDEFINED" leads to "undone"`}},
		{name: "renamed", to: strings.ReplaceAll(shipping, `"work"`, `"build"`), states: map[string]string{"work": "build"}},
		{name: "renamed and not mapped", to: strings.ReplaceAll(shipping, `"work"`, `"build"`), stays: "fixwork"},
		{name: "mapped to more", to: change(`"plan": {`, `"ready": {`, `"initial": "plan"`, `"initial": "ready"`, `"BACK": "plan"`, `"BACK": "ready"`), states: map[string]string{"plan": "work"}, gains: []string{`state "work" (in "plan" before): tool: Edit`}},
		{name: "other evidence", to: change(`"go test ./..."`, `"go vet ./..."`), dropped: "green", gains: []string{`state "work": transition: "SHIP" leads to "ship", and is approved, and would be refused by "tested"`}},
		{name: "more evidence", to: change(`"evidence": {`, `"evidence": {"vetted": {"tool": "Bash", "command": "go test -vet=all"},`, `"tested": {"evidence": "green"}`, `"tested": {"all": [{"evidence": "green"}, {"evidence": "vetted"}]}`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			from := workflow.Compile(mustParse(t, cmp.Or(c.from, shipping)), 3)
			plan := migrate.New(&migrate.Migration{From: from, To: workflow.Compile(mustParse(t, c.to), 4), States: c.states}, explore.Bounds{MaxStates: 20000})
			var all []string
			for i := range plan.Gains {
				all = append(all, plan.Gains[i].String())
			}
			text := strings.Join(all, "\n")
			for _, want := range c.gains {
				if !strings.Contains(text, want) {
					t.Errorf("%s is missing", want)
				}
			}
			if (plan.Verdict == verify.Proved) != (len(c.gains) == 0) || plan.Verdict == verify.Undecided {
				t.Errorf("%s %s, %d pairs:\n%s", plan.Verdict, plan.Reason, plan.States, text)
			}
			stays := ""
			for _, s := range plan.Stays {
				stays += s.State
			}
			if stays != c.stays || strings.Join(plan.Dropped, " ") != c.dropped {
				t.Errorf("stays %q, dropped %q", plan.Stays, plan.Dropped)
			}
		})
	}
}

// An event that starts a run of another workflow, or with other input, lets the agent do there what
// it could not do before.
func TestMigrationOfInvokes(t *testing.T) {
	t.Parallel()
	const text = `{"id": "w", "initial": "a", "states": {
		"a": {"allowed_tools": [], "on": {"RUN": {"invoke": "narrow", "input": {"n": 1, "m": {"k": 1}}, "on_complete": "b"}, "GO": "b"}},
		"b": {"allowed_tools": [], "on": {"END": "done"}}, "done": {"type": "final"}}}`
	for _, c := range []struct{ was, is, gain string }{
		{`"n": 1, "m": {"k": 1}`, `"m": {"k": 1.0}, "n": 1`, ""},
		{`"narrow"`, `"wide"`, `"RUN" starts a run of "wide", and did not`},
		{`"n": 1`, `"n": 2`, `"RUN" starts a run of "narrow" with other input`},
		{`, "input": {"n": 1, "m": {"k": 1}}`, ``, `"RUN" starts a run of "narrow" with other input`},
		{`"GO": "b"`, `"GO": {"invoke": "wide", "on_complete": "b"}`, `"GO" starts a run of "wide", and did not`},
		{`"END": "done"`, `"END": "done", "MORE": {"invoke": "wide", "on_complete": "done"}`, `"MORE" leads to`},
	} {
		from, to := workflow.Compile(mustParse(t, text), 1), workflow.Compile(mustParse(t, strings.Replace(text, c.was, c.is, 1)), 2)
		plan := migrate.New(&migrate.Migration{From: from, To: to}, explore.Bounds{MaxStates: 1000})
		var all []string
		for i := range plan.Gains {
			all = append(all, plan.Gains[i].String())
		}
		if got := strings.Join(all, "; "); (got == "") != (c.gain == "") || !strings.Contains(got, c.gain) || (plan.Verdict == verify.Proved) != (c.gain == "") {
			t.Errorf("%s: %s %q, not %q", c.is, plan.Verdict, got, c.gain)
		}
	}
}

// A process has rules of its own, which are not in its states.
func TestMigrationOfProcesses(t *testing.T) {
	t.Parallel()
	const text = `{"name": "p", "initial": "q", "session_budget_usd": 2, "email_config": {"max_emails_per_session": 3},
		"policy": {"role": "agent", "deny": [{"capability": "bash"}]},
		"states": {"q": {"question": "done?", "answers": {"yes": {"next": null}}}}}`
	parse := func(text string, version int64) *process.Process {
		d, problems := process.Parse([]byte(text))
		if err := problems.Err(); err != nil {
			t.Fatal(err)
		}
		return process.Compile(d, version)
	}
	for _, c := range []struct{ was, is, gain string }{
		{`"done?"`, `"is it   done?"`, ""},
		{`"session_budget_usd": 2`, `"session_budget_usd": 1.5`, ""},
		{`"session_budget_usd": 2`, `"session_budget_usd": 2.5`, "session_budget_usd is higher, or gone"},
		{`"session_budget_usd": 2, `, ``, "session_budget_usd is higher, or gone"},
		{`"max_emails_per_session": 3`, `"max_emails_per_session": 4`, "email_config is another one, or gone"},
		{`"capability": "bash"`, `"capability": "tool:Read"`, "the process's own policy is another one, or gone"},
		{`"policy": {"role": "agent", "deny": [{"capability": "bash"}]},`, ``, "the process's own policy is another one, or gone"},
	} {
		from, to := parse(text, 1), parse(strings.Replace(text, c.was, c.is, 1), 2)
		plan := migrate.New(&migrate.Migration{From: from.Machine(), To: to.Machine(), Processes: [2]*process.Process{from, to}}, explore.Bounds{MaxStates: 1000})
		var all []string
		for i := range plan.Gains {
			all = append(all, plan.Gains[i].What)
		}
		if got := strings.Join(all, "; "); got != c.gain || (plan.Verdict == verify.Proved) != (c.gain == "") {
			t.Errorf("%s: %s %q, not %q", c.is, plan.Verdict, got, c.gain)
		}
	}
}

// Moving to the same definition allows nothing new.
func TestMigrationToItself(t *testing.T) {
	t.Parallel()
	d := drawer{randtest.New(t, 29)}
	proved := 0
	for range randtest.Size(40, 2000) {
		src := d.workflow()
		m, same := workflow.Compile(mustParse(t, src), 1), workflow.Compile(mustParse(t, src), 2)
		plan := migrate.New(&migrate.Migration{From: m, To: same}, explore.Bounds{MaxStates: 3000})
		if plan.Verdict == verify.Refuted {
			t.Fatalf("%s after %v\n%s", plan.Gains[0].String(), plan.Gains[0].Path, src)
		}
		if plan.Verdict == verify.Proved {
			proved++
		}
	}
	if proved < 20 {
		t.Errorf("%d are proved", proved)
	}
}

// A bound that was reached proves nothing.
func TestMigrationPlanIsBounded(t *testing.T) {
	t.Parallel()
	m := workflow.Compile(mustParse(t, shipping), 3)
	plan := migrate.New(&migrate.Migration{From: m, To: workflow.Compile(mustParse(t, shipping), 4)}, explore.Bounds{MaxStates: 3})
	if plan.Verdict != verify.Undecided || !strings.Contains(plan.Reason, "--max-states") {
		t.Errorf("%s %s", plan.Verdict, plan.Reason)
	}
}

// lockstep is a run of the new version, and the run of the old one that does the same.
type lockstep struct {
	*walker
	old     *workflow.Machine
	was     workflow.Run
	waiting map[string]workflow.Fire // what the new version asks about and the old one does not
}

// step takes a step of the new version, and says what the old one does not allow of it.
func (l *lockstep) step() string {
	var said string
	l.commanded = func(cmd workflow.Command, out *workflow.Result) { said = l.follow(cmd, out) }
	l.walker.step()
	return said
}

// follow lets the old version do the same.
func (l *lockstep) follow(cmd workflow.Command, out *workflow.Result) string {
	step := func(c workflow.Command) workflow.Result {
		other := l.old.Step(&l.was, c, l.now)
		if other.Changed {
			l.was = other.Run
		}
		return other
	}
	_, pending := l.was.Asking(approvalOf(cmd))
	switch c := cmd.(type) {
	case workflow.Fire:
		if out.Entry.Type == workflow.EventParked {
			if other := l.old.Step(&l.was, c, l.now); other.Changed && other.Entry.Type == workflow.EventParked {
				l.was = other.Run
			} else {
				l.waiting[c.ApprovalID] = c
			}
			return ""
		}
		return refusedBy(step(c), c.Event)
	case workflow.Grant:
		if out.Entry.Type == workflow.EventStale {
			if pending {
				step(workflow.Reject{ApprovalID: c.ApprovalID, Outcome: workflow.ApprovalStale, Actor: c.Actor})
			}
			return ""
		}
		if pending {
			return refusedBy(step(c), "a grant")
		}
		fire := l.waiting[c.ApprovalID]
		if !c.Data.IsZero() {
			fire.Data = c.Data
		}
		return refusedBy(step(fire), fire.Event+" after an approval")
	case workflow.Reject:
		if pending {
			step(c)
		}
	default:
		step(cmd)
	}
	return ""
}

func approvalOf(cmd workflow.Command) string {
	switch c := cmd.(type) {
	case workflow.Grant:
		return c.ApprovalID
	case workflow.Reject:
		return c.ApprovalID
	default:
		return ""
	}
}

func refusedBy(out workflow.Result, what string) string {
	switch {
	case !out.Changed:
		return what + " is refused"
	case out.Entry.Type == workflow.EventParked:
		return what + " needs an approval"
	case out.Entry.Type == workflow.EventStale:
		return what + " is stale"
	default:
		return ""
	}
}

// calls says which calls the new version allows and the old one does not.
func (l *lockstep) calls() string {
	for _, lane := range l.run.Lanes() {
		was := l.was.At(lane.Branch)
		for _, c := range someCalls {
			input := `{"file_path": "a.txt", "old_string": "a", "new_string": "b"}`
			if c.command != "" {
				input = fmt.Sprintf(`{"command": %q}`, c.command)
			}
			call := toolcall.Call{Tool: c.tool, Input: []byte(input)}
			if lane.Status != workflow.Running && lane.Status != workflow.AwaitingApproval {
				continue
			}
			if toolcall.Decide(l.m, &lane, call).Decision == toolcall.Allow && toolcall.Decide(l.old, &was, call).Decision != toolcall.Allow {
				return fmt.Sprintf("%s %s in %s, and it stood in %s", c.tool, c.command, lane.State, was.State)
			}
		}
	}
	if l.run.Status == workflow.Completed && l.was.Status != workflow.Completed {
		return "it completes"
	}
	return ""
}

// TestMigrationIsSound: what a real run does after it has moved, and could not have done
// before, the plan has said.
func TestMigrationIsSound(t *testing.T) {
	t.Parallel()
	d := drawer{randtest.New(t, 17)}
	proved, caught, moved := 0, 0, 0
	for range randtest.Size(60, 4000) {
		src := d.workflow()
		other := mutated(d, src)
		if d.IntN(2) == 0 {
			src, other = other, src
		}
		first, problems := workflow.Parse([]byte(src))
		second, more := workflow.Parse([]byte(other))
		if problems.HasErrors() || more.HasErrors() {
			continue
		}
		old, to := workflow.Compile(first, 1), workflow.Compile(second, 2)
		plan := migrate.New(&migrate.Migration{From: old, To: to}, explore.Bounds{MaxStates: 3000})
		if plan.Verdict == verify.Proved {
			proved++
		}
		m := model(t, src+"\n---\n"+drawnChild)
		for range 6 {
			w := newWalker(d, m)
			for range d.IntN(6) {
				w.step()
			}
			out := old.Step(&w.run, workflow.Migrate{To: to}, w.now)
			if !out.Changed {
				continue
			}
			moved++
			l := &lockstep{walker: w, old: old, was: void(w.run), waiting: map[string]workflow.Fire{}}
			l.m, l.run = to, out.Run
			found := l.calls()
			for range 12 {
				if found != "" || l.run.Status.Ended() || l.was.Status.Ended() {
					break
				}
				if found = l.step(); found == "" {
					found = l.calls()
				}
			}
			if found == "" {
				continue
			}
			caught++
			if plan.Verdict == verify.Proved {
				t.Fatalf("proved, and newly allowed: %s\n%s\n%s", found, src, other)
			}
		}
	}
	if proved < 12 || caught < 10 || moved < 150 {
		t.Errorf("%d proved, %d caught, %d moved", proved, caught, moved)
	}
	t.Logf("%d plans proved; of %d runs that moved %d did something new", proved, moved, caught)
}

// void is a run whose questions are void, as they are when it moves.
func void(run workflow.Run) workflow.Run {
	out := run
	out.Approval = nil
	if run.Fork != nil {
		fork := *run.Fork
		fork.Branches = append([]workflow.BranchProgress(nil), run.Fork.Branches...)
		for i := range fork.Branches {
			fork.Branches[i].Approval = nil
		}
		out.Fork = &fork
	}
	if out.Status == workflow.AwaitingApproval {
		out.Status = workflow.Running
	}
	return out
}

// What a run has in the other version, and what it has not.
func TestMigrationKeepsWhatIsKnown(t *testing.T) {
	t.Parallel()
	from := workflow.Compile(mustParse(t, shipping), 3)
	to := workflow.Compile(mustParse(t, strings.NewReplacer(`"context": {"n": 1, "risk": "low"}`, `"context": {"n": 9, "owner": "ops"}`, `"go test ./..."`, `"go vet ./..."`).Replace(shipping)), 4)
	run := from.Start(workflow.StartParams{ID: "run_1", Owner: "agent", Context: document.ObjectValue([]document.Member{{Name: "n", Value: document.NumberValue("7")}})}, "agent", noon).Run
	run = from.Step(&run, workflow.Fire{Event: "READY", Actor: "agent"}, noon).Run
	held := evidence.Statuses{"green": {Name: "green", Held: true}}
	run = from.Step(&run, workflow.Fire{Event: "SHIP", ApprovalID: "apr_1", Evidence: held, Actor: "agent"}, noon).Run
	if run.Status != workflow.AwaitingApproval {
		t.Fatal(run.Status)
	}
	out := from.Step(&run, workflow.Migrate{To: to, Actor: "ops"}, noon.Add(time.Minute))
	if !out.Changed || out.Run.Version != run.Version+1 || out.Run.WorkflowVersion != 4 || out.Run.State != "work" || out.Run.Entry != run.Entry {
		t.Fatalf("%+v %+v", out.Rejection, out.Run)
	}
	if got := string(out.Run.Context.AppendJSON(nil)); got != `{"n":7,"risk":"low","owner":"ops"}` {
		t.Error(got)
	}
	if out.Run.Status != workflow.Running || len(out.Run.Approvals()) > 0 {
		t.Error("it waits for an approval that nobody has asked")
	}
	want := `from version 3 to version 4; dropped: approval apr_1, which was asked by the other version, evidence "green"`
	if out.Entry.Reason != want || out.Entry.WorkflowVersion != 4 || out.Entry.Type != workflow.EventMigrated {
		t.Errorf("%+v", out.Entry)
	}
	if len(workflow.KeptEvidence(from, to, nil)) > 0 || len(workflow.KeptEvidence(from, from, nil)) != 1 {
		t.Error("evidence of another command was kept, or the same dropped")
	}
	again, err := to.ReplayMigration(from, &run, &out.Entry)
	if err != nil || again.State != out.Run.State || again.WorkflowVersion != 4 {
		t.Errorf("%v %+v", err, again)
	}
	if same := from.Step(&run, workflow.Migrate{To: from, Actor: "ops"}, noon); same.Changed || same.Rejection != nil {
		t.Error("it has moved to where it is")
	}
	ended := from.Step(&run, workflow.Cancel{Actor: "ops"}, noon).Run
	if out := from.Step(&ended, workflow.Migrate{To: to, Actor: "ops"}, noon); out.Rejection == nil || out.Rejection.Code != workflow.RejectRunNotRunning {
		t.Errorf("%+v", out.Rejection)
	}
}

func BenchmarkMigrationPlan(b *testing.B) {
	for _, size := range []int{50, 200, 1000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			m, to := workflow.Compile(mustParse(b, chainOf(size)), 1), workflow.Compile(mustParse(b, chainOf(size)), 2)
			pairs := 0
			for b.Loop() {
				plan := migrate.New(&migrate.Migration{From: m, To: to}, explore.Bounds{})
				if plan.Verdict != verify.Proved {
					b.Fatal(plan.Verdict, plan.Reason)
				}
				pairs = plan.States
			}
			b.ReportMetric(float64(pairs), "pairs")
		})
	}
}

// chainOf is a workflow of many states, each with a guard and an evidence.
func chainOf(n int) string {
	var states []string
	for i := range n {
		to := fmt.Sprintf("s%d", i+1)
		if i == n-1 {
			to = "done"
		}
		states = append(states, fmt.Sprintf(`"s%d": {"allowed_tools": ["Read", "Edit", "Bash"], "allowed_commands": ["go test"], "on": {"NEXT": {"target": %q, "guards": ["big", "tested"]}, "BACK": "s0"}}`, i, to))
	}
	return `{"id": "chain", "initial": "s0", "states": {` + strings.Join(states, ",") + `, "done": {"type": "final"}}, "evidence": {"green": {"tool": "Bash", "command": "go test", "after": "edit"}}, "guards": {"big": {"field": "n", "op": "gt", "value": 3}, "tested": {"evidence": "green"}}}`
}

// A run that has moved conforms: before the move to the old version, and after it to the new
// one (S17.5).
func TestMovedRunConforms(t *testing.T) {
	t.Parallel()
	d := drawer{randtest.New(t, 19)}
	moved := 0
	for range randtest.Size(60, 2000) {
		first := mustParse(t, d.workflow())
		old, to := workflow.Compile(first, 1), workflow.Compile(first, 2)
		trace := recorded(t, old, d, 10)
		trace.Definitions = map[int64]*workflow.Machine{1: old, 2: to}
		before := len(trace.History)
		run := played(t, trace)
		out := old.Step(&run, workflow.Migrate{To: to, States: map[string]string{"s0": "s0"}, Actor: "ops"}, noon.Add(time.Hour))
		if !out.Changed {
			continue
		}
		moved++
		trace.History = append(trace.History, out.Entry)
		for _, lane := range out.Run.Lanes() {
			for _, c := range someCalls {
				input := fmt.Sprintf(`{"command": %q}`, c.command)
				v := toolcall.Decide(to, &lane, toolcall.Call{Tool: c.tool, Input: []byte(input)})
				trace.Decisions = append(trace.Decisions, conform.Traced{
					Sequence: int64(len(trace.Decisions) + 1), RunVersion: out.Run.Version, Branch: lane.Branch, State: lane.State, Tool: c.tool,
					Input: []byte(input), Digest: toolcall.InputDigest(c.tool, []byte(input)), Decision: v.Decision, Code: v.Code, Time: noon,
				})
			}
		}
		if all := conform.Conform(trace); len(all.Differences) > 0 || all.History != before+1 {
			t.Fatalf("%d of %d: %v", all.History, before+1, all.Differences)
		}
		trace.History[before].To += "x"
		if all := conform.Conform(trace); len(all.Differences) == 0 {
			t.Fatal("a forged move conforms")
		}
	}
	if moved < 20 {
		t.Errorf("%d runs moved", moved)
	}
}

// played is a run as its history leaves it.
func played(t *testing.T, trace *conform.Trace) workflow.Run {
	t.Helper()
	run := workflow.Run{ID: trace.RunID, Workspace: trace.Workspace}
	for i := range trace.History {
		e := &trace.History[i]
		next, err := trace.Definitions[e.WorkflowVersion].Replay(&run, e)
		if err != nil {
			t.Fatal(err)
		}
		run = next
	}
	return run
}

// Who accepts a plan accepts this one: its digest tells apart whatever it says, and what it is
// about.
func TestMigrationDigest(t *testing.T) {
	t.Parallel()
	plan := func(from, to string, states map[string]string, digests [2]string) string {
		m := &migrate.Migration{From: workflow.Compile(mustParse(t, from), 3), To: workflow.Compile(mustParse(t, to), 4), States: states, Digests: digests}
		return migrate.New(m, explore.Bounds{MaxStates: 2000}).Digest
	}
	without := strings.Replace(shipping, `"green": {`, `"red": {`, 1)
	without = strings.Replace(without, `"tested": {"evidence": "green"}`, `"tested": {"evidence": "red"}`, 1)
	moved := strings.ReplaceAll(shipping, `"ship"`, `"send"`)
	ab := [2]string{"a", "b"}
	seen := map[string]string{}
	for name, digest := range map[string]string{
		"itself":              plan(shipping, shipping, nil, ab),
		"another definition":  plan(shipping, shipping, nil, [2]string{"a", "c"}),
		"from another":        plan(shipping, shipping, nil, [2]string{"c", "b"}),
		"one text of two":     plan(shipping, shipping, nil, [2]string{"ab", ""}),
		"evidence is dropped": plan(shipping, without, nil, ab),
		"states are mapped":   plan(shipping, moved, map[string]string{"ship": "send"}, ab),
		"states have to stay": plan(shipping, moved, nil, ab),
	} {
		if was, is := seen[digest]; is {
			t.Errorf("%s and %s have the digest %s", was, name, digest)
		}
		seen[digest] = name
	}
	if again := plan(shipping, shipping, nil, ab); seen[again] != "itself" {
		t.Errorf("the same plan has another digest")
	}
}
