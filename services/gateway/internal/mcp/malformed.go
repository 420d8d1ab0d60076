package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/interlock-run/interlock/services/gateway/internal/relay"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
)

// requireJSONRPC turns away input that is not a JSON-RPC message, or asks for a method that does
// not exist, with an error of JSON-RPC; the SDK does so with text.
func requireJSONRPC(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			next.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		var tooLarge *http.MaxBytesError
		switch {
		case errors.As(err, &tooLarge):
			refuse(w, http.StatusRequestEntityTooLarge, tooBig)
			return
		case err != nil:
			refuse(w, http.StatusBadRequest, "the request cannot be read: "+err.Error())
			return
		}
		if why := unfit(body); why != nil && !why.batch {
			answerError(w, http.StatusBadRequest, why.id, why.code, why.message)
			return
		}
		body = keepMeta(body)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		var request struct {
			ID json.RawMessage `json:"id"`
		}
		_ = json.Unmarshal(body, &request) // a list has no id
		next.ServeHTTP(&interpreter{ResponseWriter: w, id: request.ID}, r)
	})
}

// misfit is why a message is refused before anything reads it.
type misfit struct {
	id      json.RawMessage // of the request, so that its client gets an answer; nil where it has none
	code    int64
	message string
	batch   bool
}

// unfit returns why a message cannot be served; nil when it can.
func unfit(text []byte) *misfit {
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
		if m.Name == "progressToken" || m.Name == traceparent || strings.HasPrefix(m.Name, "io.modelcontextprotocol/") {
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

// interpreter turns the SDK's refusals, which are text, into those of JSON-RPC.
type interpreter struct {
	http.ResponseWriter
	id      json.RawMessage // of the request; nil for none
	refused bool            // the rest is the text of a refusal
}

// Unwrap lets http.ResponseController find the writer.
func (i *interpreter) Unwrap() http.ResponseWriter { return i.ResponseWriter }

// Flush implements http.Flusher, which the SDK looks for.
func (i *interpreter) Flush() {
	if !i.refused {
		_ = http.NewResponseController(i.ResponseWriter).Flush() // not every writer can
	}
}

// WriteHeader implements http.ResponseWriter.
func (i *interpreter) WriteHeader(status int) {
	if status == http.StatusBadRequest && strings.HasPrefix(i.Header().Get("Content-Type"), "text/plain") {
		i.refused = true // Write says it
		return
	}
	i.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter. The SDK writes the text of a refusal at once.
func (i *interpreter) Write(text []byte) (int, error) {
	if !i.refused {
		return i.ResponseWriter.Write(text)
	}
	message := strings.TrimSpace(string(text))
	if strings.HasPrefix(message, "JSON RPC not handled") {
		// It is understood, and so answered: clients read the error and not the status.
		answerError(i.ResponseWriter, http.StatusOK, i.id, jsonrpc.CodeMethodNotFound, message)
	} else {
		answerError(i.ResponseWriter, http.StatusBadRequest, i.id, jsonrpc.CodeInvalidRequest, message)
	}
	return len(text), nil
}

// answerError writes a response that is an error of JSON-RPC.
func answerError(w http.ResponseWriter, status int, id json.RawMessage, code int64, message string) {
	body, _ := json.Marshal(map[string]any{ //nolint:errchkjson // strings and numbers
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": message},
	})
	w.Header().Set("Content-Type", "application/json")
	w.Header().Del("Content-Length")
	w.WriteHeader(status)
	w.Write(append(body, '\n')) //nolint:errcheck // the client is gone
}
