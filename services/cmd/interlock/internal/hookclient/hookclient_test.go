//go:build unix

package hookclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/internal/datadir"
	"github.com/interlock-run/interlock/services/internal/hookevent"
)

const (
	token = "ilk_aaaaaaaaaaaaaaaaaaaaaaaa"
	// sessionToken is one that no server can prove to know.
	sessionToken = "ils_aaaaaaaaaaaaaaaaaaaaaaaa"
	preTool      = `{"hook_event_name":"PreToolUse","session_id":"s"}`
	stopping     = `{"hook_event_name":"Stop","session_id":"s","stop_hook_active":true}`
)

// folder is a data folder with a token and endpoints. Sockets need short paths.
func folder(t *testing.T, e datadir.Endpoints) datadir.Dir {
	t.Helper()
	name, err := os.MkdirTemp("", "ilk")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(name) })
	d := datadir.Dir(name)
	if err := os.WriteFile(d.Local(), []byte(`{"agent":"`+token+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if e != (datadir.Endpoints{}) {
		if err := d.WriteEndpoints(e); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// hook runs one call with the given transport.
func hook(c Client, event string, post Transport) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	code = c.answerEvent(strings.NewReader(event), &stdout, &stderr, post, time.Now().Add(time.Minute))
	return code, stdout.String(), stderr.String()
}

// wantBlocked is that the call blocked, with a sentence that has the given words.
func wantBlocked(t *testing.T, code int, out, errs, words string) {
	t.Helper()
	if code != ExitBlock || out != "" || !strings.Contains(errs, words) || !strings.HasSuffix(errs, "\n") {
		t.Errorf("exit %d, stdout %q, stderr %q; want a block with %q", code, out, errs, words)
	}
}

func answering(status int, body string) Transport {
	return func(time.Time, Target, Request, int64) (int, []byte, error) { return status, []byte(body), nil }
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	c := Client{Agent: hookevent.ClaudeCode, Server: "http://edge", Token: token}
	for name, tc := range map[string]struct {
		status    int
		body      string
		out, errs string
		code      int
	}{
		"silence":  {200, `{"exit":0}`, "", "", ExitDone},
		"output":   {200, `{"exit":0,"stdout":"{}","stderr":"note"}`, "{}", "note\n", ExitDone},
		"block":    {200, `{"exit":2,"stderr":"no"}`, "", "no\n", ExitBlock},
		"no print": {200, `{"exit":2,"stdout":"{}","stderr":"no"}`, "", "no\n", ExitBlock},
	} {
		code, out, errs := hook(c, preTool, answering(tc.status, tc.body))
		if code != tc.code || out != tc.out || errs != tc.errs {
			t.Errorf("%s: exit %d, stdout %q, stderr %q", name, code, out, errs)
		}
	}
	for body, words := range map[string]string{
		``: "not JSON", `{}`: "not one of Interlock's", `null`: "not one of", `[]`: "not JSON", `"x"`: "not JSON",
		`{"exit":1}`: "not one of", `{"exit":"0"}`: "not JSON", `{"exit":null}`: "not one of", `{"exit":0}x`: "not JSON",
		`{"exit":0`: "not JSON", `<html>`: "not JSON", `{"exit":-2}`: "not one of", `{"exit":0,"stdout":7}`: "not JSON",
	} {
		code, out, errs := hook(c, preTool, answering(200, body))
		wantBlocked(t, code, out, errs, words)
	}
	for _, status := range []int{100, 201, 204, 301, 400, 401, 403, 404, 413, 500, 503} {
		code, out, errs := hook(c, preTool, answering(status, `{"exit":0}`))
		wantBlocked(t, code, out, errs, fmt.Sprint(status))
	}
}

func TestFailuresBlock(t *testing.T) {
	t.Parallel()
	running := folder(t, datadir.Endpoints{Socket: "/nowhere"})
	noToken := datadir.Dir(t.TempDir())
	if err := noToken.WriteEndpoints(datadir.Endpoints{HTTP: "http://127.0.0.1:1"}); err != nil {
		t.Fatal(err)
	}
	open := t.TempDir()
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	refused := func(time.Time, Target, Request, int64) (int, []byte, error) { return 0, nil, errors.New("refused") }
	never := func(time.Time, Target, Request, int64) (int, []byte, error) { panic("asked") }
	for name, tc := range map[string]struct {
		call  Client
		event string
		post  Transport
		words string
	}{
		"unreachable":    {Client{Data: string(running)}, preTool, refused, "interlock up"},
		"no server":      {Client{Data: string(folder(t, datadir.Endpoints{}))}, preTool, never, "start `interlock up --data-dir "},
		"no folder":      {Client{Project: t.TempDir()}, preTool, never, "--data-dir"},
		"relative":       {Client{Data: ".interlock"}, preTool, never, "not an absolute path"},
		"open to others": {Client{Data: open}, preTool, never, "chmod 700"},
		"no token":       {Client{Data: string(noToken)}, preTool, never, "INTERLOCK_TOKEN"},
		"gRPC address":   {Client{Server: "127.0.0.1:7421", Token: token}, preTool, never, "http://"},
		"header in flag": {Client{Data: string(running), Workflow: "x\r\nAuthorization: y"}, preTool, never, "control characters"},
		"empty":          {Client{Data: string(running)}, "", never, "no event"},
		"blank":          {Client{Data: string(running)}, " \n", never, "no event"},
		"too large":      {Client{Data: string(running)}, strings.Repeat(" ", maxMessage) + "{}", never, "more than"},
		"not yet stopped": {
			Client{Data: string(running)},
			`{"hook_event_name":"Stop","session_id":"s","stop_hook_active":false}`, refused, "refused",
		},
		"active elsewhere": {
			Client{Data: string(running)},
			`{"hook_event_name":"PreToolUse","session_id":"s","stop_hook_active":true}`, refused, "refused",
		},
	} {
		code, out, errs := hook(tc.call, tc.event, tc.post)
		if code != ExitBlock || out != "" || !strings.Contains(errs, tc.words) {
			t.Errorf("%s: exit %d, stdout %q, stderr %q; want a block with %q", name, code, out, errs, tc.words)
		}
	}
	// A second try to stop is let go, or the agent would continue forever.
	for _, event := range []string{stopping, strings.Replace(stopping, "Stop", "SubagentStop", 1)} {
		if code, _, errs := hook(Client{Data: string(running)}, event, refused); code != ExitDone || !strings.Contains(errs, "refused") {
			t.Errorf("%s: exit %d, stderr %q", event, code, errs)
		}
	}
	var errs bytes.Buffer
	c := Client{Data: string(running)}
	if code := c.Run(iotest.ErrReader(errors.New("torn")), io.Discard, &errs, never); code != ExitBlock || !strings.Contains(errs.String(), "torn") {
		t.Errorf("exit %d, %s", code, &errs)
	}
}

// An event that can be read in two ways is the server's to judge, also where one of them would
// need no judgement.
func TestAmbiguousEvents(t *testing.T) {
	t.Parallel()
	const call = `{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash"`
	refused := func(time.Time, Target, Request, int64) (int, []byte, error) { return 0, nil, errors.New("refused") }
	for _, event := range []string{
		call + `,"hook_event_name":"Notification","tool_name":""}`,
		call + `,"hook_event_name":"SomethingNew","tool_name":""}`,
		call + `,"Hook_Event_Name":"Notification","TOOL_NAME":""}`,
		call + `,"hoo\u212a_event_name":"Notification","tool_name":null}`,
		call + `,"hook_event_name":"SessionStart"}`,
		call + `,"hook_event_name":"Stop","stop_hook_active":true}`,
		`{"sessionId":"s","toolName":"bash","HOOK_EVENT_NAME":"Notification","TOOLNAME":""}`,
		call + `}{}`,
	} {
		for _, agent := range []string{hookevent.ClaudeCode, hookevent.Copilot} {
			code, out, errs := hook(Client{Agent: agent, Server: "http://edge", Token: token}, event, refused)
			if code != ExitBlock || out != "" || !strings.Contains(errs, "refused") {
				t.Errorf("%s of %s: exit %d, stdout %q, stderr %q", event, agent, code, out, errs)
			}
		}
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

// The user's prompt is not blocked because Interlock is away: tool calls are. With
// --strict it is, as before.
func TestPromptsAreWarnedOf(t *testing.T) {
	t.Parallel()
	dead := func(time.Time, Target, Request, int64) (int, []byte, error) {
		return 0, nil, errors.New("connection refused")
	}
	for _, row := range []struct {
		event  string
		post   Transport
		strict bool
		agent  string
		says   string // empty: blocked
	}{
		{"UserPromptSubmit", dead, false, hookevent.ClaudeCode, "connection refused"},
		{"SessionStart", dead, false, hookevent.ClaudeCode, "connection refused"},
		{"SessionStart", answering(200, `{"exit":2,"stderr":"Interlock blocks this: the store is down"}`), false, hookevent.ClaudeCode, "of its run: the store is down"},
		{"UserPromptSubmit", answering(503, ``), false, hookevent.ClaudeCode, "status 503"},
		{"UserPromptSubmit", dead, true, hookevent.ClaudeCode, ""},
		{"UserPromptSubmit", dead, false, hookevent.Codex, ""},
		{"PreToolUse", dead, false, hookevent.ClaudeCode, ""},
		{"SubagentStart", dead, false, hookevent.ClaudeCode, ""},
	} {
		c := Client{Agent: row.agent, Server: "http://edge", Token: token, Strict: row.strict}
		code, out, errs := hook(c, `{"session_id":"s","hook_event_name":"`+row.event+`"}`, row.post)
		if row.says == "" {
			wantBlocked(t, code, out, errs, "Interlock blocks this")
			continue
		}
		var told struct{ SystemMessage string }
		if err := json.Unmarshal([]byte(out), &told); err != nil || code != ExitDone || errs != "" || !strings.Contains(told.SystemMessage, row.says) {
			t.Errorf("%s: exit %d, %q, %q, %v", row.event, code, out, errs, err)
		}
	}
}

func TestAnswerThatCanNotBeWrittenBlocks(t *testing.T) {
	t.Parallel()
	c := Client{Server: "http://edge", Token: token}
	var errs bytes.Buffer
	code := c.Run(strings.NewReader(preTool), brokenPipe{}, &errs, answering(200, `{"exit":0,"stdout":"{}"}`))
	wantBlocked(t, code, "", errs.String(), "broken pipe")
}

func TestSlownessBlocks(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	slow := func(time.Time, Target, Request, int64) (int, []byte, error) {
		<-release
		return 200, []byte(`{"exit":0}`), nil
	}
	c := Client{Server: "http://edge", Token: token}
	var out, errs bytes.Buffer
	code := c.answerEvent(strings.NewReader(preTool), &out, &errs, slow, time.Now().Add(time.Millisecond))
	wantBlocked(t, code, out.String(), errs.String(), "in time")
	// So does an event that never ends.
	in, w := io.Pipe()
	defer w.Close()
	errs.Reset()
	code = c.answerEvent(in, &out, &errs, slow, time.Now().Add(time.Millisecond))
	wantBlocked(t, code, out.String(), errs.String(), "in time")
}

// serve serves connections on a unix socket in a data folder.
func serve(t *testing.T, handle func(net.Conn)) Client {
	t.Helper()
	d := folder(t, datadir.Endpoints{})
	lis, err := net.Listen("unix", d.Socket())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lis.Close() })
	if err := d.WriteEndpoints(datadir.Endpoints{Socket: d.Socket()}); err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			conn, err := lis.Accept()
			if err != nil {
				return
			}
			go handle(conn)
		}
	}()
	return Client{Agent: hookevent.Codex, Workflow: "wörk", Namespace: "ns", Data: string(d), Token: sessionToken}
}

func TestSocketSpeaksHTTP(t *testing.T) {
	t.Parallel()
	d := folder(t, datadir.Endpoints{})
	lis, err := net.Listen("unix", d.Socket())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.WriteEndpoints(datadir.Endpoints{Socket: d.Socket(), HTTP: "http://127.0.0.1:1"}); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 1<<20)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_ = json.NewEncoder(w).Encode(map[string]any{"exit": 0, "stderr": long, "stdout": strings.Join([]string{
			r.Method, r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Content-Type"), r.Header.Get("X-Interlock-Agent"),
			r.Header.Get("X-Interlock-Workflow"), r.Header.Get("X-Interlock-Namespace"), string(body),
		}, "|")})
	})}
	go func() { _ = server.Serve(lis) }()
	t.Cleanup(func() { server.Close() })
	c := Client{Agent: hookevent.Codex, Workflow: "wörk", Namespace: "ns", Data: string(d), Token: sessionToken}
	code, out, errs := hook(c, preTool, Socket)
	want := "POST|/v1/hook|Bearer " + sessionToken + "|application/json|codex|wörk|ns|" + preTool
	if code != ExitDone || out != want || len(errs) != len(long)+1 {
		t.Errorf("exit %d, %q, %d bytes on stderr", code, out, len(errs))
	}
}

func TestSocketAnswersThatBlock(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ answer, words string }{
		"nothing":      {"", "not HTTP"},
		"garbage":      {"SSH-2.0-x\r\n\r\n{\"exit\":0}", "not HTTP"},
		"no body":      {"HTTP/1.0 200 OK\r\n", "not HTTP"},
		"cut off":      {"HTTP/1.0 200 OK\r\nContent-Length: 99\r\n\r\n{\"exit\":0}", "cut off"},
		"chunked":      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\n{\"exit\":0}\r\n0\r\n\r\n", "not HTTP"},
		"other status": {"HTTP/1.0 503 Service Unavailable\r\n\r\n{\"exit\":0}", "503"},
		"no status":    {"HTTP/1.0\r\n\r\n{\"exit\":0}", "not HTTP"},
		"odd status":   {"HTTP/1.0 +20 OK\r\n\r\n{\"exit\":0}", "not HTTP"},
		"not JSON":     {"HTTP/1.0 200 OK\r\n\r\nhello", "not JSON"},
	} {
		c := serve(t, func(conn net.Conn) {
			defer conn.Close()
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = io.WriteString(conn, tc.answer)
		})
		code, out, errs := hook(c, preTool, Socket)
		if code != ExitBlock || out != "" || !strings.Contains(errs, tc.words) {
			t.Errorf("%s: exit %d, stdout %q, stderr %q", name, code, out, errs)
		}
	}
	// Gone, never there, and silent.
	c := serve(t, func(conn net.Conn) { conn.Close() })
	code, out, errs := hook(c, preTool, Socket)
	wantBlocked(t, code, out, errs, "interlock up")
	gone := folder(t, datadir.Endpoints{Socket: filepath.Join(t.TempDir(), "s")})
	code, out, errs = hook(Client{Data: string(gone)}, preTool, Socket)
	wantBlocked(t, code, out, errs, "interlock up")
	done := make(chan struct{})
	defer close(done)
	c = serve(t, func(conn net.Conn) { <-done; conn.Close() })
	target, err := c.Target()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Socket(time.Now().Add(time.Millisecond), target, Request{}, 10); err == nil || !strings.Contains(err.Error(), "in time") {
		t.Errorf("a server that says nothing: %v", err)
	}
	if _, _, err := Socket(time.Now().Add(time.Minute), Target{Socket: strings.Repeat("s", 500)}, Request{}, 10); err == nil {
		t.Error("a path that is too long")
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	var c Client
	if !c.Parse([]string{"--agent", "codex", "--workflow=a=b", "--server", "http://x", "--token", "t", "--ca", "f", "--data-dir", "d"}) {
		t.Error("refused")
	}
	if want := (Client{Agent: hookevent.Codex, Workflow: "a=b", Server: "http://x", Token: "t", CA: "f", Data: "d"}); c != want {
		t.Errorf("%+v", c)
	}
	for _, args := range [][]string{{"--help"}, {"--data", "e"}, {"--agent"}, {"--agent", "aider"}, {"x"}, {"--agent", "codex", "--x", "y"}, {"--workflow", "--agent"}} {
		c := Client{Agent: hookevent.ClaudeCode}
		if c.Parse(args) {
			t.Errorf("%v is for the full parser", args)
		}
	}
}

func TestFromEnv(t *testing.T) {
	t.Parallel()
	env := map[string]string{
		"INTERLOCK_WORKFLOW": "w", "INTERLOCK_SERVER": "http://a", "INTERLOCK_TOKEN": "t", "INTERLOCK_DATA": "d",
		"CLAUDE_PROJECT_DIR": "p", "INTERLOCK_NAMESPACE": "n", "INTERLOCK_CA": "f",
		"TRACEPARENT": "00-x", "AI_AGENT": "claude-code_2-1-332_harness",
	}
	getenv := func(name string) string { return env[name] }
	want := Client{Agent: hookevent.ClaudeCode, Workflow: "w", Server: "http://a", Token: "t", CA: "f", Data: "d", Project: "p", Namespace: "n", Trace: "00-x", Program: "claude-code_2-1-332_harness"}
	if got := FromEnv(getenv); got != want {
		t.Errorf("%+v", got)
	}
	env["INTERLOCK_HTTP_SERVER"] = "http://b"
	if got := FromEnv(getenv); got.Server != "http://b" {
		t.Errorf("%+v", got)
	}
}

// A folder that the hook did not receive does not count, at any place: an agent can
// make one.
func TestTargetIsNeverSearched(t *testing.T) {
	t.Parallel()
	d := folder(t, datadir.Endpoints{HTTP: "http://127.0.0.1:9", Socket: "/s"})
	root := t.TempDir()
	if err := os.CopyFS(filepath.Join(root, datadir.Default), os.DirFS(string(d))); err != nil {
		t.Fatal(err)
	}
	c := Client{Project: root}
	if got, err := c.Target(); err == nil {
		t.Errorf("%+v", got)
	}
	c.Data = string(d)
	if got, err := c.Target(); err != nil || got != (Target{Socket: "/s"}) {
		t.Errorf("%+v, %v", got, err)
	}
	c.Server, c.CA = "https://edge/", "f"
	if got, err := c.Target(); err != nil || got != (Target{URL: "https://edge", CA: "f"}) {
		t.Errorf("%+v, %v", got, err)
	}
}

// S13.6: a server that does not know the token gets no data, and its answers do not count.
func TestServerProvesItself(t *testing.T) {
	t.Parallel()
	tokens, err := auth.ParseTokens([]byte(`{"agent":"` + token + `"}`))
	if err != nil {
		t.Fatal(err)
	}
	others, err := auth.ParseTokens([]byte(`{"agent":"ilk_cccccccccccccccccccccccc"}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		known   *auth.Tokens
		address string
		ok      bool
	}{
		"the server":         {tokens, "127.0.0.1:9", true},
		"one that hands on":  {tokens, "127.0.0.1:10", false},
		"one without tokens": {nil, "127.0.0.1:9", false},
		"one with others":    {others, "127.0.0.1:9", false},
	} {
		told := false
		server := func(_ time.Time, _ Target, req Request, _ int64) (int, []byte, error) {
			if req.Path == "/v1/hook" {
				told = true
				return 200, []byte(`{"exit":0}`), nil
			}
			var c auth.Challenge
			if err := json.Unmarshal(req.Body, &c); err != nil || strings.Contains(string(req.Body)+fmt.Sprint(req.Headers), token) {
				t.Errorf("%s %v", req.Body, req.Headers)
			}
			proof, ok := tc.known.Prove(c, tc.address)
			if !ok {
				return 200, []byte(`{"proof":""}`), nil
			}
			text, err := json.Marshal(proof)
			return 200, text, err
		}
		d := folder(t, datadir.Endpoints{HTTP: "http://127.0.0.1:9"})
		code, _, errs := hook(Client{Data: string(d)}, preTool, server)
		if told != tc.ok || (code == ExitDone) != tc.ok || !tc.ok && !strings.Contains(errs, "does not prove") {
			t.Errorf("%s: exit %d, told %v, %s", name, code, told, errs)
		}
	}
}

// FuzzDecode: any answer of a server is a full answer or an error.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("HTTP/1.0 200 OK\r\nContent-Length: 10\r\n\r\n{\"exit\":0}"))
	f.Add([]byte("HTTP/1.1 200\r\n\r\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		status, body, err := decode(raw)
		if err == nil && (status < 100 || !bytes.HasPrefix(raw, []byte("HTTP/1.")) || !bytes.HasSuffix(raw, body)) {
			t.Errorf("status %d, body %q of %q", status, body, raw)
		}
	})
}

// Patience is said to the server, and one that makes no sense blocks.
func TestPatience(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]time.Duration{"": Timeout, "5": Timeout, "90": 90 * time.Second} {
		if got, err := (&Client{Patience: given}).patience(); err != nil || got != want {
			t.Errorf("%q: %v, %v", given, got, err)
		}
	}
	for _, given := range []string{"0", "-1", "x", "1h", "99999"} {
		c := &Client{Patience: given}
		var errs strings.Builder
		if code := c.Run(strings.NewReader("{}"), io.Discard, &errs, nil); code != ExitBlock || !strings.Contains(errs.String(), "--patience") {
			t.Errorf("%q: %d %s", given, code, errs.String())
		}
	}
}

// An event that readers could understand in two ways is asked about: the server's answer
// counts, even if one of its names is ignored.
func TestAmbiguousEventsAreAskedAbout(t *testing.T) {
	t.Parallel()
	refusing := answering(200, `{"exit":2,"stderr":"asked"}`)
	for agent, events := range map[string][]string{
		hookevent.ClaudeCode: {
			`{"hook_event_name":"PreToolUse","tool_name":"Bash","hook_event_name":"Notification","tool_name":""}`,
			`{"hook_event_name":"PreToolUse","tool_name":"Bash","Hook_Event_Name":"Notification","TOOL_NAME":""}`,
			`{"hook_event_name":"PreToolUse","tool_name":"Bash","hook_event_name":"UserPromptSubmit"}`,
			`{"hook_event_name":"Nix","hook_event_name":"Notification"}`,
		},
		hookevent.Gemini:  {`{"hook_event_name":"ShellStart","command":"rm -rf x"}`, `{"hook_event_name":"New","toolName":"x"}`, `{"hook_event_name":"New","data":{"args":[]}}`},
		hookevent.Copilot: {`{"toolName":"bash","HOOK_EVENT_NAME":"Notification","TOOLNAME":""}`},
	} {
		c := Client{Agent: agent, Server: "http://edge", Token: token}
		for _, event := range events {
			code, out, errs := hook(c, event, refusing)
			wantBlocked(t, code, out, errs, "asked")
			failing := func(time.Time, Target, Request, int64) (int, []byte, error) { return 0, nil, errors.New("away") }
			code, out, errs = hook(c, event, failing)
			wantBlocked(t, code, out, errs, "away")
		}
	}
	if code, _, errs := hook(Client{Agent: hookevent.ClaudeCode, Server: "http://edge", Token: token}, `{"hook_event_name":"Notification"}`, refusing); code != ExitDone {
		t.Errorf("an ignored event ends with %d, %q", code, errs)
	}
}

// The trace of the agent goes along; an invalid one is left out, and does not block.
func TestTrace(t *testing.T) {
	t.Parallel()
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for given, want := range map[string]string{trace: trace, "": "", "x": "", trace + "-": "", trace[:54] + "\n": ""} {
		sent, asked := "", false
		c := &Client{Agent: hookevent.ClaudeCode, Server: "http://edge", Token: "t", Trace: given}
		_, err := c.send(time.Now().Add(time.Minute), []byte(`{}`), func(_ time.Time, _ Target, req Request, _ int64) (int, []byte, error) {
			for _, h := range req.Headers {
				if h[0] == "Traceparent" {
					sent = h[1]
				}
			}
			asked = true
			return 200, []byte(`{"exit":0}`), nil
		})
		if err != nil || !asked || sent != want {
			t.Errorf("%q is sent as %q, %v, want %q", given, sent, err, want)
		}
	}
}

// S13.6: where the command line names the data folder, no variable leads to another server.
func TestVariablesDoNotLeadAway(t *testing.T) {
	t.Parallel()
	env := map[string]string{
		"INTERLOCK_HTTP_SERVER": "http://evil", "INTERLOCK_SERVER": "http://evil", "INTERLOCK_NAMESPACE": "elsewhere", "INTERLOCK_DATA": "/env",
	}
	for _, c := range []struct {
		args                    []string
		token                   string
		server, data, namespace string
	}{
		{nil, "", "http://evil", "/env", "elsewhere"},
		{[]string{"--workflow", "w"}, "", "http://evil", "/env", "elsewhere"},
		{[]string{"--data-dir", "/d"}, "", "", "/d", ""},
		{[]string{"--data-dir=/d", "--workflow", "w"}, "", "", "/d", ""},
		{[]string{"--data-dir", "/d", "--server", "http://mine"}, "", "http://mine", "/d", ""},
		{[]string{"--data-dir", "/d", "--namespace", "n"}, "", "", "/d", "n"},
		{[]string{"--data-dir", "/d"}, "ils_x", "", "/d", "elsewhere"}, // a runner's session
	} {
		env["INTERLOCK_TOKEN"] = c.token
		call := FromEnv(func(name string) string { return env[name] })
		if !call.Parse(c.args) || call.Server != c.server || call.Data != c.data || call.Namespace != c.namespace {
			t.Errorf("%v: server %q, folder %q, namespace %q", c.args, call.Server, call.Data, call.Namespace)
		}
	}
}
