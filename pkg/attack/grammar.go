package attack

import (
	"slices"
	"strconv"
	"strings"

	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/toolname"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// View is the knowledge of the attacker so far.
type View struct {
	Runs      []Run
	Calls     []Call
	Approvals []Approval
}

// Run is a run that was met, as it stands.
type Run struct {
	State, Status string
	// Session that drives it, and the branches that it has forked.
	Session  string
	Branches []string
	// Events are those that the state defines, and Tools and Commands those that it
	// lists.
	Events, Tools, Commands []string
	Process                 bool
}

// Call is a call that was requested.
type Call struct {
	Step     Step
	Allowed  bool
	Reported bool
}

// Approval is one that was asked for.
type Approval struct{ Pending bool }

// Grammar knows the words of a workflow.
type Grammar struct {
	events, states, tools, lines, files, keys []string
	values                                    []string
	// delays are those of the clocks, in seconds.
	delays []int
	// checks are the lines that evidence asks for.
	checks  []string
	process bool
	// ends are the events that may lead to a final state.
	ends map[string]bool
}

// NewGrammar reads the words of workflows, of which the first is attacked, and of its
// properties. policyTools are tools that policies speak of.
func NewGrammar(machines []*workflow.Machine, properties []workflow.Property, policyTools []string, process bool) *Grammar {
	g := &Grammar{process: process, ends: map[string]bool{}}
	for _, entry := range policyTools {
		g.tools = append(g.tools, tool(entry))
	}
	for _, m := range machines {
		g.read(m.Definition())
	}
	for i := range properties {
		s := &properties[i].Subject
		if s.Tool != "" {
			g.tools = append(g.tools, tool(s.Tool))
		}
		if s.Command != "" {
			g.lines = append(g.lines, shell.NewPattern(s.Command).Lines()...)
		}
	}
	for _, list := range []*[]string{&g.events, &g.states, &g.tools, &g.lines, &g.files, &g.keys, &g.values} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return g
}

// tool returns a name that an entry of a list stands for.
func tool(entry string) string {
	if start, wild := strings.CutSuffix(entry, "*"); wild {
		return start + "x"
	}
	return entry
}

func (g *Grammar) read(d *workflow.Definition) {
	for i := range d.States {
		s := &d.States[i]
		g.states = append(g.states, s.Name)
		g.clocks(s)
		for _, entry := range slices.Concat(s.AllowedTools, s.DisallowedTools) {
			if entry != "@client" {
				g.tools = append(g.tools, tool(entry))
			}
		}
		for _, entry := range s.AllowedCommands {
			if entry != shell.Inert {
				g.lines = append(g.lines, first(shell.NewPattern(entry).Lines())...)
			}
		}
		for j := range s.On {
			g.events = append(g.events, s.On[j].Event)
			for _, b := range s.On[j].Branches {
				if final(d, b.Target) {
					g.ends[s.On[j].Event] = true
				}
			}
		}
	}
	for i := range d.Evidence {
		if c := d.Evidence[i].Command; c != "" {
			g.lines = append(g.lines, first(shell.NewPattern(c).Lines())...)
			g.checks = append(g.checks, first(shell.NewPattern(c).Lines())...)
		}
	}
	for i := range d.Interrupts {
		g.files = append(g.files, strings.NewReplacer("**/", "", "*", "x", "?", "x").Replace(d.Interrupts[i].FilePattern))
	}
	for i := range d.Guards {
		g.guard(&d.Guards[i])
	}
}

// clocks reads the delays of a state.
func (g *Grammar) clocks(s *workflow.State) {
	for i := range s.After {
		g.delays = append(g.delays, int(s.After[i].Delay.Seconds()))
	}
	if s.Stale != nil {
		g.delays = append(g.delays, int(s.Stale.After.Seconds()))
	}
	for i := range s.On {
		for _, b := range s.On[i].Branches {
			if b.NotBefore > 0 {
				g.delays = append(g.delays, int(b.NotBefore.Seconds()))
			}
		}
	}
}

func (g *Grammar) guard(of *workflow.Guard) {
	for _, pointer := range of.When.Looks() {
		g.keys = append(g.keys, workflow.FieldPath(pointer)[0])
	}
	if of.Field != "" {
		key, _, _ := strings.Cut(of.Field, ".")
		g.keys = append(g.keys, key)
		if !of.Value.IsZero() {
			g.values = append(g.values, of.Value.String())
		}
	}
	for _, list := range [][]workflow.Guard{of.All, of.Any} {
		for i := range list {
			g.guard(&list[i])
		}
	}
}

// final reports whether no event leads out of a state.
func final(d *workflow.Definition, name string) bool {
	return slices.ContainsFunc(d.States, func(s workflow.State) bool { return s.Name == name && s.Final })
}

func first(all []string) []string { return all[:min(1, len(all))] }

// choice is a kind of step, and how often it is drawn.
type choice struct {
	weight int
	draw   func(*Grammar, *Rand, *View) Step
}

var choices = []choice{
	{26, (*Grammar).check},
	{14, (*Grammar).report},
	{20, (*Grammar).move},
	{6, (*Grammar).decide},
	{6, (*Grammar).repeat},
	{4, (*Grammar).race},
	{3, (*Grammar).leave},
	{1, (*Grammar).forbidden},
	{4, (*Grammar).write},
	{2, (*Grammar).begin},
	{2, (*Grammar).session},
	{3, (*Grammar).time},
	{2, (*Grammar).kill},
}

// Drawer draws the steps of one schedule.
type Drawer struct {
	grammar *Grammar
	rand    *Rand
	// plan are steps that follow, with others between them.
	plan []Step
}

// Draw begins the schedule of a seed.
func (g *Grammar) Draw(seed uint64) *Drawer { return &Drawer{grammar: g, rand: NewRand(seed)} }

// Next draws the next step: of a plan, or any.
func (d *Drawer) Next(v *View) Step {
	r := d.rand
	if len(d.plan) > 0 && !r.Chance(20) {
		s := d.plan[0]
		d.plan = d.plan[1:]
		return s
	}
	switch waiting := v.waiting(); {
	case len(d.plan) > 0:
	case waiting > 0 && r.Chance(25):
		d.plan = d.grammar.agree(r, v, waiting)
	case len(d.grammar.delays) > 0 && r.Chance(10):
		d.plan = d.grammar.stall(r, v)
	case r.Chance(12):
		d.plan = d.grammar.pursue(r, v)
	}
	return d.grammar.next(r, v)
}

// waiting returns the last approval that waits for people; 0 for none.
func (v *View) waiting() (last int) {
	for i := range v.Approvals {
		if v.Approvals[i].Pending {
			last = i + 1
		}
	}
	return last
}

// agree lets people agree to the approvals that the agent waits for, and uses that more
// than once.
func (g *Grammar) agree(r *Rand, v *View, approval int) (all []Step) {
	for _, who := range [][]string{{Approver, Second}, {Agent, Approver, Approver, Second}, {Asker, Second, Approver}}[r.N(3)] {
		all = append(all, Step{Do: Decide, As: who, Approval: approval})
	}
	if len(v.Calls) == 0 {
		return all
	}
	call := v.Calls[len(v.Calls)-1].Step
	for i := range 3 {
		if r.Chance(60) {
			call.Call = "g" + strconv.Itoa(len(v.Calls)) + "-" + strconv.Itoa(i)
		}
		all = append(all, call)
	}
	return all
}

// pursue does most of the work that the workflow asks for: it makes the calls of which a guard
// asks for evidence, and continues. Or it makes the same call until there is no more.
func (g *Grammar) pursue(r *Rand, v *View) []Step {
	n := len(v.Runs)
	run := v.run(n)
	if run == nil {
		return nil
	}
	call := func(tool, input, what string) Step {
		return Step{Do: Check, As: Agent, Run: n, Tool: tool, Input: input, Call: "p" + strconv.Itoa(len(v.Calls)) + what}
	}
	told := func(c Step, as string, failed bool) Step {
		return Step{Do: Report, As: as, Run: n, Tool: c.Tool, Call: c.Call, Failed: failed}
	}
	if r.Chance(15) {
		var all []Step
		c := call(g.toolFor(r, run), "", "")
		c.Input = g.input(r, c.Tool, run)
		for i := range 6 + r.N(8) {
			c.Call = "p" + strconv.Itoa(len(v.Calls)) + "-" + strconv.Itoa(i)
			all = append(all, c)
		}
		return all
	}
	line := "go test ./..."
	if all := g.checks; len(all) > 0 {
		line = pick(r, all)
	}
	check := call("Bash", object("command", line), "a")
	edit := call("Edit", object("file_path", "a.go", "old_string", "a", "new_string", "b"), "b")
	failed := r.Chance(40)
	move := Step{Do: Fire, As: Agent, Run: n, Event: pick(r, run.Events)}
	if run.Process {
		move.Do = Answer
	}
	switch r.N(8) {
	case 0:
		return []Step{check, told(check, Agent, failed), move, move}
	case 1:
		return []Step{check, told(check, Loose, failed), move, told(check, Runtime, !failed), move}
	case 2:
		return []Step{check, told(check, Runtime, failed), edit, move}
	case 3:
		return []Step{check, edit, told(check, Runtime, failed), told(edit, Runtime, false), move}
	case 4:
		return []Step{edit, check, told(check, Runtime, failed), told(edit, Runtime, false), move}
	case 5:
		return []Step{check, told(check, Runtime, failed), {Do: Pause, As: Agent, Run: n}, {Do: Resume, As: Agent, Run: n}, move}
	case 6:
		return []Step{check, told(check, Runtime, failed), {Do: Kill, Commit: 1, Applied: r.Chance(50)}, move, move}
	default:
		return []Step{check, told(check, Runtime, failed), move, move}
	}
}

// next draws any step.
func (g *Grammar) next(r *Rand, v *View) Step {
	if last := v.run(len(v.Runs)); last != nil && last.ended() && r.Chance(30) {
		return Step{Do: Start, As: Agent, Session: "s1"}
	}
	sum := 0
	for _, c := range choices {
		sum += c.weight
	}
	n := r.N(sum)
	for _, c := range choices {
		if n -= c.weight; n < 0 {
			return c.draw(g, r, v)
		}
	}
	return Step{}
}

// who returns a caller, mostly the agent itself.
func who(r *Rand) string {
	if r.Chance(80) {
		return Agent
	}
	return pick(r, []string{Loose, Other, Child, Runtime, Asker, Approver, Operator, Observer, Nobody})
}

// at names a run, mostly the first.
func (s *Step) at(r *Rand, v *View) {
	s.Run = 1
	switch n := r.N(20); {
	case n == 0:
		s.Run, s.Session = 0, "s1"
	case n == 1:
		s.Run = 1 + r.N(len(v.Runs)+1)
	case n < 8:
		s.Run = max(1, len(v.Runs)) // the last: it may be a run that the first invoked
	}
	if run := v.run(s.Run); run != nil && len(run.Branches) > 0 && r.Chance(50) {
		s.Branch = pick(r, run.Branches)
	}
}

func (r *Run) ended() bool {
	switch strings.TrimPrefix(r.Status, "RUN_STATUS_") {
	case "COMPLETED", "FAILED", "BLOCKED", "CANCELLED":
		return true
	default:
		return false
	}
}

func (v *View) run(n int) *Run {
	if n < 1 || n > len(v.Runs) {
		return nil
	}
	return &v.Runs[n-1]
}

// present returns the run that a step names, or the first; nil where there is none.
func (v *View) present(s *Step) *Run {
	if run := v.run(s.Run); run != nil {
		return run
	}
	return v.run(1)
}

func (s *Step) version(r *Rand) {
	switch r.N(8) {
	case 0:
		s.Stale = true
	case 1, 2:
		s.Current = true
	}
}

// common are tools of agents; odd are names that nearly are.
var (
	common = append([]string{
		"Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "Bash", "apply_patch", "str_replace_based_edit_tool", "write_file", "shell",
		"exec_command", "mcp__filesystem__write_file", "mcp__fs__edit_file", "mcp__x__bash", "mcp__ssh__run_command", "Task", "transition", "get_state",
		"mcp__interlock__transition", "load_workflow", "force_state",
	}, toolname.Client...)
	odd = []string{
		"bash", "BASH", "Bаsh", "Bash ", " Bash", "Bash\x00", "Read*", "*", "", "mcp__", "mcp__fs__", "mcp__fs__*", "Edit\u200b", "../Edit", "Read\nBash",
		strings.Repeat("T", 600), "mcp__interlock__", "tool:Bash", "mcp:fs:write", "Εdit",
	}
)
