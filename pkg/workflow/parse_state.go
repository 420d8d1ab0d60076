package workflow

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolname"
)

// stateFacts has the facts that the graph needs of a state.
type stateFacts struct {
	at       *document.Path
	final    bool
	badType  bool // it could not be read
	safeNext int  // place, or unknownState
	approval bool // a transition of it asks for approval
	exits    bool // it has some transition, right or wrong
	opaque   bool // it has transitions that could not be read
	// endsByEvent: BRANCH_DONE leads out of it
	endsByEvent bool
}

var (
	stateFields = []string{
		"type", "outcome", "danger_level", "allowed_tools", "disallowed_tools", "instructions", "max_iterations", "safe_next",
		"max_edit_lines", "max_files_per_state", "allowed_commands", "allowed_commands_tool", "opaque_commands",
		"blocked_env", "deny_env", "env_overrides", "env", "context_budget_bytes", "no_unknown_effects", "jail", "calls", "on", "after", "remind", "stale", "while_asked",
	}
	// limitFields have no effect in a final state: enforcement has ended (S2.9).
	limitFields = []string{
		"allowed_tools", "disallowed_tools", "max_iterations", "max_edit_lines", "max_files_per_state", "allowed_commands",
		"allowed_commands_tool", "opaque_commands", "blocked_env", "deny_env", "env_overrides", "env", "context_budget_bytes", "jail", "calls",
	}
	// elsewhere are fields that protect another object. In a state, or under meta, they
	// would not be read.
	elsewhere = []string{
		"guard", "guards", "requires_approval", "approval_message", "interrupts", "file_pattern", "deny", "allow", "rate_limit", "budget_limit",
	}
	// synonyms map other spellings to ours.
	synonyms = map[string]string{
		"tools": "allowed_tools", "denied_tools": "disallowed_tools", "blocked_tools": "disallowed_tools",
		"deny_tools": "disallowed_tools", "forbidden_tools": "disallowed_tools", "commands": "allowed_commands",
		"envs": "env_overrides", "blocked_commands": "allowed_commands", "denied_commands": "allowed_commands",
		"disallowed_commands": "allowed_commands", "transitions": "on", "final": "type", "is_final": "type",
		"max_turns": "max_iterations", "max_calls": "max_iterations", "max_tool_calls": "max_iterations",
	}
)

// learnStates remembers the names before anything refers to them.
func (r stateSection) learnStates(states document.Fields) {
	if states.Value.IsZero() {
		return
	}
	r.stateOrder, r.states = states.Places(stateRule, "add at least one, and a final one", maxStates, "split the workflow")
	r.facts = make([]stateFacts, len(r.stateOrder))
	r.def.States = make([]State, len(r.stateOrder))
}

func (r stateSection) state(i int, name string, v document.Value, at *document.Path) {
	facts := &r.facts[i]
	*facts = stateFacts{at: at, safeNext: unknownState}
	s := &r.def.States[i]
	s.Name = name
	f, ok := r.report.Object(v, at, "a state")
	if !ok {
		facts.badType, facts.exits, facts.opaque = true, true, true
		return
	}
	r.stateFields(f)
	r.stateType(f, s, facts)
	s.Danger = r.dangerLevel(f)
	r.tools(f, s)
	r.metaPart().commands(f, s)
	r.calls(f, s)
	r.environment(f, s)
	r.stateJail(f, s)
	s.Instructions, _ = f.Str("instructions")
	s.Model, s.ThinkingLevel = cmp.Or(runtimeHint(f, "model"), r.defaultModel), runtimeHint(f, "thinking_level")
	s.MaxIterations, _ = f.Integer("max_iterations", 1)
	s.MaxEditLines, _ = f.Integer("max_edit_lines", 1)
	s.MaxFilesPerState, _ = f.Integer("max_files_per_state", 1)
	s.ContextBudgetBytes, _ = f.Integer("context_budget_bytes", 1)
	r.evidencePart().demandsEffects(f, s)
	r.idleLimits(f, s)
	r.transitionPart().exits(i, f, s)
	r.timePart().state(i, f, s)
	if facts.final {
		r.finalState(f)
	}
}

func (r stateSection) stateFields(f document.Fields) {
	for name := range f.Value.Members() {
		if known, ok := synonyms[strings.ToLower(name)]; ok && !f.Has(known) {
			r.report.Errorf(f.At.Key(name), document.CodeUnknownField, "a state has no field %q; did you mean %q?", name, known)
			continue
		}
		if runtimeHint(f, name) == "" {
			r.unknownField(f, name, "a state", stateFields)
		}
	}
}

// maxHint is the longest hint that reaches an agent's runtime, in bytes.
const maxHint = 128

// runtimeHint returns the advice of a state to the agent's runtime, or empty where it is
// not a text that could reach one. Its fields are no known ones: others may come near
// them.
func runtimeHint(f document.Fields, name string) string {
	if name != "model" && name != "thinking_level" {
		return ""
	}
	v, _ := f.Value.Get(name)
	return hint(v.Str())
}

// hint returns a text that can reach an agent's runtime, and the empty text for any other.
func hint(text string) string {
	if len(text) > maxHint || strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return ""
	}
	return text
}

// unknownField reports a near miss and warns of the rest (S1.4).
func (r stateSection) unknownField(f document.Fields, name, what string, known []string) {
	if slices.Contains(known, name) {
		return
	}
	if slices.Contains(elsewhere, name) {
		r.report.Misplaced(f.At.Key(name), what, name)
		return
	}
	if other, near := document.NearField(name, known, elsewhere); near {
		r.report.Errorf(f.At.Key(name), document.CodeUnknownField, "%s has no field %s, which is close to %q; did you mean that?",
			what, document.Quote(name), other)
		return
	}
	r.report.Hint(f.At.Key(name), name)
}

// failureNames are the final states that fail without saying so (S1.5).
var failureNames = []string{"failed", "failure", "error", "aborted", "blocked", "rejected", "cancelled"}

func (r stateSection) stateType(f document.Fields, s *State, facts *stateFacts) {
	if f.Has("type") {
		_, ok := f.Enum("type", "final")
		facts.final, facts.badType = ok, !ok
	}
	s.Final = facts.final
	outcome, given := f.Enum("outcome", string(Success), string(Failure))
	switch {
	case !facts.final:
		if given {
			r.report.Warnf(f.At.Key("outcome"), document.CodeNoEffect, "only a final state has an outcome; add \"type\": \"final\" or remove it")
		}
	case given:
		s.Outcome = Outcome(outcome)
	case slices.Contains(failureNames, s.Name):
		s.Outcome = Failure
	default:
		s.Outcome = Success
	}
}

func (r stateSection) finalState(f document.Fields) {
	if on, ok := f.Value.Get("on"); ok && on.Len() > 0 {
		r.report.Errorf(f.At.Key("on"), CodeFinalHasOn, "a final state is never left; remove \"on\", or \"type\": \"final\"")
	}
	if f.Has("safe_next") {
		r.report.Errorf(f.At.Key("safe_next"), CodeFinalHasOn, "a final state is never left; remove \"safe_next\", or \"type\": \"final\"")
	}
	for _, name := range limitFields {
		if f.Has(name) {
			r.report.Warnf(f.At.Key(name), CodeFinalHasLimits, "a final state ends enforcement, so %q has no effect; remove it", name)
		}
	}
}

func (r stateSection) tools(f document.Fields, s *State) {
	if allowed, ok := f.Strings("allowed_tools", maxItems); ok {
		s.ToolsRestricted, s.AllowedTools = true, document.Texts(allowed)
		r.listed(allowed, toolname.Grants)
	} else if f.Has("allowed_tools") {
		s.ToolsRestricted = true // wrong: refused anyway, and never open
	}
	denied, ok := f.Strings("disallowed_tools", maxItems)
	if !ok {
		return
	}
	s.DisallowedTools = document.Texts(denied)
	r.listed(denied, toolname.Restricts)
	at := f.At.Key("allowed_tools")
	for i, tool := range s.AllowedTools {
		if slices.Contains(s.DisallowedTools, tool) {
			r.report.Warnf(at.At(i), document.CodeNoEffect, "%s is also in disallowed_tools, which takes precedence; remove one", document.Quote(tool))
		}
	}
}

// noEdits are tools that change no file by themselves. Any other may.
var noEdits = []string{
	"Read", "Grep", "Glob", "LS", "Bash", "BashOutput", "KillShell", "WebFetch", "WebSearch", "TodoWrite", "Task", "NotebookRead",
	toolname.ClientGroup,
}

// idleLimits warns of limits that the tools of the state can never reach.
func (r stateSection) idleLimits(f document.Fields, s *State) {
	if !s.ToolsRestricted || s.Final {
		return
	}
	idle := []string{"max_edit_lines", "max_files_per_state"}
	why := "no tool of the state edits files"
	switch {
	case len(s.AllowedTools) == 0:
		idle, why = append(idle, "max_iterations", "context_budget_bytes"), "the state allows no tool"
	case slices.ContainsFunc(s.AllowedTools, func(tool string) bool { return !slices.Contains(noEdits, tool) }):
		return
	}
	for _, name := range idle {
		if f.Has(name) {
			r.report.Warnf(f.At.Key(name), document.CodeNoEffect, "%s, so %q has no effect; add the tool or remove the limit", why, name)
		}
	}
}

func (r stateSection) listed(items []document.StringAt, position toolname.Position) {
	for _, item := range items {
		r.toolName(item.Text, item.At, position)
	}
	r.report.Duplicates(items)
}

// toolName checks a tool's name, or a prefix of names with a trailing * (S3.1).
func (r stateSection) toolName(name string, at *document.Path, position toolname.Position) {
	fault := r.toolNames.Fault(name, position)
	switch prefix := strings.TrimSuffix(name, "*"); {
	case name == "":
		r.report.Errorf(at, document.CodeEmpty, "the tool name is empty; name a tool or remove the item")
	case name == "*":
		r.report.Warnf(at, CodeTooBroad, "\"*\" matches every tool; name the tools")
	case strings.Contains(prefix, "*"):
		r.report.Errorf(at, document.CodeName, "%s: a * is allowed only at the end, where it matches any rest of the name", document.Quote(name))
	case strings.ContainsAny(prefix, "()"):
		r.report.Errorf(at, document.CodeName, "%s: list the tool alone; commands go to \"allowed_commands\"", document.Quote(name))
	case len(name) > 256 || strings.ContainsFunc(prefix, notInToolName):
		r.report.Errorf(at, document.CodeName, "%s is not a valid tool name; write exactly one name, without spaces", document.Quote(name))
	case fault != "":
		r.report.Errorf(at, toolname.CodeUnknownTool, "%s", fault)
	}
}

func notInToolName(c rune) bool {
	return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !unicode.IsMark(c) && !strings.ContainsRune("_-.:/@+#$~", c)
}
