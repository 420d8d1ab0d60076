package extauthz

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Methods that this package knows by name.
const (
	methodCallTool = "tools/call"
	// methodResponse stands for an answer to a server's question to its client. It has no
	// method of its own.
	methodResponse = "response"
)

// maxMessages bounds the messages of one batch, maxNesting the nesting that allows a
// tool's input of 64 levels (S1.1): a batch, a message and its params.
const (
	maxMessages = 64
	maxNesting  = 64 + 3
)

// message is one message of MCP.
type message struct {
	// ID is that of a request, as it was written; nil for a notification and a response.
	ID jsontext.Value
	// Method is a method of MCP, or methodResponse.
	Method string
	// Tool and Input are those of a call; Input is nil for none.
	Tool  string
	Input jsontext.Value
}

// parse reads the body of a request to an MCP server: a message, or a batch of them. An
// ambiguous body is an error: duplicate names, names that differ from those of JSON-RPC
// only by case, invalid UTF-8, text after the message. Only the messages of parse itself
// go to clients.
func parse(body []byte) (messages []message, batch bool, err error) {
	if tooDeep(body) {
		return nil, false, fmt.Errorf("it nests more than %d levels deep", maxNesting)
	}
	var texts []jsontext.Value
	switch jsontext.Value(body).Kind() {
	case '{':
		texts = []jsontext.Value{body}
	case '[':
		batch = true
		if err := json.Unmarshal(body, &texts); err != nil {
			return nil, true, errNotJSON
		}
	default:
		return nil, false, errNotJSON
	}
	if len(texts) == 0 || len(texts) > maxMessages {
		return nil, batch, fmt.Errorf("a batch has 1 to %d messages", maxMessages)
	}
	for _, text := range texts {
		m, err := parseOne(text)
		if err != nil {
			return nil, batch, err
		}
		messages = append(messages, m)
	}
	return messages, batch, nil
}

var errNotJSON = errors.New("it is not JSON in UTF-8 without duplicate names")

// members reads an object of which these names have a meaning.
func members(text jsontext.Value, known ...string) (map[string]jsontext.Value, error) {
	if text.Kind() != '{' {
		return nil, errors.New("a message and its params must be objects")
	}
	var all map[string]jsontext.Value
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, errNotJSON
	}
	for name := range all {
		for _, other := range known {
			if name != other && strings.EqualFold(name, other) {
				return nil, fmt.Errorf("it has a member that some read as %q", other)
			}
		}
	}
	return all, nil
}

func parseOne(text jsontext.Value) (message, error) {
	all, err := members(text, "jsonrpc", "id", "method", "params", "result", "error")
	if err != nil {
		return message{}, err
	}
	if version, ok := textOf(all["jsonrpc"]); !ok || version != "2.0" {
		return message{}, errors.New("it is not a message of JSON-RPC 2.0")
	}
	id := all["id"]
	switch id.Kind() {
	case '"', '0', jsontext.KindInvalid:
	default:
		return message{}, errors.New("an id must be a string or a number")
	}
	_, isRequest := all["method"]
	_, hasResult := all["result"]
	_, hasError := all["error"]
	switch {
	case isRequest && (hasResult || hasError):
		return message{}, errors.New("it is both a request and a response")
	case !isRequest && hasResult == hasError:
		return message{}, errors.New("it is neither a request nor a response")
	case !isRequest:
		return message{Method: methodResponse}, nil
	}
	method, ok := textOf(all["method"])
	if !ok || method == "" || method == methodResponse {
		return message{}, errors.New("its method is not one")
	}
	m := message{ID: id, Method: method}
	if method != methodCallTool {
		return m, nil
	}
	params, err := members(all["params"], "name", "arguments")
	if err != nil {
		return message{}, err
	}
	if m.Tool, ok = textOf(params["name"]); !ok || m.Tool == "" {
		return message{}, errors.New("a call needs the name of its tool")
	}
	m.Input = params["arguments"]
	if m.Input.Kind() == 'n' {
		m.Input = nil
	}
	return m, nil
}

// textOf returns the text of a JSON string.
func textOf(v jsontext.Value) (string, bool) {
	if v.Kind() != '"' {
		return "", false
	}
	text, err := jsontext.AppendUnquote(nil, v)
	return string(text), err == nil
}

// tooDeep counts brackets outside of strings, before anything recurses.
func tooDeep(text []byte) bool {
	depth, inString := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString:
			if c == '\\' {
				i++
			}
			inString = c != '"'
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			if depth++; depth > maxNesting {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}
