package workflow

import "github.com/interlock-run/interlock/pkg/document"

// Codes of a workflow's references, operands and graph (S1.3). Those of the
// text, of fields and of schemas are in package document.
const (
	CodeUnknownState    document.Code = "UNKNOWN_STATE"
	CodeUnknownGuard    document.Code = "UNKNOWN_GUARD"
	CodeUnknownEvidence document.Code = "UNKNOWN_EVIDENCE"
	// CodeEffects: what a definition says of unknown effects cannot be kept (S16).
	CodeEffects                   = "EFFECTS"
	CodeBadOperator document.Code = "BAD_OPERATOR"
	CodeGuardValue  document.Code = "GUARD_VALUE"
	CodeGlob        document.Code = "GLOB"
	CodeCommand     document.Code = "COMMAND"

	CodeDefaultNotLast  document.Code = "DEFAULT_NOT_LAST"
	CodeReturnOutside   document.Code = "RETURN_OUTSIDE"
	CodeFinalHasOn      document.Code = "FINAL_HAS_ON"
	CodeInitialFinal    document.Code = "INITIAL_FINAL"
	CodeNoFinal         document.Code = "NO_FINAL"
	CodeInterruptFinal  document.Code = "INTERRUPT_FINAL"
	CodeInvokeCycle     document.Code = "INVOKE_CYCLE"
	CodeForkCycle       document.Code = "FORK_CYCLE"
	CodeForkOverlap     document.Code = "FORK_OVERLAP"
	CodeForkTerminal    document.Code = "FORK_TERMINAL"
	CodeForkUnreachable document.Code = "FORK_UNREACHABLE"
	CodeForkEscape      document.Code = "FORK_ESCAPE"
	CodeSafeNextBypass  document.Code = "SAFE_NEXT_BYPASS"
	CodeDeadline        document.Code = "DEADLINE"

	// Warnings.
	CodeUnreachable      document.Code = "UNREACHABLE"
	CodeDeadEnd          document.Code = "DEAD_END"
	CodeTooBroad         document.Code = "TOO_BROAD"
	CodeDebugDangerous   document.Code = "DEBUG_DANGEROUS"
	CodeDebugAgents      document.Code = "DEBUG_AGENTS"
	CodeWhileRunning     document.Code = "WHILE_RUNNING"
	CodeInterruptOverlap document.Code = "INTERRUPT_OVERLAP"
	CodeFinalHasLimits   document.Code = "FINAL_HAS_LIMITS"
	CodeClaimedRights    document.Code = "CLAIMED_RIGHTS"
	CodeNotOfMissing     document.Code = "NOT_OF_MISSING"
	CodeTargetOpen       document.Code = "TARGET_OPEN"
	CodeUnknownMachine   document.Code = "UNKNOWN_MACHINE"
)
