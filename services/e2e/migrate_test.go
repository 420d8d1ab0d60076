package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
)

// S17.2, S17.4: over REST, on any replica, a run moves to another version once its new permissions
// are accepted, keeps its observations, and is judged by the other version from then on.
func migrates(t *testing.T, w *world) {
	const definition = `{"id": "moves", "initial": "work", "states": {
		"work": {"allowed_tools": ["Read", "Bash"], "allowed_commands": ["go test"], "on": {"SHIP": {"target": "ship", "guard": "tested"}}},
		"ship": {"allowed_tools": ["Read"], "on": {"DONE": "done"}}, "done": {"type": "final"}},
		"evidence": {"green": {"tool": "Bash", "command": "go test"}}, "guards": {"tested": {"evidence": "green"}}}`
	c := w.as(t, auth.Operator)
	agent, operator := w.tokens[auth.Agent], w.tokens[auth.Operator]
	c.register(t, definition)
	id := w.as(t, auth.Agent).start(t, "moves").GetRunId()
	c.register(t, strings.Replace(definition, `"allowed_tools": ["Read"], "on": {"DONE"`, `"allowed_tools": ["Read", "Edit"], "on": {"DONE"`, 1))
	edit := func(want string) {
		t.Helper()
		got := w.send(t, http.MethodPost, "/v1/runs/"+id+"/check", agent, `{"tool":"Edit","input":{"file_path":"a.go","old_string":"a","new_string":"b"}}`)
		if got.field("decision") != want {
			t.Errorf("an edit: %v, not %s", got, want)
		}
	}
	plan := w.send(t, http.MethodPost, "/v1/workflows/moves/migration-plans", agent, `{"from_version":1}`)
	digest, _ := plan.field("digest").(string)
	if plan.field("verdict") != "LOOSENED" || !strings.Contains(plan.body, `"what":"Edit"`) {
		t.Fatalf("the plan is %v", plan)
	}
	migrate := "/v1/runs/" + id + "/migrate"
	if got := w.send(t, http.MethodPost, migrate, agent, `{"to_version":2,"accept":"`+digest+`"}`); got.status != http.StatusForbidden {
		t.Errorf("an agent moves its run: %v", got)
	}
	if got := w.send(t, http.MethodPost, migrate, operator, `{"to_version":2}`); got.status != http.StatusConflict || !strings.Contains(got.body, digest) {
		t.Errorf("what is newly allowed was not refused: %v", got)
	}
	edit("DENY")
	got := w.send(t, http.MethodPost, migrate, operator, `{"to_version":2,"accept":"`+digest+`"}`)
	if got.status != http.StatusOK || !strings.Contains(got.body, `"changed":true`) || !strings.Contains(got.body, `"workflow_version":2`) {
		t.Fatalf("the move is %v", got)
	}
	if got := w.send(t, http.MethodGet, "/v1/runs/"+id+"/versions/1", operator, ""); !strings.Contains(got.body, `"allowed_commands":["go test"]`) {
		t.Errorf("the run as it was: %v", got)
	}
	if got := w.send(t, http.MethodGet, "/v1/runs/"+id+"/history", operator, ""); !strings.Contains(got.body, `"type":"migrated"`) {
		t.Errorf("its history: %v", got)
	}
	got = w.send(t, http.MethodPost, "/v1/runs/"+id+"/transition", agent, `{"event":"SHIP"}`)
	if !strings.Contains(got.body, "EVIDENCE_MISSING") && !strings.Contains(got.body, "GUARD_FAILED") {
		t.Errorf("it ships without a test: %v", got)
	}
	// Where the deployment has no key, a receipt says how to have one.
	if got := w.send(t, http.MethodGet, "/v1/runs/"+id+"/receipt", operator, ""); got.status != http.StatusOK && !strings.Contains(got.body, "--receipt-key") {
		t.Errorf("its receipt: %v", got)
	}
}
