package rest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/proto"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/access"
)

// pipes is a listener whose connections are pipes, for the clock of a synctest
// bubble.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	close  func()
}

func newPipes() *pipes {
	p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.closed) })
	return p
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.close(); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// line is a WebSocket to a house, both ends of which are in this process.
type line struct {
	t *testing.T
	*house
	*websocket.Conn
	server *http.Server
}

// connect opens a WebSocket with a token; headers are pairs.
func connect(t *testing.T, h *house, query string, headers ...string) *line {
	t.Helper()
	listener := newPipes()
	server := Server(h)
	go func() { _ = server.Serve(listener) }()
	header := http.Header{"Authorization": {"Bearer secret"}}
	for i := 0; i < len(headers); i += 2 {
		header.Set(headers[i], headers[i+1])
	}
	transport := &http.Transport{DialContext: listener.dial, DisableKeepAlives: true}
	conn, resp, err := websocket.Dial(t.Context(), "ws://interlock.test/v1/ws"+query, &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: transport}, HTTPHeader: header,
	})
	if err != nil {
		t.Fatalf("%v: %+v", err, resp)
	}
	t.Cleanup(func() {
		_ = conn.CloseNow()
		_ = server.Close()
		transport.CloseIdleConnections()
		synctest.Wait()
	})
	return &line{t: t, house: h, Conn: conn, server: server}
}

func (l *line) say(message string) {
	l.t.Helper()
	if err := l.Write(l.t.Context(), websocket.MessageText, []byte(message)); err != nil {
		l.t.Fatal(err)
	}
}

// hear expects the next message.
func (l *line) hear(want string) {
	l.t.Helper()
	kind, text, err := l.Read(l.t.Context())
	if err != nil {
		l.t.Fatalf("%v instead of %s", err, want)
	}
	if got := strings.TrimSuffix(string(text), "\n"); got != want || kind != websocket.MessageText {
		l.t.Errorf("got %v\n     %s\nwant %s", kind, got, want)
	}
}

// hangsUp expects the server to close the connection.
func (l *line) hangsUp(want websocket.StatusCode) {
	l.t.Helper()
	for {
		_, _, err := l.Read(l.t.Context())
		if err == nil {
			continue
		}
		if got := websocket.CloseStatus(err); got != want {
			l.t.Errorf("closed with %v: %v, want %v", got, err, want)
		}
		return
	}
}

// onLine runs a test in a bubble, whose clock only moves when nobody is at work.
func onLine(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, test)
	})
}

const (
	subscribeState   = `{"type":"subscribe","state_id":"wfstate_01","after_version":7}`
	subscribedState  = `{"type":"subscribed","state_id":"wfstate_01","version":7}`
	unsubscribeState = `{"type":"unsubscribe","state_id":"wfstate_01"}`
	unsubscribed     = `{"type":"unsubscribed","state_id":"wfstate_01"}`
)

// TestSocket: the conversation that clients have.
func TestSocket(t *testing.T) {
	t.Parallel()
	onLine(t, "a state", func(t *testing.T) {
		l := connect(t, newHouse(t), "", "X-Interlock-Session", "child-1", "X-Interlock-Namespace", "team-a")
		l.say(subscribeState)
		l.hear(subscribedState)
		l.changes <- changed(8, "updated", "child-1")
		l.hear(jsonChange)
		if want := (&statev1.WatchStateRequest{StateId: "wfstate_01", Session: "child-1", AfterVersion: 7}); !proto.Equal(l.got["WatchState"], want) {
			t.Errorf("watched %v", l.got["WatchState"])
		}
		if got := l.meta.Get("interlock-namespace"); len(got) != 1 || got[0] != "team-a" || l.meta.Get("authorization")[0] != "Bearer secret" {
			t.Errorf("metadata %v", l.meta)
		}
		l.say(unsubscribeState)
		l.hear(unsubscribed)
		l.say(subscribeState) // at once, and again
		l.hear(subscribedState)
		close(l.changes)
		l.hear(unsubscribed) // unasked
		l.say(subscribeState)
		l.hear(subscribedState)
		l.hear(unsubscribed)
		if err := l.Close(websocket.StatusNormalClosure, ""); err != nil {
			t.Error(err)
		}
	})
	onLine(t, "a state from now on, which is deleted", func(t *testing.T) {
		l := connect(t, newHouse(t), "?namespace=team-a")
		l.say(`{"type":"subscribe","state_id":"wfstate_01"}`)
		l.hear(subscribedState)
		l.changes <- &statev1.WatchStateResponse{StateId: "wfstate_01", Deleted: true}
		l.hear(`{"event_type":"workflow_state_deleted","state_id":"wfstate_01","version":7,"updated_by_session":null,"timestamp":"2000-01-01T00:00:00Z"}`)
		l.hear(unsubscribed)
		if got := l.meta.Get("interlock-namespace"); len(got) != 1 || got[0] != "team-a" {
			t.Errorf("metadata %v", l.meta)
		}
	})
	onLine(t, "a subject", func(t *testing.T) {
		source := newLog(event(4, `{"n":1.10}`), event(5, `{ "n":2}`))
		l := connect(t, newHouse(t, func(c *Config) { c.Events = source }), "")
		l.say(`{"type":"subscribe","subject":"run.>","last_event_id":4}`)
		l.hear(`{"type":"subscribed","subject":"run.>"}`)
		l.hear(`{"type":"event","id":5,"subject":"interlock.default.run.r.started","event":{"n":2}}`)
		l.say(`{"type":"unsubscribe","subject":"run.>"}`)
		l.hear(`{"type":"unsubscribed","subject":"run.>"}`)
		<-source.ended
		if source.filter != "interlock.default.run.>" || source.from != 5 {
			t.Errorf("subscribed to %s from %d", source.filter, source.from)
		}
	})
	onLine(t, "by the query", func(t *testing.T) {
		source := newLog(event(4, `{}`))
		l := connect(t, newHouse(t, func(c *Config) { c.Events = source }), "?state_id=wfstate_01&after_version=3&subject=run.%3E&last_event_id=3")
		heard := map[string]bool{}
		for range 3 {
			_, text, err := l.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			heard[strings.TrimSpace(string(text))] = true
		}
		for _, want := range []string{
			`{"type":"subscribed","state_id":"wfstate_01","version":3}`, `{"type":"subscribed","subject":"run.>"}`,
			`{"type":"event","id":4,"subject":"interlock.default.run.r.started","event":{}}`,
		} {
			if !heard[want] {
				t.Errorf("no %s in %v", want, heard)
			}
		}
	})
	onLine(t, "two at a time", func(t *testing.T) {
		source := newLog()
		l := connect(t, newHouse(t, func(c *Config) { c.Events = source }), "?state_id=wfstate_01&after_version=7")
		l.hear(subscribedState)
		l.say(`{"type":"subscribe","subject":">"}`)
		l.hear(`{"type":"subscribed","subject":">"}`)
		l.changes <- changed(8, "updated", "child-1")
		l.hear(jsonChange)
		source.live <- event(9, `{}`)
		l.hear(`{"type":"event","id":9,"subject":"interlock.default.run.r.started","event":{}}`)
	})
}

// TestSocketRefusals: what is refused on a connection costs the order, not the
// connection.
func TestSocketRefusals(t *testing.T) {
	t.Parallel()
	onLine(t, "orders", func(t *testing.T) {
		h := newHouse(t)
		h.errs["GetState"] = fault.New(fault.NotFound, "there is no state x")
		l := connect(t, h, "")
		for order, want := range map[string]string{
			`{`:  `{"type":"error","code":"INVALID_JSON"`,
			`[]`: `{"type":"error","code":"INVALID_REQUEST"`,
			`{"type":"subscribe","state_id":"a","state_id":"b"}`:                `{"type":"error","code":"INVALID_JSON"`,
			`{"type":"subscribe","states":["a"]}`:                               `{"type":"error","code":"INVALID_REQUEST"`,
			`{"type":"follow","state_id":"a"}`:                                  `{"type":"error","state_id":"a","code":"INVALID_REQUEST"`,
			`{"type":"subscribe"}`:                                              `{"type":"error","code":"INVALID_REQUEST"`,
			`{"type":"subscribe","state_id":"a","subject":"b"}`:                 `{"type":"error","state_id":"a","subject":"b","code":"INVALID_REQUEST"`,
			`{"type":"subscribe","state_id":"a","last_event_id":1}`:             `{"type":"error","state_id":"a","code":"INVALID_REQUEST"`,
			`{"type":"subscribe","subject":"a","after_version":1}`:              `{"type":"error","subject":"a","code":"INVALID_REQUEST"`,
			`{"type":"subscribe","state_id":"a","after_version":-1}`:            `{"type":"error","state_id":"a","code":"INVALID_REQUEST"`,
			`{"type":"subscribe","subject":"a","last_event_id":-1}`:             `{"type":"error","subject":"a","code":"INVALID_REQUEST"`,
			`{"type":"subscribe","subject":"a b"}`:                              `{"type":"error","subject":"a b","code":"INVALID_REQUEST"`,
			`{"type":"subscribe","subject":"interlock.other.>"}`:                `{"type":"error","subject":"interlock.other.>","code":"PERMISSION_DENIED"`,
			`{"type":"subscribe","subject":"run.>"}`:                            `{"type":"error","subject":"run.>","code":"UNAVAILABLE"`,
			`{"type":"subscribe","state_id":"x"}`:                               `{"type":"error","state_id":"x","code":"NOT_FOUND","message":"there is no state x"`,
			`{"type":"unsubscribe","state_id":"x"}`:                             `{"type":"error","state_id":"x","code":"NOT_FOUND"`,
			"{\"type\":\"subscribe\",\"state_id\":\"\xff\"}":                    `{"type":"error","code":"INVALID_JSON"`,
			`{"type":"subscribe","state_id":"a","after_version":1.5}`:           `{"type":"error","code":"INVALID_REQUEST"`,
			`{"type":"subscribe","subject":"` + strings.Repeat("a", 600) + `"}`: `{"type":"error","subject":"aaa`,
		} {
			l.say(order)
			_, text, err := l.Read(t.Context())
			if err != nil {
				t.Fatalf("%s: %v", order, err)
			}
			if !strings.HasPrefix(string(text), want) || !strings.Contains(string(text), `"message":"`) {
				t.Errorf("%s\n got %s\nwant %s...", order, text, want)
			}
		}
	})
	onLine(t, "twice", func(t *testing.T) {
		l := connect(t, newHouse(t), "")
		l.say(subscribeState)
		l.hear(subscribedState)
		l.say(subscribeState)
		l.hear(`{"type":"error","state_id":"wfstate_01","code":"FAILED_PRECONDITION","message":"you have this subscription; unsubscribe first to begin elsewhere"}`)
		l.changes <- changed(8, "updated", "child-1") // the first continues
		l.hear(jsonChange)
	})
	onLine(t, "too many", func(t *testing.T) {
		l := connect(t, newHouse(t), "")
		for i := range maxSubscriptions {
			l.say(fmt.Sprintf(`{"type":"subscribe","state_id":"s%d"}`, i))
			l.hear(fmt.Sprintf(`{"type":"subscribed","state_id":"s%d","version":7}`, i))
		}
		l.say(subscribeState)
		_, text, err := l.Read(t.Context())
		if err != nil || !strings.Contains(string(text), `"code":"LIMIT_REACHED"`) {
			t.Errorf("%s %v", text, err)
		}
		l.say(`{"type":"unsubscribe","state_id":"s0"}`)
		l.hear(`{"type":"unsubscribed","state_id":"s0"}`)
		l.say(subscribeState)
		l.hear(subscribedState)
	})
	onLine(t, "binary", func(t *testing.T) {
		l := connect(t, newHouse(t), "")
		if err := l.Write(t.Context(), websocket.MessageBinary, []byte(subscribeState)); err != nil {
			t.Fatal(err)
		}
		l.hangsUp(websocket.StatusUnsupportedData)
	})
	onLine(t, "too long", func(t *testing.T) {
		l := connect(t, newHouse(t), "")
		go func() { _ = l.Write(t.Context(), websocket.MessageText, []byte(strings.Repeat(" ", maxMessage+1))) }()
		l.hangsUp(websocket.StatusMessageTooBig)
	})
	onLine(t, "longest", func(t *testing.T) {
		l := connect(t, newHouse(t), "")
		l.say(subscribeState + strings.Repeat(" ", maxMessage-len(subscribeState)))
		l.hear(subscribedState)
	})
}

// TestSocketLife: how a connection ends, and that its subscriptions end with it.
func TestSocketLife(t *testing.T) {
	t.Parallel()
	withdraw := func(h *house, rpc string, err error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.errs[rpc] = err
	}
	onLine(t, "the client leaves", func(t *testing.T) {
		source := newLog()
		l := connect(t, newHouse(t, func(c *Config) { c.Events = source }), "?subject=run.%3E")
		l.hear(`{"type":"subscribed","subject":"run.>"}`)
		_ = l.CloseNow()
		<-source.ended
	})
	onLine(t, "it lasts while pings are answered", func(t *testing.T) {
		l := connect(t, newHouse(t), "?state_id=wfstate_01&after_version=7")
		l.hear(subscribedState)
		heard := make(chan string)
		go func() {
			_, text, _ := l.Read(t.Context()) // answers pings in the meantime
			heard <- strings.TrimSpace(string(text))
		}()
		time.Sleep(time.Hour)
		l.changes <- changed(8, "updated", "child-1")
		if got := <-heard; got != jsonChange {
			t.Errorf("after an hour: %s", got)
		}
	})
	onLine(t, "nobody answers pings", func(t *testing.T) {
		source := newLog()
		l := connect(t, newHouse(t, func(c *Config) { c.Events = source }), "?subject=run.%3E")
		l.hear(`{"type":"subscribed","subject":"run.>"}`)
		begin := time.Now()
		<-source.ended // nobody reads
		if lasted := time.Since(begin); lasted > 30*time.Second {
			t.Errorf("a dead client was kept for %v", lasted)
		}
	})
	onLine(t, "a reader that is too slow", func(t *testing.T) {
		source := newLog()
		l := connect(t, newHouse(t, func(c *Config) { c.Events = source }), "?subject=run.%3E")
		l.hear(`{"type":"subscribed","subject":"run.>"}`)
		begin := time.Now()
		source.live <- event(1, `{}`)
		<-source.ended
		if lasted := time.Since(begin); lasted > streamWriteTimeout {
			t.Errorf("a client that does not read was kept for %v", lasted)
		}
	})
	onLine(t, "a token that is withdrawn", func(t *testing.T) {
		l := connect(t, newHouse(t), "")
		withdraw(l.house, "ListRuns", fault.New(fault.Unauthenticated, "withdrawn"))
		begin := time.Now()
		l.hangsUp(websocket.StatusPolicyViolation)
		if lasted := time.Since(begin); lasted > time.Minute {
			t.Errorf("a withdrawn token lasted %v", lasted)
		}
	})
	onLine(t, "a grant that is taken back", func(t *testing.T) {
		l := connect(t, newHouse(t), "?state_id=wfstate_01&after_version=7")
		l.hear(subscribedState)
		withdraw(l.house, "GetState", fault.New(fault.PermissionDenied, "taken back"))
		l.hear(`{"type":"error","state_id":"wfstate_01","code":"PERMISSION_DENIED","message":"taken back"}`)
		withdraw(l.house, "GetState", nil)
		l.say(subscribeState)
		l.hear(subscribedState)
	})
	onLine(t, "the server drains", func(t *testing.T) {
		source := newLog()
		l := connect(t, newHouse(t, func(c *Config) { c.Events = source }), "?subject=run.%3E")
		l.hear(`{"type":"subscribed","subject":"run.>"}`)
		if err := l.server.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		l.hangsUp(websocket.StatusGoingAway)
		<-source.ended
	})
}

// TestHandshake: who may connect, and what is answered to the others.
func TestHandshake(t *testing.T) {
	t.Parallel()
	upgrade := []string{"Connection", "keep-alive, Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}
	with := func(headers ...string) []string { return append(append([]string{}, upgrade...), headers...) }
	checkRefusals(t, []refusalCase{
		{name: "no token", method: "GET", path: "/v1/ws", headers: with("Authorization", ""), status: 401, code: "UNAUTHENTICATED"},
		{name: "token in the URL", method: "GET", path: "/v1/ws?token=secret", headers: with("Authorization", ""), status: 401, code: "UNAUTHENTICATED"},
		{name: "two tokens", method: "GET", path: "/v1/ws", headers: with("Sec-WebSocket-Protocol", "interlock.v1, bearer.other"), status: 401, code: "UNAUTHENTICATED"},
		{name: "two subprotocol tokens", method: "GET", path: "/v1/ws", headers: with("Authorization", "", "Sec-WebSocket-Protocol", "bearer.a, bearer.b"), status: 401, code: "UNAUTHENTICATED"},
		{name: "empty token", method: "GET", path: "/v1/ws", headers: with("Authorization", "", "Sec-WebSocket-Protocol", "bearer."), status: 401, code: "UNAUTHENTICATED"},
		{name: "bad header", method: "GET", path: "/v1/ws", headers: with("Authorization", "Basic x", "Sec-WebSocket-Protocol", "bearer.a"), status: 401, code: "UNAUTHENTICATED"},
		{name: "endless token", method: "GET", path: "/v1/ws", headers: with("Authorization", "", "Sec-WebSocket-Protocol", "bearer."+strings.Repeat("a", access.MaxToken+1)), status: 401, code: "UNAUTHENTICATED"},
		{name: "token elsewhere", method: "GET", path: "/v1/runs", headers: with("Authorization", "", "Sec-WebSocket-Protocol", "bearer.a"), status: 401, code: "UNAUTHENTICATED"},
		{name: "foreign origin", method: "GET", path: "/v1/ws", headers: with("Origin", "https://evil.example"), status: 403, code: "CROSS_ORIGIN"},
		{name: "other port", method: "GET", path: "/v1/ws", headers: with("Origin", "http://example.com:81"), status: 403, code: "CROSS_ORIGIN"},
		{name: "opaque origin", method: "GET", path: "/v1/ws", headers: with("Origin", "null"), status: 403, code: "CROSS_ORIGIN"},
		{name: "other site", method: "GET", path: "/v1/ws", headers: with("Sec-Fetch-Site", "same-site"), status: 403, code: "CROSS_ORIGIN"},
		{name: "namespace", method: "GET", path: "/v1/ws?namespace=a.b", headers: upgrade, status: 400, code: "INVALID_REQUEST", detail: "NAME"},
		{name: "two namespaces", method: "GET", path: "/v1/ws?namespace=a", headers: with("X-Interlock-Namespace", "b"), status: 400, code: "INVALID_REQUEST", detail: "CONFLICT"},
		{name: "too many states", method: "GET", path: "/v1/ws?state_id=" + strings.Repeat("a&state_id=", maxSubscriptions) + "b", headers: upgrade, status: 400, code: "INVALID_REQUEST", detail: "TOO_MANY"},
		{name: "version of nothing", method: "GET", path: "/v1/ws?after_version=1", headers: upgrade, status: 400, code: "INVALID_REQUEST", detail: "CONFLICT"},
		{name: "id of nothing", method: "GET", path: "/v1/ws?last_event_id=1", headers: upgrade, status: 400, code: "INVALID_REQUEST", detail: "CONFLICT"},
		{name: "no version", method: "GET", path: "/v1/ws?state_id=a&after_version=x", headers: upgrade, status: 400, code: "INVALID_REQUEST", detail: "RANGE"},
		{name: "no id", method: "GET", path: "/v1/ws?subject=a&last_event_id=x", headers: upgrade, status: 400, code: "INVALID_REQUEST", detail: "RANGE"},
	})
	for name, tt := range map[string]struct {
		headers []string
		status  int
		code    string
		header  string // that must be answered
	}{
		"no upgrade":    {nil, 426, "UPGRADE_REQUIRED", "Upgrade"},
		"other upgrade": {with("Upgrade", "h2c"), 426, "UPGRADE_REQUIRED", "Upgrade"},
		"old version":   {with("Sec-WebSocket-Version", "8"), 400, "INVALID_REQUEST", "Sec-WebSocket-Version"},
		"bad key":       {with("Sec-WebSocket-Key", "short"), 400, "INVALID_REQUEST", "Sec-WebSocket-Version"},
		"no connection": {upgrade, 500, "INTERNAL", "X-Request-Id"}, // the recorder's answers cannot be taken over
	} {
		rec := newHouse(t).do("GET", "/v1/ws", "", tt.headers...)
		if p := problem(t, rec); rec.Code != tt.status || p.Code != tt.code || rec.Header().Get(tt.header) == "" {
			t.Errorf("%s: %d %v %s", name, rec.Code, rec.Header(), rec.Body)
		}
	}
	h := newHouse(t)
	h.errs["ListRuns"] = fault.New(fault.Unauthenticated, "unknown token")
	if rec := h.do("GET", "/v1/ws", "", upgrade...); rec.Code != 401 {
		t.Errorf("unknown token: %d %s", rec.Code, rec.Body)
	}
}

// TestBrowserToken: a page of this origin connects with its token as a
// subprotocol, which is not repeated.
func TestBrowserToken(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	conn, resp, err := websocket.Dial(t.Context(), srv.URL+"/v1/ws", &websocket.DialOptions{
		HTTPHeader:   http.Header{"Origin": {srv.URL}, "Sec-Fetch-Site": {"same-origin"}},
		Subprotocols: []string{"interlock.v1", "bearer.ilk_a-B_9"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := resp.Header.Get("Sec-WebSocket-Protocol"); got != "interlock.v1" || conn.Subprotocol() != got {
		t.Errorf("subprotocol %q", got)
	}
	if got := h.meta.Get("authorization"); len(got) != 1 || got[0] != "Bearer ilk_a-B_9" {
		t.Errorf("authorization %q", got)
	}
	_ = conn.CloseNow()
}
