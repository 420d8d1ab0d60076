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
    'interlock/engine/v1/workflow.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from google.protobuf import timestamp_pb2 as google_dot_protobuf_dot_timestamp__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n\"interlock/engine/v1/workflow.proto\x12\x13interlock.engine.v1\x1a\x1fgoogle/protobuf/timestamp.proto\"\x8c\x01\n\x07Problem\x12\x18\n\x07pointer\x18\x01 \x01(\tR\x07pointer\x12\x12\n\x04\x63ode\x18\x02 \x01(\tR\x04\x63ode\x12\x39\n\x08severity\x18\x03 \x01(\x0e\x32\x1d.interlock.engine.v1.SeverityR\x08severity\x12\x18\n\x07message\x18\x04 \x01(\tR\x07message\"\xa8\x02\n\x08Workflow\x12\x12\n\x04name\x18\x01 \x01(\tR\x04name\x12\x18\n\x07version\x18\x02 \x01(\x03R\x07version\x12\x16\n\x06\x64igest\x18\x03 \x01(\tR\x06\x64igest\x12\x1e\n\ndefinition\x18\x04 \x01(\x0cR\ndefinition\x12\x39\n\ncreated_at\x18\x05 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\tcreatedAt\x12\x1d\n\ncreated_by\x18\x06 \x01(\tR\tcreatedBy\x12!\n\x0clive_version\x18\x07 \x01(\x03R\x0bliveVersion\x12\x39\n\x07retired\x18\x08 \x01(\x0b\x32\x1f.interlock.engine.v1.RetirementR\x07retired\"`\n\nRetirement\x12*\n\x02\x61t\x18\x01 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\x02\x61t\x12\x0e\n\x02\x62y\x18\x02 \x01(\tR\x02\x62y\x12\x16\n\x06reason\x18\x03 \x01(\tR\x06reason*N\n\x08Severity\x12\x18\n\x14SEVERITY_UNSPECIFIED\x10\x00\x12\x12\n\x0eSEVERITY_ERROR\x10\x01\x12\x14\n\x10SEVERITY_WARNING\x10\x02\x42HZFgithub.com/interlock-run/interlock/gen/go/interlock/engine/v1;enginev1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.engine.v1.workflow_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZFgithub.com/interlock-run/interlock/gen/go/interlock/engine/v1;enginev1'
  _globals['_SEVERITY']._serialized_start=632
  _globals['_SEVERITY']._serialized_end=710
  _globals['_PROBLEM']._serialized_start=93
  _globals['_PROBLEM']._serialized_end=233
  _globals['_WORKFLOW']._serialized_start=236
  _globals['_WORKFLOW']._serialized_end=532
  _globals['_RETIREMENT']._serialized_start=534
  _globals['_RETIREMENT']._serialized_end=630
# @@protoc_insertion_point(module_scope)
