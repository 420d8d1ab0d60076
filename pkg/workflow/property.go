package workflow

import "github.com/interlock-run/interlock/pkg/condition"

// Property is a rule that every run of a workflow must keep, with any agent. It does not
// affect runs: pkg/verify decides whether the definition keeps it.
type Property struct {
	Name string
	Kind PropertyKind
	// Subject is the act that must not happen, that comes second, or that is counted.
	Subject Subject
	// Condition admits the subject; nil for never without unless.
	Condition *Condition
	// Most is how often the subject may happen in one run, of AtMost.
	Most int64
	// Target is the state that must stay reachable, of AlwaysPossible; empty for any
	// final state.
	Target string
	// People hold a role, of CanBeDecided; a role that it does not have
	// is held by as many as are needed. Nil for no such limit.
	People map[string][]string
	// Running limits the property to runs that their agent has neither ended nor
	// paused: outside of that a workflow which does not enforce always allows every tool.
	Running bool
}

// PropertyKind is the form of a property.
type PropertyKind string

// The kinds.
const (
	Never          PropertyKind = "never"
	Before         PropertyKind = "before"
	AlwaysPossible PropertyKind = "always_possible"
	AtMost         PropertyKind = "at_most"
	CanBeDecided   PropertyKind = "can_be_decided"
	// EndsWithoutAgent holds where time alone leads to a final state from everywhere (S25.10).
	EndsWithoutAgent PropertyKind = "ends_without_agent"
)

// Subject is a state that is entered, an event that is taken, or a tool call that is
// allowed.
type Subject struct {
	State string
	Event string
	// Tool is a name or a prefix with a trailing *, as in allowed_tools; empty with a
	// Command means every tool that runs command lines.
	Tool string
	// Command is an entry as in allowed_commands; empty for any input.
	Command string
	// When is a condition that a call must meet, by the stance of restrictions; nil for any call.
	When *condition.Condition
}

// Calls reports that it is about tool calls.
func (s *Subject) Calls() bool { return s.Tool != "" || s.Command != "" }

// Condition is an earlier act of the run.
type Condition struct {
	// Evidence that is held at that moment.
	Evidence string
	// Event that was taken.
	Event string
	// State that was entered.
	State string
	// Approval by humans.
	Approval *ApprovalCondition
	// Any of these will do; then the other fields are empty.
	Any []Condition
}

// ApprovalCondition is an approval that was granted. Fields that are empty do not
// matter.
type ApprovalCondition struct {
	// By is a role or a name, without which the approval is not granted.
	By string
	// State and Event of the transition that was asked for.
	State, Event string
}
