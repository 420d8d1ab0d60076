// Package process is the form of a state machine that asks questions: the answers
// of a state lead on or end the session (S8). It is pure: it must never read a
// file, a clock or a store.
package process

import "github.com/interlock-run/interlock/pkg/rules"

// Definition is a parsed process. Order is as written.
type Definition struct {
	Name string
	// Initial is the state that asks first.
	Initial string
	// InitialPrompt is given to the agent before its first turn (S8.5).
	InitialPrompt string
	States        []State
	// SessionBudget is the most that a session may cost, nil for no limit (S7.5).
	SessionBudget *rules.MicroUSD
	// Email limits email tools, nil for no limit (S7.7).
	Email *rules.EmailLimits
	// ToolsRestricted is false when allowed_tools was omitted: the whole
	// whitelist (S7.8).
	ToolsRestricted bool
	AllowedTools    []string
	// Policy is judged on every tool call; nil when there is none.
	Policy *rules.Policy
}

// State asks one question. Without answers it is terminal (S8.2).
type State struct {
	Name     string
	Question string
	Answers  []Answer
}

// Answer leads to the next state or ends the session.
type Answer struct {
	Key string
	// Next is a state, or empty when the answer ends the session.
	Next   string
	Action Action
}

// Ends reports whether the answer ends the session.
func (a Answer) Ends() bool { return a.Next == "" }

// Action is the side effect of an answer.
type Action string

// Actions; the zero Action has none.
const (
	Block       Action = "block"
	Warn        Action = "warn"
	Complete    Action = "complete"
	NotifyHuman Action = "notify_human"
)
