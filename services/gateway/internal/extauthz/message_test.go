package extauthz

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	call := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","arguments":{"a":1}}}`
	for body, want := range map[string][]message{
		call:                {{ID: []byte("7"), Method: "tools/call", Tool: "t", Input: []byte(`{"a":1}`)}},
		" \n" + call + "\n": {{ID: []byte("7"), Method: "tools/call", Tool: "t", Input: []byte(`{"a":1}`)}},
		`{"id":"x","jsonrpc":"2.0","params":{"name":"t","_meta":{"a":[]}},"method":"tools\/call"}`:                   {{ID: []byte(`"x"`), Method: "tools/call", Tool: "t"}},
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\u0074","arguments":null}}`:                 {{ID: []byte("1"), Method: "tools/call", Tool: "t"}},
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":"not an object"}}`:           {{ID: []byte("1"), Method: "tools/call", Tool: "t", Input: []byte(`"not an object"`)}}, // the enforcer's to deny
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`:                                                     {{Method: "notifications/initialized"}},
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"t"}}`:                                              {{Method: "tools/call", Tool: "t"}},
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`: {{ID: []byte("1"), Method: "initialize"}},
		`{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}`:                                                      {{Method: "response"}},
		`{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}`:                                                {{Method: "response"}},
		`[{"jsonrpc":"2.0","id":1,"method":"ping"},` + call + `]`: {
			{ID: []byte("1"), Method: "ping"}, {ID: []byte("7"), Method: "tools/call", Tool: "t", Input: []byte(`{"a":1}`)},
		},
	} {
		got, batch, err := parse([]byte(body))
		if err != nil || batch != (body[0] == '[') || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, batch %v, %v", body, got, batch, err)
		}
	}
}

// What two readers could understand in two ways, or one of them not at all, is an error.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	call := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","arguments":{"a":1}}}`
	for what, body := range map[string]string{
		"nothing":                  "",
		"a blank":                  " ",
		"text":                     "hello",
		"a string":                 `"x"`,
		"null":                     "null",
		"a batch of none":          "[]",
		"a batch of numbers":       "[1]",
		"a batch of batches":       "[[" + call + "]]",
		"too many":                 "[" + strings.Repeat(call+",", maxMessages) + call + "]",
		"truncated":                call[:len(call)-1],
		"more than a message":      call + call,
		"trailing garbage":         call + "x",
		"a byte order mark":        "\ufeff" + call,
		"UTF-16":                   "\xff\xfe{\x00}\x00",
		"invalid UTF-8":            strings.Replace(call, `"t"`, "\"\xff\"", 1),
		"a lone surrogate":         strings.Replace(call, `"t"`, `"\ud800"`, 1),
		"two methods":              strings.Replace(call, `"id":7`, `"method":"ping"`, 1),
		"two methods, escaped":     strings.Replace(call, `"id":7`, `"m\u0065thod":"ping"`, 1),
		"two names":                strings.Replace(call, `"name":"t"`, `"name":"safe","name":"t"`, 1),
		"two arguments":            strings.Replace(call, `{"a":1}`, `{"a":1,"a":2}`, 1),
		"two arguments, deep":      strings.Replace(call, `{"a":1}`, `{"a":[{"b":1,"b":2}]}`, 1),
		"another case of method":   strings.Replace(call, `"id":7`, `"Method":"ping"`, 1),
		"only another case":        strings.Replace(call, `"method"`, `"METHOD"`, 1),
		"another case of params":   strings.Replace(call, `"id":7`, `"Params":{"name":"safe"}`, 1),
		"another case of name":     strings.Replace(call, `"name":"t"`, `"name":"t","Name":"u"`, 1),
		"the Kelvin sign":          strings.Replace(call, `"id":7`, "\"params\":{},\"param\u017f\":{}", 1), // folds to s
		"JSON-RPC 1.0":             strings.Replace(call, `"2.0"`, `"1.0"`, 1),
		"no version":               strings.Replace(call, `"jsonrpc":"2.0",`, "", 1),
		"a number as version":      strings.Replace(call, `"2.0"`, `2.0`, 1),
		"a null id":                strings.Replace(call, `"id":7`, `"id":null`, 1),
		"an object as id":          strings.Replace(call, `"id":7`, `"id":{}`, 1),
		"no method":                `{"jsonrpc":"2.0","id":1}`,
		"an empty method":          strings.Replace(call, "tools/call", "", 1),
		"the word for responses":   strings.Replace(call, "tools/call", "response", 1),
		"a number as method":       strings.Replace(call, `"tools/call"`, "1", 1),
		"request and response":     strings.Replace(call, `"id":7`, `"id":7,"result":{}`, 1),
		"result and error":         `{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`,
		"no params":                `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`,
		"params as a list":         `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["t"]}`,
		"no name":                  strings.Replace(call, `"name":"t",`, "", 1),
		"an empty name":            strings.Replace(call, `"name":"t"`, `"name":""`, 1),
		"a list as name":           strings.Replace(call, `"name":"t"`, `"name":["t"]`, 1),
		"one bad message of a few": "[" + call + `,{"jsonrpc":"2.0"}]`,
		"too deep":                 strings.Repeat("[", 100_000),
		"too deep, inside":         strings.Replace(call, `{"a":1}`, `{"a":`+strings.Repeat("[", 70)+strings.Repeat("]", 70)+`}`, 1),
	} {
		if got, _, err := parse([]byte(body)); err == nil {
			t.Errorf("%s passes as %+v", what, got)
		}
	}
}

// careless reads a message as many servers do: without regard to case, the last of
// duplicates wins, and what follows the message is not looked at.
type careless struct {
	Method string `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"params"`
}

// FuzzParse: whatever a careless reader takes for the call of a tool is the same call here,
// or is refused.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","arguments":{"a":1}}}`,
		`{"jsonrpc":"2.0","id":7,"method":"ping","Method":"tools/call","params":{"name":"t"}}`,
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"safe","NAME":"t"}}`,
		`[{"jsonrpc":"2.0","method":"ping"},{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t"}}]`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools\/call","params":{"name":"\u0074","arguments":{"a":{"a":[1e400]}}}}{"jsonrpc":"2.0"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		messages, batch, err := parse(body)
		if err != nil {
			return
		}
		var seen []careless
		first := json.NewDecoder(bytes.NewReader(body))
		if batch {
			err = first.Decode(&seen)
		} else {
			seen = make([]careless, 1)
			err = first.Decode(&seen[0])
		}
		if err != nil { // a server that cannot read it makes no call
			return
		}
		if len(seen) != len(messages) {
			t.Fatalf("%d messages, a server sees %d", len(messages), len(seen))
		}
		for i, m := range messages {
			if (m.Method == methodCallTool) != (seen[i].Method == methodCallTool) {
				t.Fatalf("%q, a server sees %q", m.Method, seen[i].Method)
			}
			if m.Method != methodCallTool {
				continue
			}
			if m.Tool != seen[i].Params.Name {
				t.Fatalf("tool %q, a server sees %q", m.Tool, seen[i].Params.Name)
			}
			if given := seen[i].Params.Arguments; len(m.Input) > 0 && !bytes.Equal(m.Input, given) || len(m.Input) == 0 && len(given) > 0 && string(given) != "null" {
				t.Fatalf("input %s, a server sees %s", m.Input, given)
			}
		}
	})
}
