package rest

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// changed is a change as the state-store tells it.
func changed(version int64, kind, session string) *statev1.WatchStateResponse {
	return &statev1.WatchStateResponse{StateId: "wfstate_01", Change: &statev1.StateVersion{
		Version: version, Time: noon, Type: statev1.StateChangeType(statev1.StateChangeType_value["STATE_CHANGE_TYPE_"+strings.ToUpper(kind)]), SessionName: session, Actor: "agent",
	}}
}

const jsonChange = `{"event_type":"workflow_state_updated","state_id":"wfstate_01","version":8,"updated_by_session":"child-1","timestamp":"2026-03-04T12:00:00.005Z"}`

// deletion hides the only member of a deletion that is not known before.
var deletionTime = regexp.MustCompile(`"timestamp":"[^"]+"`)

// TestStateEvents: the changes of a state, in the shape that clients know, until
// it is deleted.
func TestStateEvents(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	resp := get(t, srv.URL+"/v1/states/wfstate_01/events", "X-Interlock-Session", "child-1")
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%d %v", resp.StatusCode, resp.Header)
	}
	h.changes <- changed(8, "updated", "child-1")
	h.changes <- changed(9, "migrated", "")
	byID := changed(10, "created", "")
	byID.Change.SessionId = "ses_02"
	h.changes <- byID
	h.changes <- &statev1.WatchStateResponse{StateId: "wfstate_01", Deleted: true}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	got := deletionTime.ReplaceAllString(string(text), `"timestamp":"T"`)
	want := ": connected\nretry: 2000\n\nid: 8\ndata: " + deletionTime.ReplaceAllString(jsonChange, `"timestamp":"T"`) + "\n\n" +
		`id: 9` + "\n" + `data: {"event_type":"workflow_state_updated","state_id":"wfstate_01","version":9,"updated_by_session":null,"timestamp":"T"}` + "\n\n" +
		`id: 10` + "\n" + `data: {"event_type":"workflow_state_created","state_id":"wfstate_01","version":10,"updated_by_session":"ses_02","timestamp":"T"}` + "\n\n" +
		`data: {"event_type":"workflow_state_deleted","state_id":"wfstate_01","version":10,"updated_by_session":null,"timestamp":"T"}` + "\n\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// Anyone who comes without a version misses nothing after the state that was seen.
	if want := (&statev1.WatchStateRequest{StateId: "wfstate_01", Session: "child-1", AfterVersion: 7}); !proto.Equal(h.got["WatchState"], want) {
		t.Errorf("watched %v", h.got["WatchState"])
	}
	if want := (&statev1.GetStateRequest{StateId: "wfstate_01", Session: "child-1", Pointers: []string{"/-"}}); !proto.Equal(h.got["GetState"], want) {
		t.Errorf("asked %v", h.got["GetState"])
	}
}

// TestStateEventsResume: every way to say which version was seen last.
func TestStateEventsResume(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		path    string
		headers []string
		after   int64
	}{
		"from the beginning":      {"/v1/states/s/events?after_version=0", nil, 0},
		"after a version":         {"/v1/states/s/events?after_version=5", nil, 5},
		"come back":               {"/v1/states/s/events?after_version=5", []string{"Last-Event-ID", "6"}, 6},
		"among all events":        {"/v1/events?state_id=s", nil, 7},
		"among all, after":        {"/v1/events?state_id=s&after_version=5", nil, 5},
		"among all, come back":    {"/v1/events?state_id=s", []string{"Last-Event-ID", "6"}, 6},
		"among all, by the query": {"/v1/events?state_id=s&last_event_id=4", nil, 4},
	} {
		h := newHouse(t)
		close(h.changes)
		rec := h.do("GET", tt.path, "", tt.headers...)
		if got := rec.Body.String(); rec.Code != 200 || got != ": connected\nretry: 2000\n\n" {
			t.Errorf("%s: %d %q", name, rec.Code, got)
		}
		if want := (&statev1.WatchStateRequest{StateId: "s", AfterVersion: tt.after}); !proto.Equal(h.got["WatchState"], want) {
			t.Errorf("%s: watched %v", name, h.got["WatchState"])
		}
	}
}

func TestStateEventsRefused(t *testing.T) {
	t.Parallel()
	const path = "/v1/states/s/events"
	checkFailures(t, []failureCase{
		{name: "no such state", method: "GET", path: path, rpc: "GetState", err: fault.New(fault.NotFound, "no"), status: 404, code: "NOT_FOUND"},
		{name: "not one's own tree", method: "GET", path: path, rpc: "GetState", err: fault.New(fault.PermissionDenied, "no"), status: 403, code: "PERMISSION_DENIED"},
		{name: "no watch", method: "GET", path: path, rpc: "WatchState", err: fault.New(fault.LimitReached, "too many"), status: 429, code: "LIMIT_REACHED"},
		{name: "among all events", method: "GET", path: "/v1/events?state_id=s", rpc: "GetState", err: fault.New(fault.NotFound, "no"), status: 404, code: "NOT_FOUND"},
	})
	checkRefusals(t, []refusalCase{
		{name: "no token", method: "GET", path: path, headers: []string{"Authorization", ""}, status: 401, code: "UNAUTHENTICATED"},
		{name: "negative version", method: "GET", path: path + "?after_version=-1", status: 400, code: "INVALID_REQUEST", detail: "RANGE"},
		{name: "bad id", method: "GET", path: path, headers: []string{"Last-Event-ID", "x"}, status: 400, code: "INVALID_REQUEST", detail: "INVALID"},
		{name: "endless id", method: "GET", path: path, headers: []string{"Last-Event-ID", "9223372036854775808"}, status: 400, code: "INVALID_REQUEST", detail: "INVALID"},
		{name: "subject of a state", method: "GET", path: "/v1/events?state_id=s&subject=run.%3E", status: 400, code: "INVALID_REQUEST", detail: "CONFLICT"},
		{name: "version of a subject", method: "GET", path: "/v1/events?after_version=1", status: 400, code: "INVALID_REQUEST", detail: "CONFLICT"},
	})
}

// TestStateEventsOfTheFuture: anyone who has seen a version that does not exist yet is
// mistaken, and waits for nothing.
func TestStateEventsOfTheFuture(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		path    string
		headers []string
	}{
		{path: "/v1/states/s/events?after_version=8"},
		{path: "/v1/events?state_id=s&after_version=9223372036854775807"},
		{path: "/v1/states/s/events", headers: []string{"Last-Event-ID", "8"}},
	} {
		h := newHouse(t)
		rec := h.do("GET", tt.path, "", tt.headers...)
		p := problem(t, rec)
		if rec.Code != 400 || p.Code != "INVALID_REQUEST" || len(p.Errors) != 1 || p.Errors[0].Parameter != "after_version" {
			t.Errorf("%s: %d %s", tt.path, rec.Code, rec.Body)
		}
		if h.got["WatchState"] != nil {
			t.Errorf("%s: watched %v", tt.path, h.got["WatchState"])
		}
	}
}

// TestStateEventsIdle: comments keep an idle stream open, and a state that may no
// longer be read ends it.
func TestStateEventsIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		c := &client{header: http.Header{}}
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/states/s/events", http.NoBody)
		req.Header.Set("Authorization", "Bearer secret")
		done := make(chan struct{})
		go func() { defer close(done); h.ServeHTTP(c, req) }()
		time.Sleep(16 * time.Second) // of the bubble's clock
		synctest.Wait()
		if got := c.text(); got != ": connected\nretry: 2000\n\n: keep-alive\n\n" {
			t.Errorf("got %q", got)
		}
		h.mu.Lock()
		h.errs["GetState"] = fault.New(fault.PermissionDenied, "grant taken back")
		h.mu.Unlock()
		time.Sleep(45 * time.Second)
		synctest.Wait()
		select {
		case <-done:
		default:
			t.Error("the stream outlives the right to read")
		}
	})
}

// TestStateEventsDrain: Shutdown ends streams instead of waiting for them, and
// their watch with them.
func TestStateEventsDrain(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	srv := httptest.NewUnstartedServer(nil)
	srv.Config = Server(h)
	srv.Start()
	t.Cleanup(srv.Close)
	resp := get(t, srv.URL+"/v1/states/s/events")
	read(t, bufio.NewReader(resp.Body), ": connected")
	if err := srv.Config.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
}
