package rest

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/internal/recorded"
	"github.com/interlock-run/interlock/services/internal/replayed"
)

const (
	replayPath = "/v1/workflows/w/replay"
	replayOld  = `{"id":"w","initial":"a","states":{"a":{"allowed_tools":["Read"],"on":{"GO":"z"}},"z":{"type":"final"}}}`
)

// replaying is a house with one run of w, of which an edit was denied.
func replaying(t *testing.T) *house {
	t.Helper()
	h := newHouse(t)
	h.answers["GetWorkflow"] = &enginev1.GetWorkflowResponse{Workflow: &enginev1.Workflow{Name: "w", Version: 2, Definition: []byte(replayOld)}}
	h.answers["GetRunHistory"] = &enginev1.GetRunHistoryResponse{Entries: []*enginev1.HistoryEntry{
		{RunVersion: 1, Time: noon, Actor: "agent", Type: enginev1.HistoryType_HISTORY_TYPE_STARTED, To: "a", WorkflowVersion: 2, Status: enginev1.RunStatus_RUN_STATUS_RUNNING},
		{RunVersion: 2, Time: noon, Actor: "agent", Type: enginev1.HistoryType_HISTORY_TYPE_TRANSITIONED, Event: "GO", From: "a", To: "z", WorkflowVersion: 2, Status: enginev1.RunStatus_RUN_STATUS_COMPLETED},
	}}
	decision := func(n int64, tool string, d policyv1.Decision, code policyv1.DecisionCode) *policyv1.DecisionRecord {
		return &policyv1.DecisionRecord{
			Partition: "run_01", Sequence: n, Time: noon, Principal: "agent", RunId: "run_01", RunVersion: 1, Workflow: "w", WorkflowVersion: 2, State: "a",
			CallId: "c1", Tool: tool, Decision: d, Code: code, InputDigest: "x",
		}
	}
	h.answers["ListDecisions"] = &policyv1.ListDecisionsResponse{Decisions: []*policyv1.DecisionRecord{
		decision(1, "Read", policyv1.Decision_DECISION_ALLOW, 0), decision(2, "Edit", policyv1.Decision_DECISION_DENY, policyv1.DecisionCode_DECISION_CODE_TOOL_NOT_ALLOWED),
	}}
	return h
}

func (h *house) replay(body string) (*Replay, string) {
	h.t.Helper()
	got := h.do("POST", replayPath, body)
	var out Replay
	if err := json.Unmarshal(got.Body.Bytes(), &out); got.Code != http.StatusOK || err != nil {
		h.t.Fatalf("%d %s %v", got.Code, got.Body, err)
	}
	return &out, strings.TrimSpace(got.Body.String())
}

// What a candidate would decide otherwise is grouped, and nothing but reads is asked for.
func TestReplay(t *testing.T) {
	t.Parallel()
	h := replaying(t)
	if out, text := h.replay(`{"candidate":` + replayOld + `}`); out.Runs != 1 || out.Same != 4 || len(out.Differences) > 0 || out.Stopped != "" {
		t.Errorf("by itself: %s", text)
	}
	looser := strings.Replace(replayOld, `"Read"`, `"Read","Edit"`, 1)
	_, text := h.replay(`{"candidate":` + looser + `,"status":"completed","session_id":"s 1","limit":7}`)
	if want := `{"runs":1,"same":2,"loosened":1,"tightened":0,"other":0,"undecided":0,"beyond":1,"open":{},"differences":[{"effect":"loosened",` +
		`"cause":"state \"a\"","runs":[{"run_id":"run_01","entry":"decision","number":2,"state":"a",` +
		`"what":"Edit \"c1\" would be decided by its input, and was DENY TOOL_NOT_ALLOWED","beyond":1}]}]}`; text != want {
		t.Errorf("%s, not\n%s", text, want)
	}
	if list := h.got["ListRuns"].(*enginev1.ListRunsRequest); list.GetFilter() != `workflow=w AND status=COMPLETED AND session_id="s 1"` || list.GetPageSize() != 7 {
		t.Errorf("the runs are %v", list)
	}
	_, text = h.replay(`{"candidate":` + strings.Replace(replayOld, `"GO"`, `"GONE"`, 1) + `}`)
	if !strings.Contains(text, `"number":2,"state":"a","event":"GO","to":"z"`) {
		t.Errorf("a change: %s", text)
	}
	_, text = h.replay(`{"candidate":` + replayOld + `,"policies":[{"role":"agent","deny":[{"capability":"tool:Read"}]}]}`)
	if !strings.Contains(text, `"effect":"tightened","cause":"policy \"policy 0\", /deny/0"`) {
		t.Errorf("a policy: %s", text)
	}
	if asked := slices.Sorted(maps.Keys(h.got)); strings.Join(asked, " ") != "GetRun GetRunHistory GetWorkflow ListDecisions ListRuns" {
		t.Errorf("it asks for %v", asked)
	}
}

// What was not replayed is said so.
func TestReplayIsBounded(t *testing.T) {
	t.Parallel()
	h := replaying(t)
	h.answers["ListRuns"] = &enginev1.ListRunsResponse{Runs: []*enginev1.Run{aRun(), aRun()}, NextPageToken: "more"}
	if out, text := h.replay(`{"candidate":` + replayOld + `,"limit":2}`); out.Runs != 2 || out.Stopped != "LIMIT" {
		t.Errorf("with more runs: %s", text)
	}
	in := ReplayRequest{Candidate: []byte(replayOld)}
	by, err := candidate("w", &in)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := (&replays{recorded.Sources{Runs: h.cfg.Runs, Workflows: h.cfg.Workflows, Decisions: h.cfg.Decisions, Policies: h.cfg.Policies}}).replayRuns(t.Context(), 0, replayed.Filter{Workflow: "w"}, 2, by); err != nil || out.Stopped != "TIME" || out.Runs != 0 || out.Differences == nil {
		t.Errorf("without time: %+v %v", out, err)
	}
	h.errs["GetRunHistory"] = fault.New(fault.NotFound, "gone")
	if out, text := h.replay(`{"candidate":` + replayOld + `,"limit":2}`); out.Runs != 0 || out.Gone != 2 {
		t.Errorf("with runs that are gone: %s", text)
	}
	h.errs["GetRunHistory"] = fault.New(fault.Unavailable, "down")
	if got := h.do("POST", replayPath, `{"candidate":`+replayOld+`}`); got.Code != http.StatusServiceUnavailable {
		t.Errorf("without the engine: %d %s", got.Code, got.Body)
	}
}

func TestReplayRefuses(t *testing.T) {
	t.Parallel()
	h := replaying(t)
	for body, want := range map[string]struct {
		status int
		parts  string
	}{
		`{}`: {http.StatusBadRequest, `"pointer":"/candidate"`},
		`{"candidate":` + replayOld + `,"limit":0}`:   {http.StatusBadRequest, `from 1 to 500`},
		`{"candidate":` + replayOld + `,"limit":501}`: {http.StatusBadRequest, `"pointer":"/limit"`},
		`{"candidate":` + replayOld + `,"runs":[]}`:   {http.StatusBadRequest, `"pointer":"/runs"`},
		`{"candidate":1}`: {http.StatusUnprocessableEntity, `"pointer":"/candidate"`},
		`{"candidate":` + replayOld + `,"policies":[{"a":1}]}`:              {http.StatusUnprocessableEntity, `"pointer":"/policies/0/a"`},
		`{"candidate":` + strings.Replace(replayOld, `"w"`, `"v"`, 1) + `}`: {http.StatusUnprocessableEntity, `give it the id \"w\"`},
		`{"candidate":` + strings.Replace(replayOld, `"z"}`, `"y"}`, 1) + `}`: {
			http.StatusUnprocessableEntity, `"pointer":"/candidate/states/a/on/GO`,
		},
	} {
		if got := h.do("POST", replayPath, body); got.Code != want.status || !strings.Contains(got.Body.String(), want.parts) {
			t.Errorf("%.90s answers %d %s, want %d %s", body, got.Code, got.Body, want.status, want.parts)
		}
	}
	h.errs["GetWorkflow"] = fault.New(fault.NotFound, "there is no workflow w")
	if got := h.do("POST", replayPath, `{"candidate":`+replayOld+`}`); got.Code != http.StatusNotFound {
		t.Errorf("of no workflow: %d %s", got.Code, got.Body)
	}
	h = replaying(t)
	h.errs["ListDecisions"] = fault.New(fault.PermissionDenied, "no")
	if got := h.do("POST", replayPath, `{"candidate":`+replayOld+`}`); got.Code != http.StatusForbidden || len(h.got) != 1 {
		t.Errorf("who may not read decisions: %d %s, and %d are asked", got.Code, got.Body, len(h.got))
	}
}
