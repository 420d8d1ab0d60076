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
    'interlock/event/v1/event.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from google.protobuf import timestamp_pb2 as google_dot_protobuf_dot_timestamp__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n\x1einterlock/event/v1/event.proto\x12\x12interlock.event.v1\x1a\x1fgoogle/protobuf/timestamp.proto\"\x9a\x17\n\x05\x45vent\x12\x0e\n\x02id\x18\x01 \x01(\tR\x02id\x12\x1c\n\tnamespace\x18\x02 \x01(\tR\tnamespace\x12\x16\n\x06\x65ntity\x18\x03 \x01(\tR\x06\x65ntity\x12\x1b\n\tentity_id\x18\x04 \x01(\tR\x08\x65ntityId\x12\x12\n\x04type\x18\x05 \x01(\tR\x04type\x12\x18\n\x07version\x18\x06 \x01(\x03R\x07version\x12.\n\x04time\x18\x07 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x04time\x12\x14\n\x05\x61\x63tor\x18\x08 \x01(\tR\x05\x61\x63tor\x12Y\n\x13workflow_registered\x18\x14 \x01(\x0b\x32&.interlock.event.v1.WorkflowRegisteredH\x00R\x12workflowRegistered\x12\x41\n\x0brun_started\x18\x15 \x01(\x0b\x32\x1e.interlock.event.v1.RunStartedH\x00R\nrunStarted\x12P\n\x10run_transitioned\x18\x16 \x01(\x0b\x32#.interlock.event.v1.RunTransitionedH\x00R\x0frunTransitioned\x12\x44\n\x0crun_rejected\x18\x17 \x01(\x0b\x32\x1f.interlock.event.v1.RunRejectedH\x00R\x0brunRejected\x12;\n\trun_ended\x18\x18 \x01(\x0b\x32\x1c.interlock.event.v1.RunEndedH\x00R\x08runEnded\x12>\n\nrun_paused\x18\x19 \x01(\x0b\x32\x1d.interlock.event.v1.RunPausedH\x00R\trunPaused\x12\x41\n\x0brun_resumed\x18\x1a \x01(\x0b\x32\x1e.interlock.event.v1.RunResumedH\x00R\nrunResumed\x12P\n\x10toolcall_decided\x18\x1b \x01(\x0b\x32#.interlock.event.v1.ToolCallDecidedH\x00R\x0ftoolcallDecided\x12S\n\x11toolcall_reported\x18\x1c \x01(\x0b\x32$.interlock.event.v1.ToolCallReportedH\x00R\x10toolcallReported\x12>\n\nrun_forced\x18\x1d \x01(\x0b\x32\x1d.interlock.event.v1.RunForcedH\x00R\trunForced\x12M\n\x0frun_interrupted\x18\x1e \x01(\x0b\x32\".interlock.event.v1.RunInterruptedH\x00R\x0erunInterrupted\x12>\n\nrun_forked\x18\x1f \x01(\x0b\x32\x1d.interlock.event.v1.RunForkedH\x00R\trunForked\x12N\n\x10run_branch_bound\x18  \x01(\x0b\x32\".interlock.event.v1.RunBranchBoundH\x00R\x0erunBranchBound\x12N\n\x10run_branch_ended\x18! \x01(\x0b\x32\".interlock.event.v1.RunBranchEndedH\x00R\x0erunBranchEnded\x12>\n\nrun_joined\x18\" \x01(\x0b\x32\x1d.interlock.event.v1.RunJoinedH\x00R\trunJoined\x12\x41\n\x0brun_invoked\x18# \x01(\x0b\x32\x1e.interlock.event.v1.RunInvokedH\x00R\nrunInvoked\x12K\n\x0frun_child_ended\x18$ \x01(\x0b\x32!.interlock.event.v1.RunChildEndedH\x00R\rrunChildEnded\x12S\n\x11schema_registered\x18% \x01(\x0b\x32$.interlock.event.v1.SchemaRegisteredH\x00R\x10schemaRegistered\x12G\n\rstate_changed\x18& \x01(\x0b\x32 .interlock.event.v1.StateChangedH\x00R\x0cstateChanged\x12G\n\rstate_deleted\x18\' \x01(\x0b\x32 .interlock.event.v1.StateDeletedH\x00R\x0cstateDeleted\x12\x44\n\x0cstate_locked\x18( \x01(\x0b\x32\x1f.interlock.event.v1.StateLockedH\x00R\x0bstateLocked\x12M\n\x0fsession_created\x18) \x01(\x0b\x32\".interlock.event.v1.SessionCreatedH\x00R\x0esessionCreated\x12M\n\x0fsession_changed\x18* \x01(\x0b\x32\".interlock.event.v1.SessionChangedH\x00R\x0esessionChanged\x12M\n\x0fsession_granted\x18+ \x01(\x0b\x32\".interlock.event.v1.SessionGrantedH\x00R\x0esessionGranted\x12\x44\n\x0ctask_changed\x18, \x01(\x0b\x32\x1f.interlock.event.v1.TaskChangedH\x00R\x0btaskChanged\x12S\n\x11\x63omponent_changed\x18- \x01(\x0b\x32$.interlock.event.v1.ComponentChangedH\x00R\x10\x63omponentChanged\x12Y\n\x13\x63omponent_committed\x18. \x01(\x0b\x32&.interlock.event.v1.ComponentCommittedH\x00R\x12\x63omponentCommitted\x12P\n\x10\x61pproval_changed\x18/ \x01(\x0b\x32#.interlock.event.v1.ApprovalChangedH\x00R\x0f\x61pprovalChanged\x12Z\n\x14run_approval_changed\x18\x30 \x01(\x0b\x32&.interlock.event.v1.RunApprovalChangedH\x00R\x12runApprovalChanged\x12J\n\x0epolicy_changed\x18\x31 \x01(\x0b\x32!.interlock.event.v1.PolicyChangedH\x00R\rpolicyChanged\x12P\n\x10\x64\x65\x63isions_sealed\x18\x32 \x01(\x0b\x32#.interlock.event.v1.DecisionsSealedH\x00R\x0f\x64\x65\x63isionsSealed\x12P\n\x10upstream_changed\x18\x33 \x01(\x0b\x32#.interlock.event.v1.UpstreamChangedH\x00R\x0fupstreamChanged\x12G\n\rlease_changed\x18\x34 \x01(\x0b\x32 .interlock.event.v1.LeaseChangedH\x00R\x0cleaseChanged\x12P\n\x10toolcall_outcome\x18\x35 \x01(\x0b\x32#.interlock.event.v1.ToolCallOutcomeH\x00R\x0ftoolcallOutcome\x12\x44\n\x0crun_migrated\x18\x36 \x01(\x0b\x32\x1f.interlock.event.v1.RunMigratedH\x00R\x0brunMigrated\x12\x44\n\x0c\x63\x61ll_refused\x18\x37 \x01(\x0b\x32\x1f.interlock.event.v1.CallRefusedH\x00R\x0b\x63\x61llRefusedB\t\n\x07payload\"s\n\x12WorkflowRegistered\x12\x1a\n\x08workflow\x18\x01 \x01(\tR\x08workflow\x12)\n\x10workflow_version\x18\x02 \x01(\x03R\x0fworkflowVersion\x12\x16\n\x06\x64igest\x18\x03 \x01(\tR\x06\x64igest\"\xac\x01\n\nRunStarted\x12\x1a\n\x08workflow\x18\x01 \x01(\tR\x08workflow\x12)\n\x10workflow_version\x18\x02 \x01(\x03R\x0fworkflowVersion\x12\x14\n\x05state\x18\x03 \x01(\tR\x05state\x12\x1d\n\nsession_id\x18\x04 \x01(\tR\tsessionId\x12\"\n\rparent_run_id\x18\x05 \x01(\tR\x0bparentRunId\"\xb6\x01\n\x0fRunTransitioned\x12\x14\n\x05\x65vent\x18\x01 \x01(\tR\x05\x65vent\x12\x12\n\x04\x66rom\x18\x02 \x01(\tR\x04\x66rom\x12\x0e\n\x02to\x18\x03 \x01(\tR\x02to\x12\x1c\n\trationale\x18\x04 \x01(\tR\trationale\x12\x1b\n\tsafe_next\x18\x05 \x01(\x08R\x08safeNext\x12\x16\n\x06guards\x18\x06 \x03(\tR\x06guards\x12\x16\n\x06\x62ranch\x18\x07 \x01(\tR\x06\x62ranch\"\x97\x01\n\x0bRunRejected\x12\x14\n\x05\x65vent\x18\x01 \x01(\tR\x05\x65vent\x12\x14\n\x05state\x18\x02 \x01(\tR\x05state\x12\x12\n\x04\x63ode\x18\x03 \x01(\tR\x04\x63ode\x12\x18\n\x07message\x18\x04 \x01(\tR\x07message\x12\x16\n\x06guards\x18\x05 \x03(\tR\x06guards\x12\x16\n\x06\x62ranch\x18\x06 \x01(\tR\x06\x62ranch\"P\n\x08RunEnded\x12\x16\n\x06status\x18\x01 \x01(\tR\x06status\x12\x14\n\x05state\x18\x02 \x01(\tR\x05state\x12\x16\n\x06reason\x18\x03 \x01(\tR\x06reason\"#\n\tRunPaused\x12\x16\n\x06reason\x18\x01 \x01(\tR\x06reason\"\"\n\nRunResumed\x12\x14\n\x05state\x18\x01 \x01(\tR\x05state\"G\n\tRunForced\x12\x12\n\x04\x66rom\x18\x01 \x01(\tR\x04\x66rom\x12\x0e\n\x02to\x18\x02 \x01(\tR\x02to\x12\x16\n\x06\x62ranch\x18\x03 \x01(\tR\x06\x62ranch\"\x8b\x01\n\x0bRunMigrated\x12\x12\n\x04\x66rom\x18\x01 \x01(\tR\x04\x66rom\x12\x0e\n\x02to\x18\x02 \x01(\tR\x02to\x12!\n\x0c\x66rom_version\x18\x03 \x01(\x03R\x0b\x66romVersion\x12\x1d\n\nto_version\x18\x04 \x01(\x03R\ttoVersion\x12\x16\n\x06reason\x18\x05 \x01(\tR\x06reason\"\x80\x01\n\x0eRunInterrupted\x12\x1c\n\tinterrupt\x18\x01 \x01(\tR\tinterrupt\x12\x12\n\x04\x66rom\x18\x02 \x01(\tR\x04\x66rom\x12\x0e\n\x02to\x18\x03 \x01(\tR\x02to\x12\x14\n\x05\x66iles\x18\x04 \x03(\tR\x05\x66iles\x12\x16\n\x06\x62ranch\x18\x05 \x01(\tR\x06\x62ranch\"k\n\tRunForked\x12\x14\n\x05\x65vent\x18\x01 \x01(\tR\x05\x65vent\x12\x14\n\x05state\x18\x02 \x01(\tR\x05state\x12\x1a\n\x08\x62ranches\x18\x03 \x03(\tR\x08\x62ranches\x12\x16\n\x06\x62ranch\x18\x04 \x01(\tR\x06\x62ranch\"]\n\x0eRunBranchBound\x12\x16\n\x06\x62ranch\x18\x01 \x01(\tR\x06\x62ranch\x12\x14\n\x05state\x18\x02 \x01(\tR\x05state\x12\x1d\n\nsession_id\x18\x03 \x01(\tR\tsessionId\"V\n\x0eRunBranchEnded\x12\x16\n\x06\x62ranch\x18\x01 \x01(\tR\x06\x62ranch\x12\x16\n\x06status\x18\x02 \x01(\tR\x06status\x12\x14\n\x05state\x18\x03 \x01(\tR\x05state\"\xef\x01\n\tRunJoined\x12\x14\n\x05\x65vent\x18\x01 \x01(\tR\x05\x65vent\x12\x12\n\x04\x66rom\x18\x02 \x01(\tR\x04\x66rom\x12\x0e\n\x02to\x18\x03 \x01(\tR\x02to\x12\x1c\n\tsucceeded\x18\x04 \x01(\x08R\tsucceeded\x12<\n\x08\x62ranches\x18\x05 \x03(\x0b\x32 .interlock.event.v1.JoinedBranchR\x08\x62ranches\x12\x1c\n\tconflicts\x18\x06 \x03(\tR\tconflicts\x12\x16\n\x06\x62ranch\x18\x07 \x01(\tR\x06\x62ranch\x12\x16\n\x06reason\x18\x08 \x01(\tR\x06reason\":\n\x0cJoinedBranch\x12\x12\n\x04name\x18\x01 \x01(\tR\x04name\x12\x16\n\x06status\x18\x02 \x01(\tR\x06status\"\x99\x01\n\nRunInvoked\x12\x14\n\x05\x65vent\x18\x01 \x01(\tR\x05\x65vent\x12\x14\n\x05state\x18\x02 \x01(\tR\x05state\x12 \n\x0c\x63hild_run_id\x18\x03 \x01(\tR\nchildRunId\x12%\n\x0e\x63hild_workflow\x18\x04 \x01(\tR\rchildWorkflow\x12\x16\n\x06\x62ranch\x18\x05 \x01(\tR\x06\x62ranch\"\xcd\x01\n\rRunChildEnded\x12\x14\n\x05\x65vent\x18\x01 \x01(\tR\x05\x65vent\x12\x12\n\x04\x66rom\x18\x02 \x01(\tR\x04\x66rom\x12\x0e\n\x02to\x18\x03 \x01(\tR\x02to\x12 \n\x0c\x63hild_run_id\x18\x04 \x01(\tR\nchildRunId\x12%\n\x0e\x63hild_workflow\x18\x05 \x01(\tR\rchildWorkflow\x12!\n\x0c\x63hild_status\x18\x06 \x01(\tR\x0b\x63hildStatus\x12\x16\n\x06\x62ranch\x18\x07 \x01(\tR\x06\x62ranch\"\xaa\x04\n\x0fToolCallDecided\x12\x17\n\x07\x63\x61ll_id\x18\x01 \x01(\tR\x06\x63\x61llId\x12\x12\n\x04tool\x18\x02 \x01(\tR\x04tool\x12\x1a\n\x08\x64\x65\x63ision\x18\x03 \x01(\tR\x08\x64\x65\x63ision\x12\x12\n\x04\x63ode\x18\x04 \x01(\tR\x04\x63ode\x12\x18\n\x07message\x18\x05 \x01(\tR\x07message\x12\x14\n\x05state\x18\x06 \x01(\tR\x05state\x12\x1f\n\x0brun_version\x18\x07 \x01(\x03R\nrunVersion\x12!\n\x0cinput_digest\x18\x08 \x01(\tR\x0binputDigest\x12\x1e\n\ncapability\x18\t \x01(\tR\ncapability\x12\x16\n\x06policy\x18\n \x01(\tR\x06policy\x12%\n\x0epolicy_version\x18\x0b \x01(\x03R\rpolicyVersion\x12\x12\n\x04rule\x18\x0c \x01(\tR\x04rule\x12\x1f\n\x0b\x61pproval_id\x18\r \x01(\tR\napprovalId\x12;\n\x07shadows\x18\x0e \x03(\x0b\x32!.interlock.event.v1.ShadowDecidedR\x07shadows\x12\x35\n\x06limits\x18\x0f \x03(\x0b\x32\x1d.interlock.event.v1.LimitUsedR\x06limits\x12\x1d\n\njail_level\x18\x10 \x01(\x05R\tjailLevel\x12\x1f\n\x0bjail_digest\x18\x11 \x01(\tR\njailDigest\"\xd9\x01\n\tLimitUsed\x12\x16\n\x06policy\x18\x01 \x01(\tR\x06policy\x12\x12\n\x04rule\x18\x02 \x01(\tR\x04rule\x12\x18\n\x07measure\x18\x03 \x01(\tR\x07measure\x12\x14\n\x05scope\x18\x04 \x01(\tR\x05scope\x12\x18\n\x07subject\x18\x05 \x01(\tR\x07subject\x12\x12\n\x04used\x18\x06 \x01(\x03R\x04used\x12\x10\n\x03max\x18\x07 \x01(\x03R\x03max\x12\x30\n\x05until\x18\x08 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x05until\"\x9a\x01\n\rShadowDecided\x12\x16\n\x06policy\x18\x01 \x01(\tR\x06policy\x12%\n\x0epolicy_version\x18\x02 \x01(\x03R\rpolicyVersion\x12\x1a\n\x08workflow\x18\x03 \x01(\tR\x08workflow\x12\x1a\n\x08\x64\x65\x63ision\x18\x04 \x01(\tR\x08\x64\x65\x63ision\x12\x12\n\x04\x63ode\x18\x05 \x01(\tR\x04\x63ode\"\xf2\x01\n\x10ToolCallReported\x12\x17\n\x07\x63\x61ll_id\x18\x01 \x01(\tR\x06\x63\x61llId\x12\x12\n\x04tool\x18\x02 \x01(\tR\x04tool\x12\x0e\n\x02ok\x18\x03 \x01(\x08R\x02ok\x12!\n\x0cresult_bytes\x18\x04 \x01(\x03R\x0bresultBytes\x12#\n\rfiles_changed\x18\x05 \x03(\tR\x0c\x66ilesChanged\x12\x19\n\x08\x63ost_usd\x18\x06 \x01(\tR\x07\x63ostUsd\x12 \n\x0bunaccounted\x18\x07 \x01(\x08R\x0bunaccounted\x12\x1c\n\twitnessed\x18\x08 \x01(\x08R\twitnessed\"\x99\x01\n\x0fToolCallOutcome\x12\x17\n\x07\x63\x61ll_id\x18\x01 \x01(\tR\x06\x63\x61llId\x12\x12\n\x04tool\x18\x02 \x01(\tR\x04tool\x12\x12\n\x04what\x18\x03 \x01(\tR\x04what\x12\x17\n\x07made_by\x18\x04 \x01(\tR\x06madeBy\x12\x18\n\x07outcome\x18\x05 \x01(\tR\x07outcome\x12\x12\n\x04note\x18\x06 \x01(\tR\x04note\"\x8f\x01\n\x10SchemaRegistered\x12\x1b\n\tschema_id\x18\x01 \x01(\tR\x08schemaId\x12\x1f\n\x0bschema_name\x18\x02 \x01(\tR\nschemaName\x12%\n\x0eschema_version\x18\x03 \x01(\x03R\rschemaVersion\x12\x16\n\x06\x64igest\x18\x04 \x01(\tR\x06\x64igest\"\xdc\x01\n\x0cStateChanged\x12\x1f\n\x0bschema_name\x18\x01 \x01(\tR\nschemaName\x12%\n\x0eschema_version\x18\x02 \x01(\x03R\rschemaVersion\x12&\n\x0froot_session_id\x18\x03 \x01(\tR\rrootSessionId\x12\x1d\n\nsession_id\x18\x04 \x01(\tR\tsessionId\x12!\n\x0csession_name\x18\x05 \x01(\tR\x0bsessionName\x12\x1a\n\x08pointers\x18\x06 \x03(\tR\x08pointers\"o\n\x0cStateDeleted\x12\x1f\n\x0bschema_name\x18\x01 \x01(\tR\nschemaName\x12&\n\x0froot_session_id\x18\x02 \x01(\tR\rrootSessionId\x12\x16\n\x06\x66orced\x18\x03 \x01(\x08R\x06\x66orced\"`\n\x0bStateLocked\x12\x16\n\x06holder\x18\x01 \x01(\tR\x06holder\x12\x39\n\nexpires_at\x18\x02 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\texpiresAt\"\xa4\x01\n\x0eSessionCreated\x12\x12\n\x04name\x18\x01 \x01(\tR\x04name\x12*\n\x11parent_session_id\x18\x02 \x01(\tR\x0fparentSessionId\x12&\n\x0froot_session_id\x18\x03 \x01(\tR\rrootSessionId\x12*\n\x11workflow_state_id\x18\x04 \x01(\tR\x0fworkflowStateId\"\xbd\x02\n\x0eSessionChanged\x12\x12\n\x04name\x18\x01 \x01(\tR\x04name\x12\x16\n\x06status\x18\x02 \x01(\tR\x06status\x12.\n\x13state_update_status\x18\x03 \x01(\tR\x11stateUpdateStatus\x12\x1a\n\x08\x61ttempts\x18\x04 \x01(\x05R\x08\x61ttempts\x12\x14\n\x05\x65rror\x18\x05 \x01(\tR\x05\x65rror\x12*\n\x11parent_session_id\x18\x06 \x01(\tR\x0fparentSessionId\x12&\n\x0froot_session_id\x18\x07 \x01(\tR\rrootSessionId\x12\x1f\n\x0b\x63\x61llback_id\x18\x08 \x01(\tR\ncallbackId\x12(\n\x10\x63hild_session_id\x18\t \x01(\tR\x0e\x63hildSessionId\"+\n\x0eSessionGranted\x12\x19\n\x08state_id\x18\x01 \x01(\tR\x07stateId\"\xab\x01\n\x0bTaskChanged\x12\x1d\n\nsession_id\x18\x01 \x01(\tR\tsessionId\x12\x12\n\x04kind\x18\x02 \x01(\tR\x04kind\x12\x18\n\x07\x61ttempt\x18\x03 \x01(\x05R\x07\x61ttempt\x12\x16\n\x06runner\x18\x04 \x01(\tR\x06runner\x12\x14\n\x05\x65rror\x18\x05 \x01(\tR\x05\x65rror\x12!\n\x0c\x63\x61llback_ids\x18\x06 \x03(\tR\x0b\x63\x61llbackIds\"H\n\x10\x43omponentChanged\x12\x12\n\x04name\x18\x01 \x01(\tR\x04name\x12 \n\x0bpersistence\x18\x02 \x01(\tR\x0bpersistence\"\x97\x01\n\x12\x43omponentCommitted\x12!\n\x0c\x65xecution_id\x18\x01 \x01(\tR\x0b\x65xecutionId\x12\x1d\n\nsession_id\x18\x02 \x01(\tR\tsessionId\x12\x18\n\x07subject\x18\x03 \x01(\tR\x07subject\x12%\n\x0evalues_version\x18\x04 \x01(\x03R\rvaluesVersion\"\xf4\x02\n\x0f\x41pprovalChanged\x12\x12\n\x04kind\x18\x01 \x01(\tR\x04kind\x12\x15\n\x06run_id\x18\x02 \x01(\tR\x05runId\x12\x16\n\x06status\x18\x03 \x01(\tR\x06status\x12\x19\n\x08\x61sked_by\x18\x04 \x01(\tR\x07\x61skedBy\x12\x18\n\x07message\x18\x05 \x01(\tR\x07message\x12\x14\n\x05roles\x18\x06 \x03(\tR\x05roles\x12\x14\n\x05names\x18\x07 \x03(\tR\x05names\x12\x0e\n\x02\x62y\x18\x08 \x01(\tR\x02\x62y\x12\x18\n\x07\x61pprove\x18\t \x01(\x08R\x07\x61pprove\x12\x12\n\x04note\x18\n \x01(\tR\x04note\x12\x16\n\x06reason\x18\x0b \x01(\tR\x06reason\x12\x39\n\nexpires_at\x18\x0c \x01(\x0b\x32\x1a.google.protobuf.TimestampR\texpiresAt\x12\x16\n\x06\x64igest\x18\r \x01(\tR\x06\x64igest\x12\x14\n\x05terms\x18\x0e \x03(\tR\x05terms\"\xed\x02\n\x0cLeaseChanged\x12\x1f\n\x0b\x61pproval_id\x18\x01 \x01(\tR\napprovalId\x12\x15\n\x06run_id\x18\x02 \x01(\tR\x05runId\x12\x14\n\x05state\x18\x03 \x01(\tR\x05state\x12\x16\n\x06policy\x18\x04 \x01(\tR\x06policy\x12%\n\x0epolicy_version\x18\x05 \x01(\x03R\rpolicyVersion\x12\x12\n\x04rule\x18\x06 \x01(\tR\x04rule\x12\x1e\n\ncapability\x18\x07 \x01(\tR\ncapability\x12\x18\n\x07pattern\x18\x08 \x01(\tR\x07pattern\x12\x14\n\x05\x63\x61lls\x18\t \x01(\x03R\x05\x63\x61lls\x12\x39\n\nexpires_at\x18\n \x01(\x0b\x32\x1a.google.protobuf.TimestampR\texpiresAt\x12\x1d\n\ngranted_by\x18\x0b \x01(\tR\tgrantedBy\x12\x12\n\x04only\x18\x0c \x01(\tR\x04only\"\xb7\x01\n\x12RunApprovalChanged\x12\x1f\n\x0b\x61pproval_id\x18\x01 \x01(\tR\napprovalId\x12\x14\n\x05\x65vent\x18\x02 \x01(\tR\x05\x65vent\x12\x12\n\x04\x66rom\x18\x03 \x01(\tR\x04\x66rom\x12\x0e\n\x02to\x18\x04 \x01(\tR\x02to\x12\x16\n\x06\x62ranch\x18\x05 \x01(\tR\x06\x62ranch\x12\x16\n\x06reason\x18\x06 \x01(\tR\x06reason\x12\x16\n\x06guards\x18\x07 \x03(\tR\x06guards\"\xa7\x01\n\rPolicyChanged\x12%\n\x0epolicy_version\x18\x01 \x01(\x03R\rpolicyVersion\x12\x16\n\x06\x64igest\x18\x02 \x01(\tR\x06\x64igest\x12\x16\n\x06shadow\x18\x03 \x01(\x08R\x06shadow\x12\x1e\n\nattachment\x18\x04 \x01(\tR\nattachment\x12\x1f\n\x0b\x61ttached_to\x18\x05 \x01(\tR\nattachedTo\"\'\n\x0fUpstreamChanged\x12\x14\n\x05tools\x18\x01 \x03(\tR\x05tools\"O\n\x0f\x44\x65\x63isionsSealed\x12\x14\n\x05\x66irst\x18\x01 \x01(\x03R\x05\x66irst\x12\x12\n\x04last\x18\x02 \x01(\x03R\x04last\x12\x12\n\x04head\x18\x03 \x01(\tR\x04head\"\xac\x01\n\x0b\x43\x61llRefused\x12\x12\n\x04\x66\x61\x63\x65\x18\x01 \x01(\tR\x04\x66\x61\x63\x65\x12\x16\n\x06method\x18\x02 \x01(\tR\x06method\x12\x16\n\x06reason\x18\x03 \x01(\tR\x06reason\x12\x12\n\x04role\x18\x04 \x01(\tR\x04role\x12\x1d\n\nsession_id\x18\x05 \x01(\tR\tsessionId\x12\x12\n\x04\x66rom\x18\x06 \x01(\tR\x04\x66rom\x12\x12\n\x04more\x18\x07 \x01(\x03R\x04moreBFZDgithub.com/interlock-run/interlock/gen/go/interlock/event/v1;eventv1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.event.v1.event_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZDgithub.com/interlock-run/interlock/gen/go/interlock/event/v1;eventv1'
  _globals['_EVENT']._serialized_start=88
  _globals['_EVENT']._serialized_end=3058
  _globals['_WORKFLOWREGISTERED']._serialized_start=3060
  _globals['_WORKFLOWREGISTERED']._serialized_end=3175
  _globals['_RUNSTARTED']._serialized_start=3178
  _globals['_RUNSTARTED']._serialized_end=3350
  _globals['_RUNTRANSITIONED']._serialized_start=3353
  _globals['_RUNTRANSITIONED']._serialized_end=3535
  _globals['_RUNREJECTED']._serialized_start=3538
  _globals['_RUNREJECTED']._serialized_end=3689
  _globals['_RUNENDED']._serialized_start=3691
  _globals['_RUNENDED']._serialized_end=3771
  _globals['_RUNPAUSED']._serialized_start=3773
  _globals['_RUNPAUSED']._serialized_end=3808
  _globals['_RUNRESUMED']._serialized_start=3810
  _globals['_RUNRESUMED']._serialized_end=3844
  _globals['_RUNFORCED']._serialized_start=3846
  _globals['_RUNFORCED']._serialized_end=3917
  _globals['_RUNMIGRATED']._serialized_start=3920
  _globals['_RUNMIGRATED']._serialized_end=4059
  _globals['_RUNINTERRUPTED']._serialized_start=4062
  _globals['_RUNINTERRUPTED']._serialized_end=4190
  _globals['_RUNFORKED']._serialized_start=4192
  _globals['_RUNFORKED']._serialized_end=4299
  _globals['_RUNBRANCHBOUND']._serialized_start=4301
  _globals['_RUNBRANCHBOUND']._serialized_end=4394
  _globals['_RUNBRANCHENDED']._serialized_start=4396
  _globals['_RUNBRANCHENDED']._serialized_end=4482
  _globals['_RUNJOINED']._serialized_start=4485
  _globals['_RUNJOINED']._serialized_end=4724
  _globals['_JOINEDBRANCH']._serialized_start=4726
  _globals['_JOINEDBRANCH']._serialized_end=4784
  _globals['_RUNINVOKED']._serialized_start=4787
  _globals['_RUNINVOKED']._serialized_end=4940
  _globals['_RUNCHILDENDED']._serialized_start=4943
  _globals['_RUNCHILDENDED']._serialized_end=5148
  _globals['_TOOLCALLDECIDED']._serialized_start=5151
  _globals['_TOOLCALLDECIDED']._serialized_end=5705
  _globals['_LIMITUSED']._serialized_start=5708
  _globals['_LIMITUSED']._serialized_end=5925
  _globals['_SHADOWDECIDED']._serialized_start=5928
  _globals['_SHADOWDECIDED']._serialized_end=6082
  _globals['_TOOLCALLREPORTED']._serialized_start=6085
  _globals['_TOOLCALLREPORTED']._serialized_end=6327
  _globals['_TOOLCALLOUTCOME']._serialized_start=6330
  _globals['_TOOLCALLOUTCOME']._serialized_end=6483
  _globals['_SCHEMAREGISTERED']._serialized_start=6486
  _globals['_SCHEMAREGISTERED']._serialized_end=6629
  _globals['_STATECHANGED']._serialized_start=6632
  _globals['_STATECHANGED']._serialized_end=6852
  _globals['_STATEDELETED']._serialized_start=6854
  _globals['_STATEDELETED']._serialized_end=6965
  _globals['_STATELOCKED']._serialized_start=6967
  _globals['_STATELOCKED']._serialized_end=7063
  _globals['_SESSIONCREATED']._serialized_start=7066
  _globals['_SESSIONCREATED']._serialized_end=7230
  _globals['_SESSIONCHANGED']._serialized_start=7233
  _globals['_SESSIONCHANGED']._serialized_end=7550
  _globals['_SESSIONGRANTED']._serialized_start=7552
  _globals['_SESSIONGRANTED']._serialized_end=7595
  _globals['_TASKCHANGED']._serialized_start=7598
  _globals['_TASKCHANGED']._serialized_end=7769
  _globals['_COMPONENTCHANGED']._serialized_start=7771
  _globals['_COMPONENTCHANGED']._serialized_end=7843
  _globals['_COMPONENTCOMMITTED']._serialized_start=7846
  _globals['_COMPONENTCOMMITTED']._serialized_end=7997
  _globals['_APPROVALCHANGED']._serialized_start=8000
  _globals['_APPROVALCHANGED']._serialized_end=8372
  _globals['_LEASECHANGED']._serialized_start=8375
  _globals['_LEASECHANGED']._serialized_end=8740
  _globals['_RUNAPPROVALCHANGED']._serialized_start=8743
  _globals['_RUNAPPROVALCHANGED']._serialized_end=8926
  _globals['_POLICYCHANGED']._serialized_start=8929
  _globals['_POLICYCHANGED']._serialized_end=9096
  _globals['_UPSTREAMCHANGED']._serialized_start=9098
  _globals['_UPSTREAMCHANGED']._serialized_end=9137
  _globals['_DECISIONSSEALED']._serialized_start=9139
  _globals['_DECISIONSSEALED']._serialized_end=9218
  _globals['_CALLREFUSED']._serialized_start=9221
  _globals['_CALLREFUSED']._serialized_end=9393
# @@protoc_insertion_point(module_scope)
