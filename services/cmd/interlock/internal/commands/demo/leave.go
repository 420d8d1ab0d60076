package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

// request is one that leaves data for the console.
type request struct {
	role   auth.Role
	method string
	path   string
	body   any
	// keep is the field of the answer that later requests name as $FIELD.
	keep string
}

var leaves = []request{
	{auth.Operator, http.MethodPost, "/v1/workflows", object{
		"id": "deploy", "initial": "build", "meta": object{"approval_mode": "ui"},
		"states": object{
			"build":   object{"allowed_tools": []string{"Read", "Bash"}, "allowed_commands": []string{"go build *", "go test *"}, "on": object{"BUILT": "gate"}},
			"gate":    object{"allowed_tools": []string{"Read"}, "on": object{"SHIP": object{"target": "ship", "requires_approval": true}, "BACK": "build"}},
			"ship":    object{"allowed_tools": []string{"mcp__release__publish"}, "on": object{"DONE": "shipped"}},
			"shipped": object{"type": "final"},
		},
	}, ""},
	{auth.Operator, http.MethodPost, "/v1/policies?name=house", object{
		"role": "agent", "allow": []object{{"capability": "tool:Read"}, {"capability": "bash"}, {"capability": "mcp:release:publish", "rate_limit": object{"max_calls": 3, "window_seconds": 3600}}},
		"ask": []object{{"capability": "tool:Write"}},
	}, ""},
	{auth.Operator, http.MethodPut, "/v1/policies/house/attachments/workflow/deploy", nil, ""},
	{auth.Agent, http.MethodPost, "/v1/sessions", object{"session_name": "release", "prompt": "Release 1.4"}, "session_id"},
	{auth.Operator, http.MethodPost, "/v1/schemas", object{"name": "release", "json_schema": object{
		"type": "object", "required": []string{"version"}, "properties": object{"version": object{"type": "string"}, "notes": object{"type": "array", "items": object{"type": "string"}}},
	}}, ""},
	{auth.Operator, http.MethodPost, "/v1/states", object{
		"schema_name": "release", "root_session_id": "$session_id", "initial_data": object{"version": "1.4", "notes": []string{}},
	}, "state_id"},
	{auth.Agent, http.MethodPost, "/v1/sessions", object{"session_name": "notes", "parent_session_name": "release", "prompt": "Write the notes of the release"}, ""},
	{auth.Operator, http.MethodPatch, "/v1/states/$state_id", object{
		"expected_version": 1, "operations": []object{{"op": "add", "path": "/notes/-", "value": "off by one is mended"}},
	}, ""},
	{auth.Operator, http.MethodPost, "/v1/components", object{
		"slug": "release-notes", "name": "Release notes", "description": "What changed, for readers", "persistence": "session",
		"schema_definition": object{"type": "object", "properties": object{"text": object{"type": "string"}}}, "initial_values": object{"text": ""},
	}, ""},
	{auth.Agent, http.MethodPost, "/v1/runs", object{"workflow": "deploy", "session_id": "release"}, "run_id"},
	{auth.Agent, http.MethodPost, "/v1/runs/$run_id/check", object{"tool": "Bash", "call_id": "demo-1", "input": object{"command": "go test ./..."}}, ""},
	{auth.Agent, http.MethodPost, "/v1/runs/$run_id/check", object{"tool": "Bash", "call_id": "demo-2", "input": object{"command": "go test ./... && git push --force"}}, ""},
	{auth.Agent, http.MethodPost, "/v1/runs/$run_id/transition", object{"event": "BUILT"}, ""},
	{auth.Agent, http.MethodPost, "/v1/runs/$run_id/transition", object{"event": "SHIP", "data": object{"version": "1.4", "to": "production"}}, ""},
}

// leave puts something on every screen of the console, an approval that waits among it.
func leave(ctx context.Context, server string, data datadir.Dir) error {
	kept := []string{}
	for _, r := range leaves {
		token, err := auth.FileToken(data.Local(), r.role)
		if err != nil {
			return err
		}
		answer, err := r.send(ctx, server, token, strings.NewReplacer(kept...))
		if err != nil {
			return fmt.Errorf("leave something to look at: %w", err)
		}
		if r.keep != "" {
			kept = append(kept, "$"+r.keep, fmt.Sprint(answer[r.keep]))
		}
	}
	return nil
}

func (r request) send(ctx context.Context, server, token string, names *strings.Replacer) (object, error) {
	text, err := json.Marshal(r.body)
	if err != nil {
		return nil, err
	}
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader([]byte(names.Replace(string(text))))
	}
	req, err := http.NewRequestWithContext(ctx, r.method, server+names.Replace(r.path), body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		return nil, fmt.Errorf("%s %s: %s: %s", r.method, r.path, resp.Status, answer)
	}
	var fields object
	if len(answer) > 0 {
		err = json.Unmarshal(answer, &fields)
	}
	return fields, err
}
