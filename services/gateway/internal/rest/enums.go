package rest

import (
	"slices"
	"strings"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

// lowerNames returns the names of an enumeration's values in lower case.
func lowerNames(values map[int32]string, prefix string) []string {
	names := protomap.Names(values, prefix)
	for i := range names {
		names[i] = strings.ToLower(names[i])
	}
	return names
}

// enums returns the values of members that name a value of an enumeration of the contracts, by
// schema and member.
func enums() map[string][]string {
	runStatuses, decisions, approvalStatuses := jsonview.StatusNames(), jsonview.Decisions(), jsonview.ApprovalStatuses()
	approvalKinds := lowerNames(approvalv1.ApprovalKind_name, "APPROVAL_KIND_")
	branches := protomap.Names(enginev1.BranchStatus_name, "BRANCH_STATUS_")
	// An ended session is a finished one, with ended = true.
	sessionStatuses := slices.DeleteFunc(jsonview.SessionStatuses(), func(s string) bool { return s == "ended" })
	updates := jsonview.StateUpdates()
	reports := slices.DeleteFunc(lowerNames(statev1.StateUpdateStatus_name, "STATE_UPDATE_STATUS_"), func(s string) bool { return s == "none" })
	persistence := lowerNames(statev1.Persistence_name, "PERSISTENCE_")
	return map[string][]string{
		"Run.status": runStatuses, "RunVersion.status": runStatuses, "RunBranch.status": runStatuses, "Turn.status": runStatuses,
		"TrialRun.status": runStatuses, "ReplayRequest.status": runStatuses, "HistoryEntry.status": runStatuses, "HistoryEntry.child_status": runStatuses,
		"ForkBranch.status": branches, "BranchOutcome.status": branches, "TrialBranch.status": branches,
		"Fork.join": lowerNames(enginev1.JoinMode_name, "JOIN_MODE_"), "Hold.cause": lowerNames(enginev1.HoldCause_name, "HOLD_CAUSE_"),
		"MigrationPlan.verdict": protomap.Names(enginev1.MigrationVerdict_name, "MIGRATION_VERDICT_"),

		"Decision.decision": decisions, "SessionDecision.decision": decisions, "DecisionDetail.decision": decisions, "DecisionRecord.decision": decisions, "ShadowDecision.decision": decisions,
		"SimulatedChange.decision": decisions, "TrialStep.decision": decisions, "TrialVerdict.decision": decisions,
		"PolicyReason.verdict": decisions, "StateReason.verdict": decisions,
		"CommandPart.verdict": lowerNames(policyv1.PartVerdict_name, "PART_VERDICT_"), "RuleReason.effect": lowerNames(policyv1.RuleEffect_name, "RULE_EFFECT_"),
		"Attachment.kind": jsonview.AttachmentKinds(),

		"Approval.status": approvalStatuses, "RefusedVote.status": approvalStatuses,
		"Approval.kind": approvalKinds, "TrialApproval.kind": approvalKinds,
		"LastApproval.outcome": protomap.Names(enginev1.ApprovalOutcome_name, "APPROVAL_OUTCOME_"),

		"Session.status": sessionStatuses, "StoppedSession.status": sessionStatuses,
		"Session.state_update": updates, "StoppedSession.state_update": updates, "CreateSessionRequest.state_update": updates,
		"Session.state_update_status": reports, "StoppedSession.state_update_status": reports, "Callback.state_update_status": reports,
		"Task.kind": lowerNames(statev1.TaskKind_name, "TASK_KIND_"), "Task.status": jsonview.TaskStatuses(),
		"Component.persistence": persistence, "Execution.persistence": persistence,
		"StateVersion.type": lowerNames(statev1.StateChangeType_name, "STATE_CHANGE_TYPE_"),
	}
}
