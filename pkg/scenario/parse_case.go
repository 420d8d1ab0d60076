package scenario

import (
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/rules"
	tree "github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/workflow"
)

func (p *parser) testCase(v document.Value, at *document.Path) {
	f, ok := p.report.Object(v, at, "a case")
	if !ok {
		return
	}
	f.Known("a case", "name", "given", "steps")
	f.Require("name", "steps")
	c := testCase{line: p.lines.of(at.String())}
	c.name, _ = f.Text("name")
	p.given(f, &c)
	if !p.steps(f, &c, maxSteps) {
		return
	}
	if steps, _ := f.Value.Get("steps"); steps.Len() == 0 {
		p.report.Errorf(at.Key("steps"), document.CodeEmpty, "there is no step to test; add one")
	}
	p.suite.cases = append(p.suite.cases, c)
}

// steps reads at most that many steps of a case; false when they are not a list.
func (p *parser) steps(f document.Fields, c *testCase, most int) bool {
	steps, ok := f.List("steps", most)
	for i, v := range steps.Elements() {
		if s, ok := p.step(v, f.At.Key("steps").At(i)); ok {
			c.steps = append(c.steps, s)
		}
	}
	return ok
}

// given starts the run of a case, so that a failing start is a problem of the file.
func (p *parser) given(f document.Fields, c *testCase) {
	given, _ := f.Object("given")
	given.Known("given", "state", "context", "evidence", "at", "depth", "human", "caller", "agent", "labels", "freeze")
	c.begins = p.beginsAt(given)
	c.depth = -1
	if depth, ok := given.Integer("depth", 0); ok {
		c.depth = int(min(depth, tree.MaxDepth))
	}
	c.who = readWho(given)
	if given.Has("freeze") {
		c.freeze, _ = p.freeze(given).(freeze)
	}
	state, named := given.Text("state")
	context, _ := given.Object("context")
	if p.suite.main == nil {
		return
	}
	m := p.suite.main.machine
	out := m.Start(workflow.StartParams{
		ID: "run", SessionID: session, Workspace: p.suite.workspace, Owner: actor, Context: context.Value,
	}, actor, c.begins)
	if out.Rejection != nil {
		p.report.Errorf(given.At.Key("context"), document.Code(out.Rejection.Code), "%s", out.Rejection.Message)
		return
	}
	c.start = out.Run
	if named {
		p.beginIn(c, m, state, given.At.Key("state"))
	}
	p.givenEvidence(c, m, given)
}

// beginsAt returns when the case begins.
func (p *parser) beginsAt(given document.Fields) time.Time {
	text, ok := given.Text("at")
	if !ok {
		return epoch
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		p.report.Errorf(given.At.Key("at"), document.CodeRange, "%s is not an instant; write it with its offset, such as 2026-11-27T16:50:00Z", document.Quote(text))
	}
	return at
}

// beginIn puts the run into another state than the initial one, as if it had come
// there before.
func (p *parser) beginIn(c *testCase, m *workflow.Machine, name string, at *document.Path) {
	state := m.State(name)
	if own := func(name string) bool { return !strings.HasPrefix(name, "$") }; !state.Known() || !own(name) {
		var names []string
		for i := range m.Definition().States {
			if known := m.Definition().States[i].Name; own(known) {
				names = append(names, known)
			}
		}
		p.unknownState(at, name, names)
		return
	}
	c.start.State = name
	switch {
	case !state.Final:
	case state.Outcome == workflow.Failure:
		c.start.Status = workflow.Failed
	default:
		c.start.Status = workflow.Completed
	}
}

func (p *parser) unknownState(at *document.Path, name string, names []string) {
	hint := p.report.DidYouMean(name, slices.Values(names))
	if hint == "" {
		hint = "; name one of its states"
	}
	p.report.Errorf(at, workflow.CodeUnknownState, "no state %s%s", document.Quote(name), hint)
}

// The keys of a step that name the action, and those next to them.
var (
	actions  = []string{"call", "report", "event", "answer", "approve", "reject", "advance", "until", "branch", "pause", "resume", "force_state", "freeze", "lift_freeze"}
	stepKeys = append(slices.Clone(actions), "data", "note", "expect")
)

func (p *parser) step(v document.Value, at *document.Path) (step, bool) {
	f, ok := p.report.Object(v, at, "a step")
	if !ok {
		return step{}, false
	}
	f.Known("a step", stepKeys...)
	var does []string
	for name := range f.Value.Members() {
		if slices.Contains(actions, name) {
			does = append(does, name)
		}
	}
	switch len(does) {
	case 0:
		p.report.Errorf(at, document.CodeRequired, "a step does one thing: add one of %s", strings.Join(actions, ", "))
		return step{}, false
	case 1:
	default:
		p.report.Errorf(at, document.CodeConflict, "a step does one thing, this one has %s; write a step for each", strings.Join(does, " and "))
		return step{}, false
	}
	if f.Has("data") && does[0] != "event" {
		p.report.Errorf(at.Key("data"), document.CodeConflict, "only an event carries data; remove it")
	}
	if f.Has("note") && does[0] != "answer" {
		p.report.Errorf(at.Key("note"), document.CodeConflict, "a note belongs to an answer or to a decision; remove it")
	}
	s := step{line: p.lines.of(at.String()), action: p.action(f, does[0])}
	s.expect = p.expect(f, does[0])
	return s, true
}

// action reads the action of a step. Problems are reported, and then the step is not
// taken.
func (p *parser) action(f document.Fields, name string) action {
	switch name {
	case "call":
		return p.call(f)
	case "report":
		return p.reported(f)
	case "event":
		event, _ := f.Text("event")
		data, _ := f.Object("data")
		return fire{event: event, data: data.Value}
	case "answer":
		if !p.answers {
			p.report.Errorf(f.At.Key("answer"), document.CodeConflict, "a workflow asks no questions; write \"event\", or name a \"process\"")
		}
		key, _ := f.Text("answer")
		note, _ := f.Str("note")
		return answer{key, note}
	case "approve", "reject":
		return p.decision(f, name)
	case "advance":
		return p.advance(f)
	case "until":
		event, _ := f.Text("until")
		return until(event)
	case "branch":
		branch, _ := f.Str("branch")
		return bind{branch: branch}
	case "pause", "resume":
		empty, _ := f.Object(name)
		empty.Known(name)
		if name == "pause" {
			return pause{}
		}
		return resume{}
	case "freeze":
		return p.freeze(f)
	case "lift_freeze":
		empty, _ := f.Object(name)
		empty.Known(name)
		return liftFreeze{}
	default:
		return p.force(f)
	}
}

func (p *parser) call(f document.Fields) action {
	c, ok := f.Object("call")
	if !ok {
		return nil
	}
	c.Known("a call", "tool", "input", "jail", "call_id", "estimated_cost_usd")
	c.Require("tool")
	a := call{estimate: p.money(c, "estimated_cost_usd")}
	a.tool, _ = c.Text("tool")
	a.id, _ = c.Str("call_id")
	level, _ := c.Integer("jail", 0)
	if a.jail = jail.Level(min(level, int64(jail.Full))); level > int64(jail.Full) {
		c.Report.Errorf(c.At.Key("jail"), document.CodeRange, "%d is not a level of jails; give a number from 0 to 3", level)
	}
	if input, _ := c.Object("input"); !input.Value.IsZero() {
		a.input = input.Value.AppendJSON(nil)
	}
	return a
}

func (p *parser) reported(f document.Fields) action {
	r, ok := f.Object("report")
	if !ok {
		return nil
	}
	r.Known("a report", "tool", "call_id", "ok", "files_changed", "result_bytes", "cost_usd", "output")
	r.Require("tool")
	a := report{ok: true}
	a.tool, _ = r.Text("tool")
	if r.Has("ok") {
		a.ok = r.Bool("ok")
	}
	files, _ := r.Strings("files_changed", maxItems)
	for _, file := range files {
		if file.Text == "" {
			p.report.Errorf(file.At, document.CodeEmpty, "a changed file has no name; write its path")
		}
	}
	a.files = document.Texts(files)
	a.id, _ = r.Str("call_id")
	if output, ok := r.Value.Get("output"); ok {
		a.output = output.AppendJSON(nil)
		if output.Kind() == document.String {
			a.output = []byte(output.Str())
		}
	}
	a.bytes, _ = r.Integer("result_bytes", 0)
	a.cost, a.costed = p.money(r, "cost_usd"), r.Has("cost_usd")
	return a
}

// money reads an amount of dollars, in a text: money is never a float.
func (p *parser) money(f document.Fields, name string) rules.MicroUSD {
	text, ok := f.Str(name)
	if !ok {
		return 0
	}
	amount, ok := rules.ParseCost(text)
	if !ok {
		p.report.Errorf(f.At.Key(name), document.CodeNumber, `%s is not an amount in US dollars; write one like "0.02"`, document.Quote(text))
	}
	return amount
}

func (p *parser) decision(f document.Fields, name string) action {
	d, ok := f.Object(name)
	if !ok {
		return nil
	}
	a := decision{approve: name == "approve", role: consent.RoleApprover}
	if a.approve {
		d.Known("an approval", "by", "role", "note", "edited_data")
		edited, _ := d.Object("edited_data")
		a.edited = edited.Value
	} else {
		d.Known("a rejection", "by", "role", "note")
	}
	d.Require("by")
	a.by, _ = d.Text("by")
	a.note, _ = d.Str("note")
	if role, ok := d.Text("role"); ok {
		a.role = role
	}
	return a
}

func (p *parser) advance(f document.Fields) action {
	d, ok := p.duration(f, "advance")
	if !ok {
		return nil
	}
	return advance(d)
}

// duration reads a time that passes, or lasts.
func (p *parser) duration(f document.Fields, name string) (time.Duration, bool) {
	text, ok := f.Str(name)
	if !ok {
		return 0, false
	}
	d, err := document.ParseDuration(text)
	if err != nil || d <= 0 {
		p.report.Errorf(f.At.Key(name), document.CodeRange, "%s is not a valid duration: %v", document.Quote(text), document.ErrDuration)
		return 0, false
	}
	return d, true
}

func (p *parser) force(f document.Fields) action {
	c, ok := f.Object("force_state")
	if !ok {
		return nil
	}
	c.Known("force_state", "state", "context")
	c.Require("state")
	state, _ := c.Text("state")
	context, _ := c.Object("context")
	return force{state: state, context: context.Value}
}
