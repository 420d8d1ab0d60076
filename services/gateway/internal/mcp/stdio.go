package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/services/gateway/internal/relay"
)

// ServeStdio serves one client on newline-delimited JSON until in ends or ctx
// does. The caller is Config.Stdio. Requests that were read before in ended are
// answered. in is closed when it is an io.Closer.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	c := caller{Identity: s.cfg.Stdio, alone: true}
	if err := c.validate(); err != nil {
		return fmt.Errorf("mcp: %w", err)
	}
	srv := s.newSDKServer(face{fixed: &c})
	defer s.sessions.listen(srv)()
	lines := newLineFilter(out)
	messages, feed := io.Pipe()
	session, err := srv.Connect(ctx, &sdk.IOTransport{Reader: messages, Writer: lines, MaxLineLength: maxBody + 1}, nil)
	if err != nil {
		return fmt.Errorf("mcp: serve stdio: %w", err)
	}
	stop := context.AfterFunc(ctx, func() {
		if closer, ok := in.(io.Closer); ok {
			closer.Close() // no more is read
		}
		lines.abandon()
		session.Close() // it ends either way
	})
	defer stop()
	go func() {
		err := lines.copy(feed, in)
		late := time.AfterFunc(s.cfg.CallTimeout, lines.abandon)
		lines.awaitAnswers()
		late.Stop()
		feed.CloseWithError(err) // it always answers nil
	}()
	err = session.Wait()
	messages.Close() // unblocks the feed
	lines.abandon()
	if closer, ok := in.(io.Closer); ok {
		closer.Close() // no more is read
	}
	if ctx.Err() != nil || err == nil || clientGone(err) {
		return nil
	}
	return fmt.Errorf("mcp: serve stdio: %w", err)
}

// clientGone reports whether an error only says that the client has left, which it may do
// at any time.
func clientGone(err error) bool {
	left := []error{io.EOF, io.ErrClosedPipe, os.ErrClosed, syscall.EPIPE, sdk.ErrConnectionClosed}
	return slices.ContainsFunc(left, func(gone error) bool { return errors.Is(err, gone) })
}

// lineFilter stands between the wire and the SDK, which ends a connection at the
// first line that it cannot read: such lines are answered and left out. It counts
// requests and answers, so that the end of the input does not cut answers off.
type lineFilter struct {
	mu      sync.Mutex // also keeps lines of output whole
	out     io.Writer
	open    map[any]bool // ids of requests not answered yet
	changed *sync.Cond
	given   bool // answers are no longer awaited
}

func newLineFilter(out io.Writer) *lineFilter {
	f := &lineFilter{out: out, open: map[any]bool{}}
	f.changed = sync.NewCond(&f.mu)
	return f
}

// copy passes good lines on until in ends.
func (f *lineFilter) copy(feed io.Writer, in io.Reader) error {
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

func (f *lineFilter) pass(feed io.Writer, line []byte) error {
	line = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(line), []byte("\uFEFF")))
	if why := unfit(line); why != nil {
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
func (f *lineFilter) opened(r *jsonrpc.Request) bool {
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

// readLine reads a line of at most maxBody bytes, and the beginning of a longer one.
func readLine(r *bufio.Reader) (line []byte, tooLong bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if !tooLong {
			line = append(line, part...)
		}
		tooLong = tooLong || len(line) > maxBody
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, tooLong, err
		}
	}
}

// Write passes a line of the SDK on to the client. The SDK writes whole lines.
func (f *lineFilter) Write(line []byte) (int, error) {
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
func (f *lineFilter) Close() error { return nil }

func (f *lineFilter) answerError(id json.RawMessage, code int64, message string) {
	line, _ := json.Marshal(map[string]any{ //nolint:errchkjson // strings and numbers
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": message},
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.out.Write(append(line, '\n')) //nolint:errcheck // the client is gone
}

// awaitAnswers waits until every request that was passed on is answered.
func (f *lineFilter) awaitAnswers() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.open) > 0 && !f.given {
		f.changed.Wait()
	}
}

// abandon ends awaitAnswers.
func (f *lineFilter) abandon() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.given = true
	f.changed.Broadcast()
}
