package telemetry_test

import (
	"encoding/json"
	"log/slog"
	"maps"
	"strings"
	"testing"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/telemetry"
)

// Lines have the ids of their request, and no other part of it.
func TestIDsInLogs(t *testing.T) {
	t.Parallel()
	request := &policyv1.CheckToolCallRequest{
		RunId: "run_1", SessionId: "a session", CallId: strings.Repeat("c", 300), Tool: "PAYLOAD", Input: []byte("PAYLOAD"), Branch: "PAYLOAD",
	}
	for name, c := range map[string]struct {
		request *policyv1.CheckToolCallRequest
		attrs   []any
		want    map[string]string
	}{
		"ids":                {request, nil, map[string]string{"run_id": "run_1", "session_id": "[not an id]", "call_id": "[too long]"}},
		"named by the line":  {request, []any{"run_id", "run_2"}, map[string]string{"run_id": "run_2", "session_id": "[not an id]", "call_id": "[too long]"}},
		"none":               {&policyv1.CheckToolCallRequest{}, nil, map[string]string{}},
		"nothing to be read": {nil, nil, map[string]string{}},
	} {
		var out strings.Builder
		telemetry.NewLogger(&out, slog.LevelInfo).InfoContext(telemetry.About(t.Context(), c.request), "m", c.attrs...)
		var got map[string]string
		if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"time", "level", "msg"} {
			delete(got, key)
		}
		if !maps.Equal(got, c.want) || strings.Contains(out.String(), "PAYLOAD") || strings.Count(out.String(), "run_id") > 1 {
			t.Errorf("%s: %s", name, out.String())
		}
	}
}
