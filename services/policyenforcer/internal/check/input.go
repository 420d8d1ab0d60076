package check

import (
	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth is how deep a tool's input may nest (S1.1).
const maxDepth = 64

const badInput = "its input must be one JSON object in UTF-8, without duplicate keys, nested at most 64 levels deep"

// validInput reports whether an input is empty or one JSON object.
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
