package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
)

// filler is a client that calls by REST with one token.
type filler struct {
	*shape
	token string
}

func (f filler) call(t testing.TB, method, path, body string) (status int, text string) {
	t.Helper()
	req := must[*http.Request](t)(http.NewRequestWithContext(within(t), method, f.http+path, strings.NewReader(body)))
	req.Header.Set("Authorization", "Bearer "+f.token)
	req.Header.Set("Content-Type", "application/json")
	resp := must[*http.Response](t)(http.DefaultClient.Do(req))
	defer resp.Body.Close()
	return resp.StatusCode, string(must[[]byte](t)(io.ReadAll(resp.Body)))
}

// ok is call that must succeed. It returns the value of a text field of the answer.
func (f filler) ok(t testing.TB, method, path, body, field string) string {
	t.Helper()
	status, text := f.call(t, method, path, body)
	if status >= 300 {
		t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
	_, rest, _ := strings.Cut(text, `"`+field+`"`)
	_, rest, _ = strings.Cut(rest, `"`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

const loop = `{"id": "loop", "initial": "a", "meta": {"enforcement": "while_running"}, "states": {"a": {"allowed_tools": ["Read"], "on": {"GO": "a", "END": "z"}}, "z": {"type": "final"}}}`

// S19.1: a session's token stores its quota, by any of its operations, and no more. Others continue, and acts that
// stop it are accepted.
func TestOneTokenDoesNotFillTheStore(t *testing.T) {
	t.Parallel()
	const quota = 3_000_000
	u := startUp(t, "--bytes-per-session", fmt.Sprint(quota))
	operator := filler{&u.shape, u.tokens[auth.Operator]}
	operator.ok(t, "POST", "/v1/workflows", loop, "")
	operator.ok(t, "POST", "/v1/schemas", `{"name": "any", "json_schema": {"type": "object"}}`, "")
	session := func(t *testing.T, name string) filler {
		t.Helper()
		out := must[[]byte](t)(exec.CommandContext(within(t), binary(t, "interlock"), "token", "mint", "--session", name,
			"--key", u.data.TokenKey(), "--data-dir", string(u.data)).Output())
		return filler{&u.shape, strings.TrimSpace(string(out))}
	}
	pad := strings.Repeat("x", 200_000)
	for name, way := range map[string]func(t *testing.T, f filler) func(i int) (int, string){
		"transitions": func(t *testing.T, f filler) func(int) (int, string) {
			run := f.ok(t, "POST", "/v1/runs", `{"workflow": "loop"}`, "run_id")
			return func(i int) (int, string) {
				return f.call(t, "POST", "/v1/runs/"+run+"/transition", fmt.Sprintf(`{"event": "GO", "data": {"pad": "%d%s"}}`, i, pad))
			}
		},
		"inputs-of-runs": func(t *testing.T, f filler) func(int) (int, string) {
			return func(int) (int, string) {
				status, text := f.call(t, "POST", "/v1/runs", `{"workflow": "loop", "context": {"pad": "`+pad+`"}}`)
				if status < 300 {
					_, rest, _ := strings.Cut(text, `"run_id"`)
					f.ok(t, "POST", "/v1/runs/"+strings.Split(rest, `"`)[1]+"/cancel", `{}`, "")
				}
				return status, text
			}
		},
		"a-shared-state": func(t *testing.T, f filler) func(int) (int, string) {
			state := f.ok(t, "POST", "/v1/states", `{"schema_name": "any", "initial_data": {}}`, "state_id")
			return func(i int) (int, string) {
				return f.call(t, "PUT", "/v1/states/"+state, fmt.Sprintf(`{"data": {"pad": "%d%s"}}`, i, pad))
			}
		},
		"prompts-of-children": func(t *testing.T, f filler) func(int) (int, string) {
			f.ok(t, "POST", "/v1/sessions", `{"session_name": "prompts-of-children"}`, "")
			return func(i int) (int, string) {
				return f.call(t, "POST", "/v1/sessions", fmt.Sprintf(`{"session_name": "prompts-of-children/child-%d", "parent_session_name": "prompts-of-children", "prompt": %q}`, i, pad))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := session(t, name)
			more, stored := way(t, f), 0
			for i := range 3 * quota / len(pad) {
				status, text := more(i)
				if status < 300 {
					stored += len(pad)
					continue
				}
				if status != http.StatusTooManyRequests || !strings.Contains(text, string(fault.QuotaExceeded)) || !strings.Contains(text, "--bytes-per-session") {
					t.Fatalf("refused with %d %s", status, text)
				}
				break
			}
			if stored > quota || stored < quota/10 {
				t.Errorf("%d bytes are stored, of a quota of %d", stored, quota)
			}
		})
	}
	t.Run("what stops it", func(t *testing.T) {
		t.Parallel()
		f := session(t, "stopped")
		run := f.ok(t, "POST", "/v1/runs", `{"workflow": "loop"}`, "run_id")
		for _, bytes := range []int{len(pad), 10_000, 500} {
			for status := 0; status < 300; {
				status, _ = f.call(t, "POST", "/v1/runs/"+run+"/transition", `{"event": "GO", "data": {"pad": "`+pad[:bytes]+`"}}`)
			}
		}
		allowed := 0
		for allowed < 10 {
			status, text := f.call(t, "POST", "/v1/runs/"+run+"/check", `{"tool": "Read"}`)
			if status >= 300 {
				if !strings.Contains(text, string(fault.QuotaExceeded)) {
					t.Errorf("a call whose record has no room: %s", text)
				}
				break
			}
			allowed++
		}
		if allowed == 10 {
			t.Error("calls are allowed whose records have no room")
		}
		operator.ok(t, "POST", "/v1/runs/"+run+"/pause", `{}`, "")
		operator.ok(t, "POST", "/v1/runs/"+run+"/resume", `{}`, "")
		f.ok(t, "POST", "/v1/runs/"+run+"/cancel", `{}`, "")
		session(t, "another").ok(t, "POST", "/v1/runs", `{"workflow": "loop"}`, "")
	})
}

// S19.2: with little room, on the disk or below Redis's maxmemory, only acts that stop work are taken, and all
// is taken when there is room again.
func TestLittleRoomIsForWhatStops(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(t *testing.T) (u *together, full, again func()){
		"disk": func(t *testing.T) (*together, func(), func()) {
			u := startUp(t)
			args := u.args
			with := func(more ...string) func() {
				return func() {
					u.process.drain(t)
					u.args = slices.Concat(args, more)
					u.restart(t)
				}
			}
			return u, with("--min-store-room", fmt.Sprint(int64(1)<<60)), with()
		},
		"redis": func(t *testing.T) (*together, func(), func()) {
			server := redistest.Start(t)
			client := server.Client(t)
			set := func(client *redis.Client, bytes string) func() {
				return func() {
					if err := client.ConfigSet(t.Context(), "maxmemory", bytes).Err(); err != nil {
						t.Fatal(err)
					}
				}
			}
			return startUp(t, "--store", server.URL()), set(client, "60mb"), set(client, "1gb")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, full, again := begin(t)
			f := func() filler { return filler{&u.shape, u.tokens[auth.Operator]} }
			f().ok(t, "POST", "/v1/workflows", loop, "")
			paused := f().ok(t, "POST", "/v1/runs", `{"workflow": "loop"}`, "run_id")
			cancelled := f().ok(t, "POST", "/v1/runs", `{"workflow": "loop"}`, "run_id")
			full()
			refused := func(what string, status int, text string) {
				t.Helper()
				if status != http.StatusInsufficientStorage || !strings.Contains(text, string(fault.StoreFull)) || !strings.Contains(text, "cancel, pause") {
					t.Errorf("%s: %d %s", what, status, text)
				}
			}
			eventually(t, "a run is refused", func() error {
				if status, text := f().call(t, "POST", "/v1/runs", `{"workflow": "loop"}`); status < 300 {
					return fmt.Errorf("it is started: %s", text)
				}
				return nil
			})
			status, text := f().call(t, "POST", "/v1/runs", `{"workflow": "loop"}`)
			refused("a run", status, text)
			status, text = f().call(t, "POST", "/v1/runs/"+paused+"/transition", `{"event": "GO"}`)
			refused("a transition", status, text)
			if status, text := f().call(t, "POST", "/v1/runs/"+paused+"/check", `{"tool": "Read"}`); status < 300 && !strings.Contains(text, `"DENY"`) {
				t.Errorf("a tool call: %d %s", status, text)
			}
			f().ok(t, "POST", "/v1/runs/"+paused+"/pause", `{}`, "")
			f().ok(t, "POST", "/v1/runs/"+cancelled+"/cancel", `{}`, "")
			if err := ready(u.http); err != nil {
				t.Errorf("operators cannot reach it: %v", err)
			}
			if _, text := f().call(t, "GET", "/readyz?verbose", ""); !strings.Contains(text, `"why":"STORE_FULL`) {
				t.Errorf("readyz does not say so: %s", text)
			}
			again()
			eventually(t, "a run is started again", func() error {
				if status, text := f().call(t, "POST", "/v1/runs", `{"workflow": "loop"}`); status >= 300 {
					return fmt.Errorf("%d %s", status, text)
				}
				return nil
			})
		})
	}
}
