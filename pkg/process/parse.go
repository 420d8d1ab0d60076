package process

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolinput"
	"github.com/interlock-run/interlock/pkg/toolname"
)

// Codes of a process's references and graph (S1.3), the same as those of
// workflows.
const (
	CodeUnknownState document.Code = "UNKNOWN_STATE"
	CodeInitialFinal document.Code = "INITIAL_FINAL"
	CodeNoFinal      document.Code = "NO_FINAL"
	CodeUnreachable  document.Code = "UNREACHABLE"
	CodeDeadEnd      document.Code = "DEAD_END"
)

// Bounds of one definition (TOO_MANY).
const (
	maxStates  = 10_000
	maxAnswers = 1_000
	maxTools   = 1_000
)

// Parse reads a process in JSON and reports all that is wrong with it at once.
// The definition is nil when there is an error among the problems.
func Parse(src []byte) (*Definition, document.Problems) {
	v, problems := document.ParseAll(src, document.Limits{})
	return readDefinition(v, problems)
}

// ParseYAML does the work of Parse for YAML.
func ParseYAML(src []byte) (*Definition, document.Problems) {
	v, problems := document.FromYAML(src)
	return readDefinition(v, problems)
}

// Is reports by its shape that a document is a process, and not a workflow.
func Is(v document.Value) bool { return document.KindOf(v) == "process" }

// ParseValue does the work of Parse for a document that has been read.
func ParseValue(v document.Value) (*Definition, document.Problems) { return readDefinition(v, nil) }

func readDefinition(v document.Value, problems document.Problems) (*Definition, document.Problems) {
	r := &reader{}
	r.report.Add(problems...)
	if !v.IsZero() || len(problems) == 0 {
		r.definition(v)
	}
	found := r.report.Problems()
	if found.HasErrors() {
		return nil, found
	}
	return &r.def, found
}

type reader struct {
	report document.Report
	def    Definition
	states map[string]int
	names  []string
	facts  []facts
}

// facts are the facts that the graph needs of a state.
type facts struct {
	at   *document.Path
	next []int
	ends bool // an answer of it ends the session, or it has none, or it was not understood
	last bool // it has no answers
}

var (
	topFields = []string{
		"$schema", "id", "name", "description", "initial", "initial_prompt", "states", "session_budget_usd", "email_config",
		"allowed_tools", "policy", "createdAt", "updatedAt", "created_at", "updated_at", "version", "meta", "tags",
	}
	stateFields  = []string{"question", "answers"}
	answerFields = []string{"next", "action"}
	// protective fields would protect something where they belong.
	protective = []string{"deny", "allow", "rate_limit", "budget_limit", "disallowed_tools", "allowed_commands", "blocked_env", "jail"}
	stateRule  = document.NameRule{What: "state"}
	// Answers are events, and some of those the engine itself understands (S1.4).
	answerRule = document.NameRule{What: "answer", Printable: true, Prefix: "BRANCH_DONE"}
)

func (r *reader) definition(v document.Value) {
	f, ok := r.report.Object(v, nil, "a process")
	if !ok {
		return
	}
	f.KnownOrHint("a process", topFields, protective)
	f.Require("name", "initial", "states")
	r.name(f)
	r.def.InitialPrompt, _ = f.Str("initial_prompt")
	r.def.SessionBudget = rules.ReadSessionBudget(f)
	names := declaredTools(f)
	r.def.Email = rules.ReadEmailLimits(f, names)
	r.tools(f, names)
	if policy, ok := f.Value.Get("policy"); ok {
		r.def.Policy = rules.ReadPolicy(&r.report, policy, f.At.Key("policy"))
	}
	states, ok := f.Object("states")
	if !ok {
		f.Str("initial")
		return
	}
	r.learnStates(states)
	for i, name := range r.names {
		value, _ := states.Value.Get(name)
		r.state(i, value, states.At.Key(name))
	}
	r.graph(f, states.At)
}

// name checks the name of the process in commands and URLs (S8.4).
func (r *reader) name(f document.Fields) {
	name, ok := f.Str("name")
	if !ok {
		return
	}
	r.def.Name = name
	at := f.At.Key("name")
	if name == "" {
		r.report.Errorf(at, document.CodeEmpty, "the name is empty; give it one")
	}
	if !document.IsSlug(name) {
		r.report.Errorf(at, document.CodeName, "the name %s is not allowed; use a-z, 0-9 and -, at most %d of them", document.Quote(name), document.LongestSlug)
	}
}

// declaredTools reads meta.tools. Other fields under meta are for other people and programs.
func declaredTools(f document.Fields) toolname.Names {
	v, _ := f.Value.Get("meta")
	if v.Kind() != document.Object {
		return toolname.Names{}
	}
	names, _ := toolinput.ReadTools(document.Fields{Report: f.Report, Value: v, At: f.At.Key("meta")}, maxTools)
	return toolname.With(names)
}

func (r *reader) tools(f document.Fields, names toolname.Names) {
	items, ok := f.Strings("allowed_tools", maxTools)
	r.def.ToolsRestricted = f.Has("allowed_tools")
	if !ok {
		return
	}
	r.def.AllowedTools = document.Texts(items)
	for _, item := range items {
		switch {
		case item.Text == "":
			r.report.Errorf(item.At, document.CodeEmpty, "the tool name is empty; name a tool or remove the item")
		case strings.ContainsAny(item.Text, " \t\r\n"):
			r.report.Errorf(item.At, document.CodeName, "%s is not a valid tool name; write exactly one name, without spaces", document.Quote(item.Text))
		case len(intersect([]string{item.Text}, SafeTools())) > 0:
		case names.Fault(item.Text, toolname.Grants) != "":
			r.report.Errorf(item.At, toolname.CodeUnknownTool, "%s", names.Fault(item.Text, toolname.Grants))
		default:
			r.report.Warnf(item.At, document.CodeNoEffect, "%s is not on the default list of tools that are safe in processes, so it is ignored; remove it, or add it to that list", document.Quote(item.Text))
		}
	}
	r.report.Duplicates(items)
}

func (r *reader) learnStates(states document.Fields) {
	r.names, r.states = states.Places(stateRule, "add at least one", maxStates, "split the process")
	r.facts = make([]facts, len(r.names))
	r.def.States = make([]State, len(r.names))
}

func (r *reader) state(i int, v document.Value, at *document.Path) {
	s := &r.def.States[i]
	s.Name = r.names[i]
	r.facts[i].at = at
	f, ok := r.report.Object(v, at, "a state")
	if !ok {
		r.facts[i].ends = true
		return
	}
	f.KnownOrHint("a state", stateFields, protective)
	s.Question, _ = f.Text("question")
	answers, ok := f.Object("answers")
	switch {
	case !ok && f.Has("answers"):
		r.facts[i].ends = true
		f.Require("question")
		return
	case answers.Value.Len() == 0:
		r.facts[i].ends, r.facts[i].last = true, true
		return
	case answers.Value.Len() > maxAnswers:
		r.report.Errorf(answers.At, document.CodeTooMany, "there are %d answers, the limit is %d", answers.Value.Len(), maxAnswers)
		return
	}
	f.Require("question")
	answers.SameNames("answer")
	for key, value := range answers.Value.Members() {
		r.report.CheckName(key, answers.At.Key(key), answerRule)
		a := Answer{Key: key}
		r.answer(i, value, answers.At.Key(key), &a)
		s.Answers = append(s.Answers, a)
	}
}

func (r *reader) answer(from int, v document.Value, at *document.Path, a *Answer) {
	facts := &r.facts[from]
	f, ok := r.report.Object(v, at, "an answer")
	if !ok {
		facts.ends = true
		return
	}
	f.Known("an answer", answerFields...)
	f.Require("next")
	action, _ := f.Enum("action", string(Block), string(Warn), string(Complete), string(NotifyHuman))
	a.Action = Action(action)
	next, _ := f.Value.Get("next")
	switch next.Kind() {
	case document.Null, document.Missing:
		facts.ends = true
		return
	case document.String:
	default:
		r.report.Errorf(at.Key("next"), document.CodeType, "\"next\" must be a state's name or null, not a %s", next.Kind())
		facts.ends = true
		return
	}
	a.Next = next.Str()
	if to, ok := r.states[a.Next]; ok {
		facts.next = append(facts.next, to)
	} else {
		facts.ends = true
		r.report.Errorf(at.Key("next"), CodeUnknownState, "no state %s%s", document.Quote(a.Next), r.hint(a.Next))
	}
	if a.Action == Block || a.Action == Complete {
		r.report.Errorf(at, document.CodeConflict, "%q ends the session, but \"next\" continues it; set \"next\" to null or choose another action", a.Action)
		r.report.Errorf(at.Key("next"), document.CodeConflict, "%q ends the session, so \"next\" must be null", a.Action)
	}
}

func (r *reader) hint(name string) string {
	if hint := r.report.DidYouMean(name, slices.Values(r.names)); hint != "" {
		return hint
	}
	return "; add it to \"states\", or write null to end the session"
}

// graph checks the rules that concern all states together.
func (r *reader) graph(f document.Fields, statesAt *document.Path) {
	initial, ok := f.Str("initial")
	if !ok || len(r.names) == 0 {
		return
	}
	r.def.Initial = initial
	start, ok := r.states[initial]
	if !ok {
		r.report.Errorf(f.At.Key("initial"), CodeUnknownState, "no state %s%s", document.Quote(initial),
			r.report.DidYouMean(initial, slices.Values(r.names)))
		return
	}
	if r.facts[start].last {
		r.report.Errorf(f.At.Key("initial"), CodeInitialFinal, "%q has no answers, so a session would end at once; begin elsewhere", initial)
	}
	r.ways(start, statesAt)
}

func (r *reader) ways(start int, statesAt *document.Path) {
	reached := walk([]int{start}, func(s int) []int { return r.facts[s].next })
	back := make([][]int, len(r.facts))
	var ends []int
	for s, facts := range r.facts {
		if facts.ends {
			ends = append(ends, s)
		}
		for _, to := range facts.next {
			back[to] = append(back[to], s)
		}
	}
	if len(ends) == 0 {
		r.report.Errorf(statesAt, CodeNoFinal, "no answer ends the session; give one \"next\": null")
		return
	}
	canEnd := walk(ends, func(s int) []int { return back[s] })
	for s, facts := range r.facts {
		switch {
		case !reached[s]:
			r.report.Warnf(facts.at, CodeUnreachable, "no transition leads to %q; add an answer that does or remove it", r.names[s])
		case !canEnd[s]:
			r.report.Warnf(facts.at, CodeDeadEnd, "no answer from %q on ends the session; add one", r.names[s])
		}
	}
}

func walk(from []int, next func(int) []int) map[int]bool {
	seen := make(map[int]bool)
	for _, s := range from {
		seen[s] = true
	}
	for queue := slices.Clone(from); len(queue) > 0; queue = queue[1:] {
		for _, to := range next(queue[0]) {
			if !seen[to] {
				seen[to] = true
				queue = append(queue, to)
			}
		}
	}
	return seen
}
