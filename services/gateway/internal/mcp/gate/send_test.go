package gate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
)

// TestEnvironmentOf: a state demands its environment while its rules are in force.
func TestEnvironmentOf(t *testing.T) {
	t.Parallel()
	const running, over, asking = enginev1.RunStatus_RUN_STATUS_RUNNING, enginev1.RunStatus_RUN_STATUS_COMPLETED, enginev1.RunStatus_RUN_STATUS_AWAITING_APPROVAL
	none := &upstream.Environment{}
	overrides := []*enginev1.EnvVar{{Name: "DB", Value: "staging"}, {Name: "TOKEN"}}
	demanded := &upstream.Environment{Set: []upstream.Variable{{Name: "DB", Value: "staging"}, {Name: "TOKEN"}}, Blocked: []string{"PROD"}}
	for _, row := range []struct {
		name string
		run  *enginev1.Run
		want *upstream.Environment
	}{
		{"no run", nil, none},
		{"a state without rules", &enginev1.Run{Status: running}, none},
		{"a state with both", &enginev1.Run{Status: running, Rules: &enginev1.StateRules{BlockedEnv: []string{"PROD"}, EnvOverrides: overrides}}, demanded},
		{"while people are asked", &enginev1.Run{Status: asking, Rules: &enginev1.StateRules{BlockedEnv: []string{"PROD"}, EnvOverrides: overrides}}, demanded},
		{"nothing is enforced", &enginev1.Run{Status: over, Rules: &enginev1.StateRules{BlockedEnv: []string{"PROD"}, EnvOverrides: overrides}}, none},
	} {
		got, err := environmentOf(row.run)
		if diff := cmp.Diff(row.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", row.name, err, diff)
		}
	}
	evil := &enginev1.Run{Status: running, Rules: &enginev1.StateRules{EnvOverrides: []*enginev1.EnvVar{{Name: "LD_PRELOAD", Value: "x"}}}}
	if got, err := environmentOf(evil); err == nil {
		t.Errorf("got %v", got)
	}
}
