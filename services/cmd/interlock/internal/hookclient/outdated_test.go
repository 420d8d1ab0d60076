//go:build unix

package hookclient

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/services/internal/datadir"
	"github.com/interlock-run/interlock/services/internal/hookevent"
)

// S13.10: a Claude Code that makes a call when its hook is killed is refused by the hook itself.
func TestOutdatedClients(t *testing.T) {
	t.Parallel()
	for client, refused := range map[string]string{
		"claude-code_2-1-294_harness": "2.1.294", "claude-code_2-1-176_harness": "2.1.176", "claude-code/2.1.294/harness": "2.1.294",
		"claude-code_2-0-999_agent": "2.0.999", "claude-code_1-9-400_harness": "1.9.400", "claude-code_2-1_harness": "2.1",
		"claude-code_2-1-294-dev_x": "2.1.294", "claude-code_2-1-294": "2.1.294",

		"claude-code_2-1-295_harness": "", "claude-code_2-1-332_harness": "", "claude-code_2-2-0_harness": "", "claude-code_3-0-0_harness": "",
		"claude-code_2-1-1000_harness": "", "claude-code_3_harness": "", "": "", "other_1-0-0_harness": "", "claude-codex_1-0-0_x": "",
		"claude-code": "", "claude-code_": "", "claude-code_dev_harness": "",
	} {
		c := Client{Agent: hookevent.ClaudeCode, Server: "http://edge", Token: token, Program: client}
		code, out, errs := hook(c, preTool, answering(200, `{"exit":0}`))
		if refused == "" {
			if code != ExitDone {
				t.Errorf("%q: exit %d, %s", client, code, errs)
			}
			continue
		}
		wantBlocked(t, code, out, errs, "version "+refused+" of Claude Code makes a call when")
		if !strings.Contains(errs, "update it to 2.1.295") {
			t.Errorf("%q: no way out in %q", client, errs)
		}
	}
	// Prompts continue, with a warning; other agents are not Claude Code, also where it started them.
	old := Client{Agent: hookevent.ClaudeCode, Server: "http://edge", Token: token, Program: "claude-code_2-1-294_harness"}
	if code, out, _ := hook(old, `{"hook_event_name":"UserPromptSubmit","session_id":"s"}`, answering(200, `{"exit":0}`)); code != ExitDone || !strings.Contains(out, "2.1.295") {
		t.Errorf("a prompt: exit %d, %s", code, out)
	}
	old.Agent = hookevent.Codex
	if code, _, errs := hook(old, preTool, answering(200, `{"exit":0}`)); code != ExitDone {
		t.Errorf("Codex: exit %d, %s", code, errs)
	}
}

// Every block by a hook has a reason: Codex and Gemini CLI continue without a text.
func TestBlocksHaveAText(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"exit":2}`, `{"exit":2,"stderr":""}`, `{"exit":2,"stdout":"{}"}`, `{"exit":2,"stderr":" \n"}`} {
		for _, event := range []string{preTool, `{"hook_event_name":"UserPromptSubmit","session_id":"s"}`} {
			c := Client{Agent: hookevent.Codex, Server: "http://edge", Token: token}
			code, out, errs := hook(c, event, answering(200, body))
			wantBlocked(t, code, out, errs, "Interlock blocks this")
		}
	}
	var errs strings.Builder
	c := Client{Agent: hookevent.Gemini, Server: "http://edge", Token: token}
	if code := c.Run(strings.NewReader(`{"hook_event_name":"BeforeAgent"}`), brokenPipe{}, &errs, answering(500, "")); code != ExitBlock || errs.Len() == 0 {
		t.Errorf("a warning that cannot be written: exit %d, %q", code, errs.String())
	}
}

// The server that did not answer is named, by its socket or by its address.
func TestServerIsNamed(t *testing.T) {
	t.Parallel()
	socket := folder(t, datadir.Endpoints{Socket: "/nowhere/edge.sock"})
	http := folder(t, datadir.Endpoints{HTTP: "http://127.0.0.1:1"})
	for words, c := range map[string]Client{
		"the server at /nowhere/edge.sock cannot be reached: ": {Data: string(socket)},
		"the server at 127.0.0.1:1 cannot be reached: ":        {Data: string(http)},
		"the server at gw.example:9 cannot be reached: ":       {Server: "https://gw.example:9/", Token: token},
	} {
		c.Agent = hookevent.ClaudeCode
		code, out, errs := hook(c, preTool, Socket)
		wantBlocked(t, code, out, errs, words)
		wantBlocked(t, code, out, errs, "is `interlock up` running?")
	}
}
