package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/webhook"
)

const hurried = `{"id": "hurried", "initial": "working", "meta": {"deadline": {"after": "2s", "target": "expired"}},
	"states": {"working": {"remind": ["1s"], "on": {"DONE": "done"}}, "done": {"type": "final"}, "expired": {"type": "final", "outcome": "failure"}}}`

// runInbox receives webhooks about runs, and refuses them until it is open.
type runInbox struct {
	*httptest.Server
	refused chan string

	mu    sync.Mutex
	open  bool
	taken []string // "run type", by each message that was taken
	ids   []string
	last  map[string]any
	bad   string
}

func newRunInbox(t *testing.T, secret string) *runInbox {
	in := &runInbox{refused: make(chan string, 1000)}
	in.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		in.mu.Lock()
		defer in.mu.Unlock()
		var m struct {
			ID, Type string
			Run      struct {
				RunID string `json:"run_id"`
			}
		}
		if err := webhook.Verify([]byte(secret), req.Header, body, time.Now(), time.Minute); err != nil || json.Unmarshal(body, &m) != nil {
			in.bad = string(body)
		}
		if !in.open {
			w.WriteHeader(http.StatusServiceUnavailable)
			in.refused <- m.Run.RunID + " " + m.Type
			return
		}
		in.taken, in.ids = append(in.taken, m.Run.RunID+" "+m.Type), append(in.ids, m.ID)
		_ = json.Unmarshal(body, &in.last)
	}))
	t.Cleanup(in.Close)
	return in
}

// S23.54, S23.55: a receiver gets the events of runs that time brings about once each, over kills of the server: before the time, and
// while it did not take them.
func TestRunWebhooks(t *testing.T) {
	t.Parallel()
	const secret = "0123456789abcdef0123456789abcdef"
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	in := newRunInbox(t, secret)
	u := startUp(t, "--webhook", in.URL+"#kind=run&workflow=hur*", "--webhook-secret-file", file, "--public-url", "https://interlock.example.com")
	w := &world{shape: &u.shape, namespace: "hooks"}
	c := w.as(t, auth.Agent)
	w.as(t, auth.Operator).register(t, hurried)
	first := c.start(t, "hurried").GetRunId()
	for seen := map[string]bool{}; !seen[first+" run.reminded"] || !seen[first+" run.deadline"] || !seen[first+" run.failed"]; {
		select {
		case got := <-in.refused:
			seen[got] = true
		case <-time.After(patience):
			t.Fatalf("the receiver was asked to take %v", seen)
		}
	}
	second := c.start(t, "hurried").GetRunId()
	u.process.kill()
	in.mu.Lock()
	in.open = true
	in.mu.Unlock()
	u.restart(t)

	var want []string
	for _, run := range []string{first, second} {
		want = append(want, run+" run.reminded", run+" run.deadline", run+" run.failed")
	}
	slices.Sort(want)
	eventually(t, "the receiver has all", func() error {
		in.mu.Lock()
		defer in.mu.Unlock()
		if got := slices.Compact(slices.Sorted(slices.Values(in.taken))); !slices.Equal(got, want) || in.bad != "" {
			return fmt.Errorf("it has got %q %s", got, in.bad)
		}
		return nil
	})
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.taken) != len(want) || len(slices.Compact(slices.Sorted(slices.Values(in.ids)))) != len(want) {
		t.Errorf("it has got %q, with the ids %q", in.taken, in.ids)
	}
	run := in.last["run"].(map[string]any)
	if link := run["links"].(map[string]any)["self"]; link != "https://interlock.example.com/ui/runs/"+run["run_id"].(string) || !strings.Contains(in.last["text"].(string), "hurried") {
		t.Errorf("the last message is %v", in.last)
	}
}
