package upstream

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// longestNotice is more than any notice that is passed on, in bytes.
const longestNotice = 1 << 20

// tap reads what a server writes, and passes its notices on before anybody else can read
// what follows: the SDK handles notifications in a queue of their own, so that a call may
// return before they were handled. It reads JSON-RPC messages one a line, and in events of
// an event stream.
type tap struct {
	io.ReadCloser
	notices
	line    []byte // as far as it has been read
	tooLong bool   // line is not a notice
}

// notices take what a server tells of calls under way, by the methods of their
// notifications.
type notices map[string]func(params json.RawMessage)

// Read implements io.Reader.
func (t *tap) Read(into []byte) (int, error) {
	n, err := t.ReadCloser.Read(into)
	for read := into[:n]; len(read) > 0; {
		line, rest, ended := bytes.Cut(read, []byte("\n"))
		if t.tooLong = t.tooLong || len(t.line)+len(line) > longestNotice; !t.tooLong {
			t.line = append(t.line, line...)
		}
		if read = rest; ended {
			t.end()
		}
	}
	return n, err
}

// end handles a whole line.
func (t *tap) end() {
	line := bytes.TrimSpace(bytes.TrimPrefix(t.line, []byte("data:")))
	if !t.tooLong && bytes.Contains(line, []byte(`"notifications/`)) {
		if message, err := jsonrpc.DecodeMessage(line); err == nil {
			if notice, ok := message.(*jsonrpc.Request); ok && !notice.IsCall() && t.notices[notice.Method] != nil {
				t.notices[notice.Method](notice.Params)
			}
		}
	}
	t.line, t.tooLong = t.line[:0], false
}
