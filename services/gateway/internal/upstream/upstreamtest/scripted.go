package upstreamtest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
)

// Script is the output of a server, by the method of the request, or by "tools/call NAME". $ID
// stands for the id of the request. Others are unknown methods, and initialize has an answer
// of its own.
type Script map[string]string

// scriptVariable names the file with the script of a child.
const scriptVariable = "MCP_TEST_SCRIPT"

const scriptedAbout = `{"jsonrpc":"2.0","id":$ID,"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"scripted","version":"1"},` +
	`"capabilities":{"tools":{},"prompts":{},"resources":{},"logging":{}}}}`

// answer returns the script's answer to a request.
func (s Script) answer(method, tool string, id json.RawMessage) string {
	said, ok := s[method+" "+tool]
	if !ok {
		said, ok = s[method]
	}
	switch {
	case !ok && method == "initialize":
		said = scriptedAbout
	case !ok:
		said = `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"unknown"}}`
	}
	return strings.ReplaceAll(said, "$ID", string(id))
}

// request is the input of a scripted server.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name string `json:"name"`
		Meta struct {
			ProgressToken string `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
}

// OnStdio returns a process that answers as it is scripted: lines, as they are.
func (s Script) OnStdio(t *testing.T, name string) upstream.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "script.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return upstream.Server{Name: name, Command: []string{self}, Env: map[string]string{childMode: "scripted", scriptVariable: file}}
}

func serveScript() {
	var s Script
	text, err := os.ReadFile(os.Getenv(scriptVariable))
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(5)
	}
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadString('\n')
		var r request
		if json.Unmarshal([]byte(line), &r) == nil && r.ID != nil && r.Method != "" {
			fmt.Println(s.answer(r.Method, r.Params.Name, r.ID))
		}
		if err != nil {
			return
		}
	}
}

// OverHTTP returns a server that answers as it is scripted: a body, or a stream where it begins
// with data:, id: or event:. "status N" in front sets the status, and "type T" the type.
func (s Script) OverHTTP(t *testing.T, name string) upstream.Server {
	t.Helper()
	return s.Listening(t, name, func(string, string) {})
}

// Listening is OverHTTP, where heard gets each request of JSON-RPC. $TOKEN stands for the token of
// progress.
func (s Script) Listening(t *testing.T, name string, heard func(method, body string)) upstream.Server {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked request
		body, _ := io.ReadAll(r.Body) // unreadable input is not a request
		switch {
		case r.Method == http.MethodDelete:
			return
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		case json.Unmarshal(body, &asked) != nil || asked.ID == nil:
			w.WriteHeader(http.StatusAccepted)
			return
		}
		heard(asked.Method, string(body))
		said := strings.ReplaceAll(s.answer(asked.Method, asked.Params.Name, asked.ID), "$TOKEN", asked.Params.Meta.ProgressToken)
		kind, status := "application/json", http.StatusOK
		if rest, ok := strings.CutPrefix(said, "status "); ok {
			number, body, _ := strings.Cut(rest, " ")
			status, _ = strconv.Atoi(number)
			said = body
		}
		if rest, ok := strings.CutPrefix(said, "type "); ok {
			kind, said, _ = strings.Cut(rest, " ")
		}
		for _, begin := range []string{"data:", "id:", "event:", ":", "\uFEFFdata:"} {
			if strings.HasPrefix(said, begin) {
				kind = "text/event-stream"
			}
		}
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		fmt.Fprint(w, said)
	}))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return upstream.Server{Name: name, URL: web.URL}
}
