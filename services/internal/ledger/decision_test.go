package ledger_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// The hand-written code covers every field of the record, and is read again.
func TestDecisionIsComplete(t *testing.T) {
	t.Parallel()
	full := ledger.Decision{
		Time: time.Date(2026, 1, 2, 3, 4, 5, 678_000, time.UTC), Principal: "a\"b", SessionID: "s", RunID: "run_1", RunVersion: 7,
		Workflow: "w", WorkflowVersion: 2, State: "work\n", Branch: "ci/lint", CallID: "c", Tool: "mcp__x__y", Capability: "mcp:x:y",
		Decision: toolcall.Deny, Code: toolcall.CodePolicyDenied, Message: "<no>", Rule: "/deny/0", Policy: "p", PolicyVersion: 3,
		InputDigest: "00ff", Input: json.RawMessage(`{"a":[1,{"b":null}]}`), Facts: json.RawMessage(`{"/a/0":1}`), EstimatedCostUSD: "0.02", ApprovalID: "apr_1", LeaseID: "lse_1",
		Shadows: []ledger.Shadow{
			{Policy: "p", PolicyVersion: 4, Workflow: "w", WorkflowDigest: "ab", Decision: toolcall.Ask, Code: toolcall.CodeApprovalRequired, Message: "ä"},
			{Workflow: "w", Decision: toolcall.Allow},
		},
		Limits: []ledger.Limit{
			{Policy: "p", Rule: "/allow/0", Measure: "calls", Scope: "principal", Subject: "ä", Used: 9, Max: 10, Until: time.Date(2026, 1, 2, 4, 0, 0, 0, time.UTC)},
			{Measure: "files", Scope: "entry", Used: 5, Max: 5},
		},
		Kept: ledger.Kept{
			Entry: 9, Counted: true, MaxIterations: 1 << 60, Iterations: 7, Paths: []string{"a\"b", "c"}, EditLines: 3, MaxFiles: 4,
			Files: 5, ContextBudget: 6, ContextSpent: 8, Spends: []ledger.Spend{{
				Measure: "money", Policy: "p", Scope: "principal", Subject: "a", Pattern: "mcp:*", Period: "daily",
				Start: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC), Need: 20_000, Max: 5_000_000,
			}, {Measure: "calls", Policy: "p", Scope: "policy", WindowSeconds: 3600, Need: 1, Max: 50}},
			Gives: []string{"tests"}, Edits: 2, Voids: true,
			Profile: json.RawMessage(`{"version":1}`), Line: "ff", Allowed: time.Date(2026, 1, 2, 3, 4, 5, 678_000, time.UTC), Reads: true,
		},
		JailLevel: 3, JailDigest: "sha256:00", Exceptions: []string{"exc_1"},
		Grant: "bg_1", MadeAt: time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC),
		Identity: &ledger.Identity{
			Role: "agent", Token: "session", Via: "mcp", Person: "per_1", Agent: "fixer", AgentVersion: 4, Root: "lead", Lineage: []string{"lead", "kid\n"},
			Human:      &ledger.Human{Name: "ann", Issuer: "https://id", Source: "issuer", GroupsKnown: true, Expires: time.Date(2026, 1, 2, 4, 0, 0, 0, time.UTC)},
			Attributes: map[string]string{"team": "a\"b", "cost": "7"},
		},
	}
	elsewhere := []string{"Partition", "Sequence", "Hash", "Raw", "At"} // not part of the text
	for _, of := range []reflect.Value{reflect.ValueOf(full), reflect.ValueOf(full.Shadows[0]), reflect.ValueOf(full.Kept), reflect.ValueOf(*full.Identity)} {
		for i := range of.NumField() {
			if name := of.Type().Field(i).Name; of.Field(i).IsZero() && !slices.Contains(elsewhere, name) {
				t.Errorf("%s.%s is not tested", of.Type(), name)
			}
		}
	}
	for _, record := range []ledger.Decision{full, {Decision: toolcall.Allow}} {
		var got ledger.Decision
		if err := json.Unmarshal(record.Encode(), &got); err != nil {
			t.Fatalf("%s: %v", record.Encode(), err)
		}
		if !reflect.DeepEqual(got, record) {
			t.Errorf("got %+v, want %+v", got, record)
		}
	}
	// Records stay in the log forever: their text is a format.
	const format = `{"time":"2026-01-02T03:04:05.000678Z","principal":"a\"b","session_id":"s","run_id":"run_1","run_version":7,"workflow":"w",` +
		`"workflow_version":2,"state":"work\n","branch":"ci/lint","call_id":"c","tool":"mcp__x__y","capability":"mcp:x:y","decision":"DENY",` +
		`"code":"POLICY_DENIED","message":"<no>","rule":"/deny/0","policy":"p","policy_version":3,"input_digest":"00ff",` +
		`"input":{"a":[1,{"b":null}]},"facts":{"/a/0":1},"exceptions":["exc_1"],"estimated_cost_usd":"0.02","approval_id":"apr_1","lease_id":"lse_1","shadows":[{"policy":"p","policy_version":4,"workflow":"w",` +
		`"workflow_digest":"ab","decision":"ASK","code":"APPROVAL_REQUIRED","message":"ä"},{"workflow":"w","decision":"ALLOW"}],` +
		`"limits":[{"policy":"p","rule":"/allow/0","measure":"calls","scope":"principal","subject":"ä","used":9,"max":10,"until":"2026-01-02T04:00:00Z"},` +
		`{"measure":"files","scope":"entry","used":5,"max":5}],"jail_level":3,"jail_digest":"sha256:00",` +
		`"identity":{"role":"agent","token":"session","via":"mcp","person":"per_1","human":{"name":"ann","issuer":"https://id","source":"issuer","groups_known":true,` +
		`"expires":"2026-01-02T04:00:00Z"},"agent":"fixer","agent_version":4,"root":"lead","lineage":["lead","kid\n"],"attributes":{"cost":"7","team":"a\"b"}},"grant":"bg_1","made_at":"2026-01-02T03:00:00Z","kept":{"entry":9,"counted":true,` +
		`"max_iterations":1152921504606846976,"iterations":7,"edit_lines":3,"max_files":4,"files":5,"context_budget":6,"context_spent":8,` +
		`"paths":["a\"b","c"],"spends":[{"measure":"money","policy":"p","scope":"principal","subject":"a","pattern":"mcp:*","period":"daily",` +
		`"start":"2026-11-20T00:00:00Z","need":20000,"max":5000000},{"measure":"calls","policy":"p","scope":"policy","window_seconds":3600,` +
		`"need":1,"max":50}],"gives":["tests"],"edits":2,"voids":true,"profile":{"version":1},"line":"ff","allowed":"2026-01-02T03:04:05.000678Z","reads":true}}`
	if got := string(full.Encode()); got != format {
		t.Errorf("written as\n%s", got)
	}
}
