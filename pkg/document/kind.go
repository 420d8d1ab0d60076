package document

// KindOf returns the kind of a document by its shape: "workflow", "process", "policy" or
// "component"; "" when it is none of them, as text that is not even an object. A document
// with mistakes is still recognized, by the fields that only one kind has.
func KindOf(v Value) string {
	switch {
	case v.Kind() != Object:
		return ""
	case v.hasAny("schema_definition", "persistence", "initial_values") || v.hasAny("slug") && !v.hasAny("states"):
		return "component"
	case v.hasAny("guards", "interrupts", "context"):
		return "workflow"
	case v.hasAny("states", "initial"):
		asks, moves := v.stateForms()
		if asks && !moves || v.hasAny("initial_prompt", "policy", "session_budget_usd", "email_config") ||
			v.hasAny("name") && !v.hasAny("id") && !moves {
			return "process"
		}
		return "workflow"
	case v.hasAny("role", "allow", "ask", "deny", "default", "rules"):
		return "policy"
	case v.hasAny("initial_prompt"):
		return "process"
	case v.hasAny("id", "meta"):
		return "workflow"
	}
	return ""
}

func (v Value) hasAny(names ...string) bool {
	for _, name := range names {
		if v.find(name) >= 0 {
			return true
		}
	}
	return false
}

// stateForms describes which forms the states have: that of a process, that of a
// workflow.
func (v Value) stateForms() (asks, moves bool) {
	states, _ := v.Get("states")
	for _, state := range states.Members() {
		asks = asks || state.hasAny("question", "answers")
		moves = moves || state.hasAny("on", "allowed_tools")
	}
	return asks, moves
}
