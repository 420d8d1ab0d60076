package gateway

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/services/internal/metrics"
)

// Calls that the gateway denies because it reaches no service are counted: by whatever face
// they come, and no others.
func TestDenialsWithoutADecisionAreCounted(t *testing.T) {
	t.Parallel()
	set := metrics.New()
	on := &line{}
	g := open(t, Config{Engine: on, Policy: on, State: on, Tokens: knows("s3cret"), Metrics: set})
	denials := func() float64 {
		t.Helper()
		families, err := set.Gatherer().Gather()
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, family := range families {
			if family.GetName() == "interlock_fail_closed_denials_total" {
				for _, m := range family.GetMetric() {
					sum += m.GetCounter().GetValue()
				}
			}
		}
		return sum
	}
	hook := func(event string) string {
		return `{"hook_event_name":"` + event + `","session_id":"s","tool_name":"Read","tool_input":{},"tool_use_id":"t"}`
	}
	for _, c := range []struct {
		path, body, says string
		counted          float64
	}{
		{"/v1/runs/run_1/check", `{"tool":"Read"}`, `"code":"UNAVAILABLE"`, 1},
		{"/v1/runs/run_1/check", `{"tool":"Read","dry_run":true}`, `"code":"UNAVAILABLE"`, 0},
		{"/v1/runs/run_1/check", `{}`, "/tool", 0},
		{"/v1/hook", hook("PreToolUse"), `"exit":2`, 1},
		{"/v1/hook", hook("PostToolUse"), `"exit":2`, 0},
		{"/v1/hook", `{"hook_event_name":"PreToolUse"`, `"exit":2`, 0},
	} {
		before := denials()
		answer := ask(g, "POST", c.path, c.body, "Authorization", "Bearer s3cret", "Content-Type", "application/json").Body.String()
		if got := denials() - before; got != c.counted || !strings.Contains(answer, c.says) {
			t.Errorf("%s %s: counted %v, want %v: %s", c.path, c.body, got, c.counted, answer)
		}
	}
}
