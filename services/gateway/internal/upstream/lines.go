package upstream

import (
	"bufio"
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// lines is the connection with a process, which has one message a line. It is the SDK's
// transport and connection.
type lines struct {
	in    *inbound
	from  io.ReadCloser
	to    io.WriteCloser
	ready chan jsonrpc.Message

	writing sync.Mutex
	ended   chan struct{} // closed after the last message, when err says why
	err     error
	closed  chan struct{}
	close   sync.Once
}

func newLines(in *inbound, from io.ReadCloser, to io.WriteCloser) *lines {
	return &lines{in: in, from: from, to: to, ready: make(chan jsonrpc.Message), ended: make(chan struct{}), closed: make(chan struct{})}
}

// Connect implements sdk.Transport.
func (l *lines) Connect(context.Context) (sdk.Connection, error) {
	go l.copy()
	return l, nil
}

// copy reads lines until the process ends or the connection is closed.
func (l *lines) copy() {
	defer close(l.ended)
	reader := bufio.NewReaderSize(l.from, 64<<10)
	for {
		line, end, tooLong, err := readLine(reader, l.in.limit)
		var messages []jsonrpc.Message
		if tooLong {
			messages = l.in.tooLong(line, end, nil)
		} else {
			messages = l.in.read(line, nil)
		}
		for _, message := range messages {
			select {
			case l.ready <- message:
			case <-l.closed:
				l.err = io.EOF
				return
			}
		}
		if err != nil {
			l.err = err
			return
		}
	}
}

// readLine reads a line. Of one that is longer than limit, it returns the beginning and the end.
func readLine(r *bufio.Reader, limit int) (line, end []byte, tooLong bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if !tooLong && len(line)+len(part) > limit {
			tooLong, end = true, slices.Clone(line[max(0, len(line)-endOfMessage):])
		}
		if !tooLong {
			line = append(line, part...)
		} else {
			end = append(end, part...)
			end = append(end[:0], end[max(0, len(end)-endOfMessage):]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, end, tooLong, err
		}
	}
}

// Read implements sdk.Connection.
func (l *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case message := <-l.ready:
		return message, nil
	case <-l.ended:
		return nil, l.err
	case <-l.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements sdk.Connection.
func (l *lines) Write(ctx context.Context, message jsonrpc.Message) error {
	text, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	if r, ok := message.(*jsonrpc.Request); ok && r.IsCall() {
		if id, ok := r.ID.Raw().(int64); ok {
			l.in.flights.add(ctx, id, r.Method)
		}
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	_, err = l.to.Write(append(text, '\n'))
	return err
}

// Close implements sdk.Connection.
func (l *lines) Close() error {
	var err error
	l.close.Do(func() {
		close(l.closed)
		err = errors.Join(l.to.Close(), l.from.Close())
	})
	return err
}

// SessionID implements sdk.Connection.
func (l *lines) SessionID() string { return "" }
