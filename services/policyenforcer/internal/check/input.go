package check

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// maxDepth is how deep a tool's input may nest (S1.1).
const maxDepth = 64

const badInput = "its input must be one JSON object in UTF-8, without duplicate keys, nested at most 64 levels deep"

// judge decides a call in the pure core. What the state would allow is denied
// when its input is not what a tool can be given: two readers of such text may
// see two different calls.
func (c *Service) judge(s *runs.Snapshot, req Request) toolcall.Verdict {
	v := toolcall.Decide(s.Machine, s.Run, c.callIn(s, req))
	switch {
	case c.Jails == enforcer.JailsRequired && needsJail(s, req, &v):
		return toolcall.JailRequired(req.Tool, noJail)
	case v.Decision != toolcall.Allow || !v.Counted:
	case !validInput(req.Input):
		return toolcall.Verdict{Decision: toolcall.Deny, Code: toolcall.CodeInvalidInput, Tool: req.Tool, Detail: badInput}
	case s.Unbound:
		v.Code, v.Detail, v.Jail = toolcall.CodeNotEnforced, toolcall.NoRun, nil
	}
	return v
}

// validInput is true for nothing, and for one JSON object.
func validInput(input []byte) bool {
	if len(input) == 0 {
		return true
	}
	text := jsontext.Value(input)
	return text.Kind() == '{' && !tooDeep(input) && text.IsValid()
}

// tooDeep counts brackets outside of strings, before anything recurses.
func tooDeep(input []byte) bool {
	depth, inString := 0, false
	for i := 0; i < len(input); i++ {
		switch c := input[i]; {
		case inString:
			if c == '\\' {
				i++
			}
			inString = c != '"'
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}
