package diagram

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/interlock-run/interlock/pkg/workflow"
)

// Workflow makes the state graph of a definition that Parse found valid: every state, its
// transitions with their guards and approvals, lists of branches in their order, forks
// and their joins, invoked workflows, safe_next, and interrupts with the states they
// return to. Targets that are not a state are left out.
func Workflow(def *workflow.Definition) *Diagram {
	b := workflowGraph{
		Diagram: &Diagram{title: def.ID}, def: def,
		places: make(map[string]int, len(def.States)), guards: make(map[string]string, len(def.Guards)),
	}
	for i := range def.Guards {
		b.guards[def.Guards[i].Name] = guardTip(def, &def.Guards[i])
	}
	begin := b.add(node{kind: start, parent: root, key: "start"})
	for i := range def.States {
		s := &def.States[i]
		b.places[s.Name] = b.add(stateNode(s))
	}
	b.addBranches()
	b.lead(begin, edge{}, def.Initial)
	for i := range def.States {
		b.exits(i)
	}
	b.interrupts()
	return b.Diagram
}

// firstState is where states begin among the nodes: in definition order, after
// the start.
const firstState = 1

type workflowGraph struct {
	*Diagram
	def    *workflow.Definition
	places map[string]int // of states
	guards map[string]string
	// branches are places by state, transition and branch, where one holds states.
	branches map[[3]int]int
}

func guardTip(def *workflow.Definition, g *workflow.Guard) string {
	return fmt.Sprintf("guard %s: %s", g.Name, guardText(def, g))
}

// guardText describes the condition of a guard.
func guardText(def *workflow.Definition, g *workflow.Guard) string {
	switch {
	case g.Evidence != "":
		for i := range def.Evidence {
			if spec := &def.Evidence[i]; spec.Name == g.Evidence {
				return "evidence " + g.Evidence + " (" + spec.Describe() + ")"
			}
		}
		return "evidence " + g.Evidence
	case g.Not != nil:
		return "not (" + guardText(def, g.Not) + ")"
	case len(g.All) > 0:
		return guardTexts(def, g.All, " and ")
	case len(g.Any) > 0:
		return guardTexts(def, g.Any, " or ")
	case g.When != nil:
		return g.When.Value().String()
	}
	text := g.Field + " " + g.Op
	if g.HasValue {
		text += " " + g.Value.String()
	}
	if g.Source != "" {
		text += " by " + string(g.Source)
	}
	return text
}

func guardTexts(def *workflow.Definition, guards []workflow.Guard, join string) string {
	texts := make([]string, len(guards))
	for i := range guards {
		texts[i] = "(" + guardText(def, &guards[i]) + ")"
	}
	return strings.Join(texts, join)
}

func stateNode(s *workflow.State) node {
	n := node{kind: state, name: s.Name, parent: root, key: keyOf("state", s.Name)}
	switch {
	case s.Final && s.Outcome == workflow.Failure:
		n.kind = failure
	case s.Final:
		n.kind = success
	}
	if s.ToolsRestricted {
		tools := "no tools"
		if len(s.AllowedTools) > 0 {
			tools = strings.Join(s.AllowedTools, ", ")
		}
		n.detail = append(n.detail, tools)
	}
	if limits := stateLimits(s); len(limits) > 0 {
		n.detail = append(n.detail, strings.Join(limits, ", "))
	}
	n.tip = stateTip(s)
	return n
}

func stateLimits(s *workflow.State) []string {
	var limits []string
	for _, l := range []struct {
		most          int64
		one, singular string
	}{
		{s.MaxIterations, "calls", "call"},
		{s.MaxEditLines, "lines/edit", "line/edit"},
		{s.MaxFilesPerState, "files", "file"},
		{s.ContextBudgetBytes, "bytes", "byte"},
	} {
		switch l.most {
		case 0:
		case 1:
			limits = append(limits, "1 "+l.singular)
		default:
			limits = append(limits, strconv.FormatInt(l.most, 10)+" "+l.one)
		}
	}
	if s.NoUnknownEffects {
		limits = append(limits, "no unknown effects")
	}
	return limits
}

func stateTip(s *workflow.State) []string {
	var tip []string
	list := func(what string, items []string) {
		if len(items) > 0 {
			tip = append(tip, what+": "+strings.Join(items, ", "))
		}
	}
	list("tools", s.AllowedTools)
	list("disallowed tools", s.DisallowedTools)
	if s.CommandsRestricted && len(s.AllowedCommands) == 0 {
		tip = append(tip, "no commands")
	}
	list("commands", s.AllowedCommands)
	for i := range s.Calls {
		tip = append(tip, s.Calls[i].Pattern()+" only "+s.Calls[i].Only.Value().String())
	}
	list("blocked variables", s.BlockedEnv)
	if s.Jail.Level > 0 {
		tip = append(tip, "jail of level "+strconv.Itoa(int(s.Jail.Level)))
	}
	list("hosts", s.Jail.Hosts)
	list("at most", stateLimits(s))
	if s.Instructions != "" {
		tip = append(tip, s.Instructions)
	}
	return tip
}

// addBranches makes a node of every branch that holds states, and puts them
// into it.
func (b *workflowGraph) addBranches() {
	found := forkBranches(b.def)
	b.branches = make(map[[3]int]int)
	at := make([]int, len(found))
	for i, f := range found {
		if at[i] = root; len(f.states) == 0 {
			continue
		}
		named := b.def.States[f.owner].On[f.transition].Fork.Branches[f.place]
		up := root
		if f.up != root {
			up = at[f.up]
		}
		key := keyOf("branch", b.def.States[f.owner].Name, b.def.States[f.owner].On[f.transition].Event, named.Name)
		at[i] = b.add(node{kind: branch, name: named.Name, parent: up, exit: b.places[named.Terminal], key: key})
		b.branches[[3]int{f.owner, f.transition, f.place}] = at[i]
		for _, s := range f.states {
			b.nodes[firstState+s].parent = at[i]
		}
		entry := b.add(node{kind: start, parent: at[i], key: keyOf("entry", key)})
		b.nodes[at[i]].entry = entry
		b.lead(entry, edge{}, named.Initial)
	}
}

// lead connects a node to the state of a name.
func (b *workflowGraph) lead(from int, e edge, target string) {
	to, ok := b.places[target]
	if !ok {
		return
	}
	e.from, e.to = from, to
	b.connect(e)
}

// exits draws the edges that leave the state at a place of the definition.
func (b *workflowGraph) exits(place int) {
	s, from := &b.def.States[place], firstState+place
	back := root // the node for $return, once it is needed
	for i := range s.On {
		t := &s.On[i]
		switch {
		case t.Fork != nil:
			b.fork(place, i)
		case t.Invoke != nil:
			b.invoke(from, t)
		case len(t.Branches) > 1:
			middle := b.add(node{kind: choice, name: t.Event, parent: b.nodes[from].parent, key: keyOf("choice", s.Name, t.Event)})
			b.connect(edge{from: from, to: middle, label: t.Event, event: t.Event})
			for j := range t.Branches {
				b.branch(from, middle, strconv.Itoa(j+1), &t.Branches[j], &back)
			}
		case len(t.Branches) == 1:
			b.branch(from, from, t.Event, &t.Branches[0], &back)
		}
	}
	for i := range s.After {
		for j := range s.After[i].Branches {
			b.branch(from, from, "after "+s.After[i].Written, &s.After[i].Branches[j], &back)
		}
	}
	if s.Stale != nil && s.Stale.Target != "" {
		label := "silent for " + workflow.ShortDuration(s.Stale.After)
		b.lead(from, edge{label: label, event: label}, s.Stale.Target)
	}
	b.lead(from, edge{label: "any other event", event: "any other event", dashed: true, tip: []string{"safe_next"}}, s.SafeNext)
}

// branch draws one target. Its guards are preceded by its event, or its number in a list.
func (b *workflowGraph) branch(owner, from int, first string, to *workflow.Branch, back *int) {
	e := edge{label: first, event: first, approval: to.RequiresApproval}
	switch {
	case len(to.Guards) > 0:
		e.label += " [" + strings.Join(to.Guards, ", ") + "]"
		for _, g := range to.Guards {
			e.tip = append(e.tip, b.guards[g])
		}
	case owner != from:
		e.label += " else"
	}
	if to.RequiresApproval {
		// Without a place to park it, an approval is only recorded (S9.1).
		if b.def.Meta.ApprovalMode == "ui" {
			e.label += ", after approval"
		} else {
			e.label += ", advisory approval"
		}
		if to.ApprovalMessage != "" {
			e.tip = append(e.tip, to.ApprovalMessage)
		}
	}
	if to.Target != workflow.ReturnTarget {
		b.lead(from, e, to.Target)
		return
	}
	if *back == root {
		*back = b.add(node{
			kind: goBack, name: workflow.ReturnTarget, parent: b.nodes[owner].parent, key: keyOf("return", b.nodes[owner].name),
			tip: []string{"back to the state that was interrupted"},
		})
	}
	e.from, e.to = from, *back
	b.connect(e)
}

func (b *workflowGraph) invoke(from int, t *workflow.Transition) {
	child := b.add(node{kind: invoke, name: t.Invoke.Workflow, parent: b.nodes[from].parent, key: keyOf("invoke", b.nodes[from].name, t.Event)})
	if t.Invoke.Input.Len() > 0 {
		b.nodes[child].tip = []string{"input: " + t.Invoke.Input.String()}
	}
	b.connect(edge{from: from, to: child, label: t.Event, event: t.Event})
	b.lead(child, edge{label: "succeeds", event: "succeeds"}, t.Invoke.OnComplete)
	b.lead(child, edge{label: "fails", event: "fails"}, t.Invoke.OnFail)
}

func (b *workflowGraph) fork(owner, transition int) {
	from, t := firstState+owner, &b.def.States[owner].On[transition]
	parent, name := b.nodes[from].parent, b.nodes[from].name
	part := b.add(node{kind: fork, name: "fork", parent: parent, key: keyOf("fork", name, t.Event)})
	meet := b.add(node{kind: join, name: "join " + t.Fork.Join, parent: parent, key: keyOf("join", name, t.Event)})
	b.connect(edge{from: from, to: part, label: t.Event, event: t.Event})
	for i, named := range t.Fork.Branches {
		if held, ok := b.branches[[3]int{owner, transition, i}]; ok {
			b.connect(edge{from: part, to: held})
			b.connect(edge{from: held, to: meet})
			continue
		}
		b.lead(part, edge{label: named.Name, event: named.Name}, named.Initial)
		if terminal, ok := b.places[named.Terminal]; ok {
			b.connect(edge{from: terminal, to: meet, label: named.Name, event: named.Name})
		}
	}
	complete, fail := "all succeed", "one fails"
	if t.Fork.Join == "any" {
		complete, fail = "one succeeds", "all fail"
	}
	b.lead(meet, edge{label: complete, event: "done"}, t.Fork.OnComplete)
	b.lead(meet, edge{label: fail, event: "failed"}, t.Fork.OnFail)
}

// interrupts draws the edges to handlers, from a node that stands for all states that are
// not final (S4.1).
func (b *workflowGraph) interrupts() {
	if len(b.def.Interrupts) == 0 {
		return
	}
	from := b.add(node{kind: anyState, name: "any state", detail: []string{"interrupted by"}, parent: root, key: "any", tip: []string{"interrupts fire in any state that is not final"}})
	for i := range b.def.Interrupts {
		n := &b.def.Interrupts[i]
		b.lead(from, edge{label: n.Name + ": " + n.FilePattern, event: n.Name, dashed: true, tip: []string{"interrupt, when a matching file was changed"}}, n.Target)
	}
}
