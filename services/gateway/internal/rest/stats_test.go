package rest

import (
	"net/http"
	"strings"
	"testing"
	"time"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/pulse"
)

// noPulse has seen nothing yet.
type noPulse struct{ namespace string }

func (p *noPulse) Look(namespace string, at func(*pulse.Board, time.Time)) bool {
	p.namespace = namespace
	at(pulse.NewBoard(), time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC))
	return false
}

func TestStatsOfNothingHasLists(t *testing.T) {
	t.Parallel()
	p := &noPulse{}
	h := newHouse(t, func(cfg *Config) { cfg.Pulse = p })
	paused := aRun()
	paused.Status = enginev1.RunStatus_RUN_STATUS_PAUSED
	h.answers["ListRuns"] = &enginev1.ListRunsResponse{Runs: []*enginev1.Run{paused}}
	for path, want := range map[string]string{
		"/v1/stats":                            `"looping":[],"stopped":[{"run_id":"run_01","workflow":"deploy v1.0","state":"planning"`,
		"/v1/workflows/fix/coverage?version=1": `{"complete":false,"version":1,"runs":0,"under_way":0,"states":[],"transitions":[]}`,
		"/v1/principals":                       `{"complete":false,"principals":[]}`,
	} {
		got := h.do("GET", path, "", headerNamespace, "team-a")
		if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), want) {
			t.Errorf("GET %s answers %d %s", path, got.Code, got.Body)
		}
		if p.namespace != "team-a" {
			t.Errorf("GET %s looks at the namespace %q", path, p.namespace)
		}
	}
	if got := h.do("GET", "/v1/workflows/fix/coverage?version=x", ""); got.Code != http.StatusBadRequest {
		t.Errorf("an invalid version answers %d %s", got.Code, got.Body)
	}
}

func TestStatsNeedsEvents(t *testing.T) {
	t.Parallel()
	if got := newHouse(t).do("GET", "/v1/stats", ""); got.Code != http.StatusServiceUnavailable {
		t.Errorf("without events it answers %d %s", got.Code, got.Body)
	}
}
