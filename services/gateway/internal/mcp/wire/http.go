package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// RequireJSONRPC turns away input that is not a JSON-RPC message, or asks for a method that does
// not exist, with an error of JSON-RPC; the SDK does so with text.
func RequireJSONRPC(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			next.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
		var tooLarge *http.MaxBytesError
		switch {
		case errors.As(err, &tooLarge):
			Refuse(w, http.StatusRequestEntityTooLarge, TooBig)
			return
		case err != nil:
			Refuse(w, http.StatusBadRequest, "the request cannot be read: "+err.Error())
			return
		}
		if why := misfitOf(body); why != nil && !why.batch {
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

// Refuse responds to a request that never reached the protocol, as a JSON-RPC error
// without an id.
func Refuse(w http.ResponseWriter, status int, message string) {
	answerError(w, status, nil, jsonrpc.CodeInvalidRequest, message)
}
