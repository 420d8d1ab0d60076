package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/interlock-run/interlock/services/gateway/internal/relay"
)

// Lines stands between the wire and the SDK, which ends a connection at the
// first line that it cannot read: such lines are answered and left out. It counts
// requests and answers, so that the end of the input does not cut answers off.
type Lines struct {
	mu      sync.Mutex // also keeps lines of output whole
	out     io.Writer
	open    map[any]bool // ids of requests not answered yet
	changed *sync.Cond
	given   bool // answers are no longer awaited
}

// NewLines returns a filter that writes to out.
func NewLines(out io.Writer) *Lines {
	f := &Lines{out: out, open: map[any]bool{}}
	f.changed = sync.NewCond(&f.mu)
	return f
}

// Copy passes good lines on until in ends.
func (f *Lines) Copy(feed io.Writer, in io.Reader) error {
	reader := bufio.NewReaderSize(in, 64<<10)
	for {
		line, tooLong, err := readLine(reader)
		switch {
		case tooLong:
			f.answerError(relay.LooseID(line), jsonrpc.CodeInvalidRequest, "the message is larger than 1 MiB; send less")
		case len(bytes.TrimSpace(line)) > 0:
			if werr := f.pass(feed, line); werr != nil {
				return werr
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (f *Lines) pass(feed io.Writer, line []byte) error {
	line = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(line), []byte("\uFEFF")))
	if why := misfitOf(line); why != nil {
		if why.batch {
			why.message = "batches are not supported on stdio; send one message per line"
		}
		f.answerError(why.id, why.code, why.message)
		return nil
	}
	line = keepMeta(line)
	message, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		f.answerError(relay.LooseID(line), jsonrpc.CodeInvalidRequest, "the line is not a JSON-RPC 2.0 message")
		return nil
	}
	if r, ok := message.(*jsonrpc.Request); ok && !f.opened(r) {
		f.answerError(relay.LooseID(line), jsonrpc.CodeInvalidRequest, "a request with this id is still under way; send this one again with an id of its own")
		return nil
	}
	_, err = feed.Write(append(line, '\n'))
	return err
}

// opened counts a request, and returns false for one whose id another has that is not answered
// yet. One that its client cancels may go without an answer, and one that only listens never
// has one.
func (f *Lines) opened(r *jsonrpc.Request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case r.Method == "notifications/cancelled":
		var cancelled struct {
			RequestID any `json:"requestId"`
		}
		if json.Unmarshal(r.Params, &cancelled) != nil {
			return true
		}
		if id, err := jsonrpc.MakeID(cancelled.RequestID); err == nil {
			delete(f.open, id.Raw())
			f.changed.Broadcast()
		}
	case r.IsCall() && f.open[r.ID.Raw()]:
		return false
	case r.IsCall() && r.Method != "subscriptions/listen":
		f.open[r.ID.Raw()] = true
	}
	return true
}

// readLine reads a line of at most MaxBody bytes, and the beginning of a longer one.
func readLine(r *bufio.Reader) (line []byte, tooLong bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if !tooLong {
			line = append(line, part...)
		}
		tooLong = tooLong || len(line) > MaxBody
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, tooLong, err
		}
	}
}

// Write passes a line of the SDK on to the client. The SDK writes whole lines.
func (f *Lines) Write(line []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if message, err := jsonrpc.DecodeMessage(line); err == nil {
		if r, ok := message.(*jsonrpc.Response); ok {
			defer func() {
				delete(f.open, r.ID.Raw())
				f.changed.Broadcast()
			}()
		}
	}
	return f.out.Write(line)
}

// Close leaves the output open: it is not ours.
func (f *Lines) Close() error { return nil }

func (f *Lines) answerError(id json.RawMessage, code int64, message string) {
	line, _ := json.Marshal(map[string]any{ //nolint:errchkjson // strings and numbers
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": message},
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.out.Write(append(line, '\n')) //nolint:errcheck // the client is gone
}

// AwaitAnswers waits until every request that was passed on is answered.
func (f *Lines) AwaitAnswers() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.open) > 0 && !f.given {
		f.changed.Wait()
	}
}

// Abandon ends AwaitAnswers, also if requests have no answer.
func (f *Lines) Abandon() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.given = true
	f.changed.Broadcast()
}
