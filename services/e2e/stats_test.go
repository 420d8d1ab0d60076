package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
)

// restStats sees in the stats the latest acts of agents.
func restStats(t *testing.T, w *world) {
	c := w.as(t, auth.Agent)
	c.register(t, bugfix)
	id := c.start(t, "bugfix").GetRunId()
	check := func(tool string) {
		t.Helper()
		body := fmt.Sprintf(`{"tool":%q,"input":{"file_path":"a"}}`, tool)
		if got := w.send(t, http.MethodPost, "/v1/runs/"+id+"/check", w.tokens[auth.Agent], body); got.status != http.StatusOK {
			t.Fatalf("the check answers %v", got)
		}
	}
	observer := w.tokens[auth.Observer]
	shows := func(path string, parts ...string) {
		t.Helper()
		eventually(t, path+" shows "+strings.Join(parts, ", "), func() error {
			got := w.send(t, http.MethodGet, path, observer, "")
			if got.status != http.StatusOK {
				return fmt.Errorf("it answers %v", got)
			}
			for _, part := range append(parts, `"complete":true`) {
				if !strings.Contains(got.body, part) {
					return fmt.Errorf("%s is not in %s", part, got.body)
				}
			}
			return nil
		})
	}
	for range 3 {
		check("Edit")
	}
	shows("/v1/stats", `"looping":[{"run_id":"`+id+`","tool":"Edit","state":"planning","code":"TOOL_NOT_ALLOWED","count":3`, `"deny":3`)
	c.move(t, id, "READY")
	check("Edit")
	shows("/v1/stats", `"looping":[]`, `"allow":1`)
	shows("/v1/workflows/bugfix/coverage?version=1", `"runs":1,"under_way":1`, `{"state":"planning","entries":1}`,
		`{"from":"planning","event":"READY","to":"implementing","count":1}`)
	shows("/v1/principals", `"name":"agent","allow":1,"ask":0,"deny":3,"transitions":1`)
	if got := w.send(t, http.MethodGet, "/v1/system", observer, ""); got.status != http.StatusOK || got.field("ready") != true {
		t.Errorf("the system is %v", got)
	}
	processes := map[string]int{"interlock up": 1}
	if w.name == "separate" {
		processes = map[string]int{
			"interlock-engine": len(w.engines), "interlock-policy-enforcer": len(w.policies), "interlock-state-store": len(w.states),
			"interlock-approval": len(w.approvals), "interlock-gateway": 1,
		}
	}
	eventually(t, "every process announces itself", func() error {
		got := w.send(t, http.MethodGet, "/v1/system", observer, "")
		for service, n := range processes {
			if strings.Count(got.body, `"service":"`+service+`"`) != n {
				return fmt.Errorf("%s is not %d times in %s", service, n, got.body)
			}
		}
		return nil
	})
	for _, path := range []string{"/v1/stats", "/v1/principals", "/v1/workflows/bugfix/coverage?version=1"} {
		if got := w.send(t, http.MethodGet, path, w.tokens[auth.Agent], ""); got.status != http.StatusForbidden {
			t.Errorf("an agent's GET %s answers %v", path, got)
		}
	}
}
