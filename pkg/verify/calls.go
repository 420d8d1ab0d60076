package verify

import (
	"cmp"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/toolname"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// answer is whether a call of a kind could be allowed somewhere.
type answer struct {
	// possible is false only when no call of the kind is allowed, with any input.
	possible bool
	// certain: this call is allowed, by the functions that decide it.
	certain bool
	// asks: humans are asked about it first. mayAsk: they are where it is called by another
	// of its names.
	asks, mayAsk bool
	tool         string
	input        document.Value
	// jail is the level at which the call was decided: the one that the state demands.
	jail jail.Level
}

// worse reports that a call shows more than another that a property may be broken: calls
// without a question first, and then certain ones.
func (a *answer) worse(than *answer) bool {
	switch {
	case a.possible != than.possible:
		return a.possible
	case !a.possible:
		return a.asks && !than.asks
	case a.asks != than.asks:
		return than.asks
	default:
		return a.certain && !than.certain
	}
}

// callKey is all that the answer about a kind of call depends on.
type callKey struct {
	chain, state string
	status       workflow.Status
	over         bool
	subject      workflow.Subject
}

// calls decides whether any call of a kind could be allowed in a lane.
func (c *Checker) calls(w *globalState, path []int, n *node, lane *workflow.View, s workflow.Subject) answer {
	chain := w.chain(path)
	key := callKey{state: lane.State, status: lane.Status, over: lane.Over, subject: s}
	for _, of := range chain {
		key.chain += of.of.Machine.Name() + "/"
	}
	if known, ok := c.answers[key]; ok {
		return known
	}
	policies := slices.Clone(c.shared)
	for _, of := range chain {
		policies = append(policies, of.of.policies...)
	}
	a := c.judge(n.of, lane, s, policies)
	c.answers[key] = a
	return a
}

func (c *Checker) judge(of *Unit, lane *workflow.View, s workflow.Subject, policies []*rules.Set) answer {
	if of.stub {
		return answer{possible: lane.Status == workflow.Running, tool: s.Tool}
	}
	best := answer{}
	pattern := s.Tool
	if pattern == "" {
		pattern = "*"
	}
	for _, tool := range c.toolsOf(of, lane.State, pattern) {
		if s.Tool == "" && !toolcall.Shell(of.Machine.State(lane.State), tool) {
			continue // a command line is run by tools for command lines
		}
		a := c.judgeTool(of, lane, tool, s, policies)
		switch {
		case a.certain && !a.asks:
			return a
		case a.worse(&best):
			best = a
		}
	}
	return best
}

// judgeTool decides it for one tool. One of a server may be called by a plain name, which
// only the gateway's settings show, and policies then judge the full one.
func (c *Checker) judgeTool(of *Unit, lane *workflow.View, tool string, s workflow.Subject,
	policies []*rules.Set,
) answer {
	a := c.judgeAs(of, lane, tool, "", s, policies)
	a.mayAsk = a.asks
	if len(policies) == 0 {
		return a
	}
	for _, capability := range c.capabilities(tool) {
		b := c.judgeAs(of, lane, tool, capability, s, policies)
		b.certain = false // no scenario calls it so
		asks := a.mayAsk || b.asks
		if b.worse(&a) {
			a = b
		}
		a.mayAsk = asks
	}
	return a
}

// capabilities returns names of a tool in policies besides those of its own name. Clients'
// own tools have no other: no server's tool can have their names.
func (c *Checker) capabilities(tool string) []string {
	ofServer := strings.HasPrefix(rules.CapabilityOf(tool), "mcp:")
	if ofServer || slices.Contains(known, tool) || slices.Contains(toolname.Client, tool) {
		return nil
	}
	all := []string{"mcp:" + c.unlisted + ":" + tool} // of a server that no policy names
	for _, entry := range c.policyTools {
		rest, isServer := strings.CutPrefix(entry, "mcp__")
		if server, _, whole := strings.Cut(rest, "__"); isServer && whole && !strings.HasSuffix(server, "*") {
			all = append(all, "mcp:"+server+":"+tool)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// judgeAs decides it for a capability: by some inputs, of which any that is allowed will do,
// and by denials regardless of the input.
func (c *Checker) judgeAs(of *Unit, lane *workflow.View, tool, capability string, s workflow.Subject,
	policies []*rules.Set,
) answer {
	state := of.Machine.State(lane.State)
	decide := func(input document.Value, approved bool) rules.Combined {
		var text []byte
		if !input.IsZero() {
			text = input.AppendJSON(nil)
		}
		verdict := toolcall.Decide(of.Machine, lane, toolcall.Call{Tool: tool, Input: text, Jail: state.JailRules().Level})
		verdicts := make([]rules.Verdict, len(policies))
		for i, policy := range policies {
			verdicts[i] = policy.Decide(rules.Call{
				Tool: tool, Capability: capability, Shell: toolcall.Shell(state, tool), Input: text,
				Principal: agent, Session: agent, Approved: approved, Now: epoch,
			}, nil)
		}
		return rules.Combine(verdict, verdicts, nil)
	}
	inputs, exhaustive := c.inputs(of, lane, tool, s)
	if len(inputs) == 0 && exhaustive {
		return answer{}
	}
	if toolcall.Shell(state, tool) && decide(object("command", "true"), false).State.Code == toolcall.CodeCommandUnparsable {
		return answer{} // its lines are of another language, and none can be read
	}
	final := false
	for _, input := range inputs {
		d := decide(input, false)
		if d.Decision == toolcall.Ask {
			if !c.terms(of).grantable() {
				return answer{asks: true, tool: tool, input: input, jail: state.JailRules().Level}
			}
			if decide(input, true).Decision == toolcall.Allow {
				return answer{possible: true, certain: true, asks: true, tool: tool, input: input, jail: state.JailRules().Level}
			}
		}
		if d.Decision == toolcall.Allow {
			return answer{possible: true, certain: true, tool: tool, input: input, jail: state.JailRules().Level}
		}
		final = final || WhateverInput(of.Machine, lane, tool, s.Command, d)
	}
	if final {
		return answer{}
	}
	a := answer{possible: true, tool: tool}
	if len(inputs) > 0 {
		a.input = inputs[0]
		a.asks = decide(a.input, false).Decision == toolcall.Ask
	}
	return a
}

// WhateverInput reports a denial that no other input of the tool would avoid: none with a
// command that matches an entry, where that is not empty.
func WhateverInput(m *workflow.Machine, at *workflow.View, tool, entry string, d rules.Combined) bool {
	switch d.State.Code {
	case toolcall.CodeRunNotActive:
		if !toolcall.MayRead(m, at, tool, entry) {
			return true
		}
	case toolcall.CodeToolNotAllowed, toolcall.CodeToolDisallowed:
		return true
	default:
	}
	return slices.ContainsFunc(d.Policies, func(v rules.Verdict) bool {
		return v.Decision == toolcall.Deny && (v.Code == toolcall.CodePolicyDenied ||
			v.Code == toolcall.CodePolicyUnavailable)
	})
}

// inputs returns inputs to try. exhaustive: where there are none, no input is allowed.
func (c *Checker) inputs(of *Unit, lane *workflow.View, tool string, s workflow.Subject) (all []document.Value,
	exhaustive bool,
) {
	state := of.Machine.State(lane.State)
	if !toolcall.Shell(state, tool) {
		if s.Command != "" {
			return commands(c.meeting(anyCommand, s.Command)), false
		}
		return c.sample(tool), false
	}
	judged := lane.Status == workflow.Running || lane.Status == workflow.AwaitingApproval
	if !state.CommandsRestricted || !judged {
		lines := slices.Clone(c.meeting(anyCommand, s.Command))
		if s.Command == "" {
			lines = []string{"ls", "true"}
		} else {
			lines = append(lines, c.meeting("ls", s.Command)...)
		}
		for _, line := range slices.Clone(lines) {
			lines = append(lines, line+" --help", line+" --version")
		}
		return commands(lines), false
	}
	exhaustive = true
	var lines []string
	for _, entry := range state.AllowedCommands {
		lines = append(lines, c.meeting(entry, s.Command)...)
		exhaustive = exhaustive && !c.tooLong[[2]string{entry, s.Command}]
	}
	return commands(lines), exhaustive
}

// anyCommand is a pattern that every command matches.
const anyCommand = "*"

// meeting returns lines that an entry of a list and a wanted command, or any for the empty
// one, have in common. States list the same entries again and again. Where the two are too
// long to be compared, there may be others.
func (c *Checker) meeting(entry, command string) []string {
	key := [2]string{entry, command}
	lines, ok := c.lines[key]
	if !ok {
		a, b := shell.NewPattern(entry), shell.NewPattern(cmp.Or(command, anyCommand))
		if c.tooLong[key] = a.TooLong(b); !c.tooLong[key] {
			all := a.Meet(b)
			if lines = a.Matching(all); len(lines) == 0 && len(all) > 0 {
				c.tooLong[key] = true // longer ones may match
			}
		}
		c.lines[key] = lines
	}
	return lines
}

func commands(lines []string) []document.Value {
	all := make([]document.Value, 0, len(lines))
	for _, line := range lines {
		all = append(all, object("command", line))
	}
	return all
}

// object returns an object of texts.
func object(pairs ...string) document.Value {
	var members []document.Member
	for i := 0; i < len(pairs); i += 2 {
		members = append(members, document.Member{Name: pairs[i], Value: document.StringValue(pairs[i+1])})
	}
	return document.ObjectValue(members)
}

// sample returns inputs of tools that are not shells.
func (c *Checker) sample(tool string) []document.Value {
	file := "example.txt"
	name := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(tool[strings.LastIndex(tool, "__")+1:]))
	var all []document.Value
	switch {
	case strings.Contains(name, "notebook"):
		all = append(all, object("notebook_path", file, "new_source", "x"))
	case strings.Contains(name, "multiedit"):
		edits := document.Member{Name: "edits", Value: document.ArrayValue([]document.Value{object("old_string", "a",
			"new_string", "b")})}
		all = append(all, document.ObjectValue([]document.Member{
			{Name: "file_path", Value: document.StringValue(file)},
			edits,
		}))
	case strings.Contains(name, "patch"):
		all = append(all, object("input", "*** Begin Patch\n*** Add File: "+file+"\n+x\n*** End Patch\n"))
	case strings.Contains(name, "write"), strings.Contains(name, "create"):
		all = append(all, object("file_path", file, "content", "x"), object("path", file, "content", "x"))
	case strings.Contains(name, "edit"), strings.Contains(name, "replace"):
		all = append(all, object("file_path", file, "old_string", "a", "new_string", "b"), object("path", file, "old_str",
			"a", "new_str", "b"))
	}
	for i := range c.model.Policies {
		if e := c.model.Policies[i].Policy.Email; e != nil {
			all = append(all, letter(e))
		}
	}
	return append(all, document.Value{})
}

// letter returns an email that limits on emails admit.
func letter(e *rules.EmailLimits) document.Value {
	from, to := "agent@example.com", "someone@example.com"
	address := func(list []string, otherwise string) string {
		if len(list) == 0 {
			return otherwise
		}
		return strings.Replace(list[0], "*", "someone", 1)
	}
	return object("from", address(e.AllowedFrom, from), "to", address(e.AllowedTo, to), "subject", "x", "text", "x")
}

// known are tools that agents have without an entry in a list.
var known = []string{
	"Read", "Grep", "Glob", "LS", "Edit", "Write", "MultiEdit", "NotebookEdit", "Bash", "Task", "WebFetch", "WebSearch",
	"TodoWrite",
	"read_file", "write_file", "edit_file", "create_file", "apply_patch", "shell", "exec_command", "run_command",
	"run_terminal_cmd",
}

// unlistedAmong returns an ending of names that no entry of some lists names, after any
// beginning: no entry ends with a beginning of it, as the entry mcp__ci__z* does of zq_any.
func unlistedAmong(entries []string) string {
	const end = "zq_any"
	named := slices.ContainsFunc(entries, func(entry string) bool {
		entry, open := strings.CutSuffix(entry, "*")
		for n := 1; open && n < len(end); n++ {
			if strings.HasSuffix(entry, end[:n]) {
				return true
			}
		}
		return strings.HasSuffix(entry, end)
	})
	if !named {
		return end
	}
	return string(unused(entries, "qxzjkwvyQXZJKWVY0123456789")) + end // no entry has that character at all
}

// lists returns the entries of all lists of tools that there are.
func (c *Checker) lists() []string {
	all := slices.Concat(c.policyTools, toolname.Client, known)
	for _, u := range c.units {
		all = append(all, listsOf(u.Machine)...)
	}
	return all
}

// listsOf returns those of a workflow.
func listsOf(m *workflow.Machine) (all []string) {
	for i := range m.Definition().States {
		s := m.State(m.Definition().States[i].Name)
		all = append(append(append(all, s.AllowedTools...), s.DisallowedTools...), s.AllowedCommandsTool)
	}
	for tool := range m.Meta().EditTools {
		all = append(all, tool)
	}
	return append(all, readTools(m)...)
}

// readTools returns those that a workflow declares to read.
func readTools(m *workflow.Machine) []string {
	all := slices.Clone(m.Meta().ReadTools)
	for _, r := range m.Meta().Reconcile {
		all = append(all, r.Tool)
	}
	return all
}

// toolsOf returns tools of a pattern: one for each way in which the lists of a state and
// of the policies can tell its tools apart.
func (c *Checker) toolsOf(of *Unit, state, pattern string) []string {
	prefix, wild := strings.CutSuffix(pattern, "*")
	if !wild {
		return []string{pattern}
	}
	key := [3]string{of.Machine.Name(), state, prefix}
	all, listed := c.tools[key]
	if !listed {
		all = slices.Clip(c.listTools(of, state, prefix)) // others append to it
		c.tools[key] = all
	}
	return all
}

func (c *Checker) listTools(of *Unit, state, prefix string) []string {
	var all []string
	add := func(name string) {
		if strings.HasPrefix(name, prefix) && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	shells := func(start string) {
		for _, name := range toolcall.Shells() {
			add(start + name)
		}
	}
	s := of.Machine.State(state)
	if s.AllowedCommandsTool != "" {
		add(s.AllowedCommandsTool)
	}
	for _, entry := range slices.Concat(s.AllowedTools, s.DisallowedTools, c.policyTools, toolname.Client, readTools(of.Machine)) {
		start, open := strings.CutSuffix(entry, "*")
		switch {
		case !open:
			add(entry)
		case strings.HasPrefix(start, prefix):
			add(start + c.unlisted)
		default:
			add(prefix + c.unlisted)
		}
		if rest, ok := strings.CutPrefix(entry, "mcp__"); ok {
			if server, _, ok := strings.Cut(rest, "__"); ok {
				add("mcp__" + server + "__resource:" + c.unlisted)
				add("mcp__" + server + "__prompt:" + c.unlisted)
			}
		}
		if open { // shells among them have rules of their own
			shells(start)
		}
	}
	for _, name := range known {
		add(name)
	}
	for tool := range of.Machine.Meta().EditTools {
		add(tool)
	}
	add(prefix + c.unlisted)
	shells(prefix)
	shells("mcp__" + c.unlisted + "__")
	slices.Sort(all)
	return slices.DeleteFunc(all, toolcall.Own)
}

// toolsOfPolicies returns names, or prefixes with a trailing *, of the tools that rules
// are about.
func toolsOfPolicies(policies []Policy) []string {
	var all []string
	for i := range policies {
		p := policies[i].Policy
		for _, list := range [][]rules.Rule{p.Allow, p.Ask, p.Deny} {
			for j := range list {
				all = append(all, toolsOfCapability(list[j].Capability)...)
			}
		}
		if p.Email != nil {
			for _, capability := range p.Email.Tools {
				all = append(all, toolsOfCapability(capability)...)
			}
			all = append(all, "resend-email", "mcp__resend__*")
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func toolsOfCapability(capability string) []string {
	text, wild := strings.CutSuffix(capability, "*")
	star := ""
	if wild {
		star = "*"
	}
	switch kind, rest, _ := strings.Cut(text, ":"); kind {
	case "bash":
		return []string{"Bash"}
	case "mcp":
		server, tool, whole := strings.Cut(rest, ":")
		switch {
		case !whole && !wild:
			return []string{"mcp__" + server + "__*"}
		case !whole:
			return []string{"mcp__" + server + "*"}
		case wild:
			return []string{"mcp__" + server + "__" + tool + "*"}
		}
		// Names that continue after a separator belong to it.
		return []string{"mcp__" + server + "__" + tool, "mcp__" + server + "__" + tool + ":*", "mcp__" + server + "__" +
			tool + ".*"}
	case "tool":
		if wild {
			return []string{rest + "*"}
		}
		return []string{rest, rest + ":*", rest + ".*"}
	default:
		return []string{star}
	}
}

// Judging returns the parts of a definition that decide on calls in a state.
func Judging(m *workflow.Machine, s *workflow.StateView) any {
	state, meta := s.State, m.Meta()
	state.On, state.Instructions, state.Model, state.ThinkingLevel, state.SafeNext = nil, "", "", "", ""
	state.Jail = *s.JailRules()
	return struct {
		State    workflow.State
		Enforced workflow.Enforcement
		Commands map[string]workflow.CommandClass
		Unknown  bool
		Edits    map[string]workflow.EditTool
	}{state, meta.Enforcement, meta.Commands, meta.UnknownCommands, meta.EditTools}
}

// IsCallOf reports that a call is one that a subject speaks of. A command line that cannot be
// read runs no command that could be named.
func IsCallOf(s workflow.Subject, state *workflow.StateView, tool string, input []byte) bool {
	if prefix, wild := strings.CutSuffix(s.Tool, "*"); s.Tool != "" && tool != s.Tool && (!wild || !strings.HasPrefix(tool, prefix)) {
		return false
	}
	if s.Tool == "" && !toolcall.Shell(state, tool) {
		return false
	}
	if s.Command == "" {
		return true
	}
	v, problem := document.Parse(input, document.Limits{})
	if problem != nil {
		return false
	}
	line, _ := v.Get("command")
	plan, err := shell.Parse(line.Str())
	if line.Kind() != document.String || err != nil {
		return false
	}
	list := shell.NewList([]string{s.Command})
	return slices.ContainsFunc(plan.Commands, func(c shell.Command) bool {
		_, ok := list.Match(c)
		return ok
	})
}

// ToolsOf returns names of tools that the rules of a policy are about, or prefixes with a
// trailing *.
func ToolsOf(p Policy) []string { return toolsOfPolicies([]Policy{p}) }
