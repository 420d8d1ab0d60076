package allinone

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
	"github.com/interlock-run/interlock/services/internal/daemon"
)

const fork = `{"id":"w","initial":"a","states":{
	"a":{"allowed_tools":["InA"],"on":{"B":"b","C":"c"}},
	"b":{"allowed_tools":["InB"],"on":{"A":"a","END":"end"}},
	"c":{"allowed_tools":["InC"],"on":{"A":"a","END":"end"}},"end":{"type":"final"}}}`

// ask asks whether a tool may be called; an error means that there is none.
func ask(t *testing.T, c *Server, run any, tool string) (decision, message string, err error) {
	t.Helper()
	data, err := os.ReadFile(c.TokensFile)
	if err != nil {
		t.Fatal(err)
	}
	var tokens map[string]string
	if err := json.Unmarshal(data, &tokens); err != nil {
		t.Fatal(err)
	}
	url := fmt.Sprintf("%s/v1/runs/%s/check", c.Endpoints.HTTP, run)
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, strings.NewReader(fmt.Sprintf(`{"tool":%q}`, tool)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+tokens["operator"])
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", "", err
	}
	defer resp.Body.Close()
	var out struct{ Decision, Message string }
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode < 300 {
		err = json.Unmarshal(text, &out)
		return out.Decision, out.Message, err
	}
	return "", "", errors.Join(err, errors.New(string(text)))
}

func until(t *testing.T, is func() bool) {
	t.Helper()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for end := time.Now().Add(time.Minute); !is(); <-poll.C {
		if time.Now().After(end) {
			t.Fatal("it never happened")
		}
	}
}

// Redis comes back from an older file under two replicas. The one has cached the run in a
// state that is lost; the other one brings the run to another state, with the same version.
func TestNoDecisionRestsOnALostHistory(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a server, which go test -short does not")
	}
	for name, what := range map[string]string{"refused": "refuse", "continued": "continue"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, kept := t.TempDir(), filepath.Join(t.TempDir(), "kept")
			redis, err := redistest.Launch(dir)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(redis.Kill)
			cfg := Config{Store: redis.URL(), Safety: daemon.SafetyFlags{OnRollback: what}}
			saw, other := start(t, cfg), start(t, cfg)
			call(t, other, "POST", "/v1/workflows", fork)
			run := call(t, other, "POST", "/v1/runs", `{"workflow":"w"}`)["run_id"]
			files := filepath.Join(dir, "appendonlydir")
			if err := os.CopyFS(kept, os.DirFS(files)); err != nil {
				t.Fatal(err)
			}
			call(t, saw, "POST", fmt.Sprintf("/v1/runs/%s/transition", run), `{"event":"B"}`)
			if decision, _, err := ask(t, saw, run, "InB"); decision != "ALLOW" {
				t.Fatalf("%s, %v", decision, err)
			}
			redis.Kill()
			if err := errors.Join(os.RemoveAll(files), os.CopyFS(files, os.DirFS(kept)), redis.Restart()); err != nil {
				t.Fatal(err)
			}
			if what == "refuse" {
				until(t, func() bool {
					decision, message, _ := ask(t, saw, run, "InB")
					if decision == "ALLOW" {
						t.Fatal("a tool is allowed by a state that is lost")
					}
					return strings.Contains(message, "STORE_ROLLED_BACK")
				})
				until(t, func() bool {
					_, message, _ := ask(t, other, run, "InA")
					return strings.Contains(message, "STORE_ROLLED_BACK")
				})
				resp, err := http.Get(saw.Endpoints.HTTP + "/readyz?verbose")
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				if text, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(text), "STORE_ROLLED_BACK") {
					t.Errorf("ready: %s %s %v", resp.Status, text, err)
				}
				if lost, err := redisstore.AcceptRollback(t.Context(), redisstore.Config{URL: redis.URL()}); err != nil || len(lost) == 0 {
					t.Fatalf("accepted %q, %v", lost, err)
				}
			}
			until(t, func() bool { decision, _, _ := ask(t, other, run, "InA"); return decision == "ALLOW" })
			// A shard that has not yet been read after the restart refuses commits, and stays unchanged.
			until(t, func() bool {
				resp, text := request(t, other, "POST", fmt.Sprintf("/v1/runs/%s/transition", run), `{"event":"C"}`)
				if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusServiceUnavailable {
					t.Fatalf("%s %s", resp.Status, text)
				}
				return resp.StatusCode == http.StatusOK
			})
			until(t, func() bool {
				if decision, _, _ := ask(t, saw, run, "InB"); decision == "ALLOW" {
					t.Fatal("a tool is allowed by a state that is lost, at the version of another")
				}
				decision, _, _ := ask(t, saw, run, "InC")
				return decision == "ALLOW"
			})
		})
	}
}
