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
    'interlock/policy/v1/policy.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from google.protobuf import duration_pb2 as google_dot_protobuf_dot_duration__pb2
from google.protobuf import timestamp_pb2 as google_dot_protobuf_dot_timestamp__pb2
from interlock.gen.policy.v1 import decision_pb2 as interlock_dot_policy_dot_v1_dot_decision__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n interlock/policy/v1/policy.proto\x12\x13interlock.policy.v1\x1a\x1egoogle/protobuf/duration.proto\x1a\x1fgoogle/protobuf/timestamp.proto\x1a\"interlock/policy/v1/decision.proto\"\xd5\x02\n\x06Policy\x12\x12\n\x04name\x18\x01 \x01(\tR\x04name\x12\x18\n\x07version\x18\x02 \x01(\x03R\x07version\x12\x16\n\x06\x64igest\x18\x03 \x01(\tR\x06\x64igest\x12\x1e\n\ndefinition\x18\x04 \x01(\x0cR\ndefinition\x12\x39\n\ncreated_at\x18\x05 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\tcreatedAt\x12\x1d\n\ncreated_by\x18\x06 \x01(\tR\tcreatedBy\x12!\n\x0clive_version\x18\x07 \x01(\x03R\x0bliveVersion\x12%\n\x0eshadow_version\x18\x08 \x01(\x03R\rshadowVersion\x12\x41\n\x0b\x61ttachments\x18\t \x03(\x0b\x32\x1f.interlock.policy.v1.AttachmentR\x0b\x61ttachments\"Y\n\nAttachment\x12\x39\n\x04kind\x18\x01 \x01(\x0e\x32#.interlock.policy.v1.AttachmentKindB\x00R\x04kind\x12\x10\n\x02id\x18\x02 \x01(\tB\x00R\x02id\"W\n\rPolicyProblem\x12\x18\n\x07pointer\x18\x01 \x01(\tR\x07pointer\x12\x12\n\x04\x63ode\x18\x02 \x01(\tR\x04\x63ode\x12\x18\n\x07message\x18\x03 \x01(\tR\x07message\"\xf7\x02\n\x05Usage\x12\x1e\n\ncapability\x18\x01 \x01(\tR\ncapability\x12\x36\n\x07measure\x18\x02 \x01(\x0e\x32\x1c.interlock.policy.v1.MeasureR\x07measure\x12\x35\n\x05scope\x18\x03 \x01(\x0e\x32\x1f.interlock.policy.v1.LimitScopeR\x05scope\x12\x18\n\x07subject\x18\x04 \x01(\tR\x07subject\x12\x12\n\x04used\x18\x05 \x01(\x03R\x04used\x12\x10\n\x03max\x18\x06 \x01(\x03R\x03max\x12\x31\n\x06window\x18\x07 \x01(\x0b\x32\x19.google.protobuf.DurationR\x06window\x12\x33\n\x06period\x18\x08 \x01(\x0e\x32\x1b.interlock.policy.v1.PeriodR\x06period\x12\x37\n\tresets_at\x18\t \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x08resetsAt\"\xde\x01\n\x0fSimulatedChange\x12?\n\x08recorded\x18\x01 \x01(\x0b\x32#.interlock.policy.v1.DecisionRecordR\x08recorded\x12\x39\n\x08\x64\x65\x63ision\x18\x02 \x01(\x0e\x32\x1d.interlock.policy.v1.DecisionR\x08\x64\x65\x63ision\x12\x35\n\x04\x63ode\x18\x03 \x01(\x0e\x32!.interlock.policy.v1.DecisionCodeR\x04\x63ode\x12\x18\n\x07message\x18\x04 \x01(\tR\x07message*\xb1\x02\n\x0e\x41ttachmentKind\x12\x1f\n\x1b\x41TTACHMENT_KIND_UNSPECIFIED\x10\x00\x12\x1c\n\x18\x41TTACHMENT_KIND_WORKFLOW\x10\x01\x12\x1b\n\x17\x41TTACHMENT_KIND_PROCESS\x10\x02\x12\x1b\n\x17\x41TTACHMENT_KIND_SESSION\x10\x03\x12\x18\n\x14\x41TTACHMENT_KIND_ROLE\x10\x04\x12\x1d\n\x19\x41TTACHMENT_KIND_PRINCIPAL\x10\x05\x12\x19\n\x15\x41TTACHMENT_KIND_HUMAN\x10\x06\x12\x19\n\x15\x41TTACHMENT_KIND_GROUP\x10\x07\x12\x19\n\x15\x41TTACHMENT_KIND_AGENT\x10\x08\x12\x1c\n\x18\x41TTACHMENT_KIND_EVERYONE\x10\t*\xb5\x01\n\x07Measure\x12\x17\n\x13MEASURE_UNSPECIFIED\x10\x00\x12\x11\n\rMEASURE_CALLS\x10\x01\x12\x11\n\rMEASURE_MONEY\x10\x02\x12\x12\n\x0eMEASURE_EMAILS\x10\x03\x12\x16\n\x12MEASURE_ITERATIONS\x10\x04\x12\x18\n\x14MEASURE_RESULT_BYTES\x10\x05\x12\x11\n\rMEASURE_FILES\x10\x06\x12\x12\n\x0eMEASURE_AMOUNT\x10\x07*\xa3\x01\n\nLimitScope\x12\x1b\n\x17LIMIT_SCOPE_UNSPECIFIED\x10\x00\x12\x16\n\x12LIMIT_SCOPE_POLICY\x10\x01\x12\x19\n\x15LIMIT_SCOPE_PRINCIPAL\x10\x02\x12\x17\n\x13LIMIT_SCOPE_SESSION\x10\x03\x12\x15\n\x11LIMIT_SCOPE_ENTRY\x10\x04\x12\x15\n\x11LIMIT_SCOPE_HUMAN\x10\x05*Y\n\x06Period\x12\x16\n\x12PERIOD_UNSPECIFIED\x10\x00\x12\x11\n\rPERIOD_HOURLY\x10\x01\x12\x10\n\x0cPERIOD_DAILY\x10\x02\x12\x12\n\x0ePERIOD_MONTHLY\x10\x03\x42HZFgithub.com/interlock-run/interlock/gen/go/interlock/policy/v1;policyv1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.policy.v1.policy_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZFgithub.com/interlock-run/interlock/gen/go/interlock/policy/v1;policyv1'
  _globals['_ATTACHMENTKIND']._serialized_start=1286
  _globals['_ATTACHMENTKIND']._serialized_end=1591
  _globals['_MEASURE']._serialized_start=1594
  _globals['_MEASURE']._serialized_end=1775
  _globals['_LIMITSCOPE']._serialized_start=1778
  _globals['_LIMITSCOPE']._serialized_end=1941
  _globals['_PERIOD']._serialized_start=1943
  _globals['_PERIOD']._serialized_end=2032
  _globals['_POLICY']._serialized_start=159
  _globals['_POLICY']._serialized_end=500
  _globals['_ATTACHMENT']._serialized_start=502
  _globals['_ATTACHMENT']._serialized_end=591
  _globals['_POLICYPROBLEM']._serialized_start=593
  _globals['_POLICYPROBLEM']._serialized_end=680
  _globals['_USAGE']._serialized_start=683
  _globals['_USAGE']._serialized_end=1058
  _globals['_SIMULATEDCHANGE']._serialized_start=1061
  _globals['_SIMULATEDCHANGE']._serialized_end=1283
# @@protoc_insertion_point(module_scope)
