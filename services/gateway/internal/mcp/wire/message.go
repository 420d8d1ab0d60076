// Package wire stands between the bytes of a client and the SDK: it refuses messages that
// are not JSON-RPC with an error of JSON-RPC, and keeps the rest as they were written.
package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/interlock-run/interlock/services/gateway/internal/relay"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
)

const (
	// MaxBody is 1 MiB of arguments (S1.1) and the envelope around them.
	MaxBody = 1<<20 + 64<<10
	// TooBig is the message of the refusal of a larger one.
	TooBig = "the request is larger than 1 MiB; send less"
	// Traceparent is the member of _meta, and the header, that has the W3C trace context.
	Traceparent = "traceparent"
)

// misfit is why a message is refused before anything reads it.
type misfit struct {
	id      json.RawMessage // of the request, so that its client gets an answer; nil where it has none
	code    int64
	message string
	batch   bool
}

// misfitOf returns why a message cannot be served; nil when it can.
func misfitOf(text []byte) *misfit {
	text = bytes.TrimSpace(text)
	m, err := relay.Read(text)
	switch {
	case err == nil:
		if m.HasID() && !exact(m.ID) {
			return &misfit{m.ID, jsonrpc.CodeInvalidRequest, "the id of the request must be a text or a whole number of at most 15 digits; send another", false}
		}
		return nil
	case errors.Is(err, relay.ErrTooDeep):
		return &misfit{
			relay.LooseID(text), jsonrpc.CodeInvalidRequest,
			fmt.Sprintf("objects and arrays of the message hold one another more than %d times; flatten it", relay.MaxDepth), false,
		}
	case !json.Valid(text):
		return &misfit{nil, jsonrpc.CodeParseError, "the message is not JSON; send one JSON-RPC 2.0 message", false}
	default:
		return &misfit{relay.LooseID(text), jsonrpc.CodeInvalidRequest, "this is not a JSON-RPC 2.0 message", text[0] == '['}
	}
}

// keepMeta puts the _meta of a request into one of its members, as text, and leaves next to it the
// members that the SDK and the gate read. So its numbers reach the server as they were written.
func keepMeta(message []byte) []byte {
	if !bytes.Contains(message, []byte(`"_meta"`)) {
		return message
	}
	whole, err := relay.ReadResult(bytes.TrimSpace(message))
	if err != nil {
		return message
	}
	params, err := relay.ReadResult(whole.Get("params"))
	if err != nil || params.Repeats("_meta") || whole.Repeats("params") {
		return message
	}
	var read []relay.Member
	for _, m := range params.Meta() {
		if m.Name == "progressToken" || m.Name == Traceparent || strings.HasPrefix(m.Name, "io.modelcontextprotocol/") {
			read = append(read, m)
		}
	}
	if len(params.Meta()) == 0 {
		return message
	}
	params.Set("_meta", relay.Object(append(read, relay.Member{Name: upstream.WrittenMeta, Value: relay.Quote(string(params.Get("_meta")))})))
	whole.Set("params", params.JSON())
	return whole.JSON()
}

// exact reports whether an id is answered with the same one: numbers are read as floats.
func exact(id json.RawMessage) bool {
	if id[0] == '"' {
		return true
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil && n > -1e15 && n < 1e15
}

// ProtocolStateless is the first version without initialize and sessions.
const ProtocolStateless = "2026-07-28"
