package hook

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/interlock-run/interlock/services/internal/hookevent"
)

// Agent is a coding agent whose hooks are understood.
type Agent string

// The agents. They differ in how they write events, and in the answers that they take.
const (
	ClaudeCode Agent = hookevent.ClaudeCode
	Codex      Agent = hookevent.Codex
	Cursor     Agent = hookevent.Cursor
	Gemini     Agent = hookevent.Gemini
	Copilot    Agent = hookevent.Copilot
)

// dialect is how an agent writes events, and reads answers.
type dialect struct {
	read  func(data []byte) (*event, error)
	write func(ev *event, out outcome) (Answer, error)
	// jail is which calls it can run in a jail.
	jail jailing
}

var dialects = map[Agent]dialect{
	ClaudeCode: {readClaude, writeClaude, jailing{shells: []string{"Bash"}, shown: true}},
	Codex:      {readClaude, writeCodex, jailing{}},
	Cursor:     {readCursor, writeCursor, jailing{}},
	Gemini:     {readGemini, writeGemini, jailing{}},
	Copilot:    {readCopilot, writeCopilot, jailing{}},
}

// Agents returns the names of all of them, in order.
func Agents() []string {
	var names []string
	for _, agent := range slices.Sorted(maps.Keys(dialects)) {
		names = append(names, string(agent))
	}
	return names
}

// fields is a JSON object of an answer.
type fields map[string]any

// answerWith returns an answer on standard output; empty for no fields.
func answerWith(output fields) (Answer, error) {
	if len(output) == 0 {
		return Answer{}, nil
	}
	data, err := json.Marshal(output, json.Deterministic(true))
	if err != nil {
		return Answer{}, fmt.Errorf("encode the hook's answer: %w", err)
	}
	return Answer{Exit: exitDone, Stdout: string(data)}, nil
}
