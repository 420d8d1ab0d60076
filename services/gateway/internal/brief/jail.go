package brief

import (
	"encoding/json"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/jail"
)

// JailQuestion returns the dry run whose answer Jail describes: how a line of the shell would run in the state of a run. asked
// is the run that the session drives. It is nil for runs whose calls are not judged, and on machines without jails.
func JailQuestion(asked string, run *enginev1.Run, shell string, level int32) *policyv1.CheckToolCallRequest {
	if level <= 0 || ToolStatusOf(run) != Judged {
		return nil
	}
	line := "true"
	if rules := run.GetRules(); rules.GetCommandsRestricted() && len(rules.GetAllowedCommands()) > 0 {
		line = example(rules.GetAllowedCommands()[0])
	}
	input, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		return nil
	}
	return &policyv1.CheckToolCallRequest{RunId: asked, Branch: run.GetBranch(), Tool: shell, Input: input, JailLevel: level, DryRun: true}
}

// Jail describes the jail of an allowed call in one sentence; empty without one.
func Jail(decision *policyv1.CheckToolCallResponse) string {
	profile := &jail.Profile{}
	if decision.GetDecision() != policyv1.Decision_DECISION_ALLOW || json.Unmarshal(decision.GetJail().GetProfile(), profile) != nil {
		return ""
	}
	return profile.Brief()
}
