package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
)

// reply is an answer of the edge.
type reply struct {
	status int
	header http.Header
	body   string
}

func (r reply) String() string { return fmt.Sprintf("%d %.300s", r.status, r.body) }

// field is a member of the answer's JSON object.
func (r reply) field(name string) any {
	var object map[string]any
	if json.Unmarshal([]byte(r.body), &object) != nil {
		return nil
	}
	return object[name]
}

// code is the reason of a problem document.
func (r reply) code() string {
	code, _ := r.field("code").(string)
	return code
}

// send makes one request of the edge; an empty token is none.
func (w *world) send(t testing.TB, method, path, token, body string) reply {
	t.Helper()
	return w.sendAs(t, method, path, token, body, "application/json")
}

func (w *world) sendAs(t testing.TB, method, path, token, body, media string) reply {
	t.Helper()
	req := must[*http.Request](t)(http.NewRequestWithContext(within(t), method, w.http+path, strings.NewReader(body)))
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		req.Header.Set("Content-Type", media)
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("X-Interlock-Namespace", w.namespace)
	return w.roundTrip(t, req)
}

func (w *world) roundTrip(t testing.TB, req *http.Request) reply {
	t.Helper()
	resp := must[*http.Response](t)(http.DefaultClient.Do(req))
	defer resp.Body.Close()
	data := must[[]byte](t)(io.ReadAll(resp.Body))
	return reply{resp.StatusCode, resp.Header, string(data)}
}

// restWalk is the gated walk over REST, with the shapes and codes of its
// interface.
func restWalk(t *testing.T, w *world) {
	agent := w.tokens[auth.Agent]
	post := func(path, body string, status int) reply {
		t.Helper()
		got := w.send(t, http.MethodPost, path, agent, body)
		if got.status != status {
			t.Fatalf("POST %s answers %v, want %d", path, got, status)
		}
		return got
	}
	post("/v1/workflows", bugfix, http.StatusCreated)
	run := post("/v1/runs", `{"workflow":"bugfix","context":{"big":9007199254740993}}`, http.StatusCreated)
	base := fmt.Sprintf("/v1/runs/%v", run.field("run_id"))

	denied := post(base+"/check", `{"tool":"Edit","input":{"file_path":"a"}}`, http.StatusOK)
	if denied.field("decision") != "DENY" || denied.code() != "TOOL_NOT_ALLOWED" || !strings.Contains(denied.body, "READY") {
		t.Errorf("the check answers %v", denied)
	}
	moved := post(base+"/transition", `{"event":"READY","expected_version":1}`, http.StatusOK)
	if moved.field("accepted") != true || !strings.Contains(moved.body, `"state":"implementing"`) {
		t.Errorf("the transition answers %v", moved)
	}
	allowed := post(base+"/check", `{"tool":"Edit","input":{"file_path":"a"}}`, http.StatusOK)
	if allowed.field("decision") != "ALLOW" {
		t.Errorf("the check answers %v", allowed)
	}
	reported := post(base+"/report", fmt.Sprintf(`{"call_id":%q,"tool":"Edit","ok":true,"cost_usd":"0.02"}`, allowed.field("call_id")), http.StatusOK)
	if reported.field("accounted") != true {
		t.Errorf("the report answers %v", reported)
	}
	if got := post(base+"/transition", `{"event":"READY","expected_version":1}`, http.StatusConflict); got.code() != "VERSION_CONFLICT" ||
		got.field("current_version") != 2.0 {
		t.Errorf("a stale version answers %v", got)
	}
	rejected := post(base+"/transition", `{"event":"SHIP"}`, http.StatusOK)
	if rejected.field("accepted") != false || !strings.Contains(rejected.body, "UNKNOWN_EVENT") {
		t.Errorf("an unknown event answers %v", rejected)
	}
	got := w.send(t, http.MethodGet, base, agent, "")
	if got.header.Get("ETag") != `"2"` || !strings.Contains(got.body, `9007199254740993`) {
		t.Errorf("the run is %v with ETag %s", got, got.header.Get("ETag"))
	}
	history := w.send(t, http.MethodGet, base+"/history", w.tokens[auth.Observer], "")
	if strings.Count(history.body, `"run_version"`) != 2 {
		t.Errorf("the history is %v", history)
	}
	if got := w.send(t, http.MethodPost, base+"/cancel", w.tokens[auth.Observer], "{}"); got.status != http.StatusForbidden || got.code() != "PERMISSION_DENIED" {
		t.Errorf("an observer's cancel answers %v", got)
	}
}

// restEvents reads the live events of a run over server-sent events.
func restEvents(t *testing.T, w *world) {
	c := w.as(t, auth.Agent)
	c.register(t, pingPong)
	id := c.start(t, "ping-pong").GetRunId()
	req := must[*http.Request](t)(http.NewRequestWithContext(within(t), http.MethodGet, w.http+"/v1/events?subject=run.>", nil))
	req.Header.Set("Authorization", "Bearer "+w.tokens[auth.Observer])
	req.Header.Set("X-Interlock-Namespace", w.namespace)
	resp := must[*http.Response](t)(http.DefaultClient.Do(req))
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("the events answer %s %s", resp.Status, resp.Header.Get("Content-Type"))
	}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), ": connected") {
	}
	c.move(t, id, "GO")
	c.move(t, id, "END")
	var seen []string
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && strings.Contains(data, id) {
			seen = append(seen, data)
			if strings.Contains(data, "runEnded") || strings.Contains(data, "run_ended") {
				break
			}
		}
	}
	if len(seen) < 3 {
		t.Errorf("only %d events came: %v", len(seen), seen)
	}
}
