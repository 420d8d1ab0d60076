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
    'interlock/approval/v1/approval.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from google.protobuf import duration_pb2 as google_dot_protobuf_dot_duration__pb2
from google.protobuf import timestamp_pb2 as google_dot_protobuf_dot_timestamp__pb2
from interlock.gen.policy.v1 import explanation_pb2 as interlock_dot_policy_dot_v1_dot_explanation__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n$interlock/approval/v1/approval.proto\x12\x15interlock.approval.v1\x1a\x1egoogle/protobuf/duration.proto\x1a\x1fgoogle/protobuf/timestamp.proto\x1a%interlock/policy/v1/explanation.proto\";\n\tApprovers\x12\x16\n\x05roles\x18\x01 \x03(\tB\x00R\x05roles\x12\x16\n\x05names\x18\x02 \x03(\tB\x00R\x05names\"\xe9\x03\n\x05Terms\x12\x1c\n\x08required\x18\x01 \x01(\x05\x42\x00R\x08required\x12\'\n\x0e\x64\x65ny_threshold\x18\x02 \x01(\x05\x42\x00R\rdenyThreshold\x12<\n\x08\x65ligible\x18\x03 \x01(\x0b\x32 .interlock.approval.v1.ApproversR\x08\x65ligible\x12@\n\rexpires_after\x18\x04 \x01(\x0b\x32\x19.google.protobuf.DurationB\x00R\x0c\x65xpiresAfter\x12\x42\n\x0e\x65scalate_after\x18\x05 \x01(\x0b\x32\x19.google.protobuf.DurationB\x00R\rescalateAfter\x12\x41\n\x0b\x65scalate_to\x18\x06 \x01(\x0b\x32 .interlock.approval.v1.ApproversR\nescalateTo\x12\x33\n\x04\x61lso\x18\x07 \x03(\x0b\x32\x1d.interlock.approval.v1.CircleB\x00R\x04\x61lso\x12\x1a\n\x08presence\x18\x08 \x01(\x08R\x08presence\x12\'\n\x0f\x64istinct_people\x18\t \x01(\x08R\x0e\x64istinctPeople\x12\x18\n\x06\x64\x61nger\x18< \x01(\tB\x00R\x06\x64\x61nger\"z\n\x06\x43ircle\x12\x14\n\x04term\x18\x01 \x01(\tB\x00R\x04term\x12\x1c\n\x08required\x18\x02 \x01(\x05\x42\x00R\x08required\x12<\n\x08\x65ligible\x18\x03 \x01(\x0b\x32 .interlock.approval.v1.ApproversR\x08\x65ligible\"\x8c\x01\n\x05\x41sker\x12\x1e\n\tprincipal\x18\x01 \x01(\tB\x00R\tprincipal\x12\x1f\n\nsession_id\x18\x02 \x01(\tB\x00R\tsessionId\x12(\n\x0froot_session_id\x18\x03 \x01(\tB\x00R\rrootSessionId\x12\x18\n\x06person\x18\x04 \x01(\tB\x00R\x06person\"\xb6\x01\n\x10PasskeyAssertion\x12%\n\rcredential_id\x18\x01 \x01(\x0c\x42\x00R\x0c\x63redentialId\x12/\n\x12\x61uthenticator_data\x18\x02 \x01(\x0c\x42\x00R\x11\x61uthenticatorData\x12*\n\x10\x63lient_data_json\x18\x03 \x01(\x0c\x42\x00R\x0e\x63lientDataJson\x12\x1e\n\tsignature\x18\x04 \x01(\x0c\x42\x00R\tsignature\"\x8a\x01\n\x11\x44\x65\x63isionSignature\x12\x1e\n\tstatement\x18\x01 \x01(\x0c\x42\x00R\tstatement\x12\x41\n\x07passkey\x18\x02 \x01(\x0b\x32\'.interlock.approval.v1.PasskeyAssertionR\x07passkey\x12\x12\n\x03ssh\x18\x03 \x01(\tB\x00R\x03ssh\"\xf4\x01\n\rVoteSignature\x12\x46\n\tsignature\x18\x01 \x01(\x0b\x32(.interlock.approval.v1.DecisionSignatureR\tsignature\x12,\n\x12passkey_public_key\x18\x02 \x01(\x0cR\x10passkeyPublicKey\x12$\n\x0essh_public_key\x18\x03 \x01(\tR\x0csshPublicKey\x12\x13\n\x05rp_id\x18\x04 \x01(\tR\x04rpId\x12\x18\n\x07origins\x18\x05 \x03(\tR\x07origins\x12\x18\n\x07present\x18\x06 \x01(\x08R\x07present\"m\n\nSigningKey\x12#\n\rcredential_id\x18\x01 \x01(\x0cR\x0c\x63redentialId\x12$\n\x0essh_public_key\x18\x02 \x01(\tR\x0csshPublicKey\x12\x14\n\x05label\x18\x03 \x01(\tR\x05label\"\xd9\x02\n\x04Vote\x12\x0e\n\x02\x62y\x18\x01 \x01(\tR\x02\x62y\x12\x37\n\x04role\x18\x02 \x01(\x0e\x32#.interlock.approval.v1.ApproverRoleR\x04role\x12\x18\n\x07\x61pprove\x18\x03 \x01(\x08R\x07\x61pprove\x12\x12\n\x04note\x18\x04 \x01(\tR\x04note\x12.\n\x04time\x18\x05 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x04time\x12\x16\n\x06person\x18\x06 \x01(\x08R\x06person\x12\x1c\n\tprincipal\x18\x07 \x01(\tR\tprincipal\x12\x14\n\x05relay\x18\x08 \x01(\tR\x05relay\x12\x1a\n\x08identity\x18\t \x01(\tR\x08identity\x12\x42\n\tsignature\x18\n \x01(\x0b\x32$.interlock.approval.v1.VoteSignatureR\tsignature\"?\n\x06Viewer\x12\x1d\n\nmay_decide\x18\x01 \x01(\x08R\tmayDecide\x12\x16\n\x06reason\x18\x02 \x01(\tR\x06reason\"\xcb\x01\n\x03Why\x12\x16\n\x06policy\x18\x01 \x01(\tR\x06policy\x12%\n\x0epolicy_version\x18\x02 \x01(\x03R\rpolicyVersion\x12\x12\n\x04rule\x18\x03 \x01(\tR\x04rule\x12\x14\n\x05state\x18\x04 \x01(\tR\x05state\x12\x1a\n\x08workflow\x18\x05 \x01(\tR\x08workflow\x12)\n\x10workflow_version\x18\x06 \x01(\x03R\x0fworkflowVersion\x12\x14\n\x05\x65ntry\x18\x07 \x01(\x03R\x05\x65ntry\"r\n\nLeaseTerms\x12\x1a\n\x07pattern\x18\x01 \x01(\tB\x00R\x07pattern\x12\x16\n\x05\x63\x61lls\x18\x02 \x01(\x03\x42\x00R\x05\x63\x61lls\x12\x1a\n\x07minutes\x18\x03 \x01(\x03\x42\x00R\x07minutes\x12\x14\n\x04only\x18\x04 \x01(\x0c\x42\x00R\x04only\"\xe4\x03\n\x05Lease\x12\x19\n\x08lease_id\x18\x01 \x01(\tR\x07leaseId\x12\x1f\n\x0b\x61pproval_id\x18\x02 \x01(\tR\napprovalId\x12\x15\n\x06run_id\x18\x03 \x01(\tR\x05runId\x12\x1d\n\nsession_id\x18\x04 \x01(\tR\tsessionId\x12\x14\n\x05state\x18\x05 \x01(\tR\x05state\x12\x16\n\x06policy\x18\x06 \x01(\tR\x06policy\x12%\n\x0epolicy_version\x18\x07 \x01(\x03R\rpolicyVersion\x12\x12\n\x04rule\x18\x08 \x01(\tR\x04rule\x12\x1e\n\ncapability\x18\t \x01(\tR\ncapability\x12\x18\n\x07pattern\x18\n \x01(\tR\x07pattern\x12\x1d\n\ncalls_left\x18\x0b \x01(\x03R\tcallsLeft\x12\x39\n\nexpires_at\x18\x0c \x01(\x0b\x32\x1a.google.protobuf.TimestampR\texpiresAt\x12\x1d\n\ngranted_by\x18\r \x01(\tR\tgrantedBy\x12\x39\n\ngranted_at\x18\x0e \x01(\x0b\x32\x1a.google.protobuf.TimestampR\tgrantedAt\x12\x12\n\x04only\x18\x0f \x01(\x0cR\x04only\"\x93\x01\n\x07Unlocks\x12\x14\n\x05state\x18\x01 \x01(\tR\x05state\x12)\n\x10tools_restricted\x18\x02 \x01(\x08R\x0ftoolsRestricted\x12#\n\rallowed_tools\x18\x03 \x03(\tR\x0c\x61llowedTools\x12\"\n\x0cinstructions\x18\x04 \x01(\tR\x0cinstructions\"\xa1\x01\n\x10PreviousApproval\x12\x1f\n\x0b\x61pproval_id\x18\x01 \x01(\tR\napprovalId\x12\x12\n\x04\x64\x61ta\x18\x02 \x01(\x0cR\x04\x64\x61ta\x12\x39\n\ndecided_at\x18\x03 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\tdecidedAt\x12\x1d\n\ndecided_by\x18\x04 \x01(\tR\tdecidedBy\"\x87\x0b\n\x08\x41pproval\x12\x1f\n\x0b\x61pproval_id\x18\x01 \x01(\tR\napprovalId\x12\x37\n\x04kind\x18\x02 \x01(\x0e\x32#.interlock.approval.v1.ApprovalKindR\x04kind\x12=\n\x06status\x18\x03 \x01(\x0e\x32%.interlock.approval.v1.ApprovalStatusR\x06status\x12\x18\n\x07subject\x18\x04 \x01(\x0cR\x07subject\x12\x12\n\x04\x64\x61ta\x18\x05 \x01(\x0cR\x04\x64\x61ta\x12\x1f\n\x0b\x65\x64ited_data\x18\x06 \x01(\x0cR\neditedData\x12\x1d\n\nedit_patch\x18\x07 \x01(\x0cR\teditPatch\x12\x1b\n\tedited_by\x18\x08 \x01(\tR\x08\x65\x64itedBy\x12\x1a\n\x08\x65\x64itable\x18\t \x01(\x08R\x08\x65\x64itable\x12\x16\n\x06\x64igest\x18\n \x01(\tR\x06\x64igest\x12\x32\n\x05\x61sker\x18\x0b \x01(\x0b\x32\x1c.interlock.approval.v1.AskerR\x05\x61sker\x12\x18\n\x07message\x18\x0c \x01(\tR\x07message\x12\x32\n\x05terms\x18\r \x01(\x0b\x32\x1c.interlock.approval.v1.TermsR\x05terms\x12\x31\n\x05votes\x18\x0e \x03(\x0b\x32\x1b.interlock.approval.v1.VoteR\x05votes\x12\x1c\n\tescalated\x18\x0f \x01(\x08R\tescalated\x12\x16\n\x06reason\x18\x10 \x01(\tR\x06reason\x12\x0e\n\x02\x62y\x18\x11 \x01(\tR\x02\x62y\x12\x39\n\ncreated_at\x18\x12 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\tcreatedAt\x12\x39\n\nexpires_at\x18\x13 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\texpiresAt\x12\x39\n\ndecided_at\x18\x14 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\tdecidedAt\x12\x33\n\x07used_at\x18\x15 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x06usedAt\x12\x17\n\x07used_by\x18\x16 \x01(\tR\x06usedBy\x12\x15\n\x06run_id\x18\x17 \x01(\tR\x05runId\x12\x18\n\x07version\x18\x18 \x01(\x03R\x07version\x12\x18\n\x07outcome\x18\x19 \x01(\tR\x07outcome\x12/\n\x03you\x18\x1a \x01(\x0b\x32\x1d.interlock.approval.v1.ViewerR\x03you\x12,\n\x03why\x18\x1b \x01(\x0b\x32\x1a.interlock.approval.v1.WhyR\x03why\x12\x38\n\x07unlocks\x18\x1c \x01(\x0b\x32\x1e.interlock.approval.v1.UnlocksR\x07unlocks\x12=\n\x0c\x65scalates_at\x18\x1d \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x0b\x65scalatesAt\x12\x43\n\x0c\x65scalates_to\x18\x1e \x01(\x0b\x32 .interlock.approval.v1.ApproversR\x0b\x65scalatesTo\x12\x43\n\x08previous\x18\x1f \x01(\x0b\x32\'.interlock.approval.v1.PreviousApprovalR\x08previous\x12:\n\x07\x63ommand\x18  \x01(\x0b\x32 .interlock.policy.v1.CommandLineR\x07\x63ommand\x12\x14\n\x05\x66\x61\x63ts\x18! \x01(\x0cR\x05\x66\x61\x63ts\x12*\n\x11nobody_can_answer\x18\x46 \x01(\tR\x0fnobodyCanAnswer*\xfa\x01\n\x0e\x41pprovalStatus\x12\x1f\n\x1b\x41PPROVAL_STATUS_UNSPECIFIED\x10\x00\x12\x1b\n\x17\x41PPROVAL_STATUS_PENDING\x10\x01\x12\x1b\n\x17\x41PPROVAL_STATUS_GRANTED\x10\x02\x12\x1c\n\x18\x41PPROVAL_STATUS_REJECTED\x10\x03\x12\x1b\n\x17\x41PPROVAL_STATUS_EXPIRED\x10\x04\x12\x1d\n\x19\x41PPROVAL_STATUS_CANCELLED\x10\x05\x12\x18\n\x14\x41PPROVAL_STATUS_USED\x10\x06\x12\x19\n\x15\x41PPROVAL_STATUS_STALE\x10\x07*\x88\x01\n\x0c\x41pprovalKind\x12\x1d\n\x19\x41PPROVAL_KIND_UNSPECIFIED\x10\x00\x12\x1c\n\x18\x41PPROVAL_KIND_TRANSITION\x10\x01\x12\x1b\n\x17\x41PPROVAL_KIND_TOOL_CALL\x10\x02\x12\x1e\n\x1a\x41PPROVAL_KIND_PROCESS_STEP\x10\x03*e\n\x0c\x41pproverRole\x12\x1d\n\x19\x41PPROVER_ROLE_UNSPECIFIED\x10\x00\x12\x1a\n\x16\x41PPROVER_ROLE_OPERATOR\x10\x01\x12\x1a\n\x16\x41PPROVER_ROLE_APPROVER\x10\x02\x42LZJgithub.com/interlock-run/interlock/gen/go/interlock/approval/v1;approvalv1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.approval.v1.approval_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZJgithub.com/interlock-run/interlock/gen/go/interlock/approval/v1;approvalv1'
  _globals['_APPROVALSTATUS']._serialized_start=4626
  _globals['_APPROVALSTATUS']._serialized_end=4876
  _globals['_APPROVALKIND']._serialized_start=4879
  _globals['_APPROVALKIND']._serialized_end=5015
  _globals['_APPROVERROLE']._serialized_start=5017
  _globals['_APPROVERROLE']._serialized_end=5118
  _globals['_APPROVERS']._serialized_start=167
  _globals['_APPROVERS']._serialized_end=226
  _globals['_TERMS']._serialized_start=229
  _globals['_TERMS']._serialized_end=718
  _globals['_CIRCLE']._serialized_start=720
  _globals['_CIRCLE']._serialized_end=842
  _globals['_ASKER']._serialized_start=845
  _globals['_ASKER']._serialized_end=985
  _globals['_PASSKEYASSERTION']._serialized_start=988
  _globals['_PASSKEYASSERTION']._serialized_end=1170
  _globals['_DECISIONSIGNATURE']._serialized_start=1173
  _globals['_DECISIONSIGNATURE']._serialized_end=1311
  _globals['_VOTESIGNATURE']._serialized_start=1314
  _globals['_VOTESIGNATURE']._serialized_end=1558
  _globals['_SIGNINGKEY']._serialized_start=1560
  _globals['_SIGNINGKEY']._serialized_end=1669
  _globals['_VOTE']._serialized_start=1672
  _globals['_VOTE']._serialized_end=2017
  _globals['_VIEWER']._serialized_start=2019
  _globals['_VIEWER']._serialized_end=2082
  _globals['_WHY']._serialized_start=2085
  _globals['_WHY']._serialized_end=2288
  _globals['_LEASETERMS']._serialized_start=2290
  _globals['_LEASETERMS']._serialized_end=2404
  _globals['_LEASE']._serialized_start=2407
  _globals['_LEASE']._serialized_end=2891
  _globals['_UNLOCKS']._serialized_start=2894
  _globals['_UNLOCKS']._serialized_end=3041
  _globals['_PREVIOUSAPPROVAL']._serialized_start=3044
  _globals['_PREVIOUSAPPROVAL']._serialized_end=3205
  _globals['_APPROVAL']._serialized_start=3208
  _globals['_APPROVAL']._serialized_end=4623
# @@protoc_insertion_point(module_scope)
