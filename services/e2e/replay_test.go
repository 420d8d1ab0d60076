package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
)

// Over REST, on any replica, recorded runs are driven through a candidate, for people who may read
// decisions; and no result is stored.
func replays(t *testing.T, w *world) {
	const definition = `{"id": "replayed", "initial": "look", "states": {
		"look": {"allowed_tools": ["Read"], "on": {"FOUND": "fix"}}, "fix": {"allowed_tools": ["Edit"], "on": {"DONE": "done"}}, "done": {"type": "final"}}}`
	w.as(t, auth.Operator).register(t, definition)
	agent := w.as(t, auth.Agent)
	for range 2 {
		id := agent.start(t, "replayed").GetRunId()
		agent.check(t, id, "Read")
		agent.check(t, id, "Edit")
		agent.fire(t, id, "FOUND", "")
	}
	replay := func(role auth.Role, candidate, more string) reply {
		return w.send(t, http.MethodPost, "/v1/workflows/replayed/replay", w.tokens[role], `{"candidate":`+candidate+more+`}`)
	}
	if got := replay(auth.Agent, definition, ""); got.status != http.StatusForbidden {
		t.Errorf("an agent reads what was decided: %v", got)
	}
	for _, role := range []auth.Role{auth.Operator, auth.Approver, auth.Observer} {
		if got := replay(role, definition, ""); got.status != http.StatusOK || !strings.Contains(got.body, `{"runs":2,"same":8,"loosened":0,"tightened":0,"other":0,`) {
			t.Errorf("by itself, for %s: %v", role, got)
		}
	}
	got := replay(auth.Observer, strings.Replace(definition, `"Read"`, `"Read", "Edit"`, 1), "")
	if !strings.Contains(got.body, `"runs":2,"same":4,"loosened":2,`) || !strings.Contains(got.body, `"beyond":2,"open":{},"differences":[{"effect":"loosened","cause":"state \"look\"",`) {
		t.Errorf("by a looser one: %v", got)
	}
	if got := replay(auth.Observer, strings.Replace(definition, `"FOUND"`, `"SEEN"`, 1), `,"limit":1`); !strings.Contains(got.body, `"runs":1,`) ||
		!strings.Contains(got.body, `"state":"look","event":"FOUND","to":"fix"`) || !strings.Contains(got.body, `"stopped":"LIMIT"`) {
		t.Errorf("by one without an event: %v", got)
	}
	if got := w.send(t, http.MethodGet, "/v1/workflows/replayed", w.tokens[auth.Observer], ""); !strings.Contains(got.body, `"version":1,`) {
		t.Errorf("a candidate was stored: %v", got)
	}
}
