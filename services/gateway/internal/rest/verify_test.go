package rest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

const asked = `{"workflow":{"id":"fix","initial":"plan","states":{"plan":{"allowed_tools":["Read"],"on":{"GO":"edit"}},"edit":{"allowed_tools":["Edit"],"on":{"END":"done"}},"done":{"type":"final"}}},` +
	`"properties":{"edits after GO":{"never":{"tool":"Edit"},"unless":{"event":"GO"},"while":"running"},"never edits":{"never":{"tool":"Edit"},"while":"running"}}}`

// TestProve: what is proved is said so, and what is not comes with a scenario.
func TestProve(t *testing.T) {
	t.Parallel()
	got := newHouse(t).do("POST", "/v1/verify", asked)
	var v Proof
	if err := json.Unmarshal(got.Body.Bytes(), &v); got.Code != http.StatusOK || err != nil {
		t.Fatalf("%d %s %v", got.Code, got.Body, err)
	}
	if v.Verdict != "COUNTEREXAMPLE" || len(v.Results) != 2 || v.Results[0].Verdict != "PROVED" || v.Results[0].States == 0 {
		t.Fatalf("%s", got.Body)
	}
	if r := v.Results[1]; r.Verdict != "COUNTEREXAMPLE" || !strings.Contains(r.Scenario, `event: "GO"`) || len(r.Steps) != 2 || fmt.Sprint(r.Stands) != "[[plan] [edit] [edit]]" {
		t.Errorf("%+v", r)
	}
}

// TestProveBound: what does not fit the bound is not called proved.
func TestProveBound(t *testing.T) {
	t.Parallel()
	got := newHouse(t).do("POST", "/v1/verify", strings.Replace(asked, `"properties"`, `"max_states":1,"properties"`, 1))
	if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), `"never edits","kind":"never","verdict":"NOT PROVED"`) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// TestProveTellsWhoWrites: of what the guards read in the shared state.
func TestProveTellsWhoWrites(t *testing.T) {
	t.Parallel()
	got := newHouse(t).do("POST", "/v1/verify", `{"workflow":{"id":"gate","initial":"a","states":{"a":{"on":{"GO":{"target":"end","guard":"g"}}},"end":{"type":"final"}},
		"guards":{"g":{"evidence":"e"}},"evidence":{"e":{"state":"/ok","op":"eq","value":true,"writer":"kim"}}},
		"schema":{"x-interlock-writers":["role:agent","source:human"],"properties":{"ok":{"x-interlock-writers":[]}}}}`)
	for _, want := range []string{
		`"shared_state":[{"evidence":"e","pointer":"/ok","writer":"kim","may_write":[["role:agent","source:human"],[]]}]`, `"code":"NOBODY_WRITES"`,
	} {
		if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), want) {
			t.Errorf("%d %s", got.Code, got.Body)
		}
	}
}

func TestProveRefuses(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for body, pointer := range map[string]string{
		`{}`: "/workflow",
		strings.Replace(asked, `"event":"GO"}`, `"event":"GONE"}`, 1):                                      "/properties/edits after GO/unless/event",
		strings.Replace(asked, `"properties"`, `"schema":{"x-interlock-writers":["kim"]},"properties"`, 1): "/schema/x-interlock-writers/0",
		strings.Replace(asked, `"properties"`, `"max_states":0,"properties"`, 1):                           "/max_states",
	} {
		got := h.do("POST", "/v1/verify", body)
		if got.Code != http.StatusUnprocessableEntity || !strings.Contains(got.Body.String(), pointer) {
			t.Errorf("%s: %d %s", pointer, got.Code, got.Body)
		}
	}
}
