package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
)

// S15.11: over REST, a large state comes with a warning, and a session that has ended is
// deleted with those below it, by operators alone.
func largeStatesAndDeletedSessions(t *testing.T, w *world) {
	operator, agent := w.tokens[auth.Operator], w.tokens[auth.Agent]
	send := func(method, path, token, body string, status int) reply {
		t.Helper()
		got := w.send(t, method, path, token, body)
		if got.status != status {
			t.Fatalf("%s %s answers %d, not %d: %.300s", method, path, got.status, status, got.body)
		}
		return got
	}
	send(http.MethodPost, "/v1/schemas", operator, `{"name": "large", "json_schema": {"type": "object"}}`, http.StatusCreated)
	create := func(size int) string {
		t.Helper()
		made := send(http.MethodPost, "/v1/states", operator, `{"schema_name": "large", "initial_data": {"text": "`+strings.Repeat("x", size)+`"}}`, http.StatusCreated)
		id, _ := made.field("state_id").(string)
		return id
	}
	for size, warns := range map[int]bool{1000: false, 900 << 10: true} {
		got := send(http.MethodGet, "/v1/states/"+create(size), operator, "", http.StatusOK)
		if header := got.header.Get("X-Interlock-Warning"); (header != "") != warns || (got.field("warning") != nil) != warns {
			t.Errorf("%d bytes: the header is %q, the field %v", size, header, got.field("warning"))
		}
	}

	send(http.MethodPost, "/v1/sessions", operator, `{"session_name": "top"}`, http.StatusCreated)
	send(http.MethodPost, "/v1/sessions", operator, `{"session_name": "below", "parent_session_name": "top"}`, http.StatusCreated)
	if got := w.send(t, http.MethodDelete, "/v1/sessions/top?cascade=true", operator, ""); got.status < 400 {
		t.Errorf("a session that runs is deleted: %v", got)
	}
	for _, name := range []string{"below", "top"} {
		send(http.MethodPost, "/v1/sessions/"+name+"/stop", operator, `{"end": true}`, http.StatusOK)
	}
	if got := w.send(t, http.MethodDelete, "/v1/sessions/top?cascade=true", agent, ""); got.status != http.StatusForbidden {
		t.Errorf("an agent deletes a session: %v", got)
	}
	if got := w.send(t, http.MethodDelete, "/v1/sessions/top", operator, ""); got.status < 400 {
		t.Errorf("a session with others below it is deleted alone: %v", got)
	}
	send(http.MethodDelete, "/v1/sessions/top?cascade=true", operator, "", http.StatusNoContent)
	for _, name := range []string{"below", "top"} {
		send(http.MethodGet, "/v1/sessions/"+name, operator, "", http.StatusNotFound)
	}
}
