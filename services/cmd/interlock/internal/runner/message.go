package runner

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// maxMessage is the size of an agent's final message, in bytes; the result that is made
// of it may have 64 KiB (S15.3).
const maxMessage = 48 << 10

// maxResult is the most that the server takes.
const maxResult = 64 << 10

// message keeps the end of an agent's standard output.
type message struct {
	text []byte
	cut  bool
}

// Write implements io.Writer.
func (m *message) Write(p []byte) (int, error) {
	m.text = append(m.text, p...)
	if over := len(m.text) - maxMessage; over > 0 {
		m.text = append(m.text[:0], m.text[over:]...)
		m.cut = true
	}
	return len(p), nil
}

// result returns the agent's final message as JSON, nil without output. Agents that print
// one JSON object with the field "result", as coding agents do when they are asked for
// JSON, mean that; any other text is a string.
func (m *message) result() []byte {
	text := bytes.TrimSpace(m.text)
	if len(text) == 0 {
		return nil
	}
	var said struct {
		Result json.RawMessage `json:"result"`
	}
	if !m.cut && json.Unmarshal(text, &said) == nil && len(said.Result) > 0 {
		return said.Result
	}
	whole := strings.ToValidUTF8(string(text), string(utf8.RuneError))
	if m.cut {
		whole = "[...] " + whole
	}
	for {
		quoted, err := json.Marshal(whole)
		switch {
		case err != nil:
			return nil
		case len(quoted) <= maxResult:
			return quoted
		}
		// Escapes make it longer: the end counts.
		whole = "[...] " + strings.ToValidUTF8(whole[len(whole)/2:], "")
	}
}
