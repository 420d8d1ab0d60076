package hook

import "github.com/go-json-experiment/json/jsontext"

// outcome is the result of an event, for any agent.
type outcome struct {
	verdict verdict
	// reason of the verdict; an agent refuses a denial without one.
	reason string
	// input, when not nil, is the input to make an allowed call with.
	input jsontext.Value
	// context is for the agent to read; empty for none.
	context string
	// shown is for the person to read, where the agent's client shows such texts; empty for none.
	shown string
	// goOn is why an agent that was about to stop must continue; empty when it may stop.
	goOn string
}

// verdict is whether a call may be made.
type verdict uint8

// The verdicts. noOpinion leaves the call to the agent's own permissions.
const (
	noOpinion verdict = iota
	allow
	deny
)
