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
	heard
	line    []byte // as far as it has been read
	tooLong bool   // line is not a notice
}

// heard takes what is read.
type heard struct {
	// notices take what a server tells of calls under way, by the methods of their
	// notifications.
	notices map[string]func(params json.RawMessage)
	// needTask takes the names of tools that can only be called as tasks, which the SDK
	// does not tell.
	needTask func(names []string)
}

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
	if err == io.EOF {
		t.end() // the last line need not end
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
	if !t.tooLong && bytes.Contains(line, []byte(`"taskSupport"`)) {
		t.needTask(onlyAsTasks(line))
	}
	t.line, t.tooLong = t.line[:0], false
}

// onlyAsTasks are the names of such tools in an answer to tools/list.
func onlyAsTasks(answer []byte) (names []string) {
	var list struct {
		Result struct {
			Tools []struct {
				Name      string
				Execution struct {
					TaskSupport string `json:"taskSupport"`
				}
			}
		}
	}
	if json.Unmarshal(answer, &list) != nil {
		return nil // it is something else
	}
	for _, tool := range list.Result.Tools {
		if tool.Execution.TaskSupport == "required" {
			names = append(names, tool.Name)
		}
	}
	return names
}
