package e2e

import (
	"net/http"
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
