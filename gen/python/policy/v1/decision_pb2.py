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
    'interlock/policy/v1/decision.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from google.protobuf import timestamp_pb2 as google_dot_protobuf_dot_timestamp__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n\"interlock/policy/v1/decision.proto\x12\x13interlock.policy.v1\x1a\x1fgoogle/protobuf/timestamp.proto\"\xcd\t\n\x0e\x44\x65\x63isionRecord\x12\x1c\n\tpartition\x18\x01 \x01(\tR\tpartition\x12\x1a\n\x08sequence\x18\x02 \x01(\x03R\x08sequence\x12.\n\x04time\x18\x03 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x04time\x12\x1c\n\tprincipal\x18\x04 \x01(\tR\tprincipal\x12\x1d\n\nsession_id\x18\x05 \x01(\tR\tsessionId\x12\x15\n\x06run_id\x18\x06 \x01(\tR\x05runId\x12\x1f\n\x0brun_version\x18\x07 \x01(\x03R\nrunVersion\x12\x1a\n\x08workflow\x18\x08 \x01(\tR\x08workflow\x12)\n\x10workflow_version\x18\t \x01(\x03R\x0fworkflowVersion\x12\x14\n\x05state\x18\n \x01(\tR\x05state\x12\x16\n\x06\x62ranch\x18\x0b \x01(\tR\x06\x62ranch\x12\x17\n\x07\x63\x61ll_id\x18\x0c \x01(\tR\x06\x63\x61llId\x12\x12\n\x04tool\x18\r \x01(\tR\x04tool\x12\x1e\n\ncapability\x18\x0e \x01(\tR\ncapability\x12\x39\n\x08\x64\x65\x63ision\x18\x0f \x01(\x0e\x32\x1d.interlock.policy.v1.DecisionR\x08\x64\x65\x63ision\x12\x35\n\x04\x63ode\x18\x10 \x01(\x0e\x32!.interlock.policy.v1.DecisionCodeR\x04\x63ode\x12\x18\n\x07message\x18\x11 \x01(\tR\x07message\x12\x12\n\x04rule\x18\x12 \x01(\tR\x04rule\x12\x16\n\x06policy\x18\x13 \x01(\tR\x06policy\x12%\n\x0epolicy_version\x18\x14 \x01(\x03R\rpolicyVersion\x12!\n\x0cinput_digest\x18\x15 \x01(\tR\x0binputDigest\x12\x14\n\x05input\x18\x16 \x01(\x0cR\x05input\x12,\n\x12\x65stimated_cost_usd\x18\x17 \x01(\tR\x10\x65stimatedCostUsd\x12\x1f\n\x0b\x61pproval_id\x18\x18 \x01(\tR\napprovalId\x12=\n\x07shadows\x18\x19 \x03(\x0b\x32#.interlock.policy.v1.ShadowDecisionR\x07shadows\x12\x12\n\x04hash\x18\x1a \x01(\tR\x04hash\x12\x19\n\x08lease_id\x18\x1b \x01(\tR\x07leaseId\x12\x10\n\x03raw\x18\x1c \x01(\x0cR\x03raw\x12!\n\x0c\x63ommitted_us\x18\x1d \x01(\x03R\x0b\x63ommittedUs\x12\x1d\n\njail_level\x18\x1e \x01(\x05R\tjailLevel\x12\x1f\n\x0bjail_digest\x18\x1f \x01(\tR\njailDigest\x12\x14\n\x05\x66\x61\x63ts\x18  \x01(\x0cR\x05\x66\x61\x63ts\x12\x1e\n\nexceptions\x18( \x03(\tR\nexceptions\x12\x39\n\x08identity\x18! \x01(\x0b\x32\x1d.interlock.policy.v1.IdentityR\x08identity\x12*\n\x11\x62reak_glass_grant\x18Z \x01(\tR\x0f\x62reakGlassGrant\x12\x33\n\x07made_at\x18[ \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x06madeAt\"\xb4\x03\n\x08Identity\x12\x1c\n\tprincipal\x18\x01 \x01(\tR\tprincipal\x12\x12\n\x04role\x18\x02 \x01(\tR\x04role\x12\x14\n\x05token\x18\x03 \x01(\tR\x05token\x12\x10\n\x03via\x18\x04 \x01(\tR\x03via\x12\x16\n\x06person\x18\x05 \x01(\tR\x06person\x12\x30\n\x05human\x18\x06 \x01(\x0b\x32\x1a.interlock.policy.v1.HumanR\x05human\x12\x14\n\x05\x61gent\x18\x07 \x01(\tR\x05\x61gent\x12#\n\ragent_version\x18\x08 \x01(\x03R\x0c\x61gentVersion\x12!\n\x0croot_session\x18\t \x01(\tR\x0brootSession\x12\x18\n\x07lineage\x18\n \x03(\tR\x07lineage\x12M\n\nattributes\x18\x0b \x03(\x0b\x32-.interlock.policy.v1.Identity.AttributesEntryR\nattributes\x1a=\n\x0f\x41ttributesEntry\x12\x10\n\x03key\x18\x01 \x01(\tR\x03key\x12\x14\n\x05value\x18\x02 \x01(\tR\x05value:\x02\x38\x01\"\xa3\x02\n\x05Human\x12\x12\n\x04name\x18\x01 \x01(\tR\x04name\x12\x16\n\x06issuer\x18\x02 \x01(\tR\x06issuer\x12\x16\n\x06source\x18\x03 \x01(\tR\x06source\x12!\n\x0cgroups_known\x18\x04 \x01(\x08R\x0bgroupsKnown\x12\x16\n\x06groups\x18\x05 \x03(\tR\x06groups\x12\x1e\n\nattributes\x18\x06 \x01(\x0cR\nattributes\x12\x45\n\x10\x61uthenticated_at\x18\x07 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x0f\x61uthenticatedAt\x12\x34\n\x07\x65xpires\x18\x08 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x07\x65xpires\"\xa0\x02\n\x0eShadowDecision\x12\x16\n\x06policy\x18\x01 \x01(\tR\x06policy\x12%\n\x0epolicy_version\x18\x02 \x01(\x03R\rpolicyVersion\x12\x1a\n\x08workflow\x18\x03 \x01(\tR\x08workflow\x12\'\n\x0fworkflow_digest\x18\x04 \x01(\tR\x0eworkflowDigest\x12\x39\n\x08\x64\x65\x63ision\x18\x05 \x01(\x0e\x32\x1d.interlock.policy.v1.DecisionR\x08\x64\x65\x63ision\x12\x35\n\x04\x63ode\x18\x06 \x01(\x0e\x32!.interlock.policy.v1.DecisionCodeR\x04\x63ode\x12\x18\n\x07message\x18\x07 \x01(\tR\x07message\"\xb9\x01\n\x0b\x43hainReport\x12\x1c\n\tpartition\x18\x01 \x01(\tR\tpartition\x12\x0e\n\x02ok\x18\x02 \x01(\x08R\x02ok\x12\x16\n\x06sealed\x18\x03 \x01(\x03R\x06sealed\x12\x1a\n\x08unsealed\x18\x04 \x01(\x03R\x08unsealed\x12\x12\n\x04head\x18\x05 \x01(\tR\x04head\x12\x1a\n\x08sequence\x18\x06 \x01(\x03R\x08sequence\x12\x18\n\x07problem\x18\x07 \x01(\tR\x07problem*]\n\x08\x44\x65\x63ision\x12\x18\n\x14\x44\x45\x43ISION_UNSPECIFIED\x10\x00\x12\x12\n\x0e\x44\x45\x43ISION_ALLOW\x10\x01\x12\x10\n\x0c\x44\x45\x43ISION_ASK\x10\x02\x12\x11\n\rDECISION_DENY\x10\x03*\xe7\x08\n\x0c\x44\x65\x63isionCode\x12\x1d\n\x19\x44\x45\x43ISION_CODE_UNSPECIFIED\x10\x00\x12\"\n\x1e\x44\x45\x43ISION_CODE_TOOL_NOT_ALLOWED\x10\x01\x12!\n\x1d\x44\x45\x43ISION_CODE_TOOL_DISALLOWED\x10\x02\x12%\n!DECISION_CODE_COMMAND_NOT_ALLOWED\x10\x03\x12$\n DECISION_CODE_COMMAND_UNPARSABLE\x10\x04\x12 \n\x1c\x44\x45\x43ISION_CODE_COMMAND_WRITES\x10\x05\x12\x1d\n\x19\x44\x45\x43ISION_CODE_ENV_BLOCKED\x10\x06\x12 \n\x1c\x44\x45\x43ISION_CODE_EDIT_TOO_LARGE\x10\x07\x12 \n\x1c\x44\x45\x43ISION_CODE_TOO_MANY_FILES\x10\x08\x12 \n\x1c\x44\x45\x43ISION_CODE_MAX_ITERATIONS\x10\t\x12 \n\x1c\x44\x45\x43ISION_CODE_CONTEXT_BUDGET\x10\n\x12 \n\x1c\x44\x45\x43ISION_CODE_RUN_NOT_ACTIVE\x10\x0b\x12\x1f\n\x1b\x44\x45\x43ISION_CODE_INVALID_INPUT\x10\x0c\x12\x1f\n\x1b\x44\x45\x43ISION_CODE_POLICY_DENIED\x10\r\x12\x1e\n\x1a\x44\x45\x43ISION_CODE_RATE_LIMITED\x10\x0e\x12!\n\x1d\x44\x45\x43ISION_CODE_BUDGET_EXCEEDED\x10\x0f\x12\x1e\n\x1a\x44\x45\x43ISION_CODE_EMAIL_DENIED\x10\x10\x12#\n\x1f\x44\x45\x43ISION_CODE_APPROVAL_REQUIRED\x10\x11\x12\"\n\x1e\x44\x45\x43ISION_CODE_APPROVAL_PENDING\x10\x12\x12$\n DECISION_CODE_POLICY_UNAVAILABLE\x10\x13\x12!\n\x1d\x44\x45\x43ISION_CODE_COMMAND_UNKNOWN\x10\x14\x12 \n\x1c\x44\x45\x43ISION_CODE_SELF_PROTECTED\x10\x15\x12\x1e\n\x1a\x44\x45\x43ISION_CODE_NOT_ENFORCED\x10\x16\x12!\n\x1d\x44\x45\x43ISION_CODE_EFFECTS_UNKNOWN\x10\x17\x12 \n\x1c\x44\x45\x43ISION_CODE_ACTS_ELSEWHERE\x10\x18\x12!\n\x1d\x44\x45\x43ISION_CODE_SIGNALS_PROCESS\x10\x19\x12\x1f\n\x1b\x44\x45\x43ISION_CODE_CALLER_DENIED\x10\x1a\x12\x1f\n\x1b\x44\x45\x43ISION_CODE_JAIL_REQUIRED\x10\x1b\x12\x1e\n\x1a\x44\x45\x43ISION_CODE_CALL_UNCLEAR\x10\x1c\x12\"\n\x1e\x44\x45\x43ISION_CODE_CALL_NOT_ALLOWED\x10\x1d\x12\x1a\n\x16\x44\x45\x43ISION_CODE_NARROWED\x10\x1e\x12\x18\n\x14\x44\x45\x43ISION_CODE_HALTED\x10\x1f\x12\x1c\n\x18\x44\x45\x43ISION_CODE_UNGOVERNED\x10 BHZFgithub.com/interlock-run/interlock/gen/go/interlock/policy/v1;policyv1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.policy.v1.decision_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZFgithub.com/interlock-run/interlock/gen/go/interlock/policy/v1;policyv1'
  _globals['_IDENTITY_ATTRIBUTESENTRY']._loaded_options = None
  _globals['_IDENTITY_ATTRIBUTESENTRY']._serialized_options = b'8\001'
  _globals['_DECISION']._serialized_start=2536
  _globals['_DECISION']._serialized_end=2629
  _globals['_DECISIONCODE']._serialized_start=2632
  _globals['_DECISIONCODE']._serialized_end=3759
  _globals['_DECISIONRECORD']._serialized_start=93
  _globals['_DECISIONRECORD']._serialized_end=1322
  _globals['_IDENTITY']._serialized_start=1325
  _globals['_IDENTITY']._serialized_end=1761
  _globals['_IDENTITY_ATTRIBUTESENTRY']._serialized_start=1700
  _globals['_IDENTITY_ATTRIBUTESENTRY']._serialized_end=1761
  _globals['_HUMAN']._serialized_start=1764
  _globals['_HUMAN']._serialized_end=2055
  _globals['_SHADOWDECISION']._serialized_start=2058
  _globals['_SHADOWDECISION']._serialized_end=2346
  _globals['_CHAINREPORT']._serialized_start=2349
  _globals['_CHAINREPORT']._serialized_end=2534
# @@protoc_insertion_point(module_scope)
