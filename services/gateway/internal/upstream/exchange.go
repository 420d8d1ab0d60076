package upstream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/interlock-run/interlock/services/gateway/internal/relay"
)

// exchange turns the response of a server into one that the SDK can read. The SDK ends the
// session at most unexpected responses.
type exchange struct {
	in      *inbound
	request *http.Request
	own     *flight // the request of JSON-RPC; nil for anything else
	begins  bool    // a session
}

// begin reads the request of JSON-RPC in one of HTTP, whose body can be read again.
func (in *inbound) begin(r *http.Request) (exchange, error) {
	e := exchange{in: in, request: r}
	if r.Method != http.MethodPost || r.GetBody == nil {
		return e, nil
	}
	body, err := r.GetBody()
	if err != nil {
		return e, err
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return e, err
	}
	m, err := relay.Read(text)
	if err != nil || !m.IsCall() {
		return e, nil //nolint:nilerr // the SDK writes it, and it is no call
	}
	if id, err := strconv.ParseInt(string(m.ID), 10, 64); err == nil {
		e.own = in.flights.add(r.Context(), id, m.Method)
		e.begins = m.Method == "initialize" || m.Method == "server/discover"
	}
	return e, nil
}

// end makes the response readable.
func (e exchange) end(res *http.Response) (*http.Response, error) {
	kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	good := res.StatusCode >= 200 && res.StatusCode < 300
	stream := good && err == nil && kind == "text/event-stream"
	switch {
	case stream && (e.own != nil || e.request.Method != http.MethodPost):
		res.Body = newEvents(e.in, e.own, res.Body)
		return res, nil
	case e.request.Method != http.MethodPost, e.begins && !good, e.sessionGone(res):
		res.Body = http.MaxBytesReader(nil, res.Body, int64(e.in.limit))
		return res, nil
	case e.own == nil:
		// A notification or a response: a failure has no further effect.
		res.Body.Close()
		return e.replace(res, http.StatusAccepted, nil), nil
	}
	return e.body(res, good)
}

// sessionGone reports whether the server has forgotten the session, which is opened again.
func (e exchange) sessionGone(res *http.Response) bool {
	return res.StatusCode == http.StatusNotFound && e.request.Header.Get("Mcp-Session-Id") != ""
}

// body reads a response that is one body.
func (e exchange) body(res *http.Response, good bool) (*http.Response, error) {
	text, err := io.ReadAll(io.LimitReader(res.Body, int64(e.in.limit)+1))
	res.Body.Close()
	var messages []jsonrpc.Message
	switch {
	case err != nil && e.request.Context().Err() != nil:
		return nil, err
	case err != nil:
		messages = e.failed(fmt.Errorf("its answer broke off: %w", err))
	case len(text) > e.in.limit:
		messages = e.in.tooLong(text, text[len(text)-endOfMessage:], e.own)
	default:
		messages = e.in.read(text, e.own)
	}
	for _, message := range messages {
		if response, ok := message.(*jsonrpc.Response); ok && response.ID == newID(e.own.id) {
			return e.replace(res, http.StatusOK, e.in.encode(response)), nil
		}
	}
	why := errors.New("its answer has no response to the request")
	if !good {
		why = fmt.Errorf("it answered with the HTTP status %s", res.Status)
	}
	for _, message := range e.failed(why) {
		return e.replace(res, http.StatusOK, e.in.encode(message)), nil
	}
	return nil, why // the request was given up
}

// failed fails the request, unless it waits no more.
func (e exchange) failed(why error) []jsonrpc.Message {
	if !e.in.flights.remove(e.own) {
		return nil
	}
	return failed(e.own, why)
}

// replace puts a body and a status into a response.
func (e exchange) replace(res *http.Response, status int, body []byte) *http.Response {
	res.StatusCode, res.Status = status, strconv.Itoa(status)+" "+http.StatusText(status)
	res.Header.Set("Content-Type", "application/json")
	res.Header.Del("Content-Length")
	res.Body, res.ContentLength, res.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	return res
}
