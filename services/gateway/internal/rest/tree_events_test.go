package rest

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
)

// of is an event of an entity.
func of(seq uint64, entity string) Event {
	return Event{Seq: seq, Subject: "interlock.default." + entity + ".x.happened", Data: []byte(`{"of":"` + entity + `"}`)}
}

// mixed has one event of every entity.
func mixed() *log {
	return newLog(of(1, "workflow"), of(2, "state"), of(3, "run"), of(4, "session"), of(5, "task"),
		of(6, "toolcall"), of(7, "component"), of(8, "schema"), Event{Seq: 9, Subject: "interlock.odd", Data: []byte(`{}`)}, of(10, "approval"), of(11, "policy"), of(12, "audit"), of(13, "process"))
}

// refused are the answers of the state-store to callers that may not read all trees.
var refused = map[string]error{
	"an agent":   fault.New(fault.SessionRequired, "say which session acts"),
	"a stranger": fault.New(fault.PermissionDenied, "no"),
}

// TestTreeEventsLeftOut: anyone who may not read sessions of all trees gets what
// wildcards match without what tells of trees (S10.9).
func TestTreeEventsLeftOut(t *testing.T) {
	t.Parallel()
	for _, subject := range []string{"", "%3E", "*.x.happened", "interlock.default.%3E", "interlock.default.*.%3E"} {
		for who, refusal := range map[string]error{"an agent": refused["an agent"], "a stranger": refused["a stranger"], "an observer": nil} {
			t.Run(who+" "+subject, func(t *testing.T) {
				t.Parallel()
				h := newHouse(t, func(c *Config) { c.Events = mixed() })
				h.errs["ListSessions"] = refusal
				srv := httptest.NewServer(h)
				t.Cleanup(srv.Close)
				resp := get(t, srv.URL+"/v1/events?last_event_id=0&subject="+subject, "X-Interlock-Session", "child-1")
				text := read(t, bufio.NewReader(resp.Body), "id: 13")
				var got []string
				for line := range strings.Lines(text) {
					if id, is := strings.CutPrefix(strings.TrimSpace(line), "id: "); is {
						got = append(got, id)
					}
				}
				want := "1 2 3 4 5 6 7 8 9 10 11 12 13"
				if refusal != nil {
					want = "1 3 6 8 9 13"
				}
				if strings.Join(got, " ") != want {
					t.Errorf("got %v, want %s", got, want)
				}
				// Asked for all trees: the session that acts would be an answer for its own.
				if want := (&statev1.ListSessionsRequest{PageSize: 1}); !proto.Equal(h.got["ListSessions"], want) {
					t.Errorf("asked %v", h.got["ListSessions"])
				}
			})
		}
	}
}

// TestTreeEventsByName: a subject that names such an entity is refused to them, and
// nobody is asked for one that names another.
func TestTreeEventsByName(t *testing.T) {
	t.Parallel()
	for _, entity := range []string{"state", "session", "task", "component", "approval", "policy", "audit"} {
		for _, subject := range []string{entity, entity + ".%3E", entity + ".*.updated", "interlock.default." + entity + ".x.%3E"} {
			for who, refusal := range refused {
				source := newLog()
				h := newHouse(t, func(c *Config) { c.Events = source })
				h.errs["ListSessions"] = refusal
				rec := h.do("GET", "/v1/events?subject="+subject, "", "X-Interlock-Session", "child-1")
				if p := problem(t, rec); rec.Code != 403 || p.Code != "PERMISSION_DENIED" || !strings.Contains(p.Detail, "state_id") {
					t.Errorf("%s, %s: %d %s", who, subject, rec.Code, rec.Body)
				}
				if source.filter != "" {
					t.Errorf("%s, %s: subscribed to %s", who, subject, source.filter)
				}
			}
		}
	}
	for _, entity := range []string{"run", "workflow", "toolcall", "schema"} {
		source := newLog()
		close(source.live)
		h := newHouse(t, func(c *Config) { c.Events = source })
		h.errs["ListSessions"] = fault.New(fault.Unavailable, "the state-store is down")
		if rec := h.do("GET", "/v1/events?subject="+entity+".%3E", ""); rec.Code != 200 || h.got["ListSessions"] != nil {
			t.Errorf("%s: %d %s, asked %v", entity, rec.Code, rec.Body, h.got["ListSessions"])
		}
	}
}

// TestTreeEventsInDoubt: when nobody can say, nothing is shown, rather than a part
// that would pass for the whole.
func TestTreeEventsInDoubt(t *testing.T) {
	t.Parallel()
	for _, subject := range []string{"", "state.%3E"} {
		for reason, status := range map[fault.Reason]int{fault.Unavailable: 503, fault.Unauthenticated: 401, fault.Internal: 500} {
			h := newHouse(t, func(c *Config) { c.Events = newLog() })
			h.errs["ListSessions"] = fault.New(reason, "no")
			if rec := h.do("GET", "/v1/events?subject="+subject, ""); rec.Code != status {
				t.Errorf("%q, %s: %d %s", subject, reason, rec.Code, rec.Body)
			}
		}
	}
}

// TestTreeEventsWithdrawn: a stream of all trees ends when its token no longer
// reads them; one without them continues.
func TestTreeEventsWithdrawn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, subject string
		first, then   error
		ends          bool
	}{
		{"of everything", "%3E", nil, refused["an agent"], true},
		{"of states", "state.%3E", nil, refused["an agent"], true},
		{"of everything, in doubt", "%3E", nil, fault.New(fault.Unavailable, "no"), true},
		{"of the others", "%3E", refused["an agent"], refused["an agent"], false},
		{"of runs", "run.%3E", nil, refused["an agent"], false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				source := newLog()
				h := newHouse(t, func(c *Config) { c.Events = source })
				h.errs["ListSessions"] = tt.first
				req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/events?subject="+tt.subject, http.NoBody)
				req.Header.Set("Authorization", "Bearer secret")
				done := make(chan struct{})
				go func() { defer close(done); h.ServeHTTP(&client{header: http.Header{}}, req) }()
				synctest.Wait()
				h.mu.Lock()
				h.errs["ListSessions"] = tt.then
				h.mu.Unlock()
				time.Sleep(recheck + time.Second) // of the bubble's clock
				synctest.Wait()
				select {
				case <-done:
					if !tt.ends {
						t.Error("the stream has ended")
					}
				default:
					if tt.ends {
						t.Error("the stream outlives the right to read all trees")
					}
				}
			})
		})
	}
}

// TestTreeEventsOnSockets: the same on a WebSocket.
func TestTreeEventsOnSockets(t *testing.T) {
	t.Parallel()
	onLine(t, "an agent", func(t *testing.T) {
		h := newHouse(t, func(c *Config) { c.Events = mixed() })
		h.errs["ListSessions"] = refused["an agent"]
		l := connect(t, h, "", "X-Interlock-Session", "child-1")
		l.say(`{"type":"subscribe","subject":"state.>"}`)
		l.hear(`{"type":"error","subject":"state.>","code":"PERMISSION_DENIED","message":"events of the entity state cover all trees, ` +
			`which this token may not read; follow one state by its state_id instead of a subject, or ask for one approval"}`)
		l.say(`{"type":"subscribe","subject":">","last_event_id":0}`)
		l.hear(`{"type":"subscribed","subject":">"}`)
		l.hear(`{"type":"event","id":1,"subject":"interlock.default.workflow.x.happened","event":{"of":"workflow"}}`)
		l.hear(`{"type":"event","id":3,"subject":"interlock.default.run.x.happened","event":{"of":"run"}}`)
		l.hear(`{"type":"event","id":6,"subject":"interlock.default.toolcall.x.happened","event":{"of":"toolcall"}}`)
	})
	onLine(t, "an observer that becomes an agent", func(t *testing.T) {
		source := newLog()
		h := newHouse(t, func(c *Config) { c.Events = source })
		l := connect(t, h, "?subject=%3E")
		l.hear(`{"type":"subscribed","subject":">"}`)
		source.live <- of(4, "session")
		l.hear(`{"type":"event","id":4,"subject":"interlock.default.session.x.happened","event":{"of":"session"}}`)
		h.mu.Lock()
		h.errs["ListSessions"] = refused["an agent"]
		h.mu.Unlock()
		l.hear(`{"type":"error","subject":">","code":"PERMISSION_DENIED","message":"you may no longer follow events of all trees; come back for the others"}`)
		<-source.ended
	})
}

// Who is bound to one session follows no subject, whatever it is asked for.
func TestBoundTokensFollowNoSubjects(t *testing.T) {
	t.Parallel()
	for _, subject := range []string{"", "run.%3E", "toolcall.%3E", "state.%3E"} {
		h := newHouse(t, func(c *Config) {
			c.Events = mixed()
			c.Identify = func(_ context.Context, token string) (auth.Principal, error) {
				return auth.Principal{Name: "agent", Role: auth.Agent, Session: "s"}, nil
			}
		})
		srv := httptest.NewServer(h)
		t.Cleanup(srv.Close)
		if resp := get(t, srv.URL+"/v1/events?last_event_id=0&subject="+subject); resp.StatusCode != http.StatusForbidden {
			t.Errorf("%q: %s", subject, resp.Status)
		}
	}
}

// TestBoundTokensOnSockets: the same on a WebSocket, whether it is asked for with the
// connection or on it; and a token that is bound later follows no longer.
func TestBoundTokensOnSockets(t *testing.T) {
	t.Parallel()
	const message = `"message":"this token is bound to session s, and events cover others too; read your run, or follow one state by its state_id"}`
	agent := func(session string) auth.Principal {
		return auth.Principal{Name: "agent", Role: auth.Agent, Session: session}
	}
	for _, subject := range []string{">", "run.>", "toolcall.>", "state.>", "interlock.default.run.*.started"} {
		onLine(t, subject, func(t *testing.T) {
			source := newLog()
			h := newHouse(t, func(c *Config) {
				c.Events = source
				c.Identify = func(context.Context, string) (auth.Principal, error) { return agent("s"), nil }
			})
			l := connect(t, h, "?subject="+url.QueryEscape(subject))
			want := `{"type":"error","subject":"` + subject + `","code":"PERMISSION_DENIED",` + message
			l.hear(want)
			l.say(`{"type":"subscribe","subject":"` + subject + `","last_event_id":0}`)
			l.hear(want)
			if source.filter != "" {
				t.Errorf("subscribed to %s", source.filter)
			}
		})
	}
	onLine(t, "one that is bound later", func(t *testing.T) {
		source := newLog()
		var session atomic.Value
		session.Store("")
		h := newHouse(t, func(c *Config) {
			c.Events = source
			c.Identify = func(context.Context, string) (auth.Principal, error) { return agent(session.Load().(string)), nil }
		})
		l := connect(t, h, "?subject=run.%3E")
		l.hear(`{"type":"subscribed","subject":"run.>"}`)
		session.Store("s")
		l.hear(`{"type":"error","subject":"run.>","code":"PERMISSION_DENIED",` + message)
		<-source.ended
	})
}
