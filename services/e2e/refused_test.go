package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/interlock-run/interlock/pkg/auth"
)

// TestRefusedCallersAreAnnounced: a caller that is refused before there is a decision is an event on NATS, whether
// the door or a service has refused it.
func TestRefusedCallersAreAnnounced(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		probe  func(i *isolation)
		entity string
		words  []string
	}{
		"without a token": {
			func(i *isolation) { i.do("", http.MethodGet, "/v1/runs", "") }, "unknown",
			[]string{`"face":"http"`, `"method":"GET /v1/runs"`, `"reason":"UNAUTHENTICATED"`},
		},
		"another session": {
			func(i *isolation) {
				i.do(i.mint("--session", "kid"), http.MethodPost, "/v1/runs", `{"workflow": "w", "session_id": "other"}`)
			}, "kid",
			[]string{`"face":"grpc"`, `"reason":"PERMISSION_DENIED"`, `"role":"agent"`, `"session_id":"kid"`},
		},
		"beyond its role": {
			func(i *isolation) { i.do(auth.Observer, http.MethodPost, "/v1/policies", `{"name": "x"}`) }, "observer",
			[]string{`"reason":"PERMISSION_DENIED"`, `"role":"observer"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newIsolation(t)
			c.probe(i)
			nc := must[*nats.Conn](t)(nats.Connect(i.up.nats.URL))
			t.Cleanup(nc.Close)
			js := must[nats.JetStreamContext](t)(nc.JetStream())
			eventually(t, "the event", func() error {
				msg, err := js.GetLastMsg("INTERLOCK", "interlock.default.call."+c.entity+".refused")
				if err != nil {
					return err
				}
				for _, word := range c.words {
					if !strings.Contains(strings.ReplaceAll(string(msg.Data), `": "`, `":"`), word) {
						t.Errorf("%s is not in %s", word, msg.Data)
					}
				}
				return nil
			})
		})
	}
}

// TestRefusedCallersAreListed: operators read who was refused before there was a decision, and what they asked for (S22.12).
// No secret is among it, and a flood leaves one entry.
func TestRefusedCallersAreListed(t *testing.T) {
	t.Parallel()
	i := newIsolation(t)
	const secret = "il_secret-that-nobody-issued"
	kid := i.mint("--session", "kid")
	send := func(host, token, namespace, method, path, body string) {
		t.Helper()
		req := must[*http.Request](t)(http.NewRequestWithContext(within(t), method, i.http+path, strings.NewReader(body)))
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		if namespace != "" {
			req.Header.Set("X-Interlock-Namespace", namespace)
		}
		if host != "" {
			req.Host = host
		}
		resp := must[*http.Response](t)(http.DefaultClient.Do(req))
		resp.Body.Close()
		if resp.StatusCode < 400 {
			t.Errorf("%s %s is answered %s", method, path, resp.Status)
		}
	}
	for range 50 {
		send("", secret, "", http.MethodGet, "/v1/runs?token="+secret, "")
	}
	send("evil.example", i.token(auth.Operator), "", http.MethodGet, "/v1/runs", "")
	send("", i.token(kid), "", http.MethodPost, "/v1/runs", `{"workflow": "w", "session_id": "other"}`)
	send("", i.token(i.mint("--session", "sister")), "blue", http.MethodGet, "/v1/runs", "")
	send("", i.token(auth.Agent), "", http.MethodPost, "/v1/runs/run_00000000000000000000000000/check", `{"tool": "Read"}`)
	eventually(t, "the list", func() error {
		got := i.do(auth.Observer, http.MethodGet, "/v1/refusals", "")
		text := got.body
		if strings.Contains(text, secret) || strings.Contains(text, i.token(auth.Operator)) {
			t.Fatalf("a secret is listed: %s", text)
		}
		if n := strings.Count(text, `"UNAUTHENTICATED"`); n > 1 {
			t.Fatalf("a flood is listed %d times: %s", n, text)
		}
		for _, words := range [][]string{
			{`"principal":""`, `"reason":"UNAUTHENTICATED"`, `"method":"GET /v1/runs"`},
			{`"reason":"UNKNOWN_HOST"`},
			{`"principal":"kid"`, `"session_id":"kid"`, `"asked_session_id":"other"`},
			{`"principal":"sister"`, `"asked_namespace":"blue"`},
			{`"principal":"agent"`, `"reason":"NOT_FOUND"`, `"asked_run_id":"run_00000000000000000000000000"`},
		} {
			if !slices.ContainsFunc(strings.Split(text, "},{"), func(one string) bool {
				return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(one, word) })
			}) {
				return fmt.Errorf("no refusal with %q: %s", words, text)
			}
		}
		return nil
	})
	if got := i.do(auth.Agent, http.MethodGet, "/v1/refusals", ""); got.status != http.StatusForbidden {
		t.Errorf("an agent reads who was refused: %v", got)
	}
}

// TestRefusedAtAGateway: a gateway in a process of its own has no store, and its refusals are events all
// the same.
func TestRefusedAtAGateway(t *testing.T) {
	t.Parallel()
	s := startSeparate(t)
	resp := must[*http.Response](t)(http.Post(s.http+"/mcp", "application/json", strings.NewReader("{}")))
	resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Fatalf("without a token: %s", resp.Status)
	}
	nc := must[*nats.Conn](t)(nats.Connect(s.nats.URL))
	t.Cleanup(nc.Close)
	js := must[nats.JetStreamContext](t)(nc.JetStream())
	eventually(t, "the event", func() error {
		msg, err := js.GetLastMsg("INTERLOCK", "interlock.default.call.unknown.refused")
		if err != nil {
			return err
		}
		for _, word := range []string{`"face":"http"`, `"method":"POST /mcp"`, `"reason":"UNAUTHENTICATED"`} {
			if !strings.Contains(strings.ReplaceAll(string(msg.Data), `": "`, `":"`), word) {
				t.Errorf("%s is not in %s", word, msg.Data)
			}
		}
		return nil
	})
}
