package slack_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/webhook"
)

// recorder is a server of JSON that keeps its requests.
type recorder struct {
	*httptest.Server
	mu      sync.Mutex
	got     []string
	changed chan struct{}
}

// record serves answers, and keeps "METHOD path body" of the requests that have a body.
func record(t *testing.T, answer func(method, path string, body map[string]any) (int, any)) *recorder {
	t.Helper()
	r := &recorder{changed: make(chan struct{}, 1000)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		text, _ := io.ReadAll(req.Body)
		var body map[string]any
		_ = json.Unmarshal(text, &body)
		r.mu.Lock()
		status, out := answer(req.Method, req.URL.Path, body)
		if len(text) > 0 {
			r.got = append(r.got, req.Method+" "+req.URL.Path+" "+string(text))
		}
		r.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(out)
		r.changed <- struct{}{}
	}))
	t.Cleanup(r.Close)
	return r
}

// until waits for a request that has a text.
func (r *recorder) until(t *testing.T, has string) string {
	t.Helper()
	over := time.After(patience)
	for {
		r.mu.Lock()
		for _, line := range r.got {
			if strings.Contains(line, has) {
				r.mu.Unlock()
				return line
			}
		}
		r.mu.Unlock()
		select {
		case <-r.changed:
		case <-over:
			r.mu.Lock()
			defer r.mu.Unlock()
			t.Fatalf("no request has %q: %q", has, r.got)
		}
	}
}

func (r *recorder) count(has string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range r.got {
		if strings.Contains(line, has) {
			n++
		}
	}
	return n
}

// node starts a program of the examples.
func node(t *testing.T, program string, environ ...string) io.Reader {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../../../../examples/relays", program))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "node", path)
	cmd.Dir, cmd.Env, cmd.Stderr = t.TempDir(), append(os.Environ(), environ...), os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
	})
	return out
}

// The bot of the examples passes on clicks as who Telegram says has clicked, of the message that shows the approval (S23.35).
func TestTelegramExample(t *testing.T) {
	t.Parallel()
	status, version := "PENDING", 1
	approval := func() map[string]any {
		return map[string]any{
			"approval_id": "apr_1", "status": status, "version": version, "digest": strings.Repeat("d", 64), "message": "Ship\n\u202eit?", "outcome": "it is " + status,
			"asker": map[string]any{"principal": "agent-7"}, "subject": map[string]any{"event": "SHIP"}, "you": map[string]any{"may_decide": true},
		}
	}
	interlock := record(t, func(method, path string, body map[string]any) (int, any) {
		switch {
		case method == http.MethodGet && path == "/v1/approvals":
			return 200, map[string]any{"approvals": []any{approval()}}
		case method == http.MethodGet:
			return 200, approval()
		case body["as_identity"] != "telegram:bot7/12":
			return 403, map[string]any{"detail": "nobody has this identity"}
		}
		status, version = "GRANTED", 2
		return 200, approval()
	})
	button := func(id, data string, from, message int) map[string]any {
		return map[string]any{"update_id": message, "callback_query": map[string]any{
			"id": id, "from": map[string]any{"id": from, "username": "ann"}, "data": data, "message": map[string]any{"message_id": message, "chat": map[string]any{"id": -100}},
		}}
	}
	word := "y apr_1 " + strings.Repeat("d", 16)
	polls := 0
	telegram := record(t, func(_, path string, _ map[string]any) (int, any) {
		ok := func(result any) (int, any) { return 200, map[string]any{"ok": true, "result": result} }
		switch {
		case strings.HasSuffix(path, "/sendMessage"):
			return ok(map[string]any{"message_id": 55})
		case strings.HasSuffix(path, "/getUpdates"):
			if polls++; polls == 1 {
				return ok([]any{button("c0", word, 66, 55), button("c1", "y apr_1 other", 12, 55), button("c2", word, 12, 54), button("c3", word, 12, 55)})
			}
			return ok([]any{})
		default:
			return ok(true)
		}
	})
	node(t, "telegram/relay.mjs", "INTERLOCK_HTTP_SERVER="+interlock.URL, "INTERLOCK_TOKEN=ilk_x", "TELEGRAM_API="+telegram.URL, "TELEGRAM_TOKEN=1:x",
		"TELEGRAM_CHAT=-100", "TELEGRAM_BOT=bot7", "TELEGRAM_PAUSE_MS=1")
	sent := telegram.until(t, "/sendMessage")
	if strings.Contains(sent, "parse_mode") || strings.Contains(sent, "\u202e") || !strings.Contains(sent, `Ship it?`) {
		t.Errorf("it has sent %s", sent)
	}
	for id, want := range map[string]string{"c0": "nobody has this identity", "c1": "does not show", "c2": "does not show", "c3": "it is GRANTED"} {
		if got := telegram.until(t, `"callback_query_id":"`+id+`"`); !strings.Contains(got, want) {
			t.Errorf("the click %s is answered with %s", id, got)
		}
	}
	telegram.until(t, "/editMessageText")
	if n := interlock.count("/approve"); n != 2 {
		t.Errorf("%d clicks were passed on", n)
	}
	if n := telegram.count("/sendMessage"); n != 1 {
		t.Errorf("it was posted %d times", n)
	}
}

// The deployment rule of the examples takes requests that GitHub has signed, and decisions that Interlock has signed.
func TestGitHubExample(t *testing.T) {
	t.Parallel()
	const secret, hook = "github-secret", "a secret of the webhook"
	interlock := record(t, func(_, path string, _ map[string]any) (int, any) {
		return 200, map[string]any{"run_id": "run_1", "path": path}
	})
	github := record(t, func(string, string, map[string]any) (int, any) { return 200, map[string]any{} })
	out := node(t, "github/rule.mjs", "INTERLOCK_HTTP_SERVER="+interlock.URL, "INTERLOCK_TOKEN=ilk_x", "GITHUB_API="+github.URL, "GITHUB_TOKEN=ghs_x",
		"GITHUB_SECRET="+secret, "INTERLOCK_WEBHOOK_SECRET="+hook, "RULE_PORT=0")
	first := make([]byte, 64)
	n, err := out.Read(first)
	if err != nil {
		t.Fatal(err)
	}
	port := regexp.MustCompile(`listening on (\d+)`).FindSubmatch(first[:n])
	if port == nil {
		t.Fatalf("it says %q", first[:n])
	}
	send := func(method, body string, sign func(h http.Header)) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, fmt.Sprintf("http://127.0.0.1:%s/", port[1]), strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		sign(req.Header)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	byGitHub := func(key, body string) func(h http.Header) {
		return func(h http.Header) {
			mac := hmac.New(sha256.New, []byte(key))
			mac.Write([]byte(body))
			h.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
			h.Set("X-GitHub-Event", "deployment_protection_rule")
			h.Set("X-GitHub-Delivery", "d1")
		}
	}
	byInterlock := func(key, body string, at time.Time) func(h http.Header) {
		return func(h http.Header) { webhook.Sign(h, []byte(key), "m1", at, []byte(body)) }
	}
	ask := func(callback string) string {
		return `{"action":"requested","environment":"production","deployment":{"id":7,"ref":"main","sha":"abc"},"deployment_callback_url":"` + callback +
			`","repository":{"full_name":"acme/shop"}}`
	}
	good, evil := ask(github.URL+"/repos/acme/shop/actions/runs/1/deployment_protection_rule"), ask("http://127.0.0.1:1/")
	decided := `{"type":"approval.granted","approval":{"approval_id":"apr_1","run_id":"run_1","by":"ann"}}`
	for name, tc := range map[string]struct {
		body string
		sign func(h http.Header)
		want int
	}{
		"nobody":         {good, func(http.Header) {}, 401},
		"another secret": {good, byGitHub("other", good), 401},
		"another place":  {evil, byGitHub(secret, evil), 503},
		"forged":         {decided, byInterlock("another secret of it", decided, time.Now()), 401},
		"old":            {decided, byInterlock(hook, decided, time.Now().Add(-time.Hour)), 401},
	} {
		if got := send(http.MethodPost, tc.body, tc.sign); got != tc.want {
			t.Errorf("%s: it answers %d, want %d", name, got, tc.want)
		}
	}
	if n := interlock.count("/v1/"); n != 0 {
		t.Errorf("a forged request was passed on %d times", n)
	}
	if got := send(http.MethodPost, good, byGitHub(secret, good)); got != 204 {
		t.Fatalf("it answers %d", got)
	}
	if got := interlock.until(t, "/transition"); !strings.Contains(got, `"sha":"abc"`) {
		t.Errorf("it asks for %s", got)
	}
	if got := send(http.MethodPost, decided, byInterlock(hook, decided, time.Now())); got != 204 {
		t.Fatalf("it answers %d", got)
	}
	if got := github.until(t, "approved"); !strings.Contains(got, `"environment_name":"production"`) || !strings.Contains(got, "by ann") {
		t.Errorf("GitHub is told %s", got)
	}
}
