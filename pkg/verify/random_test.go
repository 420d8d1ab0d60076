package verify_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/workflow"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// drawer writes random workflows: guards of every operator on few fields, approvals,
// interrupts, a fork, an invoke, so that all of it meets.
type drawer struct{ *rand.Rand }

func (d drawer) of(options ...string) string { return options[d.IntN(len(options))] }

func (d drawer) guard(depth int) string {
	field := d.of("x", "x", "y", "o.p", "/o/q", "results.CALL.x")
	source := ""
	if d.IntN(12) == 0 {
		source = d.of(`, "source": "observed"`, `, "source": "human"`, `, "source": "operator"`)
	}
	switch d.IntN(12) {
	case 0:
		return fmt.Sprintf(`{"field": %q, "op": %q%s}`, field, d.of("exists", "not_exists"), source)
	case 1, 2:
		return fmt.Sprintf(`{"field": %q, "op": "in", "value": [%s, %s]%s}`, field, d.json(), d.json(), source)
	case 3:
		return fmt.Sprintf(`{"field": %q, "op": "contains", "value": %s%s}`, field, d.of(`"a"`, `"ab"`, `1`, `"p"`), source)
	case 4, 5, 6:
		return fmt.Sprintf(`{"field": %q, "op": %q, "value": %s%s}`, field, d.of("gt", "gte", "lt", "lte"), d.of("0", "1", "2", "1.5"), source)
	case 7:
		if depth > 0 {
			return fmt.Sprintf(`{%q: [%s, %s]}`, d.of("all", "any"), d.guard(depth-1), d.guard(depth-1))
		}
	case 8:
		if depth > 0 {
			return fmt.Sprintf(`{"not": %s}`, d.guard(depth-1))
		}
	}
	return fmt.Sprintf(`{"field": %q, "op": %q, "value": %s%s}`, field, d.of("eq", "neq"), d.json(), source)
}

// json draws a value, of which few are what guards compare with.
func (d drawer) json() string {
	return d.of(`0`, `1`, `1.0`, `2`, `1.7`, `-3`, `"a"`, `"ab"`, `"xaby"`, `""`, `true`, `false`, `null`, `[]`, `[1]`, `["a", 1]`, `{}`, `{"p": 1}`, `{"p": "a", "q": 2}`, `{"q": null}`)
}

func (d drawer) target(to string, guards int) string {
	plain := fmt.Sprintf(`%q`, to)
	switch d.IntN(5) {
	case 0:
		return plain
	case 1:
		return fmt.Sprintf(`{"target": %q, "requires_approval": true}`, to)
	case 2:
		return fmt.Sprintf(`[{"target": %q, "guard": "g%d"}, {"target": %q, "guards": ["g%d", "g%d"]}]`, to, d.IntN(guards), to, d.IntN(guards), d.IntN(guards))
	default:
		return fmt.Sprintf(`{"target": %q, "guard": "g%d"}`, to, d.IntN(guards))
	}
}

var commandEntries = []string{`"go test"`, `"git *"`, `"npm run ?est"`, `"kubectl get"`, `"ls"`, `"@inert"`}

func (d drawer) tools() string {
	text := d.of(``, `"allowed_tools": ["Read"],`, `"allowed_tools": ["Read", "Edit"],`, `"allowed_tools": ["Read", "Bash"],`, `"allowed_tools": ["mcp__mail__*", "Bash", "Edit"], "disallowed_tools": ["mcp__mail__send"],`)
	if d.IntN(2) == 0 {
		text += fmt.Sprintf(`"allowed_commands": [%s, %s],`, d.of(commandEntries...), d.of(commandEntries...))
	}
	if d.IntN(3) == 0 {
		text += fmt.Sprintf(`"max_iterations": %d,`, 1+d.IntN(3))
	}
	return text
}

// workflow draws until it is one that the product takes.
func (d drawer) workflow() string {
	for {
		src := d.draft()
		if _, problems := workflow.Parse([]byte(src)); !problems.HasErrors() {
			return src
		}
	}
}

func (d drawer) draft() string {
	states, guards := 3+d.IntN(3), 2+d.IntN(3)
	name := func(i int) string { return fmt.Sprintf("s%d", i) }
	var all []string
	fork, call := d.IntN(2) == 0, d.IntN(2) == 0
	for i := range states {
		var on []string
		for j, n := 0, 1+d.IntN(3); j < n; j++ {
			to := name(d.IntN(states))
			if d.IntN(4) == 0 {
				to = d.of("done", "failed")
			}
			on = append(on, fmt.Sprintf(`"E%d": %s`, j, d.target(to, guards)))
		}
		if fork && d.IntN(3) == 0 {
			on = append(on, fmt.Sprintf(`"FORK": {"fork": {"branches": {"a": {"initial": "a0", "terminal": "a2"}, "b": {"initial": "b0", "terminal": "b2"}}, "join": %q, "on_complete": %q, "on_fail": %q}}`,
				d.of("all", "any"), name(d.IntN(states)), name(d.IntN(states))))
		}
		if call && d.IntN(3) == 0 {
			on = append(on, fmt.Sprintf(`"CALL": {"invoke": "child", "on_complete": %q, "on_fail": %q}`, name(d.IntN(states)), name(d.IntN(states))))
		}
		safe := ""
		if d.IntN(6) == 0 {
			safe = fmt.Sprintf(`"safe_next": %q,`, name(d.IntN(states)))
		}
		all = append(all, fmt.Sprintf(`%q: {%s %s "on": {%s}}`, name(i), d.tools(), safe, strings.Join(on, ", ")))
	}
	for _, b := range []string{"a", "b"} {
		if fork {
			all = append(all, fmt.Sprintf(`"%[1]s0": {%[2]s "on": {"GO": %[3]s, "STAY": "%[1]s0"}}, "%[1]s1": {%[4]s "on": {"GO": %[5]s, "LOSE": "%[1]s3"}}, "%[1]s2": {"type": "final"}, "%[1]s3": {"type": "final"}`,
				b, d.tools(), d.target(b+"1", guards), d.tools(), d.target(b+"2", guards)))
		}
	}
	interrupts := ""
	if d.IntN(2) == 0 {
		all = append(all, fmt.Sprintf(`"h0": {%s "on": {"FIX": "h1", "BACK": "$return"}}, "h1": {"on": {"BACK": %s}}`, d.tools(), d.of(`"$return"`, `{"target": "$return", "guard": "g0"}`)))
		interrupts = `"interrupts": {"check": {"trigger": {"file_pattern": "src/**/*.js"}, "target": "h0"}},`
	}
	var gs []string
	for i := range guards {
		gs = append(gs, fmt.Sprintf(`"g%d": %s`, i, d.guard(2)))
	}
	inputs := d.of(``, ``, `"inputs": ["x"],`)
	enforce := d.of(``, `, "enforcement": "always"`, `, "enforcement": "while_running"`)
	return fmt.Sprintf(`{"id": "drawn", "initial": "s0", "context": %s, %s "states": {%s, "done": {"type": "final"}, "failed": {"type": "final"}}, "guards": {%s}, %s "meta": {"approval_mode": %q%s}}`,
		d.of(`{}`, `{"x": 0}`, `{"x": null, "y": "a"}`, `{"o": {"p": 1}}`), inputs, strings.Join(all, ", "), strings.Join(gs, ", "), interrupts, d.of("ui", "ui", "none"), enforce)
}

const drawnChild = `{"id": "child", "initial": "c0", "states": {"c0": {"allowed_tools": ["Read"], "on": {"GO": "c1", "LOSE": "c3"}}, "c1": {"allowed_tools": ["Bash"], "allowed_commands": ["make"], "on": {"END": "c2"}}, "c2": {"type": "final"}, "c3": {"type": "final", "outcome": "failure"}}}`

// walker takes real steps at random, as agents, approvers and interrupts do.
type walker struct {
	drawer
	m, child *workflow.Machine
	run      workflow.Run
	kid      *workflow.Run
	now      time.Time
	// told is all that was announced, in order.
	runEvents []workflow.Event
	// agreed is true in what a human has let through.
	granted bool
	// commanded is told every command of the run that has changed it; may be nil.
	commanded func(workflow.Command, *workflow.Result)
}

func (w *walker) data() document.Value {
	var members []document.Member
	for _, key := range []string{"x", "y", "o", "results", "other"} {
		if w.IntN(3) == 0 && (key != "results" || w.IntN(3) == 0) {
			v, _ := document.Parse([]byte(w.json()), document.Limits{})
			members = append(members, document.Member{Name: key, Value: v})
		}
	}
	return document.ObjectValue(members)
}

// step takes one step; what is refused changes nothing.
func (w *walker) step() {
	w.now = w.now.Add(time.Second)
	w.runEvents = w.runEvents[:0]
	lanes := w.run.Lanes()
	if len(lanes) == 0 {
		return
	}
	lane := lanes[w.IntN(len(lanes))]
	if w.kid != nil && w.IntN(2) == 0 {
		w.stepKid()
		return
	}
	var cmd workflow.Command
	switch {
	case lane.Approval.Pending():
		switch w.IntN(4) {
		case 0:
			cmd = workflow.Reject{ApprovalID: lane.Approval.ID, Actor: "alice"}
		case 1:
			cmd = workflow.Reject{ApprovalID: lane.Approval.ID, Outcome: workflow.ApprovalExpired, Actor: "alice"}
		case 2:
			cmd = workflow.Grant{ApprovalID: lane.Approval.ID, Data: w.data(), Actor: "alice"}
		default:
			cmd = workflow.Grant{ApprovalID: lane.Approval.ID, Actor: "alice"}
		}
	case w.IntN(8) == 0:
		cmd = workflow.Divert{Interrupt: "check", Files: []string{"src/a.js"}, Branch: lane.Branch, Actor: "agent"}
	default:
		event := "NONSENSE"
		if legal := w.m.LegalEvents(lane.State); len(legal) > 0 && w.IntN(8) > 0 {
			event = legal[w.IntN(len(legal))].Event
		}
		fire := workflow.Fire{Event: event, Data: w.data(), Branch: lane.Branch, ApprovalID: fmt.Sprint("apr_", w.now.Unix()), Actor: "agent"}
		if w.m.State(lane.State).Invokes(event) != "" {
			fire.Child, fire.ChildID = w.child, fmt.Sprint("run_", w.now.Unix())
		}
		cmd = fire
	}
	w.take(cmd)
}

func (w *walker) take(cmd workflow.Command) {
	out := w.m.Step(&w.run, cmd, w.now)
	if !out.Changed {
		return
	}
	if w.commanded != nil {
		w.commanded(cmd, &out)
	}
	_, grant := cmd.(workflow.Grant)
	w.granted = w.granted || grant && out.Entry.Type == workflow.EventTransitioned
	w.run = out.Run
	w.runEvents = append(w.runEvents, out.Events...)
	if out.Spawned != nil {
		kid := out.Spawned.Run
		w.kid = &kid
	}
	if len(w.run.Children()) == 0 {
		w.kid = nil
	}
}

func (w *walker) stepKid() {
	legal := w.child.LegalEvents(w.kid.State)
	if len(legal) == 0 {
		return
	}
	out := w.child.Step(w.kid, workflow.Fire{Event: legal[w.IntN(len(legal))].Event, Data: w.data(), Actor: "agent"}, w.now)
	if !out.Changed {
		return
	}
	kid := out.Run
	w.kid = &kid
	if kid.Status.Ended() {
		w.take(workflow.ChildEnded{Child: kid, Actor: "agent"})
	}
}

func newWalker(d drawer, m *verify.Model) *walker {
	w := &walker{drawer: d, m: m.Main.Machine, child: m.Others[0].Machine, now: noon}
	context := document.ObjectValue(nil)
	if w.m.Definition().InputsDeclared && d.IntN(2) == 0 {
		v, _ := document.Parse([]byte(d.json()), document.Limits{})
		context = document.ObjectValue([]document.Member{{Name: "x", Value: v}})
	}
	w.run = w.m.Start(workflow.StartParams{ID: "run_1", SessionID: "ses_1", Workspace: "/workspace", Owner: "agent", Context: context, Source: evidence.Agent}, "agent", noon).Run
	return w
}

var someCalls = []struct{ tool, command string }{
	{"Read", ""},
	{"Edit", ""},
	{"mcp__mail__send", ""},
	{"mcp__mail__draft", ""},
	{"Bash", "go test ./..."},
	{"Bash", "git push origin"},
	{"Bash", "npm run test"},
	{"Bash", "kubectl get pods"},
	{"Bash", "ls -l"},
	{"Bash", "echo hi"},
	{"Bash", "timeout 5 git push"},
	{"Bash", "CI=1 go test"},
}

// TestSound: wherever a real run comes, the exploration has been, and what a real call is
// allowed, the exploration takes to be possible.
func TestSound(t *testing.T) {
	t.Parallel()
	d := drawer{randtest.New(t, 1)}
	steps, calls, globals := 0, 0, 0
	for range randtest.Size(40, 2000) {
		src := d.workflow()
		m := model(t, src+"\n---\n"+drawnChild)
		all := verify.Explore(m)
		globals += all.GlobalStates
		for range 4 {
			w := newWalker(d, m)
			for range 25 {
				if why := all.Uncovered(&w.run); why != "" {
					t.Fatalf("not explored: %s\n%s", why, src)
				}
				if w.kid != nil && !w.kid.Status.Ended() {
					if why := all.Uncovered(w.kid); why != "" {
						t.Fatalf("not explored: %s\n%s", why, src)
					}
				}
				for _, lane := range w.run.Lanes() {
					c := someCalls[d.IntN(len(someCalls))]
					input := `{"file_path": "a.txt", "old_string": "a", "new_string": "b"}`
					subject := workflow.Subject{Tool: c.tool}
					if c.command != "" {
						input = fmt.Sprintf(`{"command": %q}`, c.command)
						words := strings.Fields(strings.TrimPrefix(strings.TrimPrefix(c.command, "timeout 5 "), "CI=1 "))
						subject.Command = d.of(words[0], strings.Join(words[:min(2, len(words))], " "), words[0]+" *", "*")
						if subject.Command == words[0]+" *" && len(words) == 1 {
							subject.Command = words[0]
						}
					}
					v := toolcall.Decide(w.m, &lane, toolcall.Call{Tool: c.tool, Input: []byte(input)})
					if v.Decision == toolcall.Allow && !all.Possible(&w.run, lane.Branch, subject) {
						t.Fatalf("%s %s is allowed in %s, and %+v is not possible\n%s", c.tool, c.command, lane.State, subject, src)
					}
					if v.Decision == toolcall.Allow {
						calls++
					}
				}
				before := w.run.Version
				w.step()
				if w.run.Version != before {
					steps++
				}
			}
		}
	}
	t.Logf("%d global states, %d steps, %d allowed calls", globals, steps, calls)
	if steps < 800 || calls < 800 {
		t.Errorf("the walks are too tame: %d steps, %d allowed calls", steps, calls)
	}
}
