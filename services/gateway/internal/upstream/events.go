package upstream

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// events reads a stream of events, and is read as one that has only events that the SDK
// can read.
type events struct {
	in     *inbound
	own    *flight // the request that is answered; nil for a stream of the server's
	from   *bufio.Reader
	body   io.Closer
	out    bytes.Buffer
	begun  bool
	resume bool // the server has said how to come back for more
	err    error
}

func newEvents(in *inbound, own *flight, body io.ReadCloser) *events {
	return &events{in: in, own: own, from: bufio.NewReader(body), body: body}
}

// Read implements io.Reader.
func (e *events) Read(into []byte) (int, error) {
	for e.out.Len() == 0 {
		if e.err != nil {
			return 0, e.err
		}
		e.next()
	}
	return e.out.Read(into)
}

// Close implements io.Closer.
func (e *events) Close() error { return e.body.Close() }

// event is one event as far as it has been read.
type event struct {
	id, retry, name string
	data, end       []byte
	hasData         bool
	tooLong         bool
}

// next reads one event and writes the part that the SDK is to read.
func (e *events) next() {
	var ev event
	for {
		line, end, tooLong, err := readLine(e.from, e.in.limit)
		if !e.begun {
			line = bytes.TrimPrefix(line, []byte("\uFEFF"))
			e.begun = true
		}
		e.err = err
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 && !tooLong {
			break
		}
		ev.field(line, end, tooLong, e.in.limit)
		if err != nil {
			break
		}
	}
	e.pass(ev)
	if errors.Is(e.err, io.EOF) && e.own != nil && !e.resume && e.in.flights.remove(e.own) {
		e.write("", "", failed(e.own, errors.New("its answer ended without a result")))
	}
}

// field takes over one line of an event.
func (ev *event) field(line, end []byte, tooLong bool, limit int) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "id":
		ev.id = string(bytes.TrimSpace(value))
	case "retry":
		ev.retry = string(bytes.TrimSpace(value))
	case "event":
		ev.name = string(bytes.TrimSpace(value))
	case "data":
		if ev.hasData && !ev.tooLong {
			ev.data = append(ev.data, '\n')
		}
		ev.hasData = true
		switch {
		case tooLong || ev.tooLong || len(ev.data)+len(value) > limit:
			ev.tooLong = true
			if len(ev.data) == 0 {
				ev.data = bytes.Clone(value)
			}
			if ev.end = bytes.Clone(end); len(end) == 0 {
				ev.end = bytes.Clone(value[max(0, len(value)-endOfMessage):])
			}
		default:
			ev.data = append(ev.data, value...)
		}
	}
}

// pass passes an event on.
func (e *events) pass(ev event) {
	e.resume = e.resume || ev.id != ""
	var messages []jsonrpc.Message
	if ev.hasData && (ev.name == "" || ev.name == "message") {
		if ev.tooLong {
			messages = e.in.tooLong(ev.data, ev.end, e.own)
		} else {
			messages = e.in.read(ev.data, e.own)
		}
	}
	e.write(ev.id, ev.retry, messages)
}

// write writes events: the id goes with the last of the messages.
func (e *events) write(id, retry string, messages []jsonrpc.Message) {
	if retry != "" {
		fmt.Fprintf(&e.out, "retry: %s\n", retry)
	}
	for i, message := range messages {
		text := e.in.encode(message)
		if text == nil {
			continue
		}
		if i == len(messages)-1 && id != "" {
			fmt.Fprintf(&e.out, "id: %s\n", id)
			id = ""
		}
		fmt.Fprintf(&e.out, "data: %s\n\n", text)
	}
	if id != "" {
		fmt.Fprintf(&e.out, "id: %s\n", id)
	}
	if e.out.Len() > 0 && !bytes.HasSuffix(e.out.Bytes(), []byte("\n\n")) {
		e.out.WriteByte('\n')
	}
}

// encode writes a message for the SDK; nil for one that it could not read.
func (in *inbound) encode(message jsonrpc.Message) []byte {
	text, err := jsonrpc.EncodeMessage(message)
	if err == nil {
		if _, err = jsonrpc.DecodeMessage(text); err == nil {
			return text
		}
	}
	in.ignore(err.Error(), nil)
	return nil
}
