package rest

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/access"
)

// log is an event source of a fixed past and a live tail.
type log struct {
	mu      sync.Mutex
	past    []Event
	live    chan Event
	filter  string
	from    uint64
	ended   chan struct{} // closed when the subscription's context ends
	failure error
}

func newLog(past ...Event) *log {
	return &log{past: past, live: make(chan Event), ended: make(chan struct{})}
}

func (l *log) Subscribe(ctx context.Context, filter string, from uint64) (<-chan Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.filter, l.from = filter, from
	if l.failure != nil {
		return nil, l.failure
	}
	out := make(chan Event)
	go func() {
		defer close(l.ended)
		defer close(out)
		for _, ev := range l.past {
			if from == 0 || ev.Seq < from {
				continue
			}
			select {
			case out <- ev:
			case <-ctx.Done():
				return
			}
		}
		for {
			select {
			case ev, open := <-l.live:
				if !open {
					return
				}
				select {
				case out <- ev:
				case <-ctx.Done():
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}

func event(seq uint64, data string) Event {
	return Event{Seq: seq, Subject: "interlock.default.run.r.started", Data: []byte(data)}
}

// read takes lines of an event stream up to and with the given one.
func read(t *testing.T, r *bufio.Reader, until string) string {
	t.Helper()
	var got strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("stream ended before %q: %v: %q", until, err, got.String())
		}
		got.WriteString(line)
		if strings.TrimSuffix(line, "\n") == until {
			return got.String()
		}
	}
}

func get(t *testing.T, url string, headers ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer secret")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// TestEventsResume: a client that comes back with the last id gets the rest,
// then what happens live.
func TestEventsResume(t *testing.T) {
	t.Parallel()
	source := newLog(event(1, `{"n":1}`), event(2, "{\"n\":\n2}"), event(3, `{"n":3}`))
	h := newHouse(t, func(c *Config) { c.Events = source })
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	resp := get(t, srv.URL+"/v1/events?subject=run.>", "Last-Event-ID", "1")
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" || resp.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %v", resp.StatusCode, resp.Header)
	}
	body := bufio.NewReader(resp.Body)
	source.live <- event(4, "{\r\n}")
	got := read(t, body, "id: 4") + read(t, body, "")
	want := ": connected\nretry: 2000\n\nid: 2\ndata: {\"n\":\ndata: 2}\n\nid: 3\ndata: {\"n\":3}\n\nid: 4\ndata: {\ndata: }\n\n"
	if got != want {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
	if source.filter != "interlock.default.run.>" || source.from != 2 {
		t.Errorf("subscribed to %s from %d", source.filter, source.from)
	}
	// The caller was checked, for the namespace that was subscribed to.
	if got := h.meta.Get("interlock-namespace"); len(got) != 1 || got[0] != "default" {
		t.Errorf("checked for the namespace %q", got)
	}
	_ = resp.Body.Close()
	<-source.ended // the subscription goes with the client
}

// TestEventsEndWithSource: when the source gives a slow reader up, the answer
// ends properly and the client comes back.
func TestEventsEndWithSource(t *testing.T) {
	t.Parallel()
	source := newLog()
	srv := httptest.NewServer(newHouse(t, func(c *Config) { c.Events = source }))
	t.Cleanup(srv.Close)
	resp := get(t, srv.URL+"/v1/events")
	close(source.live)
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Errorf("cut off: %v", err)
	}
}

// TestEventsDrain: Shutdown ends streams instead of waiting for them.
func TestEventsDrain(t *testing.T) {
	t.Parallel()
	source := newLog()
	srv := httptest.NewUnstartedServer(nil)
	srv.Config = Server(newHouse(t, func(c *Config) { c.Events = source }))
	srv.Start()
	t.Cleanup(srv.Close)
	resp := get(t, srv.URL+"/v1/events")
	if err := srv.Config.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Errorf("cut off: %v", err)
	}
	<-source.ended
}

func TestEventsRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, path string
		headers    []string
		sourceless bool
		change     func(*house, *log)
		status     int
		code       string
	}{
		{name: "no token", path: "/v1/events", headers: []string{"Authorization", ""}, status: 401, code: "UNAUTHENTICATED"},
		{
			name: "token that may not read", path: "/v1/events", status: 403, code: "PERMISSION_DENIED",
			change: func(h *house, _ *log) { h.errs["ListRuns"] = fault.New(fault.PermissionDenied, "no") },
		},
		{
			name: "nobody to ask", path: "/v1/events", status: 503, code: "UNAVAILABLE",
			change: func(h *house, _ *log) { h.errs["ListRuns"] = fault.New(fault.Unavailable, "no") },
		},
		{
			name: "source down", path: "/v1/events", status: 503, code: "UNAVAILABLE",
			change: func(_ *house, l *log) { l.failure = fault.New(fault.Unavailable, "no") },
		},
		{name: "no source", path: "/v1/events", status: 503, code: "UNAVAILABLE", sourceless: true},
		{name: "other namespace", path: "/v1/events?subject=interlock.other.%3E", status: 403, code: "PERMISSION_DENIED"},
		{name: "all namespaces", path: "/v1/events?subject=interlock.*.run.%3E", status: 403, code: "PERMISSION_DENIED"},
		{name: "the root", path: "/v1/events?subject=interlock.%3E", status: 403, code: "PERMISSION_DENIED"},
		{name: "> in the middle", path: "/v1/events?subject=%3E.run", status: 400, code: "INVALID_REQUEST"},
		{name: "empty token", path: "/v1/events?subject=run..x", status: 400, code: "INVALID_REQUEST"},
		{name: "blank", path: "/v1/events?subject=run%20x", status: 400, code: "INVALID_REQUEST"},
		{name: "endless", path: "/v1/events?subject=" + strings.Repeat("a", 513), status: 400, code: "INVALID_REQUEST"},
		{name: "bad id", path: "/v1/events?last_event_id=x", status: 400, code: "INVALID_REQUEST"},
		{name: "last id", path: "/v1/events", headers: []string{"Last-Event-ID", "18446744073709551615"}, status: 400, code: "INVALID_REQUEST"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			source := newLog()
			h := newHouse(t, func(c *Config) {
				if !tt.sourceless {
					c.Events = source
				}
			})
			if tt.change != nil {
				tt.change(h, source)
			}
			rec := h.do("GET", tt.path, "", tt.headers...)
			if p := problem(t, rec); rec.Code != tt.status || p.Code != tt.code {
				t.Errorf("got %d %s, want %d %s: %s", rec.Code, p.Code, tt.status, tt.code, rec.Body)
			}
		})
	}
}

func TestSubjectFilter(t *testing.T) {
	t.Parallel()
	for subject, want := range map[string]string{
		"":                                "interlock.ns.>",
		">":                               "interlock.ns.>",
		"run.>":                           "interlock.ns.run.>",
		"run.*.transitioned":              "interlock.ns.run.*.transitioned",
		"interlock.ns.run.run_01.started": "interlock.ns.run.run_01.started",
		"workflow.deploy%20v1.registered": "interlock.ns.workflow.deploy%20v1.registered",
	} {
		if got, err := subjectFilter("ns", subject); err != nil || got != want {
			t.Errorf("%q: %q %v, want %q", subject, got, err, want)
		}
	}
}

// client is a response writer inside a synctest bubble, where a real connection
// cannot be.
type client struct {
	header http.Header
	mu     sync.Mutex
	wrote  []string
	fails  error
}

// text is all that was written so far.
func (c *client) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.wrote, "")
}

func (c *client) Header() http.Header { return c.header }
func (c *client) WriteHeader(int)     {}
func (c *client) Flush()              {}
func (c *client) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fails != nil {
		return 0, c.fails
	}
	c.wrote = append(c.wrote, string(p))
	return len(p), nil
}

// TestEventsIdle: comments keep an idle stream open, and a token that is
// withdrawn ends it.
func TestEventsIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, func(c *Config) { c.Events = newLog() })
		c := &client{header: http.Header{}}
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/events", http.NoBody)
		req.Header.Set("Authorization", "Bearer secret")
		done := make(chan struct{})
		go func() { defer close(done); h.ServeHTTP(c, req) }()
		time.Sleep(31 * time.Second) // of the bubble's clock
		synctest.Wait()
		if got := c.text(); got != ": connected\nretry: 2000\n\n: keep-alive\n\n: keep-alive\n\n" {
			t.Errorf("got %q", got)
		}
		h.mu.Lock()
		h.errs["ListRuns"] = fault.New(fault.Unauthenticated, "withdrawn")
		h.mu.Unlock()
		time.Sleep(30 * time.Second)
		synctest.Wait()
		select {
		case <-done:
		default:
			t.Error("the stream outlives its token")
		}
	})
}

// TestEventsSlowClient: a client that does not take an event is dropped, and its
// subscription with it.
func TestEventsSlowClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := newLog()
		h := newHouse(t, func(c *Config) { c.Events = source })
		c := &client{header: http.Header{}}
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/events", http.NoBody)
		req.Header.Set("Authorization", "Bearer secret")
		go h.ServeHTTP(c, req)
		source.live <- event(1, "{}")
		synctest.Wait()
		c.mu.Lock()
		c.fails = errors.New("i/o timeout")
		c.mu.Unlock()
		source.live <- event(2, "{}")
		<-source.ended
		if got := c.text(); !strings.HasSuffix(got, "id: 1\ndata: {}\n\n") {
			t.Errorf("wrote %q", got)
		}
	})
}

// TestEventsWriteDeadline: each write has its own deadline, so a connection that
// nobody reads ends.
func TestEventsWriteDeadline(t *testing.T) {
	t.Parallel()
	var deadlines []time.Time
	w := &deadlineWriter{client: &client{header: http.Header{}}, set: func(d time.Time) { deadlines = append(deadlines, d) }}
	s := &stream{w: w, control: http.NewResponseController(w)}
	before := time.Now()
	if !s.event(event(1, "{}")) || len(deadlines) != 1 || deadlines[0].Before(before) || deadlines[0].After(time.Now().Add(streamWriteTimeout)) {
		t.Errorf("deadlines %v", deadlines)
	}
}

type deadlineWriter struct {
	*client
	set func(time.Time)
}

func (d *deadlineWriter) SetWriteDeadline(t time.Time) error { d.set(t); return nil }

// TestEventsHead: HEAD does not wait for events.
func TestEventsHead(t *testing.T) {
	t.Parallel()
	source := newLog()
	h := newHouse(t, func(c *Config) { c.Events = source })
	req := httptest.NewRequest(http.MethodHead, "/v1/events", http.NoBody)
	req.Header.Set("Authorization", "Bearer secret")
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, req)
	<-source.ended
	if rec.Code != 200 || rec.Header().Get("Content-Type") != "text/event-stream" {
		t.Errorf("%d %v", rec.Code, rec.Header())
	}
}

// TestServerLimits: a client that never finishes its header or body is let go,
// and a stream is not cut by a write timeout.
func TestServerLimits(t *testing.T) {
	t.Parallel()
	srv := Server(http.NotFoundHandler())
	for name, ok := range map[string]bool{
		"ReadHeaderTimeout": srv.ReadHeaderTimeout > 0 && srv.ReadHeaderTimeout <= 10*time.Second,
		"ReadTimeout":       srv.ReadTimeout > 0 && srv.ReadTimeout <= time.Minute,
		"IdleTimeout":       srv.IdleTimeout > 0,
		"MaxHeaderBytes":    srv.MaxHeaderBytes > maxTokenHeader && srv.MaxHeaderBytes <= 1<<16,
		"WriteTimeout":      srv.WriteTimeout == 0,
	} {
		if !ok {
			t.Errorf("%s is wrong: %+v", name, srv)
		}
	}
	if err := srv.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := srv.Shutdown(t.Context()); err != nil { // twice is harmless
		t.Error(err)
	}
}

const maxTokenHeader = len("Authorization: Bearer ") + access.MaxToken

// TestSlowBody: a body that stops arriving is a 408.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	srv := httptest.NewUnstartedServer(nil)
	srv.Config = Server(newHouse(t))
	srv.Config.ReadTimeout = 50 * time.Millisecond
	srv.Start()
	t.Cleanup(srv.Close)
	body, stalled := io.Pipe()
	t.Cleanup(func() { _ = stalled.Close() })
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/v1/runs", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer secret")
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusRequestTimeout {
		t.Errorf("status %s", resp.Status)
	}
}

// TestManyStreams: subscriptions do not leak.
func TestManyStreams(t *testing.T) {
	t.Parallel()
	for i := range 20 {
		source := newLog(event(1, strconv.Itoa(i)))
		h := newHouse(t, func(c *Config) { c.Events = source })
		ctx, cancel := context.WithCancel(t.Context())
		req := httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/events?last_event_id=0", http.NoBody)
		req.Header.Set("Authorization", "Bearer secret")
		c := &client{header: http.Header{}}
		done := make(chan struct{})
		go func() { defer close(done); h.ServeHTTP(c, req) }()
		source.live <- event(2, "{}")
		cancel()
		<-done
		<-source.ended
		if got := c.text(); !strings.Contains(got, "id: 1\ndata: "+strconv.Itoa(i)+"\n\n") {
			t.Errorf("got %q", got)
		}
	}
}

var _ EventSource = (*log)(nil)
