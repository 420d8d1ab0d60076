# Code generated from proto/ by `make generate`. DO NOT EDIT.
"""Generated protocol buffer code."""
from google.protobuf import descriptor as _descriptor
from google.protobuf import descriptor_pool as _descriptor_pool
from google.protobuf import runtime_version as _runtime_version
from google.protobuf import symbol_database as _symbol_database
from google.protobuf.internal import builder as _builder
_runtime_version.ValidateProtobufRuntimeVersion(
    _runtime_version.Domain.PUBLIC,
    7,
    35,
    1,
    '',
    'interlock/engine/v1/run.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from google.protobuf import duration_pb2 as google_dot_protobuf_dot_duration__pb2
from google.protobuf import timestamp_pb2 as google_dot_protobuf_dot_timestamp__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n\x1dinterlock/engine/v1/run.proto\x12\x13interlock.engine.v1\x1a\x1egoogle/protobuf/duration.proto\x1a\x1fgoogle/protobuf/timestamp.proto\"\x81\x01\n\nLegalEvent\x12\x14\n\x05\x65vent\x18\x01 \x01(\tR\x05\x65vent\x12\x18\n\x07targets\x18\x02 \x03(\tR\x07targets\x12\x16\n\x06guards\x18\x03 \x03(\tR\x06guards\x12+\n\x11requires_approval\x18\x04 \x01(\x08R\x10requiresApproval\"\xf1\x01\n\x0bGuardResult\x12\x12\n\x04name\x18\x01 \x01(\tR\x04name\x12\x14\n\x05\x66ield\x18\x02 \x01(\tR\x05\x66ield\x12>\n\x08operator\x18\x03 \x01(\x0e\x32\".interlock.engine.v1.GuardOperatorR\x08operator\x12\x1a\n\x08\x65xpected\x18\x04 \x01(\x0cR\x08\x65xpected\x12\x16\n\x06\x61\x63tual\x18\x05 \x01(\x0cR\x06\x61\x63tual\x12\x16\n\x06passed\x18\x06 \x01(\x08R\x06passed\x12\x12\n\x04\x63ode\x18\x07 \x01(\tR\x04\x63ode\x12\x18\n\x07message\x18\x08 \x01(\tR\x07message\"\xb1\x01\n\x08\x45vidence\x12\x12\n\x04name\x18\x01 \x01(\tR\x04name\x12\x12\n\x04held\x18\x02 \x01(\x08R\x04held\x12\x30\n\x05since\x18\x03 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x05since\x12\x1b\n\tvoided_by\x18\x04 \x01(\tR\x08voidedBy\x12\x18\n\x07missing\x18\x05 \x01(\tR\x07missing\x12\x14\n\x05needs\x18\x06 \x01(\tR\x05needs\"\xa9\x02\n\tRejection\x12\x36\n\x04\x63ode\x18\x01 \x01(\x0e\x32\".interlock.engine.v1.RejectionCodeR\x04\x63ode\x12\x18\n\x07message\x18\x02 \x01(\tR\x07message\x12\x38\n\x06guards\x18\x03 \x03(\x0b\x32 .interlock.engine.v1.GuardResultR\x06guards\x12\x42\n\x0clegal_events\x18\x04 \x03(\x0b\x32\x1f.interlock.engine.v1.LegalEventR\x0blegalEvents\x12\x14\n\x05state\x18\x05 \x01(\tR\x05state\x12\x36\n\x06status\x18\x06 \x01(\x0e\x32\x1e.interlock.engine.v1.RunStatusR\x06status\"\xfd\x08\n\x03Run\x12\x15\n\x06run_id\x18\x01 \x01(\tR\x05runId\x12\x1a\n\x08workflow\x18\x02 \x01(\tR\x08workflow\x12)\n\x10workflow_version\x18\x03 \x01(\x03R\x0fworkflowVersion\x12\x1d\n\nsession_id\x18\x04 \x01(\tR\tsessionId\x12\x1c\n\tworkspace\x18\x05 \x01(\tR\tworkspace\x12\"\n\rparent_run_id\x18\x06 \x01(\tR\x0bparentRunId\x12\x1e\n\x0broot_run_id\x18\x07 \x01(\tR\trootRunId\x12\x39\n\ncreated_at\x18\x08 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\tcreatedAt\x12\x39\n\nupdated_at\x18\t \x01(\x0b\x32\x1a.google.protobuf.TimestampR\tupdatedAt\x12\x18\n\x07version\x18\n \x01(\x03R\x07version\x12\x36\n\x06status\x18\x0b \x01(\x0e\x32\x1e.interlock.engine.v1.RunStatusR\x06status\x12\x14\n\x05state\x18\x0c \x01(\tR\x05state\x12\x14\n\x05\x65ntry\x18\r \x01(\x03R\x05\x65ntry\x12)\n\x10transition_count\x18\x0e \x01(\x03R\x0ftransitionCount\x12/\n\x05holds\x18\x10 \x03(\x0b\x32\x19.interlock.engine.v1.HoldR\x05holds\x12\x16\n\x06\x62ranch\x18\x11 \x01(\tR\x06\x62ranch\x12\x1f\n\x0b\x62ranch_over\x18\x12 \x01(\x08R\nbranchOver\x12?\n\tinterrupt\x18\x13 \x01(\x0b\x32!.interlock.engine.v1.InterruptionR\tinterrupt\x12-\n\x04\x66ork\x18\x14 \x01(\x0b\x32\x19.interlock.engine.v1.ForkR\x04\x66ork\x12\x35\n\x05\x63hild\x18\x15 \x01(\x0b\x32\x1f.interlock.engine.v1.InvocationR\x05\x63hild\x12<\n\x08\x61pproval\x18\x16 \x01(\x0b\x32 .interlock.engine.v1.RunApprovalR\x08\x61pproval\x12#\n\rsuperseded_by\x18\x17 \x01(\tR\x0csupersededBy\x12\x46\n\rworkflow_meta\x18\x18 \x01(\x0b\x32!.interlock.engine.v1.WorkflowMetaR\x0cworkflowMeta\x12\x18\n\x07\x63ontext\x18\x19 \x01(\x0cR\x07\x63ontext\x12\x35\n\x05rules\x18\x1a \x01(\x0b\x32\x1f.interlock.engine.v1.StateRulesR\x05rules\x12\x30\n\x05usage\x18\x1b \x01(\x0b\x32\x1a.interlock.engine.v1.UsageR\x05usage\x12\x39\n\x08\x65vidence\x18\x1c \x03(\x0b\x32\x1d.interlock.engine.v1.EvidenceR\x08\x65vidence\"\x96\x01\n\x04Hold\x12\x0e\n\x02\x62y\x18\x01 \x01(\tR\x02\x62y\x12\x34\n\x05\x63\x61use\x18\x02 \x01(\x0e\x32\x1e.interlock.engine.v1.HoldCauseR\x05\x63\x61use\x12\x16\n\x06reason\x18\x03 \x01(\tR\x06reason\x12\x30\n\x05since\x18\x04 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x05since\"\x99\x05\n\nStateRules\x12\"\n\x0cinstructions\x18\x01 \x01(\tR\x0cinstructions\x12\x42\n\x0clegal_events\x18\x02 \x03(\x0b\x32\x1f.interlock.engine.v1.LegalEventR\x0blegalEvents\x12)\n\x10tools_restricted\x18\x03 \x01(\x08R\x0ftoolsRestricted\x12#\n\rallowed_tools\x18\x04 \x03(\tR\x0c\x61llowedTools\x12)\n\x10\x64isallowed_tools\x18\x05 \x03(\tR\x0f\x64isallowedTools\x12/\n\x13\x63ommands_restricted\x18\x06 \x01(\x08R\x12\x63ommandsRestricted\x12)\n\x10\x61llowed_commands\x18\x07 \x03(\tR\x0f\x61llowedCommands\x12\x1f\n\x0b\x62locked_env\x18\x08 \x03(\tR\nblockedEnv\x12@\n\renv_overrides\x18\t \x03(\x0b\x32\x1b.interlock.engine.v1.EnvVarR\x0c\x65nvOverrides\x12%\n\x0emax_iterations\x18\n \x01(\x03R\rmaxIterations\x12$\n\x0emax_edit_lines\x18\x0b \x01(\x03R\x0cmaxEditLines\x12-\n\x13max_files_per_state\x18\x0c \x01(\x03R\x10maxFilesPerState\x12\x30\n\x14\x63ontext_budget_bytes\x18\r \x01(\x03R\x12\x63ontextBudgetBytes\x12\x14\n\x05model\x18( \x01(\tR\x05model\x12%\n\x0ethinking_level\x18) \x01(\tR\rthinkingLevel\"q\n\x05Usage\x12\x1e\n\niterations\x18\x01 \x01(\x03R\niterations\x12#\n\rcontext_bytes\x18\x02 \x01(\x03R\x0c\x63ontextBytes\x12#\n\rfiles_changed\x18\x03 \x01(\x03R\x0c\x66ilesChanged\"\x86\x02\n\x0cWorkflowMeta\x12\x18\n\x07process\x18\x01 \x01(\x08R\x07process\x12\x14\n\x05\x64\x65\x62ug\x18\x02 \x01(\x08R\x05\x64\x65\x62ug\x12%\n\x0e\x63\x61pture_output\x18\x03 \x01(\x08R\rcaptureOutput\x12 \n\x0b\x65nforcement\x18\x04 \x01(\tR\x0b\x65nforcement\x12\x1a\n\x08policies\x18\x05 \x03(\tR\x08policies\x12>\n\rapproval_wait\x18\x06 \x01(\x0b\x32\x19.google.protobuf.DurationR\x0c\x61pprovalWait\x12!\n\x0coutput_tools\x18\x07 \x03(\tR\x0boutputTools\"\xc8\x02\n\x0bRunApproval\x12\x1f\n\x0b\x61pproval_id\x18\x01 \x01(\tR\napprovalId\x12\x14\n\x05\x65vent\x18\x02 \x01(\tR\x05\x65vent\x12\x0e\n\x02to\x18\x03 \x01(\tR\x02to\x12\x18\n\x07message\x18\x04 \x01(\tR\x07message\x12\x19\n\x08\x61sked_by\x18\x05 \x01(\tR\x07\x61skedBy\x12\x30\n\x05since\x18\x06 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x05since\x12\x18\n\x07pending\x18\x07 \x01(\x08R\x07pending\x12>\n\x07outcome\x18\x08 \x01(\x0e\x32$.interlock.engine.v1.ApprovalOutcomeR\x07outcome\x12\x12\n\x04note\x18\t \x01(\tR\x04note\x12\x1d\n\ndecided_by\x18\n \x01(\tR\tdecidedBy\"2\n\x06\x45nvVar\x12\x12\n\x04name\x18\x01 \x01(\tR\x04name\x12\x14\n\x05value\x18\x02 \x01(\tR\x05value\"?\n\x0cInterruption\x12\x12\n\x04name\x18\x01 \x01(\tR\x04name\x12\x1b\n\treturn_to\x18\x02 \x01(\tR\x08returnTo\"\xf6\x01\n\x04\x46ork\x12\x14\n\x05\x65vent\x18\x01 \x01(\tR\x05\x65vent\x12\x14\n\x05state\x18\x02 \x01(\tR\x05state\x12\x31\n\x04join\x18\x03 \x01(\x0e\x32\x1d.interlock.engine.v1.JoinModeR\x04join\x12\x1f\n\x0bon_complete\x18\x04 \x01(\tR\nonComplete\x12\x17\n\x07on_fail\x18\x05 \x01(\tR\x06onFail\x12;\n\x08\x62ranches\x18\x06 \x03(\x0b\x32\x1f.interlock.engine.v1.ForkBranchR\x08\x62ranches\x12\x18\n\x07\x63urrent\x18\x07 \x01(\tR\x07\x63urrent\"\xdb\x01\n\nForkBranch\x12\x12\n\x04name\x18\x01 \x01(\tR\x04name\x12\x39\n\x06status\x18\x02 \x01(\x0e\x32!.interlock.engine.v1.BranchStatusR\x06status\x12\x14\n\x05state\x18\x03 \x01(\tR\x05state\x12\x1a\n\x08terminal\x18\x04 \x01(\tR\x08terminal\x12\x1d\n\nsession_id\x18\x05 \x01(\tR\tsessionId\x12-\n\x04\x66ork\x18\x06 \x01(\x0b\x32\x19.interlock.engine.v1.ForkR\x04\x66ork\"U\n\nInvocation\x12\x15\n\x06run_id\x18\x01 \x01(\tR\x05runId\x12\x1a\n\x08workflow\x18\x02 \x01(\tR\x08workflow\x12\x14\n\x05\x65vent\x18\x03 \x01(\tR\x05\x65vent\"\xa6\x07\n\x0cHistoryEntry\x12\x1f\n\x0brun_version\x18\x01 \x01(\x03R\nrunVersion\x12.\n\x04time\x18\x02 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x04time\x12\x14\n\x05\x61\x63tor\x18\x03 \x01(\tR\x05\x61\x63tor\x12\x34\n\x04type\x18\x04 \x01(\x0e\x32 .interlock.engine.v1.HistoryTypeR\x04type\x12\x14\n\x05\x65vent\x18\x05 \x01(\tR\x05\x65vent\x12\x12\n\x04\x66rom\x18\x06 \x01(\tR\x04\x66rom\x12\x0e\n\x02to\x18\x07 \x01(\tR\x02to\x12\x12\n\x04\x64\x61ta\x18\x08 \x01(\x0cR\x04\x64\x61ta\x12\x1c\n\trationale\x18\t \x01(\tR\trationale\x12\x38\n\x06guards\x18\n \x03(\x0b\x32 .interlock.engine.v1.GuardResultR\x06guards\x12)\n\x10workflow_version\x18\x0b \x01(\x03R\x0fworkflowVersion\x12\x36\n\x06status\x18\x0c \x01(\x0e\x32\x1e.interlock.engine.v1.RunStatusR\x06status\x12\x16\n\x06reason\x18\r \x01(\tR\x06reason\x12\x1b\n\tsafe_next\x18\x0e \x01(\x08R\x08safeNext\x12\x16\n\x06\x62ranch\x18\x0f \x01(\tR\x06\x62ranch\x12/\n\x05joins\x18\x10 \x03(\x0b\x32\x19.interlock.engine.v1.JoinR\x05joins\x12\x1c\n\tinterrupt\x18\x11 \x01(\tR\tinterrupt\x12\x14\n\x05\x66iles\x18\x12 \x03(\tR\x05\x66iles\x12 \n\x0c\x63hild_run_id\x18\x13 \x01(\tR\nchildRunId\x12\x1d\n\nsession_id\x18\x14 \x01(\tR\tsessionId\x12\x1f\n\x0b\x61pproval_id\x18\x15 \x01(\tR\napprovalId\x12@\n\x0btool_result\x18\x16 \x01(\x0b\x32\x1f.interlock.engine.v1.ToolResultR\ntoolResult\x12\x41\n\x0c\x63hild_status\x18\x17 \x01(\x0e\x32\x1e.interlock.engine.v1.RunStatusR\x0b\x63hildStatus\x12?\n\x0bhold_causes\x18\x18 \x03(\x0e\x32\x1e.interlock.engine.v1.HoldCauseR\nholdCauses\x12\x16\n\x06warned\x18( \x01(\x08R\x06warned\"\xa8\x01\n\x04Join\x12\x14\n\x05\x65vent\x18\x01 \x01(\tR\x05\x65vent\x12\x0e\n\x02to\x18\x02 \x01(\tR\x02to\x12\x1c\n\tsucceeded\x18\x03 \x01(\x08R\tsucceeded\x12>\n\x08\x62ranches\x18\x04 \x03(\x0b\x32\".interlock.engine.v1.BranchOutcomeR\x08\x62ranches\x12\x1c\n\tconflicts\x18\x05 \x03(\tR\tconflicts\"^\n\rBranchOutcome\x12\x12\n\x04name\x18\x01 \x01(\tR\x04name\x12\x39\n\x06status\x18\x02 \x01(\x0e\x32!.interlock.engine.v1.BranchStatusR\x06status\"\xb3\x01\n\nToolResult\x12\x17\n\x07\x63\x61ll_id\x18\x01 \x01(\tR\x06\x63\x61llId\x12\x12\n\x04tool\x18\x02 \x01(\tR\x04tool\x12\x0e\n\x02ok\x18\x03 \x01(\x08R\x02ok\x12\x16\n\x06output\x18\x04 \x01(\x0cR\x06output\x12\x1c\n\ttruncated\x18\x05 \x01(\x08R\ttruncated\x12\x16\n\x06number\x18\x06 \x01(\x03R\x06number\x12\x1a\n\x08\x65vidence\x18\x07 \x03(\tR\x08\x65vidence*\x88\x02\n\tRunStatus\x12\x1a\n\x16RUN_STATUS_UNSPECIFIED\x10\x00\x12\x16\n\x12RUN_STATUS_RUNNING\x10\x01\x12\x16\n\x12RUN_STATUS_WAITING\x10\x02\x12 \n\x1cRUN_STATUS_AWAITING_APPROVAL\x10\x03\x12\x15\n\x11RUN_STATUS_PAUSED\x10\x04\x12\x18\n\x14RUN_STATUS_COMPLETED\x10\x05\x12\x15\n\x11RUN_STATUS_FAILED\x10\x06\x12\x16\n\x12RUN_STATUS_BLOCKED\x10\x07\x12\x18\n\x14RUN_STATUS_CANCELLED\x10\x08\x12\x13\n\x0fRUN_STATUS_HELD\x10\t*J\n\x07RunView\x12\x18\n\x14RUN_VIEW_UNSPECIFIED\x10\x00\x12\x12\n\x0eRUN_VIEW_BASIC\x10\x01\x12\x11\n\rRUN_VIEW_FULL\x10\x02*\x82\x05\n\rRejectionCode\x12\x1e\n\x1aREJECTION_CODE_UNSPECIFIED\x10\x00\x12 \n\x1cREJECTION_CODE_UNKNOWN_EVENT\x10\x01\x12\x1f\n\x1bREJECTION_CODE_GUARD_FAILED\x10\x02\x12$\n REJECTION_CODE_NO_BRANCH_MATCHED\x10\x03\x12\"\n\x1eREJECTION_CODE_RUN_NOT_RUNNING\x10\x04\x12#\n\x1fREJECTION_CODE_APPROVAL_PENDING\x10\x05\x12+\n\'REJECTION_CODE_RETURN_OUTSIDE_INTERRUPT\x10\x06\x12\"\n\x1eREJECTION_CODE_BRANCH_NOT_DONE\x10\x07\x12!\n\x1dREJECTION_CODE_UNKNOWN_BRANCH\x10\x08\x12#\n\x1fREJECTION_CODE_UNKNOWN_WORKFLOW\x10\t\x12\"\n\x1eREJECTION_CODE_INVOKE_TOO_DEEP\x10\n\x12\x1f\n\x1bREJECTION_CODE_RESERVED_KEY\x10\x0b\x12!\n\x1dREJECTION_CODE_DEBUG_DISABLED\x10\x0c\x12\x1e\n\x1aREJECTION_CODE_UNSUPPORTED\x10\r\x12\x1f\n\x1bREJECTION_CODE_INVALID_DATA\x10\x0e\x12!\n\x1dREJECTION_CODE_RUN_NOT_PAUSED\x10\x0f\x12\x1d\n\x19REJECTION_CODE_NOT_PARKED\x10\x10\x12\x1b\n\x17REJECTION_CODE_NO_IMAGE\x10\x11*\x8f\x03\n\rGuardOperator\x12\x1e\n\x1aGUARD_OPERATOR_UNSPECIFIED\x10\x00\x12\x15\n\x11GUARD_OPERATOR_EQ\x10\x01\x12\x16\n\x12GUARD_OPERATOR_NEQ\x10\x02\x12\x15\n\x11GUARD_OPERATOR_GT\x10\x03\x12\x16\n\x12GUARD_OPERATOR_GTE\x10\x04\x12\x15\n\x11GUARD_OPERATOR_LT\x10\x05\x12\x16\n\x12GUARD_OPERATOR_LTE\x10\x06\x12\x15\n\x11GUARD_OPERATOR_IN\x10\x07\x12\x1b\n\x17GUARD_OPERATOR_CONTAINS\x10\x08\x12\x19\n\x15GUARD_OPERATOR_EXISTS\x10\t\x12\x1d\n\x19GUARD_OPERATOR_NOT_EXISTS\x10\n\x12\x1b\n\x17GUARD_OPERATOR_EVIDENCE\x10\x0b\x12\x16\n\x12GUARD_OPERATOR_ALL\x10\x0c\x12\x16\n\x12GUARD_OPERATOR_ANY\x10\r\x12\x16\n\x12GUARD_OPERATOR_NOT\x10\x0e*\\\n\tHoldCause\x12\x1a\n\x16HOLD_CAUSE_UNSPECIFIED\x10\x00\x12\x17\n\x13HOLD_CAUSE_OPERATOR\x10\x01\x12\x1a\n\x16HOLD_CAUSE_SESSION_END\x10\x02*\xac\x01\n\x0f\x41pprovalOutcome\x12 \n\x1c\x41PPROVAL_OUTCOME_UNSPECIFIED\x10\x00\x12\x1d\n\x19\x41PPROVAL_OUTCOME_REJECTED\x10\x01\x12\x1c\n\x18\x41PPROVAL_OUTCOME_EXPIRED\x10\x02\x12\x1e\n\x1a\x41PPROVAL_OUTCOME_CANCELLED\x10\x03\x12\x1a\n\x16\x41PPROVAL_OUTCOME_STALE\x10\x04*K\n\x08JoinMode\x12\x19\n\x15JOIN_MODE_UNSPECIFIED\x10\x00\x12\x11\n\rJOIN_MODE_ALL\x10\x01\x12\x11\n\rJOIN_MODE_ANY\x10\x02*\x9b\x01\n\x0c\x42ranchStatus\x12\x1d\n\x19\x42RANCH_STATUS_UNSPECIFIED\x10\x00\x12\x18\n\x14\x42RANCH_STATUS_ACTIVE\x10\x01\x12\x1b\n\x17\x42RANCH_STATUS_SUCCEEDED\x10\x02\x12\x18\n\x14\x42RANCH_STATUS_FAILED\x10\x03\x12\x1b\n\x17\x42RANCH_STATUS_CANCELLED\x10\x04*\x8e\x05\n\x0bHistoryType\x12\x1c\n\x18HISTORY_TYPE_UNSPECIFIED\x10\x00\x12\x18\n\x14HISTORY_TYPE_STARTED\x10\x01\x12\x1d\n\x19HISTORY_TYPE_TRANSITIONED\x10\x02\x12 \n\x1cHISTORY_TYPE_INTERRUPT_FIRED\x10\x03\x12\x1d\n\x19HISTORY_TYPE_FORK_STARTED\x10\x04\x12\"\n\x1eHISTORY_TYPE_FORK_BRANCH_BOUND\x10\x05\x12\x1f\n\x1bHISTORY_TYPE_INVOKE_STARTED\x10\x06\x12\x1d\n\x19HISTORY_TYPE_INVOKE_ENDED\x10\x07\x12\x17\n\x13HISTORY_TYPE_FORCED\x10\x08\x12\x17\n\x13HISTORY_TYPE_PAUSED\x10\t\x12\x15\n\x11HISTORY_TYPE_HELD\x10\n\x12\x1c\n\x18HISTORY_TYPE_HOLD_LIFTED\x10\x0b\x12\x18\n\x14HISTORY_TYPE_RESUMED\x10\x0c\x12\x1a\n\x16HISTORY_TYPE_CANCELLED\x10\r\x12 \n\x1cHISTORY_TYPE_APPROVAL_PARKED\x10\x0e\x12\"\n\x1eHISTORY_TYPE_APPROVAL_REJECTED\x10\x0f\x12!\n\x1dHISTORY_TYPE_APPROVAL_EXPIRED\x10\x10\x12#\n\x1fHISTORY_TYPE_APPROVAL_CANCELLED\x10\x11\x12\x1f\n\x1bHISTORY_TYPE_APPROVAL_STALE\x10\x12\x12\x1c\n\x18HISTORY_TYPE_TOOL_RESULT\x10\x13\x12\x19\n\x15HISTORY_TYPE_MIGRATED\x10\x14\x42HZFgithub.com/interlock-run/interlock/gen/go/interlock/engine/v1;enginev1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.engine.v1.run_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZFgithub.com/interlock-run/interlock/gen/go/interlock/engine/v1;enginev1'
  _globals['_RUNSTATUS']._serialized_start=5721
  _globals['_RUNSTATUS']._serialized_end=5985
  _globals['_RUNVIEW']._serialized_start=5987
  _globals['_RUNVIEW']._serialized_end=6061
  _globals['_REJECTIONCODE']._serialized_start=6064
  _globals['_REJECTIONCODE']._serialized_end=6706
  _globals['_GUARDOPERATOR']._serialized_start=6709
  _globals['_GUARDOPERATOR']._serialized_end=7108
  _globals['_HOLDCAUSE']._serialized_start=7110
  _globals['_HOLDCAUSE']._serialized_end=7202
  _globals['_APPROVALOUTCOME']._serialized_start=7205
  _globals['_APPROVALOUTCOME']._serialized_end=7377
  _globals['_JOINMODE']._serialized_start=7379
  _globals['_JOINMODE']._serialized_end=7454
  _globals['_BRANCHSTATUS']._serialized_start=7457
  _globals['_BRANCHSTATUS']._serialized_end=7612
  _globals['_HISTORYTYPE']._serialized_start=7615
  _globals['_HISTORYTYPE']._serialized_end=8269
  _globals['_LEGALEVENT']._serialized_start=120
  _globals['_LEGALEVENT']._serialized_end=249
  _globals['_GUARDRESULT']._serialized_start=252
  _globals['_GUARDRESULT']._serialized_end=493
  _globals['_EVIDENCE']._serialized_start=496
  _globals['_EVIDENCE']._serialized_end=673
  _globals['_REJECTION']._serialized_start=676
  _globals['_REJECTION']._serialized_end=973
  _globals['_RUN']._serialized_start=976
  _globals['_RUN']._serialized_end=2125
  _globals['_HOLD']._serialized_start=2128
  _globals['_HOLD']._serialized_end=2278
  _globals['_STATERULES']._serialized_start=2281
  _globals['_STATERULES']._serialized_end=2946
  _globals['_USAGE']._serialized_start=2948
  _globals['_USAGE']._serialized_end=3061
  _globals['_WORKFLOWMETA']._serialized_start=3064
  _globals['_WORKFLOWMETA']._serialized_end=3326
  _globals['_RUNAPPROVAL']._serialized_start=3329
  _globals['_RUNAPPROVAL']._serialized_end=3657
  _globals['_ENVVAR']._serialized_start=3659
  _globals['_ENVVAR']._serialized_end=3709
  _globals['_INTERRUPTION']._serialized_start=3711
  _globals['_INTERRUPTION']._serialized_end=3774
  _globals['_FORK']._serialized_start=3777
  _globals['_FORK']._serialized_end=4023
  _globals['_FORKBRANCH']._serialized_start=4026
  _globals['_FORKBRANCH']._serialized_end=4245
  _globals['_INVOCATION']._serialized_start=4247
  _globals['_INVOCATION']._serialized_end=4332
  _globals['_HISTORYENTRY']._serialized_start=4335
  _globals['_HISTORYENTRY']._serialized_end=5269
  _globals['_JOIN']._serialized_start=5272
  _globals['_JOIN']._serialized_end=5440
  _globals['_BRANCHOUTCOME']._serialized_start=5442
  _globals['_BRANCHOUTCOME']._serialized_end=5536
  _globals['_TOOLRESULT']._serialized_start=5539
  _globals['_TOOLRESULT']._serialized_end=5718
# @@protoc_insertion_point(module_scope)
