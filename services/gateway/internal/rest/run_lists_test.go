package rest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/pulse"
)

// TestFilters pins what each filter of lists asks the services for.
func TestFilters(t *testing.T) {
	t.Parallel()
	checkAnswers(t, []answerCase{
		{
			name: "runs", method: "GET", rpc: "ListRuns",
			path: "/v1/runs?session_id=s%201&text=a%20b&not_status=COMPLETED,FAILED&not_status=CANCELLED&not_workflow=w%201&not_workflow=x" +
				"&updated_after=2026-03-04T12:00:00Z&updated_before=2026-03-05T12:00:00Z",
			want: &enginev1.ListRunsRequest{
				View: enginev1.RunView_RUN_VIEW_FULL,
				Filter: `session_id="s 1" AND text="a b" AND not_status="COMPLETED,FAILED,CANCELLED" AND not_workflow="w%201,x"` +
					` AND updated_after=2026-03-04T12:00:00Z AND updated_before=2026-03-05T12:00:00Z`,
			},
			status: 200, json: `{"runs":[` + jsonRun + `],"next_page_token":""}`,
		},
		{
			name: "decisions", method: "GET", rpc: "ListDecisions",
			path: "/v1/decisions?not_decision=ALLOW,ASK&code=TOOL_NOT_ALLOWED&workflow=w&policy=p&principal=ann&after=2026-03-04T12:00:00Z",
			want: &policyv1.ListDecisionsRequest{
				Filter: `not_decision="ALLOW,ASK" AND code=TOOL_NOT_ALLOWED AND workflow=w AND policy=p AND principal=ann AND since=2026-03-04T12:00:00Z`,
			},
			status: 200, json: `{"decisions":[],"next_page_token":""}`,
		},
	})
	h := newHouse(t)
	for path, detail := range map[string]string{
		"/v1/runs?not_status=running": "ENUM", "/v1/runs?updated_after=x": "INVALID", "/v1/runs?denied=yes": "ENUM",
		"/v1/decisions?not_decision=NO": "ENUM", "/v1/decisions?code=NOPE": "ENUM", "/v1/decisions?since=1h&after=1h": "CONFLICT",
		"/v1/runs/r/versions/x": "RANGE",
	} {
		if got := h.do("GET", path, ""); got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), detail) {
			t.Errorf("GET %s answers %d %s", path, got.Code, got.Body)
		}
	}
}

// denials is a board on which calls of some runs were denied, the last at noon.
type denials int

func (n denials) Look(_ string, at func(*pulse.Board, time.Time)) bool {
	b := pulse.NewBoard()
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for i := range int(n) {
		b.Apply(&pulse.Event{EntityID: fmt.Sprintf("run_%04d", i), Time: noon, Decided: &pulse.Decided{Decision: "DENY"}})
	}
	b.Apply(&pulse.Event{EntityID: "run_old", Time: noon.Add(-2 * time.Hour), Decided: &pulse.Decided{Decision: "DENY"}})
	at(b, noon)
	return true
}

// TestRunsThatWereDenied: their ids are asked for, in parts, the newest first.
func TestRunsThatWereDenied(t *testing.T) {
	t.Parallel()
	const count = mostIDs + 5
	h := newHouse(t, func(cfg *Config) { cfg.Pulse = denials(count) })
	page := func(path string) (*enginev1.ListRunsRequest, string) {
		t.Helper()
		got := h.do("GET", path, "")
		if got.Code != http.StatusOK {
			t.Fatalf("GET %s answers %d %s", path, got.Code, got.Body)
		}
		return h.got["ListRuns"].(*enginev1.ListRunsRequest), got.Body.String()
	}
	req, body := page("/v1/runs?denied=true&status=RUNNING")
	ids := req.GetRunIds()
	if len(ids) != mostIDs || ids[0] != "run_1004" || ids[mostIDs-1] != "run_0005" || req.GetFilter() != "status=RUNNING" {
		t.Errorf("asked for %d runs from %s to %s, %s", len(ids), ids[0], ids[len(ids)-1], req.GetFilter())
	}
	if !strings.Contains(body, `"next_page_token":"run_0005"`) {
		t.Errorf("the page ends %s", body[max(0, len(body)-60):])
	}
	if req, body = page("/v1/runs?denied=true&page_token=run_0005"); len(req.GetRunIds()) != 5 || !strings.Contains(body, `"next_page_token":""`) {
		t.Errorf("asked for %v", req.GetRunIds())
	}
	if got := h.do("GET", "/v1/runs?denied=true&page_token=run_0000", ""); !strings.HasPrefix(got.Body.String(), `{"runs":[],"next_page_token":""}`) {
		t.Errorf("after the last one there is %s", got.Body)
	}
}

// jsonLane is where aRun stands, but for its state and what that allows.
func jsonLane(state, tools, limits string) string {
	return `"state":"` + state + `","status":"RUNNING","session_id":"ses_01","context":{"id":9007199254740993,"b":1.10,"a":"\u00e9<&>"},` +
		`"allowed_tools":` + tools + `,"allowed_commands":null,"limits":` + limits + `,"legal_events":` + jsonEvents
}

func TestRunVersion(t *testing.T) {
	t.Parallel()
	branch := aRun()
	branch.Branch, branch.State = "ci/lint", "linting"
	branch.Rules.MaxIterations, branch.Rules.ToolsRestricted = 9, false
	checkAnswers(t, []answerCase{{
		name: "version", method: "GET", path: "/v1/runs/run_01/versions/7", rpc: "GetRunVersion",
		answer: &enginev1.GetRunVersionResponse{Run: aRun(), Branches: []*enginev1.Run{branch}},
		want:   &enginev1.GetRunVersionRequest{RunId: "run_01", Version: 7}, status: 200,
		json: `{"version":7,"at":"2026-03-04T12:00:00.005Z",` + jsonLane("planning", `["Read","Grep"]`, "{}") +
			`,"branches":[{"branch":"ci/lint",` + jsonLane("linting", "null", `{"max_iterations":9}`) + `}]}`,
	}})
}
