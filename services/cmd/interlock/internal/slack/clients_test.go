package slack_test

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/slack/slackfake"
)

// TestSlackClients: Slack's own clients for Node read the fake's answers and requests, as they read Slack: so far, the relay is tested
// with the published interface.
func TestSlackClients(t *testing.T) {
	t.Parallel()
	clients, err := filepath.Abs("../../../../e2e/clients")
	if err != nil {
		t.Fatal(err)
	}
	if testing.Short() {
		t.Skip("the quick loop needs no Node")
	}
	if _, err := os.Stat(filepath.Join(clients, "node_modules", "@slack", "bolt")); err != nil {
		t.Fatalf("%v: run `npm ci` in services/e2e/clients, or `make test`", err)
	}
	fake := slackfake.New()
	defer fake.Close()
	node := exec.CommandContext(t.Context(), "node", "slack.mjs")
	node.Dir, node.Stderr = clients, os.Stderr
	node.Env = append(os.Environ(), "SLACK_API="+fake.API(), "SLACK_BOT="+slackfake.BotToken, "SLACK_APP="+slackfake.AppToken, "SLACK_SECRET="+slackfake.Secret,
		"SLACK_CHANNEL="+slackfake.Channel)
	in, err := node.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close(); _ = node.Wait() }()
	lines := bufio.NewScanner(out)
	next := func(want string) string {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("it has ended, and not said %q", want)
		}
		if !strings.HasPrefix(lines.Text(), want) {
			t.Fatalf("it says %q, want %q", lines.Text(), want)
		}
		return strings.TrimPrefix(lines.Text(), want)
	}
	for _, want := range []string{
		"auth.test T01 U99", "chat.postMessage true 3", "chat.update true", "conversations.history apr_1", "chat.postEphemeral true",
		"views.open interlock_reject_note", "no message message_not_found", "no channel channel_not_found", "no token invalid_auth",
		"a long header invalid_blocks",
	} {
		next(want)
	}
	address := "http://127.0.0.1:" + next("ready ") + "/"
	send := func(payload map[string]any, forge bool) int {
		t.Helper()
		req, err := slackfake.Request(t.Context(), address, payload, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if forge {
			req.Header.Set("X-Slack-Signature", "v0="+strings.Repeat("0", 64))
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	m := slackfake.Message{Stamp: "1.000100", Blocks: []slackfake.Block{{Elements: []slackfake.Element{{Action: approve, Value: `{"a":"apr_1"}`}}}}}
	click := slackfake.Click(m, approve, slackfake.Ann)
	note := slackfake.Submit(map[string]any{"id": "V1", "callback_id": "interlock_reject_note"}, "not on a Friday", slackfake.Ann)
	if status := send(click, true); status != 401 {
		t.Errorf("Slack's receiver answers a forged request with %d", status)
	}
	for _, way := range []string{"http", "socket"} {
		for i, payload := range []map[string]any{click, note} {
			if way == "socket" {
				if err := fake.Push(t.Context(), fmt.Sprintf("e%d", i), payload); err != nil {
					t.Fatal(err)
				}
			} else if status := send(payload, false); status != 200 {
				t.Errorf("Slack's receiver answers with %d", status)
			}
			next(way + []string{` action U02 T01 A01 true {"a":"apr_1"}`, " view U02 not on a Friday"}[i])
		}
	}
}
