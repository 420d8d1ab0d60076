package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/interlock-run/interlock/services/gateway/internal/relay"
)

// answer takes the result of one request as its server wrote it. The SDK gets a stub in its
// place, so that it does not read numbers, unknown members and types of content anew.
type answer struct {
	result *relay.Result
	// failure is why there is none. It is for agents.
	failure error
}

type answerKey struct{}

// expecting returns a context whose request puts its result into the answer. The answer may be
// read once the request has returned without an error.
func expecting(ctx context.Context) (context.Context, *answer) {
	a := &answer{}
	return context.WithValue(ctx, answerKey{}, a), a
}

// flight is one request to a server that has not been answered.
type flight struct {
	id     int64
	method string
	answer *answer // nil where the SDK reads the result
	forget func() bool
}

// flights are those of one connection, by id.
type flights struct {
	mu   sync.Mutex
	byID map[int64]*flight
	// last is the newest id. An answer to an older request that does not wait any more is late, and nothing is wrong.
	last int64
}

// add notes a request until it is answered or ctx ends.
func (fs *flights) add(ctx context.Context, id int64, method string) *flight {
	f := &flight{id: id, method: method}
	if stubs[method] != nil {
		f.answer, _ = ctx.Value(answerKey{}).(*answer)
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.byID == nil {
		fs.byID = map[int64]*flight{}
	}
	fs.byID[id], fs.last = f, max(fs.last, id)
	f.forget = context.AfterFunc(ctx, func() { fs.remove(f) })
	return f
}

// remove reports whether the request was still waiting.
func (fs *flights) remove(f *flight) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.byID[f.id] != f {
		return false
	}
	delete(fs.byID, f.id)
	return true
}

// take removes the request that a response means, and returns nil where there is none. A
// response without an id means own, or else the only request that waits.
func (fs *flights) take(id json.RawMessage, own *flight) *flight {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	found := fs.find(id, own)
	if found != nil {
		delete(fs.byID, found.id)
		found.forget()
	}
	return found
}

// late reports that an id is that of a request that was made and does not wait any more.
func (fs *flights) late(id json.RawMessage) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	n, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil && 0 < n && n <= fs.last
}

// find finds it; fs.mu is held.
func (fs *flights) find(id json.RawMessage, own *flight) *flight {
	if id == nil || string(id) == "null" {
		if own != nil && fs.byID[own.id] == own {
			return own
		}
		if own == nil && len(fs.byID) == 1 {
			for _, only := range fs.byID {
				return only
			}
		}
		return nil
	}
	if n, err := strconv.ParseInt(string(id), 10, 64); err == nil {
		return fs.byID[n]
	}
	for n, f := range fs.byID {
		if relay.SameID(id, n) {
			return f
		}
	}
	return nil
}

// heard receives the messages that are read.
type heard struct {
	// notices take a server's notices about calls under way, by the methods of their
	// notifications. They are called before the next message is read: the SDK handles
	// notifications in a queue of their own, so that a call may return before they were handled.
	notices map[string]func(params json.RawMessage)
}

// inbound turns a server's output into messages that the SDK can read, and leaves out the
// others: that costs the line or the call, and never the connection.
type inbound struct {
	heard
	flights flights
	log     *slog.Logger
	limit   int // of a line, an event or a body, in bytes
	warned  atomic.Bool
}

// ignore logs that a part was left out: the first time as a warning, because a server may
// write a log to its output.
func (in *inbound) ignore(why string, text []byte) {
	level := slog.LevelDebug
	if in.warned.CompareAndSwap(false, true) {
		level = slog.LevelWarn
	}
	in.log.Log(context.Background(), level, "upstream: a message of a server is ignored; later ones are logged as debug", "why", why, "begins", fmt.Sprintf("%.64q", text))
}

// read returns the messages of a line, an event or a body. own is the request that is answered,
// where the transport says so.
func (in *inbound) read(text []byte, own *flight) (messages []jsonrpc.Message) {
	parts, err := relay.Split(text)
	if err != nil {
		return in.unreadable(text, own, err)
	}
	for _, part := range parts {
		m, err := relay.Read(part)
		switch {
		case err != nil:
			messages = append(messages, in.unreadable(part, own, err)...)
		case m.Method != "":
			messages = append(messages, in.request(m, part)...)
		default:
			messages = append(messages, in.response(m, own, part)...)
		}
	}
	return messages
}

// unreadable handles unreadable text: if it names a request that waits, that has failed.
func (in *inbound) unreadable(text []byte, own *flight, why error) []jsonrpc.Message {
	if id := relay.LooseID(text); id != nil {
		if f := in.flights.take(id, own); f != nil {
			return failed(f, fmt.Errorf("its answer cannot be read: %w", why))
		}
	}
	in.ignore(why.Error(), text)
	return nil
}

// request handles a request or a notification of the server.
func (in *inbound) request(m relay.Message, text []byte) []jsonrpc.Message {
	if notice := in.notices[m.Method]; notice != nil && !m.IsCall() {
		notice(m.Params)
		return nil
	}
	r := &jsonrpc.Request{Method: m.Method, Params: bytes.Clone(m.Params)}
	if m.IsCall() {
		var err error
		if r.ID, err = idOf(m.ID); err != nil {
			in.ignore(err.Error(), text)
			return nil
		}
	}
	return []jsonrpc.Message{r}
}

func idOf(text json.RawMessage) (jsonrpc.ID, error) {
	var id any
	if err := json.Unmarshal(text, &id); err != nil {
		return jsonrpc.ID{}, errors.New("its id is too large a number")
	}
	return jsonrpc.MakeID(id)
}

// response handles a response, and takes its result over where that is expected.
func (in *inbound) response(m relay.Message, own *flight, text []byte) []jsonrpc.Message {
	f := in.flights.take(m.ID, own)
	if f == nil {
		if in.flights.late(m.ID) {
			in.log.Debug("upstream: an answer came after its request was given up, or twice", "id", string(m.ID))
			return nil
		}
		in.ignore("it answers no request", text)
		return nil
	}
	if m.Error != nil {
		return []jsonrpc.Message{&jsonrpc.Response{ID: newID(f.id), Error: errorOf(m.Error)}}
	}
	if m.Result == nil {
		return failed(f, errors.New("its answer has neither a result nor an error"))
	}
	result, err := relay.ReadResult(bytes.Clone(m.Result))
	if err != nil {
		return failed(f, fmt.Errorf("its result cannot be read: %w", err))
	}
	if f.answer == nil {
		return []jsonrpc.Message{&jsonrpc.Response{ID: newID(f.id), Result: bytes.Clone(m.Result)}}
	}
	f.answer.result = result
	return []jsonrpc.Message{&jsonrpc.Response{ID: newID(f.id), Result: stub(f.method, result)}}
}

// tooLong handles a message of which only the beginning and the end were kept.
func (in *inbound) tooLong(begin, end []byte, own *flight) []jsonrpc.Message {
	id := relay.LooseID(begin)
	if id == nil {
		if last := lastID().FindSubmatch(end); last != nil {
			id = last[1]
		}
	}
	if f := in.flights.take(id, own); f != nil {
		return failed(f, fmt.Errorf("its answer is longer than %d bytes; ask for a part of it", in.limit))
	}
	in.ignore(fmt.Sprintf("it is longer than %d bytes", in.limit), begin)
	return nil
}

// lastID finds an id that is the last member of a message, where many servers write it.
var lastID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[,\s]"id"\s*:\s*("[^"\\]*"|[0-9.]+)\s*\}\s*$`) })

// endOfMessage is how much is kept of the end of a message that is too long.
const endOfMessage = 256

// failed returns the answer of a request that has failed. Where the result is expected, the
// failure goes there, because it is not the server's word.
func failed(f *flight, why error) []jsonrpc.Message {
	if f.answer != nil {
		f.answer.failure = why
		return []jsonrpc.Message{&jsonrpc.Response{ID: newID(f.id), Result: stub(f.method, nil)}}
	}
	return []jsonrpc.Message{&jsonrpc.Response{ID: newID(f.id), Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: why.Error()}}}
}

func newID(id int64) jsonrpc.ID {
	made, err := jsonrpc.MakeID(float64(id))
	if err != nil {
		panic(err) // it takes numbers
	}
	return made
}

// errorOf reads an error of a server. One that is not as JSON-RPC has it keeps its readable
// parts.
func errorOf(text json.RawMessage) *jsonrpc.Error {
	e := &jsonrpc.Error{Code: jsonrpc.CodeInternalError}
	members, err := relay.Members(text)
	if err != nil {
		e.Message = readable(text)
		return e
	}
	for _, m := range members {
		switch m.Name {
		case "code":
			var code float64
			if json.Unmarshal(m.Value, &code) == nil && code == float64(int64(code)) {
				e.Code = int64(code)
			}
		case "message":
			e.Message = readable(m.Value)
		case "data":
			e.Data = bytes.Clone(m.Value)
		}
	}
	return e
}

// readable returns a JSON text as it reads, and anything else as it was written.
func readable(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// stubs are read by the SDK in place of results.
var stubs = map[string]json.RawMessage{
	"tools/call":               json.RawMessage(`{"content":[],"resultType":"complete"}`),
	"prompts/get":              json.RawMessage(`{"messages":[],"resultType":"complete"}`),
	"resources/read":           json.RawMessage(`{"contents":[],"resultType":"complete"}`),
	"completion/complete":      json.RawMessage(`{"completion":{"values":[]}}`),
	"tools/list":               json.RawMessage(`{"tools":[]}`),
	"prompts/list":             json.RawMessage(`{"prompts":[]}`),
	"resources/list":           json.RawMessage(`{"resources":[]}`),
	"resources/templates/list": json.RawMessage(`{"resourceTemplates":[]}`),
}

func stub(method string, result *relay.Result) json.RawMessage {
	if method == "tools/list" && result != nil {
		return toolsStub(result)
	}
	return stubs[method]
}

// toolsStub has the tools of a list that the SDK can read: it repeats arguments in headers, as
// their schemas say.
func toolsStub(result *relay.Result) json.RawMessage {
	elements, err := relay.Elements(result.Get("tools"))
	if err != nil {
		return stubs["tools/list"]
	}
	var tools []json.RawMessage
	for _, element := range elements {
		tool, err := readTool(element)
		if err != nil {
			continue
		}
		if text, err := json.Marshal(map[string]any{"name": tool.Name, "inputSchema": tool.InputSchema}); err == nil {
			tools = append(tools, text)
		}
	}
	return relay.Object([]relay.Member{{Name: "tools", Value: relay.Array(tools)}})
}
