package attack

import (
	"strconv"
	"strings"
)

// move requests a transition: one that the state defines, or any other.
func (g *Grammar) move(r *Rand, v *View) Step {
	s := Step{Do: Fire, As: who(r)}
	if g.process {
		s.Do = Answer
	}
	s.at(r, v)
	run := v.present(&s)
	if run != nil {
		s.Do = Fire
		if run.Process {
			s.Do = Answer
		}
	}
	switch n := r.N(20); {
	case n < 16 && run != nil && len(run.Events) > 0:
		s.Event = pick(r, run.Events)
		for range 3 {
			if g.ends[s.Event] { // a run that has ended shows little
				s.Event = pick(r, run.Events)
			}
		}
	case n < 18 && len(g.events) > 0:
		s.Event = pick(r, g.events)
	default:
		s.Event = pick(r, append([]string{
			"NOPE", "$return", "BRANCH_DONE", "BRANCH_DONE:x", strings.ToLower(pick(r, g.events)), pick(r, g.events) + " ", "__proto__", strings.Repeat("E", 300), "",
		}, g.states...))
	}
	if r.Chance(60) {
		s.Data = g.data(r)
	}
	s.version(r)
	if r.Chance(20) {
		s.Key = "k" + strconv.Itoa(r.N(4))
	}
	return s
}

// data sets values that guards read, and values that no caller may set.
func (g *Grammar) data(r *Rand) string {
	if r.N(12) == 0 {
		return pick(r, []string{"{", "null", "[1]", `{"a":1,"a":2}`, `{"__proto__":{"x":1}}`, `{"$interlock":1}`, `{"results":{"X":{}}}`, `{"rationale":"because"}`, strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70)})
	}
	var pairs []any
	for _, key := range g.keys {
		if !r.Chance(70) {
			continue
		}
		value := "true"
		if len(g.values) > 0 && r.Chance(70) {
			value = pick(r, g.values)
		} else {
			value = pick(r, []string{value, "false", "0", "1", "-1", "9007199254740993", `""`, `"yes"`, "null", "[]", "{}", "1e400"})
		}
		pairs = append(pairs, key, raw(value))
	}
	return object(pairs...)
}

// decide lets people decide, and others who must not.
func (g *Grammar) decide(r *Rand, v *View) Step {
	s := Step{Do: Decide, As: pick(r, []string{Approver, Second, Agent, Asker, Loose, Other, Child, Observer, Operator, Nobody, Runtime}), Approval: 1 + r.N(len(v.Approvals)+1)}
	if r.Chance(50) {
		s.As = pick(r, []string{Approver, Second})
	}
	for i, a := range v.Approvals {
		if a.Pending && r.Chance(60) {
			s.Approval = i + 1
		}
	}
	switch r.N(12) {
	case 0:
		s.Do = Settle
	case 1:
		s.Do = Consume
	case 2:
		s.Do = Void
	case 3:
		s.Data = g.data(r)
	}
	if s.Do != Decide && r.Chance(50) {
		s.As = Agent
	}
	s.Reject = r.Chance(20)
	return s
}

// repeat makes a call again by its id: the same, or another.
func (g *Grammar) repeat(r *Rand, v *View) Step {
	if len(v.Calls) == 0 {
		return g.check(r, v)
	}
	s := v.Calls[len(v.Calls)-1-r.N(min(4, len(v.Calls)))].Step
	switch r.N(6) {
	case 0:
		s.As = who(r)
	case 1:
		s.Input = g.input(r, s.Tool, v.present(&s))
	case 2:
		s.Tool = g.toolFor(r, v.present(&s))
	}
	return s
}

// race plays a step in the middle of another.
func (g *Grammar) race(r *Rand, v *View) Step {
	draws := []func(*Rand, *View) Step{g.check, g.move, g.move, g.report, g.leave, g.decide}
	s := pick(r, draws)(r, v)
	other := pick(r, draws)(r, v)
	if r.Chance(50) {
		other = s
	}
	if other.Call != "" && other.Do == Check && r.Chance(50) {
		other.Call += "r"
	}
	s.Race, s.Commit = &other, 1+r.N(2)
	return s
}

// leave tries to get out of the workflow.
func (g *Grammar) leave(r *Rand, v *View) Step {
	s := Step{Do: pick(r, []Do{Pause, Pause, Resume, Resume, Resume, Cancel, Force, Bind, Interrupt}), As: who(r)}
	s.at(r, v)
	switch s.Do {
	case Cancel:
		if r.Chance(70) {
			s.As = Other
		}
	case Force:
		s.Event, s.Data = pick(r, g.states), g.data(r)
	case Bind:
		s.Session = pick(r, []string{"s1", "s2", "s3"})
		if s.Branch == "" {
			s.Branch = pick(r, []string{"x", "lint", "a/b"})
		}
	case Interrupt:
		s.Call, s.Files = "forged0", []string{g.file(r)}
		if len(v.Calls) > 0 {
			s.Call = pick(r, v.Calls).Step.Call
		}
	case Resume:
		if r.Chance(40) {
			s.As = Operator
		}
	}
	return s
}

// forbidden returns a step that only operators and services may do.
func (g *Grammar) forbidden(r *Rand, _ *View) Step {
	return Step{Do: pick(r, []Do{Register, Policy}), As: pick(r, []string{Agent, Agent, Loose, Other, Runtime, Approver, Nobody})}
}

// write edits the state that the first session shares: parts that it may write, and parts that
// it may not.
func (g *Grammar) write(r *Rand, _ *View) Step {
	s := Step{
		Do: Write, As: pick(r, []string{Agent, Agent, Agent, Child, Other, Loose, Runtime, Operator, Approver, Nobody}), Session: pick(r, []string{"s1", "s1", "s1", "s3", "s2"}),
		Data: pick(r, []string{
			`{"notes":"a"}`, `{"notes":"b"}`, `{"notes":"c"}`, `{"notes":""}`, `{"notes":null}`, `{"verdict":"good"}`, `{"seal":1}`, `{"notes":"d","verdict":"good"}`,
			`{"verdict":null}`, `{"other":1}`, `{"notes":7}`, `[]`, `{`, `{"notes":"` + strings.Repeat("x", 1001) + `"}`, `{"notes":"e","notes":"f"}`, `{"/verdict":"x"}`,
		}),
		Stale: r.Chance(15),
	}
	if r.Chance(20) {
		s.Key = "w" + strconv.Itoa(r.N(3))
	}
	return s
}

// begin starts runs, in the same session and in others.
func (g *Grammar) begin(r *Rand, v *View) Step {
	s := Step{Do: Start, As: pick(r, []string{Agent, Agent, Other, Child, Loose, Operator}), Session: pick(r, []string{"s1", "s1", "s2", "s3"}), Data: g.data(r)}
	if r.Chance(40) {
		s.Data = ""
	}
	return s
}

// session ends sessions, and resumes them.
func (g *Grammar) session(r *Rand, _ *View) Step {
	return Step{Do: pick(r, []Do{Stop, Revive, Revive}), As: pick(r, []string{Agent, Other, Child, Loose, Operator, Operator}), Session: pick(r, []string{"s1", "s2", "s3"})}
}

// time lets it pass, also backwards.
func (g *Grammar) time(r *Rand, _ *View) Step {
	return Step{Do: Advance, Seconds: int64(pick(r, []int{1, 30, 61, 600, 3601, 86_401, 90_000, -1, -60, -3600}))}
}

// stall lets most of a delay pass, does what might set a clock back, and lets the rest pass: again and again.
func (g *Grammar) stall(r *Rand, v *View) (all []Step) {
	n := len(v.Runs)
	run := v.run(n)
	if run == nil {
		return nil
	}
	for range 2 + r.N(3) {
		delay := pick(r, g.delays)
		all = append(all, Step{Do: Advance, Seconds: int64(pick(r, []int{delay - 1, delay / 2, delay * 9 / 10}))})
		switch tricks := r.N(4); {
		case tricks == 0:
			all = append(all, Step{Do: Pause, As: Agent, Run: n}, Step{Do: Resume, As: Agent, Run: n})
		case tricks == 1:
			all = append(all, Step{Do: Stop, As: Agent, Session: run.Session}, Step{Do: Revive, As: Agent, Session: run.Session})
		case tricks == 2 && len(run.Events) > 0:
			all = append(all, Step{Do: Fire, As: Agent, Run: n, Event: pick(r, run.Events)})
		default:
			all = append(all, Step{Do: Check, As: Agent, Run: n, Tool: "mcp__interlock__get_state", Call: "t" + strconv.Itoa(len(v.Calls))})
		}
	}
	return all
}

// kill ends the services in the middle of the step that follows.
func (g *Grammar) kill(r *Rand, _ *View) Step {
	return Step{Do: Kill, Commit: r.N(3), Applied: r.Chance(50)}
}
