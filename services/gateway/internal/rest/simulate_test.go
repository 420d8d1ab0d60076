package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/scenario"
)

const tried = `{"workflow":{"id":"fix","initial":"plan","context":{"n":1.50},"guards":{"ready":{"field":"ok","op":"eq","value":true}},` +
	`"states":{"plan":{"allowed_tools":["Read"],"on":{"GO":{"target":"done","guards":["ready"]},"SAVE":"plan"}},"done":{"type":"final"}}},"steps":%s}`

// TestSimulate: what each step led to is shown, also what was refused.
func TestSimulate(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	got := h.do("POST", "/v1/simulate", fmt.Sprintf(tried, `[{"call":{"tool":"Edit"}},{"event":"GO"},{"event":"SAVE","data":{"ok":true}},{"event":"GO"}]`))
	if got.Code != http.StatusOK {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	text := got.Body.String()
	if !strings.Contains(text, `"context":{"n":1.50}`) {
		t.Errorf("the context is not as it was written: %s", text)
	}
	var tr Trial
	if err := json.Unmarshal(got.Body.Bytes(), &tr); err != nil {
		t.Fatal(err)
	}
	if len(tr.Steps) != 4 || tr.Stopped != "" || tr.Before.Run.State != "plan" || tr.Before.Run.LegalEvents[0].Event != "GO" {
		t.Fatalf("the simulation is %s", text)
	}
	if s := tr.Steps[0]; s.Decision != "DENY" || s.Code != "TOOL_NOT_ALLOWED" || s.OK || s.Verdicts[0].Message != s.Message || (*s.After.Run.AllowedTools)[0] != "Read" {
		t.Errorf("the call is %+v", s)
	}
	if s := tr.Steps[1]; s.Rejected != "GUARD_FAILED" || string(s.Guards[0].Actual) != "null" || string(s.Guards[0].Expected) != "true" || s.After.Run.State != "plan" {
		t.Errorf("the refused event is %+v", s)
	}
	if s := tr.Steps[3]; !s.OK || s.After.Run.Status != "COMPLETED" || s.After.Run.AllowedTools != nil || s.Events[1] != "completed" {
		t.Errorf("the event is %+v", s)
	}
}

// TestSimulateInYAML: the body may be YAML, as scenario files are.
func TestSimulateInYAML(t *testing.T) {
	t.Parallel()
	got := newHouse(t).do("POST", "/v1/simulate", "workflow: {id: fix, initial: a, states: {a: {on: {GO: z}}, z: {type: final}}}\nsteps:\n- event: GO\n",
		"Content-Type", contentYAML)
	if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), `"status":"COMPLETED"`) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

func TestSimulateRefuses(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	many := "[" + strings.TrimSuffix(strings.Repeat(`{"event":"X"},`, mostTrialSteps+1), ",") + "]"
	for body, want := range map[string]struct {
		status int
		parts  string
	}{
		`{`:                              {http.StatusBadRequest, `"code":"INVALID_JSON"`},
		`{"steps":[],"steps":[]}`:        {http.StatusBadRequest, `"code":"DUPLICATE_KEY"`},
		`{"workflow":"fix"}`:             {http.StatusUnprocessableEntity, `"pointer":"/workflow"`},
		fmt.Sprintf(tried, `[{"go":1}]`): {http.StatusUnprocessableEntity, `"pointer":"/steps/0/go"`},
		fmt.Sprintf(tried, many):         {http.StatusUnprocessableEntity, `the limit is 1000`},
		strings.Repeat(" ", maxBody+1):   {http.StatusRequestEntityTooLarge, `"code":"TOO_LARGE"`},
	} {
		if got := h.do("POST", "/v1/simulate", body); got.Code != want.status || !strings.Contains(got.Body.String(), want.parts) {
			t.Errorf("%.60s answers %d %s, want %d %s", body, got.Code, got.Body, want.status, want.parts)
		}
	}
	h.errs["ListRuns"] = fault.New(fault.PermissionDenied, "no")
	if got := h.do("POST", "/v1/simulate", fmt.Sprintf(tried, `[]`)); got.Code != http.StatusForbidden {
		t.Errorf("without the right to read it answers %d %s", got.Code, got.Body)
	}
}

// TestSimulationsAreBounded: one that takes too long, or whose answer grows too large,
// ends with what it has.
func TestSimulationsAreBounded(t *testing.T) {
	t.Parallel()
	trialOf := func(text string) *scenario.Trial {
		v, problem := document.Parse([]byte(text), document.Limits{})
		if problem != nil {
			t.Fatal(problem)
		}
		trial, problems := scenario.ParseTrial(v, mostTrialSteps)
		if trial == nil {
			t.Fatal(problems)
		}
		return trial
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := play(ended, trialOf(fmt.Sprintf(tried, `[{"event":"GO"},{"event":"GO"}]`))); err != nil || got.Stopped != "TIME" || len(got.Steps) != 1 {
		t.Errorf("out of time it is stopped by %q after %d steps, %v", got.Stopped, len(got.Steps), err)
	}
	large := strings.Replace(tried, "1.50", `"`+strings.Repeat("x", 500_000)+`"`, 1)
	steps := "[" + strings.TrimSuffix(strings.Repeat(`{"event":"GO"},`, 1000), ",") + "]"
	got, err := play(t.Context(), trialOf(fmt.Sprintf(large, steps)))
	if err != nil || got.Stopped != "SIZE" || len(got.Steps) != 17 {
		t.Errorf("too large it is stopped by %q after %d steps, %v", got.Stopped, len(got.Steps), err)
	}
	if all, err := play(t.Context(), trialOf(fmt.Sprintf(tried, steps))); err != nil || all.Stopped != "" || len(all.Steps) != 1000 {
		t.Errorf("a thousand steps are stopped by %q after %d, %v", all.Stopped, len(all.Steps), err)
	}
}
