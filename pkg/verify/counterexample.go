package verify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/pathglob"
	"github.com/interlock-run/interlock/pkg/scenario"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// counterexample turns moves of an exploration into the steps of a scenario: with values in the
// places of those that stood for any.
type counterexample struct {
	c     *Checker
	lines []line
	given []assigned
	// facts are evidence that a scenario cannot have observed.
	facts []string
	// seat is the branch that steps come from.
	seat string
	// wrong says why it cannot be notified, or is empty.
	wrong string
}

// line is one step of a scenario.
type line struct {
	members []document.Member
	// Of an event: its lane, the keys that its data sets, and those that it must not.
	fires  bool
	path   []int
	branch string
	data   []assigned
	keep   []string
}

func text(s string) document.Value { return document.StringValue(s) }

func member(name string, v document.Value) document.Member {
	return document.Member{Name: name, Value: v}
}

func record(members ...document.Member) document.Value { return document.ObjectValue(members) }

// tell writes the steps that lead to a global state. calls are those made in each, for
// properties that count.
func (c *Checker) tell(moves []move, globals []*globalState) *counterexample {
	s := &counterexample{c: c}
	for i := range moves {
		if moves[i].kind == begins {
			continue
		}
		s.move(&moves[i], globals[i-1])
	}
	return s
}

func (s *counterexample) add(members ...document.Member) *line {
	s.lines = append(s.lines, line{members: members})
	return &s.lines[len(s.lines)-1]
}

// sit lets the steps that follow come from a branch.
func (s *counterexample) sit(w *globalState, path []int, branch string) {
	for branch == "" && len(path) > 0 { // the branch that the run was invoked in
		id := w.at(path).run.ID
		path = path[:len(path)-1]
		for _, lane := range w.at(path).run.Lanes() {
			if lane.Child != nil && lane.Child.RunID == id {
				branch = lane.Branch
			}
		}
	}
	if branch != s.seat {
		s.add(member("branch", text(branch)))
		s.seat = branch
	}
}

// choose sees to it that keys have these values when the next event of a lane is judged:
// by the data of the last event that could set them.
func (s *counterexample) choose(path []int, branch string, chosen []assigned) {
	for _, a := range chosen {
		if !s.provide(path, branch, a) && !a.value.IsZero() {
			s.given = append(s.given, a)
		}
	}
}

func (s *counterexample) provide(path []int, branch string, a assigned) bool {
	for i := len(s.lines) - 1; i >= 0; i-- {
		l := &s.lines[i]
		if !l.fires || !slices.Equal(l.path, path) || slices.Contains(l.keep, a.key) {
			continue
		}
		within := branch == "" || strings.HasPrefix(l.branch, branch+"/")
		if l.branch != branch && l.branch != "" && !strings.HasPrefix(branch, l.branch+"/") && !within {
			continue
		}
		if slices.ContainsFunc(l.data, func(b assigned) bool { return b.key == a.key }) {
			return true // it has one already, which the play will judge
		}
		l.data = append(l.data, a)
		return true
	}
	return false
}

func (s *counterexample) move(m *move, before *globalState) {
	n := before.at(m.path)
	switch m.kind {
	case fires:
		s.sit(before, m.path, m.branch)
		s.choose(m.path, m.branch, m.chosen)
		key := "event"
		if n.of.Process != nil {
			key = "answer"
		}
		l := s.add(member(key, text(m.event)))
		l.fires, l.path, l.branch, l.keep = n.of.Process == nil, m.path, m.branch, m.keep
	case diverts:
		s.sit(before, m.path, m.branch)
		s.divert(before, m, n)
	case grants:
		s.sit(before, m.path, m.branch)
		s.approve(n.of, m.edited != "")
	case rejects:
		s.sit(before, m.path, m.branch)
		for _, who := range s.c.terms(n.of).rejection() {
			s.add(member("reject", record(member("by", text(who.Name)), member("role", text(who.Role)))))
		}
	case expires:
		ttl := n.of.Machine.Meta().Approval.TTL
		if ttl == 0 {
			ttl = consent.DefaultTTL
		}
		s.add(member("advance", text((ttl + time.Second).String())))
	case cancels:
		s.wrong = "an operator would have to cancel the run of " + document.Quote(n.of.Machine.Name()) +
			", which a scenario cannot do"
	case forces:
		s.sit(before, m.path, m.branch)
		s.add(member("force_state", record(member("state", text(m.event)))))
	case gains, loses:
		s.evidence(m, before, n)
	case begins:
	}
}

// divert calls a tool that edits, and reports a file that fires an interrupt.
func (s *counterexample) divert(w *globalState, m *move, n *node) {
	file, ok := fileFor(n.of.Machine, m.event)
	if !ok {
		s.wrong = "no file was found that fires the interrupt " + document.Quote(m.event)
		return
	}
	lane := n.run.At(m.branch)
	for _, tool := range s.c.toolsOf(n.of, lane.State, "*") {
		if !toolcall.Edits(n.of.Machine, tool) {
			continue
		}
		if a := s.c.calls(w, m.path, n, &lane, workflow.Subject{Tool: tool}); a.certain && !a.asks {
			s.call(n.of, &a)
			s.add(member("report", record(member("tool", text(a.tool)), member("files_changed", document.ArrayValue([]document.Value{text(file)})))))
			return
		}
	}
	s.wrong = "no call that edits files is allowed in state " + document.Quote(lane.State) + ", and one of an earlier state would have to be reported late to fire the interrupt " +
		document.Quote(m.event)
}

// approve lets people agree.
func (s *counterexample) approve(of *Unit, edited bool) {
	votes, _ := s.c.terms(of).grant(func(consent.Approver) bool { return true })
	waited := time.Duration(0)
	for i, vote := range votes {
		if vote.after > waited {
			s.add(member("advance", text((vote.after - waited).String())))
			waited = vote.after
		}
		by := []document.Member{member("by", text(vote.Name)), member("role", text(vote.Role))}
		if edited && i == 0 {
			s.wrong = "an approver would have to edit the data"
		}
		s.add(member("approve", record(by...)))
	}
}

// evidence lets something be observed, or be void.
func (s *counterexample) evidence(m *move, before *globalState, n *node) {
	i := slices.IndexFunc(n.of.Machine.Evidence(), func(spec evidence.Spec) bool { return spec.Name == m.event })
	spec := &n.of.Machine.Evidence()[i]
	switch m.why {
	case "state":
		// A scenario has its evidence from its beginning. Where an earlier step needed that it is
		// not held, the play does not come as far.
		if m.kind == gains && len(m.path) == 0 {
			s.facts = append(s.facts, m.event)
			return
		}
		s.wrong = "the shared state would have to lose what evidence " + document.Quote(m.event) +
			" demands, which a scenario cannot do"
		if m.kind == gains {
			s.wrong = "an invoked run would need evidence " + document.Quote(m.event) + " of the shared state, which a scenario cannot give"
		}
	case "age":
		s.add(member("advance", text((spec.MaxAge + time.Second).String())))
	case "pause":
		s.add(member("pause", record()))
		s.add(member("resume", record()))
	case "late":
		s.wrong = "the report of a call that was allowed earlier would have to come late, and decide on evidence " +
			document.Quote(m.event) + ", which a scenario cannot do"
	case "edit":
		s.edit(before, m.event)
	default:
		s.sit(before, m.path, m.branch)
		s.observe(before, m, spec)
	}
}

// edit changes a file where a tool does that.
func (s *counterexample) edit(w *globalState, what string) {
	done := false
	w.root.each(nil, func(at []int, n *node) {
		for _, lane := range n.run.Lanes() {
			for _, tool := range s.c.changers(n.of, lane.State) {
				a := s.c.calls(w, at, n, &lane, workflow.Subject{Tool: tool})
				if done || !a.certain || a.asks || !s.c.voids(w, at, n, &lane, &a) {
					continue
				}
				done = true
				s.sit(w, at, lane.Branch)
				s.call(n.of, &a)
				s.add(member("report", record(member("tool", text(a.tool)), member("ok", document.BoolValue(true)))))
			}
		}
	})
	if !done {
		s.wrong = "a call that is allowed may change files and so void evidence " + document.Quote(what) +
			", and none was found that does"
	}
}

// voids reports that a call counts as one that may have changed files, by the function
// that decides it. Where it may be written otherwise, the answer has another input then.
func (c *Checker) voids(w *globalState, path []int, n *node, lane *workflow.View, a *answer) bool {
	var family []*workflow.Machine
	for _, of := range w.chain(path) {
		family = append(family, of.of.Machine)
	}
	inputs, _ := c.inputs(n.of, lane, a.tool, workflow.Subject{Tool: a.tool})
	for _, input := range append([]document.Value{a.input}, inputs...) {
		var arguments []byte
		if !input.IsZero() {
			arguments = input.AppendJSON(nil)
		}
		call := toolcall.Call{Tool: a.tool, Input: arguments, Jail: n.of.Machine.State(lane.State).JailRules().Level}
		if toolcall.Decide(n.of.Machine, lane, call).Decision == toolcall.Allow && toolcall.Observe(n.of.Machine, family,
			lane, call, "").Voids {
			a.input = input
			return true
		}
	}
	return false
}

// observe makes the calls that an evidence asks for, as often as required.
func (s *counterexample) observe(w *globalState, m *move, spec *evidence.Spec) {
	n := w.at(m.path)
	lane := n.run.At(m.branch)
	a := s.c.observable(w, m.path, n, &lane, spec)
	if !a.certain {
		s.wrong = "no call was found that the evidence " + document.Quote(spec.Name) + " asks for"
		return
	}
	ok := spec.Outcome != evidence.Failed
	if m.why == "outcome" {
		ok = !ok
	}
	times := spec.Count
	if m.kind == loses {
		times = 1
	}
	for range times {
		s.call(n.of, &a)
		report := []document.Member{member("tool", text(a.tool)), member("ok", document.BoolValue(ok))}
		if spec.Output != nil {
			report = append(report, member("output", outputFor(spec.Output)))
		}
		s.add(member("report", record(report...)))
	}
}

// outputFor returns a result that passes a test.
func outputFor(test *evidence.Test) document.Value {
	v := test.Value
	t := &tree{leaves: []leaf{{op: test.Op, value: test.Value}}}
	for _, candidate := range append([]document.Value{test.Value}, t.values()...) {
		if test.Op.Holds(candidate, test.Value) {
			v = candidate
			break
		}
	}
	parts := strings.Split(test.Pointer, "/")
	for _, part := range slices.Backward(parts[1:]) {
		name, _ := document.UnescapeSegment(part)
		v = record(member(name, v))
	}
	return v
}

// call makes a call, and asks humans first where a policy does.
func (s *counterexample) call(of *Unit, a *answer) {
	if a.asks {
		s.add(member("call", callOf(a)), member("expect", record(member("decision", text("ASK")))))
		votes, _ := s.c.terms(of).grant(func(consent.Approver) bool { return true })
		for _, vote := range votes {
			s.add(member("approve", record(member("by", text(vote.Name)), member("role", text(vote.Role)))))
		}
	}
	s.add(member("call", callOf(a)))
}

func callOf(a *answer) document.Value {
	members := []document.Member{member("tool", text(a.tool))}
	if !a.input.IsZero() {
		members = append(members, member("input", a.input))
	}
	if a.jail > jail.None && !a.input.IsZero() {
		members = append(members, member("jail", document.NumberValue(fmt.Sprint(int(a.jail)))))
	}
	return record(members...)
}

// expect sets the expectation of the last step from the property.
func (s *counterexample) expect(key string, want document.Value) {
	l := &s.lines[len(s.lines)-1]
	l.members = append(l.members, member("expect", record(member(key, want))))
}

// fileFor returns a file that fires an interrupt, and no other.
func fileFor(m *workflow.Machine, name string) (string, bool) {
	for i := range m.Definition().Interrupts {
		in := &m.Definition().Interrupts[i]
		if in.Name != name {
			continue
		}
		for _, file := range filesOf(in.FilePattern) {
			if fired, ok := m.Watches(pathglob.RootOf(workspace), []string{file}); ok && fired == name {
				return file, true
			}
		}
	}
	return "", false
}

// filesOf returns names that a pattern may match: each is tried.
func filesOf(pattern string) []string {
	all := []string{pattern}
	for {
		open := strings.IndexByte(all[0], '{')
		end := strings.IndexByte(all[0], '}')
		if open < 0 || end < open {
			break
		}
		var next []string
		for _, p := range all {
			open, end := strings.IndexByte(p, '{'), strings.IndexByte(p, '}')
			if open < 0 || end < open {
				next = append(next, p)
				continue
			}
			for option := range strings.SplitSeq(p[open+1:end], ",") {
				next = append(next, p[:open]+option+p[end+1:])
			}
		}
		if all = next; len(all) > 64 {
			break
		}
	}
	var files []string
	for _, p := range all {
		for _, word := range []string{"x", "example", "zq"} {
			flat := strings.ReplaceAll(p, "**/", "")
			deep := strings.ReplaceAll(p, "**/", word+"/")
			for _, f := range []string{flat, deep} {
				f = strings.ReplaceAll(f, "**", word)
				f = strings.ReplaceAll(f, "*", word)
				f = strings.ReplaceAll(f, "?", word[:1])
				for {
					open, end := strings.IndexByte(f, '['), strings.IndexByte(f, ']')
					if open < 0 || end < open+2 {
						break
					}
					f = f[:open] + f[open+1:open+2] + f[end+1:]
				}
				files = append(files, f)
			}
		}
	}
	return files
}

// scenario returns the file.
func (s *counterexample) scenario(name, about string) []byte {
	var b strings.Builder
	for line := range strings.SplitSeq(about, "\n") {
		b.WriteString("# " + strings.TrimSpace(line) + "\n")
	}
	of := &s.c.model.Main
	key := "workflow"
	if of.Process != nil {
		key = "process"
	}
	b.WriteString(key + ": " + source(of.File, of.Text) + "\n")
	if others := s.c.model.Others; len(others) > 0 {
		b.WriteString("workflows:\n")
		for i := range others {
			if others[i].Process == nil {
				b.WriteString("  - " + source(others[i].File, others[i].Text) + "\n")
			}
		}
	}
	if policies := s.c.model.Policies; len(policies) > 0 {
		b.WriteString("policy:\n")
		for i := range policies {
			b.WriteString("  - " + source(policies[i].File, policies[i].Text) + "\n")
		}
	}
	fmt.Fprintf(&b, "cases:\n  - name: %s\n", text(name))
	given := s.beginning()
	if len(given) > 0 {
		fmt.Fprintf(&b, "    given: %s\n", record(given...))
	}
	b.WriteString("    steps:\n")
	for i := range s.lines {
		lead := "      - "
		for _, m := range s.lines[i].all() {
			fmt.Fprintf(&b, "%s%s: %s\n", lead, m.Name, m.Value)
			lead = "        "
		}
	}
	return []byte(b.String())
}

// beginning returns the givens before the first step.
func (s *counterexample) beginning() []document.Member {
	var given []document.Member
	if len(s.given) > 0 {
		given = append(given, member("context", values(s.given)))
	}
	if len(s.facts) > 0 {
		var facts []document.Member
		for _, fact := range s.facts {
			facts = append(facts, member(fact, document.BoolValue(true)))
		}
		given = append(given, member("evidence", record(facts...)))
	}
	return given
}

// statesVisited plays the steps, and says in which states the run is before the first one, and after
// each; nil when they cannot be played.
func (s *counterexample) statesVisited() [][]string {
	of := &s.c.model.Main
	members := []document.Member{member("workflow", of.Text)}
	if of.Process != nil {
		members[0].Name = "process"
	}
	var others, policies, steps []document.Value
	for i := range s.c.model.Others {
		if other := &s.c.model.Others[i]; other.Process == nil {
			others = append(others, other.Text)
		}
	}
	for i := range s.c.model.Policies {
		policies = append(policies, s.c.model.Policies[i].Text)
	}
	for i := range s.lines {
		steps = append(steps, record(s.lines[i].all()...))
	}
	add := func(name string, list []document.Value) {
		if len(list) > 0 {
			members = append(members, member(name, document.ArrayValue(list)))
		}
	}
	add("workflows", others)
	add("policies", policies)
	add("steps", steps)
	if given := s.beginning(); len(given) > 0 {
		members = append(members, member("given", record(given...)))
	}
	trial, problems := scenario.ParseTrial(record(members...), len(s.lines))
	if len(problems) > 0 {
		return nil
	}
	before, moments := trial.Play()
	all := [][]string{standing(&before)}
	for m := range moments {
		all = append(all, standing(&m.After))
	}
	return all
}

// standing returns the states of the outermost run: those of its branches where there are
// some.
func standing(at *scenario.Standing) []string {
	run := &at.Places[len(at.Places)-1]
	var states []string
	for _, b := range at.Branches {
		if b.RunID == run.RunID && b.Status == workflow.BranchActive {
			states = append(states, b.State)
		}
	}
	if len(states) == 0 {
		states = []string{run.State.Name}
	}
	return states
}

// all returns the members of a line with its data, which stands before the expectation.
func (l *line) all() []document.Member {
	if len(l.data) == 0 {
		return l.members
	}
	return slices.Concat(l.members[:1], []document.Member{member("data", values(l.data))}, l.members[1:])
}

func values(all []assigned) document.Value {
	var members []document.Member
	for _, a := range all {
		if !a.value.IsZero() {
			members = append(members, member(a.key, a.value))
		}
	}
	return record(members...)
}

// source returns a definition in a scenario: by its file, or written out.
func source(file string, v document.Value) string {
	if file != "" {
		return text(file).String()
	}
	return v.String()
}

// steps returns the lines for people.
func (s *counterexample) steps() []string {
	all := make([]string, 0, len(s.lines))
	for i := range s.lines {
		var words []string
		for _, m := range s.lines[i].all() {
			if m.Name == "expect" {
				continue
			}
			v := m.Value.String()
			if m.Value.Kind() == document.String {
				v = m.Value.Str()
			}
			words = append(words, m.Name+" "+v)
		}
		all = append(all, strings.Join(words, " "))
	}
	return all
}
