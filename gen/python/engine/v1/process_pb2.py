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
    'interlock/engine/v1/process.proto'
)
# @@protoc_insertion_point(imports)

_sym_db = _symbol_database.Default()


from google.protobuf import timestamp_pb2 as google_dot_protobuf_dot_timestamp__pb2
from interlock.gen.engine.v1 import run_pb2 as interlock_dot_engine_dot_v1_dot_run__pb2
from interlock.gen.engine.v1 import workflow_pb2 as interlock_dot_engine_dot_v1_dot_workflow__pb2


DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'\n!interlock/engine/v1/process.proto\x12\x13interlock.engine.v1\x1a\x1fgoogle/protobuf/timestamp.proto\x1a\x1dinterlock/engine/v1/run.proto\x1a\"interlock/engine/v1/workflow.proto\"\xdc\x02\n\x07Process\x12\x12\n\x04name\x18\x01 \x01(\tR\x04name\x12\x18\n\x07version\x18\x02 \x01(\x03R\x07version\x12\x16\n\x06\x64igest\x18\x03 \x01(\tR\x06\x64igest\x12\x1e\n\ndefinition\x18\x04 \x01(\x0cR\ndefinition\x12\x39\n\ncreated_at\x18\x05 \x01(\x0b\x32\x1a.google.protobuf.TimestampR\tcreatedAt\x12\x1d\n\ncreated_by\x18\x06 \x01(\tR\tcreatedBy\x12\x14\n\x05tools\x18\x07 \x03(\tR\x05tools\x12\x1d\n\nprocess_id\x18\x08 \x01(\tR\tprocessId\x12!\n\x0clive_version\x18\t \x01(\x03R\x0bliveVersion\x12\x39\n\x07retired\x18\n \x01(\x0b\x32\x1f.interlock.engine.v1.RetirementR\x07retired\"\xc5\x01\n\x04Turn\x12%\n\x0einitial_prompt\x18\x01 \x01(\tR\rinitialPrompt\x12\x1a\n\x08question\x18\x02 \x01(\tR\x08question\x12\x18\n\x07\x61nswers\x18\x03 \x03(\tR\x07\x61nswers\x12\x36\n\x06status\x18\x04 \x01(\x0e\x32\x1e.interlock.engine.v1.RunStatusR\x06status\x12\x14\n\x05state\x18\x05 \x01(\tR\x05state\x12\x12\n\x04text\x18\x06 \x01(\tR\x04textBHZFgithub.com/interlock-run/interlock/gen/go/interlock/engine/v1;enginev1b\x06proto3')

_globals = globals()
_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, _globals)
_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, 'interlock.engine.v1.process_pb2', _globals)
if not _descriptor._USE_C_DESCRIPTORS:
  _globals['DESCRIPTOR']._loaded_options = None
  _globals['DESCRIPTOR']._serialized_options = b'ZFgithub.com/interlock-run/interlock/gen/go/interlock/engine/v1;enginev1'
  _globals['_PROCESS']._serialized_start=159
  _globals['_PROCESS']._serialized_end=507
  _globals['_TURN']._serialized_start=510
  _globals['_TURN']._serialized_end=707
# @@protoc_insertion_point(module_scope)
